/* Saying why a probe is not attached. */
#ifndef KERNEL_REFUSE_H
#define KERNEL_REFUSE_H

#include "kernel/attach.h"

void refuse(struct attach_result *result, enum reason reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The reason that stands for an error (-errno) of the kernel's. */
enum reason refuse_reason(int error);

/* The same where no single probe is meant: what is not about rights or room is a missing feature.
 */
enum reason refuse_load_reason(int error);

/* For an error of the kernel's (-errno), with what is in the way and what to do. */
void refuse_for_error(struct attach_result *result, enum tier tier, int error);

#endif
