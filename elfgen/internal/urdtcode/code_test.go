package urdtcode

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/nopfire/nopfire/urdt/abi"
)

var update = flag.Bool("update", false, "write the listings of testdata anew")

// An instruction as a disassembler reads it.
type instruction struct {
	off, size int
	text      string
	target    int // of a branch or an address, -1 if it has none
}

func decodeX86(code []byte, off int) (instruction, error) {
	if strings.HasPrefix(string(code[off:]), "\xf3\x0f\x1e\xfa") {
		return instruction{off, 4, "endbr64", -1}, nil // which x/arch does not know
	}
	i, err := x86asm.Decode(code[off:], 64)
	if err != nil {
		return instruction{}, err
	}
	ins := instruction{off, i.Len, x86asm.IntelSyntax(i, uint64(off), nil), -1}
	for _, a := range i.Args {
		switch a := a.(type) {
		case x86asm.Rel:
			ins.target = off + i.Len + int(a)
		case x86asm.Mem:
			if a.Base == x86asm.RIP {
				ins.target = off + i.Len + int(int32(a.Disp))
			}
		}
	}
	return ins, nil
}

func decodeARM64(code []byte, off int) (instruction, error) {
	if binary.LittleEndian.Uint32(code[off:]) == 0xd503245f {
		return instruction{off, 4, "bti c", -1}, nil // a hint that x/arch prints by number
	}
	i, err := arm64asm.Decode(code[off:])
	if err != nil {
		return instruction{}, err
	}
	ins := instruction{off, 4, strings.TrimSpace(arm64asm.GNUSyntax(i)), -1}
	for _, a := range i.Args {
		if a, ok := a.(arm64asm.PCRel); ok {
			ins.target = off + int(a)
		}
	}
	return ins, nil
}

var machines = []struct {
	name   string
	code   func() *Code
	decode func([]byte, int) (instruction, error)
	site   []string
	land   string
}{
	{"x86-64", X86_64, decodeX86, []string{"nop", "nop dword ptr [rax+rax], eax", "nop word ptr [rax+rax], ax", "ret"}, "endbr64"},
	{"arm64", ARM64, decodeARM64, []string{"nop", "ret"}, "bti c"},
}

// disassemble reads a range of the code, which must hold whole instructions.
func disassemble(t *testing.T, c *Code, decode func([]byte, int) (instruction, error), from, to int) []instruction {
	t.Helper()
	var all []instruction
	for off := from; off < to; {
		ins, err := decode(c.Bytes, off)
		if err != nil {
			t.Fatalf("at %#x: % x: %v", off, c.Bytes[off:min(off+16, len(c.Bytes))], err)
		}
		all = append(all, ins)
		off += ins.size
	}
	if last := all[len(all)-1]; last.off+last.size != to {
		t.Fatalf("the instruction at %#x exceeds %#x", last.off, to)
	}
	return all
}

// A disassembler that knows nothing of this package reads every function as the
// listings in testdata say, which are there to be read by people.
func TestListings(t *testing.T) {
	for _, m := range machines {
		c := m.code()
		var b strings.Builder
		fmt.Fprintf(&b, "# liburdt.so.1 for %s, offsets in .text. Every site is the first one's code.\n\nsite of arity 0, shard 0:\n", m.name)
		for _, i := range disassemble(t, c, m.decode, Site(0, 0)-landing, Site(0, 0)+c.SiteCode) {
			fmt.Fprintf(&b, "%5x  %s\n", i.off, i.text)
		}
		for _, f := range c.Functions {
			fmt.Fprintf(&b, "\n%s:\n", f.Name)
			for _, i := range disassemble(t, c, m.decode, f.Off, f.Off+f.Size) {
				fmt.Fprintf(&b, "%5x  %s\n", i.off, i.text)
			}
		}
		file := "testdata/" + m.name + ".txt"
		if *update {
			if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s: the code is not what %s says; the library is frozen. To look at the change: go test -update, git diff", m.name, file)
		}
	}
}

// Branches lead to instructions of the same function, addresses to a landing
// pad or a site; every function starts with a landing pad and ends where it
// returns or leaves.
func TestControlFlow(t *testing.T) {
	for _, m := range machines {
		c := m.code()
		if len(c.Functions) != 2*(abi.MaxArgs+1)+1 {
			t.Errorf("%s: %d functions", m.name, len(c.Functions))
		}
		end := SitesEnd
		for _, f := range c.Functions {
			if f.Off < end || f.Off%16 != 0 {
				t.Errorf("%s: %s at %#x, the one before ends at %#x", m.name, f.Name, f.Off, end)
			}
			end = f.Off + f.Size
			insns := disassemble(t, c, m.decode, f.Off, end)
			starts := map[int]bool{}
			for _, i := range insns {
				starts[i.off] = true
			}
			if insns[0].text != m.land {
				t.Errorf("%s: %s starts with %q", m.name, f.Name, insns[0].text)
			}
			last := strings.Fields(insns[len(insns)-1].text)[0]
			if last != "ret" && last != "jmp" && last != "br" {
				t.Errorf("%s: %s ends with %q", m.name, f.Name, insns[len(insns)-1].text)
			}
			for _, i := range insns {
				inSites := i.target >= firstSite-landing && i.target < SitesEnd &&
					(i.target-firstSite+landing)%Stride == 0 || i.target == Site(0, 0)
				if i.target >= 0 && !starts[i.target] && !inSites {
					t.Errorf("%s: %s at %#x leads to %#x", m.name, i.text, i.off, i.target)
				}
			}
		}
		if end != len(c.Bytes) {
			t.Errorf("%s: the code ends at %#x, the last function at %#x", m.name, len(c.Bytes), end)
		}
	}
}

// Every site has the frozen form, stands where the contract says, and is
// preceded by a landing pad; the first word covers all points of patching.
func TestSites(t *testing.T) {
	for _, m := range machines {
		c := m.code()
		for n := range abi.MaxArgs + 1 {
			for shard := range abi.Shards {
				at := Site(n, shard)
				insns := disassemble(t, c, m.decode, at-landing, at+c.SiteCode)
				var texts []string
				for _, i := range insns {
					texts = append(texts, i.text)
				}
				if got, want := strings.Join(texts, "; "), strings.Join(append([]string{m.land}, m.site...), "; "); got != want {
					t.Fatalf("%s: site %d of arity %d is %q, want %q", m.name, shard, n, got, want)
				}
				if at%Stride != 0 || binary.LittleEndian.Uint64(c.Bytes[at:]) != c.Pristine {
					t.Errorf("%s: site %d of arity %d at %#x", m.name, shard, n, at)
				}
			}
		}
	}
	if len(x86.site) != 17 || x86.site != "\x90\x0f\x1f\x44\x00\x00\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\xc3" {
		t.Errorf("the site of x86-64 is % x", x86.site)
	}
}
