package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// boot starts a machine, gives the lines of its console to a function, and waits
// for its end.
func boot(ctx context.Context, m machine, k *kernel, initramfs string, line func(string)) error {
	args := append([]string{}, m.args...)
	args = append(args,
		// KVM would not run another machine's code, and is absent in most CI.
		"-accel", "tcg,thread=single",
		"-smp", "2",
		"-m", "3072",
		"-nodefaults", "-display", "none", "-no-reboot", "-monitor", "none",
		"-serial", "stdio",
		"-kernel", k.image,
		"-initrd", initramfs,
		// Mitigations protect nobody here and cost an emulator much.
		"-append", "console="+m.serial+" loglevel=1 panic=-1 oops=panic mitigations=off random.trust_cpu=on")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.qemu, args...)
	// Without a wait for children that hold the pipe.
	cmd.WaitDelay = 5 * time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	r, w := io.Pipe()
	cmd.Stdout = w
	read := make(chan error, 1)
	go func() {
		err := readLines(r, line)
		r.CloseWithError(err) // lets the writer go, if the reader has ended first
		read <- err
	}()
	err := cmd.Run()
	w.Close()
	if rerr := <-read; rerr != nil && err == nil {
		err = rerr
	}
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, exec.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%s: %w\n%s", m.qemu, err, strings.TrimSpace(stderr.String()))
}
