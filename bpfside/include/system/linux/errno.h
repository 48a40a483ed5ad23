/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef _LINUX_ERRNO_H
#define _LINUX_ERRNO_H

#include <asm-generic/errno.h>

#endif /* _LINUX_ERRNO_H */
