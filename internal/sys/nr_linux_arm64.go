package sys

// System call numbers that the frozen package syscall lacks:
// include/uapi/asm-generic/unistd.h.
const nrMemfdCreate = 279
