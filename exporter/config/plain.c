/* Plain scalars that are not text. */
#include "config/plain.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define DIGITS	      "0123456789"
#define DIGITS_SPACED "0123456789_"

static const struct word {
	const char *text, *type;
} words[] = {
	{"~", "null"},	      {"null", "null"},	     {"true", "a boolean"}, {"false", "a boolean"},
	{"yes", "a boolean"}, {"no", "a boolean"},   {"on", "a boolean"},   {"off", "a boolean"},
	{".inf", "a number"}, {"-.inf", "a number"}, {"+.inf", "a number"}, {".nan", "a number"},
};

static const char *word_type(const char *text)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(text, words[i].text))
			return words[i].type;
	return NULL;
}

/* 0x1f, 0o17, 0b11 */
static bool is_radix(const char *text)
{
	if (text[0] != '0' || !text[1] || !strchr("xXoObB", text[1]) || !text[2])
		return false;
	return text[2 + strspn(text + 2, "0123456789abcdefABCDEF_")] == '\0';
}

/* 12, 010, 1_000, 1.5, .5, 1e3 */
static bool is_decimal(const char *text)
{
	size_t whole = strspn(text, DIGITS_SPACED), fraction = 0;

	text += whole;
	if (*text == '.') {
		fraction = strspn(++text, DIGITS_SPACED);
		text += fraction;
	}
	if (whole + fraction == 0)
		return false;
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '+' || *text == '-';
		size_t exponent = strspn(text, DIGITS);
		if (exponent == 0)
			return false;
		text += exponent;
	}
	return *text == '\0';
}

/* 1:30, a number to the base of 60 */
static bool is_sexagesimal(const char *text)
{
	size_t first = strspn(text, DIGITS_SPACED);

	return first && text[first] == ':' && text[strspn(text, DIGITS_SPACED ":.")] == '\0';
}

/* 2001-12-14, with or without a time behind it */
static bool is_date(const char *text)
{
	size_t month, day;

	if (strspn(text, DIGITS) != 4 || text[4] != '-')
		return false;
	month = strspn(text += 5, DIGITS);
	if (month < 1 || month > 2 || text[month] != '-')
		return false;
	day = strspn(text += month + 1, DIGITS);
	return day >= 1 && day <= 2 && strchr("Tt \t", text[day]);
}

const char *plain_type(const char *text)
{
	const char *type = word_type(text);

	if (type || !*text || !strchr("+-." DIGITS, *text))
		return type;
	const char *number = text + (*text == '+' || *text == '-');
	if (!strpbrk(number, DIGITS))
		return NULL;
	if (is_radix(number) || is_decimal(number) || is_sexagesimal(number))
		return "a number";
	return is_date(text) ? "a date" : NULL;
}
