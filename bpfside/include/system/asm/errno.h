/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef _ASM_ERRNO_H
#define _ASM_ERRNO_H

#include <asm-generic/errno.h>

#endif /* _ASM_ERRNO_H */
