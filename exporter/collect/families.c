/*
 * Each family is one row of a table, with the function that adds its series for one configured
 * function or USDT probe.
 */
#include "collect/families.h"

#include <stdio.h>
#include <string.h>

#include "collect/function.h"
#include "collect/hist.h"
#include "model/layout.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const abandoned_reasons[UP_ABANDONED_REASONS] = {
	[UP_ABANDONED_UNWOUND] = "unwound",   [UP_ABANDONED_THREAD_EXIT] = "thread_exit",
	[UP_ABANDONED_EXEC] = "exec",	      [UP_ABANDONED_DEPTH] = "depth",
	[UP_ABANDONED_DETACHED] = "detached",
};

/* What became of a USDT start, by enum up_abandoned; none of them has a depth. */
static const struct {
	const char *name;
	enum up_abandoned reason;
} start_reasons[] = {
	{"overwritten", UP_ABANDONED_UNWOUND},
	{"thread_exit", UP_ABANDONED_THREAD_EXIT},
	{"exec", UP_ABANDONED_EXEC},
	{"detached", UP_ABANDONED_DETACHED},
};

static const char *const lost_reasons[UP_LOST_REASONS] = {
	[UP_LOST_IN_FLIGHT_FULL] = "in_flight_full",
	[UP_LOST_CLOCK] = "clock",
	[UP_LOST_KEY] = "key_unreadable",
};

/* The layout used last: most functions of a config share their buckets. */
struct last_layout {
	struct buckets buckets; /* of `table`; the bounds live in the snapshot */
	struct up_bounds table;
	bool filled;
};

struct scrape {
	struct builder *builder;
	const struct collect_input *input;
	struct functions functions[FUNCTION_LABELS];
	struct last_layout last;
};

/* ---- what one row tells ---- */

/* `exit: none` and a USDT `probe:` count; all else measures. By the config alone, so that a
 * function's series are the same whether it is attached or not. */
static bool measured(const struct collect_row *row)
{
	return row->probe->function->exit != EXIT_NONE;
}

static enum reason failure(const struct collect_row *row)
{
	return row->status.reason != REASON_NONE ? row->status.reason : row->probe->reason;
}

static double created(const struct function *function)
{
	double first = 0;

	for (; function; function = function->same) {
		double unix_s = function->created_unix;
		if (unix_s > 0 && (first == 0 || unix_s < first))
			first = unix_s;
	}
	return first;
}

static const struct up_bounds *layout(struct scrape *scrape, struct buckets buckets)
{
	struct last_layout *last = &scrape->last;

	if (last->filled && buckets_equal(&last->buckets, &buckets))
		return &last->table;
	size_t bytes = buckets.n * sizeof(*buckets.bound_ns);
	uint64_t *bounds = arena_alloc(&scrape->builder->snapshot->arena, bytes);
	if (bytes)
		memcpy(bounds, buckets.bound_ns, bytes);
	last->buckets = (struct buckets){.bound_ns = bounds, .n = buckets.n};
	last->filled = true;
	layout_build(buckets, &last->table);
	return &last->table;
}

/* ---- one function's series in one family ---- */

/* A series with the function's labels and, unless `name` is NULL, one more. */
static struct series *add(struct scrape *scrape, const struct function *function, const char *name,
			  const char *value)
{
	struct builder *builder = scrape->builder;
	const struct label *labels = function->labels;
	size_t n_labels = function->n_labels;

	if (name) {
		struct label more = {name, value};
		labels = builder_labels(builder, labels, n_labels, &more, 1);
		n_labels++;
	}
	return builder_add(builder, labels, n_labels);
}

static void add_u64(struct scrape *scrape, const struct function *function, const char *name,
		    const char *value_of_name, uint64_t value)
{
	struct series *series = add(scrape, function, name, value_of_name);

	series->value = (struct value){.kind = VALUE_U64, .u64 = value};
	if (scrape->builder->family.type == FAMILY_COUNTER)
		series->created_unix = created(function);
}

static const struct function *next_measured(const struct function *function)
{
	while (function && !measured(function->row))
		function = function->same;
	return function;
}

