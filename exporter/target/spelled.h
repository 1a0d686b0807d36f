/*
 * Functions asked for as their source spells them, "shop::pay(int)" or just "shop::pay", rather
 * than by the symbol that the compiler made of it.
 */
#ifndef TARGET_SPELLED_H
#define TARGET_SPELLED_H

#include <stddef.h>

#include "base/arena.h"
#include "target/inspect.h"
#include "target/symbols.h"

/*
 * Look for each of `wanted` whose name no symbol has (REASON_SYMBOL_NOT_FOUND, without a detail)
 * among the demangled names. One function of exactly that name is found, or else the only one
 * that has it without its parameters; several are REASON_SYMBOL_AMBIGUOUS and listed.
 */
void spelled_find(struct symbols *symbols, struct inspect_wanted *wanted, size_t n,
		  struct arena *arena);

#endif
