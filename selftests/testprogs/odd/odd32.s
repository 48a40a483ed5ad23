# A program for i386, which a kernel of 64 bits runs too, with probes whose
# arguments are those of position independent code of 32 bits. It fires them once
# for each byte of standard input, and writes "fired" then:
#
#	gcc -m32 -nostdlib -static -o odd32 odd32.s

# probe NAME, ARGUMENTS, SEMAPHORE: a probe at this place.
.macro probe name, args="", semaphore=0
990:	nop
	.pushsection .note.stapsdt, "", "note"
	.balign 4
	.4byte 992f-991f, 994f-993f, 3
991:	.asciz "stapsdt"
992:	.balign 4
993:	.4byte 990b, _.stapsdt.base, \semaphore
	.asciz "odd32"
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
semaphore: .2byte 0

	.data
	.balign 4
table:	.4byte 0x11111111, 0x22222222, 0x83333333
counter: .4byte -7, 9
text:	.asciz "text of 32 bits"
byte:	.byte 0

	.text
	.globl _start
_start:
	mov $3, %eax			# read(0, &byte, 1)
	xor %ebx, %ebx
	mov $byte, %ecx
	mov $1, %edx
	int $0x80
	cmp $1, %eax
	je fire
	mov $1, %eax			# exit(0)
	xor %ebx, %ebx
	int $0x80

fire:	mov $0x1122, %eax
	mov $0x80ff, %ebx
	mov $0xfffffffe, %ecx
	mov $0x0302, %edx
	probe registers, "4@%eax -2@%bx 1@%ah -1@%bl -4@%ecx 4@%ecx 1@%dh", semaphore

	push $-3
	mov $2, %ecx
	call 1f				# the address of the GOT, as compilers have it
1:	pop %ebx
	add $_GLOBAL_OFFSET_TABLE_+(.-1b), %ebx
	lea table, %esi
	mov $0xfffffff0, %edi
	probe memory, "-4@(%esp) 4@(%esi,%ecx,4) -4@counter@GOTOFF(%ebx) 4@4+counter@GOTOFF(%ebx) -4@table@GOTOFF(%ebx,%ecx,4) -4@counter 4@16(%edi) 4@16(%esi,%edi)"
	add $4, %esp

	lea text, %esi
	probe text, "4@%esi 4@$7"

	mov $4, %eax			# write(1, "fired\n", 6)
	mov $1, %ebx
	mov $fired, %ecx
	mov $6, %edx
	int $0x80
	jmp _start

	.section .rodata
fired:	.ascii "fired\n"
	.section .note.GNU-stack, "", "progbits"
