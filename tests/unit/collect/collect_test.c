/* Rows to families: names, labels, what is shown when, and that no series comes twice. */
#include "tests/unit/collect/fixture.h"

/* ---- tests ---- */

static void every_function_is_there_before_it_is_attached(void **state)
{
	struct fixture *f = fixture_new();
	char *text = scrape(&f->input);

	(void)state;
	assert_has(text, "uprobe_function_duration_seconds_bucket{target=\"db\",function=\"run\","
			 "le=\"1e-06\"} 0");
	assert_has(text, "uprobe_function_duration_seconds_bucket{target=\"db\",function=\"run\","
			 "le=\"+Inf\"} 0");
	assert_has(text, "uprobe_function_duration_seconds_sum{target=\"db\",function=\"run\"} 0");
	assert_has(text,
		   "uprobe_function_duration_seconds_count{target=\"db\",function=\"run\"} 0");
	assert_has(text, "uprobe_function_calls_total{target=\"db\",function=\"parse\"} 0");
	assert_has(text, "uprobe_function_in_flight{target=\"db\",function=\"run\"} 0");
	assert_has(text, "uprobe_function_entries_total{target=\"db\",function=\"run\"} 0");
	assert_has(text, "uprobe_exporter_probe_attached{target=\"db\",function=\"parse\"} 0");
	assert_has(text, "uprobe_exporter_probe_failure_info{target=\"db\",function=\"run\","
			 "reason=\"symbol_not_found\"} 1");
	assert_lacks(text, "\nuprobe_exporter_probe_info");
	free(text);
	free(f);
}

static void every_reason_is_there_from_the_start(void **state)
{
	static const char *const lines[] = {
		"uprobe_function_abandoned_calls_total{target=\"db\",function=\"run\",reason="
		"\"unwound\"} 0",
		"uprobe_function_abandoned_calls_total{target=\"db\",function=\"run\",reason="
		"\"thread_exit\"} 0",
		"uprobe_function_abandoned_calls_total{target=\"db\",function=\"run\",reason="
		"\"exec\"} 0",
		"uprobe_function_abandoned_calls_total{target=\"db\",function=\"run\",reason="
		"\"depth\"} 0",
		"uprobe_function_abandoned_calls_total{target=\"db\",function=\"run\",reason="
		"\"detached\"} 0",
		"uprobe_exporter_events_lost_total{target=\"db\",function=\"run\",reason=\"in_"
		"flight_full\"} 0",
		"uprobe_exporter_events_lost_total{target=\"db\",function=\"run\",reason=\"clock\"}"
		" 0",
	};
	struct fixture *f = fixture_new();
	char *text = scrape(&f->input);

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++)
		assert_has(text, lines[i]);
	free(text);
	free(f);
}

/* `exit: none` has calls and nothing that needs an exit; the others have no calls_total. */
static void counting_and_measuring_do_not_mix(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	f->rows[1].reading.entries = 41;
	char *text = scrape(&f->input);
	assert_has(text, "uprobe_function_calls_total{target=\"db\",function=\"parse\"} 41");
	assert_lacks(text, "calls_total{target=\"db\",function=\"run\"}");
	assert_lacks(text, "seconds_count{target=\"db\",function=\"parse\"}");
	assert_lacks(text, "in_flight{target=\"db\",function=\"parse\"}");
	assert_lacks(text, "entries_total{target=\"db\",function=\"parse\"}");
	assert_lacks(text, "abandoned_calls_total{target=\"db\",function=\"parse\"");
	assert_lacks(text, "events_lost_total{target=\"db\",function=\"parse\"");
	free(text);
	free(f);
}

