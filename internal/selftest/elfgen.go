package selftest

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
	"github.com/nopfire/nopfire/urdt/abi"
)

// elfgenChecks are about the objects that hold probes.
var elfgenChecks = []Check{
	{Name: "the same spec gives the same bytes", run: elfgenSame},
	{Name: "what was described is what a tracer reads", run: elfgenReadBack},
	{Name: "notes point at the sites, semaphores at their places", run: elfgenPlaces},
	{Name: "fields of a struct are found by their names", run: elfgenTypes},
	{Name: "debug/elf reads the object", run: elfgenELF},
	{Name: "a bad spec is refused with every fault named", run: elfgenRefuses},
	{Name: "the kernel takes a probe at every form of site", Needs: Attaches, run: elfgenForms},
	{Name: "the kernel takes every semaphore", Needs: Attaches, run: elfgenSemaphores},
	{Name: "a thousand probes attach by one link", Needs: Attaches, run: elfgenThousand},
	{Name: "liburdt.so.1 has sixteen sites of each arity, and the kernel takes all", Needs: Attaches, run: elfgenURDT},
}

// machines are some that objects can be made for, on whatever machine this is.
var machines = []stapsdt.Machine{stapsdt.X86_64, stapsdt.ARM64, stapsdt.S390X}

// forms are those of a machine.
func forms(m stapsdt.Machine) []elfgen.NopForm {
	if m == stapsdt.X86_64 {
		return []elfgen.NopForm{elfgen.FormNop1, elfgen.FormNop5, elfgen.FormNop10}
	}
	return []elfgen.NopForm{elfgen.FormNop1}
}

// exampleSpec is a provider with something of everything.
func exampleSpec() *elfgen.ProviderSpec {
	order := &elfgen.Type{Kind: elfgen.Struct, Size: 24, Name: "order", Fields: []elfgen.Field{
		{Name: "id", Offset: 0, Type: &elfgen.Type{Kind: elfgen.Int, Size: 8}},
		{Name: "item", Offset: 8, Type: &elfgen.Type{Kind: elfgen.String}},
	}}
	return &elfgen.ProviderSpec{Name: provider, Probes: []elfgen.ProbeSpec{
		{Name: "plain"},
		{Name: "request", Args: []elfgen.ArgSpec{
			{Name: "status", Type: &elfgen.Type{Kind: elfgen.Int, Size: 4}},
			{Name: "path", Type: &elfgen.Type{Kind: elfgen.String}},
		}},
		{Name: "order", Semaphore: true, Args: []elfgen.ArgSpec{{Name: "o", Type: &elfgen.Type{Kind: elfgen.Pointer, Elem: order}}}},
	}}
}

// build builds a spec.
func build(t *T, spec *elfgen.ProviderSpec, m stapsdt.Machine, form elfgen.NopForm) *elfgen.Object {
	obj, err := elfgen.Build(spec, m, form)
	if err != nil {
		t.Fatalf("build for %v with %v: %v", m, form, err)
	}
	return obj
}

// read reads the notes of an object as a tracer does.
func read(t *T, obj *elfgen.Object) *usdt.File {
	f, err := usdt.NewFile(bytes.NewReader(obj.Image), int64(len(obj.Image)))
	t.Must(err)
	if len(f.Problems) > 0 {
		t.Fatalf("problems of the object: %v", errors.Join(f.Problems...))
	}
	return f
}

func elfgenSame(t *T) {
	for _, m := range machines {
		for _, form := range forms(m) {
			a, b := build(t, exampleSpec(), m, form), build(t, exampleSpec(), m, form)
			equal(t, fmt.Sprintf("%v, %v: same bytes", m, form), bytes.Equal(a.Image, b.Image), true)
			equal(t, fmt.Sprintf("%v, %v: same build-id", m, form), a.BuildID, b.BuildID)
		}
	}
	other := exampleSpec()
	other.Probes[1].Args[0].Name = "code"
	a, b := build(t, exampleSpec(), stapsdt.X86_64, elfgen.FormNop1), build(t, other, stapsdt.X86_64, elfgen.FormNop1)
	if a.BuildID == b.BuildID {
		t.Errorf("two specs have the build-id %x", a.BuildID)
	}
}

