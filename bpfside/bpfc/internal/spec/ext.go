package spec

import (
	"encoding/binary"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/nopfire/nopfire/bpfside/bpfc/internal/ir"
)

// Sizes in .BTF.ext (Documentation/bpf/btf.rst, section 4.2). The header is the
// one with room for relocations of CO-RE, of which there are none: cilium/ebpf
// v0.22 takes what follows a shorter header for them.
const (
	extHeaderLen = 32
	funcInfoSize = 8
	lineInfoSize = 16
)

// What fits into the word that holds a line and a column (linux/bpf.h,
// BPF_LINE_INFO_LINE_NUM).
const (
	lineShift = 10
	maxLine   = 1<<(32-lineShift) - 1
	maxColumn = 1<<lineShift - 1
)

// extInfo returns .BTF.ext: which function, and which line, an instruction
// belongs to.
func (w *writer) extInfo(strs *btfStrings, ids map[*ir.Func]btf.TypeID) []byte {
	funcs := binary.LittleEndian.AppendUint32(nil, funcInfoSize)
	lines := binary.LittleEndian.AppendUint32(nil, lineInfoSize)
	for _, s := range w.obj.sections {
		var fi, li []byte
		for _, c := range w.code {
			if p := w.places[c.Func]; p.section == s {
				fi = binary.LittleEndian.AppendUint32(fi, uint32(p.offset))
				fi = binary.LittleEndian.AppendUint32(fi, uint32(ids[c.Func]))
			}
		}
		if len(fi) == 0 {
			continue
		}
		for _, c := range w.code {
			if p := w.places[c.Func]; p.section == s {
				at := p.offset
				last := ir.Pos{}
				for i := range c.Insns {
					pos := c.Insns[i].Pos
					if i == 0 && pos == (ir.Pos{}) {
						pos = c.Func.Pos // the kernel wants a line at the start of each function
					}
					if i == 0 || pos != (ir.Pos{}) && pos != last {
						li = appendLine(li, strs, at, pos)
						last = pos
					}
					at += insnSize
					if c.Insns[i].OpCode.IsDWordLoad() {
						at += insnSize
					}
				}
			}
		}
		name := strs.add(s.name)
		funcs = appendInfos(funcs, name, fi, funcInfoSize)
		lines = appendInfos(lines, name, li, lineInfoSize)
	}
	out := binary.LittleEndian.AppendUint16(nil, btfMagic)
	out = append(out, 1, 0) // version, flags
	for _, n := range []int{
		extHeaderLen,
		0, len(funcs), // offset and length
		len(funcs), len(lines),
		len(funcs) + len(lines), 0,
	} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	out = append(out, funcs...)
	return append(out, lines...)
}

// appendInfos appends the records of a section.
func appendInfos(dst []byte, section uint32, records []byte, size int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, section)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(records)/size))
	return append(dst, records...)
}

// appendLine appends the record of a line (struct bpf_line_info).
func appendLine(dst []byte, strs *btfStrings, at int, pos ir.Pos) []byte {
	file := ""
	if pos.File != nil {
		file = pos.File.Name
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(at))
	dst = binary.LittleEndian.AppendUint32(dst, strs.add(cString(file)))
	dst = binary.LittleEndian.AppendUint32(dst, strs.add(cString(pos.File.Line(pos.Line))))
	line := uint32(min(max(pos.Line, 0), maxLine))<<lineShift | uint32(min(max(pos.Col, 0), maxColumn))
	return binary.LittleEndian.AppendUint32(dst, line)
}

// cString returns s up to a zero byte.
func cString(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}
