/*
 * The dynamic segment. Formats: gABI chapter 5 "Dynamic Section"; the GNU hash table as binutils
 * and glibc (elf/dl-lookup.c) have it.
 */
#include "target/dynamic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
	MAX_ENTRIES = 4096,
	MAX_BUCKETS = 1 << 22,
	MAX_CHAIN = 1 << 24,
	READ_WORDS = 1024,
	TAGS = 38, /* the gABI's tags that are looked at are below */
};

/* The entries that matter, as they stand in the file: virtual addresses and string offsets. */
struct entries {
	uint64_t tag[TAGS]; /* by d_tag; 0 when absent */
	uint64_t gnu_hash, versym, verdef, n_verdef, flags_1;
	uint64_t needed[DYNAMIC_MAX_NEEDED];
	size_t n_needed;
	bool present[TAGS];
};

static int bad(struct err *err, const char *what)
{
	return err_set(err, -ENOEXEC, REASON_BAD_ELF, "is damaged or cut short: %s", what);
}

static void take_entry(struct entries *entries, const Elf64_Dyn *dyn)
{
	uint64_t value = dyn->d_un.d_val;

	switch (dyn->d_tag) {
	case DT_NEEDED:
		if (entries->n_needed < DYNAMIC_MAX_NEEDED)
			entries->needed[entries->n_needed++] = value;
		break;
	case DT_GNU_HASH:
		entries->gnu_hash = value;
		break;
	case DT_VERSYM:
		entries->versym = value;
		break;
	case DT_VERDEF:
		entries->verdef = value;
		break;
	case DT_VERDEFNUM:
		entries->n_verdef = value;
		break;
	case DT_FLAGS_1:
		entries->flags_1 = value;
		break;
	default:
		if (dyn->d_tag > 0 && dyn->d_tag < TAGS) {
			entries->tag[dyn->d_tag] = value;
			entries->present[dyn->d_tag] = true;
		}
	}
}

static int read_entries(struct entries *entries, const struct image *image,
			const Elf64_Phdr *segment, struct err *err)
{
	size_t n = segment->p_filesz / sizeof(Elf64_Dyn);
	_cleanup_free_ Elf64_Dyn *dyn = NULL;

	if (!image_holds(image, segment->p_offset, segment->p_filesz))
		return bad(err, "its dynamic segment lies outside of the file");
	n = n < MAX_ENTRIES ? n : MAX_ENTRIES;
	dyn = alloc_zero(n, sizeof(*dyn));
	if (image_read(image, segment->p_offset, dyn, n * sizeof(*dyn)))
		return bad(err, "its dynamic segment lies outside of the file");
	for (size_t i = 0; i < n && dyn[i].d_tag != DT_NULL; i++)
		take_entry(entries, &dyn[i]);
	return 0;
}

/* The last symbol in the chain that begins with symbol `index`; 0 when it does not end. */
static uint64_t chain_end(const struct image *image, uint64_t chains, uint64_t first,
			  uint64_t index)
{
	uint32_t words[READ_WORDS];

	for (uint64_t start = index; index - start < MAX_CHAIN;) {
		uint64_t at = chains + (index - first) * sizeof(uint32_t), n = READ_WORDS;
		if (at >= image->size)
			return 0;
		if (n > (image->size - at) / sizeof(uint32_t))
			n = (image->size - at) / sizeof(uint32_t);
		if (n == 0 || image_read(image, at, words, n * sizeof(uint32_t)))
			return 0;
		for (uint64_t i = 0; i < n; i++)
			if (words[i] & 1)
				return index + i;
		index += n;
	}
	return 0;
}

/* How many symbols a GNU hash table at `offset` covers; 0 when it covers none or is damaged. */
static uint64_t count_by_gnu_hash(const struct image *image, uint64_t offset)
{
	uint32_t head[4]; /* buckets, first hashed symbol, bloom words (64-bit), bloom shift */
	uint32_t words[READ_WORDS], last = 0;

	if (image_read(image, offset, head, sizeof(head)) || head[0] > MAX_BUCKETS)
		return 0;
	uint64_t buckets = offset + sizeof(head) + 8 * (uint64_t)head[2];
	for (uint32_t done = 0; done < head[0];) {
		uint32_t n = head[0] - done < READ_WORDS ? head[0] - done : READ_WORDS;
		if (image_read(image, buckets + 4 * (uint64_t)done, words, n * sizeof(uint32_t)))
			return 0;
		for (uint32_t i = 0; i < n; i++)
			last = words[i] > last ? words[i] : last;
		done += n;
	}
	if (last < head[1] || last == 0)
		return 0;
	uint64_t end = chain_end(image, buckets + 4 * (uint64_t)head[0], head[1], last);
	return end ? end + 1 : 0;
}

