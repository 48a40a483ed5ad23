/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* BPF has no functions with a variable number of arguments: helpers alone do, and they
 * are not written in C. The names are here for headers that mention them. */
#ifndef __STDARG_H
#define __STDARG_H

typedef __builtin_va_list va_list;
typedef __builtin_va_list __gnuc_va_list;

#define va_start(ap, last) __builtin_va_start(ap, last)
#define va_end(ap) __builtin_va_end(ap)
#define va_arg(ap, type) __builtin_va_arg(ap, type)
#define va_copy(to, from) __builtin_va_copy(to, from)

#endif /* __STDARG_H */
