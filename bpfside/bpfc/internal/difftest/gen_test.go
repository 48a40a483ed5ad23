package difftest

import "testing"

func TestGenerateIsDeterministic(t *testing.T) {
	for seed := range uint64(50) {
		a, b := Generate(seed, "p", Config{}), Generate(seed, "p", Config{})
		if a.Root.String() != b.Root.String() {
			t.Fatalf("seed %d makes two programs:\n%s\n%s", seed, a.Root, b.Root)
		}
	}
	if Source(Generate(1, "p", Config{})) == Source(Generate(2, "p", Config{})) {
		t.Error("two seeds make one program")
	}
}
