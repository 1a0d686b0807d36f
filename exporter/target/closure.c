/*
 * A graph of who calls whom, found as far as it is asked for. A search from one function visits
 * what it reaches, nearest first, and ends at the first that calls out.
 */
#include "target/closure.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "target/body.h"
#include "target/code_return.h"
#include "target/fde.h"

#define SHOWN	   3  /* names of a chain of calls */
#define MOST_JUMPS 64 /* functions looked at along jumps */

/* Functions of the C library that look at their return address. */
static const char *const asks_caller[] = {
	"setjmp", "_setjmp", "sigsetjmp",  "__sigsetjmp", "savectx", "getcontext", "swapcontext",
	"vfork",  "__vfork", "dlopen",	   "dlmopen",	  "dlsym",   "dlvsym",	   "__libc_dlsym",
	"mcount", "_mcount", "__fentry__", "dlfunc",	  "dlinfo",
};

/*
 * Functions of the C library that never unwind, switch stacks or call back. ISO C 7.24, 7.29.4 and
 * their relatives; what ends the process (nothing comes back through the frames above, nor is
 * unwound); and how the loader finds thread-local variables and settings. Sorted.
 */
static const struct {
	const char *name;
	bool ends; /* the process: true for a definition in the file as well */
} harmless[] = {
	{"_Exit", true},
	{"__assert", true},
	{"__assert_fail", true},
	{"__assert_perror_fail", true},
	{"__chk_fail", true},
	{"__errno_location", false},
	{"__fortify_fail", true},
	{"__libc_fatal", true},
	{"__memcpy_chk", false},
	{"__memmove_chk", false},
	{"__mempcpy_chk", false},
	{"__memset_chk", false},
	{"__stack_chk_fail", true},
	{"__stpcpy_chk", false},
	{"__strcat_chk", false},
	{"__strcpy_chk", false},
	{"__strncat_chk", false},
	{"__strncpy_chk", false},
	{"__tls_get_addr", false},
	{"__tunable_get_val", false},
	{"_exit", true},
	{"abort", true},
	{"bcmp", false},
	{"bcopy", false},
	{"bzero", false},
	{"ffs", false},
	{"index", false},
	{"memccpy", false},
	{"memchr", false},
	{"memcmp", false},
	{"memcpy", false},
	{"memmem", false},
	{"memmove", false},
	{"mempcpy", false},
	{"memrchr", false},
	{"memset", false},
	{"rawmemchr", false},
	{"rindex", false},
	{"stpcpy", false},
	{"stpncpy", false},
	{"strcasecmp", false},
	{"strcat", false},
	{"strchr", false},
	{"strchrnul", false},
	{"strcmp", false},
	{"strcpy", false},
	{"strcspn", false},
	{"strlen", false},
	{"strncasecmp", false},
	{"strncat", false},
	{"strncmp", false},
	{"strncpy", false},
	{"strnlen", false},
	{"strpbrk", false},
	{"strrchr", false},
	{"strsep", false},
	{"strspn", false},
	{"strstr", false},
	{"strtok_r", false},
	{"wcschr", false},
	{"wcscmp", false},
	{"wcscpy", false},
	{"wcslen", false},
	{"wcsncmp", false},
	{"wcsnlen", false},
	{"wcsrchr", false},
	{"wmemchr", false},
	{"wmemcmp", false},
	{"wmemcpy", false},
	{"wmemmove", false},
	{"wmemset", false},
};

enum { N_HARMLESS = sizeof(harmless) / sizeof(harmless[0]) };

static bool is_harmless(const char *name, bool defined_here)
{
	size_t low = 0, high = N_HARMLESS;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, harmless[middle].name);
		if (order == 0)
			return harmless[middle].ends || !defined_here;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

void closure_init(struct closure *closure, const struct functions *functions)
{
	*closure = (struct closure){.image = functions->symbols->image, .functions = functions};
	slots_init(&closure->slots, closure->image, functions->symbols->dynamic);
}

