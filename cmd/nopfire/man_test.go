package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nopfire/nopfire/internal/testutils"
)

// Every command has a page, and every page says all that -h says.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	root := newRoot()
	if err := writeManPages(root, dir); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	commands := manCommands(root)
	if len(files) != len(commands) || len(commands) < 10 {
		t.Errorf("%d files for %d commands", len(files), len(commands))
	}
	for _, cmd := range commands {
		t.Run(manName(cmd), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, manName(cmd)+".1"))
			if err != nil {
				t.Fatal(err)
			}
			page := string(data)
			for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES"} {
				if !strings.Contains(page, "\n.SH "+section+"\n") {
					t.Errorf("no section %s", section)
				}
			}
			for _, word := range strings.Fields(cmd.Long + "\n" + cmd.Example) {
				if !strings.Contains(page, roff(word)) {
					t.Errorf("the page lacks %q", word)
				}
			}
			cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
				if strings.Contains(page, roff("--"+f.Name)+"\\fR") == f.Hidden {
					t.Errorf("flag --%s: hidden is %t", f.Name, f.Hidden)
				}
			})
		})
	}
	// A stranger reads them.
	t.Run("groff", func(t *testing.T) {
		groff := testutils.Oracle(t, "groff")
		for _, f := range files {
			out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", filepath.Join(dir, f.Name())).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("groff %s: %v\n%s", f.Name(), err, out)
			}
		}
	})
}

func TestManText(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"paragraphs", "One\ntwo.\n\nThree.", ".PP\nOne\ntwo.\n.PP\nThree.\n"},
		{"indented lines stand", "Statuses:\n  0  fine\n  1  not\n\nAfter.", ".PP\nStatuses:\n.RS 2\n.nf\n0  fine\n1  not\n.fi\n.RE\n.PP\nAfter.\n"},
		{"text goes on", "A:\n  b\nand c.", ".PP\nA:\n.RS 2\n.nf\nb\n.fi\n.RE\nand c.\n"},
		{"deeper indentation is kept", "  a\n    b", ".PP\n.RS 2\n.nf\na\n  b\n.fi\n.RE\n"},
		{"what roff would take for its own", ".so x\n'br\n'a-b' \\n \"q\" `c` ~ ^ ✓é", ".PP\n\\&.so x\n\\(aqbr\n\\(aqa\\-b\\(aq \\en \\(dqq\\(dq \\(gac\\(ga \\(ti \\(ha \\[u2713]\\[u00E9]\n"},
		{"nothing", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b strings.Builder
			manText(&b, tc.text)
			if b.String() != tc.want {
				t.Errorf("got\n%s\nwant\n%s", b.String(), tc.want)
			}
		})
	}
}

func TestManFlags(t *testing.T) {
	cmd := &cobra.Command{Use: "x"}
	cmd.Flags().IntP("pid", "p", 0, "trace process `PID`")
	cmd.Flags().Bool("json", false, "print JSON")
	cmd.Flags().Int("max-string", 256, "keep `BYTES`")
	cmd.Flags().Bool("secret", false, "for tests")
	if err := cmd.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	manFlags(&b, cmd.Flags())
	const want = `.SH OPTIONS
.TP
\fB\-\-json\fR
print JSON
.TP
\fB\-\-max\-string\fR \fIBYTES\fR
keep BYTES (default 256)
.TP
\fB\-p\fR, \fB\-\-pid\fR \fIPID\fR
trace process PID
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
