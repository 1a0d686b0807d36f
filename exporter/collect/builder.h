/* Putting a snapshot together: families one after the other, each with its series. */
#ifndef COLLECT_BUILDER_H
#define COLLECT_BUILDER_H

#include "base/vec.h"
#include "model/snapshot.h"

struct builder {
	struct snapshot *snapshot;
	struct family family; /* being filled */
	VEC(struct family) families;
	VEC(struct series) series; /* of `family` */
};

void builder_init(struct builder *builder);
/* Begin a family like `kind`, whose texts are static. */
void builder_begin(struct builder *builder, const struct family *kind);
/* A new series of the family, its value zero; the labels live as long as the snapshot. The
 * pointer is good until the next builder call. */
struct series *builder_add(struct builder *builder, const struct label *labels, size_t n_labels);
/* End the family; one without series is left out. */
void builder_end(struct builder *builder);
/* The finished snapshot, which the caller owns; the builder is empty. */
struct snapshot *builder_finish(struct builder *builder);

/* A copy of `text` in the snapshot, valid UTF-8: what is not becomes U+FFFD. NULL becomes "". */
const char *builder_text(struct builder *builder, const char *text);
/* `labels` and then `more`, `n_more` of them with texts of any origin, as one new array. */
const struct label *builder_labels(struct builder *builder, const struct label *labels,
				   size_t n_labels, const struct label *more, size_t n_more);

/* A family of one series without labels. */
void builder_add_single(struct builder *builder, const struct family *kind, struct value value);

#endif
