// Integer arithmetic of every width and sign: promotions, wrap-around, conversions.
// want: u8s = 255 0 254 127
// want: s8s = -128 -1 127 -2
// want: u16s = 65535 2 0
// want: s16s = -32768 -32768
// want: u32s = 0xffffffff 0 0x80000000
// want: s32s = -2147483648 -2
// want: u64s = 0xffffffffffffffff 0xfffffffe00000001
// want: s64s = -1 -9223372036854775808
// want: conv = 255 -1 65535 -1 4294967295 -1
// want: cmp = 0 1 0 1 1 0
// want: lit = 2147483648 -1 8 0xff
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

unsigned char u8s[4];
signed char s8s[4];
unsigned short u16s[3];
short s16s[2];
unsigned int u32s[3];
int s32s[2], cmp[6];
unsigned long u64s[2];
long s64s[2], conv[6], lit[4];
volatile unsigned char u8 = 255;
volatile signed char s8 = 127;
volatile unsigned short u16 = 0xffff;
volatile short s16 = 32767;
volatile unsigned int u32 = 0xffffffff;
volatile int s32 = 0x7fffffff;
volatile unsigned long u64 = 0xffffffff;
volatile long s64 = 0x7fffffffffffffff;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	unsigned char c = u8;
	signed char d = s8;
	unsigned short h = u16;
	short g = s16;
	unsigned int w = u32;

	u8s[0] = c++;
	u8s[1] = c;
	u8s[2] = u8 * 2;
	u8s[3] = u8 >> 1;
	s8s[0] = ++d;
	s8s[1] = (signed char)u8;
	s8s[2] = ~d;
	s8s[3] = s8 << 1;
	u16s[0] = h;
	h += 3;
	u16s[1] = h;
	u16s[2] = u16 + 1;
	s16s[0] = ++g;
	s16s[1] = s16 + 1;
	u32s[0] = w++;
	u32s[1] = w;
	u32s[2] = s32 + 1u;
	s32s[0] = (int)(s32 + 1u);
	s32s[1] = u32 * 2;
	u64s[0] = u64 * 0x100000001;
	u64s[1] = u64 * u64;
	s64s[0] = (int)u32;
	s64s[1] = (long)(s64 + 1ul);
	conv[0] = u8;
	conv[1] = (signed char)u8;
	conv[2] = u16;
	conv[3] = (short)u16;
	conv[4] = u32;
	conv[5] = (int)u64;
	cmp[0] = -1 < u32;
	cmp[1] = -1 < (int)u8;
	cmp[2] = s8 > u8;
	cmp[3] = -1L < u32;
	cmp[4] = (unsigned long)-1L > u64;
	cmp[5] = (unsigned char)s8 == (unsigned char)d;
	lit[0] = 2147483648;
	lit[1] = -1;
	lit[2] = sizeof(0x100000000);
	lit[3] = '\xff' & 0xff;
	return 0;
}
