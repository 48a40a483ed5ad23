package sys

// System call numbers that the frozen package syscall lacks:
// arch/x86/entry/syscalls/syscall_64.tbl.
const (
	nrMemfdCreate = 319
	nrUprobe      = 336 // "uprobe", since 6.18
)
