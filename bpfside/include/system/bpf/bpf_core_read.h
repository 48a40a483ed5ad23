/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reading structures of the kernel whose layout may differ from the header that the
 * program was built with (CO-RE): the compiler or the loader puts in the offsets of
 * the kernel that the program will run on. The names and their meaning are libbpf's.
 */
#ifndef __BPF_CORE_READ_H__
#define __BPF_CORE_READ_H__

#include "bpf_helpers.h"

/* What __builtin_preserve_field_info() tells of a field. */
enum bpf_field_info_kind {
	BPF_FIELD_BYTE_OFFSET = 0, /* of a bit-field: of the integer that it is read by */
	BPF_FIELD_BYTE_SIZE = 1,
	BPF_FIELD_EXISTS = 2,
	BPF_FIELD_SIGNED = 3,
	BPF_FIELD_LSHIFT_U64 = 4, /* these two bring a bit-field that was read into a */
	BPF_FIELD_RSHIFT_U64 = 5, /* 64-bit integer to its lowest bits */
};

/* What __builtin_btf_type_id() numbers by: this program's types, or the kernel's. */
enum bpf_type_id_kind {
	BPF_TYPE_ID_LOCAL = 0,
	BPF_TYPE_ID_TARGET = 1,
};

/* What __builtin_preserve_type_info() tells of a type. */
enum bpf_type_info_kind {
	BPF_TYPE_EXISTS = 0,
	BPF_TYPE_SIZE = 1,
	BPF_TYPE_MATCHES = 2,
};

/* What __builtin_preserve_enum_value() tells of an enumerator. */
enum bpf_enum_value_kind {
	BPF_ENUMVAL_EXISTS = 0,
	BPF_ENUMVAL_VALUE = 1,
};

#define __CORE_RELO(src, field, info) __builtin_preserve_field_info((src)->field, BPF_FIELD_##info)

/* Brings a bit-field of (src) that stands in val, as it was read, to its value. */
#define ___core_bitfield_value(src, field, val)                                \
	val <<= __CORE_RELO(src, field, LSHIFT_U64);                           \
	if (__CORE_RELO(src, field, SIGNED))                                   \
		val = (unsigned long long)((long long)val >> __CORE_RELO(src, field, RSHIFT_U64)); \
	else                                                                   \
		val >>= __CORE_RELO(src, field, RSHIFT_U64)

/* The low bytes of a 64-bit integer are its first ones or its last ones. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ___core_low_bytes(dst, size) ((void *)(dst))
#else
#define ___core_low_bytes(dst, size) ((void *)(dst) + (8 - (size)))
#endif

#define __CORE_BITFIELD_PROBE_READ(dst, src, fld)                              \
	bpf_probe_read_kernel(___core_low_bytes(dst, __CORE_RELO(src, fld, BYTE_SIZE)), \
			      __CORE_RELO(src, fld, BYTE_SIZE),                \
			      (const void *)(src) + __CORE_RELO(src, fld, BYTE_OFFSET))

/* The value of the bit-field s->field as a 64-bit integer, read by
 * bpf_probe_read_kernel(). */
#define BPF_CORE_READ_BITFIELD_PROBED(s, field) ({                             \
	unsigned long long __bits = 0;                                         \
	__CORE_BITFIELD_PROBE_READ(&__bits, s, field);                         \
	___core_bitfield_value(s, field, __bits);                              \
	__bits;                                                                \
})

/* The same, read directly: for programs that may, such as those of fentry. The offset
 * is added to the pointer once, and not folded into each of the loads: hence the
 * barrier. */
#define BPF_CORE_READ_BITFIELD(s, field) ({                                    \
	const void *__at = (const void *)(s) + __CORE_RELO(s, field, BYTE_OFFSET); \
	unsigned long long __bits = 0;                                         \
	barrier_var(__at);                                                     \
	switch (__CORE_RELO(s, field, BYTE_SIZE)) {                            \
	case 1: __bits = *(const unsigned char *)__at; break;                  \
	case 2: __bits = *(const unsigned short *)__at; break;                 \
	case 4: __bits = *(const unsigned int *)__at; break;                   \
	case 8: __bits = *(const unsigned long long *)__at; break;             \
	}                                                                      \
	___core_bitfield_value(s, field, __bits);                              \
	__bits;                                                                \
})

/* Writes the bit-field s->field in memory that the program may write. */
#define BPF_CORE_WRITE_BITFIELD(s, field, new_val) ({                          \
	void *__at = (void *)(s) + __CORE_RELO(s, field, BYTE_OFFSET);         \
	unsigned int __bytes = __CORE_RELO(s, field, BYTE_SIZE);               \
	unsigned int __drop = __CORE_RELO(s, field, LSHIFT_U64);               \
	unsigned int __down = __CORE_RELO(s, field, RSHIFT_U64);               \
	unsigned long long __mask = (~0ULL << __down) >> __drop;               \
	unsigned long long __put = ((unsigned long long)(new_val) << __down) >> __drop; \
	barrier_var(__at);                                                     \
	switch (__bytes) {                                                     \
	case 1: *(unsigned char *)__at = (*(unsigned char *)__at & ~__mask) | __put; break; \
	case 2: *(unsigned short *)__at = (*(unsigned short *)__at & ~__mask) | __put; break; \
	case 4: *(unsigned int *)__at = (*(unsigned int *)__at & ~__mask) | __put; break; \
	case 8: *(unsigned long long *)__at = (*(unsigned long long *)__at & ~__mask) | __put; break; \
	}                                                                      \
})

