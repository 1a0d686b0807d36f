/* Assembler symbols without type or size, labels of data, an absolute value. x86-64 or arm64. */
	.text
	.globl no_type
no_type:
	nop
	ret
	.globl no_size
	.type no_size, %function
no_size:
	nop
	ret
	.globl too_long
	.type too_long, %function
too_long:
	nop
	ret
	.size too_long, 0x7fffffff

	.globl absolute
	.set absolute, 0x1234
	.globl absolute_function
	.type absolute_function, %function
	.set absolute_function, 0x1234

	.section .rodata
	.globl data_label
data_label:
	.quad 1
	.data
	.globl function_in_data
	.type function_in_data, %function
function_in_data:
	.quad 1
	.section .note.GNU-stack, "", %progbits
