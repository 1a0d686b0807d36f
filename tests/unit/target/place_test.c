/* place.c: places in known code, with symbols, with frame information only, and with neither. */
#include "patterns.h"

/* tests/victims/elf/places.S */
enum {
	LEAF_NOP5 = 5,
	LEAF_THIRD = 10,
	LEAF_RETURN = 15,
	LOCKED_SECOND = 3,
	PATCHED_SECOND = 5,
	UNKNOWN_RETURN = 3,
	UNKNOWN_NOP5 = 4,
	UNKNOWN_LOCKED = 9,
};

static uint64_t address_in(const char *path, const char *symbol)
{
	struct one one;

	one_resolve(&one, path, symbol, EXIT_NONE, 0, HOST_COST_ALLOW);
	uint64_t offset = one.probe->symbol_offset;
	assert_true(offset > 0);
	one_free(&one);
	return offset;
}

struct expected {
	const char *symbol;
	int delta;
	enum exit_mode exit;
	enum reason reason;
	const char *text; /* in the detail */
};

static void expect_place(const char *path, uint64_t offset, const struct expected *expected)
{
	struct many many;

	MANY(&many, path, place_of(BY_OFFSET, offset, "here", expected->exit));
	const struct plan_probe *probe = &many.plan->probes[0];
	if (probe->reason != expected->reason)
		fail_msg("%s: %s+%d, exit %s: %s, not %s: %s", path, expected->symbol,
			 expected->delta, exit_mode_name(expected->exit),
			 reason_name(probe->reason), reason_name(expected->reason), probe->detail);
	if (expected->text)
		expect_text(probe->detail, expected->text);
	if (!probe->reason && expected->exit == EXIT_NONE && expected->delta)
		assert_int_equal(probe->entry_offset, offset);
	many_free(&many);
}

static const struct expected known[] = {
	{"leaf", 0, EXIT_AUTO, REASON_NONE, NULL},
	{"leaf", 0, EXIT_NONE, REASON_NONE, NULL},
	{"leaf", 2, EXIT_AUTO, REASON_NOT_AN_INSTRUCTION, "begins 2 bytes before"},
	{"leaf", 2, EXIT_NONE, REASON_NOT_AN_INSTRUCTION, "begins 2 bytes before"},
	{"leaf", LEAF_NOP5, EXIT_AUTO, REASON_UNSAFE_SITE, "five-byte nop"},
	{"leaf", LEAF_NOP5, EXIT_NONE, REASON_UNSAFE_SITE, "five-byte nop"},
	{"leaf", LEAF_NOP5 + 1, EXIT_NONE, REASON_NOT_AN_INSTRUCTION, "begins 1 byte before"},
	{"leaf", LEAF_THIRD, EXIT_NONE, REASON_NONE, "how often"},
	{"leaf", LEAF_THIRD, EXIT_AUTO, REASON_UNSAFE_RETURN, "exit: none"},
	{"leaf", LEAF_THIRD, EXIT_URETPROBE, REASON_UNSAFE_RETURN, "exit: none"},
	{"leaf", LEAF_RETURN, EXIT_NONE, REASON_NONE, NULL},
	{"locked", 0, EXIT_AUTO, REASON_KERNEL_REFUSED, "lock"},
	{"locked", LOCKED_SECOND, EXIT_NONE, REASON_KERNEL_REFUSED, "lock"},
	{"patched", 0, EXIT_AUTO, REASON_NONE, NULL},
	{"patched", PATCHED_SECOND, EXIT_NONE, REASON_NONE, NULL},
};

static void boundaries_are_known(void **state)
{
	static const char *const paths[] = {ELF_DIR "places", ELF_DIR "places.nopie",
					    ELF_DIR "places.stripped"};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(paths); i++) {
		const char *named = i == 2 ? paths[0] : paths[i];
		for (size_t j = 0; j < N_ITEMS(known); j++)
			expect_place(paths[i],
				     address_in(named, known[j].symbol) + (uint64_t)known[j].delta,
				     &known[j]);
	}
}

/* Nothing tells where the code begins: the bytes alone are judged, and the rest is a warning. */
static const struct expected unknown[] = {
	{"unknown", 0, EXIT_NONE, REASON_NONE, "how often"},
	{"unknown", 0, EXIT_AUTO, REASON_UNSAFE_RETURN, "nothing shows that a function begins"},
	{"unknown", UNKNOWN_RETURN, EXIT_NONE, REASON_NONE, NULL},
	{"unknown", UNKNOWN_NOP5, EXIT_NONE, REASON_UNSAFE_SITE, "five-byte nop"},
	{"unknown", UNKNOWN_LOCKED, EXIT_NONE, REASON_KERNEL_REFUSED, "lock"},
};