/*
 * Questions about the kernel. A field is written as an expression (ptr->field) or as
 * a type and a path (struct task_struct, mm.pgd).
 */
#define ___bpf_field_ref1(field) (field)
#define ___bpf_field_ref2(type, field) (((typeof(type) *)0)->field)
#define ___bpf_field_ref(...) ___bpf_apply(___bpf_field_ref, ___bpf_narg(__VA_ARGS__))(__VA_ARGS__)

#define bpf_core_field_exists(...) __builtin_preserve_field_info(___bpf_field_ref(__VA_ARGS__), BPF_FIELD_EXISTS)
#define bpf_core_field_size(...) __builtin_preserve_field_info(___bpf_field_ref(__VA_ARGS__), BPF_FIELD_BYTE_SIZE)
#define bpf_core_field_offset(...) __builtin_preserve_field_info(___bpf_field_ref(__VA_ARGS__), BPF_FIELD_BYTE_OFFSET)

/* Number of a type in the BTF of this program, of the kernel (0: not there). */
#define bpf_core_type_id_local(type) __builtin_btf_type_id(*(typeof(type) *)0, BPF_TYPE_ID_LOCAL)
#define bpf_core_type_id_kernel(type) __builtin_btf_type_id(*(typeof(type) *)0, BPF_TYPE_ID_TARGET)
/* Is there a type of this name; one that agrees in its members as well; its size (0:
 * not there). */
#define bpf_core_type_exists(type) __builtin_preserve_type_info(*(typeof(type) *)0, BPF_TYPE_EXISTS)
#define bpf_core_type_matches(type) __builtin_preserve_type_info(*(typeof(type) *)0, BPF_TYPE_MATCHES)
#define bpf_core_type_size(type) __builtin_preserve_type_info(*(typeof(type) *)0, BPF_TYPE_SIZE)
/* Does the kernel's enumeration have the enumerator; its value there (0: not there). */
#define bpf_core_enum_value_exists(enum_type, enum_value) \
	__builtin_preserve_enum_value(*(typeof(enum_type) *)enum_value, BPF_ENUMVAL_EXISTS)
#define bpf_core_enum_value(enum_type, enum_value) \
	__builtin_preserve_enum_value(*(typeof(enum_type) *)enum_value, BPF_ENUMVAL_VALUE)

/* The reading helpers, with the offsets of src put in. The types are the kernel's for
 * user memory, too: they are what the offsets are known of. */
#define bpf_core_read(dst, sz, src) \
	bpf_probe_read_kernel(dst, sz, (const void *)__builtin_preserve_access_index(src))
#define bpf_core_read_user(dst, sz, src) \
	bpf_probe_read_user(dst, sz, (const void *)__builtin_preserve_access_index(src))
#define bpf_core_read_str(dst, sz, src) \
	bpf_probe_read_kernel_str(dst, sz, (const void *)__builtin_preserve_access_index(src))
#define bpf_core_read_user_str(dst, sz, src) \
	bpf_probe_read_user_str(dst, sz, (const void *)__builtin_preserve_access_index(src))

/*
 * ___bpf_chase(last, inner, dst, src, a, b, ...) reads src->a->b->... into *dst. Each
 * pointer on the way is read by "inner" into __t, and the last member by "last", whose
 * result is that of the whole. "shape" is an expression, never evaluated, that has the
 * type of the pointer p: the source as it would be written in C.
 */
#define ___bpf_chase1(last, inner, dst, shape, p, a) \
	last((void *)(dst), sizeof(*(dst)), &((typeof(shape))(p))->a);
#define ___bpf_step(inner, shape, p, a) \
	inner((void *)&__t, sizeof(__t), &((typeof(shape))(p))->a);
#define ___bpf_chase2(last, inner, dst, shape, p, a, ...) \
	___bpf_step(inner, shape, p, a) ___bpf_chase1(last, inner, dst, (shape)->a, __t, __VA_ARGS__)
#define ___bpf_chase3(last, inner, dst, shape, p, a, ...) \
	___bpf_step(inner, shape, p, a) ___bpf_chase2(last, inner, dst, (shape)->a, __t, __VA_ARGS__)
#define ___bpf_chase4(last, inner, dst, shape, p, a, ...) \
	___bpf_step(inner, shape, p, a) ___bpf_chase3(last, inner, dst, (shape)->a, __t, __VA_ARGS__)
#define ___bpf_chase5(last, inner, dst, shape, p, a, ...) \
	___bpf_step(inner, shape, p, a) ___bpf_chase4(last, inner, dst, (shape)->a, __t, __VA_ARGS__)
#define ___bpf_chase6(last, inner, dst, shape, p, a, ...) \
	___bpf_step(inner, shape, p, a) ___bpf_chase5(last, inner, dst, (shape)->a, __t, __VA_ARGS__)
