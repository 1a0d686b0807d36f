/*
 * Numbers as the text formats want them, in no locale: shortest digits that read back as the same
 * value, whole numbers without an exponent up to 2^53, `NaN`, `+Inf`, `-Inf`.
 */
#ifndef RENDER_NUMBER_H
#define RENDER_NUMBER_H

#include <stdint.h>

#include "base/strbuf.h"

void number_put_u64(struct strbuf *out, uint64_t value);
void number_put_double(struct strbuf *out, double value);
/* Nanoseconds as seconds, every digit exact: 2^53 + 1 gives 9007199.254740993. */
void number_put_seconds(struct strbuf *out, uint64_t ns);
/*
 * Nanoseconds as the value of a label `le`, always with a point or an exponent: 1.0, 2.5e-05.
 * The spelling is that of OpenMetrics' canonical numbers, as Go's strconv ('g', shortest) makes
 * them, which Prometheus 3 normalises to; it is the same in every format, so that the series are.
 */
void number_put_le(struct strbuf *out, uint64_t ns);

#endif
