/* What the tests of sdt.h share: a file's sites, and expectations of one. */
#ifndef TESTS_UNIT_TARGET_SDTS_H
#define TESTS_UNIT_TARGET_SDTS_H

#include "common.h"

#include <fcntl.h>

#include "target/sdt.h"

static struct arena arena;
static struct sdt sdt;
static struct err err;

static inline int start(void **state)
{
	(void)state;
	arena_init(&arena);
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

/* The only site of this name. */
static inline const struct sdt_site *only(const char *probe)
{
	size_t n;
	const struct sdt_site *site = sdt_find(&sdt, probe, &n);

	if (n != 1)
		fail_msg("%zu sites of %s", n, probe);
	return site;
}

static inline void expect_problem(const char *probe, enum reason reason, const char *text)
{
	const struct sdt_site *site = only(probe);

	if (site->reason != reason || !site->problem || !strstr(site->problem, text))
		fail_msg("%s: %s, \"%s\", not %s, \"%s\"", probe, reason_name(site->reason),
			 site->problem ? site->problem : "", reason_name(reason), text);
}

static inline void expect_right(const char *probe)
{
	const struct sdt_site *site = only(probe);

	if (site->reason || site->problem || !site->offset)
		fail_msg("%s: %s", probe, site->problem ? site->problem : "no offset");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, end)

#endif