static void without_a_start(void **state)
{
	uint64_t start = address_in(ELF_DIR "places", "unknown");
	struct many many;

	(void)state;
	for (size_t i = 0; i < N_ITEMS(unknown); i++)
		expect_place(ELF_DIR "places.stripped", start + (uint64_t)unknown[i].delta,
			     &unknown[i]);
	MANY(&many, ELF_DIR "places.stripped", place_of(BY_OFFSET, start, "here", EXIT_NONE),
	     place_of(BY_OFFSET, start, "risk", EXIT_URETPROBE));
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(many.plan->probes[i].reason, REASON_NONE);
		expect_text(many.plan->probes[i].warning, "is not checked");
	}
	many_free(&many);
}

static void a_start_is_the_function(void **state)
{
	uint64_t offset = address_in(ELF_DIR "places", "leaf");
	struct many many;

	(void)state;
	MANY(&many, ELF_DIR "places", place_of(BY_OFFSET, offset, "here", EXIT_AUTO));
	assert_string_equal(many.plan->probes[0].symbol, "leaf");
	assert_int_equal(many.plan->probes[0].size, LEAF_RETURN + 1);
	assert_int_equal(many.plan->probes[0].strategy, STRATEGY_URETPROBE);
	assert_int_equal(many.plan->probes[0].symbol_offset, offset);
	many_free(&many);
}

/* In a file that is not position-independent the two differ. */
static void addresses_are_translated(void **state)
{
	uint64_t offset = address_in(ELF_DIR "places.nopie", "leaf");
	struct many many;

	(void)state;
	MANY(&many, ELF_DIR "places.nopie", place_of(BY_ADDRESS, 0x400000 + offset, "a", EXIT_AUTO),
	     place_of(BY_ADDRESS, offset, "o", EXIT_AUTO));
	assert_int_equal(many.plan->probes[0].reason, REASON_NONE);
	assert_int_equal(many.plan->probes[0].symbol_offset, offset);
	assert_string_equal(many.plan->probes[0].symbol, "leaf");
	assert_int_equal(many.plan->probes[1].reason, REASON_NOT_AN_INSTRUCTION);
	many_free(&many);
}

static void outside_of_code(void **state)
{
	static const struct {
		enum function_by by;
		uint64_t position;
		const char *text;
	} cases[] = {
		{BY_OFFSET, 0, "offset 0x0 is not in the file's code"},
		{BY_OFFSET, INT64_MAX, "the file is shorter"},
		{BY_ADDRESS, 0x400000, "it is data"},
		{BY_ADDRESS, INT64_MAX, "address 0x7fffffffffffffff is not in the file's code"},
		{BY_OFFSET, 0x401000, "the file is shorter"},
	};

	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		struct many many;
		MANY(&many, ELF_DIR "places.nopie",
		     place_of(cases[i].by, cases[i].position, "x", EXIT_NONE));
		assert_int_equal(many.plan->probes[0].reason, REASON_NOT_AN_INSTRUCTION);
		expect_text(many.plan->probes[0].detail, cases[i].text);
		many_free(&many);
	}
}

/* The file is cut short in every part: whatever is read then, nothing breaks. */
static void damaged_files(void **state)
{
	char path[] = "/tmp/place_test.XXXXXX";
	FILE *from = fopen(ELF_DIR "places.stripped", "rb");
	char *bytes = malloc(1 << 20);
	size_t size = fread(bytes, 1, 1 << 20, from);
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0 && size > 4096);
	fclose(from);
	for (uint32_t i = 0, seed = 7; i < 300; i++) {
		struct many many;
		seed = seed * 1664525 + 1013904223;
		size_t at = 64 + (seed >> 8) % (size - 64);
		char before = bytes[at];
		bytes[at] = (char)(seed >> 24);
		assert_int_equal(pwrite(fd, bytes, size, 0), size);
		if (i % 3 == 0)
			assert_int_equal(ftruncate(fd, (off_t)at), 0);
		MANY(&many, path, place_of(BY_OFFSET, 0x1140 + seed % 64, "x", EXIT_NONE),
		     place_of(BY_ADDRESS, 0x1140 + seed % 256, "y", EXIT_AUTO), match_of("*", 10));
		many_free(&many);
		bytes[at] = before;
	}
	unlink(path);
	close(fd);
	free(bytes);
}

int main(void)
{
#ifdef __x86_64__
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boundaries_are_known),
		cmocka_unit_test(without_a_start),
		cmocka_unit_test(a_start_is_the_function),
		cmocka_unit_test(addresses_are_translated),
		cmocka_unit_test(outside_of_code),
		cmocka_unit_test(damaged_files),
	};
	return cmocka_run_group_tests(tests, build_victims, NULL);
#else
	return 0;
#endif
}
