package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A machine is a kernel and what it runs on.
type machine struct {
	name   string // as -machines names it
	arch   string // of Debian, and of Go
	meta   string // the package that depends on the newest kernel of its kind
	qemu   string
	args   []string // of qemu
	serial string   // the console
}

// machines are the kernels of Debian 12: one of the time before uprobe_multi
// (6.6), one between it and the optimized nop, on both processors where emit
// fires.
//
// pauth=off: pointer authentication of the model "max" takes most of the time of
// an emulated kernel.
var machines = []machine{
	{
		name: "6.1-amd64", arch: "amd64", meta: "linux-image-cloud-amd64",
		qemu: "qemu-system-x86_64", args: []string{"-cpu", "max"}, serial: "ttyS0",
	},
	{
		name: "6.12-amd64", arch: "amd64", meta: "linux-image-6.12-cloud-amd64",
		qemu: "qemu-system-x86_64", args: []string{"-cpu", "max"}, serial: "ttyS0",
	},
	{
		name: "6.12-arm64", arch: "arm64", meta: "linux-image-6.12-cloud-arm64",
		qemu: "qemu-system-aarch64", args: []string{"-M", "virt", "-cpu", "max,pauth=off"}, serial: "ttyAMA0",
	},
}

// kernel is the unpacked /boot of a kernel's package.
type kernel struct {
	image, config string
	release       string // "6.1.0-57-cloud-amd64"
}

// cacheDir is where downloads are kept between runs: $NOPFIRE_CACHE, or the
// cache of the user.
func cacheDir() (string, error) {
	if dir := os.Getenv("NOPFIRE_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "nopfire"), nil
}

// fetchKernel returns the kernel of a machine, downloaded but not installed.
// Remove its directory in the cache to have it anew.
func fetchKernel(m machine) (*kernel, error) {
	fetching.Lock()
	defer fetching.Unlock()
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "kernels", m.name)
	if k, err := findKernel(dir); !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	// Made under another name, so that a broken download is not taken for a
	// kernel.
	tmp, err := os.MkdirTemp(filepath.Dir(dir), m.name+".part")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	apt, err := newApt(filepath.Join(cache, "apt-"+m.arch), m.arch)
	if err != nil {
		return nil, err
	}
	name, err := apt.kernelOf(m.meta)
	if err != nil {
		return nil, err
	}
	files := filepath.Join(tmp, "files")
	if err := apt.download(tmp, name); err != nil {
		return nil, err
	}
	if err := unpack(tmp, files); err != nil {
		return nil, err
	}
	// The modules are of no use without a disk.
	if err := os.Rename(filepath.Join(files, "boot"), dir); err != nil {
		return nil, err
	}
	return findKernel(dir)
}

// findKernel looks for the one kernel of a directory.
func findKernel(dir string) (*kernel, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if release, ok := strings.CutPrefix(e.Name(), "vmlinuz-"); ok {
			return &kernel{
				image:   filepath.Join(dir, e.Name()),
				config:  filepath.Join(dir, "config-"+release),
				release: release,
			}, nil
		}
	}
	return nil, fmt.Errorf("no kernel in %s", dir)
}

var imageName = regexp.MustCompile(`Depends: (linux-image-\S+)`)

// kernelOf returns the package of the kernel that a package depends on.
func (a *apt) kernelOf(meta string) (string, error) {
	out, err := a.command("", "apt-cache", "depends", meta)
	if err != nil {
		return "", err
	}
	m := imageName.FindStringSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("package %s depends on no kernel", meta)
	}
	return m[1], nil
}
