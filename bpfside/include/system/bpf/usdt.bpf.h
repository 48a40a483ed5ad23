/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* <bpf/usdt.bpf.h> is the header of this name two folders up. */
#include <usdt.bpf.h>
