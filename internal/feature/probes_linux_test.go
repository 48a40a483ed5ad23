package feature_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nopfire/nopfire/internal/feature"
	"github.com/nopfire/nopfire/internal/testutils"
)

func TestMain(m *testing.M) { testutils.Main(m) }

// kernel returns the version of the running kernel as major*1000 + minor.
func kernel(t *testing.T) int {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	nums, i := [2]int{}, 0
	for _, c := range u.Release {
		switch {
		case c >= '0' && c <= '9':
			nums[i] = nums[i]*10 + int(c-'0')
			continue
		case c == '.' && i == 0:
			i++
			continue
		}
		break
	}
	return nums[0]*1000 + nums[1]%1000
}

// A kernel that is newer than a feature must have it: else the probe is wrong.
func TestProbesAgreeWithKernelVersion(t *testing.T) {
	testutils.NeedBPF(t)
	for _, tc := range []struct {
		f     *feature.Feature
		since int
	}{
		{feature.BPF, 4001},
		{feature.RingBuf, 5008},
		{feature.Cookies, 5015},
		{feature.PerfUprobe, 5015},
		{feature.UprobeMulti, 6010},
	} {
		err := tc.f.Check()
		if err != nil && kernel(t) >= tc.since {
			t.Errorf("%s: %v, on a kernel that has it", tc.f.Name, err)
		}
		if err != nil && !errors.Is(err, feature.ErrNotSupported) {
			t.Errorf("%s: inconclusive with the privilege to load BPF: %v", tc.f.Name, err)
		}
		if again := tc.f.Check(); (again == nil) != (err == nil) {
			t.Errorf("%s: second Check says %v", tc.f.Name, again)
		}
	}
}

func TestEffective(t *testing.T) {
	testutils.NeedBPF(t)
	if missing := feature.Effective().Missing(feature.TracingCaps...); len(missing) > 0 {
		t.Errorf("BPF programs load, and yet %v is missing", missing)
	}
}
