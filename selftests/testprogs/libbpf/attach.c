// SPDX-License-Identifier: MIT
// Attaches usdt.bpf.o with libbpf and prints what it sees, one line a hit:
//
//	argc=N cookie=0xC a0 a1 …  [str=…]
//
// usage: attach OBJECT.o PID PATH PROVIDER NAME COOKIE STRING_ARG COUNT
// It prints "attached" when it has attached, ends after COUNT hits or 10 s.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

struct event {
	__u64 cookie;
	__s32 argc;
	__s32 rc[12];
	__s64 arg[12];
	char str[64];
};

static int left;

static int on_event(void *ctx, void *data, size_t size)
{
	const struct event *e = data;

	if (left <= 0)
		return 0;
	left--;
	printf("argc=%d cookie=0x%llx", e->argc, (unsigned long long)e->cookie);
	for (int i = 0; i < e->argc && i < 12; i++) {
		if (e->rc[i])
			printf(" error:%d", e->rc[i]);
		else
			printf(" %lld", (long long)e->arg[i]);
	}
	if (e->str[0])
		printf(" str=%s", e->str);
	printf("\n");
	return 0;
}

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

int main(int argc, char **argv)
{
	LIBBPF_OPTS(bpf_usdt_opts, opts);
	struct bpf_object *obj;
	struct bpf_program *prog;
	struct ring_buffer *rb;
	time_t end = time(NULL) + 10;

	if (argc != 9) {
		fprintf(stderr, "usage: attach OBJECT.o PID PATH PROVIDER NAME COOKIE STRING_ARG COUNT\n");
		return 2;
	}
	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj)
		die("open");
	for (struct bpf_map *m = bpf_object__next_map(obj, NULL); m; m = bpf_object__next_map(obj, m)) {
		int string_arg = atoi(argv[7]);

		if (strstr(bpf_map__name(m), ".rodata") &&
		    bpf_map__set_initial_value(m, &string_arg, sizeof(string_arg)))
			die("set string_arg");
	}
	if (bpf_object__load(obj))
		die("load");
	prog = bpf_object__find_program_by_name(obj, "on_probe");
	opts.usdt_cookie = strtoull(argv[6], NULL, 0);
	left = atoi(argv[8]);
	if (!bpf_program__attach_usdt(prog, atoi(argv[2]), argv[3], argv[4], argv[5], &opts))
		die("attach");
	rb = ring_buffer__new(bpf_object__find_map_fd_by_name(obj, "events"), on_event, NULL, NULL);
	if (!rb)
		die("ring buffer");
	printf("attached\n");
	fflush(stdout);
	while (left > 0 && time(NULL) < end)
		ring_buffer__poll(rb, 100);
	fflush(stdout);
	return left > 0;
}
