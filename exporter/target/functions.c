/* The sorted table of function addresses. */
#include "target/functions.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_BACK 16 /* symbols looked back at: some lie within others */
#define UNTYPED	  4  /* ranks from here on are labels */

void functions_init(struct functions *functions, struct symbols *symbols)
{
	*functions = (struct functions){.symbols = symbols};
}

void functions_fini(struct functions *functions)
{
	vec_fini(&functions->all);
	free(functions->addresses);
	functions->addresses = NULL;
}

/* Exported, typed and non-local names first. */
static uint8_t rank_of(const struct symbol *symbol)
{
	return (uint8_t)(UNTYPED * (symbol->kind == SYMBOL_UNTYPED) + 2 * !symbol->dynamic +
			 (symbol->bind == STB_LOCAL));
}

void functions_visit(void *context, const struct symbol *symbol)
{
	struct functions *functions = context;

	if (symbol->kind > SYMBOL_IFUNC || functions->all.n == FUNCTIONS_MOST ||
	    !image_code_offset(functions->symbols->image, symbol->value, &(uint64_t){0}, NULL) ||
	    symbols_is_cold(symbol->name, symbol->length))
		return;
	*vec_push(&functions->all) = (struct function){
		.address = symbol->value,
		.size = symbol->size < UINT32_MAX ? (uint32_t)symbol->size : UINT32_MAX,
		.string = symbol->string,
		.dynamic = symbol->dynamic,
		.rank = rank_of(symbol),
	};
}

static int by_address(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank - b->rank;
	return (a->string > b->string) - (a->string < b->string);
}

/* Keep the best name of each address, with the largest size that any of its names has. */
static void merge(struct functions *functions)
{
	size_t n = 0;

	for (size_t i = 0; i < functions->all.n; i++) {
		const struct function *next = &functions->all.at[i];
		struct function *last = n ? &functions->all.at[n - 1] : NULL;
		if (!last || last->address != next->address)
			functions->all.at[n++] = *next;
		else if (next->size > last->size)
			last->size = next->size;
	}
	functions->all.n = n;
}

void functions_sort(struct functions *functions)
{
	if (functions->all.n)
		qsort(functions->all.at, functions->all.n, sizeof(*functions->all.at), by_address);
	merge(functions);
	functions->addresses = alloc_zero(functions->all.n, sizeof(*functions->addresses));
	for (size_t i = 0; i < functions->all.n; i++)
		functions->addresses[i] = functions->all.at[i].address;
}

/* The number of functions that begin before `address`. */
static size_t count_before(const struct functions *functions, uint64_t address)
{
	size_t low = 0, high = functions->all.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (functions->addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct function *functions_at(const struct functions *functions, uint64_t address)
{
	size_t i = count_before(functions, address);

	return i < functions->all.n && functions->addresses[i] == address ? &functions->all.at[i]
									  : NULL;
}

const struct function *functions_covering(const struct functions *functions, uint64_t address)
{
	size_t end = count_before(functions, address + 1);

	for (size_t i = end; i-- > 0 && end - i <= MOST_BACK;) {
		const struct function *function = &functions->all.at[i];
		uint64_t delta = address - function->address;
		if (function->rank < UNTYPED && (!delta || delta < function->size))
			return function;
	}
	return NULL;
}

uint64_t functions_next(const struct functions *functions, uint64_t address)
{
	size_t i = count_before(functions, address + 1);

	return i < functions->all.n ? functions->addresses[i] : 0;
}

const char *functions_name(const struct functions *functions, uint64_t address,
			   char name[FUNCTIONS_NAME_ROOM])
{
	const struct function *function = functions_at(functions, address);
	const char *text = NULL;
	size_t length;

	if (function)
		text = strings_get(function->dynamic ? &functions->symbols->dynamic->strings
						     : &functions->symbols->strings,
				   function->string, &length);
	if (text)
		snprintf(name, FUNCTIONS_NAME_ROOM, "%.*s", (int)FUNCTIONS_NAME_ROOM - 1, text);
	else
		snprintf(name, FUNCTIONS_NAME_ROOM, "0x%" PRIx64, address);
	return name;
}
