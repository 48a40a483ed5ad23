/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef _ASM_PTRACE_H
#define _ASM_PTRACE_H

#include <linux/ptrace.h>

#endif /* _ASM_PTRACE_H */
