/* Typed scalars: text, integers, durations, choices. */
#include "config/scalar.h"

#include <ctype.h>
#include <string.h>

#include "config/duration.h"
#include "config/excerpt.h"
#include "config/plain.h"
#include "config/suggest.h"

#define DESCRIBE(value) yaml_describe((char[REPORT_QUOTE_BYTES]){0}, (value))

bool scalar_expect(struct report *report, const char *key, const struct yaml_value *value,
		   enum yaml_kind kind, const char *wanted)
{
	if (value->kind == kind && !yaml_is_missing(value))
		return true;
	if (value->kind != YAML_BROKEN)
		report_error(report, value->span, "`%s` must be %s, not %s", key, wanted,
			     DESCRIBE(value));
	return false;
}

/* ---- text ---- */

static bool is_clean(const char *text)
{
	for (size_t length; *text; text += length) {
		length = excerpt_printable(text);
		if (!length)
			return false;
	}
	return true;
}

bool scalar_text(struct report *report, const char *key, const struct yaml_value *value,
		 size_t max_bytes, const char **out)
{
	if (!scalar_expect(report, key, value, YAML_SCALAR, "text"))
		return false;
	const char *type = value->quoted ? NULL : plain_type(value->text);
	if (type)
		report_error(
			report, value->span,
			"`%s` must be text, and %s without quotes is %s in YAML: put it in quotes",
			key, QUOTE(value->text), type);
	else if (!*value->text)
		report_error(report, value->span, "`%s` must not be empty", key);
	else if (strlen(value->text) > max_bytes)
		report_error(report, value->span, "`%s` is longer than %zu bytes", key, max_bytes);
	else if (!is_clean(value->text))
		report_error(report, value->span,
			     "`%s` must not hold line ends or other invisible characters", key);
	else {
		*out = value->text;
		return true;
	}
	return false;
}

/* ---- integers ---- */

