/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Between the byte order of the machine and that of the network. The names and their
 * meaning are libbpf's. Of a constant the result is a constant, that can stand in an
 * initializer or a case label.
 */
#ifndef __BPF_ENDIAN__
#define __BPF_ENDIAN__

#define ___bpf_swab16(x) ((__u16)(                                             \
	((__u16)(x) & 0x00ffU) << 8 | ((__u16)(x) & 0xff00U) >> 8))

#define ___bpf_swab32(x) ((__u32)(                                             \
	((__u32)(x) & 0x000000ffU) << 24 | ((__u32)(x) & 0x0000ff00U) << 8 |   \
	((__u32)(x) & 0x00ff0000U) >> 8 | ((__u32)(x) & 0xff000000U) >> 24))

#define ___bpf_swab64(x) ((__u64)(                                             \
	((__u64)(x) & 0x00000000000000ffULL) << 56 |                           \
	((__u64)(x) & 0x000000000000ff00ULL) << 40 |                           \
	((__u64)(x) & 0x0000000000ff0000ULL) << 24 |                           \
	((__u64)(x) & 0x00000000ff000000ULL) << 8 |                            \
	((__u64)(x) & 0x000000ff00000000ULL) >> 8 |                            \
	((__u64)(x) & 0x0000ff0000000000ULL) >> 24 |                           \
	((__u64)(x) & 0x00ff000000000000ULL) >> 40 |                           \
	((__u64)(x) & 0xff00000000000000ULL) >> 56))

/* Compilers define __BYTE_ORDER__ for the machine that the program is for. The
 * builtins are one instruction of BPF. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ___bpf_be16(x) __builtin_bswap16(x)
#define ___bpf_be32(x) __builtin_bswap32(x)
#define ___bpf_be64(x) __builtin_bswap64(x)
#define ___bpf_constant_be16(x) ___bpf_swab16(x)
#define ___bpf_constant_be32(x) ___bpf_swab32(x)
#define ___bpf_constant_be64(x) ___bpf_swab64(x)
#elif __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define ___bpf_be16(x) (x)
#define ___bpf_be32(x) (x)
#define ___bpf_be64(x) (x)
#define ___bpf_constant_be16(x) (x)
#define ___bpf_constant_be32(x) (x)
#define ___bpf_constant_be64(x) (x)
#else
#error "__BYTE_ORDER__ is neither little nor big endian"
#endif

/* Either direction is the same exchange. */
#define __bpf_htons(x) ___bpf_be16(x)
#define __bpf_ntohs(x) ___bpf_be16(x)
#define __bpf_htonl(x) ___bpf_be32(x)
#define __bpf_ntohl(x) ___bpf_be32(x)
#define __bpf_cpu_to_be64(x) ___bpf_be64(x)
#define __bpf_be64_to_cpu(x) ___bpf_be64(x)
#define __bpf_constant_htons(x) ___bpf_constant_be16(x)
#define __bpf_constant_ntohs(x) ___bpf_constant_be16(x)
#define __bpf_constant_htonl(x) ___bpf_constant_be32(x)
#define __bpf_constant_ntohl(x) ___bpf_constant_be32(x)
#define __bpf_constant_cpu_to_be64(x) ___bpf_constant_be64(x)
#define __bpf_constant_be64_to_cpu(x) ___bpf_constant_be64(x)

#define bpf_htons(x) (__builtin_constant_p(x) ? __bpf_constant_htons(x) : __bpf_htons(x))
#define bpf_ntohs(x) (__builtin_constant_p(x) ? __bpf_constant_ntohs(x) : __bpf_ntohs(x))
#define bpf_htonl(x) (__builtin_constant_p(x) ? __bpf_constant_htonl(x) : __bpf_htonl(x))
#define bpf_ntohl(x) (__builtin_constant_p(x) ? __bpf_constant_ntohl(x) : __bpf_ntohl(x))
#define bpf_cpu_to_be64(x) (__builtin_constant_p(x) ? __bpf_constant_cpu_to_be64(x) : __bpf_cpu_to_be64(x))
#define bpf_be64_to_cpu(x) (__builtin_constant_p(x) ? __bpf_constant_be64_to_cpu(x) : __bpf_be64_to_cpu(x))

#endif /* __BPF_ENDIAN__ */
