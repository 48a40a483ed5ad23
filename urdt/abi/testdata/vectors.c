// The hashes of URDT, written from docs/urdt-spec.md and from nothing else: it
// prints the vectors that the tests hold package abi against. Input: pairs of
// strings in hexadecimal, "-" for the empty one.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static size_t unhex(const char *hex, unsigned char *out)
{
	size_t n = 0;
	unsigned v;

	if (strcmp(hex, "-") == 0)
		return 0;
	for (; sscanf(hex, "%2x", &v) == 1; hex += 2)
		out[n++] = (unsigned char)v;
	return n;
}

int main(void)
{
	static char ph[4096], nh[4096];
	static unsigned char p[2048], n[2048];

	while (scanf("%4095s %4095s", ph, nh) == 2) {
		size_t plen = unhex(ph, p), nlen = unhex(nh, n), i;
		uint32_t hash = 0, hash2 = 0x811c9dc5;

		for (i = 0; i < plen; i++)
			hash = hash * 31 + (uint32_t)(int32_t)(signed char)p[i];
		for (i = 0; i < nlen; i++)
			hash = hash * 31 + (uint32_t)(int32_t)(signed char)n[i];
		for (i = 0; i < plen; i++)
			hash2 = (hash2 ^ p[i]) * 0x01000193;
		hash2 = (hash2 ^ 0) * 0x01000193;
		for (i = 0; i < nlen; i++)
			hash2 = (hash2 ^ n[i]) * 0x01000193;
		printf("%s\t%s\t%08x\t%08x\t%u\n", ph, nh, hash, hash2,
		       (uint32_t)(hash * 0x9E3779B1u) >> 28);
	}
	return 0;
}
