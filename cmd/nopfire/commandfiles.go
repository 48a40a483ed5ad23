package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
)

// maxScripts is how often the interpreter of a script may be a script (exec_binprm in
// fs/exec.c of the kernel).
const maxScripts = 5

// commandFiles returns the files that a program maps when it starts, as far as they
// can be told beforehand: itself, or, if it is a script, its interpreter, and the
// libraries that are needed. A file too many does no harm, and one that is missing is
// found when it is mapped.
func commandFiles(path string) []string {
	for range maxScripts {
		next := interpreter(path)
		if next == "" {
			return append([]string{path}, usdt.Needed(path)...)
		}
		path = next
	}
	return nil
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
