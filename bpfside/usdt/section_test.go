package usdt

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var sectionRows = []struct {
	name string
	want Section
	err  string
}{
	{"usdt", Section{Kind: SectionUSDT, Bare: true}, ""},
	{"usdt.s", Section{Kind: SectionUSDT, Bare: true, Sleepable: true}, ""},
	{"?usdt", Section{Kind: SectionUSDT, Bare: true, Optional: true}, ""},
	{"usdt//bin/app:app:hit", Section{Kind: SectionUSDT, Path: "/bin/app", Provider: "app", Probe: "hit"}, ""},
	{"usdt.s/libc.so.6:libc:setjmp", Section{Kind: SectionUSDT, Sleepable: true, Path: "libc.so.6", Provider: "libc", Probe: "setjmp"}, ""},
	{"?usdt//proc/self/exe:a:b*", Section{Kind: SectionUSDT, Optional: true, Path: "/proc/self/exe", Provider: "a", Probe: "b*"}, ""},
	{"usdt/", Section{}, "at byte 5: no path, want usdt/PATH:PROVIDER:NAME"},
	{"usdt//bin/app", Section{}, `at byte 13: no ":" behind the path, want usdt/PATH:PROVIDER:NAME`},
	{"usdt//bin/app:app", Section{}, `at byte 17: no ":" behind the provider, want usdt/PATH:PROVIDER:NAME`},
	{"usdt.s//bin/app::hit", Section{}, "at byte 16: no provider, want usdt.s/PATH:PROVIDER:NAME"},
	{"usdt//bin/app:app:", Section{}, "at byte 18: no name, want usdt/PATH:PROVIDER:NAME"},
	{"usdt//bin/app:app:hit:x", Section{}, `at byte 21: ":" in the name, want usdt/PATH:PROVIDER:NAME`},
	{"usdt:/bin/app:app:hit", Section{}, `at byte 4: ":" behind "usdt", want usdt/PATH:PROVIDER:NAME`},
	{"?usdt.x/a:b:c", Section{}, `at byte 5: ".x" behind "usdt", want usdt/PATH:PROVIDER:NAME`},

	{"urdt", Section{Kind: SectionURDT, Bare: true}, ""},
	{"?urdt", Section{Kind: SectionURDT, Bare: true, Optional: true}, ""},
	{"urdt//proc/self/exe:3:dyn:urdt3", Section{Kind: SectionURDT, Path: "/proc/self/exe", NArgs: 3, Provider: "dyn", Probe: "urdt3"}, ""},
	{"urdt/liburdt.so.1:0:a:b", Section{Kind: SectionURDT, Path: "liburdt.so.1", Provider: "a", Probe: "b"}, ""},
	{"urdt/*:11:a:b*", Section{Kind: SectionURDT, Path: "*", NArgs: 11, Provider: "a", Probe: "b*"}, ""},
	{"urdt.s/:1:a:b", Section{Kind: SectionURDT, Sleepable: true, NArgs: 1, Provider: "a", Probe: "b"}, ""},
	{"urdt/", Section{}, "at byte 5: no path, want urdt/PATH:NARGS:PROVIDER:NAME"},
	{"urdt//bin/app:a:b", Section{}, `at byte 14: "a" is no number of arguments within 0..11, want urdt/PATH:NARGS:PROVIDER:NAME`},
	{"urdt//bin/app:12:a:b", Section{}, `at byte 14: "12" is no number of arguments within 0..11, want urdt/PATH:NARGS:PROVIDER:NAME`},
	{"urdt//bin/app:-1:a:b", Section{}, `at byte 14: "-1" is no number of arguments within 0..11, want urdt/PATH:NARGS:PROVIDER:NAME`},
	{"urdt//bin/app::a:b", Section{}, "at byte 14: no number of arguments, want urdt/PATH:NARGS:PROVIDER:NAME"},
	{"urdt//bin/app:2:a", Section{}, `at byte 17: no ":" behind the provider, want urdt/PATH:NARGS:PROVIDER:NAME`},
	{"urdt.s//bin/app:2::b", Section{}, "at byte 18: no provider, want urdt.s/PATH:NARGS:PROVIDER:NAME"},
	{"urdt//bin/app:2:a:", Section{}, "at byte 18: no name, want urdt/PATH:NARGS:PROVIDER:NAME"},
	{"urdt//bin/app:2:a:b:c", Section{}, `at byte 19: ":" in the name, want urdt/PATH:NARGS:PROVIDER:NAME`},
	{"urdt:/bin/app:2:a:b", Section{}, `at byte 4: ":" behind "urdt", want urdt/PATH:NARGS:PROVIDER:NAME`},
	{"udrt//bin/app:2:a:b", Section{}, `at byte 0: "udrt", want urdt/PATH:NARGS:PROVIDER:NAME`},
	{"?udrt:/bin/app:2:a:b", Section{}, `at byte 1: "udrt:", want urdt/PATH:NARGS:PROVIDER:NAME`},

	{"uprobe", Section{Kind: SectionUprobe, Bare: true}, ""},
	{"uprobe//bin/app:main", Section{Kind: SectionUprobe, Path: "/bin/app", Function: "main"}, ""},
	{"uprobe.s//bin/app:main+0x10", Section{Kind: SectionUprobe, Sleepable: true, Path: "/bin/app", Function: "main", Offset: 16}, ""},
	{"uretprobe/libc.so.6:malloc", Section{Kind: SectionUprobe, Return: true, Path: "libc.so.6", Function: "malloc"}, ""},
	{"uprobe.multi//bin/app:app_*", Section{Kind: SectionUprobe, Multi: true, Path: "/bin/app", Function: "app_*"}, ""},
	{"uretprobe.multi.s//bin/app:f", Section{Kind: SectionUprobe, Multi: true, Return: true, Sleepable: true, Path: "/bin/app", Function: "f"}, ""},
	{"uprobe//bin/app", Section{}, `at byte 15: no ":" behind the path, want uprobe/PATH:FUNCTION[+OFFSET]`},
	{"uprobe//bin/app:", Section{}, "at byte 16: no function, want uprobe/PATH:FUNCTION[+OFFSET]"},
	{"uprobe//bin/app:+4", Section{}, "at byte 16: no function, want uprobe/PATH:FUNCTION[+OFFSET]"},
	{"uprobe//bin/app:main+", Section{}, `at byte 21: offset "" is no number, want uprobe/PATH:FUNCTION[+OFFSET]`},
	{"uretprobe//bin/app:main+4", Section{}, "at byte 23: an offset, which the return of a function has not, want uretprobe/PATH:FUNCTION"},
	{"uprobes//bin/app:main", Section{}, `at byte 6: "s" behind "uprobe", want uprobe/PATH:FUNCTION[+OFFSET]`},
	{"uprobe.session//bin/app:main", Section{}, ""},

	{"tracepoint/sched/sched_switch", Section{Kind: SectionTracepoint, Group: "sched", Name: "sched_switch"}, ""},
	{"tp", Section{Kind: SectionTracepoint, Bare: true}, ""},
	{"tp/sched", Section{}, `at byte 8: no "/" behind the group, want tp/GROUP/NAME`},
	{"raw_tp/sys_enter", Section{Kind: SectionRawTracepoint, Name: "sys_enter"}, ""},
	{"raw_tracepoint.w/", Section{}, "at byte 17: no name, want raw_tracepoint.w/NAME"},
	{"tp_btf/sys_enter", Section{Kind: SectionTracing, Name: "sys_enter"}, ""},
	{"fentry.s/do_x", Section{Kind: SectionTracing, Sleepable: true, Name: "do_x"}, ""},

	{"kprobe/do_x", Section{Kind: SectionKprobe, Function: "do_x"}, ""},
	{"kprobe/do_x+8", Section{Kind: SectionKprobe, Function: "do_x", Offset: 8}, ""},
	{"kretprobe/do_x", Section{Kind: SectionKprobe, Return: true, Function: "do_x"}, ""},
	{"kretprobe/do_x+8", Section{}, "at byte 14: an offset, which the return of a function has not, want kretprobe/FUNCTION"},
	{"ksyscall/openat", Section{Kind: SectionKprobe, Function: "sys_openat"}, ""},
	{"kretsyscall/openat", Section{Kind: SectionKprobe, Return: true, Function: "sys_openat"}, ""},
	{"ksyscall/", Section{}, "at byte 9: no name, want ksyscall/NAME"},
	{"kprobe.multi/do_*", Section{}, ""},
	{"lsm.s/bpf", Section{Kind: SectionLSM, Sleepable: true, Name: "bpf"}, ""},
	{"iter/task", Section{Kind: SectionIter, Name: "task"}, ""},

	{"xdp", Section{Bare: true}, ""},
	{"", Section{Bare: true}, ""},
}

