package main

import (
	"math"
	"testing"
)

func TestFireValue(t *testing.T) {
	for _, row := range []struct {
		arg  string
		want any
	}{
		{"0", int64(0)},
		{"-1", int64(-1)},
		{"+5", int64(5)},
		{"9223372036854775807", int64(math.MaxInt64)},
		{"-9223372036854775808", int64(math.MinInt64)},
		{"9223372036854775808", uint64(1) << 63},
		{"+18446744073709551615", uint64(math.MaxUint64)},
		{"0x10", int64(16)},
		{"-0X1f", int64(-31)},
		{"0xffffffffffffffff", uint64(math.MaxUint64)},
		{"0o17", int64(15)},
		{"0b101", int64(5)},

		// Decimal, with or without a 0 in front: hours, days, months.
		{"07", int64(7)},
		{"08", int64(8)},
		{"010", int64(10)},
		{"-09", int64(-9)},

		// No integers.
		{"", ""},
		{"-", "-"},
		{"+", "+"},
		{"--1", "--1"},
		{"0x", "0x"},
		{"0x-1", "0x-1"},
		{"0xg", "0xg"},
		{"0b2", "0b2"},
		{"1_000", "1_000"},
		{" 1", " 1"},
		{"1.5", "1.5"},
		{"1e3", "1e3"},
		{"18446744073709551616", "18446744073709551616"},
		{"-9223372036854775809", "-9223372036854775809"},
		{"-18446744073709551615", "-18446744073709551615"},
	} {
		if got := fireValue(row.arg, false); got != row.want {
			t.Errorf("%q: %T %v, want %T %v", row.arg, got, got, row.want, row.want)
		}
		if got := fireValue(row.arg, true); got != row.arg {
			t.Errorf("%q as a text: %v", row.arg, got)
		}
	}
}