static void counts_add_up(void **state)
{
	struct fixture *f = fixture_new();
	struct reading *reading = &f->rows[0].reading;

	(void)state;
	attach(&f->rows[0], &f->probes[0]);
	observe(reading, functions[0].buckets, 1000, 5);
	observe(reading, functions[0].buckets, 1001, 1);
	observe(reading, functions[0].buckets, 3000000000, 2);
	reading->entries += 10;
	reading->abandoned[UP_ABANDONED_UNWOUND] = 1;
	reading->abandoned[UP_ABANDONED_DETACHED] = 2;
	reading->lost[UP_LOST_CLOCK] = 3;
	char *text = scrape(&f->input);
	assert_has(text, "uprobe_function_duration_seconds_bucket{target=\"db\",function=\"run\","
			 "le=\"1e-06\"} 5");
	assert_has(text, "uprobe_function_duration_seconds_bucket{target=\"db\",function=\"run\","
			 "le=\"0.001\"} 6");
	assert_has(text, "uprobe_function_duration_seconds_bucket{target=\"db\",function=\"run\","
			 "le=\"1.0\"} 6");
	assert_has(text, "uprobe_function_duration_seconds_bucket{target=\"db\",function=\"run\","
			 "le=\"+Inf\"} 8");
	assert_has(
		text,
		"uprobe_function_duration_seconds_sum{target=\"db\",function=\"run\"} 6.000006001");
	assert_has(text, "uprobe_function_entries_total{target=\"db\",function=\"run\"} 18");
	assert_has(text, "uprobe_function_in_flight{target=\"db\",function=\"run\"} 4");
	assert_has(text, "uprobe_function_abandoned_calls_total{target=\"db\",function=\"run\","
			 "reason=\"detached\"} 2");
	assert_has(text, "uprobe_exporter_events_lost_total{target=\"db\",function=\"run\",reason="
			 "\"clock\"} 3");
	reading->entries = 1; /* impossible, but never 2^64 - 13 */
	free(text);
	text = scrape(&f->input);
	assert_has(text, "uprobe_function_in_flight{target=\"db\",function=\"run\"} 0");
	free(text);
	free(f);
}

static void an_attached_probe_says_where_and_how(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	attach(&f->rows[0], &f->probes[0]);
	char *text = scrape(&f->input);
	assert_has(text, "uprobe_exporter_probe_attached{target=\"db\",function=\"run\"} 1");
	assert_has(text,
		   "uprobe_exporter_probe_info{target=\"db\",function=\"run\","
		   "binary=\"/opt/db\xef\xbf\xbd\",build_id=\"c0ffee\",entry_offset=\"0x3e1f0\","
		   "exit_strategy=\"uretprobe\",attach_kind=\"session\"} 1");
	assert_lacks(text, "failure_info{target=\"db\",function=\"run\"");
	free(text);
	free(f);
}

/* Constant labels go on the data; the rest joins by target and function. */
static void constant_labels_are_on_the_data_only(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	f->input.n_rows = 3;
	char *text = scrape(&f->input);
	assert_has(text, "uprobe_function_duration_seconds_count{target=\"db\",function=\"scan\","
			 "team=\"storage\"} 0");
	assert_has(text, "uprobe_function_in_flight{target=\"db\",function=\"scan\"} 0");
	assert_has(text, "uprobe_exporter_probe_attached{target=\"db\",function=\"scan\"} 0");
	assert_has(text, "uprobe_exporter_probe_failure_info{target=\"db\",function=\"scan\","
			 "reason=\"symbol_not_found\"} 1");
	free(text);
	free(f);
}

/* The config refuses two functions of one name, also with different labels; were they let in,
 * the data would be two series and the rest one. */
static void functions_of_one_name_share_what_has_no_labels(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	attach(&f->rows[2], &f->probes[2]);
	f->rows[2].reading.entries = 3;
	f->rows[3].reading.entries = 4;
	char *text = scrape(&f->input);
	assert_has(text, "uprobe_function_duration_seconds_count{target=\"db\",function=\"scan\","
			 "team=\"storage\"} 0");
	assert_has(text, "uprobe_function_duration_seconds_count{target=\"db\",function=\"scan\","
			 "owner=\"x\",team=\"web\"} 0");
	assert_has(text, "uprobe_function_entries_total{target=\"db\",function=\"scan\"} 7");
	assert_has(text, "uprobe_function_in_flight{target=\"db\",function=\"scan\"} 7");
	assert_has(text, "uprobe_exporter_probe_attached{target=\"db\",function=\"scan\"} 0");
	free(text);
	free(f);
}

/* The config does not allow it, but were it so, the scrape would still be valid and complete. */
static void rows_of_the_same_labels_are_summed(void **state)
{
	struct fixture *f = fixture_new();
	static const struct spec_function other = {
		.symbol = "run2", .label = "run", .buckets = {few_bounds, COUNT(few_bounds)}};

	(void)state;
	f->probes[4] =
		(struct plan_probe){.target = &target, .function = &other, .label = other.label};
	f->probes[5] = f->probes[0];
	f->rows[4].probe = &f->probes[4];
	f->rows[5].probe = &f->probes[5];
	attach(&f->rows[0], &f->probes[0]);
	attach(&f->rows[4], &f->probes[4]);
	f->rows[5].status.reason = REASON_LIMIT;
	f->input.n_rows = 6;
	observe(&f->rows[0].reading, functions[0].buckets, 500, 1);
	observe(&f->rows[4].reading, other.buckets, 900000, 10);
	observe(&f->rows[5].reading, functions[0].buckets, 2000000000, 100);
	f->rows[5].reading.lost[UP_LOST_CLOCK] = 7;
	f->rows[5].reading.entries += 7;
	char *text = scrape(&f->input); /* the grammar refuses doubles */
	assert_has(text, "uprobe_function_duration_seconds_bucket{target=\"db\",function=\"run\","
			 "le=\"1e-06\"} 1");
	assert_has(text, "uprobe_function_duration_seconds_bucket{target=\"db\",function=\"run\","
			 "le=\"0.001\"} 11");
	assert_has(text,
		   "uprobe_function_duration_seconds_count{target=\"db\",function=\"run\"} 111");
	assert_has(
		text,
		"uprobe_function_duration_seconds_sum{target=\"db\",function=\"run\"} 200.0090005");
	assert_has(text, "uprobe_function_entries_total{target=\"db\",function=\"run\"} 118");
	assert_has(text, "uprobe_exporter_probe_attached{target=\"db\",function=\"run\"} 0");
	assert_has(text, "uprobe_exporter_probe_failure_info{target=\"db\",function=\"run\",reason="
			 "\"limit\"} 1");
	free(text);
	free(f);
}

