/*
 * The builtins, declared so that cc gives their calls the types that clang gives
 * them. Whoever translates a call recognizes the callee by its name. A macro
 * may name itself: it is not expanded again.
 */

/* cc wants this one, as the type of whatever it cannot find. */
int __predefined_declarator;

typedef __SIZE_TYPE__ __predefined_size_t;
typedef __WCHAR_TYPE__ __predefined_wchar_t;
typedef __PTRDIFF_TYPE__ __predefined_ptrdiff_t;
typedef void *__builtin_va_list;

#define __extension__
#define __FUNCTION__ __func__
#define __PRETTY_FUNCTION__ __func__

/*
 * cc knows typeof of a type in a cast or a member and not in a declaration, where
 * it knows that of an expression.
 */
#define typeof(...) __typeof__(*(__typeof__(__VA_ARGS__) *)0)
#define __typeof(...) __typeof__(*(__typeof__(__VA_ARGS__) *)0)
#define __typeof__(...) __typeof__(*(__typeof__(__VA_ARGS__) *)0)

/* What rewrite puts for "volatile": an attribute, which cc does not lose. */
#define _bpfcvol volatile __attribute__((__bpfc_volatile__))

/* cc is to look at the names in the expression and not at its value. */
#define _Static_assert(e, ...) _Static_assert(((e), 1), "" __VA_ARGS__)

/* Attributes that mean something here or may be passed over. */
#define __has_attribute(a) __bpfc_has_attribute_##a
#define __bpfc_has_attribute_aligned 1
#define __bpfc_has_attribute_always_inline 1
#define __bpfc_has_attribute_btf_decl_tag 1
#define __bpfc_has_attribute_btf_type_tag 1
#define __bpfc_has_attribute_deprecated 1
#define __bpfc_has_attribute_fallthrough 0
#define __bpfc_has_attribute_noinline 1
#define __bpfc_has_attribute_packed 1
#define __bpfc_has_attribute_preserve_access_index 1
#define __bpfc_has_attribute_section 1
#define __bpfc_has_attribute_unused 1
#define __bpfc_has_attribute_used 1
#define __bpfc_has_attribute_visibility 1
#define __bpfc_has_attribute_weak 1

/* Types and constants. */
#define __builtin_offsetof(type, member) ((__SIZE_TYPE__)&((type *)0)->member)
#define __builtin_types_compatible_p(a, b) __ccgo__types_compatible_p(*(__typeof__(a) *)0, *(__typeof__(b) *)0)
int __ccgo__types_compatible_p();
int __builtin_constant_p();
__SIZE_TYPE__ __builtin_object_size(const void *, int);
__SIZE_TYPE__ __builtin_dynamic_object_size(const void *, int);

/* Hints. */
long __builtin_expect(long, long);
long __builtin_expect_with_probability(long, long, double);
void __builtin_assume(_Bool);
void __builtin_prefetch(const void *, ...);
void __builtin_trap(void);
void __builtin_unreachable(void);
void __builtin_debugtrap(void);

/* Memory. */
void *__builtin_memcpy(void *, const void *, __SIZE_TYPE__);
void *__builtin_memcpy_inline(void *, const void *, __SIZE_TYPE__);
void *__builtin_memmove(void *, const void *, __SIZE_TYPE__);
void *__builtin_memset(void *, int, __SIZE_TYPE__);
void *__builtin_memset_inline(void *, int, __SIZE_TYPE__);
int __builtin_memcmp(const void *, const void *, __SIZE_TYPE__);
int __builtin_bcmp(const void *, const void *, __SIZE_TYPE__);
void __builtin_bzero(void *, __SIZE_TYPE__);
int __builtin_strcmp(const char *, const char *);
int __builtin_strncmp(const char *, const char *, __SIZE_TYPE__);
__SIZE_TYPE__ __builtin_strlen(const char *);
void *__builtin_alloca(__SIZE_TYPE__);

