package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/urdt/abi"
)

// newURDT returns the command for the shared object.
func newURDT() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "urdt",
		Short: "Install and check the object that all processes share",
		Long: `The tracepoints of package urdt, of liburdt.so.1 and of nopfire fire are seen
across processes if these share one file. In /usr/local/lib/nopfire it serves
the whole system, in $XDG_RUNTIME_DIR/nopfire the processes of one user.
docs/urdt-spec.md has the rules.`,
		Example: `  sudo nopfire urdt install
  nopfire urdt status`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newURDTInstall(), newURDTStatus(), newURDTVerify(), newURDTUninstall())
	return cmd
}

// A urdtPlace is where the files of an installation are.
type urdtPlace struct {
	library string // liburdt.so.1
	link    string // liburdt.so, for linkers
	header  string // urdt.h
	pc      string // urdt.pc, for pkg-config
	// dirMode is the mode of the directories that are made for them.
	dirMode fs.FileMode
}

// flat returns the place that has all files in one directory.
func flat(dir string) urdtPlace {
	return urdtPlace{
		library: filepath.Join(dir, abi.Library), link: filepath.Join(dir, "liburdt.so"),
		header: filepath.Join(dir, "urdt.h"), pc: filepath.Join(dir, "urdt.pc"), dirMode: 0o755,
	}
}

// placeFlags are the flags that choose a place.
type placeFlags struct {
	dir  string
	user bool
}

func (f *placeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "", "use directory `D` for all files, instead of those of the system")
	cmd.Flags().BoolVar(&f.user, "user", false, "use $XDG_RUNTIME_DIR/nopfire, the place of one user")
}

// place returns the chosen place.
func (f *placeFlags) place() (urdtPlace, error) {
	switch {
	case f.user && f.dir != "":
		return urdtPlace{}, usagef("--user and --dir exclude each other")
	case f.user:
		dir := os.Getenv("XDG_RUNTIME_DIR")
		if !filepath.IsAbs(dir) {
			return urdtPlace{}, fmt.Errorf("--user: $XDG_RUNTIME_DIR is %q, no absolute path", dir)
		}
		p := flat(filepath.Join(dir, abi.UserDir))
		p.dirMode = 0o700
		return p, nil
	case f.dir != "":
		dir, err := filepath.Abs(f.dir)
		if err != nil {
			return urdtPlace{}, err
		}
		return flat(dir), nil
	}
	p := flat(abi.SystemDir)
	p.header = "/usr/local/include/urdt.h"
	p.pc = "/usr/local/lib/pkgconfig/urdt.pc"
	return p, nil
}

// files lists the files of the place.
func (p *urdtPlace) files() []string { return []string{p.library, p.link, p.header, p.pc} }

// isAbsent tells whether a file is not there, for that reason alone.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
