package front

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
	"modernc.org/cc/v4"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// An object is a variable or a function that has a name at file scope: all its
// declarations are of one thing.
type object struct {
	name    string
	decls   []*cc.Declarator // without those within functions
	specs   *cc.DeclarationSpecifiers
	def     *cc.FunctionDefinition
	init    *cc.InitDeclarator // with an initializer
	defined bool               // a function with a body, or a variable that is not only extern
	attrs   attributes
}

// declarator returns the one that has the most to say: that of the definition,
// or the last of those that are not extern.
func (o *object) declarator() *cc.Declarator {
	switch {
	case o.def != nil:
		return o.def.Declarator
	case o.init != nil:
		return o.init.Declarator
	}
	for _, d := range slices.Backward(o.decls) {
		if !d.IsExtern() {
			return d
		}
	}
	return o.decls[len(o.decls)-1]
}

func (o *object) isFunc() bool { return o.declarator().Type().Kind() == cc.Function }

// internal says whether nothing outside of this unit can name o. An inline
// function without extern has no definition for others: C11 6.7.4p7.
func (o *object) internal() bool {
	inlineOnly := o.def != nil
	for _, d := range o.decls {
		if d.Linkage() == cc.Internal {
			return true
		}
		inlineOnly = inlineOnly && d.IsInline() && !d.IsExtern()
	}
	return inlineOnly
}

func (o *object) linkage() ir.Linkage {
	switch {
	case o.internal():
		return ir.Static
	case o.attrs.weak:
		return ir.Weak
	}
	return ir.External
}

// needed says whether o is translated even if nothing in the unit names it.
func (o *object) needed() bool {
	return o.defined && (!o.internal() || o.attrs.used)
}

// index collects what is declared at file scope.
func (u *unit) index() {
	for l := u.ast.TranslationUnit; l != nil; l = l.TranslationUnit {
		e := l.ExternalDeclaration
		if e == nil || u.src.file(e.Position().Filename) == nil {
			continue // ours: builtin.h
		}
		switch e.Case {
		case cc.ExternalDeclarationFuncDef:
			def := e.FunctionDefinition
			o := u.object(def.Declarator)
			o.def, o.defined, o.specs = def, true, def.DeclarationSpecifiers
			o.attrs.merge(u.specifierAttributes(def.DeclarationSpecifiers))
		case cc.ExternalDeclarationDecl:
			u.indexDeclaration(e.Declaration)
		case cc.ExternalDeclarationAsmStmt:
			u.errorf(e, "inline assembly is not supported")
		}
	}
	for _, n := range u.asserts {
		u.staticAssert(n)
	}
}

// memberAsserts collects the static assertions among the members of a struct.
func (u *unit) memberAsserts(s *cc.StructOrUnionSpecifier) {
	for l := s.StructDeclarationList; l != nil; l = l.StructDeclarationList {
		d := l.StructDeclaration
		if d.Case == cc.StructDeclarationAssert {
			u.asserts = append(u.asserts, d.StaticAssertDeclaration)
			continue
		}
		for q := d.SpecifierQualifierList; q != nil; q = q.SpecifierQualifierList {
			if q.Case == cc.SpecifierQualifierListTypeSpec && q.TypeSpecifier.Case == cc.TypeSpecifierStructOrUnion {
				u.memberAsserts(q.TypeSpecifier.StructOrUnionSpecifier)
			}
		}
	}
}

// staticAssert implements C11 6.7.10. cc does not know the value of every constant
// expression, and takes that of some for what it is not: what it is given is
// (e, 1), by builtin.h.
func (u *unit) staticAssert(n *cc.StaticAssertDeclaration) {
	list, ok := bare(n.ConstantExpression).(*cc.ExpressionList)
	if !ok {
		u.errorf(n, "a static assertion has no condition")
		return
	}
	v, ok := u.constant(list.AssignmentExpression)
	switch {
	case !ok:
		u.errorf(n, "the condition of a static assertion is not a constant")
	case v == 0:
		text := strings.TrimRight(strings.ReplaceAll(n.Token4.SrcStr(), `""`, ""), "\x00")
		u.errorf(n, "static assertion failed: %s", text)
	}
}