/* Bits. */
unsigned short __builtin_bswap16(unsigned short);
unsigned int __builtin_bswap32(unsigned int);
unsigned long __builtin_bswap64(unsigned long);
int __builtin_clz(unsigned int);
int __builtin_clzl(unsigned long);
int __builtin_clzll(unsigned long long);
int __builtin_ctz(unsigned int);
int __builtin_ctzl(unsigned long);
int __builtin_ctzll(unsigned long long);
int __builtin_ffs(int);
int __builtin_ffsl(long);
int __builtin_ffsll(long long);
int __builtin_popcount(unsigned int);
int __builtin_popcountl(unsigned long);
int __builtin_popcountll(unsigned long long);
int __builtin_parity(unsigned int);
int __builtin_parityl(unsigned long);
int __builtin_parityll(unsigned long long);
int __builtin_abs(int);
long __builtin_labs(long);
long long __builtin_llabs(long long);
_Bool __builtin_add_overflow();
_Bool __builtin_sub_overflow();
_Bool __builtin_mul_overflow();

/* Code. */
void *__builtin_return_address(unsigned int);
void *__builtin_frame_address(unsigned int);

/*
 * CO-RE. The first argument is looked at as an expression and not evaluated, but
 * for that of __builtin_preserve_access_index, whose type is its own: a comma
 * expression, the left side of which is the mark.
 */
void __builtin_preserve_access_index();
#define __builtin_preserve_access_index(...) (__builtin_preserve_access_index(), (__VA_ARGS__))
unsigned int __builtin_preserve_field_info();
unsigned int __builtin_preserve_type_info();
unsigned long __builtin_preserve_enum_value();
unsigned int __builtin_btf_type_id();

/*
 * Memory of the traced process: within the argument, what is loaded through a
 * pointer is read by a helper. It is a mark beside a comma as well.
 */
void __builtin_read_user();
#define __builtin_read_user(...) (__builtin_read_user(), (__VA_ARGS__))

/*
 * Atomics. What they give has the type of what they are pointed at, which a cast
 * around the call says.
 */
#define __sync_fetch_and_add(p, ...) ((__typeof__(*(p)))__sync_fetch_and_add(p, __VA_ARGS__))
#define __sync_fetch_and_sub(p, ...) ((__typeof__(*(p)))__sync_fetch_and_sub(p, __VA_ARGS__))
#define __sync_fetch_and_and(p, ...) ((__typeof__(*(p)))__sync_fetch_and_and(p, __VA_ARGS__))
#define __sync_fetch_and_or(p, ...) ((__typeof__(*(p)))__sync_fetch_and_or(p, __VA_ARGS__))
#define __sync_fetch_and_xor(p, ...) ((__typeof__(*(p)))__sync_fetch_and_xor(p, __VA_ARGS__))
#define __sync_fetch_and_nand(p, ...) ((__typeof__(*(p)))__sync_fetch_and_nand(p, __VA_ARGS__))
#define __sync_add_and_fetch(p, ...) ((__typeof__(*(p)))__sync_add_and_fetch(p, __VA_ARGS__))
#define __sync_sub_and_fetch(p, ...) ((__typeof__(*(p)))__sync_sub_and_fetch(p, __VA_ARGS__))
#define __sync_and_and_fetch(p, ...) ((__typeof__(*(p)))__sync_and_and_fetch(p, __VA_ARGS__))
#define __sync_or_and_fetch(p, ...) ((__typeof__(*(p)))__sync_or_and_fetch(p, __VA_ARGS__))
#define __sync_xor_and_fetch(p, ...) ((__typeof__(*(p)))__sync_xor_and_fetch(p, __VA_ARGS__))
#define __sync_nand_and_fetch(p, ...) ((__typeof__(*(p)))__sync_nand_and_fetch(p, __VA_ARGS__))
#define __sync_val_compare_and_swap(p, ...) ((__typeof__(*(p)))__sync_val_compare_and_swap(p, __VA_ARGS__))
#define __sync_lock_test_and_set(p, ...) ((__typeof__(*(p)))__sync_lock_test_and_set(p, __VA_ARGS__))
#define __sync_swap(p, ...) ((__typeof__(*(p)))__sync_swap(p, __VA_ARGS__))
_Bool __sync_bool_compare_and_swap();
void __sync_lock_release();
void __sync_synchronize();

