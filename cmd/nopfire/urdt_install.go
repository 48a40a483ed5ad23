package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/internal/image"
	"github.com/nopfire/nopfire/urdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// urdtHeader is urdt.h, for programs in C and C++.
//
//go:embed urdt.h
var urdtHeader []byte

// newURDTInstall returns the command that puts the object in place.
func newURDTInstall() *cobra.Command {
	var flags placeFlags
	cmd := &cobra.Command{
		Use:   "install [--dir D | --user]",
		Short: "Put liburdt.so.1, its C header and its pkg-config file in place",
		Long: `Put liburdt.so.1, a C header and a pkg-config file in place: by default for the
whole system, which root may do, in /usr/local/lib/nopfire, /usr/local/include
and /usr/local/lib/pkgconfig.

A library that is right already is left alone, since processes that have it
mapped and those that come later must share one file. Any other file of its name
is replaced: processes that have it mapped keep it, and a tracer that is attached
to the new one does not see them.

Programs find a library in a directory of your own by NOPFIRE_URDT=D/liburdt.so.1.`,
		Example: `  sudo nopfire urdt install
  nopfire urdt install --user
  nopfire urdt install --dir ./lib && cc -I./lib app.c -L./lib -lurdt`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := flags.place()
			if err != nil {
				return err
			}
			if flags.user {
				// sudo and su leave a stranger's in the environment:
				// what root makes there, its owner's processes refuse.
				dir := filepath.Dir(filepath.Dir(place.library))
				if st, err := os.Stat(dir); err != nil {
					return err
				} else if !ownedBy(st, os.Geteuid()) {
					return fmt.Errorf("--user: $XDG_RUNTIME_DIR, %s, belongs to another user", dir)
				}
			}
			return installURDT(cmd.OutOrStdout(), &place)
		},
	}
	flags.add(cmd)
	return cmd
}

// installURDT puts the files of a place there and says what it did.
func installURDT(out io.Writer, place *urdtPlace) error {
	library, err := urdt.Library()
	if err != nil {
		return err
	}
	for _, file := range place.files() {
		if err := makeDirs(filepath.Dir(file), place.dirMode); err != nil {
			return err
		}
	}
	switch err := image.Verify(place.library, library); {
	case err == nil:
		fmt.Fprintf(out, "%s: right already\n", place.library)
	case isAbsent(err):
		if err := replaceFile(place.library, library, 0o444); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: written\n", place.library)
	default:
		if err := replaceFile(place.library, library, 0o444); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: replaced (%v)\n", place.library, err)
	}
	if err := replaceLink(place.link, abi.Library); err != nil {
		return err
	}
	if err := replaceFile(place.header, urdtHeader, 0o644); err != nil {
		return err
	}
	if err := replaceFile(place.pc, place.pkgConfig(), 0o644); err != nil {
		return err
	}
	for _, file := range place.files()[1:] {
		fmt.Fprintf(out, "%s: written\n", file)
	}
	return nil
}

// makeDirs makes a directory and those above it that are not there, with the given
// mode whatever the umask: with one of 027, which root often has, no other user's
// process could reach the library, and each would quietly use another.
func makeDirs(dir string, mode os.FileMode) error {
	switch _, err := os.Stat(dir); {
	case err == nil:
		return nil
	case !isAbsent(err):
		return err
	}
	if err := makeDirs(filepath.Dir(dir), mode); err != nil {
		return err
	}
	if err := os.Mkdir(dir, mode); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // somebody else's, made meanwhile
		}
		return err
	}
	return os.Chmod(dir, mode)
}

// pkgConfig returns the content of urdt.pc.
func (p *urdtPlace) pkgConfig() []byte {
	dir := filepath.Dir(p.library)
	return fmt.Appendf(nil, `libdir=%s
includedir=%s

Name: urdt
Description: Runtime-defined tracepoints (nopfire)
Version: %d
Libs: -L${libdir} -Wl,-rpath,${libdir} -lurdt
Cflags: -I${includedir}
`, dir, filepath.Dir(p.header), abi.MarkerVersion)
}

// replaceFile writes a file at once: nobody ever opens a part of it. What is
// in its place, a symbolic link for instance, is replaced, not followed.
func replaceFile(path string, content []byte, mode os.FileMode) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // gone after the rename
	_, err = temp.Write(content)
	if err == nil {
		err = temp.Chmod(mode)
	}
	if e := temp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// replaceLink makes a symbolic link.
func replaceLink(path, target string) error {
	if have, err := os.Readlink(path); err == nil && have == target {
		return nil
	}
	if err := os.Remove(path); err != nil && !isAbsent(err) {
		return err
	}
	return os.Symlink(target, path)
}
