/*
 * The tables of what speaks against return probes, and the judgement. A row that is not listed
 * is a danger that is not seen, so the tables are wide: a false refusal costs a line of config, a
 * false permission a process.
 */
#include "target/evidence.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "target/company.h"
#include "target/switches.h"
#include "target/unwind.h"

enum { SHOWN = 4 };

enum {
	IN_STATIC_LIBC = 1, /* every static glibc program has it, called or not */
	IN_LIBRARIES = 2,   /* a needed library that imports it endangers the program's frames */
};

/* Functions that unwind, cancel or switch stacks, imported or compiled in. Sorted. */
static const struct {
	const char *name;
	unsigned where;
	const char *does;
} risky[] = {
	{"ASYNC_start_job", 0, "switches stacks"},
	{"SSL_waiting_for_async", 0, "switches stacks"},
	{"_Unwind_ForcedUnwind", IN_STATIC_LIBC, "unwinds the stack"},
	{"_Unwind_RaiseException", IN_STATIC_LIBC, "unwinds the stack"},
	{"_Unwind_Resume", IN_STATIC_LIBC, "unwinds the stack"},
	{"_Unwind_Resume_or_Rethrow", IN_STATIC_LIBC, "unwinds the stack"},
	{"__cxa_rethrow", 0, "throws C++ exceptions"},
	{"__cxa_throw", 0, "throws C++ exceptions"},
	{"__gcc_personality_v0", IN_STATIC_LIBC, "lets exceptions pass through C code"},
	{"__getcontext", 0, "switches stacks"},
	{"__gnat_personality_v0", 0, "belongs to Ada"},
	{"__gxx_personality_v0", 0, "belongs to C++"},
	{"__makecontext", IN_LIBRARIES, "switches stacks"},
	{"__morestack", IN_LIBRARIES, "moves or splits stacks"},
	{"__objc_personality_v0", 0, "belongs to Objective-C"},
	{"__setcontext", IN_LIBRARIES, "switches stacks"},
	{"__splitstack_makecontext", IN_LIBRARIES, "switches stacks"},
	{"__swapcontext", IN_LIBRARIES, "switches stacks"},
	{"aco_create", IN_LIBRARIES, "switches stacks"},
	{"boost_make_fcontext", IN_LIBRARIES, "switches stacks"},
	{"caml_startup", 0, "belongs to OCaml"},
	{"co_create", IN_LIBRARIES, "switches stacks"},
	{"co_resume", IN_LIBRARIES, "switches stacks"},
	{"co_switch", IN_LIBRARIES, "switches stacks"},
	{"coro_create", IN_LIBRARIES, "switches stacks"},
	{"coro_transfer", IN_LIBRARIES, "switches stacks"},
	{"getcontext", 0, "switches stacks"},
	{"hs_main", 0, "belongs to Haskell"},
	{"jump_fcontext", IN_LIBRARIES, "switches stacks"},
	{"make_fcontext", IN_LIBRARIES, "switches stacks"},
	{"makecontext", IN_LIBRARIES, "switches stacks"},
	{"mco_create", IN_LIBRARIES, "switches stacks"},
	{"objc_exception_throw", 0, "throws exceptions"},
	{"ontop_fcontext", IN_LIBRARIES, "switches stacks"},
	{"pth_spawn", IN_LIBRARIES, "switches stacks"},
	{"pthread_cancel", IN_LIBRARIES, "unwinds another thread's stack"},
	{"pthread_exit", 0, "unwinds the thread's stack"},
	{"qemu_coroutine_create", IN_LIBRARIES, "switches stacks"},
	{"rust_begin_unwind", 0, "belongs to Rust"},
	{"rust_eh_personality", 0, "belongs to Rust"},
	{"setcontext", IN_LIBRARIES, "switches stacks"},
	{"sigaltstack", IN_LIBRARIES, "lets signals run on another stack"},
	{"st_thread_create", IN_LIBRARIES, "switches stacks"},
	{"swapcontext", IN_LIBRARIES, "switches stacks"},
	{"swift_allocObject", 0, "belongs to Swift"},
	{"thrd_exit", 0, "unwinds the thread's stack"},
};

