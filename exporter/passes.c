/* The times between passes. */
#include "passes.h"

static const time_t seconds_between[PASSES] = {
	[PASS_QUICK] = 15,
	[PASS_CHANGING] = 60,
	[PASS_ALL] = 600,
};

/* Passes that can wait are to take one part of so many of a CPU, and yet come in this time. */
enum { PARTS = 2000, PUT_OFF_SECONDS = 300 };

enum pass passes_of(const struct spec_process *spec, bool knows_others)
{
	if (spec->user || spec->comm)
		return PASS_QUICK;
	if (spec->cmdline || spec->pod || spec->namespace || knows_others)
		return PASS_CHANGING;
	return PASS_ALL;
}

time_t passes_age(const struct passes *passes, enum pass pass, time_t now)
{
	return now - passes->at[pass];
}

static time_t put_off(uint64_t cpu_ns)
{
	time_t seconds = (time_t)(cpu_ns * PARTS / 1000000000);

	return seconds < PUT_OFF_SECONDS ? seconds : PUT_OFF_SECONDS;
}

static time_t wait_of(const struct passes *passes, enum pass pass)
{
	time_t usual = seconds_between[pass], cost = passes->put_off_s[pass];

	return cost > usual ? cost : usual;
}

enum pass passes_due(const struct passes *passes, time_t now)
{
	for (int pass = PASS_ALL; pass >= PASS_QUICK; pass--)
		if (passes_age(passes, (enum pass)pass, now) >= wait_of(passes, (enum pass)pass))
			return (enum pass)pass;
	return PASS_NONE;
}

void passes_note(struct passes *passes, enum pass pass, time_t now, uint64_t cpu_ns)
{
	for (int each = PASS_QUICK; each <= (int)pass; each++)
		passes->at[each] = now;
	if (pass == PASS_CHANGING)
		passes->put_off_s[pass] = put_off(cpu_ns);
}
