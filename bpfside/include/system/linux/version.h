/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* LINUX_VERSION_CODE is left out on purpose: it would be the version of the machine
 * that compiles. The one that the program runs on is the extern LINUX_KERNEL_VERSION
 * __kconfig. */
#ifndef _LINUX_VERSION_H
#define _LINUX_VERSION_H

#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + ((c) > 255 ? 255 : (c)))

#endif /* _LINUX_VERSION_H */
