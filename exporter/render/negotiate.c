/*
 * Which format a scraper gets: proactive negotiation by Accept (RFC 9110 sections 12.4.2 and
 * 12.5.1). Lenient where scrapers are sloppy: malformed parts are passed over, of a parameter
 * given twice the first counts, and weights may be written `.5`.
 *
 * OpenMetrics is given only to those who name it: a browser or curl (with a wildcard, or no
 * Accept at all) gets the text format.
 */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "render/openmetrics.h"
#include "render/prom.h"
#include "render/render.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { FULL_WEIGHT = 1000000, VALUE_ROOM = 32 };

/* What is offered; the first of a name is what render_find gives. */
static const struct offer {
	struct renderer renderer;
	const char *type, *subtype, *version;
	bool default_version; /* also for a range that names no version */
	bool by_wildcard;     /* also for a range with `*` */
} offers[] = {
	{{"openmetrics", "application/openmetrics-text; version=1.0.0; charset=utf-8",
	  openmetrics_render},
	 "application",
	 "openmetrics-text",
	 "1.0.0",
	 true,
	 false},
	/* The draft that older scrapers ask for: the same text for all that is written here. */
	{{"openmetrics-0.0.1", "application/openmetrics-text; version=0.0.1; charset=utf-8",
	  openmetrics_render},
	 "application",
	 "openmetrics-text",
	 "0.0.1",
	 false,
	 false},
	{{"text", "text/plain; version=0.0.4; charset=utf-8", prom_render},
	 "text",
	 "plain",
	 "0.0.4",
	 true,
	 true},
};
enum { OFFER_FALLBACK = COUNT(offers) - 1 };

struct token {
	const char *at;
	size_t length;
};

/* One element of the header, such as `text/plain;version=0.0.4;q=0.5`. */
struct range {
	struct token type, subtype;
	bool has_version, has_weight;
	char version[VALUE_ROOM];
	int weight; /* 0..FULL_WEIGHT */
};

/* ---- lexing ---- */

static bool is_token_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static void skip_blanks(const char **at)
{
	*at += strspn(*at, " \t");
}

static bool take(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

static bool take_token(const char **at, struct token *token)
{
	token->at = *at;
	while (is_token_char(**at))
		++*at;
	token->length = (size_t)(*at - token->at);
	return token->length > 0;
}

/* A quoted string's content, cut to the room; false when the quote does not end. */
static bool take_quoted(const char **at, char value[VALUE_ROOM])
{
	size_t n = 0;

	for (++*at; **at && **at != '"'; ++*at) {
		if (**at == '\\' && (*at)[1])
			++*at;
		if (n < VALUE_ROOM - 1)
			value[n++] = **at;
	}
	value[n] = '\0';
	return take(at, '"');
}

static bool take_value(const char **at, char value[VALUE_ROOM])
{
	struct token token;

	if (**at == '"')
		return take_quoted(at, value);
	if (!take_token(at, &token))
		return false;
	size_t n = token.length < VALUE_ROOM ? token.length : VALUE_ROOM - 1;
	memcpy(value, token.at, n);
	value[n] = '\0';
	return true;
}

/* Go to the comma that ends the element, or to the end; commas in quotes do not count. */
static void skip_element(const char **at)
{
	char ignored[VALUE_ROOM];

	while (**at && **at != ',') {
		if (**at == '"')
			(void)take_quoted(at, ignored);
		else
			++*at;
	}
}

/* ---- parsing ---- */

static bool is(struct token token, const char *text)
{
	return token.length == strlen(text) && !strncasecmp(token.at, text, token.length);
}

/* `0.75` and `.75` in millionths; false unless in 0..1. */
static bool parse_weight(const char *text, int *weight)
{
	int value = 0, scale = FULL_WEIGHT;
	bool digits = false;

	for (; *text >= '0' && *text <= '9' && value <= 1; text++, digits = true)
		value = 10 * value + (*text - '0');
	value = value > 1 ? FULL_WEIGHT + 1 : value * FULL_WEIGHT;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++, digits = true)
			value += (*text - '0') * (scale /= 10);
	*weight = value;
	return digits && !*text && value <= FULL_WEIGHT;
}

static bool parse_parameter(const char **at, struct range *range)
{
	struct token name;
	char value[VALUE_ROOM];

	if (!take_token(at, &name))
		return **at == ';' || **at == ',' || !**at; /* empty parameters are allowed */
	if (!take(at, '=') || !take_value(at, value))
		return false;
	if (is(name, "q") && !range->has_weight) {
		range->has_weight = true;
		return parse_weight(value, &range->weight);
	}
	if (is(name, "version") && !range->has_version) {
		range->has_version = true;
		memcpy(range->version, value, sizeof(value));
	}
	return true;
}

static bool parse_range(const char **at, struct range *range)
{
	*range = (struct range){.weight = FULL_WEIGHT};
	if (!take_token(at, &range->type) || !take(at, '/') || !take_token(at, &range->subtype))
		return false;
	if (is(range->type, "*") && !is(range->subtype, "*"))
		return false;
	for (skip_blanks(at); take(at, ';'); skip_blanks(at)) {
		skip_blanks(at);
		if (!parse_parameter(at, range))
			return false;
	}
	return !**at || **at == ',';
}

/* ---- choosing ---- */

/* How closely a range names an offer: 1 a wildcard for all, 2 for the subtype, 3 the type, 4 with
 * its version; 0 not at all. */
static int precision(const struct range *range, const struct offer *offer)
{
	if (is(range->type, "*"))
		return offer->by_wildcard ? 1 : 0;
	if (!is(range->type, offer->type))
		return 0;
	if (is(range->subtype, "*"))
		return offer->by_wildcard ? 2 : 0;
	if (!is(range->subtype, offer->subtype))
		return 0;
	if (!range->has_version)
		return offer->default_version ? 3 : 0;
	return !strcmp(range->version, offer->version) ? 4 : 0;
}

/* The best range that an offer has found so far. */
struct match {
	int precision, weight, position;
};

static void match_offers(const struct range *range, int position, struct match matches[])
{
	for (size_t i = 0; i < COUNT(offers); i++) {
		struct match *match = &matches[i];
		int closeness = precision(range, &offers[i]);
		if (closeness == 0 || closeness < match->precision)
			continue;
		if (closeness == match->precision && range->weight <= match->weight)
			continue;
		*match = (struct match){closeness, range->weight, position};
	}
}

/* By weight; between equals the one named more closely, then the one named first. */
static bool better(const struct match *a, const struct match *b)
{
	if (a->weight != b->weight)
		return a->weight > b->weight;
	if (a->precision != b->precision)
		return a->precision > b->precision;
	return a->position < b->position;
}

const struct renderer *render_negotiate(const char *accept)
{
	struct match matches[COUNT(offers)] = {0};
	size_t best = OFFER_FALLBACK;
	struct range range;
	int position = 0;

	for (const char *at = accept ? accept : ""; *at; take(&at, ',')) {
		skip_blanks(&at);
		if (parse_range(&at, &range))
			match_offers(&range, position++, matches);
		else
			skip_element(&at);
	}
	for (size_t i = 0; i < COUNT(offers); i++)
		if (matches[i].weight > 0 && better(&matches[i], &matches[best]))
			best = i;
	return &offers[best].renderer;
}

const struct renderer *render_find(const char *name)
{
	for (size_t i = 0; i < COUNT(offers); i++)
		if (!strcmp(offers[i].renderer.name, name))
			return &offers[i].renderer;
	return NULL;
}
