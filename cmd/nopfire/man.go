package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan returns the hidden command that writes the manual pages: for packagers, and
// make man.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Hidden: true,
		Short:  "Write the manual pages",
		Long: `Write the manual pages of this program and its commands into DIR, as
nopfire.1, nopfire-list.1 and so on. They say what -h says.`,
		Example: `  nopfire man /usr/local/share/man/man1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeManPages(cmd.Root(), args[0])
		},
	}
}

// writeManPages writes a page for each command that is not hidden.
func writeManPages(root *cobra.Command, dir string) error {
	for _, cmd := range manCommands(root) {
		f, err := os.Create(filepath.Join(dir, manName(cmd)+".1"))
		if err != nil {
			return err
		}
		if _, err := io.WriteString(f, manPage(cmd)); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// manCommands returns the commands that have a page, parents first.
func manCommands(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, sub := range manSubcommands(cmd) {
		list = append(list, manCommands(sub)...)
	}
	return list
}

// manSubcommands returns the commands of a command that have a page: not those that
// are hidden, nor those that cobra adds, help and completion, which say all there is
// to say by themselves.
func manSubcommands(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(sub *cobra.Command) bool {
		return !sub.IsAvailableCommand() || sub.Name() == "completion"
	})
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the page of a command, in the macros of man(7). The text of the
// help is laid out by its indentation alone, so it is taken as it stands: a
// paragraph is filled, an indented line keeps its place. (Package doc of cobra takes
// it for Markdown, in which * and _ of a pattern are emphasis.)
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	name := manName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"nopfire %s\" \"User Commands\"\n", roff(strings.ToUpper(name)), roff(version()))
	// No hyphens within the words of commands, and no stretched lines.
	b.WriteString(".nh\n.ad l\n")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.CommandPath()))
	if _, rest, ok := strings.Cut(cmd.UseLine(), cmd.CommandPath()+" "); ok {
		b.WriteString(roffText(rest) + "\n")
	} else if len(manSubcommands(cmd)) > 0 {
		b.WriteString("COMMAND\n")
	}
	b.WriteString(".SH DESCRIPTION\n")
	manText(&b, cmd.Long)
	manCommandList(&b, cmd)
	cmd.InitDefaultHelpFlag()
	manFlags(&b, cmd.NonInheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		manText(&b, cmd.Example)
	}
	manSeeAlso(&b, cmd)
	return b.String()
}

// manText writes paragraphs. A line that is indented stands as it is, and so do
// those around it up to the next empty line if they are.
func manText(b *strings.Builder, text string) {
	fresh, verbatim := true, false // no paragraph is open; the lines are indented
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		indented := strings.HasPrefix(line, " ")
		if verbatim && !indented {
			b.WriteString(".fi\n.RE\n")
			verbatim = false
		}
		switch {
		case line == "":
			fresh = true
			continue
		case fresh:
			b.WriteString(".PP\n")
		}
		if indented && !verbatim {
			b.WriteString(".RS 2\n.nf\n")
			verbatim = true
		}
		fresh = false
		b.WriteString(roffText(strings.TrimPrefix(line, "  ")) + "\n")
	}
	if verbatim {
		b.WriteString(".fi\n.RE\n")
	}
}

// manCommandList writes the commands of a command.
func manCommandList(b *strings.Builder, cmd *cobra.Command) {
	for i, sub := range manSubcommands(cmd) {
		if i == 0 {
			b.WriteString(".SH COMMANDS\n")
		}
		fmt.Fprintf(b, ".TP\n.BR %s (1)\n%s\n", roff(manName(sub)), roffText(sub.Short))
	}
}

// manFlags writes the flags with the names of their values.
func manFlags(b *strings.Builder, flags *pflag.FlagSet) {
	b.WriteString(".SH OPTIONS\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		head := "\\fB" + roff("--"+f.Name) + "\\fR"
		if f.Shorthand != "" {
			head = "\\fB" + roff("-"+f.Shorthand) + "\\fR, " + head
		}
		if value != "" {
			head += " \\fI" + roff(value) + "\\fR"
		}
		if usual := f.DefValue; !slices.Contains([]string{"", "0", "0s", "false", "[]"}, usual) {
			usage += " (default " + usual + ")"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", head, roffText(usage))
	})
}

// manSeeAlso writes the neighbours of a command: what stands above it and beside it.
func manSeeAlso(b *strings.Builder, cmd *cobra.Command) {
	parent := cmd.Parent()
	if parent == nil {
		return
	}
	names := []string{manName(parent)}
	for _, sibling := range manSubcommands(parent) {
		if sibling != cmd {
			names = append(names, manName(sibling))
		}
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, name := range names {
		comma := " ,"
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", roff(name), comma)
	}
}

// roff escapes what roff would take for its own: a backslash, the hyphen and the
// accents, which it would turn into typographic ones that cannot be pasted into a
// shell, and what is not ASCII (groff_char(7)).
func roff(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch esc, ok := roffEscapes[r]; {
		case ok:
			b.WriteString(esc)
		case r > 0x7e:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

var roffEscapes = map[rune]string{
	'\\': `\e`, '-': `\-`, '\'': `\(aq`, '`': `\(ga`, '^': `\(ha`, '~': `\(ti`, '"': `\(dq`,
}

// roffText is roff for a line of text, which may begin with what would be a command.
func roffText(s string) string {
	s = roff(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
