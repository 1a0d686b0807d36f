/* Syntax errors: libyaml's problem texts (scanner.c and parser.c of 0.2.5) → advice. */
#include "config/syntax.h"

#include <string.h>

enum place {
	AT_PROBLEM,
	AT_CONTEXT, /* where the construct began that is never finished */
};

struct advice {
	const char *problem; /* how libyaml's text begins */
	enum place place;
	const char *message;
	const char *began; /* AT_PROBLEM: what began on which line; NULL: not said */
	const char *here;  /* AT_CONTEXT: said at the problem when it is on the same line */
};

static const struct advice advices[] = {
	{.problem = "mapping keys are not allowed",
	 .place = AT_PROBLEM,
	 .message = "a key is not allowed here"},
	{.problem = "block sequence entries are not allowed",
	 .place = AT_PROBLEM,
	 .message = "a list item (`- `) is not allowed here: begin it on a line of its own"},
	{.problem = "could not find expected ':'",
	 .place = AT_CONTEXT,
	 .message = "a `:` is missing after this key"},
	{.problem = "did not find expected key",
	 .place = AT_PROBLEM,
	 .message = "expected a key: check the indentation",
	 .began = "the mapping"},
	{.problem = "did not find expected '-'",
	 .place = AT_PROBLEM,
	 .message = "expected a list item (`- `): check the indentation",
	 .began = "the list"},
	{.problem = "did not find expected ',' or ']'",
	 .place = AT_CONTEXT,
	 .message = "this list is not closed: a `,` or `]` is missing",
	 .here = "expected `,` or `]` before this"},
	{.problem = "did not find expected ',' or '}'",
	 .place = AT_CONTEXT,
	 .message = "this mapping is not closed: a `,` or `}` is missing",
	 .here = "expected `,` or `}` before this"},
	{.problem = "did not find expected node content",
	 .place = AT_PROBLEM,
	 .message = "a value is missing here"},
	{.problem = "did not find expected <document start>",
	 .place = AT_PROBLEM,
	 .message = "this does not belong to what is above it: check the indentation"},
	{.problem = "found unexpected end of stream",
	 .place = AT_CONTEXT,
	 .message = "this quote is never closed"},
	{.problem = "found unexpected document indicator",
	 .place = AT_CONTEXT,
	 .message = "this quote is never closed"},
	{.problem = "found unknown escape character",
	 .place = AT_PROBLEM,
	 .message = "unknown escape in double quotes: write \\\\ for a backslash, or use single "
		    "quotes"},
	{.problem = "did not find expected hexdecimal number",
	 .place = AT_PROBLEM,
	 .message = "unfinished escape in double quotes: hexadecimal digits are missing"},
	{.problem = "found invalid Unicode character escape",
	 .place = AT_PROBLEM,
	 .message = "this escape is not a Unicode character"},
	{.problem = "did not find expected alphabetic or numeric character",
	 .place = AT_PROBLEM,
	 .message = "text that begins with `*` or `&` must be in quotes"},
	{.problem = "found undefined tag handle",
	 .place = AT_PROBLEM,
	 .message = "tags (`!…`) are not supported"},
	{.problem = "found a tab character",
	 .place = AT_PROBLEM,
	 .message = "a tab cannot indent: use spaces"},
};

/* "found character that cannot start any token": it depends on the character. */
static const char *bad_start(const struct report *report, size_t at)
{
	switch (*report_text(report, at)) {
	case '\t':
		return "a tab cannot indent: use spaces";
	case '@':
	case '`':
	case '%':
		return "text that begins with this character must be quoted";
	default:
		return "a value cannot begin with this character: put it in quotes";
	}
}

/* "mapping values are not allowed": a second `: ` on its line, or a key that is none. */
static const char *bad_colon(const struct report *report, size_t at)
{
	size_t line = report->line_starts.at[report_line(report, at) - 1];

	if (memmem(report_text(report, line), at - line, ": ", 2))
		return "a second `: ` in one line: put text that contains it in quotes";
	return "a `:` is not allowed here: check the indentation, and that the line above has "
	       "its `:`";
}

/* Problems whose advice depends on the text. */
static const struct {
	const char *problem;
	const char *(*advise)(const struct report *report, size_t at);
} looks[] = {
	{"found character that cannot start", bad_start},
	{"mapping values are not allowed", bad_colon},
};

static const char *look(const struct report *report, const char *problem, size_t at)
{
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		if (!strncmp(problem, looks[i].problem, strlen(looks[i].problem)))
			return looks[i].advise(report, at);
	return NULL;
}

static const struct advice *find(const char *problem)
{
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		if (!strncmp(problem, advices[i].problem, strlen(advices[i].problem)))
			return &advices[i];
	return NULL;
}

static struct span first_word(const struct report *report, size_t at)
{
	size_t length = strcspn(report_text(report, at), " \t\r\n");

	return (struct span){at, at + (length ? length : 1)};
}

static void give(struct report *report, const struct syntax_fault *fault,
		 const struct advice *advice)
{
	struct span span = first_word(report, fault->at);
	bool same_line = report_line(report, fault->at) == report_line(report, fault->context_at);

	if (advice->here && same_line && fault->at < report->length) {
		report_error(report, span, "%s", advice->here);
		return;
	}
	if (advice->place == AT_CONTEXT)
		span = (struct span){fault->context_at, fault->context_at + 1};
	if (advice->began)
		report_error(report, span, "%s (%s began on line %d)", advice->message,
			     advice->began, report_line(report, fault->context_at));
	else
		report_error(report, span, "%s", advice->message);
}

void syntax_report(struct report *report, const struct syntax_fault *fault)
{
	const char *problem = fault->problem ? fault->problem : "cannot be read as YAML";
	const char *context = fault->context ? fault->context : "syntax error";
	const struct advice *advice = find(problem);
	const char *looked = look(report, problem, fault->at);
	struct span one = {fault->at, fault->at + 1};

	if (advice)
		give(report, fault, advice);
	else if (looked)
		report_error(report, one, "%s", looked);
	else
		report_error(report, one, "%s: %s", context, problem);
}
