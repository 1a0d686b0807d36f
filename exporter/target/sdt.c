/* Notes → sites: read, checked, sorted, each once. */
#include "target/sdt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "target/image.h"
#include "target/sdtcode.h"
#include "target/sdtsym.h"

#define SECTION	     ".note.stapsdt"
#define BASE_SECTION ".stapsdt.base"
#define OWNER	     "stapsdt"
#define TYPE	     3

struct reader {
	struct sdt *sdt;
	const struct image *image;
	struct arena *arena;
	uint64_t base;	/* address of .stapsdt.base; 0: there is none */
	uint64_t bytes; /* read of the sections so far */
	VEC(struct sdt_site) sites;
};

static void damaged(struct reader *reader, const char *text)
{
	if (!reader->sdt->damage)
		reader->sdt->damage = text;
}

static void refuse(struct sdt_site *site, const char *problem)
{
	if (site->reason)
		return;
	site->reason = REASON_BAD_ELF;
	site->problem = problem;
}

/* ---- one note ---- */

/*
 * The kernel counts in the file's page as a process has it, at a multiple of two bytes, so the
 * semaphore must be writable and in the file.
 */
static void place_semaphore(const struct reader *reader, struct sdt_site *site, uint64_t address)
{
	for (size_t i = 0; i < reader->image->n_phdr; i++) {
		const Elf64_Phdr *p = &reader->image->phdr[i];
		uint64_t delta = address - p->p_vaddr;
		if (p->p_type != PT_LOAD || address < p->p_vaddr || delta >= p->p_memsz)
			continue;
		if (!(p->p_flags & PF_W))
			refuse(site, "its semaphore is not in writable memory");
		else if (p->p_filesz < sizeof(uint16_t) || delta > p->p_filesz - sizeof(uint16_t))
			refuse(site, "its semaphore is not in the file, only in memory");
		else if ((p->p_offset + delta) % sizeof(uint16_t) || p->p_offset + delta == 0)
			refuse(site, "its semaphore is at an odd place");
		else
			site->semaphore = p->p_offset + delta;
		return;
	}
	refuse(site, "its semaphore is not in the file's memory");
}

/*
 * The three texts, of which the first two are not empty, must fill [text, end); some makers of
 * notes count the padding after them as well. True when they do.
 */
static bool split_texts(struct reader *reader, const char *text, const char *end,
			struct sdt_site *site)
{
	const char *texts[3];

	for (int i = 0; i < 3; i++) {
		const char *nul = memchr(text, '\0', (size_t)(end - text));
		if (!nul)
			return false;
		texts[i] = text;
		text = nul + 1;
	}
	while (text < end && !*text)
		text++;
	if (text != end || !*texts[0] || !*texts[1])
		return false;
	site->provider = arena_strdup(reader->arena, texts[0]);
	site->name = arena_strdup(reader->arena, texts[1]);
	site->args = arena_strdup(reader->arena, texts[2]);
	return true;
}

static bool read_wide(struct reader *reader, const char *desc, size_t size, struct sdt_site *site)
{
	uint64_t address[3], moved;

	if (size < sizeof(address) ||
	    !split_texts(reader, desc + sizeof(address), desc + size, site))
		return false;
	memcpy(address, desc, sizeof(address));
	moved = reader->base && address[1] ? reader->base - address[1] : 0;
	site->address = address[0] + moved;
	if (address[2])
		place_semaphore(reader, site, address[2] + moved);
	return true;
}

/* A note as an assembler for 32-bit programs makes it. */
static bool read_narrow(struct reader *reader, const char *desc, size_t size, struct sdt_site *site)
{
	uint32_t address[3];

	if (size < sizeof(address) ||
	    !split_texts(reader, desc + sizeof(address), desc + size, site))
		return false;
	memcpy(address, desc, sizeof(address));
	site->address = address[0];
	refuse(site, "its note is made for a 32-bit program");
	return true;
}

static bool in_code(const struct reader *reader, const struct sdt_site *site)
{
	uint64_t offset;

	return image_code_offset(reader->image, site->address, &offset, NULL);
}

/* A narrow note with long names may look like a wide one: its address then does not fit. */
static void add_note(struct reader *reader, const char *desc, size_t size)
{
	struct sdt_site wide = {0}, narrow = {0};
	bool is_wide = read_wide(reader, desc, size, &wide);

	if (is_wide && in_code(reader, &wide))
		*vec_push(&reader->sites) = wide;
	else if (read_narrow(reader, desc, size, &narrow) && (!is_wide || in_code(reader, &narrow)))
		*vec_push(&reader->sites) = narrow;
	else if (is_wide)
		*vec_push(&reader->sites) = wide;
	else
		damaged(reader, "a note in it is not as it should be");
}

/* ---- sections ---- */

static size_t align_up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

/* Read the note at `at`, which ends at *next; false when it does not fit. */
static int read_note(struct reader *reader, const char *bytes, size_t size, size_t at, size_t align,
		     size_t *next, struct err *err)
{
	Elf64_Nhdr note;
	size_t name = at + sizeof(note), desc;

	if (size - at < sizeof(note))
		return -ENODATA;
	memcpy(&note, bytes + at, sizeof(note));
	desc = align_up(name + note.n_namesz, align);
	if (desc > size || note.n_descsz > size - desc)
		return -ENODATA;
	*next = align_up(desc + note.n_descsz, align);
	if (note.n_type != TYPE || note.n_namesz != sizeof(OWNER) ||
	    memcmp(bytes + name, OWNER, sizeof(OWNER)) != 0)
		return 0;
	if (reader->sites.n == SDT_MOST)
		return err_set(err, -E2BIG, REASON_LIMIT, "has more than %d stapsdt notes",
			       SDT_MOST);
	add_note(reader, bytes + desc, note.n_descsz);
	return 0;
}

