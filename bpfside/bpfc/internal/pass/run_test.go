package pass

import (
	"errors"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// The passes together: what front makes of a small program, and what is left.
func TestRun(t *testing.T) {
	for _, tt := range []struct{ name, before, after string }{
		{
			// static int want(int pid) { return !target || pid == target; }
			// if (!want(pid)) return 0;
			// ... where target is a constant.
			"a helper function that a constant decides",
			`global @target section ".rodata" size 4 align 4 static const data "\x07\x00\x00\x00"
global @hits section ".bss" size 8 align 8 external
func @want i32 static {
b1(v1 i32 "pid"):
	v2 ptr = alloca 4 align 4 "pid"
	v3 ptr = alloca 4 align 4 "result"
	store.4 v2, v1
	v4 ptr = global @target
	v5 i32 = load.4 v4
	v6 i32 = const 0
	v7 i32 = cmp.ne v5, v6
	if v7 b2, b3
b2:
	v8 i32 = load.4 v2
	v9 i32 = load.4 v4
	v10 i32 = cmp.eq v8, v9
	store.4 v3, v10
	jump b4
b3:
	v11 i32 = const 1
	store.4 v3, v11
	jump b4
b4:
	v12 i32 = load.4 v3
	ret v12
}
func @prog i32 section "xdp" external {
b1(v1 ptr "ctx"):
	v2 i32 = load.4 v1+4
	v3 i32 = call @want(v2)
	v4 i32 = const 0
	v5 i32 = cmp.eq v3, v4
	if v5 b2, b3
b2:
	ret v4
b3:
	v6 ptr = global @hits
	v7 i64 = const 1
	atomic.add.8 v6, v7
	ret v4
}`,
			`global @hits section ".bss" size 8 align 8 external

func @prog i32 section "xdp" external {
b1(v1 ptr "ctx"):
	v2 ptr = global @hits
	v3 i64 = const 1
	v4 i32 = load.4 v1+4
	v5 i32 = const 7
	v6 i32 = const 0
	v7 i32 = cmp.ne v4, v5
	if v7 b3, b2
b2:
	atomic.add.8 v2, v3
	jump b3
b3:
	ret v6
}`,
		},
		{
			// int a[2]; for (i = 0; i < 2; i++) a[i] = ctx->x[i]; return a[0] + a[1];
			"an array that a loop fills",
			`func @prog i32 section "xdp" external {
b1(v1 ptr "ctx"):
	v2 ptr = alloca 8 align 4 "a"
	v3 ptr = alloca 4 align 4 "i"
	v4 i32 = const 0
	store.4 v3, v4
	jump b2
b2:
	v5 i32 = load.4 v3
	v6 i32 = const 2
	v7 i32 = cmp.slt v5, v6
	if v7 b3, b4
b3:
	v8 i64 = sext v5
	v9 i64 = const 4
	v10 i64 = mul v8, v9
	v11 ptr = add v1, v10
	v12 i32 = load.4 v11
	v13 ptr = add v2, v10
	store.4 v13, v12
	v14 i32 = const 1
	v15 i32 = add v5, v14
	store.4 v3, v15
	jump b2
b4:
	v16 i32 = load.4 v2
	v17 i32 = load.4 v2+4
	v18 i32 = add v16, v17
	ret v18
}`,
			`func @prog i32 section "xdp" external {
b1(v1 ptr "ctx"):
	v2 i32 = load.4 v1
	v3 i32 = load.4 v1+4
	v4 i32 = add v2, v3
	ret v4
}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := ir.Parse(tt.name, tt.before)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Check(); err != nil {
				t.Fatal(err)
			}
			err = Run(m, Options{After: func(string, *ir.Func) error { return m.Check() }})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := strings.TrimSpace(m.String()), tt.after; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// What After says ends Run, with the pass and the function.
func TestRunAfter(t *testing.T) {
	m, err := ir.Parse("x.c", "func @f i32 external {\nb1(v1 i32):\n\tjump b2\nb2:\n\tret v1\n}")
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	err = Run(m, Options{After: func(string, *ir.Func) error { return stop }})
	if !errors.Is(err, stop) || err.Error() != "after cfg of f: stop" {
		t.Errorf("got %v", err)
	}
}
