/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef _ERRNO_H
#define _ERRNO_H

#include <asm-generic/errno.h>

#endif /* _ERRNO_H */
