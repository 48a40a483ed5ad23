package abi

// A process may say which names its handles have. It appends a record for each
// to an anonymous file, which it keeps mapped, readable and shared, so that a
// tracer finds it in /proc/PID/maps by its name. Nothing depends on it: names
// that nobody registered fire and are traced all the same.

// RegistryFile is the name of the file: /proc/PID/maps shows it as
// "/memfd:nopfire:urdt-names (deleted)".
const RegistryFile = "nopfire:urdt-names"

// RegistrationType is the type of the note that a record is, beside MarkerType;
// the owner is MarkerOwner.
const RegistrationType = 2

// A Registration is a name with its arguments.
type Registration struct {
	Provider, Name string
	// Types are the types of the arguments: "" for one that is not known,
	// else int8 … int64, uint8 … uint64, bool, float32, float64 (the bits),
	// string (the address of a NUL-terminated text), error (the same; NULL for
	// none) or pointer. Where the program's language has another name for
	// it, that follows a blank: "int64 time.Duration".
	Types []string
}

// The framing of a record: three words of 32 bits, owner name, descriptor, each
// padded to 4 bytes, as in a section of notes. All numbers are little-endian.
const (
	noteHeader  = 12
	ownerSize   = len(MarkerOwner) + 1
	registryVer = 1
)

// AppendRegistration appends the record of r. Its strings must not contain NUL.
func AppendRegistration(dst []byte, r *Registration) []byte {
	desc := 8 + len(r.Provider) + 1 + len(r.Name) + 1
	for _, t := range r.Types {
		desc += len(t) + 1
	}
	start := len(dst)
	dst = append32(dst, uint32(ownerSize))
	dst = append32(dst, uint32(desc))
	dst = append32(dst, RegistrationType)
	dst = append(append(dst, MarkerOwner...), 0)
	dst = append32(dst, registryVer)
	dst = append32(dst, uint32(len(r.Types)))
	dst = append(append(dst, r.Provider...), 0)
	dst = append(append(dst, r.Name...), 0)
	for _, t := range r.Types {
		dst = append(append(dst, t...), 0)
	}
	for (len(dst)-start)%4 != 0 {
		dst = append(dst, 0)
	}
	return dst
}

// Registrations returns the records of a registry file. The file is foreign
// data, and somebody may be writing to it: reading ends, without an error, at
// the first thing that is no whole record. Records of other owners, types and
// versions are skipped.
func Registrations(file []byte) []Registration {
	var all []Registration
	for len(file) >= noteHeader {
		name, desc, typ := uint64(get32(file)), uint64(get32(file[4:])), get32(file[8:])
		descAt := noteHeader + (name+3)&^3
		end := descAt + (desc+3)&^3
		if end > uint64(len(file)) {
			break
		}
		if name == uint64(ownerSize) && string(file[noteHeader:noteHeader+len(MarkerOwner)]) == MarkerOwner && typ == RegistrationType {
			if r, ok := readRegistration(file[descAt : descAt+desc]); ok {
				all = append(all, r)
			}
		}
		file = file[end:]
	}
	return all
}

func readRegistration(desc []byte) (r Registration, ok bool) {
	if len(desc) < 8 || get32(desc) != registryVer || get32(desc[4:]) > MaxArgs {
		return r, false
	}
	n := int(get32(desc[4:]))
	desc = desc[8:]
	next := func() (s string, ok bool) {
		for i, c := range desc {
			if c == 0 {
				s, desc = string(desc[:i]), desc[i+1:]
				return s, true
			}
		}
		return "", false
	}
	if r.Provider, ok = next(); !ok {
		return r, false
	}
	if r.Name, ok = next(); !ok {
		return r, false
	}
	for range n {
		t, ok := next()
		if !ok {
			return r, false
		}
		r.Types = append(r.Types, t)
	}
	return r, len(desc) == 0
}

func append32(dst []byte, v uint32) []byte {
	return append(dst, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}

func get32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