func TestParseSection(t *testing.T) {
	for _, tc := range sectionRows {
		got, err := ParseSection(tc.name)
		if tc.err != "" {
			var se *SectionError
			if !errors.As(err, &se) || strings.TrimPrefix(err.Error(), "section "+quoted(tc.name)+": ") != tc.err {
				t.Errorf("%s: error %v, want … %s", tc.name, err, tc.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func quoted(s string) string { return `"` + s + `"` }

// A section name that is read says where to attach, and its parts are those of the
// name; an error points into it.
func FuzzParseSection(f *testing.F) {
	for _, row := range sectionRows {
		f.Add(row.name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s, err := ParseSection(name)
		var se *SectionError
		if err != nil {
			if !errors.As(err, &se) || se.Off < 0 || se.Off > len(name) || se.Want == "" {
				t.Fatalf("%q: error %#v", name, err)
			}
			return
		}
		if s.Kind == SectionOther || s.Bare {
			return
		}
		var tail string
		switch s.Kind {
		case SectionUSDT:
			tail = s.Path + ":" + s.Provider + ":" + s.Probe
			if s.Path == "" || s.Provider == "" || s.Probe == "" {
				t.Fatalf("%q: empty part in %+v", name, s)
			}
		case SectionURDT:
			tail = ":" + s.Provider + ":" + s.Probe
			if s.NArgs < 0 || s.NArgs > 11 || s.Provider == "" || s.Probe == "" {
				t.Fatalf("%q: %+v", name, s)
			}
			if !strings.HasSuffix(name, tail) || !strings.Contains(name, "/"+s.Path+":") {
				t.Fatalf("%q is %+v", name, s)
			}
			return
		case SectionUprobe:
			tail = s.Path + ":" + s.Function
			if s.Path == "" || s.Function == "" || s.Return && s.Offset != 0 {
				t.Fatalf("%q: %+v", name, s)
			}
			if i := strings.LastIndex(name, "+"); i >= 0 && !s.Multi && !strings.HasSuffix(name, tail) {
				name = name[:i]
			}
		case SectionKprobe:
			if s.Function == "" || s.Return && s.Offset != 0 {
				t.Fatalf("%q: %+v", name, s)
			}
			return
		case SectionTracepoint:
			tail = s.Group + "/" + s.Name
		default:
			tail = s.Name
		}
		if !strings.HasSuffix(name, "/"+tail) {
			t.Fatalf("%q does not end in %q", name, tail)
		}
	})
}
