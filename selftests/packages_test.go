//go:build linux

package selftests

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nopfire/nopfire/internal/testutils"
)

// debianPackage returns the directory into which the files of a Debian package
// are unpacked. They are downloaded, not installed, and kept for later runs in
// the directory of NOPFIRE_CACHE, or in the cache of the user: remove it to have
// them anew. The test is skipped (fails in the CI) without apt or a network.
func debianPackage(t *testing.T, name string) string {
	t.Helper()
	cache := os.Getenv("NOPFIRE_CACHE")
	if cache == "" {
		if dir, err := os.UserCacheDir(); err == nil {
			cache = filepath.Join(dir, "nopfire")
		} else {
			cache = sharedDir
		}
	}
	cache = filepath.Join(cache, "packages")
	dir := filepath.Join(cache, name)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	aptGet, dpkg := testutils.Oracle(t, "apt-get"), testutils.Oracle(t, "dpkg")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	// Made under another name, so that a broken download is not taken for
	// the package.
	tmp, err := os.MkdirTemp(cache, name+".part")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	download := exec.Command(aptGet, "-qq", "-o", "APT::Sandbox::User=root", "download", name+":amd64")
	download.Dir = tmp
	if out, err := download.CombinedOutput(); err != nil {
		testutils.SkipOrFail(t, "no package %s: %v\n%s", name, err, out)
	}
	debs, err := filepath.Glob(filepath.Join(tmp, "*.deb"))
	if err != nil || len(debs) != 1 {
		t.Fatalf("apt-get download %s leaves %q, %v", name, debs, err)
	}
	files := filepath.Join(tmp, "files")
	if out, err := exec.Command(dpkg, "-x", debs[0], files).CombinedOutput(); err != nil {
		t.Fatalf("dpkg -x %s: %v\n%s", debs[0], err, out)
	}
	if err := os.Rename(files, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil { // another run was first
			t.Fatal(err)
		}
	}
	return dir
}
