/* For preprocessor.bpf.c, which includes it twice. */
#ifndef DIALECT_H
#define DIALECT_H

#define FROM_HEADER 70

static inline int from_header(int n)
{
	return FROM_HEADER + n;
}

#endif
