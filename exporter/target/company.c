/* Each object is judged by its imports, its frame information and its code; once while it stays
 * the same, since programs share most of their libraries. */
#include "target/company.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/vec.h"
#include "target/evidence.h"
#include "target/file.h"
#include "target/needed.h"
#include "target/proc.h"
#include "target/switches.h"
#include "target/symbols.h"
#include "target/unwind.h"

enum { PATH_ROOM = 4096, REMEMBERED = 512 };

/*
 * Imports of what takes exceptions out of their flight. Not there: what only cleans up as they
 * pass (_Unwind_Resume), and what only throws.
 */
static const char *const catches[] = {
	"__cxa_begin_catch",	   /* Itanium C++ ABI, 2.5.3 */
	"_Unwind_DeleteException", /* Rust, and runtimes that are linked in */
	"__gnat_begin_handler_v1", "__gdc_begin_catch", "_d_eh_enter_catch", "objc_begin_catch",
};

/* Objects that are let pass, by the start of the soname: entirely, or only some of what is asked.*/
static const struct {
	const char *soname;
	bool names, code; /* its imports, its code */
} trusted[] = {
	/* What they do to stacks is asked for by name, and seen in the imports of who asks. */
	{"ld-linux", true, true},
	{"ld-musl", true, true},
	{"libc.so", true, true},
	{"libpthread.so", true, true},
	{"libgcc_s.so", true, true},
	{"libstdc++.so", true, true},
	{"libc++.so", true, true},
	{"libc++abi.so", true, true},
	/* ASYNC_start_job, which is a row of the table of risky imports. */
	{"libcrypto.so", true, true},
	/* Ciphers and pictures in assembler, which aligns its stack in ways of its own. */
	{"libgnutls.so", false, true},
	{"libgcrypt.so", false, true},
	{"libjpeg.so", false, true},
	/* PostgreSQL's just-in-time compiler: C++, which is called and calls back in C, and whose
	 * exceptions end inside (LLVM is built without any). */
	{"llvmjit.so", true, false},
	{"libLLVM-", true, false},
	{"libz3.so", true, true},
	/* ffi_call goes on in a part of its caller's frame. */
	{"libffi.so", false, true},
};

struct verdict {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
	char text[160]; /* why it endangers frames; "": it does not */
};

/* The last ones, in turn: the main thread alone resolves targets. */
static struct verdict remembered[REMEMBERED];
static unsigned n_remembered;

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_trusted(const char *soname, bool code)
{
	for (size_t i = 0; i < sizeof(trusted) / sizeof(*trusted); i++)
		if (strncmp(soname, trusted[i].soname, strlen(trusted[i].soname)) == 0)
			return code ? trusted[i].code : trusted[i].names;
	return false;
}

/* ---- one object ---- */

struct look {
	const char *switches, *catches; /* what it imports for that; NULL */
	bool foreign_personality;	/* the runtime of its language is another object */
	char name[64];
};

static void visit_import(void *context, const struct symbol *symbol)
{
	struct look *look = context;

	if (symbol->kind != SYMBOL_UNDEFINED)
		return;
	const char *does = evidence_of_import(symbol->name, symbol->length);
	if (does && !look->switches) {
		look->switches = does;
		snprintf(look->name, sizeof(look->name), "%.*s", (int)symbol->length, symbol->name);
	}
	for (size_t i = 0; i < sizeof(catches) / sizeof(*catches); i++)
		if (strlen(catches[i]) == symbol->length &&
		    memcmp(catches[i], symbol->name, symbol->length) == 0)
			look->catches = catches[i];
	look->foreign_personality |=
		memmem(symbol->name, symbol->length, "_personality_", 13) != NULL;
}

static void judge_imports(const struct image *image, struct dynamic *dynamic, struct strbuf *text)
{
	struct look look = {0};
	struct symbols symbols;
	struct err err;

	if (symbols_open(&symbols, image, dynamic, &err) != 0)
		return;
	symbols_each_dynamic(&symbols, visit_import, &look, &err);
	symbols_close(&symbols);
	if (look.switches)
		strbuf_printf(text, "it imports %s, which %s", look.name, look.switches);
	else if (look.catches)
		strbuf_printf(text, "it catches exceptions (%s)", look.catches);
	else if (!look.foreign_personality && unwind_personality(image) == UNWIND_PERSONALITY)
		strbuf_puts(text, "it may catch exceptions, with a runtime of its own");
}

static void judge_object(const struct image *image, struct dynamic *dynamic, const char *soname,
			 struct strbuf *text)
{
	if (!is_trusted(soname, false))
		judge_imports(image, dynamic, text);
	if (!text->length && !is_trusted(soname, true))
		switches_find(image, NULL, false, text);
}