static bool parse_decimal(const char *text, uint64_t *out)
{
	uint64_t n = 0;

	if (!*text || (*text == '0' && text[1]))
		return false;
	for (; *text; text++)
		if (!isdigit((unsigned char)*text) || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return false;
	*out = n;
	return true;
}

bool scalar_integer(struct report *report, const char *key, const struct yaml_value *value,
		    uint64_t low, uint64_t high, uint64_t *out)
{
	uint64_t n = 0;

	if (!scalar_expect(report, key, value, YAML_SCALAR, "a whole number"))
		return false;
	bool number = parse_decimal(value->text, &n);
	if (value->quoted && number) {
		report_error(report, value->span, "`%s` must be a number: write %s without quotes",
			     key, value->text);
		return false;
	}
	if (value->quoted || !number || n < low || n > high) {
		report_error(report, value->span,
			     "`%s` must be a whole number from %llu to %llu, not %s", key,
			     (unsigned long long)low, (unsigned long long)high, DESCRIBE(value));
		return false;
	}
	*out = n;
	return true;
}

static bool parse_hexadecimal(const char *text, uint64_t *out)
{
	uint64_t n = 0;

	if (strncmp(text, "0x", 2) != 0 || !text[2])
		return false;
	for (text += 2; *text; text++) {
		int c = tolower((unsigned char)*text);
		if (!isxdigit(c) || n >> 60)
			return false;
		n = n << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	*out = n;
	return true;
}

bool scalar_place(struct report *report, const char *key, const struct yaml_value *value,
		  uint64_t *out)
{
	uint64_t n = 0;

	if (!scalar_expect(report, key, value, YAML_SCALAR, "a number such as 0x3e1f0"))
		return false;
	bool number = parse_decimal(value->text, &n) || parse_hexadecimal(value->text, &n);
	if (value->quoted && number) {
		report_error(report, value->span, "`%s` must be a number: write %s without quotes",
			     key, value->text);
		return false;
	}
	if (value->quoted || !number || n > INT64_MAX) {
		report_error(
			report, value->span,
			"`%s` must be a number, decimal or hexadecimal such as 0x3e1f0, not %s",
			key, DESCRIBE(value));
		return false;
	}
	*out = n;
	return true;
}

/* ---- durations ---- */

static const char *const duration_advice[] = {
	[DURATION_NOT_ONE] = "is not a duration: write a number and a unit without blanks, such as "
			     "250ns, 2.5us, 1ms, 3s, 5m or 1h",
	[DURATION_NO_UNIT] = "has no unit: add ns, us, ms, s, m or h, as in 1ms",
	[DURATION_BAD_UNIT] = "has an unknown unit: the units are ns, us, ms, s, m and h",
	[DURATION_INFINITE] = "is no bound to write down: a last bucket up to +Inf is always there",
	[DURATION_NAN] = "is not a duration",
	[DURATION_NEGATIVE] = "is negative: a bound must be above 0",
	[DURATION_ZERO] = "is no upper bound: it must be above 0",
	[DURATION_FRACTION] = "is not a whole number of nanoseconds",
	[DURATION_TOO_LONG] = "is too long: at most 2h26m36s (8796093022208ns, which is 2^43)",
};

bool scalar_bound(struct report *report, const struct yaml_value *value, uint64_t *ns)
{
	if (!scalar_expect(report, "buckets", value, YAML_SCALAR, "a list of durations"))
		return false;
	enum duration_fault fault = duration_parse(value->text, ns);
	if (fault == DURATION_OK)
		return true;
	report_error(report, value->span, "bound %s %s", QUOTE(value->text),
		     duration_advice[fault]);
	return false;
}

bool scalar_duration(struct report *report, const char *key, const struct yaml_value *value,
		     uint64_t *ns)
{
	if (!scalar_expect(report, key, value, YAML_SCALAR, "a duration, such as 5m"))
		return false;
	enum duration_fault fault = duration_parse(value->text, ns);
	if (fault == DURATION_OK)
		return true;
	bool out_of_range =
		fault == DURATION_INFINITE || fault == DURATION_NEGATIVE || fault == DURATION_ZERO;
	report_error(report, value->span, "`%s`: %s %s", key, QUOTE(value->text),
		     out_of_range ? "must be above 0, and end" : duration_advice[fault]);
	return false;
}

/* ---- choices ---- */

/* "a, b or c": those that are supported, which come first. */
static void add_names(struct strbuf *out, const struct choice *choices, size_t n)
{
	while (n && choices[n - 1].value == SCALAR_NOT_YET)
		n--;
	for (size_t i = 0; i < n; i++)
		strbuf_printf(out, "%s%s",
			      i == 0	  ? ""
			      : i + 1 < n ? ", "
					  : " or ",
			      choices[i].name);
}

static void bad_choice(struct report *report, const char *key, const struct yaml_value *value,
		       const struct choice *choices, size_t n)
{
	const char *names[8] = {NULL}; /* room for every `choices` */
	struct strbuf message;

	for (size_t i = 0; i < n; i++)
		names[i] = choices[i].name;
	int nearest = suggest_nearest(value->text, names, n);
	strbuf_init(&message);
	strbuf_printf(&message, "`%s` must be ", key);
	add_names(&message, choices, n);
	strbuf_printf(&message, ", not %s", DESCRIBE(value));
	if (nearest >= 0)
		strbuf_printf(&message, "; did you mean `%s`?", names[nearest]);
	report_error(report, value->span, "%s", strbuf_text(&message));
	strbuf_fini(&message);
}

bool scalar_choice(struct report *report, const char *key, const struct yaml_value *value,
		   const struct choice *choices, size_t n, int *out)
{
	if (!scalar_expect(report, key, value, YAML_SCALAR, "a word"))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(choices[i].name, value->text) != 0)
			continue;
		if (choices[i].value != SCALAR_NOT_YET) {
			*out = choices[i].value;
			return true;
		}
		report_error(report, value->span, "`%s: %s` is not supported yet", key,
			     value->text);
		return false;
	}
	bad_choice(report, key, value, choices, n);
	return false;
}
