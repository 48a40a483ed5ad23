// Package vmlinux writes the types of a kernel as a C header, from its BTF: the
// vmlinux.h that BPF programs include, with what one program uses of it.
//
// A whole vmlinux.h has 130,000 lines, and a C front end takes a second for it. A
// program uses a few of its types. So the header is written for the identifiers that
// occur in the program, wherever and in whatever sense they do:
//
//   - A structure, union, enumeration or typedef is defined if its name is one of
//     them, an enumeration also if one of its enumerators is.
//   - All members of a defined structure are there, at the offsets that the kernel
//     has them at. Those that the program names have their types, and what these are
//     made of is defined as well: the structure that is a member, and the one that a
//     member points to, as "a->b->c" needs.
//   - A function of the kernel that programs may call (kfunc) is declared if it is
//     named.
//   - The other members, which the program cannot touch, have the size and the
//     alignment of their types and no more: pointers are void *.
//
// A name that the program makes by pasting tokens is not seen. Who does that brings a
// vmlinux.h of his own.
package vmlinux
