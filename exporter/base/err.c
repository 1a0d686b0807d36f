/* Error records and the names of their reasons. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static const char *const reason_names[REASON_COUNT] = {
	[REASON_NONE] = "",
	[REASON_CONFIG] = "config",
	[REASON_BINARY_NOT_FOUND] = "binary_not_found",
	[REASON_BINARY_UNREADABLE] = "binary_unreadable",
	[REASON_BINARY_CHANGED] = "binary_changed",
	[REASON_NOT_ELF] = "not_elf",
	[REASON_WRONG_MACHINE] = "wrong_machine",
	[REASON_BAD_ELF] = "bad_elf",
	[REASON_SYMBOL_NOT_FOUND] = "symbol_not_found",
	[REASON_SYMBOL_UNDEFINED] = "symbol_undefined",
	[REASON_SYMBOL_AMBIGUOUS] = "symbol_ambiguous",
	[REASON_NOT_A_FUNCTION] = "not_a_function",
	[REASON_USDT_NOT_FOUND] = "usdt_not_found",
	[REASON_USDT_ARGUMENT] = "usdt_argument",
	[REASON_IFUNC] = "ifunc",
	[REASON_NOT_AN_INSTRUCTION] = "not_an_instruction",
	[REASON_UNSAFE_SITE] = "unsafe_site",
	[REASON_GENERATED_CODE] = "generated_code",
	[REASON_GO_UNSUPPORTED] = "go_unsupported",
	[REASON_UNSAFE_RETURN] = "unsafe_return",
	[REASON_HOST_COST] = "host_cost",
	[REASON_PROCESS_NOT_FOUND] = "process_not_found",
	[REASON_PERMISSION] = "permission",
	[REASON_KERNEL_REFUSED] = "kernel_refused",
	[REASON_KERNEL_UNSUPPORTED] = "kernel_unsupported",
	[REASON_LIMIT] = "limit",
	[REASON_OUT_OF_RESOURCES] = "out_of_resources",
	[REASON_INTERNAL] = "internal",
};

const char *reason_name(enum reason reason)
{
	return (unsigned)reason < REASON_COUNT ? reason_names[reason] : "internal";
}

int err_set(struct err *err, int code, enum reason reason, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return code;
	memset(err, 0, sizeof(*err));
	err->code = code;
	err->reason = reason;
	va_start(args, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);
	return code;
}
