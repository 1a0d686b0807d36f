/* Functions with known bytes: where a probe may go is known to the byte. */
	.text

	.globl leaf /* keeps data below its stack pointer, with a five-byte nop in between */
	.type leaf, @function
leaf:	.cfi_startproc
	mov %rdi, -8(%rsp)
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	mov -8(%rsp), %rax
	ret
	.cfi_endproc
	.size leaf, . - leaf

	.globl locked
	.type locked, @function
locked:	.cfi_startproc
	lock incl (%rdi)
	lock incl (%rdi)
	ret
	.cfi_endproc
	.size locked, . - locked

	.globl patched /* five-byte nop at the very start: meant for probes */
	.type patched, @function
patched: .cfi_startproc
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	lea 1(%rdi), %eax
	ret
	.cfi_endproc
	.size patched, . - patched

	/* Nothing tells that this is a function: no type, no size, no frame information. */
	.globl unknown
unknown:
	lea 2(%rdi), %eax
	ret
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	lock incl (%rdi)
	.section .note.GNU-stack, "", @progbits
