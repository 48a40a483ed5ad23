// Constant expressions, with C's widths and signs: each as a long long.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
enum e { A, B = 5, C, D = -3, E = 'x', F = sizeof(u64) };
enum big { BIG = 0x1ffffffff, HUGE = 0x8000000000000000ULL };
struct s { char a; struct { u16 b[3]; u32 c; } in; };
long long values[] = {
	1 + 2 * 3 - 4 / 3 % 2, -7 / 2, -7 % 2, 7u / 2, -7 / 2u, (u32)-7 % 5, -1 >> 1, -1u >> 1, -1LL >> 1, -1ULL >> 1,
	1 << 31, 1u << 31, 1LL << 63, 0xffffffff, 4294967295, 0x7fffffff + 0u, 2147483648, -2147483648, 0xffffffffffffffff,
	(char)300, (u8)300, (signed char)0x80, (u16)-1, (short)0x8000, (int)0xffffffffULL, (u32)-1, (long)-1, (_Bool)256, (_Bool)0,
	'a', '\n', '\xff', '\377', L'x', ~0, ~0u, !5, !0, +(char)-1, -(u8)1, -(u32)1,
	1 < 2, -1 < 1u, -1 < 1ULL, (u8)-1 < 0, 2 >= 2, 1 == 1u, -1 == 0xffffffff, 3 != 4,
	1 && 0, 1 || 0, 0 && 1 / 0, 1 || 1 / 0, 0 ? 1 / 0 : 5, 1 ? 2 : 3u, 0 ?: 4, 1 ? -1 : 0u,
	A, B, C, D, E, F, BIG, HUGE, sizeof(A), sizeof(BIG), (u8)BIG,
	5 & 3, 5 | 3, 5 ^ 3, 5 & -1LL, (u8)~5, 1 + (u8)255, (u16)65535 * (u16)65535u, 255 + (u8)1,
	sizeof(struct s), __builtin_offsetof(struct s, in.c), (long)&((struct s *)0)->in.b[1], (long)&((struct s *)16)->in,
	(long)((char *)8 + 3), (long)((int *)8 + 3), (int *)32 - (int *)8, (void *)3 == (void *)3,
	__builtin_choose_expr(1, 10, 20), __builtin_choose_expr(0, 10, 20), __builtin_constant_p(5), __builtin_expect(6, 1),
	__builtin_types_compatible_p(int, signed), __builtin_types_compatible_p(int, long), __builtin_types_compatible_p(char *, char *),
	__builtin_types_compatible_p(struct s, struct s), __builtin_types_compatible_p(enum e, int), __builtin_types_compatible_p(long, long long),
	__builtin_types_compatible_p(int, int const),
	_Generic(1, int: 1, long: 2, default: 3), _Generic(1L, int: 1, long: 2, default: 3), _Generic("x", char *: 4, default: 5),
	_Generic((u8)1, int: 1, u8: 6, default: 3), __builtin_strlen("four"), __builtin_strlen("a\0b"), sizeof("a\0b"),
	__builtin_popcount(0xff), __builtin_popcountll(-1), __builtin_popcount(-1), __builtin_ctz(8), __builtin_ctzll(1ULL << 40), __builtin_clz(1), __builtin_clzl(1), __builtin_ffs(0), __builtin_ffs(6), __builtin_parity(7),
	__builtin_bswap16(0x1234), __builtin_bswap32(0x12345678), __builtin_bswap64(0x123456789abcdef0),
	(int)2.75, (u8)3.9,
	0b1011, 017, 0xFFull, 1000000007,
};
u32 in_types[3 + 4 * (sizeof(u64) == 8)];
struct { u8 a[sizeof(struct s) > 4 ? 2 : 1]; int b : 1 + 2; } sized = { { 1, 2 }, 3 };
char by_offset[__builtin_offsetof(struct s, in.c)] = { 1 };
_Static_assert(!__builtin_constant_p(in_types[0]), "a variable");
_Static_assert(sizeof(by_offset) == 12, "offset");
