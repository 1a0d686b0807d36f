/*
 * The arguments of a USDT site, as a note has them: operands of the assembler that the compiler
 * chose, such as "-4@8(%rbp) 8@%rax 1@$0". Each is read into what the kernel programs take
 * (struct up_arg). One that cannot be read says why, and says nothing about the others.
 *
 * Formats: the comments in SystemTap's <sys/sdt.h> ("Argument format": an optional N@, Nf@ or -N@
 * before the operand); operands as GNU as takes them: AT&T syntax for x86-64, A64 for arm64.
 * Both machines are read on either.
 */
#ifndef TARGET_SDTARG_H
#define TARGET_SDTARG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/contract.h"

#define SDTARG_MOST	    32 /* arguments of one site that are read; more are only counted */
#define SDTARG_PROBLEM_ROOM 128

struct sdtarg {
	struct up_arg arg;   /* kind UP_ARG_NONE: it cannot be read, `problem` says why */
	bool is_float;	     /* the bytes are a float or a double */
	const char *type;    /* the C type, such as "int32_t"; static; NULL where it is not known */
	const char *operand; /* as written, borrowed from the text; `operand_length` bytes */
	size_t operand_length;
	char problem[SDTARG_PROBLEM_ROOM]; /* may quote the text, whatever bytes that has; or "" */
};

/*
 * The address of a symbol in the file of the site. NULL when it is found, else why not, as a text
 * that goes after the symbol's name.
 */
typedef const char *sdtarg_symbol(void *context, const char *name, size_t length,
				  uint64_t *address);

/* What operands may depend on. */
struct sdtarg_site {
	uint16_t machine;      /* EM_X86_64 or EM_AARCH64: of any other no argument can be read */
	uint64_t address;      /* of the site's instruction: symbols are found from there */
	bool fixed;	       /* the file is loaded where it is linked (ET_EXEC) */
	sdtarg_symbol *symbol; /* NULL: none is known */
	void *context;
};

/* Read the arguments in `text` into `out` (`room` of them). Returns how many there are in all. */
size_t sdtarg_parse(const char *text, const struct sdtarg_site *site, struct sdtarg *out,
		    size_t room);

#endif
