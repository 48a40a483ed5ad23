# A program for x86-64 with notes that no compiler writes, or not often, in the
# syntax of GNU as. It fires its probes once for each byte of standard input, and
# writes "fired" then. It needs no library:
#
#	gcc -nostdlib -static -o odd odd.s

# probe PROVIDER, NAME, ARGUMENTS, SEMAPHORE, LOCATION, BASE: a probe at this
# place, as <sys/sdt.h> makes one. Every part can be another than the usual one.
.macro probe provider, name, args="", semaphore=0, location=990b, base=_.stapsdt.base
990:	nop
	.pushsection .note.stapsdt, "", "note"
	.balign 4
	.4byte 992f-991f, 994f-993f, 3
991:	.asciz "stapsdt"
992:	.balign 4
993:	.8byte \location, \base, \semaphore
	.asciz "\provider"
	.asciz "\name"
	.asciz "\args"
994:	.balign 4
	.popsection
.endm

	.section .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
	.weak _.stapsdt.base
_.stapsdt.base: .space 1

	.section .probes, "aw", "progbits"
	.balign 2
shared_semaphore: .2byte 0
	.byte 0
odd_semaphore: .2byte 0

	.data
	.balign 8
table:	.8byte 0x1111111111111111, 0x2222222222222222, 0x3333333333333333
counter: .4byte -7, 9
byte:	.byte 0

	.text
	.globl _start
_start:
	xor %eax, %eax			# read(0, &byte, 1)
	xor %edi, %edi
	lea byte(%rip), %rsi
	mov $1, %edx
	syscall
	cmp $1, %rax
	je fire
	mov $60, %eax			# exit(0)
	xor %edi, %edi
	syscall

fire:	mov $0x1122, %eax
	mov $0x80ff, %ebx
	mov $0x0302, %ecx
	mov $0xff00, %edx
	probe odd, high, "1@%ah -1@%bh 1@%ch -1@%dh 1@%al"

	lea table(%rip), %rbx
	mov $2, %ecx
	mov $0xfffffffe, %r10d
	probe odd, sib, "8@(%rbx,%rcx,8) 4@4(%rbx, %rcx, 2) 8@-8(%rbx,%rcx,8) 4@8(,%rcx,8) -4@%r10d 4@%r10d"
	probe odd, symbols, "-4@counter(%rip) 4@4+counter(%rip) 4@counter+4(%rip) 8@table+16(%rip) 4@nosuch(%rip)"
	probe odd, structs, "8@%rcx 16@(%rbx) 24@8(%rbx) 3@(%rbx) 1@%cl"
	probe odd, vector, "-4@$-3 8f@%xmm0 4f@%xmm1 16@%xmm2 2@%cx"
	probe odd, bad, "8@%rcx 8@%bogus 0@%rcx 8@(%rbx 8@ 8@%fs:40 x@%rcx 8@%st(1) -4@%r10d"
	probe odd, sixteen, "1@$1 -1@$-2 2@$3 -2@$-4 4@$5 -4@$-6 8@$7 -8@$-8 8@$9 8@$10 8@$11 8@$12 8@$13 8@$14 8@%rcx -4@%r10d"

	# The locations of one probe need not have the same arguments, and may
	# share a semaphore with another probe.
	mov $41, %esi
	mov $42, %edi
	probe odd, differs, "-4@%esi", shared_semaphore
	probe odd, differs, "8@%rdi -4@%esi", shared_semaphore
	probe odd, differs, "", shared_semaphore
	probe odd, shares, ":", shared_semaphore

	# Names that are not identifiers.
	probe "o d d", "na:me ünïcode", "-4@%esi"
	probe "", "", "-4@%edi"

	# Notes of no use, each for its own reason.
	probe odd, tombstone, "8@%rax", 0, 0
	probe odd, outside, "8@%rax", 0, 0x7fff0000
	probe odd, indata, "8@%rax", 0, table
	probe odd, unaligned, "8@%rax", odd_semaphore
	probe odd, incode, "8@%rax", _start

	# A note without a base is taken as it stands.
	probe odd, baseless, "-4@%esi", 0, 990b, 0

	mov $1, %eax			# write(1, "fired\n", 6)
	mov $1, %edi
	lea fired(%rip), %rsi
	mov $6, %edx
	syscall
	jmp _start

	.section .rodata
fired:	.ascii "fired\n"
	.section .note.GNU-stack, "", "progbits"
