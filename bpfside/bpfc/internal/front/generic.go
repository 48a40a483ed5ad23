package front

import (
	"modernc.org/cc/v4"
)

// selected returns the expression that a generic selection stands for, C11
// 6.5.1.1: the controlling expression is converted and loses its qualifiers.
func (u *unit) selected(g *cc.GenericSelection) cc.ExpressionNode {
	control := u.decay(u.typeOf(g.AssignmentExpression))
	var other cc.ExpressionNode
	for l := g.GenericAssociationList; l != nil; l = l.GenericAssociationList {
		a := l.GenericAssociation
		if a.Case == cc.GenericAssociationDefault {
			other = a.AssignmentExpression
			continue
		}
		if constPointee(a.TypeName) {
			u.errorf(a.TypeName, "const behind a pointer in _Generic is not supported")
		}
		t := a.TypeName.Type()
		if t == nil || t.Kind() == cc.InvalidKind {
			// cc does not look at what is behind the type that it selects, and it
			// selects by types of its own.
			if t = u.keywords(a.TypeName); t == nil {
				u.errorf(a.TypeName, "_Generic of this expression is not supported: which type it has is not sure")
				return nil
			}
		} else {
			t = u.named(a.TypeName)
		}
		if !u.isConst(t) && !u.isVolatile(t) && u.compatible(control, t) {
			return a.AssignmentExpression
		}
	}
	return other
}

// keywords returns the integer type that a type name spells, C11 6.7.2; nil if it
// is of another kind.
func (u *unit) keywords(n *cc.TypeName) cc.Type {
	if n.AbstractDeclarator != nil {
		return nil
	}
	count := map[string]int{}
	for s := n.SpecifierQualifierList; s != nil; s = s.SpecifierQualifierList {
		if s.Case != cc.SpecifierQualifierListTypeSpec {
			return nil
		}
		switch word := s.TypeSpecifier.Token.SrcStr(); word {
		case "char", "short", "int", "long", "signed", "unsigned":
			count[word]++
		default:
			return nil
		}
	}
	unsigned := count["unsigned"] > 0
	pick := func(s, un cc.Kind) cc.Type {
		if unsigned {
			return u.basic(un)
		}
		return u.basic(s)
	}
	switch {
	case count["char"] > 0 && count["signed"] > 0:
		return u.basic(cc.SChar)
	case count["char"] > 0:
		return pick(cc.Char, cc.UChar)
	case count["short"] > 0:
		return pick(cc.Short, cc.UShort)
	case count["long"] > 1:
		return pick(cc.LongLong, cc.ULongLong)
	case count["long"] > 0:
		return pick(cc.Long, cc.ULong)
	}
	return pick(cc.Int, cc.UInt)
}

// constPointee reports whether a type name is that of a pointer to something
// const, which cc forgets.
func constPointee(n *cc.TypeName) bool {
	if n.AbstractDeclarator == nil || n.AbstractDeclarator.Pointer == nil {
		return false
	}
	for s := n.SpecifierQualifierList; s != nil; s = s.SpecifierQualifierList {
		if s.Case == cc.SpecifierQualifierListTypeQual && s.TypeQualifier.Case == cc.TypeQualifierConst {
			return true
		}
	}
	return false
}
