/* Functions that begin and end in ways that C code seldom does. */
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

	.hidden other
	.hidden begins_with_its_loop
function other
	mov	%edi, %eax
	ret
end other

function leaves_by_count
	mov	%rdi, %rcx
	jrcxz	other
	push	%rbp
	call	puts@plt
	pop	%rbp
	ret
end leaves_by_count

function endbr_push
	endbr64
	push	%rbp
	mov	%rsp, %rbp
	call	puts@plt
	pop	%rbp
	ret
end endbr_push

function sub_call
	sub	$24, %rsp
	call	puts@plt
	add	$24, %rsp
	ret
end sub_call

function loop_head
	endbr64
1:	nop
	dec	%edi
	jnz	1b
	ret
end loop_head

function begins_with_its_loop
	dec	%edi
	jnz	begins_with_its_loop
	ret
end begins_with_its_loop

function lock_first
	lock incl (%rdi)
	ret
end lock_first

function nop5_body
	mov	%edi, %eax
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	ret
end nop5_body

function nop5_first
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	push	%rbp
	call	puts@plt
	pop	%rbp
	ret
end nop5_first

function jumps_below
	cmp	$5, %edi
	jb	other
	push	%rbp
	call	puts@plt
	pop	%rbp
	ret
end jumps_below

function only_jumps
	jmp	puts@plt
end only_jumps

function pops_its_return
	pop	%rdx
	push	%rdx
	ret
end pops_its_return

function switches_stacks
	mov	%rsp, (%rdi)
	mov	(%rsi), %rsp
	ret
end switches_stacks
	.section .note.GNU-stack, "", @progbits
#endif
