/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef _ASM_TYPES_H
#define _ASM_TYPES_H

#include <linux/types.h>

#endif /* _ASM_TYPES_H */
