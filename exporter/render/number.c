/* Numbers in text. */
#include "render/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* The value 0.d1d2d3… * 10^point, without leading or trailing zeros; no digits: zero. */
struct decimal {
	char digit[24];
	int n;
	int point;
};

static struct decimal trimmed(struct decimal decimal)
{
	while (decimal.n > 0 && decimal.digit[decimal.n - 1] == '0')
		decimal.n--;
	if (decimal.n == 0)
		decimal.point = 1; /* zero is written as one digit before the point */
	return decimal;
}

static struct decimal from_u64(uint64_t value, int exponent)
{
	struct decimal decimal = {0};
	char reversed[24];
	int n = 0;

	for (; value; value /= 10)
		reversed[n++] = (char)('0' + value % 10);
	for (decimal.n = 0; decimal.n < n; decimal.n++)
		decimal.digit[decimal.n] = reversed[n - 1 - decimal.n];
	decimal.point = n + exponent;
	return trimmed(decimal);
}

/* The shortest digits that read back as `value` (>= 0, finite). printf and strtod speak the same
 * locale, whatever it is; only its digits are taken, never its point. */
static struct decimal from_double(double value)
{
	struct decimal decimal = {0};
	char text[64];

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*e", digits - 1, value);
		if (strtod(text, NULL) == value)
			break;
	}
	const char *exponent = strrchr(text, 'e');
	for (const char *c = text; c < exponent; c++)
		if (*c >= '0' && *c <= '9')
			decimal.digit[decimal.n++] = *c;
	decimal.point = atoi(exponent + 1) + 1;
	return trimmed(decimal);
}

static void put_zeros(struct strbuf *out, int n)
{
	while (n-- > 0)
		strbuf_putc(out, '0');
}

static void put_plain(struct strbuf *out, const struct decimal *decimal)
{
	int whole = decimal->point < decimal->n ? decimal->point : decimal->n;

	if (whole > 0) {
		strbuf_add(out, decimal->digit, (size_t)whole);
		put_zeros(out, decimal->point - whole);
	} else {
		strbuf_putc(out, '0');
		whole = 0;
	}
	if (whole == decimal->n)
		return;
	strbuf_putc(out, '.');
	put_zeros(out, -decimal->point);
	strbuf_add(out, decimal->digit + whole, (size_t)(decimal->n - whole));
}

static void put_exponent(struct strbuf *out, const struct decimal *decimal)
{
	strbuf_add(out, decimal->digit, 1);
	if (decimal->n > 1) {
		strbuf_putc(out, '.');
		strbuf_add(out, decimal->digit + 1, (size_t)decimal->n - 1);
	}
	strbuf_printf(out, "e%+03d", decimal->point - 1);
}

void number_put_u64(struct strbuf *out, uint64_t value)
{
	struct decimal decimal = from_u64(value, 0);

	put_plain(out, &decimal);
}

void number_put_double(struct strbuf *out, double value)
{
	if (isnan(value)) {
		strbuf_puts(out, "NaN");
		return;
	}
	if (isinf(value)) {
		strbuf_puts(out, value < 0 ? "-Inf" : "+Inf");
		return;
	}
	if (value < 0)
		strbuf_putc(out, '-');
	struct decimal decimal = from_double(fabs(value));
	if (decimal.point < -3 || decimal.point > 16) /* 2^53 has 16 digits */
		put_exponent(out, &decimal);
	else
		put_plain(out, &decimal);
}

void number_put_seconds(struct strbuf *out, uint64_t ns)
{
	struct decimal decimal = from_u64(ns, -9);

	put_plain(out, &decimal);
}

/* strconv's 'g' with the shortest digits has an exponent below 1e-4 and from 1e6 on. A bound has at
 * most 13 digits (LAYOUT_TOP_NS), so its digits are the shortest of the double that is meant. */
void number_put_le(struct strbuf *out, uint64_t ns)
{
	struct decimal decimal = from_u64(ns, -9);

	if (decimal.point < -3 || decimal.point > 6) {
		put_exponent(out, &decimal);
		return;
	}
	put_plain(out, &decimal);
	if (decimal.point >= decimal.n)
		strbuf_puts(out, ".0");
}
