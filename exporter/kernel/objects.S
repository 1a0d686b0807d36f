/* The compiled kernel programs, one object a tier, carried inside the executable. */
	.section .rodata
	.macro object name
	.balign 8
	.global bpf_object_\name
	.global bpf_object_\name\()_end
	.hidden bpf_object_\name
	.hidden bpf_object_\name\()_end
bpf_object_\name:
	.incbin "\name\().bpf.o"
bpf_object_\name\()_end:
	.endm

	object session
	object session_ctx
	object multi
	object perf
	object mapping

	.section .note.GNU-stack, "", %progbits
