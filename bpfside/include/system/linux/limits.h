/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef _LINUX_LIMITS_H
#define _LINUX_LIMITS_H

#define NAME_MAX 255
#define PATH_MAX 4096
#define XATTR_NAME_MAX 255
#define XATTR_SIZE_MAX 65536
#define XATTR_LIST_MAX 65536

#endif /* _LINUX_LIMITS_H */