static void add_duration(struct scrape *scrape, const struct function *function)
{
	const struct function *first = next_measured(function);
	struct up_bounds from;

	if (!first)
		return;
	const struct up_bounds *table = layout(scrape, first->row->probe->function->buckets);
	struct reading reading = *first->reading;
	while ((first = next_measured(first->same))) {
		layout_build(first->row->probe->function->buckets, &from);
		hist_add_cells(&from, first->reading->cells, table, reading.cells);
		reading.sum_ns += first->reading->sum_ns;
	}
	struct series *series = add(scrape, function, NULL, NULL);
	series->histogram = hist_fold(&scrape->builder->snapshot->arena, scrape->last.buckets,
				      table, reading.cells, reading.sum_ns);
	series->created_unix = created(function);
}

static void add_calls(struct scrape *scrape, const struct function *function)
{
	uint64_t calls = 0;
	bool any = false;

	for (const struct function *at = function; at; at = at->same)
		if (!measured(at->row)) {
			calls += at->reading->entries - at->reading->ended;
			any = true;
		}
	if (any)
		add_u64(scrape, function, NULL, NULL, calls);
}

/* The sum over a function's measured rows of the counter at `offset` of a reading. */
static uint64_t sum_measured(const struct function *function, size_t offset)
{
	uint64_t total = 0;

	for (const struct function *at = next_measured(function); at;
	     at = next_measured(at->same)) {
		const char *reading = (const char *)at->reading;
		total += *(const uint64_t *)(const void *)(reading + offset);
	}
	return total;
}

static void add_entries(struct scrape *scrape, const struct function *function)
{
	if (next_measured(function))
		add_u64(scrape, function, NULL, NULL,
			sum_measured(function, offsetof(struct reading, entries)));
}

/* Sets of labels that are no more took their histograms along. */
static void add_ended(struct scrape *scrape, const struct function *function)
{
	if (function->row->probe->target->labels_from)
		add_u64(scrape, function, NULL, NULL,
			sum_measured(function, offsetof(struct reading, ended)));
}

static void add_in_flight(struct scrape *scrape, const struct function *function)
{
	const struct function *at = next_measured(function);
	uint64_t calls = 0;

	if (!at)
		return;
	for (; at; at = next_measured(at->same))
		calls += reading_in_flight(at->reading);
	add_u64(scrape, function, NULL, NULL, calls);
}

/* One series a reason, from the first scrape on. `offset` finds the counts in a reading. */
static void add_by_reason(struct scrape *scrape, const struct function *function,
			  const char *const *reasons, size_t n, size_t offset)
{
	for (size_t i = 0; next_measured(function) && i < n; i++)
		add_u64(scrape, function, "reason", reasons[i],
			sum_measured(function, offset + i * sizeof(uint64_t)));
}

static void add_abandoned_starts(struct scrape *scrape, const struct function *function)
{
	for (size_t i = 0; next_measured(function) && i < COUNT(start_reasons); i++)
		add_u64(scrape, function, "reason", start_reasons[i].name,
			sum_measured(function, offsetof(struct reading, abandoned) +
						       start_reasons[i].reason * sizeof(uint64_t)));
}

static void add_unmatched(struct scrape *scrape, const struct function *function)
{
	if (next_measured(function))
		add_u64(scrape, function, NULL, NULL,
			sum_measured(function, offsetof(struct reading, unmatched)));
}

static void add_abandoned(struct scrape *scrape, const struct function *function)
{
	add_by_reason(scrape, function, abandoned_reasons, UP_ABANDONED_REASONS,
		      offsetof(struct reading, abandoned));
}

static void add_lost(struct scrape *scrape, const struct function *function)
{
	add_by_reason(scrape, function, lost_reasons, UP_LOST_REASONS,
		      offsetof(struct reading, lost));
}

/* Several probes under one name: attached means that none is missing. */
static void add_attached(struct scrape *scrape, const struct function *function)
{
	bool attached = true;

	for (const struct function *at = function; at; at = at->same)
		attached &= at->row->attached;
	add_u64(scrape, function, NULL, NULL, attached);
}

static void add_failure(struct scrape *scrape, const struct function *function)
{
	bool seen[REASON_COUNT] = {[REASON_NONE] = true};

	for (const struct function *at = function; at; at = at->same) {
		enum reason reason = failure(at->row);
		if (at->row->attached || seen[reason])
			continue;
		seen[reason] = true;
		add_u64(scrape, function, "reason", reason_name(reason), 1);
	}
}

