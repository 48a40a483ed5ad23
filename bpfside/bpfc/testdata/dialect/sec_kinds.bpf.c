// Programs of every kind of section load; the one that can be run, runs.
// run: prog
// noload: on_fentry on_fexit on_fmod_ret on_lsm
// want: ran = 1
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

int ran;

SEC("uprobe") int on_uprobe(struct pt_regs *ctx) { return 0; }
SEC("uprobe//bin/sh:main") int on_uprobe_at(struct pt_regs *ctx) { return PT_REGS_PARM1(ctx) != 0; }
SEC("uretprobe") int on_uretprobe(struct pt_regs *ctx) { return 0; }
SEC("kprobe/do_nanosleep") int on_kprobe(struct pt_regs *ctx) { return 0; }
SEC("kretprobe/do_nanosleep") int on_kretprobe(struct pt_regs *ctx) { return 0; }
SEC("ksyscall/nanosleep") int on_ksyscall(struct pt_regs *ctx) { return 0; }
SEC("tracepoint/sched/sched_switch") int on_tracepoint(void *ctx) { return 0; }
SEC("tp/sched/sched_switch") int on_tp(void *ctx) { return 0; }
SEC("raw_tracepoint/sched_switch") int on_raw_tracepoint(void *ctx) { return 0; }
SEC("raw_tp/sched_switch") int on_raw_tp(void *ctx) { return 0; }
SEC("tp_btf/sched_switch") int on_tp_btf(void *ctx) { return 0; }
SEC("fentry/bpf_fentry_test1") int on_fentry(void *ctx) { return 0; }
SEC("fexit/bpf_fentry_test1") int on_fexit(void *ctx) { return 0; }
SEC("fmod_ret/bpf_modify_return_test") int on_fmod_ret(void *ctx) { return 0; }
SEC("lsm/file_open") int on_lsm(void *ctx) { return 0; }
SEC("iter/task") int on_iter(struct bpf_iter__task *ctx) { return 0; }
SEC("perf_event") int on_perf_event(struct bpf_perf_event_data *ctx) { return 0; }
SEC("socket") int on_socket(struct __sk_buff *skb) { return 0; }
SEC("xdp") int on_xdp(struct xdp_md *ctx) { return XDP_PASS; }
SEC("tc") int on_tc(struct __sk_buff *skb) { return 0; }
SEC("classifier") int on_classifier(struct __sk_buff *skb) { return 0; }
SEC("cgroup_skb/egress") int on_cgroup_skb(struct __sk_buff *skb) { return 1; }
SEC("cgroup/sysctl") int on_sysctl(struct bpf_sysctl *ctx) { return 1; }
SEC("sockops") int on_sockops(struct bpf_sock_ops *ctx) { return 1; }
SEC("sk_msg") int on_sk_msg(struct sk_msg_md *ctx) { return SK_PASS; }

SEC("syscall")
int prog(void *ctx)
{
	ran = 1;
	return 0;
}
