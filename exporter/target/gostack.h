/*
 * The stack check that the Go compiler begins functions with (cmd/internal/obj/x86/obj6.go,
 * stacksplit): a function without room jumps to a call of runtime.morestack and then begins again.
 * A probe at its start counts such a call twice; one on the check's jump can tell.
 */
#ifndef TARGET_GOSTACK_H
#define TARGET_GOSTACK_H

#include <stdbool.h>
#include <stdint.h>

#include "target/code.h"

/* x86-64: whether the function has the check; `jump` gets its `jbe`, taken when room lacks. */
bool gostack_check(const struct code *code, uint64_t *jump);

#endif
