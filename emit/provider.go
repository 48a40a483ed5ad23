package emit

import (
	"errors"
	"fmt"
	"sync"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/image"
)

// A Backing is the kind of file behind the objects of a provider.
type Backing uint8

// The backings.
const (
	// BackingMemfd is a sealed anonymous file: nothing is left behind, even
	// if the process is killed. Tracers reach it through /proc/PID. The
	// descriptor stays open until the object closes.
	BackingMemfd = Backing(image.Memfd)
	// BackingFile is a file <provider>-<pid>-<unique>.nopfire.so in
	// Options.Dir, for tools that take names of files only (perf). Close
	// removes it. A process that is killed leaves it behind; the next one
	// that uses the directory removes it, which the lock on the file of a
	// living process prevents.
	BackingFile = Backing(image.File)
	// BackingShared is a file <provider>-<hash>.so in Options.Dir. All
	// processes that define the same probes use the same file, so one
	// attach to it sees them all, later ones too. It is used only if it
	// belongs to root or to the own user, nobody else can write it, and its
	// content is what this process would have written. It is never removed.
	// Removing or cutting it while a process uses it is for its owner alone
	// to do, and a bad idea.
	BackingShared = Backing(image.Shared)
	// BackingUnlinked is a file without a name on a filesystem. It cannot
	// be asked for: it is used where the kernel refuses memfds.
	BackingUnlinked = Backing(image.Unlinked)
)

// String returns the name of the backing.
func (b Backing) String() string { return image.Kind(b).String() }

// Options are the options of a Provider. Nil, or the zero value, is the usual
// choice.
type Options struct {
	// Backing is the wanted backing. If it cannot be had, another is used:
	// see ObjectInfo.Reason.
	Backing Backing
	// Dir is an existing directory for BackingFile and BackingShared, on a
	// filesystem that is not mounted noexec; "" means os.TempDir.
	Dir string
	// NopForm is the form of the sites; 0 lets Load choose the one that is
	// fastest on the running kernel.
	NopForm elfgen.NopForm
}

// A Provider is a named set of probes. Two providers may have the same name.
type Provider struct {
	name string
	opts Options
	err  error // of NewProvider, nil for a good one

	mu      sync.Mutex
	probes  map[string]*probe // by name, pending ones too
	pending []*probe          // not loaded yet, in the order of definition
	objects []*object         // open ones, oldest first
	closed  bool
}

// An object is a loaded generation of probes.
type object struct {
	image *image.Image
	form  elfgen.NopForm
	live  int // probes that are not removed
}

// NewProvider makes a provider without probes. The name is printable ASCII
// without ':' and blanks, and not longer than elfgen.MaxName.
//
// The Provider returned with an error is inert, and so are its probes: a
// program may go on with it.
//
// Close the provider when its probes shall vanish. One that is forgotten, with
// all its probes, is closed when the garbage collector finds it; the end of
// the process closes everything but the name of a BackingFile.
func NewProvider(name string, o *Options) (*Provider, error) {
	p := &Provider{name: name}
	if o != nil {
		p.opts = *o
	}
	spec := elfgen.ProviderSpec{Name: name}
	if err := spec.Validate(); err != nil {
		p.err = err
	} else if p.opts.Backing > BackingShared {
		p.err = fmt.Errorf("provider %q: backing %d cannot be asked for", name, p.opts.Backing)
	} else if p.opts.NopForm > elfgen.FormNop10 {
		p.err = fmt.Errorf("provider %q: unknown nop form %d", name, p.opts.NopForm)
	}
	return p, p.err
}

// Name returns the name of the provider, "" for a nil one.
func (p *Provider) Name() string {
	if p == nil {
		return ""
	}
	return p.name
}

// define registers a probe whose arguments are described in it.
func (p *Provider) define(c *probe) error {
	if p == nil {
		return specError("", c.spec.Name, -1, "", "nil provider")
	}
	c.provider = p
	if p.err != nil {
		return fmt.Errorf("define probe %q: %w", c.spec.Name, p.err)
	}
	if err := c.spec.Validate(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("define probe %q of provider %q: %w", c.spec.Name, p.name, ErrClosed)
	}
	if p.probes[c.spec.Name] != nil {
		return specError(p.name, c.spec.Name, -1, "", "the provider has a probe of this name")
	}
	if p.probes == nil {
		p.probes = make(map[string]*probe)
	}
	p.probes[c.spec.Name] = c
	p.pending = append(p.pending, c)
	return nil
}

