/* The families of a scrape: those of the probes, and those of the exporter itself. */
#include "collect/collect.h"

#include <math.h>

#include "collect/builder.h"
#include "collect/families.h"
#include "collect/self.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- the exporter itself ---- */

static void add_exporter_info(struct builder *builder, const struct family *kind,
			      const struct label *labels, size_t n_labels)
{
	builder_begin(builder, kind);
	builder_add(builder, builder_labels(builder, NULL, 0, labels, n_labels), n_labels)->value =
		(struct value){.kind = VALUE_U64, .u64 = 1};
	builder_end(builder);
}

static void add_build(struct builder *builder, const struct collect_build *build)
{
	static const struct family build_info = {
		.name = "uprobe_exporter_build_info",
		.help = "The version that is running.",
		.type = FAMILY_INFO,
	};
	static const struct family tier_info = {
		.name = "uprobe_exporter_kernel_tier_info",
		.help = "The kernel mechanism that probes are attached with.",
		.type = FAMILY_INFO,
	};
	static const struct family confinement_info = {
		.name = "uprobe_exporter_confinement_info",
		.help = "What the exporter gave up once it had started.",
		.type = FAMILY_INFO,
	};
	const struct label version[] = {{"version", build->version}, {"revision", build->revision}};
	const struct label tier = {"tier", build->tier};
	const struct label confinement[] = {{"capabilities", build->capabilities},
					    {"syscalls", build->syscalls}};

	add_exporter_info(builder, &build_info, version, COUNT(version));
	if (build->tier)
		add_exporter_info(builder, &tier_info, &tier, 1);
	if (build->capabilities)
		add_exporter_info(builder, &confinement_info, confinement, COUNT(confinement));
}

static void add_reload(struct builder *builder, const struct collect_input *input)
{
	static const struct family successful = {
		.name = "uprobe_exporter_config_last_reload_successful",
		.help = "Whether the last configuration reload attempt was successful.",
		.type = FAMILY_GAUGE,
	};
	static const struct family timestamp = {
		.name = "uprobe_exporter_config_last_reload_success_timestamp_seconds",
		.help = "Timestamp of the last successful configuration reload.",
		.unit = "seconds",
		.type = FAMILY_GAUGE,
	};

	builder_add_single(builder, &successful,
			   (struct value){.kind = VALUE_U64, .u64 = input->last_reload_successful});
	if (!isnan(input->last_reload_success_unix))
		builder_add_single(builder, &timestamp,
				   (struct value){.kind = VALUE_DOUBLE,
						  .f64 = input->last_reload_success_unix});
}

static void add_upgrades(struct builder *builder, const struct collect_input *input)
{
	static const struct family upgrades = {
		.name = "uprobe_exporter_target_upgrades_total",
		.help = "How often the target's file was replaced and the new one probed.",
		.type = FAMILY_COUNTER,
	};
	static const struct family gap = {
		.name = "uprobe_exporter_target_upgrade_gap_seconds",
		.help = "How long the present file was there before it was probed; 0 without an "
			"upgrade.",
		.unit = "seconds",
		.type = FAMILY_GAUGE,
	};

	for (int which = 0; which < 2; which++) {
		builder_begin(builder, which ? &gap : &upgrades);
		for (size_t i = 0; i < input->n_targets; i++) {
			const struct collect_target *target = &input->targets[i];
			const struct label label = {"target", target->name};
			struct series *series = builder_add(
				builder, builder_labels(builder, NULL, 0, &label, 1), 1);
			series->value =
				which ? (struct value){.kind = VALUE_DOUBLE,
						       .f64 = target->gap_seconds}
				      : (struct value){.kind = VALUE_U64, .u64 = target->upgrades};
			if (!which)
				series->created_unix = target->created_unix;
		}
		builder_end(builder);
	}
}

static void add_unheard(struct builder *builder, const struct collect_input *input)
{
	static const struct family unheard = {
		.name = "uprobe_exporter_process_events_lost_total",
		.help = "How often a process filter could not be kept up to date, by reason.",
		.type = FAMILY_COUNTER,
	};
	static const char *const reasons[] = {
		[UP_UNHEARD_STARTED] = "queue_full",
		[UP_UNHEARD_SELECTED] = "too_many_processes",
	};

	builder_begin(builder, &unheard);
	for (size_t i = 0; i < COUNT(reasons); i++) {
		const struct label label = {"reason", reasons[i]};
		struct series *series =
			builder_add(builder, builder_labels(builder, NULL, 0, &label, 1), 1);
		series->value = (struct value){.kind = VALUE_U64, .u64 = input->unheard[i]};
		series->created_unix = input->started_unix;
	}
	builder_end(builder);
}

/* Of targets that take labels from processes. */
static void add_label_sets(struct builder *builder, const struct collect_input *input)
{
	static const struct family sets = {
		.name = "uprobe_exporter_label_sets",
		.help = "Sets of label values that the target has taken from its processes.",
		.type = FAMILY_GAUGE,
	};
	static const struct family folded = {
		.name = "uprobe_exporter_label_sets_folded",
		.help = "Containers and pods beyond `limits: label_sets`, which count as `other`.",
		.type = FAMILY_GAUGE,
	};

	for (int which = 0; which < 2; which++) {
		builder_begin(builder, which ? &folded : &sets);
		for (size_t i = 0; i < input->n_targets; i++) {
			const struct collect_target *target = &input->targets[i];
			const struct label label = {"target", target->name};
			if (!target->is_labelled)
				continue;
			builder_add(builder, builder_labels(builder, NULL, 0, &label, 1), 1)
				->value = (struct value){.kind = VALUE_U64,
							 .u64 = which ? target->n_folded
								      : target->n_label_sets};
		}
		builder_end(builder);
	}
}

static void add_memory(struct builder *builder, const struct collect_input *input)
{
	static const struct family memory = {
		.name = "uprobe_exporter_map_memory_bytes",
		.help = "Memory of the BPF maps.",
		.unit = "bytes",
		.type = FAMILY_GAUGE,
	};

	builder_add_single(builder, &memory,
			   (struct value){.kind = VALUE_U64, .u64 = input->map_memory_bytes});
}

static void add_floors(struct builder *builder, const struct collect_build *build)
{
	static const struct family floors = {
		.name = "uprobe_exporter_probe_floor_seconds",
		.help = "What a probe reports for a function that does nothing, measured at start: "
			"the "
			"probe's own time, contained in every duration of this kind.",
		.unit = "seconds",
		.type = FAMILY_GAUGE,
	};

	if (!build->n_floors)
		return;
	builder_begin(builder, &floors);
	for (size_t i = 0; i < build->n_floors; i++) {
		const struct probe_floor *floor = &build->floors[i];
		const struct label labels[] = {{"entry_class", floor->entry_class},
					       {"exit_strategy", floor->exit_strategy}};
		builder_add(builder, builder_labels(builder, NULL, 0, labels, COUNT(labels)),
			    COUNT(labels))
			->value = (struct value){.kind = VALUE_DOUBLE, .f64 = floor->seconds};
	}
	builder_end(builder);
}

struct snapshot *collect_snapshot(const struct collect_input *input)
{
	struct builder builder;

	builder_init(&builder);
	families_add(&builder, input);
	add_build(&builder, &input->build);
	add_reload(&builder, input);
	add_upgrades(&builder, input);
	add_unheard(&builder, input);
	add_label_sets(&builder, input);
	add_memory(&builder, input);
	add_floors(&builder, &input->build);
	self_add(&builder);
	return builder_finish(&builder);
}
