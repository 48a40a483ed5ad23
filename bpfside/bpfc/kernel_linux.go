package bpfc

import (
	"os"
	"syscall"
)

// runningBTF is the file with the types of the running kernel.
const runningBTF = "/sys/kernel/btf/vmlinux"

// openRunning returns the types of the running kernel, and a function to call when
// they are of no use any more. Since Linux 6.16 the file can be mapped, which saves
// a copy of several megabytes.
func openRunning() (data []byte, release func(), err error) {
	f, err := os.Open(runningBTF)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		data, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_POPULATE)
		if err == nil {
			return data, func() { syscall.Munmap(data) }, nil
		}
	}
	data, err = os.ReadFile(runningBTF)
	return data, func() {}, err
}
