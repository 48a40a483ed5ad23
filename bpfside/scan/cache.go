package scan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A Cache remembers which files in directories have no probes, so that a later scan
// need not open them: of a system nearly all files, and opening them is nearly all
// of the time. What has probes is always read.
//
// A file is known by its device and inode, its size, and the times of its last
// changes. It is not known by its build-id, which is in the file: that must be opened
// to read it, and then it has been told already whether there are notes. To read and
// decode the notes takes a few milliseconds for all of a system.
//
// A nil *Cache knows nothing and remembers nothing. Methods may be called by several
// goroutines, and several processes may use one directory: the last that saves wins.
type Cache struct {
	path string

	once sync.Once
	old  []identity // sorted by key

	mu    sync.Mutex
	fresh []identity

	clock func() time.Time // time.Now, but in tests
}

// An identity tells a file from others, and from what it was before it was changed.
// The kernel sets the time of the last change of the inode, CTime, at every write,
// and no system call sets it otherwise.
type identity struct {
	Device, Inode uint64
	Size          int64
	MTime, CTime  int64 // nanoseconds since 1970
}

// compareKey orders identities by what a file keeps when it is changed.
func (a identity) compareKey(b identity) int {
	switch {
	case a.Device < b.Device, a.Device == b.Device && a.Inode < b.Inode:
		return -1
	case a.Device == b.Device && a.Inode == b.Inode:
		return 0
	}
	return 1
}

// ErrUntrusted is wrapped when a cache is not for this user alone.
var ErrUntrusted = errors.New("not for this user alone")

// OpenCache returns the cache in a directory; "" is the directory nopfire in that of
// os.UserCacheDir. The directory is made if the one that the caches of the user are in
// is there or can be made. The error tells why there is none: it may wrap
// ErrUntrusted, as when a program runs as root in the environment of somebody else,
// whose files it should neither believe nor leave its own among.
//
// There is nothing to close. A cache that cannot be read, or is not as Save writes it,
// is an empty one.
func OpenCache(dir string) (*Cache, error) {
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("open cache: %w", err)
		}
		if err := ownDirectory(user); err != nil {
			return nil, fmt.Errorf("open cache: %w", err)
		}
		dir = filepath.Join(user, "nopfire")
	}
	if err := ownDirectory(dir); err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	return &Cache{path: filepath.Join(dir, "scan"), clock: time.Now}, nil
}

// ownDirectory makes sure that a directory is there, which belongs to this user and
// which nobody else may write to. What it makes, it makes in another one like that,
// for this user alone. It may be a link, as the user may keep caches elsewhere: who
// can put a link into a directory of this user is this user.
func ownDirectory(dir string) error {
	err := trust(dir)
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := trust(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return trust(dir)
}

// trust returns an error if another user may have filled a directory.
func trust(dir string) error {
	st, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !st.IsDir():
		return fmt.Errorf("%s: not a directory", quoted(dir))
	case !ownedByUser(st):
		return fmt.Errorf("%s: belongs to another user: %w", quoted(dir), ErrUntrusted)
	case st.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s: has mode %04o: %w", quoted(dir), st.Mode().Perm(), ErrUntrusted)
	}
	return nil
}

// has reports whether a file is known to have no probes.
func (c *Cache) has(id identity) bool {
	i, ok := slices.BinarySearchFunc(c.old, id, identity.compareKey)
	return ok && c.old[i] == id
}

// empty reports whether nothing is known.
func (c *Cache) empty() bool { return len(c.old) == 0 }

// racy is for how long after a change a file may be changed once more without another
// time to show for it: the clock of a file system may stand still for so long (two
// seconds on FAT, a tick of the kernel on others).
const racy = 2 * time.Second

// add takes note of a file without probes, whose identity was taken before it was
// read, in a scan that began at some time.
func (c *Cache) add(id identity, began time.Time) {
	if id.CTime > began.Add(-racy).UnixNano() {
		return
	}
	c.mu.Lock()
	c.fresh = append(c.fresh, id)
	c.mu.Unlock()
}

