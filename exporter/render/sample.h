/* Sample lines: the part that the text format and OpenMetrics write in the same way. */
#ifndef RENDER_SAMPLE_H
#define RENDER_SAMPLE_H

#include "base/strbuf.h"
#include "model/snapshot.h"

/* All lines of a family's series, `name{label="value",…} value`; a histogram's as cumulative
 * `_bucket`s up to `+Inf`, `_sum` and `_count`. */
void sample_put_family(struct strbuf *out, const struct family *family);

#endif
