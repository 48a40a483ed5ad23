package front

import (
	"strings"
	"testing"
	"testing/fstest"
)

// What cc reads wrongly, and what is put in its place. Lines stay lines.
func TestRewrite(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"named variadic", "#define M(a, args...) g(a, ##args)\n", "#define M(a,...) g(a, ##__VA_ARGS__)\n"},
		{"only a variadic", "#define M(args...) g(args)\n", "#define M(...) g(__VA_ARGS__)\n"},
		{"blank before the dots", "#define M(args ...) #args\n", "#define M(...) #__VA_ARGS__\n"},
		{"no blank before the paste", "#define M(a, ...) g(a,##__VA_ARGS__)\n", "#define M(a,...) g(a, ##__VA_ARGS__)\n"},
		{"nothing to do", "#define M(a, ...) g(a, ##__VA_ARGS__)\n", "#define M(a, ...) g(a, ##__VA_ARGS__)\n"},
		{"another name that begins alike", "#define M(args...) argsize + args.args2\n", "#define M(...) argsize + __VA_ARGS__.args2\n"},
		{"in strings and comments it is text", "#define M(args...) \"args\" /* args */ 'a' args\n", "#define M(...) \"args\" 'a' __VA_ARGS__\n"},
		{"continued", "#define M(a, args...) \\\n\tg(a, \\\n\t##args)\nint x;\n", "#define M(a,...) \\\ng(a, \\\n##__VA_ARGS__)\nint x;\n"},
		{"a comment over lines", "#define M(args...) g( /* one\ntwo */ args)\nint x;\n", "#define M(...) g( \\\n__VA_ARGS__)\nint x;\n"},
		{"a directive in a comment", "/*\n#define M(args...) args\n*/\n", "/*\n#define M(args...) args\n*/\n"},
		{"carriage returns", "#define M(args...) f(args)\r\nint x;\r\n", "#define M(...) f(__VA_ARGS__)\r\nint x;\r\n"},

		{"volatile of an object", "volatile int x;", "_bpfcvol int x;"},
		{"of what is pointed to", "*(volatile int *)p", "*(_bpfcvol int *)p"},
		{"after const", "const volatile int x;", "const _bpfcvol int x;"},
		{"after the type", "int volatile x;", "int _bpfcvol x;"},
		{"the longer spelling", "__volatile__ int x;", "_bpfcvol     int x;"},
		{"of a pointer", "int *volatile p; int *const volatile q;", "int *volatile p; int *const volatile q;"},
		{"of an asm statement", "asm volatile(\"\"); __asm__ __volatile__(\"\");", "asm volatile(\"\"); __asm__ __volatile__(\"\");"},
		{"in a macro", "#define RO(x) (*(volatile typeof(x) *)&(x))\n", "#define RO(x) (*(_bpfcvol typeof(x) *)&(x))\n"},
		{"in a string", `char *s = "volatile";`, `char *s = "volatile";`},

		{"attribute push", "#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)\n", "typedef int __bpfc_push_preserve_access_index;\n"},
		{"attribute pop", "#pragma clang attribute pop\n", "typedef int __bpfc_pop_attribute;\n"},
		{"another attribute", "#pragma clang attribute push (__attribute__((unused)), apply_to = any)\n", "#pragma clang attribute push (__attribute__((unused)), apply_to = any)\n"},
		{"a pragma of loops", "#pragma clang loop unroll(full)\n", "#pragma clang loop unroll(full)\n"},

		{"function type in a map", "__array(values, int (struct xdp_md *));", "__array(values, __typeof__(*(int (*)(struct xdp_md *))0));"},
		{"function type of typeof", "typeof(void *(int, int (*)(int))) *f;", "typeof(__typeof__(*(void *(*)(int, int (*)(int)))0)) *f;"},
		{"a call", "typeof(f(x)) y; typeof(int) z;", "typeof(f(x)) y; typeof(int) z;"},
		{"a pointer", "__array(values, int (*)(int)); __array(values, struct inner);", "__array(values, int (*)(int)); __array(values, struct inner);"},

		{"enum of a byte", "enum e { A, B } __attribute__((mode(byte)));", "enum e : unsigned char { A, B } __attribute__((mode(byte)));"},
		{"with a negative value", "enum { A = -1, B } __attribute__((mode(byte))) x;", "enum : signed char { A = -1, B } __attribute__((mode(byte))) x;"},
		{"of a word", "enum e {\n\tA = 1,\n} __attribute__((mode(word)));", "enum e : unsigned long {\n\tA = 1,\n} __attribute__((mode(word)));"},
		{"packed", "enum e { A = 0xff } __attribute__((packed));", "enum e : unsigned char { A = 0xff } __attribute__((packed));"},
		{"packed to 16 bits", "enum e { A = 255, B } __attribute__((__packed__));", "enum e : unsigned short { A = 255, B } __attribute__((__packed__));"},
		{"packed, with a sum", "enum e { A = 1 + 1 } __attribute__((packed));", "enum e { A = 1 + 1 } __attribute__((packed));"},
		{"a struct with attributes that names itself",
			"struct n { struct n *next; union { struct n *a; }; } __attribute__((packed));",
			"typedef struct n _bpfcs_n; struct n { _bpfcs_n *next; union { _bpfcs_n *a; }; } __attribute__((packed));"},
		{"attributes before its name, in a typedef",
			"int f(void) { }\ntypedef struct __attribute__((packed)) n { const  struct n *p; } n_t;",
			"int f(void) { }\ntypedef struct n _bpfcs_n; typedef struct __attribute__((packed)) n { const  _bpfcs_n *p; } n_t;"},
		{"one without attributes", "struct n { struct n *next; }; typeof(int) x;", "struct n { struct n *next; }; typeof(int) x;"},
		{"one in a function", "int f(void) { struct n { struct n *p; } __attribute__((packed)) x; }", "int f(void) { struct n { struct n *p; } __attribute__((packed)) x; }"},
		{"attribute before the name", "enum __attribute__((packed)) e { A, B };", "enum                         e : unsigned char { A, B };"},
		{"typeof of a qualified type", "typeof(const struct s *) x; typeof(const volatile int) y;", "typeof(struct s const *) x; typeof(int const _bpfcvol) y;"},
		{"both of two", "__builtin_types_compatible_p(const int, volatile u32)", "__builtin_types_compatible_p(int const, u32 _bpfcvol)"},
		{"a plain one", "enum e { A }; struct s { int a; } __attribute__((packed));", "enum e { A }; struct s { int a; } __attribute__((packed));"},
	} {
		got, _ := rewrite(tt.in)
		if got != tt.want {
			t.Errorf("%s: rewrite(%q)\n got %q\nwant %q", tt.name, tt.in, got, tt.want)
		}
		if strings.Count(got, "\n") != strings.Count(tt.in, "\n") {
			t.Errorf("%s: %d lines became %d", tt.name, strings.Count(tt.in, "\n"), strings.Count(got, "\n"))
		}
	}
}