/* Without sections and hash: the table ends where the next table of the dynamic segment begins. */
static uint64_t count_by_neighbour(const struct entries *entries)
{
	const uint64_t others[] = {entries->tag[DT_STRTAB], entries->gnu_hash,
				   entries->versym,	    entries->verdef,
				   entries->tag[DT_HASH],   entries->tag[DT_RELA],
				   entries->tag[DT_JMPREL]};
	uint64_t start = entries->tag[DT_SYMTAB], end = UINT64_MAX;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i] > start && others[i] < end)
			end = others[i];
	return end == UINT64_MAX ? 0 : (end - start) / sizeof(Elf64_Sym);
}

static uint64_t count_symbols(const struct entries *entries, const struct image *image,
			      uint64_t symbols_offset)
{
	const Elf64_Shdr *section = image_section(image, SHT_DYNSYM);
	uint64_t offset, n;
	uint32_t head[2]; /* of DT_HASH: buckets, symbols */

	if (section && section->sh_offset == symbols_offset)
		return section->sh_size / sizeof(Elf64_Sym);
	if (entries->tag[DT_HASH] && image_offset(image, entries->tag[DT_HASH], &offset, NULL) &&
	    !image_read(image, offset, head, sizeof(head)))
		return head[1];
	if (entries->gnu_hash && image_offset(image, entries->gnu_hash, &offset, NULL)) {
		n = count_by_gnu_hash(image, offset);
		if (n)
			return n;
	}
	return count_by_neighbour(entries);
}

static int find_symbols(struct dynamic *dynamic, const struct entries *entries,
			const struct image *image, struct err *err)
{
	uint64_t offset, size = entries->tag[DT_STRSZ];

	if (!entries->present[DT_SYMTAB] || !entries->present[DT_STRTAB])
		return 0;
	if (!image_offset(image, entries->tag[DT_STRTAB], &offset, NULL) ||
	    !image_holds(image, offset, size))
		return bad(err, "its dynamic string table lies outside of the file");
	strings_init(&dynamic->strings, image, offset, size);
	if (!image_offset(image, entries->tag[DT_SYMTAB], &offset, NULL))
		return bad(err, "its dynamic symbol table lies outside of the file");
	dynamic->symbols_offset = offset;
	dynamic->n_symbols = count_symbols(entries, image, offset);
	if (dynamic->n_symbols > (image->size - offset) / sizeof(Elf64_Sym))
		return bad(err, "its dynamic symbol table lies outside of the file");
	return 0;
}

static char *string_copy(struct dynamic *dynamic, uint64_t at)
{
	size_t length;
	const char *text = strings_get(&dynamic->strings, at, &length);

	return text ? alloc_strdup(text) : NULL;
}

static void take_names(struct dynamic *dynamic, const struct entries *entries)
{
	if (entries->present[DT_SONAME])
		dynamic->soname = string_copy(dynamic, entries->tag[DT_SONAME]);
	if (entries->present[DT_RPATH])
		dynamic->rpath = string_copy(dynamic, entries->tag[DT_RPATH]);
	if (entries->present[DT_RUNPATH])
		dynamic->runpath = string_copy(dynamic, entries->tag[DT_RUNPATH]);
	for (size_t i = 0; i < entries->n_needed; i++) {
		char *name = string_copy(dynamic, entries->needed[i]);
		if (name)
			dynamic->needed[dynamic->n_needed++] = name;
	}
}

int dynamic_open(struct dynamic *dynamic, const struct image *image, struct err *err)
{
	const Elf64_Phdr *segment = image_segment(image, PT_DYNAMIC);
	struct entries entries = {0};

	memset(dynamic, 0, sizeof(*dynamic));
	if (!segment)
		return 0;
	int rc = read_entries(&entries, image, segment, err);
	if (!rc)
		rc = find_symbols(dynamic, &entries, image, err);
	if (rc) {
		dynamic_close(dynamic);
		return rc;
	}
	dynamic->present = true;
	dynamic->pie = entries.flags_1 & DF_1_PIE;
	dynamic->n_verdef = entries.n_verdef;
	if (entries.versym)
		image_offset(image, entries.versym, &dynamic->versym_offset, NULL);
	if (entries.verdef)
		image_offset(image, entries.verdef, &dynamic->verdef_offset, NULL);
	take_names(dynamic, &entries);
	return 0;
}

void dynamic_close(struct dynamic *dynamic)
{
	for (size_t i = 0; i < dynamic->n_needed; i++)
		free(dynamic->needed[i]);
	free(dynamic->soname);
	free(dynamic->rpath);
	free(dynamic->runpath);
	strings_fini(&dynamic->strings);
	memset(dynamic, 0, sizeof(*dynamic));
}

bool dynamic_is_library(const struct dynamic *dynamic, const struct image *image)
{
	if (image->ehdr.e_type == ET_EXEC || dynamic->pie)
		return false;
	return dynamic->soname || !image_segment(image, PT_INTERP) || !image->ehdr.e_entry;
}