/* The verdict on an open object; borrowed until the next call. */
static const char *verdict_on(const struct image *image, struct dynamic *dynamic, const char *path)
{
	struct strbuf text;
	struct stat st;

	if (fstat(image->fd, &st) != 0)
		return "";
	for (size_t i = 0; i < REMEMBERED; i++) {
		const struct verdict *verdict = &remembered[i];
		if (verdict->ino == st.st_ino && verdict->dev == st.st_dev &&
		    verdict->size == st.st_size &&
		    memcmp(&verdict->changed, &st.st_ctim, sizeof(st.st_ctim)) == 0)
			return verdict->text;
	}
	struct verdict *verdict = &remembered[n_remembered++ % REMEMBERED];
	*verdict = (struct verdict){st.st_dev, st.st_ino, st.st_size, st.st_ctim, ""};
	strbuf_init(&text);
	judge_object(image, dynamic, dynamic->soname ? dynamic->soname : base_name(path), &text);
	snprintf(verdict->text, sizeof(verdict->text), "%s", strbuf_text(&text));
	strbuf_fini(&text);
	return verdict->text;
}

/* ---- needed libraries ---- */

static bool visit_needed(void *context, const char *path, const struct image *image,
			 struct dynamic *dynamic)
{
	struct strbuf *why = context;
	const char *text = verdict_on(image, dynamic, path);

	if (*text)
		strbuf_printf(why, "%.200s, which it needs: %s", base_name(path), text);
	return !*text;
}

/* ---- mapped objects ---- */

struct object {
	dev_t dev;
	ino_t ino;
};

struct mapped {
	pid_t pid;
	struct strbuf *why;
	struct arena arena;
	struct stat program;
	VEC(struct object) seen;
};

static bool is_new(struct mapped *mapped, const struct proc_mapping *mapping)
{
	if (mapping->ino == mapped->program.st_ino || mapped->seen.n == COMPANY_MOST_OBJECTS)
		return false;
	for (size_t i = 0; i < mapped->seen.n; i++)
		if (mapped->seen.at[i].ino == mapping->ino &&
		    mapped->seen.at[i].dev == mapping->dev)
			return false;
	*vec_push(&mapped->seen) = (struct object){mapping->dev, mapping->ino};
	return true;
}

static void look_at(struct mapped *mapped, const char *shown)
{
	char path[PATH_ROOM];
	struct dynamic dynamic;
	struct image image;
	struct file file;
	struct err err;
	int n = snprintf(path, sizeof(path), "/proc/%d/root%s", (int)mapped->pid, shown);

	if (n >= PATH_ROOM || file_open(&file, path, &mapped->arena, &err) != 0)
		return;
	if (image_open(&image, file.fd, &err) == 0) {
		if (dynamic_open(&dynamic, &image, &err) == 0) {
			const char *text = verdict_on(&image, &dynamic, shown);
			if (*text)
				strbuf_printf(mapped->why,
					      "%.200s, which process %d has mapped: %s", shown,
					      (int)mapped->pid, text);
			dynamic_close(&dynamic);
		}
		image_close(&image);
	}
	close(file.fd);
}

static void visit_mapping(void *context, const struct proc_mapping *mapping)
{
	struct mapped *mapped = context;

	if (!mapped->why->length && mapping->executable && mapping->path[0] == '/' &&
	    is_new(mapped, mapping))
		look_at(mapped, mapping->path);
}

static void judge_mapped(const struct image *image, struct strbuf *why)
{
	pid_t pids[COMPANY_MOST_PROCESSES];
	struct mapped mapped = {.why = why};

	if (fstat(image->fd, &mapped.program) != 0)
		return;
	size_t n = proc_running(mapped.program.st_dev, mapped.program.st_ino, pids,
				COMPANY_MOST_PROCESSES);
	arena_init(&mapped.arena);
	for (size_t i = 0; i < n && !why->length; i++) {
		mapped.pid = pids[i];
		proc_visit(pids[i], visit_mapping, &mapped);
	}
	arena_fini(&mapped.arena);
	vec_fini(&mapped.seen);
}

bool company_endangers(const struct image *image, const struct dynamic *dynamic, struct strbuf *why)
{
	char link[64], path[PATH_ROOM] = "";
	struct arena arena;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", image->fd);
	ssize_t length = readlink(link, path, sizeof(path) - 1);
	if (length > 0)
		path[length] = '\0';
	arena_init(&arena);
	needed_each(path, dynamic, visit_needed, why, &arena);
	arena_fini(&arena);
	if (!why->length)
		judge_mapped(image, why);
	return why->length;
}