func (u *unit) indexDeclaration(n *cc.Declaration) {
	switch n.Case {
	case cc.DeclarationAuto:
		u.errorf(n, "__auto_type is not supported outside of functions")
		return
	case cc.DeclarationAssert:
		u.asserts = append(u.asserts, n.StaticAssertDeclaration)
		return
	}
	u.checkEnum(n.DeclarationSpecifiers)
	for s := n.DeclarationSpecifiers; s != nil; s = s.DeclarationSpecifiers {
		if s.Case == cc.DeclarationSpecifiersTypeSpec && s.TypeSpecifier.Case == cc.TypeSpecifierStructOrUnion {
			u.memberAsserts(s.TypeSpecifier.StructOrUnionSpecifier)
		}
	}
	var shared attributes
	for l := n.InitDeclaratorList; l != nil; l = l.InitDeclaratorList {
		id := l.InitDeclarator
		d := id.Declarator
		if d.IsTypename() {
			if standsForSelf(d.Name()) {
				continue // it is in no type
			}
			u.typedefs[d] = n.DeclarationSpecifiers
			name := d.NameTok()
			switch d.Name() {
			case attrPush:
				u.marks = append(u.marks, mark{name.Seq(), true})
			case attrPop:
				u.marks = append(u.marks, mark{name.Seq(), false})
			}
			continue
		}
		if l == n.InitDeclaratorList {
			shared = u.specifierAttributes(n.DeclarationSpecifiers)
			u.readAttributes(&shared, n.AttributeSpecifierList)
		}
		o := u.object(d)
		own := shared
		u.readAttributes(&own, id.AttributeSpecifierList)
		u.readAttributes(&own, l.AttributeSpecifierList)
		o.attrs.merge(own)
		if o.specs == nil || !d.IsExtern() {
			o.specs = n.DeclarationSpecifiers
		}
		if d.Type().Kind() == cc.Function {
			continue
		}
		o.defined = o.defined || !d.IsExtern() || id.Case == cc.InitDeclaratorInit
		if id.Case == cc.InitDeclaratorInit {
			o.init = id
		}
	}
}

// checkEnum refuses what rewrite could not make of an enumeration with an
// attribute that says its size, such as one that a macro defines.
func (u *unit) checkEnum(specs *cc.DeclarationSpecifiers) {
	var enum *cc.EnumSpecifier
	sized := false
	for s := specs; s != nil; s = s.DeclarationSpecifiers {
		switch s.Case {
		case cc.DeclarationSpecifiersTypeSpec:
			if s.TypeSpecifier.Case == cc.TypeSpecifierEnum {
				enum = s.TypeSpecifier.EnumSpecifier
			}
		case cc.DeclarationSpecifiersAttr:
			sized = sized || saysSize(s.AttributeSpecifierList)
		case cc.DeclarationSpecifiersTypeQual:
			sized = sized || saysSize(s.TypeQualifier.AttributeSpecifierList)
		}
	}
	if enum != nil && enum.Case == cc.EnumSpecifierDef && enum.EnumTypeSpecifier == nil && sized {
		u.errorf(enum, "attributes packed and mode of an enumeration are supported only next to its values, which have to be numbers")
	}
}

func saysSize(list *cc.AttributeSpecifierList) bool {
	for ; list != nil; list = list.AttributeSpecifierList {
		for v := list.AttributeSpecifier.AttributeValueList; v != nil; v = v.AttributeValueList {
			if v.AttributeValue == nil {
				continue
			}
			switch strings.Trim(v.AttributeValue.Token.SrcStr(), "_") {
			case "packed", "mode":
				return true
			}
		}
	}
	return false
}

// object returns the one that d declares.
func (u *unit) object(d *cc.Declarator) *object {
	o := u.objects[d.Name()]
	if o == nil {
		o = &object{name: d.Name()}
		u.objects[o.name] = o
		u.order = append(u.order, o)
	}
	o.decls = append(o.decls, d)
	return o
}

// function returns the function that d declares, and sees to it that its body is
// translated; nil if it has none in this unit, for the caller to say.
func (u *unit) function(d *cc.Declarator) *ir.Func {
	o := u.objects[d.Name()]
	if o == nil || o.def == nil {
		return nil
	}
	if f := u.funcs[o.name]; f != nil {
		return f
	}
	d = o.def.Declarator
	t, ok := d.Type().(*cc.FunctionType)
	if !ok {
		return nil
	}
	if strings.HasPrefix(o.attrs.section, "struct_ops") {
		u.errorf(d, "struct_ops is not supported")
	}
	f := &ir.Func{
		Name:    o.name,
		Section: o.attrs.section,
		Linkage: o.linkage(),
		Used:    o.attrs.used,
		Hidden:  o.attrs.hidden,
		Result:  u.irType(t.Result()),
		Pos:     u.pos(d),
		End:     u.posOf(o.def.CompoundStatement.Token2.Position()),
	}
	switch {
	case o.attrs.alwaysInline:
		f.Inline = ir.InlineAlways
	case o.attrs.noInline:
		f.Inline = ir.InlineNever
	}
	f.BTF = &btf.Func{Name: o.name, Type: u.btfProto(t, d, btfWhole), Linkage: btf.GlobalFunc, Tags: o.attrs.tags}
	if f.Linkage == ir.Static {
		f.BTF.Linkage = btf.StaticFunc
	}
	u.funcs[o.name] = f
	u.pending = append(u.pending, f)
	return f
}

