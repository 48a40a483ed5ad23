package image

import (
	"testing"

	"github.com/nopfire/nopfire/elfgen"
)

func TestFileStem(t *testing.T) {
	for _, tt := range []struct{ provider, stem string }{
		{"myapp", "myapp"},
		{"my-app_1.2", "my-app_1.2"},
		{"../../etc/passwd", "_._.._etc_passwd"},
		{".", "_"},
		{"..", "_."},
		{".hidden", "_hidden"},
		{"a/b", "a_b"},
		{"a;rm -rf*", "a_rm_-rf_"},
		{"naïve", "na_ve"},
	} {
		if got := fileStem(tt.provider); got != tt.stem {
			t.Errorf("fileStem(%q) = %q, want %q", tt.provider, got, tt.stem)
		}
	}
}

func TestPagesOf(t *testing.T) {
	for _, tt := range []struct {
		extent   elfgen.Extent
		pageSize int
		want     pages
	}{
		{elfgen.Extent{}, 4096, pages{}},
		{elfgen.Extent{Off: 0, Len: 1}, 4096, pages{0, 4096}},
		{elfgen.Extent{Off: 4096, Len: 4096}, 4096, pages{4096, 4096}},
		{elfgen.Extent{Off: 4100, Len: 10}, 4096, pages{4096, 4096}},
		{elfgen.Extent{Off: 4100, Len: 4096}, 4096, pages{4096, 8192}},
		{elfgen.Extent{Off: 4100, Len: 10}, 65536, pages{0, 65536}},
	} {
		if got := pagesOf(tt.extent, tt.pageSize); got != tt.want {
			t.Errorf("pagesOf(%v, %d) = %v, want %v", tt.extent, tt.pageSize, got, tt.want)
		}
	}
}
