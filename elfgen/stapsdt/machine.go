package stapsdt

import "encoding/binary"

// A Machine is an instruction set with its word size and byte order. The
// parser of an argument string is chosen by the machine of the file, never by
// the machine that runs this code.
type Machine uint8

// The machines whose notes this package reads and writes.
const (
	X86_64 Machine = iota + 1
	ARM64
	RISCV64
	S390X
	PPC64LE
	PPC64
	I386
	ARM
	ARMBE
	MIPS64
	MIPS64LE
)

// machineInfo is one row of the machine table.
type machineInfo struct {
	name  string
	elf   uint16 // e_machine, System V gABI chapter 4
	word  int    // bytes of a target address
	order binary.ByteOrder
}

var machines = [...]machineInfo{
	X86_64:   {"x86-64", 62, 8, binary.LittleEndian},
	ARM64:    {"arm64", 183, 8, binary.LittleEndian},
	RISCV64:  {"riscv64", 243, 8, binary.LittleEndian},
	S390X:    {"s390x", 22, 8, binary.BigEndian},
	PPC64LE:  {"ppc64le", 21, 8, binary.LittleEndian},
	PPC64:    {"ppc64", 21, 8, binary.BigEndian},
	I386:     {"i386", 3, 4, binary.LittleEndian},
	ARM:      {"arm", 40, 4, binary.LittleEndian},
	ARMBE:    {"armbe", 40, 4, binary.BigEndian},
	MIPS64:   {"mips64", 8, 8, binary.BigEndian},
	MIPS64LE: {"mips64le", 8, 8, binary.LittleEndian},
}

func (m Machine) info() machineInfo {
	if int(m) < len(machines) {
		return machines[m]
	}
	return machineInfo{}
}

// String returns the name of the machine as Debian and Go spell it, or
// "unknown".
func (m Machine) String() string {
	if n := m.info().name; n != "" {
		return n
	}
	return "unknown"
}

// ELFMachine returns the e_machine value of the machine.
func (m Machine) ELFMachine() uint16 { return m.info().elf }

// WordSize returns the size of an address in bytes: 8, 4, or 0 for an unknown
// machine.
func (m Machine) WordSize() int { return m.info().word }

// ByteOrder returns the byte order of the machine, nil for an unknown one.
func (m Machine) ByteOrder() binary.ByteOrder { return m.info().order }

// MachineOf returns the machine of an ELF file with the given e_machine, word
// size in bytes and byte order, and whether the package knows it.
func MachineOf(elfMachine uint16, wordSize int, order binary.ByteOrder) (Machine, bool) {
	for i := range machines {
		m := machines[i]
		if m.name != "" && m.elf == elfMachine && m.word == wordSize && m.order == order {
			return Machine(i), true
		}
	}
	return 0, false
}
