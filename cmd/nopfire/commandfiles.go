package main

import (
	"bufio"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// maxCommandFiles bounds what commandFiles returns, and so what it reads.
const maxCommandFiles = 256

// commandFiles returns the files that a program maps when it starts, as far as they
// can be told beforehand: itself, or, if it is a script, its interpreter, and the
// libraries that are needed, found as the loader of glibc does (ld.so(8)) for a program
// with this environment. A file too many does no harm, and one that is missing is found
// when it is mapped.
func commandFiles(path string) []string {
	var files []string
	add := func(file string) {
		if file != "" && len(files) < maxCommandFiles && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	add(path)
	for i := 0; i < len(files); i++ {
		add(interpreter(files[i]))
		for _, lib := range neededBy(files[i]) {
			add(lib)
		}
	}
	return slices.DeleteFunc(files, func(file string) bool { return interpreter(file) != "" })
}

// interpreter returns the program that runs a script, "" for what is no script. The
// kernel looks at 256 bytes (BINPRM_BUF_SIZE, include/uapi/linux/binfmts.h).
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	args, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return ""
	}
	words := strings.Fields(args)
	switch {
	case len(words) == 0:
		return ""
	case len(words) > 1 && filepath.Base(words[0]) == "env" && !strings.HasPrefix(words[1], "-"):
		program, err := usdt.FindFile(words[1])
		if err != nil {
			return ""
		}
		return program
	}
	return words[0]
}

// neededBy returns the libraries that an ELF file names as needed, nil if it is none.
func neededBy(path string) (libs []string) {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, err := f.ImportedLibraries()
	if err != nil {
		return nil
	}
	dirs := libraryDirs(f, path)
	for _, name := range names {
		if lib := findLibrary(name, dirs); lib != "" {
			libs = append(libs, lib)
		}
	}
	return libs
}

// libraryDirs returns the directories that are searched for the libraries of a file
// before those of the system.
func libraryDirs(f *elf.File, path string) (dirs []string) {
	origin := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		origin = filepath.Dir(real)
	}
	runpath, _ := f.DynString(elf.DT_RUNPATH)
	if len(runpath) == 0 { // else DT_RPATH is ignored
		rpath, _ := f.DynString(elf.DT_RPATH)
		dirs = append(dirs, split(rpath)...)
	}
	dirs = append(dirs, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...)
	dirs = append(dirs, split(runpath)...)
	expand := strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin)
	for i := range dirs {
		dirs[i] = expand.Replace(dirs[i])
	}
	return dirs
}

func split(lists []string) (dirs []string) {
	for _, l := range lists {
		dirs = append(dirs, filepath.SplitList(l)...)
	}
	return dirs
}

// findLibrary returns the path of a library, "" if it is not found.
func findLibrary(name string, dirs []string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path
		}
	}
	path, err := usdt.LibraryPath(name)
	if err != nil {
		return ""
	}
	return path
}