// Load makes the probes that were defined since the last Load visible to
// tracers and alive, as a new object. It does nothing if there are none. If it
// fails the probes stay inert, and the next Load tries again.
func (p *Provider) Load() error {
	if p.err != nil {
		return fmt.Errorf("load provider: %w", p.err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("load provider %q: %w", p.name, ErrClosed)
	}
	for len(p.pending) > 0 {
		n := min(len(p.pending), elfgen.MaxProbes)
		if err := p.loadObject(p.pending[:n]); err != nil {
			return fmt.Errorf("load provider %q: %w", p.name, err)
		}
		p.pending = p.pending[n:]
	}
	p.pending = nil
	return nil
}

func (p *Provider) loadObject(probes []*probe) error {
	machine, err := hostMachine()
	if err != nil {
		return err
	}
	form := p.NopForm()
	spec := elfgen.ProviderSpec{Name: p.name, Probes: make([]elfgen.ProbeSpec, len(probes))}
	for i, c := range probes {
		spec.Probes[i] = c.spec
	}
	obj, err := elfgen.Build(&spec, machine, form)
	if err != nil {
		return err
	}
	im, err := image.Open(obj, image.Options{
		Kind:     image.Kind(p.opts.Backing),
		Provider: p.name,
		Dir:      p.opts.Dir,
	})
	if err != nil {
		return err
	}
	o := &object{image: im, form: form, live: len(probes)}
	p.objects = append(p.objects, o)
	sites := make([]site, len(probes))
	for i, c := range probes {
		c.object = o
		sites[i].init(c, im, &obj.Sites[i])
		c.site.Store(&sites[i])
	}
	return nil
}

// remove makes a probe inert and closes its object after the last one.
func (p *Provider) remove(c *probe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probes[c.spec.Name] != c {
		return // removed before, or closed
	}
	delete(p.probes, c.spec.Name)
	c.site.Store(nil)
	o := c.object
	c.object = nil
	if o == nil {
		for i := range p.pending {
			if p.pending[i] == c {
				p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
				break
			}
		}
		return
	}
	if o.live--; o.live > 0 {
		return
	}
	for i := range p.objects {
		if p.objects[i] == o {
			p.objects = append(p.objects[:i:i], p.objects[i+1:]...)
			break
		}
	}
	// What can fail is the removal of a name in a directory, which the next
	// sweep of that directory repeats.
	_ = o.image.Close()
}

// Close makes all probes inert and takes them away from the tracers. It is
// final: Load and the constructors of probes return ErrClosed afterwards.
// Closing again does nothing. An error means that a file could not be removed;
// the provider is closed nevertheless.
func (p *Provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.probes {
		c.site.Store(nil)
		c.object = nil
	}
	var errs []error
	for _, o := range p.objects {
		errs = append(errs, o.image.Close())
	}
	p.probes, p.pending, p.objects = nil, nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close provider %q: %w", p.name, err)
	}
	return nil
}

// ObjectInfo describes a loaded object.
type ObjectInfo struct {
	// Backing is what the object is backed by.
	Backing Backing
	// Path is where a tracer finds the file: its name, or /proc/PID/fd/N
	// with the PID that the process has in its own namespace.
	Path string
	// Reason is why Backing is not the wanted one; nil if it is.
	Reason error
	// NopForm is the form of its sites.
	NopForm elfgen.NopForm
	// Probes is the number of probes that are not removed.
	Probes int
}

// Objects describes the loaded objects, oldest first.
func (p *Provider) Objects() []ObjectInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	infos := make([]ObjectInfo, len(p.objects))
	for i, o := range p.objects {
		in := o.image.Info()
		infos[i] = ObjectInfo{
			Backing: Backing(in.Kind),
			Path:    in.Path,
			Reason:  in.Reason,
			NopForm: o.form,
			Probes:  o.live,
		}
	}
	return infos
}

// Backing describes the newest loaded object; the zero ObjectInfo if there is
// none.
func (p *Provider) Backing() ObjectInfo {
	if all := p.Objects(); len(all) > 0 {
		return all[len(all)-1]
	}
	return ObjectInfo{}
}

// NopForm returns the form of the sites that Load makes: the one of the
// Options, or what suits the running kernel.
func (p *Provider) NopForm() elfgen.NopForm {
	if p.opts.NopForm != 0 {
		return p.opts.NopForm
	}
	return hostForm()
}
