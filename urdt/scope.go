package urdt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/internal/image"
	"github.com/nopfire/nopfire/urdt/abi"
)

// A Reach is how far an attach to an object reaches.
type Reach uint8

// The reaches.
const (
	// None: nothing is fired.
	None Reach = iota
	// Process: the object is this process's own. A tracer finds it in the
	// process's mappings.
	Process
	// User: all processes of the user share the object.
	User
	// System: all processes of the system share the object.
	System
)

// String returns "none", "process", "user" or "system".
func (r Reach) String() string {
	switch r {
	case Process:
		return "process"
	case User:
		return "user"
	case System:
		return "system"
	}
	return "none"
}

// A Status says which object this process uses.
type Status struct {
	Reach Reach
	// Path is where a tracer finds the object, "" for None: the name of the
	// file, or /proc/PID/fd/N for one without.
	Path string
	// Reason says for each place that was looked at in vain why it is not
	// used; nil if the first one is.
	Reason error
}

// Scope returns which object this process uses and why, and opens it if this is
// the first use of the package. The places, in order:
//
//  1. the argument of Use;
//  2. the file that $NOPFIRE_URDT names, unless the process runs with raised
//     privileges;
//  3. /usr/local/lib/nopfire/liburdt.so.1, which "nopfire urdt install" makes:
//     System;
//  4. $XDG_RUNTIME_DIR/nopfire/liburdt.so.1, made by whoever is first: User.
//     Not with raised privileges, either;
//  5. an anonymous file: Process.
//
// A file at one of the first two places is System if it belongs to root, else
// User. A file is used only if it is a regular file, not a symbolic link,
// belongs to root or to the effective user, nobody else can write it, and its
// bytes are those that this package would have written. What its owner or root
// do to it later is outside of what a process can defend itself against.
func Scope() Status { return opened().status }

// The places of the search; tests have others.
var (
	systemPath = filepath.Join(abi.SystemDir, abi.Library)
	getenv     = os.Getenv
	raised     = raisedPrivileges
)

// A Place is one of the files that the search looks at.
type Place struct {
	// Name says which place it is: "$NOPFIRE_URDT", "system" or "user".
	Name string
	Path string
	// Err is why the file is not used, nil if it can be. A file that is not
	// there is fs.ErrNotExist.
	Err error
}

// Places returns the files that a search of this process would look at, in
// order, and what it would find. It opens and makes nothing.
func Places() []Place {
	var places []Place
	obj, err := build()
	for _, p := range searchPath() {
		place := Place{Name: p.name, Path: p.path, Err: p.err}
		if place.Err == nil {
			place.Err = err
		}
		if place.Err == nil && p.create {
			place.Err = checkUserDir(filepath.Dir(p.path))
		}
		if place.Err == nil {
			place.Err = image.Verify(p.path, obj.Image)
		}
		places = append(places, place)
	}
	return places
}

// A candidate is a place before anybody looked.
type candidate struct {
	name, path string
	err        error // the place is out of the question
	create     bool
	reach      Reach // None: as the owner of the file is
}

func searchPath() []candidate {
	var list []candidate
	risen := raised()
	if path := getenv(abi.PathVariable); path != "" {
		c := candidate{name: "$" + abi.PathVariable, path: path}
		if risen {
			c.err = errRaised
		}
		list = append(list, c)
	}
	list = append(list, candidate{name: "system", path: systemPath, reach: System})
	user := candidate{name: "user", create: true, reach: User}
	switch dir := getenv("XDG_RUNTIME_DIR"); {
	case risen:
		user.err = errRaised
	case dir == "":
		user.err = errors.New("$XDG_RUNTIME_DIR is not set")
	default:
		user.path = filepath.Join(dir, abi.UserDir, abi.Library)
	}
	return append(list, user)
}

var errRaised = errors.New("the process runs with raised privileges")

// search opens the first object that can be used. opening is held.
func search() *object {
	obj, err := build()
	if err != nil {
		return inert(err)
	}
	var reasons []error
	for _, c := range searchPath() {
		err := c.err
		if err == nil && c.create {
			err = makeUserDir(filepath.Dir(c.path))
		}
		var im *image.Image
		if err == nil {
			im, err = image.OpenFile(obj, c.path, c.create)
		}
		if err == nil {
			return used(obj, im, c.reach, errors.Join(reasons...))
		}
		reasons = append(reasons, fmt.Errorf("%s: %w", c.name, err))
	}
	im, err := image.Open(obj, image.Options{Provider: abi.Provider})
	if err != nil {
		return inert(errors.Join(append(reasons, err)...))
	}
	return used(obj, im, Process, errors.Join(append(reasons, im.Info().Reason)...))
}

// openAt opens the object at path and no other.
func openAt(path string) (*object, error) {
	obj, err := build()
	if err != nil {
		return nil, err
	}
	im, err := image.OpenFile(obj, path, false)
	if err != nil {
		return nil, err
	}
	return used(obj, im, None, nil), nil
}

// used makes the object of an image.
func used(obj *elfgen.Object, im *image.Image, reach Reach, reason error) *object {
	path := im.Info().Path
	if reach == None {
		reach = User
		if ownedByRoot(path) {
			reach = System
		}
	}
	o := newObject(obj, im)
	o.status = Status{Reach: reach, Path: path, Reason: reason}
	return o
}

func useError(path string, err error) error { return fmt.Errorf("use object %s: %w", path, err) }

// Library returns the bytes of liburdt.so.1 for the running machine: what
// belongs into the places of Scope. The error wraps ErrNotSupported on
// platforms that cannot fire.
func Library() ([]byte, error) {
	obj, err := build()
	if err != nil {
		return nil, err
	}
	return obj.Image, nil
}
