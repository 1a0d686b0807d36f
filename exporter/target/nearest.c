/* Near names. The work is bounded: thousands of misspelt names must not stall a start. */
#include "target/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	SCORE_FORM,	/* base.constprop.0 */
	SCORE_CASE,	/* BASE */
	SCORE_MANGLED,	/* _Z4basei */
	SCORE_DISTANCE, /* plus the edit distance */
};

#define WORK (64u * 1000 * 1000) /* cells of the distance matrix: well under a second */

void nearest_init(struct nearest *nearest)
{
	memset(nearest, 0, sizeof(*nearest));
	nearest->work = WORK;
}

void nearest_fini(struct nearest *nearest)
{
	vec_fini(&nearest->names);
}

static uint64_t letters_of(const char *name, size_t length)
{
	uint64_t letters = 0;

	for (size_t i = 0; i < length; i++)
		letters |= UINT64_C(1) << (tolower((unsigned char)name[i]) & 63);
	return letters;
}

size_t nearest_add(struct nearest *nearest, const char *base, size_t length, bool variants)
{
	struct nearest_name *name = vec_push(&nearest->names);

	name->base = base;
	name->length = length;
	name->letters = letters_of(base, length);
	name->variants = variants;
	return nearest->names.n - 1;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Optimal string alignment distance (edits and swaps of neighbours); more than `limit`: limit + 1.
 */
static unsigned distance(const char *a, size_t n, const char *b, size_t m, unsigned limit)
{
	unsigned rows[3][NEAREST_LONGEST + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= m; j++)
		last[j] = (unsigned)j;
	memcpy(before, last, (m + 1) * sizeof(*last));
	for (size_t i = 1; i <= n; i++) {
		unsigned best = row[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned change = a[i - 1] != b[j - 1];
			row[j] = least(last[j] + 1, row[j - 1] + 1, last[j - 1] + change);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + change < row[j])
				row[j] = before[j - 2] + change;
			best = row[j] < best ? row[j] : best;
		}
		if (best > limit)
			return limit + 1;
		unsigned *spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[m];
}

/* Whether an Itanium-mangled name has `base` as one of its identifiers: its length goes before. */
static bool is_mangled_form(const struct nearest_name *name, const char *symbol, size_t length)
{
	char part[NEAREST_LONGEST + 24];

	if (length < 3 || symbol[0] != '_' || (symbol[1] != 'Z' && symbol[1] != 'R'))
		return false;
	int n = snprintf(part, sizeof(part), "%zu%.*s", name->length, (int)name->length,
			 name->base);
	return n > 0 && memmem(symbol, length, part, (size_t)n);
}

/* How near; -1 when not near. */
static int score_of(struct nearest *nearest, const struct nearest_name *name, const char *symbol,
		    size_t length, uint64_t letters)
{
	size_t apart = length > name->length ? length - name->length : name->length - length;
	unsigned limit = name->length < 3 ? 1 : name->length < 9 ? 2 : (unsigned)name->length / 4;

	if (length > name->length && symbol[name->length] == '.' &&
	    memcmp(symbol, name->base, name->length) == 0)
		return SCORE_FORM;
	if (apart == 0 && strncasecmp(symbol, name->base, length) == 0)
		return SCORE_CASE;
	if (is_mangled_form(name, symbol, length))
		return SCORE_MANGLED;
	if (apart > limit || (unsigned)__builtin_popcountll(letters & ~name->letters) > limit ||
	    (unsigned)__builtin_popcountll(name->letters & ~letters) > limit)
		return -1;
	uint64_t work = (uint64_t)length * name->length;
	if (work > nearest->work)
		return -1;
	nearest->work -= work;
	unsigned edits = distance(name->base, name->length, symbol, length, limit);
	return edits > limit ? -1 : (int)(SCORE_DISTANCE + edits);
}

/* Implementations are named __memcpy_avx_unaligned, f_sse2, f.avx2.0. */
static int variant_of(const struct nearest_name *name, const char *symbol, size_t length)
{
	static const char resolver[] = ".resolver";
	size_t n = sizeof(resolver) - 1;

	if (length > n && memcmp(symbol + length - n, resolver, n) == 0)
		return -1;
	for (; length && *symbol == '_'; symbol++)
		length--;
	const char *base = name->base;
	size_t base_length = name->length;
	for (; base_length && *base == '_'; base++)
		base_length--;
	if (!base_length || length <= base_length || memcmp(symbol, base, base_length) != 0)
		return -1;
	return symbol[base_length] == '_' || symbol[base_length] == '.' ? 0 : -1;
}

static void keep(struct nearest_name *name, const char *symbol, size_t length, unsigned score)
{
	size_t room = name->variants ? NEAREST_VARIANTS : NEAREST_SHOWN, at = 0;

	for (size_t i = 0; i < name->n; i++)
		if (strlen(name->match[i].name) == length &&
		    memcmp(name->match[i].name, symbol, length) == 0)
			return;
	while (at < name->n && name->match[at].score <= score)
		at++;
	if (at == room)
		return;
	size_t moved = name->n < room ? name->n - at : room - 1 - at;
	memmove(&name->match[at + 1], &name->match[at], moved * sizeof(*name->match));
	memcpy(name->match[at].name, symbol, length);
	name->match[at].name[length] = '\0';
	name->match[at].score = score;
	if (name->n < room)
		name->n++;
}

void nearest_visit(void *context, const struct symbol *symbol)
{
	struct nearest *nearest = context;

	if (symbol->kind > SYMBOL_IFUNC || symbol->length > NEAREST_LONGEST ||
	    symbols_is_cold(symbol->name, symbol->length))
		return;
	uint64_t letters = letters_of(symbol->name, symbol->length);
	for (size_t i = 0; i < nearest->names.n; i++) {
		struct nearest_name *name = &nearest->names.at[i];
		if (name->length == 0 || name->length > NEAREST_LONGEST)
			continue;
		if (nearest->work == 0)
			return;
		nearest->work--;
		int score = name->variants ? variant_of(name, symbol->name, symbol->length)
					   : score_of(nearest, name, symbol->name, symbol->length,
						      letters);
		if (score >= 0 && !(symbol->kind == SYMBOL_IFUNC && name->variants))
			keep(name, symbol->name, symbol->length, (unsigned)score);
	}
}

void nearest_put(const struct nearest *nearest, size_t index, struct strbuf *out)
{
	const struct nearest_name *name = &nearest->names.at[index];

	for (size_t i = 0; i < name->n; i++) {
		if (i)
			strbuf_puts(out, i + 1 == name->n ? " or " : ", ");
		strbuf_puts(out, name->match[i].name);
	}
}
