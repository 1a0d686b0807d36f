/* What a file is, judged by its first bytes: for telling people why it cannot be probed. */
#ifndef TARGET_MAGIC_H
#define TARGET_MAGIC_H

#include <elf.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Whether the `length` bytes at the start of a file open an ELF file that this machine runs, as
 * far as e_ident and e_machine tell. 0, or -ENOEXEC with `err` naming what the file is instead.
 */
int magic_check(const unsigned char *bytes, size_t length, struct err *err);

#endif
