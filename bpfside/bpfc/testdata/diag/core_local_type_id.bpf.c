// The number of a type in the program's own BTF.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";
#include <bpf/bpf_core_read.h>

struct s { int a; };

SEC("socket")
int prog(struct __sk_buff *skb)
{
	return bpf_core_type_id_local(struct s); // diag: the number of a type in the program's own BTF is not supported
}