void closure_fini(struct closure *closure)
{
	for (size_t i = 0; i < closure->nodes.n; i++) {
		free(closure->nodes.at[i].why);
		free(closure->nodes.at[i].return_use);
	}
	vec_fini(&closure->nodes);
	vec_fini(&closure->callees);
	vec_fini(&closure->queue);
	free(closure->place);
	slots_fini(&closure->slots);
}

/* ---- nodes ---- */

static size_t place_of(const struct closure *closure, uint64_t address)
{
	size_t at = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & (closure->n_places - 1);

	while (closure->place[at] && closure->nodes.at[closure->place[at] - 1].address != address)
		at = (at + 1) & (closure->n_places - 1);
	return at;
}

static void grow(struct closure *closure)
{
	closure->n_places = closure->n_places ? 2 * closure->n_places : 64;
	free(closure->place);
	closure->place = alloc_zero(closure->n_places, sizeof(*closure->place));
	for (size_t i = 0; i < closure->nodes.n; i++)
		closure->place[place_of(closure, closure->nodes.at[i].address)] = (uint32_t)i + 1;
}

static uint32_t node_at(struct closure *closure, uint64_t address)
{
	if (2 * (closure->nodes.n + 1) > closure->n_places)
		grow(closure);
	size_t at = place_of(closure, address);
	if (!closure->place[at]) {
		*vec_push(&closure->nodes) =
			(struct closure_node){.address = address, .next = CODE_NONE};
		closure->place[at] = (uint32_t)closure->nodes.n;
	}
	return closure->place[at] - 1;
}

__attribute__((format(printf, 3, 4))) static void opens(struct closure *closure, uint32_t index,
							const char *fmt, ...)
{
	struct closure_node *node = &closure->nodes.at[index];
	char text[256];
	va_list args;

	if (node->why)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	node->why = alloc_strdup(text);
	node->state = CLOSURE_OPEN;
}

static void calls(struct closure *closure, uint32_t index, uint64_t address, bool by_jump)
{
	*vec_push(&closure->callees) = (struct closure_callee){address, by_jump};
	closure->nodes.at[index].n_callees++;
}

static void uses_return(struct closure *closure, uint32_t index, const char *how)
{
	struct closure_node *node = &closure->nodes.at[index];

	if (!node->return_use)
		node->return_use = alloc_strdup(how);
}

static void calls_import(struct closure *closure, uint32_t index, const char *name, bool by_jump)
{
	if (!name || !is_harmless(name, false))
		opens(closure, index, "calls %.100s of another file", name ? name : "a function");
	for (size_t i = 0; by_jump && name && i < sizeof(asks_caller) / sizeof(*asks_caller); i++)
		if (strcmp(name, asks_caller[i]) == 0)
			uses_return(closure, index,
				    "it goes on to a function that looks at the "
				    "return address, which a return probe replaces");
}

/* The node goes on through the pointer at `address`; 0: through one that is not known. */
static void calls_slot(struct closure *closure, uint32_t index, uint64_t address, bool by_jump)
{
	struct slot slot = slots_find(&closure->slots, address);
	char room[FUNCTIONS_NAME_ROOM];
	const char *name;

	switch (slot.kind) {
	case SLOT_UNKNOWN:
		opens(closure, index, "calls through a pointer");
		break;
	case SLOT_IMPORT:
		calls_import(closure, index, slots_import(&closure->slots, &slot), by_jump);
		break;
	case SLOT_LOCAL:
		calls(closure, index, slot.value, by_jump);
		break;
	case SLOT_RESOLVER:
		name = functions_name(closure->functions, slot.value, room);
		if (!is_harmless(name, false) &&
		    (strncmp(name, "__", 2) != 0 || !is_harmless(name + 2, false)))
			opens(closure, index,
			      "calls the IFUNC %.100s, whose code is chosen at run time", name);
		break;
	}
}

static void take_exits(struct closure *closure, uint32_t index, const struct code *code)
{
	for (size_t i = 0; i < code->exits.n; i++) {
		const struct code_exit *exit = &code->exits.at[i];
		if (!exit->depth_known)
			opens(closure, index, "may leave with another stack");
		if (exit->kind == CODE_JUMP_INDIRECT)
			calls_slot(closure, index, exit->target, true);
		else if (exit->kind != CODE_RETURN)
			calls(closure, index, exit->target, true);
	}
}

