/* The names in `labels_from:`. */
#include "config/parse_labels_from.h"

#include <string.h>

#include "config/scalar.h"

static const struct choice labels[] = {
	{"container", SPEC_LABEL_CONTAINER},
	{"namespace", SPEC_LABEL_NAMESPACE},
	{"pod", SPEC_LABEL_POD},
	{"pod_uid", SPEC_LABEL_POD_UID},
};

void parse_labels_from(struct parser *p, const struct yaml_value *value, void *into)
{
	struct draft_target *draft = into;

	draft->labels_from_place = value->span;
	if (!scalar_expect(p->report, "labels_from", value, YAML_LIST,
			   "a list of labels (`[container, pod]`)"))
		return;
	if (value->n == 0)
		report_error(p->report, value->span, "`labels_from` is empty: list at least one");
	for (size_t i = 0; i < value->n && !p->report->full; i++) {
		const struct yaml_value *item = value->items[i];
		int label;
		if (!scalar_choice(p->report, "labels_from", item, labels, N_ITEMS(labels), &label))
			continue;
		if (draft->spec.labels_from & 1U << label)
			report_error(p->report, item->span, "label %s stands twice",
				     QUOTE(item->text));
		draft->spec.labels_from |= 1U << label;
	}
}

static void check_constant(struct report *report, const struct draft_target *target,
			   const struct draft_function *function)
{
	for (size_t i = 0; i < function->spec.n_labels; i++)
		for (size_t j = 0; j < N_ITEMS(labels); j++)
			if (target->spec.labels_from & 1U << labels[j].value &&
			    !strcmp(function->spec.labels[i].name, labels[j].name))
				report_error(report, function->place,
					     "label %s is constant here, and taken from processes "
					     "by the target's `labels_from`",
					     QUOTE(labels[j].name));
}

void parse_labels_from_check(struct report *report, const struct draft_target *target)
{
	if (!target->spec.labels_from)
		return;
	if (!spec_process_is_set(&target->spec.process))
		report_error(report, target->labels_from_place,
			     "`labels_from` needs `process`, which says whose labels: `process: "
			     "{container: \"*\"}` means all containers");
	for (size_t i = 0; i < target->functions.n; i++)
		check_constant(report, target, &target->functions.at[i]);
}