/* Whether an earlier row of the function has the same labels in probe_info. */
static bool info_repeats(const struct function *function, const struct function *at)
{
	const struct plan_probe *probe = at->row->probe;

	for (; function != at; function = function->same) {
		const struct plan_probe *other = function->row->probe;
		if (function->row->status.attached && other->file == probe->file &&
		    other->entry_offset == probe->entry_offset)
			return true;
	}
	return false;
}

static void add_place(struct scrape *scrape, const struct function *function,
		      const struct collect_place *place)
{
	struct builder *builder = scrape->builder;
	char offset[32];

	snprintf(offset, sizeof(offset), "0x%llx", (unsigned long long)place->entry_offset);
	const struct label more[] = {
		{"binary", place->binary},
		{"build_id", place->build_id},
		{"entry_offset", offset},
		{"exit_strategy", exit_strategy_name(place->strategy)},
		{"attach_kind", place->kind},
	};
	const struct label *labels =
		builder_labels(builder, function->labels, function->n_labels, more, COUNT(more));
	builder_add(builder, labels, function->n_labels + COUNT(more))->value =
		(struct value){.kind = VALUE_U64, .u64 = 1};
}

/* Whether an old place looks like another one of the row, the present one included. */
static bool place_repeats(const struct collect_row *row, size_t at)
{
	const struct collect_place *place = &row->old_places[at];
	const struct plan_file *file = row->probe->file;

	for (size_t i = 0; i < at; i++)
		if (!strcmp(row->old_places[i].build_id, place->build_id) &&
		    row->old_places[i].entry_offset == place->entry_offset)
			return true;
	return row->status.attached && file && !strcmp(file->build_id, place->build_id) &&
	       row->probe->entry_offset == place->entry_offset;
}

static void add_info(struct scrape *scrape, const struct function *function)
{
	for (const struct function *at = function; at; at = at->same) {
		const struct plan_probe *probe = at->row->probe;
		const struct plan_file *file = probe->file;
		for (size_t i = 0; i < at->row->n_old_places; i++)
			if (!place_repeats(at->row, i))
				add_place(scrape, function, &at->row->old_places[i]);
		if (!at->row->status.attached || info_repeats(function, at))
			continue;
		struct collect_place place = {
			.binary = file ? file->path : "",
			.build_id = file ? file->build_id : "",
			.entry_offset = probe->entry_offset,
			.strategy = probe->strategy,
			.kind = at->row->status.kind,
		};
		add_place(scrape, function, &place);
	}
}

/* Of what a family tells. */
enum about { ABOUT_FUNCTIONS, ABOUT_USDT, ABOUT_ALL };

