package front

import "modernc.org/cc/v4"

// cc says what typeof of an expression is by its own idea of the expression's
// type, which is not that of [unit.typeOf]: of a member that a nested struct has as
// well, of an enumerator, of a bit-field in arithmetic. Here the two meet: whoever
// wants the type of a declaration or of a type name asks these.

// declared returns the type of the variable that d declares with specs.
func (u *unit) declared(d *cc.Declarator, specs *cc.DeclarationSpecifiers) cc.Type {
	if t := u.retyped[d]; t != nil {
		return t
	}
	t := d.Type()
	for s := specs; s != nil; s = s.DeclarationSpecifiers {
		if s.Case != cc.DeclarationSpecifiersTypeSpec {
			continue
		}
		right := u.typeofOperand(s.TypeSpecifier)
		if right == nil || u.alike(right, specs.Type()) {
			continue
		}
		if d.Pointer != nil || d.DirectDeclarator.Case != cc.DirectDeclaratorIdent {
			u.errorf(s.TypeSpecifier, "typeof of this expression is supported only for a variable of that very type")
			continue
		}
		if u.retyped == nil {
			u.retyped = map[*cc.Declarator]cc.Type{}
		}
		u.retyped[d] = right
		t = right
	}
	return t
}

// named returns the type that a type name, as of a cast, stands for.
func (u *unit) named(n *cc.TypeName) cc.Type {
	t := n.Type()
	for s := n.SpecifierQualifierList; s != nil; s = s.SpecifierQualifierList {
		if s.Case != cc.SpecifierQualifierListTypeSpec {
			continue
		}
		right := u.typeofOperand(s.TypeSpecifier)
		switch {
		case right == nil:
		case n.AbstractDeclarator == nil && !u.alike(right, t):
			return right
		case n.AbstractDeclarator == nil || u.alike(right, s.TypeSpecifier.ExpressionList.Type()):
		case n.AbstractDeclarator.DirectAbstractDeclarator == nil:
			for p := n.AbstractDeclarator.Pointer; p != nil; p = p.Pointer {
				right = right.Pointer()
			}
			return right
		default:
			u.errorf(s.TypeSpecifier, "typeof of this expression is supported only for a variable of that very type")
		}
	}
	return t
}

// typeofOperand returns the type of the operand of typeof; nil if s is not typeof
// of an expression. By builtin.h, the operand is in a cast of its own:
//
//	__typeof__(*(__typeof__(operand) *)0)
func (u *unit) typeofOperand(s *cc.TypeSpecifier) cc.Type {
	if s.Case != cc.TypeSpecifierTypeofExpr {
		return nil
	}
	deref, ok := bare(s.ExpressionList).(*cc.UnaryExpression)
	if !ok || deref.Case != cc.UnaryExpressionDeref {
		return nil
	}
	cast, ok := bare(deref.CastExpression).(*cc.CastExpression)
	if !ok {
		return nil
	}
	for q := cast.TypeName.SpecifierQualifierList; q != nil; q = q.SpecifierQualifierList {
		if q.Case != cc.SpecifierQualifierListTypeSpec {
			continue
		}
		switch q.TypeSpecifier.Case {
		case cc.TypeSpecifierTypeofExpr:
			if t := u.typeOf(q.TypeSpecifier.ExpressionList); t.Kind() != cc.InvalidKind {
				return t
			}
		case cc.TypeSpecifierTypeofType: // typeof(typeof(x)), as macros make it
			return u.named(q.TypeSpecifier.TypeName)
		}
	}
	return nil
}

// alike says whether objects of the two types are handled alike: it is not asked
// how they are qualified or called.
func (u *unit) alike(a, b cc.Type) bool {
	a, b = underlying(a), underlying(b)
	switch x := a.(type) {
	case *cc.PointerType:
		y, ok := b.(*cc.PointerType)
		return ok && u.alike(x.Elem(), y.Elem())
	case *cc.ArrayType:
		y, ok := b.(*cc.ArrayType)
		return ok && x.Len() == y.Len() && u.alike(x.Elem(), y.Elem())
	case *cc.StructType, *cc.UnionType:
		return u.record(a) == u.record(b)
	}
	if isInteger(a) && isInteger(b) {
		return u.sizeof(a) == u.sizeof(b) && isSigned(a) == isSigned(b) && (a.Kind() == cc.Bool) == (b.Kind() == cc.Bool)
	}
	return a.Kind() == b.Kind()
}
