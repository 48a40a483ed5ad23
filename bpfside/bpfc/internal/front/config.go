package front

import (
	_ "embed"
	"fmt"
	"strings"

	"modernc.org/cc/v4"
)

//go:embed predef/predef.h
var predefined string

//go:embed predef/builtin.h
var builtins string

// tail is read after the program. Some loops of cc wait for one of a few tokens and
// do not see that the program has ended: they find them here. It begins with what
// continues no declaration.
var tail = func() string {
	var b strings.Builder
	b.WriteString("_Static_assert(1, \"\");\n")
	for i := range 20 {
		fmt.Fprintf(&b, "static int __bpfc_tail%d(int a[1]) { if (a[0]) { return (a[0] ? 1 : 0), 1; } return 0; }\n", i)
	}
	return b.String()
}()

const (
	// Bounds of what one unit may cost. The largest real unit, a program with a
	// whole vmlinux.h, has 3.5 MB of text and expands a few million tokens.
	maxExpansion = 3_000_000 // tokens
	maxSource    = 64 << 20  // bytes of all files
	maxFile      = 8 << 20   // bytes of one
)

// archMacro is the macro by which bpf_tracing.h knows the registers of the
// machine, by the name that Go has for it.
var archMacro = map[string]string{
	"386":      "__TARGET_ARCH_x86",
	"amd64":    "__TARGET_ARCH_x86",
	"arm":      "__TARGET_ARCH_arm",
	"arm64":    "__TARGET_ARCH_arm64",
	"loong64":  "__TARGET_ARCH_loongarch",
	"mips":     "__TARGET_ARCH_mips",
	"mips64":   "__TARGET_ARCH_mips",
	"mips64le": "__TARGET_ARCH_mips",
	"mipsle":   "__TARGET_ARCH_mips",
	"ppc64":    "__TARGET_ARCH_powerpc",
	"ppc64le":  "__TARGET_ARCH_powerpc",
	"riscv64":  "__TARGET_ARCH_riscv",
	"s390x":    "__TARGET_ARCH_s390",
}

// config returns how cc is to see a unit whose files s opens.
func config(s *sources) (*cc.Config, error) {
	// The kernel's machine has the type sizes and the bit-fields of x86-64.
	// The host's ABI plays no part.
	abi, err := cc.NewABI("linux", "amd64")
	if err != nil {
		return nil, fmt.Errorf("describe the target: %w", err)
	}
	abi.Types[cc.LongDouble] = abi.Types[cc.Double]
	cfg := &cc.Config{
		ABI:             abi,
		FS:              s,
		FSOnly:          true,
		IncludePaths:    append([]string{""}, s.search...),
		SysIncludePaths: s.search,
		Predefined:      predefined,
		PragmaHandler:   s.pragma,
		ABILayout:       true,
		UnsignedEnums:   true,
		HasBuiltin:      hasBuiltin,
		ExpansionLimit:  maxExpansion,
	}
	if err := cfg.ApplyOptions("-std=gnu11", "-ffreestanding"); err != nil {
		return nil, fmt.Errorf("set the dialect: %w", err)
	}
	return cfg, nil
}

// hasBuiltin answers __has_builtin: what builtin.h declares, and what cc knows
// by itself.
func hasBuiltin(name string) bool {
	switch name {
	case "__builtin_choose_expr", "__builtin_offsetof", "__builtin_types_compatible_p", "__builtin_preserve_access_index", "__builtin_read_user":
		return true
	case "__builtin_return_address", "__builtin_frame_address", "__builtin_alloca", "__builtin_debugtrap":
		return false // declared for the sake of a diagnostic
	}
	if !strings.HasPrefix(name, "__builtin_") && !strings.HasPrefix(name, "__sync_") &&
		!strings.HasPrefix(name, "__atomic_") && !strings.HasPrefix(name, "__c11_atomic_") {
		return false
	}
	return strings.Contains(builtins, " "+name+"(") || strings.Contains(builtins, "*"+name+"(")
}

// commandLine returns the text of what the caller defines, as a file that is
// read before the program. A definition is NAME or NAME=VALUE, as after -D.
func commandLine(in *Input) string {
	var b strings.Builder
	arch := archMacro[in.Arch]
	for _, d := range in.Defines {
		name, value, ok := strings.Cut(d, "=")
		if !ok {
			value = "1"
		}
		if strings.HasPrefix(name, "__TARGET_ARCH_") {
			arch = "" // the user knows better
		}
		fmt.Fprintf(&b, "#define %s %s\n", name, strings.ReplaceAll(value, "\n", " "))
	}
	if arch != "" {
		fmt.Fprintf(&b, "#define %s 1\n", arch)
	}
	return b.String()
}
