package difftest

// Prelude stands before the programs of a file: it needs no header of anybody.
//
// sdiv and smod divide with sign. Before CPU level v4 clang has no such
// division at all, and its selection of counting zeros fails or has no end, so
// that it is given (-DREFERENCE) what they are to be equal to.
const Prelude = `typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static long (*bpf_skb_load_bytes)(const void *skb, u32 offset, void *to, u32 len) = (void *)26;
static long (*bpf_for_each_map_elem)(void *map, void *callback, void *ctx, u64 flags) = (void *)164;
static long (*bpf_loop)(u32 n, void *callback, void *ctx, u64 flags) = (void *)181;

struct args {
	u64 q[2];
	s32 i[2];
	u16 h[3];
	s8 b[2];
	u32 r;
	s64 out[2];
};
struct __sk_buff {
	u32 len;
};
struct xdp_md {
	u32 data;
	u32 data_end;
};

#ifdef REFERENCE
static __always_inline s64 sdiv64(s64 x, s64 y)
{
	u64 a = x < 0 ? -(u64)x : x, b = y < 0 ? -(u64)y : y;
	return (x < 0) != (y < 0) ? -(a / b) : a / b;
}
static __always_inline s64 smod64(s64 x, s64 y)
{
	u64 a = x < 0 ? -(u64)x : x, b = y < 0 ? -(u64)y : y;
	return x < 0 ? -(a % b) : a % b;
}
#define SDIV(t, x, y) ((t)sdiv64((t)(x), (t)(y)))
#define SMOD(t, x, y) ((t)smod64((t)(x), (t)(y)))
static __always_inline u32 clz64(u64 x)
{
	u32 n = 0;
	if (!(x >> 32)) { n += 32; x <<= 32; }
	if (!(x >> 48)) { n += 16; x <<= 16; }
	if (!(x >> 56)) { n += 8; x <<= 8; }
	if (!(x >> 60)) { n += 4; x <<= 4; }
	if (!(x >> 62)) { n += 2; x <<= 2; }
	return n + !(x >> 63);
}
#define POPCOUNT(x) __builtin_popcountll((u32)(x))
#define CLZLL(x) ((s32)clz64(x))
#define CLZ(x) (CLZLL((u32)(x)) - 32)
#define CTZLL(x) ({ u64 x0 = (x); 63 - CLZLL(x0 & -x0); })
#define CTZ(x) CTZLL((u32)(x))
#define FFS(x) ({ u32 x1 = (x); x1 ? CTZ(x1) + 1 : 0; })
#else
#define SDIV(t, x, y) ((t)((t)(x) / (t)(y)))
#define SMOD(t, x, y) ((t)((t)(x) % (t)(y)))
#define POPCOUNT(x) __builtin_popcount(x)
#define CLZLL(x) __builtin_clzll(x)
#define CLZ(x) __builtin_clz(x)
#define CTZLL(x) __builtin_ctzll(x)
#define CTZ(x) __builtin_ctz(x)
#define FFS(x) __builtin_ffs(x)
#endif

char LICENSE[] SEC("license") = "GPL";
`

// argsType is struct args of the prelude.
var argsType = &ctype{kind: cStruct, name: "struct args", fields: []cfield{
	{name: "q", typ: &ctype{kind: cArray, name: "u64", elem: u64, n: 2}},
	{name: "i", typ: &ctype{kind: cArray, name: "s32", elem: s32, n: 2}},
	{name: "h", typ: &ctype{kind: cArray, name: "u16", elem: u16, n: 3}},
	{name: "b", typ: &ctype{kind: cArray, name: "s8", elem: s8, n: 2}},
	{name: "r", typ: u32},
	{name: "out", typ: &ctype{kind: cArray, name: "s64", elem: s64, n: 2}},
}}

// argsSize is the size of struct args.
const argsSize = 56