enum { N_RISKY = sizeof(risky) / sizeof(*risky) };

/* Starts of names that only another language's compiler makes: prefix, then one of `next`. */
static const struct {
	const char *prefix, *next, *language;
} mangled[] = {
	{"_Z", "0123456789NKLSTGZ", "C++ or Rust"},
	{"_R", "CMXYNI", "Rust"},
	{"_D", "123456789", "D"},
	{"$s", "0123456789S", "Swift"},
};

enum { N_MANGLED = sizeof(mangled) / sizeof(*mangled) };
_Static_assert(N_RISKY + N_MANGLED <= 64, "one bit of `seen` for each row");

/* Needed libraries, by the part of their soname before ".so" (or its start, with `*`). */
static const struct {
	const char *name, *does;
} libraries[] = {
	{"libstdc++", "the C++ runtime"},
	{"libc++", "a C++ runtime"},
	{"libc++abi", "a C++ runtime"},
	{"libcxxrt", "a C++ runtime"},
	{"libgcc_s", "the stack unwinder"},
	{"libunwind*", "a stack unwinder"},
	{"libboost_context*", "it switches stacks"},
	{"libboost_coroutine*", "it switches stacks"},
	{"libboost_fiber*", "it switches stacks"},
	{"libco", "it switches stacks"},
	{"libcoro", "it switches stacks"},
	{"libpth", "it switches stacks"},
	{"libnpth-stackless", "it switches stacks"},
	{"libst", "it switches stacks"},
	{"libtask", "it switches stacks"},
	{"libpcl", "it switches stacks"},
	{"libmill", "it switches stacks"},
	{"libdill", "it switches stacks"},
	{"libgo", "the Go runtime of gcc"},
	{"libgnat*", "the Ada runtime"},
	{"libgphobos", "the D runtime"},
	{"libphobos2*", "the D runtime"},
	{"libdruntime*", "the D runtime"},
	{"libobjc", "the Objective-C runtime"},
	{"libswiftCore", "the Swift runtime"},
	{"libstd-*", "the Rust runtime"},
	{"libasmrun*", "the OCaml runtime"},
	{"libluajit*", "it unwinds and switches stacks"},
};

