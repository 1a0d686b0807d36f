/* Durations: number and unit → whole nanoseconds. */
#include "config/duration.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define N_ITEMS(a) (sizeof(a) / sizeof((a)[0]))

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	{"ns", 1},
	{"us", 1000},
	{"\xc2\xb5s", 1000}, /* U+00B5, micro sign */
	{"\xce\xbcs", 1000}, /* U+03BC, Greek mu */
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", 60 * (uint64_t)1000000000},
	{"h", 3600 * (uint64_t)1000000000},
};

static const char *const infinities[] = {".inf", "inf", "+inf", "+.inf", "infinity", "+infinity"};
static const char *const nans[] = {".nan", "nan"};

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(text, words[i]))
			return true;
	return false;
}

/* A decimal number: `whole` saturates, `fraction` is `digits` digits without zeros at the end. */
struct decimal {
	uint64_t whole, fraction;
	unsigned digits;
	bool fraction_is_long; /* more digits than a fraction of a nanosecond can have */
};

/* A fraction of an hour (2^13·3^2·5^11 ns) that is whole has at most 13 digits. */
#define MAX_DIGITS 13

static const char *skip_digits(const char *text)
{
	while (isdigit((unsigned char)*text))
		text++;
	return text;
}

static uint64_t whole_number(const char *from, const char *to)
{
	uint64_t n = 0;

	for (; from < to; from++) {
		if (n > DURATION_MAX_NS)
			return n;
		n = n * 10 + (uint64_t)(*from - '0');
	}
	return n;
}

/* The rest of `text` behind the number; NULL if it begins with none. */
static const char *parse_decimal(const char *text, struct decimal *decimal)
{
	const char *end = skip_digits(text);

	memset(decimal, 0, sizeof(*decimal));
	if (end == text)
		return NULL;
	decimal->whole = whole_number(text, end);
	if (*end != '.')
		return end;
	const char *fraction = end + 1;
	end = skip_digits(fraction);
	if (end == fraction)
		return NULL;
	const char *last = end;
	while (last > fraction && last[-1] == '0')
		last--;
	if (last - fraction > MAX_DIGITS) {
		decimal->fraction_is_long = true;
		return end;
	}
	decimal->fraction = whole_number(fraction, last);
	decimal->digits = (unsigned)(last - fraction);
	return end;
}

static const struct unit *find_unit(const char *name)
{
	for (size_t i = 0; i < N_ITEMS(units); i++)
		if (!strcmp(units[i].name, name))
			return &units[i];
	return NULL;
}

static enum duration_fault scale(const struct decimal *decimal, const struct unit *unit,
				 uint64_t *ns)
{
	unsigned __int128 part = (unsigned __int128)decimal->fraction * unit->ns;
	unsigned __int128 total = (unsigned __int128)decimal->whole * unit->ns;

	if (decimal->fraction_is_long)
		return DURATION_FRACTION;
	for (unsigned i = 0; i < decimal->digits; i++) {
		if (part % 10)
			return DURATION_FRACTION;
		part /= 10;
	}
	total += part;
	if (total == 0)
		return DURATION_ZERO;
	if (total > DURATION_MAX_NS)
		return DURATION_TOO_LONG;
	*ns = (uint64_t)total;
	return DURATION_OK;
}

enum duration_fault duration_parse(const char *text, uint64_t *ns)
{
	struct decimal decimal;
	bool negative = *text == '-';

	if (is_one_of(text, infinities, N_ITEMS(infinities)))
		return DURATION_INFINITE;
	if (is_one_of(text, nans, N_ITEMS(nans)))
		return DURATION_NAN;
	if (negative && is_one_of(text + 1, infinities, N_ITEMS(infinities)))
		return DURATION_NEGATIVE;
	const char *rest = parse_decimal(text + negative, &decimal);
	if (!rest)
		return DURATION_NOT_ONE;
	if (negative)
		return DURATION_NEGATIVE;
	if (!*rest)
		return decimal.whole || decimal.fraction ? DURATION_NO_UNIT : DURATION_ZERO;
	const struct unit *unit = find_unit(rest);
	if (!unit)
		return isalpha((unsigned char)*rest) &&
				       rest[strspn(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO"
							 "PQRSTUVWXYZ")] == '\0'
			       ? DURATION_BAD_UNIT
			       : DURATION_NOT_ONE;
	return scale(&decimal, unit, ns);
}
