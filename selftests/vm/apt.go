package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// apt asks Debian's archive for packages of one architecture, with lists of its
// own, so that the system needs no foreign architecture and no root.
type apt struct{ options []string }

func newApt(dir, arch string) (*apt, error) {
	for _, d := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	a := &apt{options: []string{
		"-qq",
		"-o", "Dir::State::Lists=" + filepath.Join(dir, "lists"),
		"-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
		"-o", "Dir::State::status=/dev/null",
		"-o", "APT::Architecture=" + arch,
		"-o", "APT::Architectures=" + arch,
		"-o", "APT::Sandbox::User=",
		"-o", "Acquire::Languages=none",
	}}
	_, err := a.command("", "apt-get", "update")
	return a, err
}

// command runs a program of apt in a directory and returns what it prints.
func (a *apt) command(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, append(a.options, args...)...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// download puts packages into a directory.
func (a *apt) download(dir string, names ...string) error {
	_, err := a.command(dir, "apt-get", append([]string{"download"}, names...)...)
	return err
}

// closure returns packages and all that they depend on.
func (a *apt) closure(names ...string) ([]string, error) {
	args := append([]string{"install", "--simulate", "--no-install-recommends", "-o", "Debug::NoLocking=1"}, names...)
	out, err := a.command("", "apt-get", args...)
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(out) {
		// Inst NAME (VERSION …)
		if w := strings.Fields(line); len(w) > 1 && w[0] == "Inst" {
			all = append(all, w[1])
		}
	}
	return all, nil
}

// unpack puts the files of all packages of a directory into another.
func unpack(dir, files string) error {
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range debs {
		if out, err := exec.Command("dpkg", "-x", deb, files).CombinedOutput(); err != nil {
			return fmt.Errorf("dpkg -x %s: %w\n%s", deb, err, out)
		}
	}
	return nil
}

// tools are the packages that the tests find in a machine: what builds and runs
// other people's programs, on the machine itself.
var tools = []string{
	"gcc", "libc6-dev", "systemtap-sdt-dev", "binutils",
	"dash", "coreutils", "util-linux", "mount", "bsdutils", "libc-bin", "python3",
}

// needless are parts of packages that no test looks at, by the beginning of
// their names: they would be two thirds of the machine's memory.
var needless = []string{
	"usr/share/", "var/", "usr/lib/locale/", "etc/",
	"usr/lib/python3/", "usr/lib/dpkg/", "usr/lib/apt/",
}

// fetching lets one machine download at a time: apt locks its lists, and what
// another one waits for may be there then.
var fetching sync.Mutex

// fetchTools returns the directory with the files of the tools for an
// architecture. As for a kernel, they are downloaded once and not installed.
func fetchTools(arch string) (string, error) {
	fetching.Lock()
	defer fetching.Unlock()
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	// Another list of tools is another directory.
	dir := filepath.Join(cache, "tools", fmt.Sprintf("%s-%08x", arch, crc32.ChecksumIEEE([]byte(strings.Join(tools, " ")))))
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), arch+".part")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	apt, err := newApt(filepath.Join(cache, "apt-"+arch), arch)
	if err != nil {
		return "", err
	}
	names, err := apt.closure(tools...)
	if err != nil {
		return "", err
	}
	if err := apt.download(tmp, names...); err != nil {
		return "", err
	}
	files := filepath.Join(tmp, "files")
	if err := unpack(tmp, files); err != nil {
		return "", err
	}
	if err := os.Rename(files, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil { // another run was first
			return "", err
		}
	}
	return dir, nil
}

// addTools adds the tools of an architecture to an archive.
func addTools(c *cpioWriter, arch string) error {
	root, err := fetchTools(arch)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		for _, n := range needless {
			if strings.HasPrefix(name, n) {
				return nil
			}
		}
		return c.file(name, p)
	})
}
