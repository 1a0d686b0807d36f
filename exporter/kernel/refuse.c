/* Errors of the kernel as reasons. */
#include "kernel/refuse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "kernel/privs.h"

void refuse(struct attach_result *result, enum reason reason, const char *fmt, ...)
{
	va_list args;

	result->attached = false;
	result->reason = reason;
	va_start(args, fmt);
	vsnprintf(result->detail, sizeof(result->detail), fmt, args);
	va_end(args);
}

enum reason refuse_reason(int error)
{
	switch (-error) {
	case EPERM:
	case EACCES:
	case ENOSYS:
		return REASON_PERMISSION;
	case ESRCH:
		return REASON_PROCESS_NOT_FOUND;
	case ENOENT:
		return REASON_BINARY_NOT_FOUND;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EAGAIN:
	case EINTR:
	case ECANCELED:
		return REASON_OUT_OF_RESOURCES;
	default:
		return REASON_KERNEL_REFUSED;
	}
}

enum reason refuse_load_reason(int error)
{
	enum reason reason = refuse_reason(error);

	return reason == REASON_PERMISSION || reason == REASON_OUT_OF_RESOURCES
		       ? reason
		       : REASON_KERNEL_UNSUPPORTED;
}

void refuse_for_error(struct attach_result *result, enum tier tier, int error)
{
	struct strbuf why = {0};
	enum reason reason = refuse_reason(error);

	if (error == -EINVAL)
		strbuf_puts(&why,
			    "the kernel cannot probe the instruction there (error 22): most "
			    "often another probe, maybe another tool's, is on it with another "
			    "USDT semaphore, or without one");
	else if (reason == REASON_KERNEL_REFUSED)
		strbuf_printf(&why, "the kernel cannot probe the instruction there (error %d)",
			      -error);
	else if (reason == REASON_PROCESS_NOT_FOUND)
		strbuf_puts(&why, "the process has ended");
	else
		privs_explain(tier, error, &why);
	refuse(result, reason, "%s", strbuf_text(&why));
	strbuf_fini(&why);
}