#define ___bpf_chase7(last, inner, dst, shape, p, a, ...) \
	___bpf_step(inner, shape, p, a) ___bpf_chase6(last, inner, dst, (shape)->a, __t, __VA_ARGS__)
#define ___bpf_chase8(last, inner, dst, shape, p, a, ...) \
	___bpf_step(inner, shape, p, a) ___bpf_chase7(last, inner, dst, (shape)->a, __t, __VA_ARGS__)
#define ___bpf_chase9(last, inner, dst, shape, p, a, ...) \
	___bpf_step(inner, shape, p, a) ___bpf_chase8(last, inner, dst, (shape)->a, __t, __VA_ARGS__)
#define ___bpf_chase(last, inner, dst, src, ...) ({                            \
	const void *__t __attribute__((unused));                               \
	___bpf_apply(___bpf_chase, ___bpf_narg(__VA_ARGS__))(last, inner, dst, src, src, __VA_ARGS__) \
})

/* The member that src->a->b->... is, as an expression for typeof. */
#define ___bpf_path1(src, a) (src)->a
#define ___bpf_path2(src, a, ...) ___bpf_path1((src)->a, __VA_ARGS__)
#define ___bpf_path3(src, a, ...) ___bpf_path2((src)->a, __VA_ARGS__)
#define ___bpf_path4(src, a, ...) ___bpf_path3((src)->a, __VA_ARGS__)
#define ___bpf_path5(src, a, ...) ___bpf_path4((src)->a, __VA_ARGS__)
#define ___bpf_path6(src, a, ...) ___bpf_path5((src)->a, __VA_ARGS__)
#define ___bpf_path7(src, a, ...) ___bpf_path6((src)->a, __VA_ARGS__)
#define ___bpf_path8(src, a, ...) ___bpf_path7((src)->a, __VA_ARGS__)
#define ___bpf_path9(src, a, ...) ___bpf_path8((src)->a, __VA_ARGS__)
#define ___bpf_path(src, ...) ___bpf_apply(___bpf_path, ___bpf_narg(__VA_ARGS__))(src, __VA_ARGS__)

/*
 * BPF_CORE_READ_INTO(dst, src, a.b, c, d[2], ...) reads src->a.b->c->d[2]... into *dst,
 * with up to nine arrows. The result is that of the last read: 0, the length of the
 * string, or an error. _STR reads a string, and _USER user memory. BPF_PROBE_READ takes
 * the offsets of the header, and without _USER the helper that reads kernel and user
 * memory alike, which some machines do not have.
 */
#define BPF_CORE_READ_INTO(dst, src, ...) \
	___bpf_chase(bpf_core_read, bpf_core_read, dst, (src), __VA_ARGS__)
#define BPF_CORE_READ_USER_INTO(dst, src, ...) \
	___bpf_chase(bpf_core_read_user, bpf_core_read_user, dst, (src), __VA_ARGS__)
#define BPF_CORE_READ_STR_INTO(dst, src, ...) \
	___bpf_chase(bpf_core_read_str, bpf_core_read, dst, (src), __VA_ARGS__)
#define BPF_CORE_READ_USER_STR_INTO(dst, src, ...) \
	___bpf_chase(bpf_core_read_user_str, bpf_core_read_user, dst, (src), __VA_ARGS__)
#define BPF_PROBE_READ_INTO(dst, src, ...) \
	___bpf_chase(bpf_probe_read, bpf_probe_read, dst, (src), __VA_ARGS__)
#define BPF_PROBE_READ_USER_INTO(dst, src, ...) \
	___bpf_chase(bpf_probe_read_user, bpf_probe_read_user, dst, (src), __VA_ARGS__)
#define BPF_PROBE_READ_STR_INTO(dst, src, ...) \
	___bpf_chase(bpf_probe_read_str, bpf_probe_read, dst, (src), __VA_ARGS__)
#define BPF_PROBE_READ_USER_STR_INTO(dst, src, ...) \
	___bpf_chase(bpf_probe_read_user_str, bpf_probe_read_user, dst, (src), __VA_ARGS__)

/* The same as an expression: what could not be read is 0. */
#define ___bpf_read_value(into, src, ...) ({                                   \
	typeof(___bpf_path((src), __VA_ARGS__)) __r;                           \
	into(&__r, (src), __VA_ARGS__);                                        \
	__r;                                                                   \
})
#define BPF_CORE_READ(src, ...) ___bpf_read_value(BPF_CORE_READ_INTO, src, __VA_ARGS__)
#define BPF_CORE_READ_USER(src, ...) ___bpf_read_value(BPF_CORE_READ_USER_INTO, src, __VA_ARGS__)
#define BPF_PROBE_READ(src, ...) ___bpf_read_value(BPF_PROBE_READ_INTO, src, __VA_ARGS__)
#define BPF_PROBE_READ_USER(src, ...) ___bpf_read_value(BPF_PROBE_READ_USER_INTO, src, __VA_ARGS__)

#endif /* __BPF_CORE_READ_H__ */
