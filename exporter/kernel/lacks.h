/*
 * What the kernel lacks for a tier, by its own type information. Tiers are chosen by trying; this
 * only tells why the trial had to fail, since a program that is refused ends in EINVAL or EACCES
 * whatever the cause.
 */
#ifndef KERNEL_LACKS_H
#define KERNEL_LACKS_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "kernel/attach.h" /* enum tier */

/*
 * Whether the kernel has not what this tier stands on (TIER_AUTO: what even the least tier does);
 * if so appends words for a person to `out`. False also when the kernel has no BTF.
 */
bool lacks_explain(enum tier tier, struct strbuf *out);

#endif