func elfgenReadBack(t *T) {
	for _, m := range machines {
		f := read(t, build(t, exampleSpec(), m, elfgen.FormNop1))
		equal(t, "machine", f.Machine, m)
		var got []string
		for _, p := range f.Probes {
			line := p.String()
			for _, param := range p.Params {
				line += fmt.Sprintf(" %s:%v", param.Name, param.Type.Kind)
			}
			got = append(got, fmt.Sprintf("%s, %d arguments, semaphore: %t", line, len(p.Locations[0].Args()), p.Locations[0].Semaphore != 0))
		}
		equalLines(t, "probes of "+m.String(), got, []string{
			"selftest:plain, 0 arguments, semaphore: false",
			"selftest:request status:int path:string, 2 arguments, semaphore: false",
			"selftest:order o:pointer, 1 arguments, semaphore: true",
		})
	}
}

func elfgenPlaces(t *T) {
	for _, m := range machines {
		for _, form := range forms(m) {
			obj := build(t, exampleSpec(), m, form)
			f := read(t, obj)
			equal(t, "number of sites", len(obj.Sites), len(f.Probes))
			for i, p := range f.Probes {
				what := fmt.Sprintf("%v, %v, %s", m, form, p)
				loc, site := p.Locations[0], obj.Sites[i]
				equal(t, what+": file offset", loc.Offset, uint64(site.Location))
				equal(t, what+": semaphore", loc.RefCtrOffset, uint64(site.Semaphore))
				equal(t, what+": attachable", loc.Err, error(nil))
				if site.Entry < obj.Text.Off || site.Location >= obj.Text.Off+obj.Text.Len {
					t.Errorf("%s: site %+v is not in the text %+v", what, site, obj.Text)
				}
				equal(t, what+": word that tells whether it is patched", m.ByteOrder().Uint64(obj.Image[site.Word:]), site.Pristine)
			}
		}
	}
}

func elfgenTypes(t *T) {
	f := read(t, build(t, exampleSpec(), stapsdt.X86_64, elfgen.FormNop1))
	param := f.Probes[2].Params[0]
	if param.Type.Kind != usdt.Pointer || param.Type.Elem == nil || param.Type.Elem.Kind != usdt.Struct {
		t.Fatalf("the argument is %+v, want a pointer to a struct", param.Type)
	}
	var got []string
	for _, field := range param.Type.Elem.Fields {
		got = append(got, fmt.Sprintf("%s at %d: %v", field.Name, field.Offset, field.Type.Kind))
	}
	equalLines(t, "fields", got, []string{"id at 0: int", "item at 8: struct"}) // a Go string is a pointer and a length
}

func elfgenELF(t *T) {
	obj := build(t, exampleSpec(), stapsdt.X86_64, elfgen.FormNop5)
	f, err := elf.NewFile(bytes.NewReader(obj.Image))
	t.Must(err)
	equal(t, "type", f.Type, elf.ET_DYN)
	equal(t, "machine", f.Machine, elf.EM_X86_64)
	for _, name := range []string{".text", ".note.stapsdt", ".stapsdt.base", ".note.gnu.build-id", ".probes"} {
		if f.Section(name) == nil {
			t.Errorf("no section %s", name)
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 && p.Flags&elf.PF_X != 0 {
			t.Errorf("a segment at %#x is writable and executable", p.Vaddr)
		}
	}
}

func elfgenRefuses(t *T) {
	long := strings.Repeat("x", elfgen.MaxName+1)
	spec := &elfgen.ProviderSpec{Name: "a:b", Probes: []elfgen.ProbeSpec{
		{Name: "twice"}, {Name: "twice"}, {Name: long},
		{Name: "many", Args: make([]elfgen.ArgSpec, elfgen.MaxArgs+1)},
	}}
	for i := range spec.Probes[3].Args {
		spec.Probes[3].Args[i].Type = &elfgen.Type{Kind: elfgen.Int, Size: 8}
	}
	_, err := elfgen.Build(spec, stapsdt.X86_64, elfgen.FormNop1)
	wantErrorAs[*elfgen.SpecError](t, "the bad spec", err)
	faults := 0
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		faults = len(joined.Unwrap())
	}
	equal(t, "number of faults that are named", faults, 4)
	_, err = elfgen.Build(exampleSpec(), stapsdt.ARM64, elfgen.FormNop5)
	wantError(t, "a form that the machine lacks", err, elfgen.ErrUnsupported)
}

