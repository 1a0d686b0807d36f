/*
 * USDT sites written by hand, so that a victim can have any form of argument: MARK puts a nop into
 * the code and a note about it into .note.stapsdt, as <sys/sdt.h> does.
 */
#ifndef NOTES_H
#define NOTES_H

#include <stdint.h>

/* What the notes' second address means: where the section was when the file was linked. */
__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n"
	".hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n"
	".popsection\n");

/* A counter that the kernel raises while somebody listens. */
#define SEMAPHORE(name)                                                                            \
	__attribute__((section(".probes"), used, visibility("hidden"))) volatile uint16_t name

/* For asm templates: `semaphore` is a symbol's name or "0", the texts need no quotes. */
#define MARK(provider, name, semaphore, arguments)                                                 \
	"990: nop\n" NOTE(provider, name, semaphore, arguments)

/* Another note about the instruction of the last MARK. */
#define NOTE(provider, name, semaphore, arguments)                                                 \
	".pushsection .note.stapsdt,\"\",\"note\"\n"                                               \
	".balign 4\n"                                                                              \
	".4byte 992f-991f, 994f-993f, 3\n"                                                         \
	"991: .asciz \"stapsdt\"\n"                                                                \
	"992: .balign 4\n"                                                                         \
	"993: .8byte 990b, _.stapsdt.base, " semaphore "\n"                                        \
	".asciz \"" provider "\", \"" name "\", \"" arguments "\"\n"                               \
	"994: .balign 4\n"                                                                         \
	".popsection\n"

#endif