// initializerOf returns the initializer of a variable of file scope; nil if it
// has none.
func (u *unit) initializerOf(d *cc.Declarator) *cc.Initializer {
	if o := u.objects[d.Name()]; o != nil && o.init != nil {
		return o.init.Initializer
	}
	return nil
}

// global returns the variable of file scope that d declares, or one that is
// declared extern within a function; nil, with a diagnostic, if it is nowhere.
func (u *unit) global(d *cc.Declarator) *ir.Global {
	if g := u.globals[d.Name()]; g != nil {
		return g
	}
	o := u.objects[d.Name()]
	if o == nil {
		u.errorf(d, "%s is declared extern and defined nowhere in this file", d.Name())
		return nil
	}
	d = o.declarator()
	g := &ir.Global{
		Name:     o.name,
		Section:  o.attrs.section,
		Linkage:  o.linkage(),
		Used:     o.attrs.used,
		Hidden:   o.attrs.hidden,
		Constant: u.constObject(d, o.specs) && !u.isVolatile(elem(d.Type())),
		Pos:      u.pos(d),
	}
	u.globals[o.name] = g
	if !o.defined {
		u.extern(g, o, d)
		return g
	}
	u.define(g, d, o.specs, o.attrs, o.init)
	return g
}

// extern completes a variable that the loader gives.
func (u *unit) extern(g *ir.Global, o *object, d *cc.Declarator) {
	g.Extern, g.Constant = true, false
	g.Size, g.Align = u.sizeof(d.Type()), u.alignof(d.Type())
	g.BTF = &btf.Var{Name: g.Name, Type: u.btfType(d.Type()), Linkage: btf.ExternVar, Tags: o.attrs.tags}
	if g.Linkage == ir.Static {
		g.Linkage = ir.External
	}
	if g.Section != ".kconfig" && g.Section != ".ksyms" {
		u.errorf(d, "%s is declared extern and defined nowhere in this file, and is neither __kconfig nor __ksym", g.Name)
	}
}

// staticLocal returns a variable of a function that lives as long as the program,
// at its declaration. It is static to others under the name that clang gives it.
func (u *unit) staticLocal(f *ir.Func, n *cc.Declaration, id *cc.InitDeclarator) *ir.Global {
	d := id.Declarator
	if g := u.statics[d]; g != nil {
		return g
	}
	attrs := u.specifierAttributes(n.DeclarationSpecifiers)
	u.readAttributes(&attrs, n.AttributeSpecifierList)
	u.readAttributes(&attrs, id.AttributeSpecifierList)
	g := &ir.Global{
		Name:     u.unusedName(f.Name + "." + d.Name()),
		Section:  attrs.section,
		Used:     attrs.used,
		Constant: u.constObject(d, n.DeclarationSpecifiers) && !u.isVolatile(elem(d.Type())),
		Pos:      u.pos(d),
	}
	u.statics[d] = g
	u.locals = append(u.locals, g)
	if id.Case != cc.InitDeclaratorInit {
		id = nil
	}
	u.define(g, d, n.DeclarationSpecifiers, attrs, id)
	return g
}

// unusedName returns name, or, if another scope of the function has a variable of
// the same name, one with a number.
func (u *unit) unusedName(name string) string {
	taken := func(s string) bool {
		return slices.ContainsFunc(u.locals, func(g *ir.Global) bool { return g.Name == s })
	}
	if !taken(name) {
		return name
	}
	for i := 1; ; i++ {
		if s := fmt.Sprintf("%s.%d", name, i); !taken(s) {
			return s
		}
	}
}

// define gives g its type, its content and the section that follows from them.
func (u *unit) define(g *ir.Global, d *cc.Declarator, specs *cc.DeclarationSpecifiers, attrs attributes, init *cc.InitDeclarator) {
	t := u.declared(d, specs)
	if d.IsThreadLocal() {
		u.errorf(d, "thread-local variables are not supported")
	}
	g.Size, g.Align = u.sizeof(t), max(u.alignof(t), attrs.aligned)
	switch {
	case t.Kind() == cc.Array && t.(*cc.ArrayType).Len() < 0 && init == nil:
		g.Size = u.sizeof(elem(t)) // C11 6.9.2p5
	case g.Size == 0 && t.IsIncomplete():
		u.errorf(d, "the type of %s is incomplete", g.Name)
		return
	case g.Size > maxInitialized:
		u.errorf(d, "%s is too large: %d bytes", g.Name, g.Size)
		return
	}
	depth := btfWhole
	if g.Section == ".maps" {
		depth = btfMap
	}
	g.BTF = &btf.Var{Name: g.Name, Type: u.btfOf(t, depth), Linkage: btf.GlobalVar, Tags: attrs.tags}
	if g.Linkage == ir.Static {
		g.BTF.Linkage = btf.StaticVar
	}
	if strings.HasPrefix(g.Section, ".struct_ops") {
		u.errorf(d, "struct_ops is not supported")
		return
	}
	if init != nil {
		img := u.initialize(t, init.Initializer)
		if n := len(img.data); n > g.Size && t.Kind() != cc.Array { // a flexible array member
			img.data = append(img.data, make([]byte, -n&(u.alignof(t)-1))...)
		}
		g.Size = max(g.Size, len(img.data))
		u.initStatic(g, img)
	}
	if g.Section == "" {
		switch {
		case u.constObject(d, specs):
			g.Section = ".rodata"
		case g.Data == nil && len(g.Relocs) == 0:
			g.Section = ".bss"
		default:
			g.Section = ".data"
		}
	}
	if !strings.HasPrefix(g.Section, ".rodata") {
		g.Constant = false
	}
}