#define __atomic_load_n(p, ...) ((__typeof__(*(p)))__atomic_load_n(p, __VA_ARGS__))
#define __atomic_exchange_n(p, ...) ((__typeof__(*(p)))__atomic_exchange_n(p, __VA_ARGS__))
#define __atomic_fetch_add(p, ...) ((__typeof__(*(p)))__atomic_fetch_add(p, __VA_ARGS__))
#define __atomic_fetch_sub(p, ...) ((__typeof__(*(p)))__atomic_fetch_sub(p, __VA_ARGS__))
#define __atomic_fetch_and(p, ...) ((__typeof__(*(p)))__atomic_fetch_and(p, __VA_ARGS__))
#define __atomic_fetch_or(p, ...) ((__typeof__(*(p)))__atomic_fetch_or(p, __VA_ARGS__))
#define __atomic_fetch_xor(p, ...) ((__typeof__(*(p)))__atomic_fetch_xor(p, __VA_ARGS__))
#define __atomic_fetch_nand(p, ...) ((__typeof__(*(p)))__atomic_fetch_nand(p, __VA_ARGS__))
#define __atomic_add_fetch(p, ...) ((__typeof__(*(p)))__atomic_add_fetch(p, __VA_ARGS__))
#define __atomic_sub_fetch(p, ...) ((__typeof__(*(p)))__atomic_sub_fetch(p, __VA_ARGS__))
#define __atomic_and_fetch(p, ...) ((__typeof__(*(p)))__atomic_and_fetch(p, __VA_ARGS__))
#define __atomic_or_fetch(p, ...) ((__typeof__(*(p)))__atomic_or_fetch(p, __VA_ARGS__))
#define __atomic_xor_fetch(p, ...) ((__typeof__(*(p)))__atomic_xor_fetch(p, __VA_ARGS__))
#define __atomic_nand_fetch(p, ...) ((__typeof__(*(p)))__atomic_nand_fetch(p, __VA_ARGS__))
void __atomic_load();
void __atomic_store();
void __atomic_store_n();
void __atomic_exchange();
_Bool __atomic_compare_exchange();
_Bool __atomic_compare_exchange_n();
_Bool __atomic_test_and_set();
void __atomic_clear();
void __atomic_thread_fence(int);
void __atomic_signal_fence(int);

#define __c11_atomic_load(p, ...) ((__typeof__(*(p)))__c11_atomic_load(p, __VA_ARGS__))
#define __c11_atomic_exchange(p, ...) ((__typeof__(*(p)))__c11_atomic_exchange(p, __VA_ARGS__))
#define __c11_atomic_fetch_add(p, ...) ((__typeof__(*(p)))__c11_atomic_fetch_add(p, __VA_ARGS__))
#define __c11_atomic_fetch_sub(p, ...) ((__typeof__(*(p)))__c11_atomic_fetch_sub(p, __VA_ARGS__))
#define __c11_atomic_fetch_and(p, ...) ((__typeof__(*(p)))__c11_atomic_fetch_and(p, __VA_ARGS__))
#define __c11_atomic_fetch_or(p, ...) ((__typeof__(*(p)))__c11_atomic_fetch_or(p, __VA_ARGS__))
#define __c11_atomic_fetch_xor(p, ...) ((__typeof__(*(p)))__c11_atomic_fetch_xor(p, __VA_ARGS__))
void __c11_atomic_init();
void __c11_atomic_store();
_Bool __c11_atomic_compare_exchange_strong();
_Bool __c11_atomic_compare_exchange_weak();
void __c11_atomic_thread_fence(int);
void __c11_atomic_signal_fence(int);

/* What stands between ? and : in x ?: y, so that cc has an expression there. */
extern int __bpfc_elvis;

/* The plain types, for what the tree gives no node to ask. */
extern _Bool __bpfc_type_bool;
extern char __bpfc_type_char;
extern signed char __bpfc_type_schar;
extern unsigned char __bpfc_type_uchar;
extern short __bpfc_type_short;
extern unsigned short __bpfc_type_ushort;
extern int __bpfc_type_int;
extern unsigned int __bpfc_type_uint;
extern long __bpfc_type_long;
extern unsigned long __bpfc_type_ulong;
extern long long __bpfc_type_llong;
extern unsigned long long __bpfc_type_ullong;
extern void *__bpfc_type_ptr;
