package scan_test

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nopfire/nopfire/bpfside/scan"
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// object returns an ELF file with the probes of a provider.
func object(t testing.TB, provider string, probes ...string) []byte {
	t.Helper()
	spec := &elfgen.ProviderSpec{Name: provider}
	for _, p := range probes {
		spec.Probes = append(spec.Probes, elfgen.ProbeSpec{Name: p})
	}
	obj, err := elfgen.Build(spec, stapsdt.X86_64, elfgen.FormNop5)
	if err != nil {
		t.Fatal(err)
	}
	return obj.Image
}

// plain returns an ELF file without a probe: a header alone.
func plain() []byte {
	image := make([]byte, 64)
	copy(image, "\x7fELF\x02\x01\x01") // 64 bits, little-endian, version 1
	image[18] = byte(elf.EM_X86_64)
	return image
}

// write writes a file with the directories above it.
func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// names returns the probes that were found as "path provider:probe".
func names(t testing.TB, dir string, res *scan.Result) []string {
	t.Helper()
	var out []string
	for _, f := range res.Files {
		path, err := filepath.Rel(dir, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range f.Probes {
			out = append(out, filepath.ToSlash(path)+" "+p.String())
		}
	}
	return out
}

func TestFilesInDirectories(t *testing.T) {
	dir := t.TempDir()
	at := func(path string) string { return filepath.Join(dir, filepath.FromSlash(path)) }
	app, lib := object(t, "app", "one", "two"), object(t, "lib", "x")
	write(t, at("a/app"), app)
	write(t, at("a/deep/er/lib.so"), lib)
	write(t, at("a/text"), []byte("no ELF file"))
	write(t, at("a/short"), []byte("\x7fEL"))
	write(t, at("a/empty"), nil)
	write(t, at("a/cut"), app[:40])
	write(t, at("b/other"), lib)
	if err := os.Link(at("a/app"), at("a/zapp")); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"a/link", "a/linkdir", "a/loop"} {
		to := map[string]string{"a/link": "../b/other", "a/linkdir": "../b", "a/loop": "."}[link]
		if err := os.Symlink(to, at(link)); err != nil {
			t.Skipf("skipped: no symbolic links: %v", err)
		}
	}

	for _, workers := range []int{1, 2, 16} {
		res, err := scan.Files(context.Background(), []string{at("b"), at("a")}, &scan.Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"b/other lib:x", "a/app app:one", "a/app app:two", "a/deep/er/lib.so lib:x"}
		if got := names(t, dir, res); !slices.Equal(got, want) {
			t.Errorf("%d workers: found %q, want %q", workers, got, want)
		}
		// Of the links none was opened, and the cut file is a note.
		if len(res.Problems) != 1 || !strings.Contains(res.Problems[0].Error(), at("a/cut")) {
			t.Errorf("%d workers: problems %v", workers, res.Problems)
		}
		if want := (scan.Stats{Dirs: 4, Files: 8, ELF: 5, Found: 3}); res.Stats != want {
			t.Errorf("%d workers: %+v, want %+v", workers, res.Stats, want)
		}
	}
}

