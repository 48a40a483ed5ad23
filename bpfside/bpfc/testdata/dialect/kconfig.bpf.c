// Options of the kernel's configuration, and what libbpf makes up, as externs; weak ones
// are 0 if they are not there.
// want: version_ok = 1
// want: has_bpf = 1
// want: hz_ok = 1
// want: missing = 0
// want: tristate = 1
// want: cookie = 1
// want: dead = 0
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

extern int LINUX_KERNEL_VERSION __kconfig;
extern bool CONFIG_BPF __kconfig;
extern enum libbpf_tristate CONFIG_BPF_SYSCALL __kconfig;
extern unsigned int CONFIG_HZ __kconfig;
extern int CONFIG_NO_SUCH_OPTION __kconfig __weak;
extern const bool LINUX_HAS_BPF_COOKIE __kconfig;

int version_ok, has_bpf, hz_ok, missing = -1, tristate, cookie, dead;

SEC("syscall")
int prog(void *ctx)
{
	version_ok = LINUX_KERNEL_VERSION >= KERNEL_VERSION(5, 15, 0);
	has_bpf = CONFIG_BPF;
	hz_ok = CONFIG_HZ == 100 || CONFIG_HZ == 250 || CONFIG_HZ == 300 || CONFIG_HZ == 1000;
	missing = CONFIG_NO_SUCH_OPTION;
	if (CONFIG_NO_SUCH_OPTION)
		dead = *(int *)0;
	tristate = CONFIG_BPF_SYSCALL == TRI_YES;
	cookie = LINUX_HAS_BPF_COOKIE;
	return 0;
}
