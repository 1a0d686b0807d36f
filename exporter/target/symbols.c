/*
 * Streaming symbol tables in blocks. Format: gABI chapter 4 "Symbol Table".
 *
 * Some linkers sort names (lld -O2), so that the symbols' order jumps about in a string table that
 * is larger than its cache. A block is then shown in the order of its names.
 */
#include "target/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { BLOCK = 256 * 1024, READ_AT_ONCE = 2048 };

/* One symbol waiting in a block. */
struct waiting {
	Elf64_Sym entry;
	uint32_t source; /* the STT_FILE before it */
	uint16_t versym;
};

static int bad(struct err *err, const char *what)
{
	return err_set(err, -ENOEXEC, REASON_BAD_ELF, "is damaged or cut short: %s", what);
}

int symbols_open(struct symbols *symbols, const struct image *image, struct dynamic *dynamic,
		 struct err *err)
{
	const Elf64_Shdr *table = image_section(image, SHT_SYMTAB), *names;

	memset(symbols, 0, sizeof(*symbols));
	symbols->image = image;
	symbols->dynamic = dynamic;
	if (dynamic->n_symbols > SYMBOLS_MOST)
		return bad(err, "its dynamic symbol table has an impossible size");
	if (table) {
		if (table->sh_entsize != sizeof(Elf64_Sym) ||
		    table->sh_size / sizeof(Elf64_Sym) > SYMBOLS_MOST)
			return bad(err, "its symbol table has an impossible size");
		if (table->sh_link >= image->n_shdr)
			return bad(err, "its symbol table has no names");
		names = &image->shdr[table->sh_link];
		if (names->sh_type != SHT_STRTAB ||
		    !image_holds(image, names->sh_offset, names->sh_size))
			return bad(err, "the names of its symbols lie outside of the file");
		if (!image_holds(image, table->sh_offset, table->sh_size))
			return bad(err, "its symbol table lies outside of the file");
		symbols->offset = table->sh_offset;
		symbols->n = table->sh_size / sizeof(Elf64_Sym);
		symbols->has_table = symbols->n > 1;
		strings_init(&symbols->strings, image, names->sh_offset, names->sh_size);
	}
	versions_open(&symbols->versions, image, dynamic);
	return 0;
}

void symbols_close(struct symbols *symbols)
{
	strings_fini(&symbols->strings);
	versions_close(&symbols->versions);
	memset(symbols, 0, sizeof(*symbols));
}

static enum symbol_kind kind_of(const Elf64_Sym *entry)
{
	if (entry->st_shndx == SHN_UNDEF)
		return SYMBOL_UNDEFINED;
	switch (ELF64_ST_TYPE(entry->st_info)) {
	case STT_FUNC:
		return entry->st_shndx == SHN_ABS ? SYMBOL_ABSOLUTE : SYMBOL_FUNCTION;
	case STT_GNU_IFUNC:
		return SYMBOL_IFUNC;
	case STT_NOTYPE:
		return entry->st_shndx == SHN_ABS ? SYMBOL_ABSOLUTE : SYMBOL_UNTYPED;
	case STT_OBJECT:
	case STT_COMMON:
		return SYMBOL_DATA;
	case STT_TLS:
		return SYMBOL_THREAD_LOCAL;
	default:
		return SYMBOL_OTHER;
	}
}

/* Names in .symtab carry their version: foo@V1, foo@@V2. */
static void split_version(struct symbol *symbol)
{
	const char *at = memchr(symbol->name, '@', symbol->length);

	if (!at || at == symbol->name)
		return;
	symbol->length = (size_t)(at - symbol->name);
	symbol->is_default = at[1] == '@';
	symbol->version = at + 1 + symbol->is_default;
}

struct pass {
	struct symbols *symbols;
	struct strings *strings;
	bool dynamic;
	uint64_t offset, n;
	uint64_t versym_offset; /* 0: none */
	symbols_visit *visit;
	void *context;
	uint32_t source;	 /* the last STT_FILE's name */
	struct waiting *waiting; /* one block */
	size_t n_waiting;
};