static void take_return(struct closure *closure, uint32_t index, const struct code *code)
{
	char insn[CODE_TEXT_ROOM], text[256];
	uint64_t at;

	if (!code_return_is_used(code, &at))
		return;
	code_text(code, at, insn);
	snprintf(text, sizeof(text),
		 "it uses its own return address (\"%.60s\" at +0x%" PRIx64
		 "), which a return probe replaces",
		 insn, at - code->region[0].address);
	uses_return(closure, index, text);
}

void closure_add(struct closure *closure, const struct code *code)
{
	char name[FUNCTIONS_NAME_ROOM];

	if (!code->n_regions)
		return;
	uint32_t index = node_at(closure, code->region[0].address);
	struct closure_node *node = &closure->nodes.at[index];
	if (node->known)
		return;
	node->known = true;
	take_return(closure, index, code);
	if (is_harmless(functions_name(closure->functions, node->address, name), true))
		return;
	node->bytes = (uint32_t)code->size;
	node->first_callee = (uint32_t)closure->callees.n;
	if (!code->complete)
		opens(closure, index, "is not understood (%.180s)", code->why);
	if (code->n_indirect_calls)
		opens(closure, index, "makes an indirect call");
	for (size_t i = 0; i < code->calls.n; i++) {
		if (code->calls.at[i].slot)
			calls_slot(closure, index, code->calls.at[i].target, false);
		else
			calls(closure, index, code->calls.at[i].target, false);
	}
	take_exits(closure, index, code);
}

/* A function does not go on into another section. */
static uint64_t to_section_end(const struct image *image, uint64_t address, uint64_t room)
{
	for (size_t i = 0; i < image->n_shdr; i++) {
		const Elf64_Shdr *section = &image->shdr[i];
		uint64_t at = address - section->sh_addr;
		if (section->sh_flags & SHF_EXECINSTR && at < section->sh_size &&
		    section->sh_size - at < room)
			room = section->sh_size - at;
	}
	return room;
}

uint64_t closure_size(const struct functions *functions, uint64_t address)
{
	const struct image *image = functions->symbols->image;
	const struct function *function = functions_at(functions, address);
	uint64_t next, offset, room;
	struct fde fde;

	if (function && function->size)
		return function->size;
	if (fde_find(image, address, &fde) == 0 && fde.address == address)
		return fde.size;
	next = functions_next(functions, address);
	if (!function || !image_code_offset(image, address, &offset, &room))
		return 0;
	room = to_section_end(image, address, room);
	return next && next - address < room ? next - address : room;
}

/* Decode the function of a node that is not known yet. */
static void explore(struct closure *closure, uint32_t index)
{
	uint64_t address = closure->nodes.at[index].address, slot, size;
	char name[FUNCTIONS_NAME_ROOM];
	struct body body;

	if (is_harmless(functions_name(closure->functions, address, name), true)) {
		closure->nodes.at[index].known = true;
		return;
	}
	if (slots_is_stub(&closure->slots, address, &slot)) {
		closure->nodes.at[index].known = true;
		closure->nodes.at[index].is_stub = true;
		closure->nodes.at[index].first_callee = (uint32_t)closure->callees.n;
		calls_slot(closure, index, slot, true);
		return;
	}
	size = closure_size(closure->functions, address);
	if (!size || size > CLOSURE_MOST_BYTES) {
		closure->nodes.at[index].known = true;
		opens(closure, index, size ? "is too large" : "is not a known function");
		return;
	}
	body_decode(&body, closure->image, address, size, closure->functions->addresses,
		    closure->functions->all.n);
	if (body.code.n_regions)
		closure_add(closure, &body.code);
	else
		opens(closure, index, "is not understood (%.180s)", body.code.why);
	closure->nodes.at[index].known = true;
	body_free(&body);
}

/* ---- searching ---- */

static void enqueue(struct closure *closure, uint32_t index, uint32_t from)
{
	struct closure_node *node = &closure->nodes.at[index];

	if (node->visit == closure->n_visits || node->state == CLOSURE_CLOSED)
		return;
	node->visit = closure->n_visits;
	node->from = from;
	*vec_push(&closure->queue) = index;
}