static void the_floor_is_shown_by_kind(void **state)
{
	static const struct probe_floor floors[] = {{"emulated", "uretprobe", 4e-07},
						    {"stepped", "return-sites", 5.5e-06}};
	struct fixture *f = fixture_new();

	(void)state;
	f->input.build.floors = floors;
	f->input.build.n_floors = COUNT(floors);
	char *text = scrape(&f->input);
	assert_has(text, "uprobe_exporter_probe_floor_seconds{entry_class=\"emulated\","
			 "exit_strategy=\"uretprobe\"} 4e-07");
	assert_has(text, "uprobe_exporter_probe_floor_seconds{entry_class=\"stepped\","
			 "exit_strategy=\"return-sites\"} 5.5e-06");
	free(text);
	free(f);
}

static void the_exporter_shows_itself(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	f->input.n_rows = 0;
	char *text = scrape(&f->input);
	assert_has(text, "uprobe_exporter_build_info{version=\"0.1.0\",revision=\"abcdef\"} 1");
	assert_has(text, "uprobe_exporter_kernel_tier_info{tier=\"session\"} 1");
	assert_has(text, "uprobe_exporter_config_last_reload_successful 1");
	assert_has(text,
		   "uprobe_exporter_config_last_reload_success_timestamp_seconds 1760000000.5");
	assert_has(text, "uprobe_exporter_map_memory_bytes 3145728");
	assert_has(text, "uprobe_exporter_process_events_lost_total{reason=\"queue_full\"} 7");
	assert_has(text,
		   "uprobe_exporter_process_events_lost_total{reason=\"too_many_processes\"} 0");
	assert_lacks(text, "confinement"); /* the fixture's exporter has not got so far */
	assert_lacks(text, "probe_floor"); /* none were measured */
	assert_has(text, "# TYPE process_cpu_seconds_total counter");
	assert_lacks(text, "uprobe_function_");
	free(text);
	f->input.last_reload_successful = false;
	f->input.last_reload_success_unix = NAN;
	f->input.build.tier = NULL;
	text = scrape(&f->input);
	assert_has(text, "uprobe_exporter_config_last_reload_successful 0");
	assert_lacks(text, "success_timestamp");
	assert_lacks(text, "kernel_tier");
	free(text);
	free(f);
}

#define FAMILY "uprobe_exporter_confinement_info"

/* What is in force, each of the two by itself; see daemon.c for when it is known. */
static void confinement_is_told_as_it_is(void **state)
{
	static const struct {
		const char *capabilities, *syscalls, *line;
	} cases[] = {
		{"dropped", "filtered",
		 FAMILY "{capabilities=\"dropped\",syscalls=\"filtered\"} 1"},
		{"dropped", "any", FAMILY "{capabilities=\"dropped\",syscalls=\"any\"} 1"},
		{"kept", "filtered", FAMILY "{capabilities=\"kept\",syscalls=\"filtered\"} 1"},
		{"kept", "any", FAMILY "{capabilities=\"kept\",syscalls=\"any\"} 1"},
	};
	struct fixture *f = fixture_new();

	(void)state;
	f->input.n_rows = 0;
	for (size_t i = 0; i < COUNT(cases); i++) {
		f->input.build.capabilities = cases[i].capabilities;
		f->input.build.syscalls = cases[i].syscalls;
		char *text = scrape(&f->input);
		assert_has(text, cases[i].line);
		const char *first = strstr(text, FAMILY "{");
		assert_null(strstr(first + 1, FAMILY "{")); /* one series */
		free(text);
	}
	free(f);
}

