/*
 * Any bytes as a config: never a crash, a leak or a hang; a spec or a reason; and a spec that
 * keeps the promises of model/spec.h, because nothing behind it checks again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "bpf/contract.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(int kept)
{
	if (!kept)
		abort();
}

static void check_function(const struct spec_function *function)
{
	const struct buckets *buckets = &function->buckets;

	promise(*function->label && utf8_valid(function->label));
	if (function->by == BY_SYMBOL || function->by == BY_MATCH)
		promise(*function->symbol);
	if (spec_is_usdt(function))
		promise(*function->start.provider && *function->start.name);
	promise(buckets->n >= 1 && buckets->n <= UP_MAX_BOUNDS && buckets->bound_ns[0] > 0);
	for (size_t i = 1; i < buckets->n; i++)
		promise(buckets->bound_ns[i - 1] < buckets->bound_ns[i]);
	for (size_t i = 0; i < function->n_labels; i++)
		promise(*function->labels[i].value && utf8_valid(function->labels[i].value));
	for (size_t i = 1; i < function->n_labels; i++)
		promise(strcmp(function->labels[i - 1].name, function->labels[i].name) < 0);
}

static void check_spec(const struct spec *spec)
{
	size_t n_functions = 0;

	promise(spec->n_targets > 0);
	for (size_t t = 0; t < spec->n_targets; t++) {
		const struct spec_target *target = &spec->targets[t];
		promise(*target->name && target->binary[0] == '/' && target->pid >= 0);
		promise(target->n_functions > 0);
		for (size_t f = 0; f < target->n_functions; f++) {
			check_function(&target->functions[f]);
			n_functions +=
				target->functions[f].by != BY_MATCH; /* as many as it finds */
		}
	}
	promise(n_functions <= spec->limits.series && spec->limits.shards <= UP_MAX_SHARDS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf diagnostics;
	struct spec *spec;

	strbuf_init(&diagnostics);
	int rc = config_parse("fuzz.yaml", (const char *)data, size, &spec, &diagnostics);
	promise(rc == 0 ? spec != NULL : spec == NULL && diagnostics.length > 0);
	promise(utf8_valid(strbuf_text(&diagnostics)));
	if (spec)
		check_spec(spec);
	spec_free(spec);
	strbuf_fini(&diagnostics);
	return 0;
}
