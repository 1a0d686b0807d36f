/* Labels that are taken from processes: on which families they are, and what adds up. */
#include "tests/unit/collect/fixture.h"

/* One function of a target that takes labels: two sets besides `other`, whose sum is the row. */
static void labels_of_processes_are_on_the_data_only(void **state)
{
	static const struct spec_label other[] = {{"container", "other"}};
	static const struct spec_label first[] = {{"container", "c1"}};
	static const struct spec_label none[] = {{"container", ""}};
	static const struct spec_target labelled = {
		.name = "db", .binary = "/opt/db", .labels_from = 1U << SPEC_LABEL_CONTAINER};
	struct fixture *f = fixture_new();
	struct collect_set *sets = calloc(3, sizeof(*sets));

	(void)state;
	sets[0] = (struct collect_set){.labels = other, .n_labels = 1};
	sets[1] = (struct collect_set){.labels = first, .n_labels = 1};
	sets[2] = (struct collect_set){.labels = none, .n_labels = 1};
	observe(&sets[1].reading, functions[2].buckets, 500, 2);
	observe(&sets[2].reading, functions[2].buckets, 500, 3);
	sets[0].reading.entries = 10; /* of sets that ended, and one that is open */
	sets[0].reading.ended = 9;
	for (int i = 0; i < 3; i++)
		reading_add(&f->rows[2].reading, &sets[i].reading);
	f->rows[2].sets = sets;
	f->rows[2].n_sets = 3;
	f->probes[2].target = &labelled;
	char *text = scrape(&f->input);
	assert_has(text, "uprobe_function_duration_seconds_count{target=\"db\",function=\"scan\","
			 "team=\"storage\",container=\"other\"} 0");
	assert_has(text, "uprobe_function_duration_seconds_count{target=\"db\",function=\"scan\","
			 "team=\"storage\",container=\"c1\"} 2");
	assert_has(text, "uprobe_function_duration_seconds_count{target=\"db\",function=\"scan\","
			 "team=\"storage\",container=\"\"} 3");
	assert_has(text, "uprobe_function_entries_total{target=\"db\",function=\"scan\"} 15");
	assert_has(text, "uprobe_function_in_flight{target=\"db\",function=\"scan\"} 1");
	assert_has(text, "uprobe_exporter_label_sets_ended_calls_total{target=\"db\","
			 "function=\"scan\"} 9");
	assert_lacks(text, "ended_calls_total{target=\"db\",function=\"run\"}");
	free(text);
	free(sets);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_of_processes_are_on_the_data_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
