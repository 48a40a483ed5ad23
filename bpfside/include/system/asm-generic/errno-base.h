/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef _ASM_GENERIC_ERRNO_BASE_H
#define _ASM_GENERIC_ERRNO_BASE_H

#include <asm-generic/errno.h>

#endif /* _ASM_GENERIC_ERRNO_BASE_H */
