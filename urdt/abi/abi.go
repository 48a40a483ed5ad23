// Package abi is what the two sides of URDT, runtime-defined tracing with
// neither set-up nor registration, have agreed on: hashes, the shard rule, the
// names of sites, registers, limits. docs/urdt-spec.md says the same in words.
//
// It may not know of ELF, of memory or of BPF, and imports nothing. What stands
// here is frozen: a change would be a new object.
package abi

// A fire of a name goes through the site of its arity. An object that carries
// the marker has Shards sites for each arity.
const (
	// Provider is the provider of all sites; their names are those of
	// SiteName.
	Provider = "urdt"
	// MaxArgs is the largest number of arguments of a name: a site has one
	// more, the hashes, and USDT ends at twelve.
	MaxArgs = 11
	// Shards is K, the number of sites that each arity has in an object
	// that nopfire made.
	Shards = 16
	// MaxName is the largest length of a provider or a probe that New
	// takes. String-named calls take any.
	MaxName = 200
)

// The marker: a note that tells objects made by nopfire from those of others.
// Its descriptor has three words of 32 bits: version, kind, and the number of
// sites that every probe has.
const (
	MarkerSection = ".note.nopfire"
	MarkerOwner   = "nopfire"
	MarkerType    = 1
	MarkerVersion = 1
	// KindProvider is a provider's object, whose probes have one site each.
	KindProvider = 1
	// KindURDT is an object with the sites of URDT. The shard rule, Hash2
	// in the high half of the last argument, and the registers below hold
	// for an object of this kind and for no other.
	KindURDT = 2
)

// The shared object and where it is looked for, see docs/urdt-spec.md.
const (
	// Library is the file name, and the SONAME, of the shared object.
	Library = "liburdt.so.1"
	// SystemDir is the directory of the object that all users share.
	SystemDir = "/usr/local/lib/nopfire"
	// UserDir is the directory below $XDG_RUNTIME_DIR of the object that
	// the processes of one user share.
	UserDir = "nopfire"
	// PathVariable is the environment variable that names another file.
	PathVariable = "NOPFIRE_URDT"
)

// Hash returns the hash of a name, which the last argument of every site holds
// in its low 32 bits and an attach cookie in its high ones: h*31 + c over the
// bytes of provider and probe, without anything between them. Bytes count as
// signed on every machine, as C's char does on x86.
func Hash(provider, probe string) uint32 {
	return hash31(hash31(0, provider), probe)
}

func hash31(h uint32, s string) uint32 {
	// Four at a time: one multiplication for four bytes is in the way of
	// the next four, where one for each byte would be.
	const p2, p3, p4 = 31 * 31, 31 * 31 * 31, 31 * 31 * 31 * 31
	for len(s) >= 4 {
		h = h*p4 + (uint32(int8(s[0]))*p3 + uint32(int8(s[1]))*p2 + uint32(int8(s[2]))*31 + uint32(int8(s[3])))
		s = s[4:]
	}
	for i := range len(s) {
		h = h*31 + uint32(int8(s[i]))
	}
	return h
}

// Hash2 returns the second hash of a name, which tells names apart that share
// Hash: FNV-1a over the bytes of provider, a zero byte, and probe.
func Hash2(provider, probe string) uint32 {
	const basis, prime = 2166136261, 16777619
	h := fnv(basis, provider)
	h *= prime // the zero byte
	return fnv(h, probe)
}

func fnv(h uint32, s string) uint32 {
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// Hashes returns the last argument of a site: Hash in the low half, Hash2 in the
// high half. An object without the marker has Hash alone, in 4 bytes.
func Hashes(provider, probe string) uint64 {
	return uint64(Hash2(provider, probe))<<32 | uint64(Hash(provider, probe))
}

// Shard returns which of k sites, counted by ascending address, a name fires
// at. k is a power of two, at most 65536.
func Shard(hash uint32, k int) int {
	mixed := hash * 0x9E3779B1 // 2^32 divided by the golden ratio, odd
	return int(uint64(mixed) * uint64(k) >> 32)
}

// Cookie returns the cookie that an attach to a name has: the hash, and 32 bits
// of the user's.
func Cookie(hash, user uint32) uint64 { return uint64(hash)<<32 | uint64(user) }

// SiteName returns the name of the sites for n arguments: "probe0" to "probe11".
// For another n it returns "".
func SiteName(n int) string {
	const names = "probe0probe1probe2probe3probe4probe5probe6probe7probe8probe9probe10probe11"
	switch {
	case n < 0 || n > MaxArgs:
		return ""
	case n < 10:
		return names[6*n : 6*n+6]
	}
	return names[60+7*(n-10) : 60+7*(n-10)+7]
}

// Arity returns the number of arguments of the site with the given name, and
// whether there is such a site.
func Arity(site string) (n int, ok bool) {
	for n := range MaxArgs + 1 {
		if SiteName(n) == site {
			return n, true
		}
	}
	return 0, false
}

// ValidName tells whether New takes s as a provider or a probe: printable ASCII
// without ':' and blanks. A tracer accepts any bytes.
func ValidName(s string) bool {
	if s == "" || len(s) > MaxName {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' || s[i] == ':' {
			return false
		}
	}
	return true
}

// The registers of the sites of a marked object, as argument strings spell them:
// index 0 has the hashes, index i the argument number i, in every arity. On
// x86-64 they are those of a C call with the hashes first, as far as there are
// any, then those that a callee may use, then three that it must save; on arm64
// x0 to x11.
var (
	RegistersX86_64 = [MaxArgs + 1]string{
		"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9", "%rax", "%r10", "%r11", "%rbx", "%r12", "%r13",
	}
	RegistersARM64 = [MaxArgs + 1]string{
		"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
	}
)
