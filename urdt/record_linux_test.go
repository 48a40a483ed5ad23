//go:build amd64 || arm64

package urdt

import (
	"testing"
	"unsafe"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/image"
	"github.com/nopfire/nopfire/internal/testutils"
	"github.com/nopfire/nopfire/urdt/abi"
)

// A rig is an object of the test whose sites can record, in the place of the
// one that the package would open.
type rig struct {
	rec *testutils.Recorder
	obj *elfgen.Object
}

// reset gives the test a package that was never used.
func reset(t testing.TB) {
	t.Helper()
	old := getCurrent()
	registry.Lock()
	names, seen := registry.names, registry.seen
	registry.names, registry.seen = nil, nil
	registry.Unlock()
	setCurrent(&unopened)
	t.Cleanup(func() {
		setCurrent(old)
		registry.Lock()
		registry.names, registry.seen = names, seen
		registry.Unlock()
	})
}

func newRig(t testing.TB) *rig {
	t.Helper()
	reset(t)
	obj, err := build()
	if err != nil {
		t.Fatal(err)
	}
	offs := make([]int, len(obj.Sites))
	for i, s := range obj.Sites {
		offs[i] = s.Location - obj.Text.Off
	}
	r := &rig{obj: obj, rec: testutils.NewRecorder(t, obj.Image[obj.Text.Off:obj.Text.Off+obj.Text.Len], offs)}
	o := &object{image: new(image.Image), status: Status{Reach: Process}}
	for n := range o.sites {
		o.sites[n] = (*sites)(r.rec.At(offs[n*abi.Shards]))
	}
	setCurrent(o)
	return r
}

// site returns the offset of a name's site.
func (r *rig) site(nargs int, provider, name string) int {
	return r.obj.Sites[nargs*abi.Shards+abi.Shard(abi.Hash(provider, name), abi.Shards)].Location - r.obj.Text.Off
}

// arm makes the site of a name record.
func (r *rig) arm(nargs int, provider, name string) { r.rec.Arm(r.site(nargs, provider, name)) }

// fired returns the hashes and the arguments of the fires since the last call,
// and their number.
func (r *rig) fired(nargs int, provider, name string) (hashes uint64, args []uint64, calls uint64) {
	got := r.rec.Record(r.site(nargs, provider, name))
	for i := range nargs {
		args = append(args, got.Registers[place(i+1)])
	}
	return got.Registers[hashPlace], args, got.Calls
}

// text reads the NUL-terminated text at an address that a fire showed. The
// memory is that of the fire, which is over: the caller has done nothing since
// that would use it.
func text(addr uint64) string {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
