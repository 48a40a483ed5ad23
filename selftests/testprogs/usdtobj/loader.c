// SPDX-License-Identifier: MIT
// Loads programs.bpf.o with libbpf and attaches its programs as libbpf does:
// those whose section names a probe by it, on_manual to the probe that the
// arguments name. Then it waits for a line and prints the content of .bss in hex.
//
// usage: loader OBJECT.o TARGET PID PROVIDER NAME COOKIE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

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
	struct bpf_map *map;
	unsigned char *value;
	unsigned zero = 0;
	size_t size = 0;
	char line[16];

	if (argc != 7)
		return 2;
	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj)
		die("open");
	if (bpf_object__load(obj))
		die("load");
	bpf_object__for_each_program(prog, obj) {
		if (strcmp(bpf_program__name(prog), "on_manual") && !bpf_program__attach(prog))
			die(bpf_program__name(prog));
	}
	prog = bpf_object__find_program_by_name(obj, "on_manual");
	opts.usdt_cookie = strtoull(argv[6], NULL, 0);
	if (!bpf_program__attach_usdt(prog, atoi(argv[3]), argv[2], argv[4], argv[5], &opts))
		die("attach on_manual");
	puts("attached");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	bpf_object__for_each_map(map, obj) {
		if (!strstr(bpf_map__name(map), ".bss"))
			continue;
		size = bpf_map__value_size(map);
		value = calloc(1, size);
		if (!value || bpf_map__lookup_elem(map, &zero, sizeof(zero), value, size, 0))
			die("read .bss");
		for (size_t i = 0; i < size; i++)
			printf("%02x", value[i]);
		printf("\n");
	}
	return size == 0;
}