// The file of a cache: the magic, a checksum of what follows, and the identities in
// order, all numbers little-endian. Another version has another magic.
const (
	cacheMagic  = "nopfire scan 1\r\n"
	cacheHeader = len(cacheMagic) + 4
	cacheRecord = 5 * 8
	// maxCached bounds the number of files that are remembered: a large system
	// has 300,000.
	maxCached = 500_000
)

// castagnoli is the polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// load reads the file of the cache, once.
func (c *Cache) load() {
	if c == nil {
		return
	}
	c.once.Do(func() {
		f, err := openOwn(c.path)
		if err != nil {
			return
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, int64(cacheHeader+maxCached*cacheRecord)+1))
		if err == nil {
			c.old = decodeCache(data)
		}
	})
}

// decodeCache returns the identities in the file of a cache, nil if it is no good one.
func decodeCache(data []byte) []identity {
	body, ok := bytes.CutPrefix(data, []byte(cacheMagic))
	if !ok || len(body) < 4 {
		return nil
	}
	sum, body := binary.LittleEndian.Uint32(body), body[4:]
	if len(body)%cacheRecord != 0 || len(body)/cacheRecord > maxCached || crc32.Checksum(body, castagnoli) != sum {
		return nil
	}
	ids := make([]identity, len(body)/cacheRecord)
	for i := range ids {
		b := body[i*cacheRecord:]
		u64 := binary.LittleEndian.Uint64
		ids[i] = identity{u64(b), u64(b[8:]), int64(u64(b[16:]) & math.MaxInt64), int64(u64(b[24:])), int64(u64(b[32:]))}
		if i > 0 && ids[i-1].compareKey(ids[i]) >= 0 {
			return nil
		}
	}
	return ids
}

// encodeCache returns the file of a cache with identities, which are in order.
func encodeCache(ids []identity) []byte {
	data := make([]byte, cacheHeader, cacheHeader+len(ids)*cacheRecord)
	copy(data, cacheMagic)
	for _, id := range ids {
		for _, v := range []uint64{id.Device, id.Inode, uint64(id.Size), uint64(id.MTime), uint64(id.CTime)} {
			data = binary.LittleEndian.AppendUint64(data, v)
		}
	}
	binary.LittleEndian.PutUint32(data[len(cacheMagic):], crc32.Checksum(data[cacheHeader:], castagnoli))
	return data
}

// Save writes what scans have added, if they have: to a file of its own, which then
// takes the place of the old one.
func (c *Cache) Save() error {
	if c == nil {
		return nil
	}
	c.load()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fresh) == 0 {
		return nil
	}
	ids := merge(c.old, c.fresh, maxCached)
	c.sweep()
	f, err := os.CreateTemp(filepath.Dir(c.path), newCache) // of mode 0600
	if err != nil {
		return fmt.Errorf("save cache: %w", err)
	}
	_, err = f.Write(encodeCache(ids))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), c.path)
	}
	if err != nil {
		return fmt.Errorf("save cache: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// newCache is the pattern of the names under which caches are written.
const newCache = "scan-*.new"

// sweep removes what processes have left that were killed while they wrote.
func (c *Cache) sweep() {
	const long = time.Hour
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.path), newCache)) // the pattern is good
	for _, path := range left {
		if st, err := os.Lstat(path); err == nil && time.Since(st.ModTime()) > long {
			_ = os.Remove(path) // another process may have
		}
	}
}

// merge returns old and fresh identities in order, fresh ones in place of old ones of
// the same file; at most so many, the fresh ones first.
func merge(old, fresh []identity, most int) []identity {
	all := slices.Clone(fresh)
	slices.SortStableFunc(all, identity.compareKey)
	all = slices.CompactFunc(all, func(a, b identity) bool { return a.compareKey(b) == 0 })
	all = all[:min(len(all), most)]
	known := len(all)
	for _, id := range old {
		if len(all) == most {
			break
		}
		if _, again := slices.BinarySearchFunc(all[:known], id, identity.compareKey); !again {
			all = append(all, id)
		}
	}
	slices.SortFunc(all, identity.compareKey)
	return all
}
