// Package plan is what the host and the init of a virtual machine have agreed
// on: the file that says what to run, and the lines of the serial console that
// say what came of it.
package plan

import (
	"strings"
	"time"
)

// File is the path of the plan, as JSON, in the machine.
const File = "/plan.json"

// A Plan is what the machine runs before it powers off.
type Plan struct {
	// Groups are run one after another.
	Groups []Group `json:"groups"`
}

// A Group is one test program.
type Group struct {
	Name string `json:"name"`
	// Dir is where the program runs, Path and Args what is run there.
	Dir  string   `json:"dir"`
	Path string   `json:"path"`
	Args []string `json:"args"`
	// Limit is when it is killed, with all its children.
	Limit time.Duration `json:"limit"`
}

// The console is shared with the kernel, which may write a line in the midst of
// another. So each line of ours begins with a mark, and no line of the kernel
// does.
const (
	// Output marks a line that a test program has printed.
	Output = "| "
	// Note marks a line of init: one of the words below, and what belongs to it.
	Note = "# "
)

// Words of notes.
const (
	Kernel = "kernel" // kernel RELEASE MACHINE
	Begin  = "begin"  // begin GROUP
	End    = "end"    // end GROUP STATUS SECONDS
	Fault  = "fault"  // fault TEXT: of the kernel's log, or of init itself
	Done   = "done"   // done: all groups have had their turn
)

// ParseNote returns the words of a note, and false if the line is none.
func ParseNote(line string) ([]string, bool) {
	s, ok := strings.CutPrefix(line, Note)
	if !ok {
		return nil, false
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		return nil, false
	}
	if words[0] == Fault {
		return []string{Fault, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), Fault))}, true
	}
	return words, true
}
