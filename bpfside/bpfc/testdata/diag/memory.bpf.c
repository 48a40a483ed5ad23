// Memory builtins of sizes that are not constant, strlen of what is no literal.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

char from[16], to[16];

SEC("socket")
int prog(struct __sk_buff *skb)
{
	__builtin_memcpy(to, from, skb->len & 15); // diag: memcpy of a size that is not constant is not supported
	__builtin_memset(to, 0, skb->len & 15); // diag: memset of a size that is not constant is not supported
	return __builtin_strlen(from); // diag: strlen of what is no string literal is not supported
}
