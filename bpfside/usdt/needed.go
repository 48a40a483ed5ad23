package usdt

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits on what a dynamic section may ask for. Programs need a few dozen libraries.
const (
	maxNeeded       = 256
	maxDynamic      = 1 << 20 // bytes of the section, and of its strings
	maxDynamicPaths = 4096    // bytes of a string: PATH_MAX
	maxLookups      = 1 << 14 // names that are looked for in directories, in all
)

// Needed returns the paths of the libraries that a program or library is linked with,
// and of those that these need: the nearest first, each once, at most 256. They are
// found as the loader of glibc finds them (ld.so(8)) for a program with the
// environment of this process: by DT_RPATH, LD_LIBRARY_PATH and DT_RUNPATH, and then
// as LibraryPath does. What is not found is left out, and what is no ELF file needs
// nothing; neither is a fault here, as it is the loader that has to tell.
func Needed(path string) []string {
	var libs []string
	lookups := maxLookups
	for at := -1; at < len(libs); at++ {
		of := path
		if at >= 0 {
			of = libs[at]
		}
		for _, lib := range directlyNeeded(of, &lookups) {
			if lib != path && len(libs) < maxNeeded && !slices.Contains(libs, lib) {
				libs = append(libs, lib)
			}
		}
	}
	return libs
}

// directlyNeeded is Needed without what the libraries need. It takes from the number of
// lookups that are left.
func directlyNeeded(path string, lookups *int) (libs []string) {
	f, err := openRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil
	}
	ef, err := newELFFile(f, st.Size())
	if err != nil {
		return nil
	}
	d := readDynamic(&image{file: &File{Path: path}, r: f, size: st.Size()}, ef)
	dirs := d.dirs(path)
	for _, name := range d.needed {
		if lib := findNeeded(name, dirs, lookups); lib != "" {
			libs = append(libs, lib)
		}
	}
	return libs
}

// A dynamicInfo is what the dynamic section of a file says of libraries.
type dynamicInfo struct{ needed, rpath, runpath []string }

// readDynamic reads the dynamic section of a file, as far as it can be read.
func readDynamic(img *image, ef *elfFile) (d dynamicInfo) {
	at := slices.IndexFunc(ef.Sections, func(s *elf.SectionHeader) bool { return s.Type == elf.SHT_DYNAMIC })
	if at < 0 || uint64(ef.Sections[at].Link) >= uint64(len(ef.Sections)) {
		return d
	}
	data, err := img.section(ef.Sections[at], maxDynamic)
	strs, strErr := img.section(ef.Sections[ef.Sections[at].Link], maxDynamic)
	if err != nil || strErr != nil {
		return d
	}
	word, size := ef.ByteOrder.Uint64, 8
	if ef.Class == elf.ELFCLASS32 {
		word, size = func(b []byte) uint64 { return uint64(ef.ByteOrder.Uint32(b)) }, 4
	}
	for ; len(data) >= 2*size; data = data[2*size:] { // Elf64_Dyn: d_tag, d_val
		var list *[]string
		switch elf.DynTag(word(data)) {
		case elf.DT_NULL:
			return d
		case elf.DT_NEEDED:
			list = &d.needed
		case elf.DT_RPATH:
			list = &d.rpath
		case elf.DT_RUNPATH:
			list = &d.runpath
		}
		off := word(data[size:])
		if list == nil || off >= uint64(len(strs)) || len(*list) >= maxNeeded {
			continue
		}
		s, _, _ := bytes.Cut(strs[off:min(off+maxDynamicPaths, uint64(len(strs)))], []byte{0})
		*list = append(*list, string(s))
	}
	return d
}

// dirs returns the directories that are searched for the libraries of a file before
// those of the system.
func (d *dynamicInfo) dirs(path string) (dirs []string) {
	origin := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		origin = filepath.Dir(real)
	}
	if abs, err := filepath.Abs(origin); err == nil {
		origin = abs
	}
	expand := strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin)
	add := func(lists ...string) {
		for _, l := range lists {
			for _, dir := range filepath.SplitList(l) {
				dirs = append(dirs, expand.Replace(dir))
			}
		}
	}
	if len(d.runpath) == 0 { // else DT_RPATH is ignored
		add(d.rpath...)
	}
	add(os.Getenv("LD_LIBRARY_PATH"))
	add(d.runpath...)
	return dirs
}

// findNeeded returns the path of a needed library, "" if it is not found.
func findNeeded(name string, dirs []string, lookups *int) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, dir := range dirs {
		if *lookups--; *lookups < 0 {
			return ""
		}
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path
		}
	}
	path, err := LibraryPath(name)
	if err != nil {
		return ""
	}
	return path
}