static int read_notes(struct reader *reader, const char *bytes, size_t size, size_t align,
		      struct err *err)
{
	for (size_t at = 0; at < size;) {
		int rc = read_note(reader, bytes, size, at, align, &at, err);
		if (rc == -ENODATA) {
			damaged(reader, "its notes are cut short");
			return 0;
		}
		if (rc)
			return rc;
	}
	return 0;
}

static int read_section(struct reader *reader, const Elf64_Shdr *section, struct err *err)
{
	_cleanup_free_ char *bytes = NULL;
	size_t align = section->sh_addralign == 8 ? 8 : 4;

	reader->sdt->has_notes = true;
	if (section->sh_type == SHT_NOBITS || (section->sh_flags & SHF_COMPRESSED)) {
		damaged(reader, section->sh_type == SHT_NOBITS ? "its notes were taken out"
							       : "its notes are compressed");
		return 0;
	}
	if (section->sh_size > SDT_MOST_BYTES - reader->bytes &&
	    image_holds(reader->image, section->sh_offset, section->sh_size))
		return err_set(err, -E2BIG, REASON_LIMIT, "has more than %d MiB of stapsdt notes",
			       SDT_MOST_BYTES >> 20);
	if (!image_holds(reader->image, section->sh_offset, section->sh_size)) {
		damaged(reader, "its notes lie outside of the file");
		return 0;
	}
	bytes = alloc_zero(section->sh_size, 1);
	reader->bytes += section->sh_size;
	if (image_read(reader->image, section->sh_offset, bytes, section->sh_size)) {
		damaged(reader, "its notes cannot be read");
		return 0;
	}
	return read_notes(reader, bytes, section->sh_size, align, err);
}

/* ---- sites ---- */

static int by_name(const void *left, const void *right)
{
	const struct sdt_site *a = left, *b = right;
	int order = strcmp(a->provider, b->provider);

	if (!order)
		order = strcmp(a->name, b->name);
	if (!order)
		order = (a->address > b->address) - (a->address < b->address);
	if (!order)
		order = strcmp(a->args, b->args);
	return order ? order : (a->semaphore > b->semaphore) - (a->semaphore < b->semaphore);
}

static bool same_site(const struct sdt_site *a, const struct sdt_site *b)
{
	return a->address == b->address && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->provider, b->provider) == 0;
}

/*
 * Optimising at link time can leave two notes of one site. Where they differ, neither can be
 * believed.
 */
static void merge(struct sdt_site *site, const struct sdt_site *other)
{
	if (site->semaphore != other->semaphore)
		refuse(site, "its notes give it different semaphores");
	if (other->reason)
		refuse(site, other->problem);
	if (strcmp(site->args, other->args) != 0) {
		site->args = "";
		site->remark = "its notes give it different arguments: none is read";
	}
}

static size_t merge_all(struct sdt_site *sites, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (kept && same_site(&sites[kept - 1], &sites[i]))
			merge(&sites[kept - 1], &sites[i]);
		else
			sites[kept++] = sites[i];
	}
	return kept;
}

static void settle(struct reader *reader)
{
	struct sdt *sdt = reader->sdt;

	if (reader->sites.n)
		qsort(reader->sites.at, reader->sites.n, sizeof(*reader->sites.at), by_name);
	sdt->n = merge_all(reader->sites.at, reader->sites.n);
	sdt->sites = arena_array(reader->arena, sdt->n, sizeof(*sdt->sites));
	if (sdt->n)
		memcpy(sdt->sites, reader->sites.at, sdt->n * sizeof(*sdt->sites));
	sdtcode_judge(reader->image, sdt->sites, sdt->n, reader->arena);
	sdtsym_read(sdt, reader->image, reader->arena);
}

int sdt_read(struct sdt *sdt, int fd, struct arena *arena, struct err *err)
{
	struct image image;
	struct reader reader = {.sdt = sdt, .image = &image, .arena = arena};
	const Elf64_Shdr *section = NULL;

	memset(sdt, 0, sizeof(*sdt));
	int rc = image_open(&image, fd, err);
	if (rc)
		return rc;
	sdt->machine = image.ehdr.e_machine;
	sdt->fixed = image.ehdr.e_type == ET_EXEC;
	if ((section = image_section_named(&image, BASE_SECTION)))
		reader.base = section->sh_addr;
	for (section = NULL; !rc && (section = image_section_next(&image, SECTION, section));)
		rc = read_section(&reader, section, err);
	if (!rc)
		settle(&reader);
	vec_fini(&reader.sites);
	image_close(&image);
	return rc;
}

const struct sdt_site *sdt_find(const struct sdt *sdt, const char *probe, size_t *n)
{
	size_t first = 0, end;

	while (first < sdt->n && !sdt_is(&sdt->sites[first], probe))
		first++;
	for (end = first; end < sdt->n && sdt_is(&sdt->sites[end], probe);)
		end++;
	*n = end - first;
	return *n ? &sdt->sites[first] : NULL;
}

bool sdt_is(const struct sdt_site *site, const char *probe)
{
	size_t length = strlen(site->provider);

	return strncmp(probe, site->provider, length) == 0 && probe[length] == ':' &&
	       strcmp(probe + length + 1, site->name) == 0;
}

size_t sdt_args(const struct sdt *sdt, const struct sdt_site *site, struct sdtarg *out, size_t room)
{
	struct sdtarg_site about = {
		.machine = sdt->machine,
		.address = site->address,
		.fixed = sdt->fixed,
		.symbol = sdtsym_address,
		.context = sdt->symbols,
	};

	return sdtarg_parse(site->args, &about, out, room);
}
