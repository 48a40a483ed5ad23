package front

import (
	"os"
	"strings"
	"testing"
)

// Each file of testdata/emit is C, a line "----", and the function f that it
// becomes. UPDATE=1 writes what comes out in the place of the latter.
func TestEmit(t *testing.T) {
	const dir = "testdata/emit"
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(f.Name(), ".txt"), func(t *testing.T) {
			path := dir + "/" + f.Name()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			src, want, ok := strings.Cut(string(b), "----\n")
			if !ok {
				t.Fatal("no line \"----\"")
			}
			got := funcOf(t, mustTranslate(t, src), "f").String()
			if got == want {
				return
			}
			if os.Getenv("UPDATE") == "" {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
			if err := os.WriteFile(path, []byte(src+"----\n"+got), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}