static void against(struct evidence *evidence, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void against(struct evidence *evidence, const char *fmt, ...)
{
	char text[256];
	va_list args;

	evidence->n_against++;
	if (evidence->n_against > SHOWN)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	strbuf_puts(&evidence->why, evidence->n_against > 1 ? "; " : "");
	strbuf_puts(&evidence->why, text);
}

void evidence_fini(struct evidence *evidence)
{
	strbuf_fini(&evidence->why);
}

static int find_risky(const char *name, size_t length)
{
	size_t low = 0, high = N_RISKY;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strncmp(name, risky[middle].name, length);
		if (order == 0 && risky[middle].name[length] != '\0')
			order = -1;
		if (order == 0)
			return (int)middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

static int find_mangled(const char *name, size_t length)
{
	for (size_t i = 0; i < N_MANGLED; i++)
		if (length > 3 && name[0] == mangled[i].prefix[0] &&
		    name[1] == mangled[i].prefix[1] && strchr(mangled[i].next, name[2]))
			return (int)i;
	return -1;
}

/* Note a row once; whether it is new. */
static bool note(struct evidence *evidence, int row)
{
	uint64_t bit = UINT64_C(1) << row;
	bool is_new = !(evidence->seen & bit);

	evidence->seen |= bit;
	return is_new;
}

const char *evidence_of_import(const char *name, size_t length)
{
	int row = find_risky(name, length);

	return row >= 0 && risky[row].where & IN_LIBRARIES ? risky[row].does : NULL;
}

static bool is_named(const struct symbol *symbol, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(names[i]) == symbol->length &&
		    memcmp(names[i], symbol->name, symbol->length) == 0)
			return true;
	return false;
}

/* What the loader lets others in: plugins that are opened, functions that these may call. */
static void note_plugins(struct evidence *evidence, const struct symbol *symbol)
{
	static const char *const opens[] = {"dlopen", "dlmopen"};
	static const char *const jumps[] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"};

	if (!symbol->dynamic)
		return;
	if (symbol->kind == SYMBOL_UNDEFINED) {
		evidence->opens_plugins |= is_named(symbol, opens, 2);
		evidence->jumps |= is_named(symbol, jumps, 4);
	} else if (symbol->kind == SYMBOL_FUNCTION && symbol->bind == STB_GLOBAL) {
		evidence->n_exported++;
	}
}

void evidence_visit(void *context, const struct symbol *symbol)
{
	struct evidence *evidence = context;
	bool imported = symbol->kind == SYMBOL_UNDEFINED;
	int row = find_risky(symbol->name, symbol->length);

	note_plugins(evidence, symbol);
	if (row >= 0 && !(risky[row].where & IN_STATIC_LIBC && !evidence->dynamic_linked) &&
	    note(evidence, row))
		against(evidence, "it %s %s, which %s%s", imported ? "imports" : "contains",
			risky[row].name, risky[row].does,
			evidence->dynamic_linked
				? ""
				: " (in a static program, whether it is called cannot be seen)");
	/* The C library, which defines it, is not the one that uses it. */
	if (row >= 0 && strcmp(risky[row].name, "sigaltstack") == 0)
		evidence->altstack |= imported || !evidence->is_library;
	if (imported || symbol->kind > SYMBOL_IFUNC)
		return;
	row = find_mangled(symbol->name, symbol->length);
	if (row >= 0 && note(evidence, N_RISKY + row))
		against(evidence, "it has %s code of its own (%.100s)", mangled[row].language,
			symbol->name);
}

static bool library_matches(const char *pattern, const char *soname)
{
	size_t length = strlen(pattern);

	if (pattern[length - 1] == '*')
		return strncmp(soname, pattern, length - 1) == 0;
	return strncmp(soname, pattern, length) == 0 &&
	       (strncmp(soname + length, ".so", 3) == 0 || soname[length] == '-');
}

static void judge_libraries(struct evidence *evidence, const struct dynamic *dynamic)
{
	for (size_t i = 0; i < dynamic->n_needed; i++) {
		const char *slash = strrchr(dynamic->needed[i], '/');
		const char *soname = slash ? slash + 1 : dynamic->needed[i];
		for (size_t j = 0; j < sizeof(libraries) / sizeof(*libraries); j++) {
			if (!library_matches(libraries[j].name, soname))
				continue;
			against(evidence, "it needs %.100s, %s", soname, libraries[j].does);
			break;
		}
	}
}

/* The marks of the Go linker (cmd/link): two sections, a note, and a magic in the data. */
static bool has_go_build_info(const struct image *image)
{
	static const char magic[] = "\xff Go buildinf:";
	enum { LOOKED_AT = 64 * 1024, STEP = 16 };
	_cleanup_free_ char *bytes = alloc_zero(LOOKED_AT, 1);

	for (size_t i = 0, looked = 0; i < image->n_phdr && looked < 8; i++) {
		const Elf64_Phdr *p = &image->phdr[i];
		size_t n = p->p_filesz < LOOKED_AT ? p->p_filesz : LOOKED_AT;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
			continue;
		looked++;
		if (image_read(image, p->p_offset, bytes, n))
			continue;
		for (size_t at = 0; at + sizeof(magic) <= n; at += STEP)
			if (memcmp(bytes + at, magic, sizeof(magic) - 1) == 0)
				return true;
	}
	return false;
}

static bool is_go(const struct image *image)
{
	static const char *const sections[] = {".gopclntab", ".note.go.buildid", ".go.buildinfo",
					       ".data.rel.ro.gopclntab"};
	enum { GO_BUILD_ID = 4 };
	char desc[1];

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		if (image_section_named(image, sections[i]))
			return true;
	return image_note(image, "Go", GO_BUILD_ID, desc, sizeof(desc)) || has_go_build_info(image);
}

void evidence_init(struct evidence *evidence, const struct image *image,
		   const struct symbols *symbols)
{
	memset(evidence, 0, sizeof(*evidence));
	strbuf_init(&evidence->why);
	evidence->dynamic_linked = image_segment(image, PT_INTERP) || symbols->dynamic->n_needed;
	evidence->stripped = !symbols->has_table;

	evidence->go = is_go(image);
	if (evidence->go)
		against(evidence, "it holds Go code, whose stacks move");
	evidence->is_library = dynamic_is_library(symbols->dynamic, image);
	if (evidence->is_library)
		against(evidence, "it is a shared library, and what may call it is not known "
				  "(exceptions may pass through it)");
	if (!evidence->dynamic_linked && evidence->stripped)
		against(evidence, "it is a static program without symbols, and nothing shows what "
				  "is linked into it");
}

static void judge_frames(struct evidence *evidence, const struct image *image)
{
	/* A static glibc has C cleanup frames of its own; there the names are what tells. */
	if (!evidence->dynamic_linked)
		return;
	switch (unwind_personality(image)) {
	case UNWIND_NONE:
		break;
	case UNWIND_PERSONALITY:
		against(evidence,
			"its frame information names a personality routine: exceptions or "
			"cancellation are meant to pass through its code");
		break;
	case UNWIND_UNKNOWN:
		against(evidence, "its frame information cannot be read");
		break;
	}
}

/*
 * What a plugin that is written in C++ does to frames of the program that are between two of its
 * own is not known before it is there. A program that exports functions to its plugins and leaves
 * them by longjmp leaves the plugins' frames that way as well: those that rely on unwinding do
 * not work with it, and have to keep exceptions to themselves.
 */
static void judge_plugins(struct evidence *evidence)
{
	enum { A_FEW = 16 };

	if (evidence->opens_plugins && !(evidence->jumps && evidence->n_exported >= A_FEW))
		against(evidence, "it opens plugins (dlopen), and one that is written in C++ may "
				  "throw exceptions through its functions");
}

/* What takes longer is done only where nothing else is in the way. */
static void judge_code(struct evidence *evidence, const struct image *image,
		       const struct dynamic *dynamic, const struct functions *functions)
{
	struct strbuf found;

	strbuf_init(&found);
	if (switches_find(image, functions, !evidence->dynamic_linked, &found) ||
	    company_endangers(image, dynamic, &found))
		against(evidence, "%s", strbuf_text(&found));
	strbuf_fini(&found);
}

static void put_safe(struct evidence *evidence)
{
	strbuf_printf(&evidence->why,
		      "a plain C program: no C++, Rust or Go code of its own, and nothing among "
		      "its %s that unwinds, cancels or switches stacks",
		      evidence->dynamic_linked ? "imports and needed libraries" : "symbols");
	if (evidence->opens_plugins)
		strbuf_puts(&evidence->why,
			    "; plugins that it opens cannot unwind through its functions, which "
			    "it leaves by longjmp itself");
}

void evidence_conclude(struct evidence *evidence, const struct image *image,
		       const struct dynamic *dynamic, const struct functions *functions)
{
	judge_libraries(evidence, dynamic);
	judge_frames(evidence, image);
	judge_plugins(evidence);
	if (!evidence->n_against)
		judge_code(evidence, image, dynamic, functions);
	evidence->safe = evidence->n_against == 0;
	if (evidence->n_against > SHOWN)
		strbuf_printf(&evidence->why, "; and %zu more", evidence->n_against - SHOWN);
	if (evidence->safe)
		put_safe(evidence);
}