// host returns the machine of the checks, and writes an object to a file.
func host(t *T) stapsdt.Machine {
	m, ok := usdt.HostMachine()
	if !ok {
		t.Skipf("needs a machine that USDT is known for")
	}
	return m
}

func writeObject(t *T, image []byte) string {
	path := filepath.Join(t.TempDir(), "object.so")
	t.Must(os.WriteFile(path, image, 0o755))
	return path
}

// nothing is a program that is attached for the sake of the attach.
const nothing = `
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("usdt") int nothing(void *ctx) { return 0; }
char LICENSE[] SEC("license") = "GPL";
`

// attachFile attaches to all probes of a file that match the pattern.
func attachFile(t *T, path, pattern string) []*usdt.Target {
	res, err := usdt.FileTargets(path, pattern)
	t.Must(err)
	c := load(t, nothing)
	links, err := c.AttachAll(c.Programs["nothing"], res.Targets, &usdt.Options{
		PID: usdt.AllProcesses,
		LeftOut: func(target *usdt.Target, _ *usdt.Location, reason error) {
			t.Errorf("%s is left out: %v", target, reason)
		},
	})
	t.Must(err)
	equal(t, "links", len(links), 1)
	for _, l := range links {
		t.Must(l.Close())
	}
	return res.Targets
}

func elfgenForms(t *T) {
	m := host(t)
	for _, form := range forms(m) {
		path := writeObject(t, build(t, exampleSpec(), m, form).Image)
		equal(t, fmt.Sprintf("probes that %v attaches to", form), len(attachFile(t, path, "selftest:plain")), 1)
	}
}

func elfgenSemaphores(t *T) {
	const n = 20
	spec := &elfgen.ProviderSpec{Name: provider}
	for i := range n {
		spec.Probes = append(spec.Probes, elfgen.ProbeSpec{Name: fmt.Sprintf("p%d", i), Semaphore: true})
	}
	m := host(t)
	obj := build(t, spec, m, elfgen.FormNop1)
	places := make(map[int]bool)
	for _, s := range obj.Sites {
		places[s.Semaphore] = true
	}
	equal(t, "semaphores, one for each probe", len(places), n)
	equal(t, "probes attached to", len(attachFile(t, writeObject(t, obj.Image), "selftest:*")), n)
}

func elfgenThousand(t *T) {
	const n = 1000
	if m, err := usdt.DefaultMethod(); err != nil || m != usdt.UprobeMulti {
		t.Skipf("needs uprobe_multi: one by one they would take a minute")
	}
	spec := &elfgen.ProviderSpec{Name: provider}
	for i := range n {
		spec.Probes = append(spec.Probes, elfgen.ProbeSpec{Name: fmt.Sprintf("p%d", i)})
	}
	path := writeObject(t, build(t, spec, host(t), elfgen.FormNop1).Image)
	equal(t, "probes attached to", len(attachFile(t, path, "selftest:*")), n)
}

func elfgenURDT(t *T) {
	obj, err := elfgen.BuildURDT(host(t))
	if errors.Is(err, elfgen.ErrUnsupported) {
		t.Skipf("needs a machine with sites of URDT")
	}
	t.Must(err)
	f := read(t, obj)
	equal(t, "names of sites", len(f.Probes), abi.MaxArgs+1)
	for _, p := range f.Probes {
		n, ok := p.IsURDT()
		equal(t, p.String()+" is of URDT", ok, true)
		equal(t, p.String()+": sites", len(p.Locations), abi.Shards)
		equal(t, p.String()+": arguments, the hash included", len(p.Locations[0].Args()), n+1)
	}
	path := writeObject(t, obj.Image)
	pattern := abi.Provider + ":" + abi.SiteName(2)
	if m, err := usdt.DefaultMethod(); err == nil && m == usdt.UprobeMulti {
		pattern = abi.Provider + ":*" // 192 locations are nothing for one link
	}
	attachFile(t, path, pattern)
}