static void enqueue_jump(struct closure *closure, uint64_t address)
{
	uint32_t index = node_at(closure, address);
	struct closure_node *node = &closure->nodes.at[index];

	if (node->visit == closure->n_visits)
		return;
	node->visit = closure->n_visits;
	*vec_push(&closure->queue) = index;
}

/* Everything on the way from the start to the node `index` calls out too. */
static void mark_open(struct closure *closure, uint32_t index)
{
	for (uint32_t next = index;;) {
		uint32_t from = closure->nodes.at[next].from;
		if (from == CODE_NONE)
			return;
		closure->nodes.at[from].state = CLOSURE_OPEN;
		closure->nodes.at[from].next = next;
		next = from;
	}
}

const char *closure_return_use(struct closure *closure, uint64_t address)
{
	closure->n_visits++;
	closure->queue.n = 0;
	*vec_push(&closure->queue) = node_at(closure, address);
	for (size_t i = 0; i < closure->queue.n && i < MOST_JUMPS; i++) {
		uint32_t index = closure->queue.at[i];
		if (!closure->nodes.at[index].known)
			explore(closure, index);
		const struct closure_node *node = &closure->nodes.at[index];
		if (node->return_use)
			return node->return_use;
		for (uint32_t j = 0, first = node->first_callee, n = node->n_callees; j < n; j++)
			if (closure->callees.at[first + j].by_jump)
				enqueue_jump(closure, closure->callees.at[first + j].address);
	}
	return NULL;
}

static void search(struct closure *closure, uint32_t start)
{
	uint64_t bytes = 0;

	closure->n_visits++;
	closure->queue.n = 0;
	enqueue(closure, start, CODE_NONE);
	for (size_t i = 0; i < closure->queue.n; i++) {
		uint32_t index = closure->queue.at[i];
		if (!closure->nodes.at[index].known)
			explore(closure, index);
		struct closure_node *node = &closure->nodes.at[index];
		bytes += node->bytes;
		if (node->state == CLOSURE_OPEN) {
			mark_open(closure, index);
			return;
		}
		if (i >= CLOSURE_MOST_FUNCTIONS || bytes > CLOSURE_MOST_BYTES) {
			opens(closure, start, "reaches more code than is looked at");
			return;
		}
		for (uint32_t j = 0, first = node->first_callee, n = node->n_callees; j < n; j++)
			enqueue(closure, node_at(closure, closure->callees.at[first + j].address),
				index);
	}
	for (size_t i = 0; i < closure->queue.n; i++)
		closure->nodes.at[closure->queue.at[i]].state = CLOSURE_CLOSED;
}

/* "it calls a, which calls b, which makes an indirect call" */
static void put_open(const struct closure *closure, uint32_t index, struct strbuf *why)
{
	char name[FUNCTIONS_NAME_ROOM];
	unsigned n = 0;

	strbuf_puts(why, "it ");
	while (closure->nodes.at[index].next != CODE_NONE && !closure->nodes.at[index].why) {
		index = closure->nodes.at[index].next;
		if (!closure->nodes.at[index].is_stub && n++ < SHOWN)
			strbuf_printf(why, "calls %s, which ",
				      functions_name(closure->functions,
						     closure->nodes.at[index].address, name));
	}
	if (n > SHOWN)
		strbuf_printf(why, "through %u more ", n - SHOWN);
	strbuf_puts(why, closure->nodes.at[index].why);
}

bool closure_is_closed(struct closure *closure, uint64_t address, struct strbuf *why)
{
	uint32_t start = node_at(closure, address);

	closure->queue.n = 0;
	if (closure->nodes.at[start].state == CLOSURE_UNKNOWN)
		search(closure, start);
	const struct closure_node *node = &closure->nodes.at[start];
	if (node->state == CLOSURE_OPEN) {
		put_open(closure, start, why);
		return false;
	}
	strbuf_puts(why, node->n_callees ? "nothing that it calls leads out of the file"
					 : "it calls nothing");
	return true;
}
