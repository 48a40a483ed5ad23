package abi

import (
	"bufio"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/internal/testutils"
)

var update = flag.Bool("update", false, "write testdata/vectors.tsv anew, with the C program")

// names are what the vectors are for.
var names = [][2]string{
	{"", ""},
	{"a", ""}, {"", "a"}, // one hash, two names
	{"ab", "c"}, {"a", "bc"},
	{"Aa", "x"}, {"BB", "x"},
	{"dyn", "urdt3"}, {"dyn", "urdt3alt"}, {"dyn", "urdt11"}, {"dyn", "urdt"},
	{"app", "request"}, {"other", "probe"}, {"shop", "order"},
	{"myapp", "connection-accepted"}, {"p", "0123456789012345678901234567890123456789"},
	{"\x7f", "\x80"}, {"\xff", "\x80\xfe"}, {"größe", "été"}, {"日本", "語"},
	{"with\x00nul", "\x00"},
	{strings.Repeat("x", MaxName), strings.Repeat("y", MaxName)},
	{strings.Repeat("\xff", 255), strings.Repeat("\x01", 257)},
}

func unhex(t *testing.T, s string) string {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(s, "-"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestVectors holds the hashes against what a C program, written from the
// specification alone, says of them.
func TestVectors(t *testing.T) {
	const file = "testdata/vectors.tsv"
	if *update {
		if err := os.WriteFile(file, []byte(vectorsFromC(t)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); n++ {
		var p, q string
		var h, h2 uint32
		var shard int
		if _, err := fmt.Sscanf(sc.Text(), "%s %s %x %x %d", &p, &q, &h, &h2, &shard); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		p, q = unhex(t, p), unhex(t, q)
		if got := Hash(p, q); got != h {
			t.Errorf("Hash(%q, %q) = %08x, want %08x", p, q, got, h)
		}
		if got := Hash2(p, q); got != h2 {
			t.Errorf("Hash2(%q, %q) = %08x, want %08x", p, q, got, h2)
		}
		if got := Hashes(p, q); got != uint64(h2)<<32|uint64(h) {
			t.Errorf("Hashes(%q, %q) = %016x", p, q, got)
		}
		if got := Shard(h, Shards); got != shard {
			t.Errorf("Shard(%08x) = %d, want %d", h, got, shard)
		}
	}
	if n != len(names) {
		t.Errorf("%d vectors for %d names", n, len(names))
	}
}

func TestVectorsAreFromC(t *testing.T) {
	have, err := os.ReadFile("testdata/vectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if got := vectorsFromC(t); got != string(have) {
		t.Errorf("the C program prints\n%s", got)
	}
}

func vectorsFromC(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile("testdata/vectors.c")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testutils.BuildC(t, string(src)))
	var in strings.Builder
	text := func(s string) string {
		if s == "" {
			return "-"
		}
		return hex.EncodeToString([]byte(s))
	}
	for _, n := range names {
		fmt.Fprintln(&in, text(n[0]), text(n[1]))
	}
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The sum of four terms is the plain definition.
func TestHashByDefinition(t *testing.T) {
	for n := range 40 {
		s := make([]byte, n)
		for i := range s {
			s[i] = byte(i*37 + 200)
		}
		for cut := range n + 1 {
			var h uint32
			for _, c := range s {
				h = h*31 + uint32(int8(c))
			}
			if got := Hash(string(s[:cut]), string(s[cut:])); got != h {
				t.Fatalf("Hash of %d bytes, cut at %d = %08x, want %08x", n, cut, got, h)
			}
		}
	}
}

func TestShard(t *testing.T) {
	for _, k := range []int{1, 2, 16, 65536} {
		count := make([]int, k)
		for i := range 16 * k {
			s := Shard(Hash("app", fmt.Sprint("probe", i)), k)
			if s < 0 || s >= k {
				t.Fatalf("shard %d of %d", s, k)
			}
			count[s]++
		}
		if k == Shards {
			for s, n := range count { // 256 names: 16 on average
				if n < 4 || n > 40 {
					t.Errorf("%d of 256 names share shard %d", n, s)
				}
			}
		}
	}
}

func TestSiteNames(t *testing.T) {
	for n := range MaxArgs + 1 {
		name := fmt.Sprintf("probe%d", n)
		if got := SiteName(n); got != name {
			t.Errorf("SiteName(%d) = %q", n, got)
		}
		if got, ok := Arity(name); got != n || !ok {
			t.Errorf("Arity(%q) = %d, %v", name, got, ok)
		}
	}
	for _, n := range []int{-1, MaxArgs + 1} {
		if got := SiteName(n); got != "" {
			t.Errorf("SiteName(%d) = %q", n, got)
		}
	}
	for _, s := range []string{"", "probe", "probe12", "probe01", "Probe1"} {
		if n, ok := Arity(s); ok {
			t.Errorf("Arity(%q) = %d", s, n)
		}
	}
}

func TestCookie(t *testing.T) {
	if got := Cookie(Hash("dyn", "urdt3"), 0xcafedead); uint32(got) != 0xcafedead || uint32(got>>32) != Hash("dyn", "urdt3") {
		t.Errorf("Cookie = %#x", got)
	}
}

func TestValidName(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "connection-accepted": true, "a/b.c_d~!": true, strings.Repeat("x", MaxName): true,
		"": false, "a:b": false, "a b": false, "\x7f": false, "é": false, "a\n": false, strings.Repeat("x", MaxName+1): false,
	} {
		if got := ValidName(s); got != want {
			t.Errorf("ValidName(%q) = %v", s, got)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	for range b.N {
		Hash("other", "connection")
	}
}
