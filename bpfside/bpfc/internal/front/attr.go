package front

import (
	"strings"

	"modernc.org/cc/v4"
)

// attributes are what a declaration asks for beside its type. cc has them in the
// types, where those of an array that its initializer completes are lost, so they
// are read from the tree.
type attributes struct {
	section      string
	used         bool
	weak         bool
	hidden       bool
	alwaysInline bool
	noInline     bool
	aligned      int
	tags         []string // btf_decl_tag
}

// merge adds those of another declaration of the same thing.
func (a *attributes) merge(b attributes) {
	if a.section == "" {
		a.section = b.section
	}
	a.used = a.used || b.used
	a.weak = a.weak || b.weak
	a.hidden = a.hidden || b.hidden
	a.alwaysInline = a.alwaysInline || b.alwaysInline
	a.noInline = a.noInline || b.noInline
	a.aligned = max(a.aligned, b.aligned)
	a.tags = append(a.tags, b.tags...)
}

// specifierAttributes reads those among the specifiers of a declaration.
func (u *unit) specifierAttributes(s *cc.DeclarationSpecifiers) (a attributes) {
	for ; s != nil; s = s.DeclarationSpecifiers {
		switch s.Case {
		case cc.DeclarationSpecifiersAttr:
			u.readAttributes(&a, s.AttributeSpecifierList)
		case cc.DeclarationSpecifiersTypeQual:
			u.readAttributes(&a, s.TypeQualifier.AttributeSpecifierList)
		case cc.DeclarationSpecifiersAlignSpec:
			if n := u.alignas(s.AlignmentSpecifier); n > a.aligned {
				a.aligned = n
			}
		}
	}
	return a
}

// alignas implements C11 6.7.5.
func (u *unit) alignas(s *cc.AlignmentSpecifier) int {
	if s.Case == cc.AlignmentSpecifierType {
		return u.alignof(s.TypeName.Type())
	}
	n, _ := u.constant(s.ConstantExpression)
	return int(n)
}

// readAttributes adds those of a list to a. An attribute that says nothing about
// the code, such as unused, is passed over, as is one that is not known: clang
// warns of those.
func (u *unit) readAttributes(a *attributes, list *cc.AttributeSpecifierList) {
	for ; list != nil; list = list.AttributeSpecifierList {
		for v := list.AttributeSpecifier.AttributeValueList; v != nil; v = v.AttributeValueList {
			if v.AttributeValue != nil {
				u.readAttribute(a, v.AttributeValue)
			}
		}
	}
}

func (u *unit) readAttribute(a *attributes, v *cc.AttributeValue) {
	switch name := strings.Trim(v.Token.SrcStr(), "_"); name {
	case "section":
		a.section = u.stringArgument(v)
	case "used", "retain":
		a.used = true
	case "weak":
		a.weak = true
	case "visibility":
		a.hidden = u.stringArgument(v) == "hidden"
	case "always_inline":
		a.alwaysInline = true
	case "noinline":
		a.noInline = true
	case "aligned":
		n := int64(16) // what the target has at most, for the attribute without a number
		if v.ArgumentExpressionList != nil {
			var ok bool
			if n, ok = u.constant(v.ArgumentExpressionList.AssignmentExpression); !ok || n <= 0 || n&(n-1) != 0 || n > 1<<16 {
				u.errorf(v, "an alignment has to be a power of two up to 65536")
				return
			}
		}
		a.aligned = max(a.aligned, int(n))
	case "btf_decl_tag":
		a.tags = append(a.tags, u.stringArgument(v))
	case "alias":
		u.errorf(v, "attribute alias is not supported")
	}
}

// stringArgument returns the string that an attribute has as its argument.
func (u *unit) stringArgument(v *cc.AttributeValue) string {
	if l := v.ArgumentExpressionList; l != nil && l.AssignmentExpression != nil {
		if s, ok := l.AssignmentExpression.Value().(cc.StringValue); ok {
			return strings.TrimRight(string(s), "\x00")
		}
	}
	u.errorf(v, "attribute %s takes a string", v.Token.SrcStr())
	return ""
}

// isVolatile says whether t is. What cc has of it is right only of pointers; see
// rewrite.
func (u *unit) isVolatile(t cc.Type) bool {
	a := t.Attributes()
	return a != nil && (a.IsAttrSet("__bpfc_volatile__") || t.Kind() == cc.Ptr && a.IsVolatile())
}

// isConst says whether t is, as far as cc knows: good for what BTF says and for
// choosing by type, and not for deciding where an object lives; see constObject.
func (u *unit) isConst(t cc.Type) bool {
	a := t.Attributes()
	return a != nil && a.IsConst()
}

// A mark is a place in the token stream from where on preserve_access_index is,
// or is not, an attribute of every struct and union.
type mark struct {
	seq  int
	push bool
}

// preserveAccess says whether the offsets of members of t are those of the
// kernel.
func (u *unit) preserveAccess(t cc.Type) bool {
	if a := t.Attributes(); a != nil && (a.IsAttrSet("preserve_access_index") || a.IsAttrSet("__preserve_access_index__")) {
		return true
	}
	r := u.record(t)
	return r != nil && r.preserve
}

// pushed says whether a struct whose first member is the given token was within
// #pragma clang attribute push.
func (u *unit) pushed(seq int) bool {
	depth := 0
	for _, m := range u.marks {
		if m.seq > seq {
			break
		}
		if m.push {
			depth++
		} else if depth > 0 {
			depth--
		}
	}
	return depth > 0
}
