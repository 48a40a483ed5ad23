//go:build amd64 || arm64

package argument

import (
	"errors"
	"fmt"
	"testing"
	"unsafe"
)

// onHeap records whether the receiver of its Error method lay on the heap.
type onHeap struct {
	op   string
	heap bool
}

func (e *onHeap) Error() string {
	e.heap = !onStack(unsafe.Pointer(e))
	if !e.heap {
		return e.op + ", on the stack"
	}
	return e.op
}

type byValue struct{ op string }

func (e byValue) Error() string { return e.op }

// halfWords is an error of half words: it lies on the heap, where the copy goes,
// at any multiple of four bytes.
type halfWords struct{ a, b, c uint32 }

func (e halfWords) Error() string { return fmt.Sprint(e.a, e.b, e.c) }

var small *uint32

// linked refers to another error.
type linked struct {
	next *onHeap
}

func (e *linked) Error() string { return "linked to " + e.next.op }

func ptr[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

// An Error method never sees a receiver on the stack, even where the compiler
// put the error there.
func TestErrorText(t *testing.T) {
	for _, tt := range []struct {
		name string
		text func() string
		want string
	}{
		{"heap", func() string { return errorText(errors.New("heap")) }, "heap"},
		{"pointer to a local", func() string {
			local := onHeap{op: "moved"}
			if !onStack(unsafe.Pointer(&local)) {
				return "the local variable escapes: this row tests nothing"
			}
			return errorText((*onHeap)(NoEscape(ptr(&local))))
		}, "moved"},
		{"boxed local", func() string {
			var e error = byValue{"boxed"}
			return errorText(*(*error)(NoEscape(ptr(&e))))
		}, "boxed"},
		{"boxed local of half words", func() string {
			var got string
			for i := range 16 {
				small = new(uint32) // the copy comes behind it, across words: -race refuses to read those
				var e error = halfWords{uint32(i), 2, 3}
				got = errorText(*(*error)(NoEscape(ptr(&e))))
			}
			return got
		}, "15 2 3"},
		{"local that refers to a local", func() string {
			inner := onHeap{op: "inner"}
			outer := linked{next: (*onHeap)(NoEscape(ptr(&inner)))}
			return errorText((*linked)(NoEscape(ptr(&outer))))
		}, "*argument.linked"},
		{"typed nil", func() string { return errorText((*linked)(nil)) }, "(panic in Error method)"},
	} {
		if got := tt.text(); got != tt.want {
			t.Errorf("%s: text is %q, want %q", tt.name, got, tt.want)
		}
	}
}