// Files that were named are read whatever they are, and in their order; a link is
// followed.
func TestFilesNamed(t *testing.T) {
	dir := t.TempDir()
	at := func(path string) string { return filepath.Join(dir, path) }
	write(t, at("app"), object(t, "app", "one"))
	write(t, at("plain"), plain())
	write(t, at("text"), []byte("no ELF file"))
	link := at("link")
	if err := os.Symlink("app", link); err != nil {
		link = at("app")
	}
	res, err := scan.Files(context.Background(), []string{at("nothere"), link, at("text"), at("app"), at("plain"), at("app")}, nil)
	for _, want := range []string{"open " + at("nothere") + ": ", at("text") + ": ", "not an ELF file"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v does not wrap fs.ErrNotExist", err)
	}
	var got []string
	for _, f := range res.Files {
		got = append(got, f.Path)
	}
	if want := []string{link, at("app"), at("plain"), at("app")}; !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

// A file that was named is not there once more for the directory that it is in.
func TestFilesNamedInDirectory(t *testing.T) {
	dir := t.TempDir()
	app, lib := filepath.Join(dir, "app"), filepath.Join(dir, "lib")
	write(t, app, object(t, "app", "one"))
	write(t, lib, object(t, "lib", "x"))
	for _, args := range [][]string{{app, dir}, {dir, app}} {
		res, err := scan.Files(context.Background(), args, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := names(t, dir, res)
		slices.Sort(got)
		if runtime.GOOS != "windows" && !slices.Equal(got, []string{"app app:one", "lib lib:x"}) {
			t.Errorf("%q: found %q", args, got)
		}
	}
}

// A directory that must not be read is told, and hides nothing.
func TestFilesDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("skipped: root may read everything (the scripts of cmd/nopfire try it as another user)")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "app"), object(t, "app", "one"))
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprint("locked", i))
		if err := os.Mkdir(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	res, err := scan.Files(context.Background(), []string{dir}, nil)
	if err != nil || len(res.Files) != 1 || len(res.Problems) != 1 {
		t.Fatalf("%d files, problems %v, error %v", len(res.Files), res.Problems, err)
	}
	var denied *scan.DeniedError
	if !errors.As(res.Problems[0], &denied) || denied.N != 3 || !errors.Is(denied, fs.ErrPermission) {
		t.Errorf("problem %v", res.Problems[0])
	}
}

// What the kernel makes up is not read.
func TestFilesOfKernel(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: no /proc")
	}
	for _, dir := range []string{"/proc/self", "/sys", "/dev"} {
		res, err := scan.Files(context.Background(), []string{dir}, nil)
		if err == nil || !strings.Contains(err.Error(), "read directory "+dir+": is in a ") || res.Stats.Files != 0 {
			t.Errorf("%s: error %v, %+v", dir, err, res.Stats)
		}
	}
}

func TestFilesEnded(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "app"), object(t, "app", "one"))
	ctx, end := context.WithCancel(context.Background())
	end()
	_, err := scan.Files(ctx, []string{dir}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A FIFO and a device are neither opened nor waited for, and files that go while
// they are read are no fault.
func TestFilesThatGo(t *testing.T) {
	dir := t.TempDir()
	app := object(t, "app", "one")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			sub := filepath.Join(dir, fmt.Sprint(i%7))
			if os.Mkdir(sub, 0o755) == nil {
				os.WriteFile(filepath.Join(sub, "app"), app, 0o644)
			} else {
				os.RemoveAll(sub)
			}
		}
	}()
	for range 200 {
		res, err := scan.Files(context.Background(), []string{dir}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range res.Problems {
			if errors.Is(p, fs.ErrNotExist) {
				t.Fatalf("problem %v", p)
			}
		}
	}
	close(stop)
	<-stopped
}

// The notes that a scan finds in a directory of this machine are those that
// readelf finds in its files.
func TestFilesAsReadelf(t *testing.T) {
	testutils.Oracle(t, "readelf")
	dir := t.TempDir()
	for i := range 20 {
		path := filepath.Join(dir, fmt.Sprint(i%4), fmt.Sprint("lib", i, ".so"))
		write(t, path, object(t, fmt.Sprint("provider", i), "a", "b", fmt.Sprint("c", i)))
	}
	res, err := scan.Files(context.Background(), []string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for _, f := range res.Files {
		var have, want []string
		for _, p := range f.Probes {
			for _, l := range p.Locations {
				have = append(have, fmt.Sprintf("%s %#x", p, l.Address))
			}
		}
		for _, n := range testutils.ReadelfNotes(t, f.Path) {
			want = append(want, fmt.Sprintf("%s:%s %#x", n.Provider, n.Name, n.Location))
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s: %q, readelf says %q", f.Path, have, want)
		}
		got += len(want)
	}
	if got != 60 {
		t.Errorf("readelf has seen %d notes, want 60", got)
	}
}
