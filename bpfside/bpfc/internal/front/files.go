package front

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"modernc.org/cc/v4"
	"modernc.org/token"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// system is the directory that stands for Input.System, and for the vmlinux.h
// that is made: its name is what diagnostics in those headers begin with.
const system = "<bpfc>"

// sources are the files of a unit as cc reads them: an fs.FS that looks like the
// one of the program with a directory [system] in it, and whose files have been
// through [rewrite].
type sources struct {
	ctx    context.Context
	in     *Input
	search []string

	loop     string // a file that includes itself, come what may
	missing  map[string]bool
	files    map[string]*ir.File // what was read, as it was
	texts    map[string]string   // the same, before it is cut to lines
	inserted map[string][]insertion
	size     int
	err      error // what a file is not read for, other than that there is none

	deep         []token.Position // where a file is nested too deeply, and is not read
	once         map[string]bool  // files with #pragma once
	pragmaErrors []pragmaError
}

type pragmaError struct {
	at  token.Position
	msg string
}

func newSources(ctx context.Context, in *Input) *sources {
	s := &sources{
		ctx:      ctx,
		in:       in,
		missing:  map[string]bool{},
		files:    map[string]*ir.File{},
		texts:    map[string]string{},
		inserted: map[string][]insertion{},
		once:     map[string]bool{},
	}
	for _, dir := range in.Include {
		s.search = append(s.search, path.Clean(dir))
	}
	if len(in.SystemInclude) == 0 {
		s.search = append(s.search, system)
	}
	for _, dir := range in.SystemInclude {
		s.search = append(s.search, path.Join(system, dir))
	}
	return s
}

// Open implements fs.FS.
func (s *sources) Open(name string) (fs.File, error) {
	text, err := s.read(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if line := checkDepth(text); line > 0 {
		s.deep = append(s.deep, token.Position{Filename: name, Line: line, Column: 1})
		text = ""
	}
	text, s.inserted[path.Clean(name)] = rewrite(text)
	return &textFile{Reader: strings.NewReader(text), name: path.Base(name)}, nil
}

// read returns the text of a file as it is. A failure that is not the lack of
// the file ends the unit: cc only knows that a header is not found.
func (s *sources) read(name string) (string, error) {
	name = path.Clean(name)
	if text, ok := s.texts[name]; ok {
		return text, nil
	}
	if s.missing[name] {
		return "", fs.ErrNotExist
	}
	if s.err != nil {
		return "", s.err
	}
	if err := s.ctx.Err(); err != nil {
		return "", err
	}
	text, err := s.load(name)
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%d bytes are more than the limit of %d", len(text), maxFile)
	}
	if err == nil && s.size+len(text) > maxSource {
		err = fmt.Errorf("the files together are longer than the limit of %d bytes", maxSource)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
			s.err = fmt.Errorf("read %s: %w", name, err)
		}
		s.missing[name] = true
		return "", err
	}
	s.size += len(text)
	s.texts[name] = text
	return text, nil
}

func (s *sources) load(name string) (string, error) {
	rest, ok := strings.CutPrefix(name, system+"/")
	if !ok {
		return readFile(s.in.FS, name)
	}
	if rest == "vmlinux.h" && s.in.Vmlinux != nil {
		return s.in.Vmlinux(s.identifiers())
	}
	text, err := readFile(s.in.System, rest)
	if err == nil && path.Base(rest) == helperDefs {
		text = s.usedHelpers(text)
	}
	return text, err
}

// helperDefs declares every helper, a line each: to parse them all takes a quarter
// of the time of a small program.
const helperDefs = "bpf_helper_defs.h"

