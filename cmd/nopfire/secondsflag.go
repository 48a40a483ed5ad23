package main

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// seconds is a time as a flag: 1.5 and 1500ms are the same.
type seconds time.Duration

func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *seconds) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if !(math.Abs(n) < math.MaxInt64/float64(time.Second)) {
			return errors.New("too long")
		}
		*s = seconds(n * float64(time.Second))
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("want a time such as 10, 1.5s or 500ms")
	}
	*s = seconds(d)
	return nil
}

func (s *seconds) Type() string { return "TIME" }