static const struct function_family {
	struct family kind;
	enum about about;
	enum function_labels labels;
	void (*add)(struct scrape *scrape, const struct function *function);
} function_families[] = {
	{{.name = "uprobe_function_duration_seconds",
	  .help = "Wall-clock time from a call's entry to its return.",
	  .unit = "seconds",
	  .type = FAMILY_HISTOGRAM},
	 ABOUT_FUNCTIONS,
	 FUNCTION_LABELS_ALL,
	 add_duration},
	{{.name = "uprobe_function_calls_total",
	  .help = "Calls of a function configured with `exit: none`.",
	  .type = FAMILY_COUNTER},
	 ABOUT_FUNCTIONS,
	 FUNCTION_LABELS_ALL,
	 add_calls},
	{{.name = "uprobe_function_entries_total",
	  .help = "Calls entered; those observed are entries - abandoned - lost - in flight.",
	  .type = FAMILY_COUNTER},
	 ABOUT_FUNCTIONS,
	 FUNCTION_LABELS_NAME,
	 add_entries},
	{{.name = "uprobe_function_in_flight",
	  .help = "Calls entered and not yet left.",
	  .type = FAMILY_GAUGE},
	 ABOUT_FUNCTIONS,
	 FUNCTION_LABELS_NAME,
	 add_in_flight},
	{{.name = "uprobe_function_abandoned_calls_total",
	  .help = "Calls entered whose exit was never seen.",
	  .type = FAMILY_COUNTER},
	 ABOUT_FUNCTIONS,
	 FUNCTION_LABELS_NAME,
	 add_abandoned},
	{{.name = "uprobe_usdt_duration_seconds",
	  .help = "Wall-clock time from a hit of the start to the hit of the end that belongs to "
		  "it.",
	  .unit = "seconds",
	  .type = FAMILY_HISTOGRAM},
	 ABOUT_USDT,
	 FUNCTION_LABELS_ALL,
	 add_duration},
	{{.name = "uprobe_usdt_hits_total",
	  .help = "Hits of a USDT probe.",
	  .type = FAMILY_COUNTER},
	 ABOUT_USDT,
	 FUNCTION_LABELS_ALL,
	 add_calls},
	{{.name = "uprobe_usdt_starts_total",
	  .help = "Hits of the start; those timed are starts - abandoned - lost - in flight.",
	  .type = FAMILY_COUNTER},
	 ABOUT_USDT,
	 FUNCTION_LABELS_NAME,
	 add_entries},
	{{.name = "uprobe_usdt_in_flight",
	  .help = "Starts whose end is still to come.",
	  .type = FAMILY_GAUGE},
	 ABOUT_USDT,
	 FUNCTION_LABELS_NAME,
	 add_in_flight},
	{{.name = "uprobe_usdt_abandoned_starts_total",
	  .help = "Starts whose end was never seen.",
	  .type = FAMILY_COUNTER},
	 ABOUT_USDT,
	 FUNCTION_LABELS_NAME,
	 add_abandoned_starts},
	{{.name = "uprobe_usdt_unmatched_ends_total",
	  .help = "Hits of the end that no start belongs to.",
	  .type = FAMILY_COUNTER},
	 ABOUT_USDT,
	 FUNCTION_LABELS_NAME,
	 add_unmatched},
	{{.name = "uprobe_exporter_label_sets_ended_calls_total",
	  .help = "Calls observed by series of `labels_from` that are no more.",
	  .type = FAMILY_COUNTER},
	 ABOUT_ALL,
	 FUNCTION_LABELS_NAME,
	 add_ended},
	{{.name = "uprobe_exporter_events_lost_total",
	  .help = "Calls entered that could not be measured.",
	  .type = FAMILY_COUNTER},
	 ABOUT_ALL,
	 FUNCTION_LABELS_NAME,
	 add_lost},
	{{.name = "uprobe_exporter_probe_attached",
	  .help = "Whether the configured probe is attached.",
	  .type = FAMILY_GAUGE},
	 ABOUT_ALL,
	 FUNCTION_LABELS_NAME,
	 add_attached},
	{{.name = "uprobe_exporter_probe_failure_info",
	  .help = "Why a configured probe is not attached.",
	  .type = FAMILY_INFO},
	 ABOUT_ALL,
	 FUNCTION_LABELS_NAME,
	 add_failure},
	{{.name = "uprobe_exporter_probe_info",
	  .help = "Where and how a probe is attached.",
	  .type = FAMILY_INFO},
	 ABOUT_ALL,
	 FUNCTION_LABELS_NAME,
	 add_info},
};

static bool is_about(enum about about, const struct function *function)
{
	bool usdt = spec_is_usdt(function->row->probe->function);

	return about == ABOUT_ALL || usdt == (about == ABOUT_USDT);
}

static void add_function_family(struct scrape *scrape, const struct function_family *family)
{
	const struct functions *functions = &scrape->functions[family->labels];

	builder_begin(scrape->builder, &family->kind);
	for (size_t i = 0; i < functions->n; i++)
		if (!functions->at[i].follows && is_about(family->about, &functions->at[i]))
			family->add(scrape, &functions->at[i]);
	builder_end(scrape->builder);
}

void families_add(struct builder *builder, const struct collect_input *input)
{
	struct scrape scrape = {.builder = builder, .input = input};

	for (int which = 0; which < FUNCTION_LABELS; which++)
		scrape.functions[which] = function_list(builder, (enum function_labels)which,
							input->rows, input->n_rows);
	for (size_t i = 0; i < COUNT(function_families); i++)
		add_function_family(&scrape, &function_families[i]);
}
