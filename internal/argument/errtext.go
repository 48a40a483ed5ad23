package argument

import (
	"reflect"
	"unsafe"

	"github.com/nopfire/nopfire/internal/call"
)

// errorText returns the text of an error, not nil, that the compiler believes not to
// escape.
//
// Its Error method is code that we do not know. It may keep its receiver, if
// only by handing it to package fmt, so it must not get one that lies on the
// stack: the stack moves, and ends. Errors on the stack are rare, since most
// come out of another function: they happen where an error is made right in
// the arguments of Fire. Those are copied to the heap first, and if a copy
// still refers to the stack the type has to do as text.
func errorText(e error) string {
	// An interface is a type word and a data word; the data of an error type
	// that is a pointer is that pointer, of others a pointer to the value
	// or, for a struct or array of one pointer, that pointer.
	data := (*[2]unsafe.Pointer)(unsafe.Pointer(&e))[1]
	if !onStack(data) {
		return callError(e)
	}
	moved, ok := moveToHeap(e)
	if !ok {
		return reflect.TypeOf(e).String()
	}
	return callError(moved)
}

// callError calls the Error method. A method that panics, such as one with a
// value receiver on a nil pointer, costs its text, not the process.
func callError(e error) (s string) {
	defer func() {
		if recover() != nil {
			s = "(panic in Error method)"
		}
	}()
	return e.Error()
}

// moveToHeap returns a copy of an error whose data is on the stack, false if
// the copy, too, refers to the stack.
func moveToHeap(e error) (moved error, ok bool) {
	v := reflect.ValueOf(e)
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(reflect.NewAt(v.Type().Elem(), v.UnsafePointer()).Elem())
		if refersToStack(p) {
			return nil, false
		}
		moved, ok = p.Convert(v.Type()).Interface().(error)
		return moved, ok
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	if refersToStack(p) {
		return nil, false
	}
	moved, ok = p.Elem().Interface().(error)
	return moved, ok
}

// refersToStack reports whether a word of the value behind p could be an
// address on the stack. A number that looks like one is taken for one.
func refersToStack(p reflect.Value) bool {
	const word = unsafe.Sizeof(uintptr(0))
	t := p.Type().Elem()
	if uintptr(t.Align()) < word {
		return false // no pointer in it; and it may lie across words
	}
	for _, w := range unsafe.Slice((*unsafe.Pointer)(p.UnsafePointer()), t.Size()/word) {
		if onStack(w) {
			return true
		}
	}
	return false
}

// onStack reports whether an address lies on the stack of this goroutine.
// Others' stacks never show: nobody has pointers to them.
func onStack(p unsafe.Pointer) bool {
	lo, hi := call.StackBounds()
	return uintptr(p) >= lo && uintptr(p) < hi
}
