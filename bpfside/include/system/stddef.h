/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef __STDDEF_H
#define __STDDEF_H

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __WCHAR_TYPE__ wchar_t;

#undef NULL
#define NULL ((void *)0)
#undef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)

#endif /* __STDDEF_H */
