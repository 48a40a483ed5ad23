// Sizes, alignments and offsets of what C and its extensions lay out.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#define offsetof(t, m) __builtin_offsetof(t, m)

struct plain { char a; int b; short c; u64 d; char e; };
struct __attribute__((packed)) packed { char a; int b; short c; u64 d; };
struct inner_packed { char a; int b __attribute__((packed)); u64 c; };
struct aligned { char a; int b __attribute__((aligned(16))); char c; } __attribute__((aligned(32)));
struct packed_aligned { char a; u64 b; } __attribute__((packed, aligned(4)));
struct bits { int a : 3; unsigned b : 7; u64 c : 33; char d : 2; short e : 9; int f : 1; };
struct bits_zero { int a : 3; int : 0; int b : 5; char : 0; char c : 1; };
struct bits_pad { u8 a : 4; u32 : 20; u8 b : 4; u64 : 40; u16 c : 3; };
struct __attribute__((packed)) bits_packed { u8 a : 3; u32 b : 30; u64 c : 31; u8 d; u32 e : 17; };
struct bool_bits { _Bool a : 1; _Bool b : 1; int c; };
struct anonymous { int a; union { u64 b; struct { u8 c; u32 d; }; }; struct { short e; }; int f; };
union u { char a; u32 b[3]; u64 c; struct { char d[13]; } e; };
struct flexible { u16 n; u64 tail[]; };
struct zero { int n; char tail[0]; };
struct empty {};
struct nested { struct plain a[2]; union u b; struct empty c; struct bits d; };
enum small { S0, S1 };
enum wide { W0 = 1ULL << 40 };
enum negative { N0 = -1, N1 };
enum byte { B0 = 200 } __attribute__((mode(byte)));
enum tight { T0, T1 = 300 } __attribute__((packed));
struct enums { char c; enum small s; enum wide w; enum byte b; enum tight t; };
#pragma pack(push, 1)
struct pragma_packed { char a; u32 b; u16 c; };
#pragma pack(pop)
struct after_pragma { char a; u32 b; };
typedef u64 over_aligned __attribute__((aligned(64)));
struct over { char c; over_aligned o; };

#define SIZES(t) sizeof(t), _Alignof(t)
u64 sizes[] = {
	SIZES(struct plain), SIZES(struct packed), SIZES(struct inner_packed), SIZES(struct aligned), SIZES(struct packed_aligned),
	SIZES(struct bits), SIZES(struct bits_zero), SIZES(struct bits_pad), SIZES(struct bits_packed), SIZES(struct bool_bits),
	SIZES(struct anonymous), SIZES(union u), SIZES(struct flexible), SIZES(struct zero), SIZES(struct empty), SIZES(struct nested),
	SIZES(enum small), SIZES(enum wide), SIZES(enum negative), SIZES(enum byte), SIZES(enum tight), SIZES(struct enums),
	SIZES(struct pragma_packed), SIZES(struct after_pragma), SIZES(over_aligned), SIZES(struct over),
	SIZES(void *), SIZES(long), SIZES(long long), SIZES(_Bool), SIZES(char[3]), SIZES(int (*)[4]), SIZES(u16[2][3]),
	sizeof(void), sizeof("text"), sizeof("text" + 1), sizeof(1 ? (char)1 : (short)2), sizeof(L'x'), sizeof(1LL),
};
u64 offsets[] = {
	offsetof(struct plain, b), offsetof(struct plain, d), offsetof(struct packed, d), offsetof(struct inner_packed, b),
	offsetof(struct inner_packed, c), offsetof(struct aligned, b), offsetof(struct aligned, c), offsetof(struct packed_aligned, b),
	offsetof(struct anonymous, b), offsetof(struct anonymous, d), offsetof(struct anonymous, e), offsetof(struct anonymous, f),
	offsetof(union u, e.d[5]), offsetof(struct flexible, tail), offsetof(struct flexible, tail[3]), offsetof(struct zero, tail),
	offsetof(struct nested, a[1].c), offsetof(struct nested, b.b[2]), offsetof(struct nested, d),
	offsetof(struct enums, w), offsetof(struct enums, b), offsetof(struct enums, t), offsetof(struct pragma_packed, c),
	offsetof(struct over, o), offsetof(struct bits_packed, d),
};
struct bits bits = { -1, 100, 1ULL << 32 | 5, 1, -3, -1 };
struct bits_zero bits_zero = { 3, -5, 1 };
struct bits_pad bits_pad = { 9, 7, 5 };
struct bits_packed bits_packed = { 5, 0x2bcdef12, 0x5bcdef12, 0xab, 0x1abcd };
struct bool_bits bool_bits = { 2, 0, 3 };
