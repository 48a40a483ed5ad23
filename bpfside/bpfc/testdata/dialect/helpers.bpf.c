// Helpers are called by their names.
// want: same_task = 1
// want: time_passes = 1
// want: cpu_ok = 1
// want: comm_len = 1
// want: read = 0x11223344
// want: read_err = 1
// want: str_len = 6
// want: str = "hello"
// want: cmp = 0 -1 1
// want: parsed = -123 255
// want: formatted = "7 ff x"
// want: jiffies = 1
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

int same_task, time_passes, cpu_ok, comm_len, read, read_err, str_len, jiffies;
char str[8];
long cmp[3], parsed[2];
char formatted[16];
int source = 0x11223344;
char text[8] = "hello";

SEC("syscall")
int prog(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), t0 = bpf_ktime_get_ns();
	char comm[16];
	long v;
	unsigned long u;

	same_task = id == bpf_get_current_pid_tgid() && (id >> 32) != 0;
	time_passes = bpf_ktime_get_ns() >= t0 && bpf_ktime_get_boot_ns() > 0;
	cpu_ok = bpf_get_smp_processor_id() < 4096;
	bpf_get_current_comm(comm, sizeof(comm));
	comm_len = comm[0] != 0;
	bpf_probe_read_kernel(&read, sizeof(read), &source);
	read_err = bpf_probe_read_kernel(&v, sizeof(v), (void *)16) < 0;
	str_len = bpf_probe_read_kernel_str(str, sizeof(str), text);
	cmp[0] = bpf_strncmp("hello", 6, "hello");
	cmp[1] = bpf_strncmp("abc", 4, "abd") < 0 ? -1 : 0;
	cmp[2] = bpf_strncmp("b", 2, "a") > 0;
	if (bpf_strtol("-123", 4, 0, &v) == 4)
		parsed[0] = v;
	if (bpf_strtoul("ff", 2, 16, &u) == 2)
		parsed[1] = u;

	static const char fmt[] = "%d %x %c";
	__u64 args[] = { 7, 255, 'x' };

	bpf_snprintf(formatted, sizeof(formatted), fmt, args, sizeof(args));
	jiffies = bpf_jiffies64() > 0 && bpf_get_prandom_u32() != bpf_get_prandom_u32();
	return 0;
}