/* The snapshot stands alone: nothing of the input is read after collect_snapshot. */
static void a_snapshot_outlives_its_input(void **state)
{
	struct fixture *f = fixture_new();
	uint64_t *own_bounds = malloc(sizeof(bounds));
	struct spec_function *own = malloc(sizeof(*own));
	char *label = strdup("own");
	struct strbuf out;

	(void)state;
	memcpy(own_bounds, bounds, sizeof(bounds));
	*own = (struct spec_function){
		.symbol = label, .label = label, .buckets = {own_bounds, COUNT(bounds)}};
	f->probes[0].function = own;
	f->probes[0].label = own->label;
	attach(&f->rows[0], &f->probes[0]);
	struct snapshot *snapshot = collect_snapshot(&f->input);
	free(own_bounds);
	free(own);
	free(label);
	free(f);
	strbuf_init(&out);
	render_find("openmetrics")->render(snapshot, &out);
	assert_non_null(strstr(out.text, "function=\"own\",le=\"1.0\"} 0"));
	assert_true(snapshot->families[0].series[0].created_unix == 1.7e9);
	strbuf_fini(&out);
	snapshot_free(snapshot);
}

/* The same families by other names and another label, with what only pairs have. */
static void usdt_has_families_of_its_own(void **state)
{
	static const struct spec_function usdt[] = {
		{.by = BY_USDT, .label = "p:hit", .exit = EXIT_NONE, .buckets = {bounds, 1}},
		{.by = BY_PAIR,
		 .label = "query",
		 .buckets = {bounds, COUNT(bounds)},
		 .labels = storage,
		 .n_labels = 1},
	};
	struct fixture *f = fixture_new();
	struct reading *hit = &f->rows[4].reading, *query = &f->rows[5].reading;

	(void)state;
	for (size_t i = 0; i < COUNT(usdt); i++) {
		f->probes[4 + i] = (struct plan_probe){
			.target = &target, .function = &usdt[i], .label = usdt[i].label};
		f->rows[4 + i].probe = &f->probes[4 + i];
		attach(&f->rows[4 + i], &f->probes[4 + i]);
		f->probes[4 + i].strategy = STRATEGY_USDT;
	}
	f->input.n_rows = 6;
	hit->entries = 7;
	query->entries = 20;
	query->cells[0] = 9;
	query->abandoned[UP_ABANDONED_UNWOUND] = 4;
	query->abandoned[UP_ABANDONED_EXEC] = 1;
	query->lost[UP_LOST_KEY] = 3;
	query->unmatched = 5;
	char *text = scrape(&f->input);
	assert_has(text, "uprobe_usdt_hits_total{target=\"db\",probe=\"p:hit\"} 7");
	assert_has(text, "uprobe_usdt_duration_seconds_count{target=\"db\",probe=\"query\","
			 "team=\"storage\"} 9");
	assert_has(text, "uprobe_usdt_starts_total{target=\"db\",probe=\"query\"} 20");
	assert_has(text, "uprobe_usdt_in_flight{target=\"db\",probe=\"query\"} 3");
	assert_has(text, "uprobe_usdt_abandoned_starts_total{target=\"db\",probe=\"query\","
			 "reason=\"overwritten\"} 4");
	assert_has(text, "uprobe_usdt_abandoned_starts_total{target=\"db\",probe=\"query\","
			 "reason=\"exec\"} 1");
	assert_has(text, "uprobe_usdt_unmatched_ends_total{target=\"db\",probe=\"query\"} 5");
	assert_has(text, "uprobe_exporter_events_lost_total{target=\"db\",probe=\"query\","
			 "reason=\"key_unreadable\"} 3");
	assert_has(text, "uprobe_exporter_probe_attached{target=\"db\",probe=\"p:hit\"} 1");
	assert_lacks(text, "function=\"query\"");
	assert_lacks(text, "probe=\"run\"");
	assert_lacks(text, "uprobe_usdt_starts_total{target=\"db\",probe=\"p:hit\"}");
	free(text);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_function_is_there_before_it_is_attached),
		cmocka_unit_test(every_reason_is_there_from_the_start),
		cmocka_unit_test(counting_and_measuring_do_not_mix),
		cmocka_unit_test(counts_add_up),
		cmocka_unit_test(an_attached_probe_says_where_and_how),
		cmocka_unit_test(constant_labels_are_on_the_data_only),
		cmocka_unit_test(functions_of_one_name_share_what_has_no_labels),
		cmocka_unit_test(rows_of_the_same_labels_are_summed),
		cmocka_unit_test(the_floor_is_shown_by_kind),
		cmocka_unit_test(the_exporter_shows_itself),
		cmocka_unit_test(confinement_is_told_as_it_is),
		cmocka_unit_test(usdt_has_families_of_its_own),
		cmocka_unit_test(a_snapshot_outlives_its_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