// The columns after what is inserted are those of the original.
func TestRewriteColumns(t *testing.T) {
	const in = "int a;\nenum e { A } __attribute__((mode(byte))) b;\n"
	got, inserted := rewrite(in)
	line := strings.Split(got, "\n")[1]
	for _, tt := range []struct {
		token string
		col   int
	}{
		{"enum", 1},
		{"e ", 6},
		{"{", 8},
		{"A }", 10},
		{"b;", 42},
	} {
		if col := original(inserted, 2, strings.Index(line, tt.token)+1); col != tt.col {
			t.Errorf("column of %q: %d, want %d", tt.token, col, tt.col)
		}
	}
	if col := original(inserted, 1, 5); col != 5 {
		t.Errorf("column 5 of a line without insertions: %d", col)
	}
}

// What vmlinux.h has to hold are the identifiers of the program and of its own
// headers, wherever they stand but in comments and strings.
func TestIdentifiers(t *testing.T) {
	in := &Input{
		File:    "src/prog.bpf.c",
		Include: []string{"inc"},
		Defines: []string{"OPTION=from_command_line"},
		FS: fstest.MapFS{
			"src/prog.bpf.c": {Data: []byte(`
#include "vmlinux.h"
#  include <bpf/bpf_helpers.h> /* not "this.h" */
#include "own.h"
#include <other.h>
// not_me
/* nor_me */ struct task_struct *t; char *s = "nor this"; int x = 0x10u + 'c';
#define M(a) a##b
`)},
			"src/own.h":   {Data: []byte("#include \"prog.bpf.c\"\nint in_own;\n")},
			"inc/other.h": {Data: []byte("#if 0\nint in_other;\n#endif\n")},
			"inc/none.h":  {Data: []byte("int in_none;\n")},
		},
		System: fstest.MapFS{"bpf/bpf_helpers.h": {Data: []byte("int in_system;\n")}},
	}
	names := newSources(t.Context(), in).identifiers()
	for _, want := range []string{"task_struct", "t", "M", "b", "in_own", "in_other", "from_command_line"} {
		if !names[want] {
			t.Errorf("%s is missing", want)
		}
	}
	for _, not := range []string{"not_me", "nor_me", "nor", "this", "u", "c", "in_system", "in_none"} {
		if names[not] {
			t.Errorf("%s is there", not)
		}
	}
}

// A header with #pragma once is read once, also by a program whose macros make it
// read twice.
func TestPragmaOnce(t *testing.T) {
	macros := "#define A(x) ((((x))))\n#define B(x) A(A(A(x)))\n#define C(x) B(B(B(x)))\n#define D(x) C(C(C(x)))\n#define E(x) D(D(D(x)))\n"
	for _, text := range []string{"", macros} {
		in := Input{
			FS: fstest.MapFS{
				"prog.bpf.c": {Data: []byte(text + "#include \"a.h\"\n#include \"a.h\"\nint x = A_H;\n")},
				"a.h":        {Data: []byte("#pragma once\n#define A_H 1\nstruct once { int a; };\n")},
			},
			File: "prog.bpf.c",
		}
		if got, want := newSources(t.Context(), &in).macrosNest(), text != ""; got != want {
			t.Errorf("macrosNest %v, want %v", got, want)
		}
		if _, err := Translate(t.Context(), in); err != nil {
			t.Error(err)
		}
	}
}
