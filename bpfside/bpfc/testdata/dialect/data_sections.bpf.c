// Variables of .data, .bss and .rodata, and of sections with names of their own.
// want: in_data = 12
// want: in_bss = 3
// want: own_data = 107
// want: from_rodata = 41
// want: table_sum = 1500
// want: text = "data"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int in_data = 10;
int in_bss;
const int in_rodata = 41;
const short table[] = { 100, 200, 300, 400, 500 };
int own_data SEC(".data.mine") = 100;
const volatile int own_rodata SEC(".rodata.mine") = 7;
char text[8] = "data";
int from_rodata, table_sum;
static int hidden_data = 2, hidden_bss;

SEC("socket")
int prog(struct __sk_buff *skb)
{
	in_data += hidden_data;
	hidden_bss += 3;
	in_bss = hidden_bss;
	own_data += own_rodata;
	from_rodata = in_rodata;
	for (int i = 0; i < 5; i++)
		table_sum += table[i];
	return 0;
}