// initStatic stores the image of an object that lives as long as the program:
// what is not a number has to be an address that a loader can fill in.
func (u *unit) initStatic(g *ir.Global, img *image) {
	for _, leaf := range img.leaves {
		sym, off, ok := u.addressConstant(leaf.expr)
		switch {
		case !ok:
			u.errorf(leaf.expr, "the initializer of %s is not a constant", g.Name)
		case g.Section != ".maps":
			u.errorf(leaf.expr, "an address in the initializer of %s: no loader fills it in outside of map definitions", g.Name)
		case off != 0:
			u.errorf(leaf.expr, "the address within an object in the initializer of %s is not supported", g.Name)
		default:
			g.Relocs = append(g.Relocs, ir.Reloc{Offset: leaf.offset, Sym: sym})
		}
	}
	if slices.ContainsFunc(img.data, func(b byte) bool { return b != 0 }) {
		g.Data = img.data
	}
}

// stringLiteral returns the bytes as an object that is there once, as clang
// merges them. It is not in BTF.
func (u *unit) stringLiteral(data []byte) *ir.Global {
	if g := u.literals[string(data)]; g != nil {
		return g
	}
	g := &ir.Global{
		Name:     ".L.str",
		Section:  ".rodata.str1.1",
		Data:     slices.Clone(data),
		Size:     len(data),
		Align:    1,
		Constant: true,
	}
	if n := len(u.literals); n > 0 {
		g.Name = fmt.Sprintf(".L.str.%d", n)
	}
	u.literals[string(data)] = g
	u.locals = append(u.locals, g)
	return g
}

// elem returns what an array is one of, of however many dimensions, and any other
// type as it is.
func elem(t cc.Type) cc.Type {
	for {
		a, ok := t.(*cc.ArrayType)
		if !ok {
			return t
		}
		t = a.Elem()
	}
}

// constObject says whether the object that d declares is const itself: whatever
// qualifies what it points to is not asked. The types of cc do not tell: const of
// one declaration gets into the typedef that others share.
func (u *unit) constObject(d *cc.Declarator, specs *cc.DeclarationSpecifiers) bool {
	if q, ok := pointerConst(d); ok {
		return q
	}
	for s := specs; s != nil; s = s.DeclarationSpecifiers {
		switch s.Case {
		case cc.DeclarationSpecifiersTypeQual:
			if s.TypeQualifier.Case == cc.TypeQualifierConst {
				return true
			}
		case cc.DeclarationSpecifiersTypeSpec:
			if s.TypeSpecifier.Case != cc.TypeSpecifierTypeName {
				continue
			}
			if td := specs.Type().Typedef(); td != nil && td != d && u.typedefs[td] != nil && u.constObject(td, u.typedefs[td]) {
				return true
			}
		}
	}
	return false
}

// pointerConst says whether d declares a pointer, or an array of pointers, and
// then whether that is const. The one that is nearest to the name counts.
func pointerConst(d *cc.Declarator) (isConst, ok bool) {
	if d == nil {
		return false, false
	}
	for dd := d.DirectDeclarator; dd != nil; dd = dd.DirectDeclarator {
		if dd.Case == cc.DirectDeclaratorDecl {
			if c, ok := pointerConst(dd.Declarator); ok {
				return c, true
			}
			break
		}
	}
	if d.Pointer == nil {
		return false, false
	}
	p := d.Pointer
	for p.Case == cc.PointerPtr && p.Pointer != nil {
		p = p.Pointer
	}
	for q := p.TypeQualifiers; q != nil; q = q.TypeQualifiers {
		if q.TypeQualifier != nil && q.TypeQualifier.Case == cc.TypeQualifierConst {
			return true, true
		}
	}
	return false, true
}