static void show(struct pass *pass, const struct waiting *waiting)
{
	const Elf64_Sym *entry = &waiting->entry;
	struct symbol symbol = {
		.is_default = true,
		.dynamic = pass->dynamic,
		.kind = kind_of(entry),
		.bind = ELF64_ST_BIND(entry->st_info),
		.section = entry->st_shndx,
		.value = entry->st_value,
		.size = entry->st_size,
		.string = entry->st_name,
		.versym = waiting->versym,
	};

	symbol.name = strings_get(pass->strings, entry->st_name, &symbol.length);
	if (!symbol.name || symbol.length == 0)
		return;
	if (symbol.bind == STB_LOCAL)
		symbol.source = waiting->source;
	if (!pass->dynamic)
		split_version(&symbol);
	else
		symbol.version = versions_name(&pass->symbols->versions, waiting->versym,
					       &symbol.is_default);
	if (!symbol.version)
		symbol.is_default = true;
	pass->visit(pass->context, &symbol);
}

static int by_name(const void *left, const void *right)
{
	const struct waiting *a = left, *b = right;

	return (a->entry.st_name > b->entry.st_name) - (a->entry.st_name < b->entry.st_name);
}

static void show_block(struct pass *pass)
{
	if (pass->n_waiting && pass->strings->size > STRINGS_CACHE_BYTES)
		qsort(pass->waiting, pass->n_waiting, sizeof(*pass->waiting), by_name);
	for (size_t i = 0; i < pass->n_waiting; i++)
		show(pass, &pass->waiting[i]);
	pass->n_waiting = 0;
}

static void take(struct pass *pass, const Elf64_Sym *entry, uint16_t versym)
{
	if (ELF64_ST_TYPE(entry->st_info) == STT_FILE)
		pass->source = entry->st_name;
	else if (entry->st_name)
		pass->waiting[pass->n_waiting++] = (struct waiting){*entry, pass->source, versym};
}

static int read_some(struct pass *pass, uint64_t first, size_t n, struct err *err)
{
	const struct image *image = pass->symbols->image;
	Elf64_Sym entries[READ_AT_ONCE];
	uint16_t versyms[READ_AT_ONCE] = {0};

	if (image_read(image, pass->offset + first * sizeof(*entries), entries,
		       n * sizeof(*entries)))
		return bad(err, "its symbol table cannot be read");
	if (pass->versym_offset && image_read(image, pass->versym_offset + first * sizeof(*versyms),
					      versyms, n * sizeof(*versyms)))
		return bad(err, "the versions of its symbols cannot be read");
	for (size_t i = 0; i < n; i++)
		take(pass, &entries[i], versyms[i]);
	return 0;
}

static int each(struct pass *pass, struct err *err)
{
	_cleanup_free_ struct waiting *waiting =
		alloc_resize(NULL, pass->n < BLOCK ? pass->n : BLOCK, sizeof(*waiting));
	int rc = 0;

	pass->waiting = waiting;
	for (uint64_t done = 0; done < pass->n && !rc;) {
		size_t some = pass->n - done < READ_AT_ONCE ? pass->n - done : READ_AT_ONCE;
		rc = read_some(pass, done, some, err);
		done += some;
		if (pass->n_waiting > BLOCK - READ_AT_ONCE || done == pass->n)
			show_block(pass);
	}
	return rc;
}

int symbols_each_dynamic(struct symbols *symbols, symbols_visit *visit, void *context,
			 struct err *err)
{
	struct dynamic *dynamic = symbols->dynamic;
	struct pass pass = {
		.symbols = symbols,
		.strings = &dynamic->strings,
		.dynamic = true,
		.offset = dynamic->symbols_offset,
		.n = dynamic->n_symbols,
		.versym_offset = symbols->versions.versym_offset,
		.visit = visit,
		.context = context,
	};

	return each(&pass, err);
}

int symbols_each(struct symbols *symbols, symbols_visit *visit, void *context, struct err *err)
{
	struct pass pass = {
		.symbols = symbols,
		.strings = &symbols->strings,
		.offset = symbols->offset,
		.n = symbols->n,
		.visit = visit,
		.context = context,
	};
	int rc = each(&pass, err);

	return rc ? rc : symbols_each_dynamic(symbols, visit, context, err);
}

const char *symbols_source(struct symbols *symbols, uint64_t source)
{
	size_t length;
	const char *name = source ? strings_get(&symbols->strings, source, &length) : NULL;

	return name && length ? name : NULL;
}

bool symbols_is_cold(const char *name, size_t length)
{
	static const char mark[] = ".cold";
	const char *at = memmem(name, length, mark, sizeof(mark) - 1);

	if (!at || at == name)
		return false;
	const char *end = at + sizeof(mark) - 1;
	return end == name + length || *end == '.';
}
