// BTF of what programs declare.
typedef unsigned int __u32;
typedef __u32 u32;
typedef unsigned long long u64;
#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]

struct never_seen;
struct seen_by_pointer { int a; };
struct seen_whole { u64 a; struct seen_whole *next; struct seen_by_pointer *p; struct never_seen *n; };
enum kind { KIND_A, KIND_B = 7 };
enum signed_kind { NEGATIVE = -1 };
enum wide_kind { WIDE = 1ULL << 40 };
typedef struct { int counter; } atomic_t;
typedef struct seen_whole alias_t;
typedef int (*callback_t)(void *ctx, u32 n);
struct value {
	u32 a;
	enum kind k : 8;
	unsigned b : 3, : 2, c : 5;
	struct seen_whole whole;
	struct seen_by_pointer *by_pointer;
	alias_t *alias;
	atomic_t count;
	union { u64 u; char s[8]; };
	struct { int in; } named;
	int rows[2][3];
	callback_t cb;
	void (*plain)(int);
	const char *text;
	_Bool flag;
	signed char sc;
	unsigned char uc;
	short sh;
	long l;
	unsigned long ul;
	long long ll;
	enum signed_kind sk;
	enum wide_kind wk;
};
struct { __uint(type, 1); __uint(max_entries, 256 * 4); __type(key, u32); __type(value, struct value); } map SEC(".maps");
struct inner { __uint(type, 2); __uint(max_entries, 1); __type(key, int); __type(value, struct seen_by_pointer); } inner SEC(".maps");
struct { __uint(type, 12); __uint(max_entries, 2); __type(key, int); __array(values, struct inner); } outer SEC(".maps") = { .values = { &inner } };
struct value value;
struct seen_whole *pointer;
alias_t alias;
atomic_t count;
callback_t callback;
u32 number = 1;
enum kind kind = KIND_B;
const volatile char letters[16];
static u64 internal __attribute__((used)) = 3;
int tagged __attribute__((btf_decl_tag("about it"))) = 4;
