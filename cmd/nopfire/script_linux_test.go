package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// nobody is the user of asuser: it owns nothing.
const nobody = 65534

// cmdAsUser runs "asuser N command…" as an ordinary user and wants exit status
// N. The output is compared with the files of the script, "stdout" and "stderr"
// have it as after exec.
func cmdAsUser(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: asuser N command [argument...]")
	}
	path := args[1]
	if path == "nopfire" {
		path = nopfirePath(ts)
	}
	// The directories of the test are for their owner only.
	for _, dir := range []string{filepath.Dir(path), ts.Getenv("WORK")} {
		for ; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
			ts.Check(os.Chmod(dir, 0o755))
		}
	}
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=/", "TMPDIR=" + os.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	ts.Logf("[stdout]\n%s[stderr]\n%s", &out, &errs)
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(out.String()), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("err"), []byte(errs.String()), 0o644))
	checkStatus(ts, args[0], err)
}
