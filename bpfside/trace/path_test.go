package trace

import "testing"

func TestNamesOfMappedFiles(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		want       bool
	}{
		{"/usr/lib/libfoo.so.1", "/usr/lib/libfoo.so.1", true},
		{"/usr/lib/libfoo.so", "/usr/lib/libfoo.so.1", false}, // a link, which opening it follows
		{"libfoo.so.1", "/opt/app/lib/libfoo.so.1", true},
		{"libfoo.so", "/opt/app/lib/libfoo.so.1.2", true},
		{"libfoo.so.1", "/opt/app/lib/libfoo.so.10", false},
		{"foo", "/opt/app/lib/libfoo.so.1", true},
		{"foo", "/usr/bin/foo", true},
		{"foo", "/usr/bin/foobar", false},
		{"libfoo", "/usr/lib/libfoo.so", true},
		{"c", "/usr/lib/x86_64-linux-gnu/libc.so.6", true},
		{"c", "/usr/lib/x86_64-linux-gnu/libcrypt.so.1", false},
	} {
		if got := names(tt.name, tt.path); got != tt.want {
			t.Errorf("%s names %s: %t, want %t", tt.name, tt.path, got, tt.want)
		}
	}
}
