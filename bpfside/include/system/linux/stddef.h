/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef _LINUX_STDDEF_H
#define _LINUX_STDDEF_H

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#endif /* _LINUX_STDDEF_H */
