package usdt

import (
	"errors"
	"slices"
	"testing"
)

func TestPlan(t *testing.T) {
	loc := func(off, refCtr uint64) Location { return Location{Offset: off, RefCtrOffset: refCtr} }
	bad := Location{Offset: 9, Err: ErrSemaphoreOdd}
	many := func(n int) (ls []Location) {
		for i := range n {
			ls = append(ls, loc(uint64(i+1), 0x100))
		}
		return ls
	}
	for _, tc := range []struct {
		name  string
		locs  []Location
		opts  Options
		sites []Site
		want  []place
		err   string
		is    error
	}{
		{"one", []Location{loc(1, 0)}, Options{Cookie: 7}, nil, []place{{1, 0, 7}}, "", nil},
		{"cookie for each", []Location{loc(1, 0), loc(2, 4)}, Options{Cookies: []uint64{7, 8}}, nil, []place{{1, 0, 7}, {2, 4, 8}}, "", nil},
		{"same place twice", []Location{loc(1, 2), loc(1, 2)}, Options{}, nil, []place{{1, 2, 0}}, "", nil},
		{"bad ones are left out", []Location{bad, loc(1, 0)}, Options{Cookies: []uint64{7, 8}}, nil, []place{{1, 0, 8}}, "", nil},
		{"all bad", []Location{bad, bad}, Options{}, nil, nil, "none of 2 locations can be attached to: semaphore is not aligned to 2 bytes", ErrSemaphoreOdd},
		{"none", nil, Options{}, nil, nil, "target has no location", nil},
		{"site behind the location", []Location{loc(1, 2), loc(9, 2)}, Options{}, []Site{{Shift: 1}, {}}, []place{{2, 2, 0}, {9, 2, 0}}, "", nil},
		{"refused site", []Location{loc(1, 0), loc(2, 0)}, Options{}, []Site{{Err: ErrRefused}, {}}, []place{{2, 0, 0}}, "", nil},
		{"all refused", []Location{loc(1, 0)}, Options{}, []Site{{Err: ErrRefused}}, nil, "none of 1 locations can be attached to: location 0x1: instruction cannot be probed", ErrRefused},
		{"two semaphores", []Location{loc(1, 2), loc(1, 4)}, Options{}, nil, nil, "location 0x1 stands in two notes with semaphores at 0x2 and 0x4: the kernel takes one for an instruction", nil},
		{"semaphore overflows", many(32768), Options{}, nil, nil, "more than 32767 locations share the semaphore at 0x100, which would overflow: attach to fewer at once", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := plan(&Target{Probe: Probe{Locations: tc.locs}}, &tc.opts, tc.opts.Cookies, tc.sites)
			if (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%v is not %v", err, tc.is)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("places %v, want %v", got, tc.want)
			}
		})
	}
	if got, err := plan(&Target{Probe: Probe{Locations: many(MaxSharedSemaphore)}}, &Options{}, nil, nil); err != nil || len(got) != MaxSharedSemaphore {
		t.Errorf("%d places, %v for the largest number on one semaphore", len(got), err)
	}
}

func TestLayouts(t *testing.T) {
	target := &Target{Path: "p", Probe: Probe{Provider: "a", Name: "b", Locations: []Location{
		{Offset: 1, ArgString: "8@%rax"},
		{Offset: 2, ArgString: "4@%eax"},
		{Offset: 3, ArgString: "8@%rax"},
		{Offset: 4, ArgString: "1@%al", Err: ErrNotExecutable},
	}}}
	got := target.Layouts()
	if len(got) != 2 || len(got[0].Locations) != 2 || len(got[1].Locations) != 1 {
		t.Fatalf("layouts %+v, want two with two locations and one", got)
	}
	if got[0].Locations[1].Offset != 3 || got[0].Path != "p" || got[0].String() != "a:b" {
		t.Errorf("first layout %+v", got[0])
	}
	if len(target.Locations) != 4 {
		t.Error("the target itself was changed")
	}
}

func TestMerge(t *testing.T) {
	for _, tc := range []struct {
		name     string
		in, want []place
		err      string
	}{
		{"different", []place{{1, 0, 7}, {2, 0, 7}}, []place{{1, 0, 7}, {2, 0, 7}}, ""},
		{"the same again", []place{{1, 4, 7}, {2, 0, 7}, {1, 4, 7}}, []place{{1, 4, 7}, {2, 0, 7}}, ""},
		{"another cookie", []place{{1, 4, 7}, {1, 4, 8}}, []place{{1, 4, 7}, {1, 4, 8}}, ""},
		{"another semaphore", []place{{1, 4, 7}, {1, 6, 7}}, nil,
			"location 0x1 stands in two notes with semaphores at 0x4 and 0x6: the kernel takes one for an instruction"},
	} {
		got, err := merge(slices.Clone(tc.in))
		if !slices.Equal(got, tc.want) || (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
			t.Errorf("%s: %v, %v, want %v, %q", tc.name, got, err, tc.want, tc.err)
		}
	}
}