// usedHelpers leaves of the text of helperDefs the helpers that the program can
// name, by itself or by a macro of a header: as with vmlinux.h, a name that is made
// by pasting tokens is not seen. Lines stay where they are.
func (s *sources) usedHelpers(text string) string {
	names := s.identifiers()
	for _, dir := range s.in.SystemInclude {
		headers, err := fs.Glob(s.in.System, path.Join(dir, "*bpf*.h"))
		if err != nil {
			return text
		}
		for _, h := range headers {
			if path.Base(h) == helperDefs {
				continue
			}
			if t, err := readFile(s.in.System, h); err == nil {
				scanIdentifiers(t, names)
			}
		}
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if _, rest, ok := strings.Cut(line, "(* const "); ok && strings.HasPrefix(line, "static ") {
			if name, _, _ := strings.Cut(rest, ")"); !names[name] {
				line = "\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

func readFile(fsys fs.FS, name string) (string, error) {
	if fsys == nil || !fs.ValidPath(name) {
		return "", fs.ErrNotExist
	}
	if info, err := fs.Stat(fsys, name); err != nil {
		return "", err
	} else if info.IsDir() {
		return "", fs.ErrNotExist
	} else if info.Size() > maxFile {
		return "", fmt.Errorf("%d bytes are more than the limit of %d", info.Size(), maxFile)
	}
	b, err := fs.ReadFile(fsys, name)
	return string(b), err
}

// file returns what was read under a name that cc gives, nil for what it was
// given as text.
func (s *sources) file(name string) *ir.File {
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if f := s.files[name]; f != nil {
		return f
	}
	text, ok := s.texts[name]
	if !ok {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	f := &ir.File{Name: name, Lines: lines}
	s.files[name] = f
	return f
}

// pragma hears of each #pragma that is not in the text of a macro that is never
// used. Those of the loops are read from the lines above them.
func (s *sources) pragma(line []cc.Token) error {
	var words []string
	for _, t := range line {
		if w := strings.TrimSpace(t.SrcStr()); w != "" {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return nil
	}
	at := line[0].Position()
	switch {
	case words[0] == "once":
		if s.once[at.Filename] {
			return cc.SkipSource
		}
		s.once[at.Filename] = true
	case len(words) > 1 && words[0] == "clang" && words[1] == "attribute":
		// What rewrite knows does not come here.
		s.pragmaErrors = append(s.pragmaErrors, pragmaError{at, "#pragma clang attribute other than push(__attribute__((preserve_access_index)), apply_to = record) and pop is not supported"})
	}
	return nil
}

// again forgets what reading the files has led to, before they are read again.
func (s *sources) again() {
	clear(s.once)
	s.deep, s.pragmaErrors = nil, nil
}

// reach calls visit with each file of the program's own that it can include,
// itself first. Neither conditions nor macros are looked at.
func (s *sources) reach(visit func(name, text string)) {
	seen := map[string]bool{}
	within := map[string]bool{} // includes what is being looked at
	var walk func(name string)
	walk = func(name string) {
		if strings.HasPrefix(name, system+"/") || seen[name] && !within[name] {
			return
		}
		text, err := s.read(name)
		if err != nil {
			return
		}
		if within[name] {
			if !strings.Contains(text, "#if") && !strings.Contains(text, "#pragma once") {
				s.loop = name // cc would follow it until its limit
			}
			return
		}
		seen[name], within[name] = true, true
		defer delete(within, name)
		visit(name, text)
		for l := (lexer{text: text}); l.hash(); {
			header, quoted, ok := l.include()
			if !ok {
				continue
			}
			dirs := s.search
			if quoted {
				dirs = append([]string{path.Dir(name)}, dirs...)
			}
			for _, dir := range dirs {
				file := path.Join(dir, header)
				if strings.HasPrefix(file, system+"/") {
					break
				}
				if _, err := s.read(file); err == nil {
					walk(file)
					break
				}
			}
		}
	}
	walk(path.Clean(s.in.File))
}

// identifiers returns every identifier of the program, of the headers of its own
// that it can reach, and of the command line: what vmlinux.h may have to hold for
// them. These are too many rather than too few.
func (s *sources) identifiers() map[string]bool {
	names := map[string]bool{}
	scanIdentifiers(commandLine(s.in), names)
	s.reach(func(name, text string) { scanIdentifiers(text, names) })
	return names
}

// fromKernel says whether n stands in the vmlinux.h that was made of the types of
// the kernel that the program is for: what is declared there is as the kernel has
// it.
func (u *unit) fromKernel(n cc.Node) bool {
	return n != nil && path.Clean(strings.ReplaceAll(n.Position().Filename, `\`, "/")) == system+"/vmlinux.h"
}

// textFile is a file that is in memory.
type textFile struct {
	*strings.Reader
	name string
}

func (f *textFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *textFile) Close() error               { return nil }
func (f *textFile) Name() string               { return f.name }
func (f *textFile) Mode() fs.FileMode          { return 0o444 }
func (f *textFile) ModTime() time.Time         { return time.Time{} }
func (f *textFile) IsDir() bool                { return false }
func (f *textFile) Sys() any                   { return nil }
