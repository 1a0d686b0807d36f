/* The Go compiler's stack checks, in a file with the mark of the Go linker. */
	.section .gopclntab, "a"
	.string	"mark"
#ifdef __x86_64__
	.text
	.macro function name
	.globl	\name
	.type	\name, @function
	.p2align 4, 0xcc
\name:
	.endm
	.macro end name
	.size	\name, . - \name
	.endm

function morestack
	ret
end morestack

function small_frame
	cmp	0x10(%r14), %rsp
	jbe	1f
	push	%rbp
	mov	%rsp, %rbp
	pop	%rbp
	ret
1:	mov	%rax, 8(%rsp)
	call	morestack
	mov	8(%rsp), %rax
	jmp	small_frame
end small_frame

function large_frame
	lea	-0x1000(%rsp), %r12
	cmp	0x10(%r14), %r12
	jbe	1f
	sub	$0x1000, %rsp
	.rept	200
	mov	%rax, (%rsp)
	.endr
	add	$0x1000, %rsp
	ret
1:	call	morestack
	jmp	large_frame
end large_frame

function no_check
	mov	%edi, %eax
	ret
end no_check

function main
	xor	%eax, %eax
	ret
end main
	.section .note.GNU-stack, "", @progbits
#else
	.text
	.globl	main
main:	mov	x0, 0
	ret
#endif
