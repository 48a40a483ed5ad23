package emit

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/sys"
)

func init() { children["seccomp"] = childSeccomp }

// A filter that kills whoever uses a system call it has not heard of does not
// kill a program that loads a provider.
func TestLoadUnderSeccomp(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "NOPFIRE_TEST_CHILD=seccomp")
	out, err := cmd.CombinedOutput()
	if reason, ok := strings.CutPrefix(string(out), "skip: "); ok {
		t.Skipf("skipped: %s", reason)
	}
	want := elfgen.FormNop1
	if major, minor := sys.KernelVersion(); major > 6 || major == 6 && minor >= 18 {
		want = hostForm() // the filter is not asked
	}
	if err != nil || string(out) != fmt.Sprintln("loaded", want) {
		t.Errorf("child: %v\n%s\nwant: loaded %v", err, out, want)
	}
}

// childSeccomp forbids uprobe(2) on pain of death and loads a provider.
func childSeccomp() {
	if err := killOnUprobe(); err != nil {
		fmt.Println("skip: install a seccomp filter:", err)
		return
	}
	p, err := NewProvider("seccomp", nil)
	if err == nil {
		Must(NewProbe0(p, "p", nil))
		err = p.Load()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("loaded", p.Backing().NopForm)
	runtime.KeepAlive(p)
}

// killOnUprobe installs the filter for all threads.
func killOnUprobe() error {
	// include/uapi/linux/{prctl,seccomp,bpf_common}.h, syscall_64.tbl
	const (
		prSetNoNewPrivs = 38
		nrSeccomp       = 317
		setModeFilter   = 1
		flagTsync       = 1
		ldAbsW          = 0x20
		jeqK            = 0x15
		retK            = 0x06
		killProcess     = 0x80000000
		allow           = 0x7fff0000
		nrUprobe        = 336
	)
	filter := []syscall.SockFilter{
		{Code: ldAbsW, K: 0}, // seccomp_data.nr
		{Code: jeqK, Jf: 1, K: nrUprobe},
		{Code: retK, K: killProcess},
		{Code: retK, K: allow},
	}
	prog := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, e := syscall.Syscall(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0); e != 0 {
		return e
	}
	if _, _, e := syscall.Syscall(nrSeccomp, setModeFilter, flagTsync, uintptr(unsafe.Pointer(&prog))); e != 0 {
		return e
	}
	return nil
}
