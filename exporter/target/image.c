/* Headers, segments, sections and notes of an ELF file, each checked against the file's size. */
#include "target/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/magic.h"

enum { MAX_NOTE_SEGMENT = 64 * 1024 };

bool image_holds(const struct image *image, uint64_t offset, uint64_t length)
{
	return offset <= image->size && length <= image->size - offset;
}

int image_read(const struct image *image, uint64_t offset, void *bytes, size_t length)
{
	char *to = bytes;

	if (!image_holds(image, offset, length))
		return -ENODATA;
	while (length) {
		ssize_t n = pread(image->fd, to, length, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) /* cut short since it was opened */
			return -ENODATA;
		to += n;
		offset += (uint64_t)n;
		length -= (size_t)n;
	}
	return 0;
}

static int bad(struct err *err, const char *what)
{
	return err_set(err, -ENOEXEC, REASON_BAD_ELF, "is damaged or cut short: %s", what);
}

static int read_ehdr(struct image *image, struct err *err)
{
	unsigned char start[sizeof(Elf64_Ehdr)] = {0};
	size_t length = image->size < sizeof(start) ? image->size : sizeof(start);
	int rc = image_read(image, 0, start, length);

	if (rc)
		return err_set(err, rc, REASON_BINARY_UNREADABLE, "cannot be read: %s",
			       strerror(-rc));
	rc = magic_check(start, length, err);
	if (rc)
		return rc;
	if (length < sizeof(start))
		return bad(err, "it ends within the ELF header");
	memcpy(&image->ehdr, start, sizeof(start));
	return 0;
}

static int read_shdrs(struct image *image, struct err *err)
{
	const Elf64_Ehdr *ehdr = &image->ehdr;
	Elf64_Shdr first;
	uint64_t n = ehdr->e_shnum;

	if (!ehdr->e_shoff)
		return 0;
	if (ehdr->e_shentsize != sizeof(Elf64_Shdr))
		return bad(err, "section headers of an unknown size");
	if (image_read(image, ehdr->e_shoff, &first, sizeof(first)))
		return bad(err, "its section headers lie outside of the file");
	if (n == 0) /* more than SHN_LORESERVE: the number is in the first header */
		n = first.sh_size;
	if (n > IMAGE_MAX_SHDRS)
		return bad(err, "too many sections");
	image->shdr = alloc_zero(n, sizeof(Elf64_Shdr));
	if (image_read(image, ehdr->e_shoff, image->shdr, n * sizeof(Elf64_Shdr)))
		return bad(err, "its section headers lie outside of the file");
	image->n_shdr = n;
	return 0;
}

static int read_phdrs(struct image *image, struct err *err)
{
	const Elf64_Ehdr *ehdr = &image->ehdr;
	size_t n = ehdr->e_phnum;

	if (n == 0)
		return 0;
	if (ehdr->e_phentsize != sizeof(Elf64_Phdr))
		return bad(err, "program headers of an unknown size");
	if (n > IMAGE_MAX_PHDRS)
		return bad(err, "too many program headers");
	image->phdr = alloc_zero(n, sizeof(Elf64_Phdr));
	if (image_read(image, ehdr->e_phoff, image->phdr, n * sizeof(Elf64_Phdr)))
		return bad(err, "its program headers lie outside of the file");
	image->n_phdr = n;
	return 0;
}

static int check_type(const struct image *image, struct err *err)
{
	const char *what;

	switch (image->ehdr.e_type) {
	case ET_EXEC:
	case ET_DYN:
		return 0;
	case ET_REL:
		what = "is an object file (.o): name the program or library it is linked into";
		break;
	case ET_CORE:
		what = "is a core dump";
		break;
	default:
		return bad(err, "it is of an unknown ELF type");
	}
	return err_set(err, -ENOEXEC, REASON_NOT_ELF, "%s", what);
}

/* What objcopy --only-keep-debug and eu-strip -f leave: names of code, but not the code. */
static bool is_debug_file(const struct image *image)
{
	bool any = false;

	for (size_t i = 0; i < image->n_shdr; i++) {
		const Elf64_Shdr *s = &image->shdr[i];
		if (!(s->sh_flags & SHF_EXECINSTR))
			continue;
		if (s->sh_type != SHT_NOBITS)
			return false;
		any = true;
	}
	return any;
}

static int check_loads(const struct image *image, struct err *err)
{
	bool executable = false;

	if (is_debug_file(image))
		return err_set(err, -ENOEXEC, REASON_NOT_ELF,
			       "is a separate debug file: name the program it belongs to");
	for (size_t i = 0; i < image->n_phdr; i++) {
		const Elf64_Phdr *p = &image->phdr[i];
		uint64_t end;
		if (p->p_type != PT_LOAD)
			continue;
		if (!image_holds(image, p->p_offset, p->p_filesz))
			return bad(err, "a loaded segment lies outside of the file");
		if (p->p_filesz > p->p_memsz ||
		    __builtin_add_overflow(p->p_vaddr, p->p_memsz, &end))
			return bad(err, "a loaded segment has an impossible size");
		executable |= (p->p_flags & PF_X) && p->p_filesz;
	}
	if (executable)
		return 0;
	return err_set(err, -ENOEXEC, REASON_NOT_ELF,
		       "holds no executable code (no executable PT_LOAD segment)");
}

int image_open(struct image *image, int fd, struct err *err)
{
	struct stat st;

	memset(image, 0, sizeof(*image));
	image->fd = fd;
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, REASON_BINARY_UNREADABLE, "cannot be read: %s",
			       strerror(errno));
	image->size = (uint64_t)st.st_size;
	int rc = read_ehdr(image, err);
	if (!rc)
		rc = check_type(image, err);
	if (!rc)
		rc = read_shdrs(image, err);
	if (!rc)
		rc = read_phdrs(image, err);
	if (!rc)
		rc = check_loads(image, err);
	if (rc)
		image_close(image);
	return rc;
}

void image_close(struct image *image)
{
	free(image->phdr);
	free(image->shdr);
	memset(image, 0, sizeof(*image));
	image->fd = -1;
}

static bool offset_in(const struct image *image, uint32_t flags, uint64_t address, uint64_t *offset,
		      uint64_t *room)
{
	for (size_t i = 0; i < image->n_phdr; i++) {
		const Elf64_Phdr *p = &image->phdr[i];
		if (p->p_type != PT_LOAD || (p->p_flags & flags) != flags || address < p->p_vaddr ||
		    address - p->p_vaddr >= p->p_filesz)
			continue;
		*offset = p->p_offset + (address - p->p_vaddr);
		if (room)
			*room = p->p_filesz - (address - p->p_vaddr);
		return true;
	}
	return false;
}

bool image_offset(const struct image *image, uint64_t address, uint64_t *offset, uint64_t *room)
{
	return offset_in(image, 0, address, offset, room);
}

bool image_code_offset(const struct image *image, uint64_t address, uint64_t *offset,
		       uint64_t *room)
{
	return offset_in(image, PF_X, address, offset, room);
}

bool image_code_address(const struct image *image, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < image->n_phdr; i++) {
		const Elf64_Phdr *p = &image->phdr[i];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) ||
		    offset - p->p_offset >= p->p_filesz)
			continue;
		*address = p->p_vaddr + (offset - p->p_offset);
		return true;
	}
	return false;
}

void image_exec_range(const struct image *image, uint64_t *offset, uint64_t *size)
{
	uint64_t first = UINT64_MAX, end = 0;

	for (size_t i = 0; i < image->n_phdr; i++) {
		const Elf64_Phdr *p = &image->phdr[i];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_filesz)
			continue;
		first = p->p_offset < first ? p->p_offset : first;
		end = p->p_offset + p->p_filesz > end ? p->p_offset + p->p_filesz : end;
	}
	*offset = end ? first : 0;
	*size = end ? end - first : 0;
}

const Elf64_Phdr *image_segment(const struct image *image, uint32_t type)
{
	for (size_t i = 0; i < image->n_phdr; i++)
		if (image->phdr[i].p_type == type)
			return &image->phdr[i];
	return NULL;
}

const Elf64_Shdr *image_section(const struct image *image, uint32_t type)
{
	for (size_t i = 0; i < image->n_shdr; i++)
		if (image->shdr[i].sh_type == type)
			return &image->shdr[i];
	return NULL;
}

const Elf64_Shdr *image_section_next(const struct image *image, const char *name,
				     const Elf64_Shdr *before)
{
	char found[64];
	size_t length = strlen(name) + 1, index = image->ehdr.e_shstrndx;

	if (index == SHN_XINDEX && image->n_shdr)
		index = image->shdr[0].sh_link;
	if (index >= image->n_shdr || length > sizeof(found))
		return NULL;
	const Elf64_Shdr *names = &image->shdr[index];
	for (size_t i = before ? (size_t)(before - image->shdr) + 1 : 0; i < image->n_shdr; i++) {
		uint64_t at = image->shdr[i].sh_name;
		if (at < names->sh_size && length <= names->sh_size - at &&
		    names->sh_offset <= image->size &&
		    !image_read(image, names->sh_offset + at, found, length) &&
		    memcmp(found, name, length) == 0)
			return &image->shdr[i];
	}
	return NULL;
}

const Elf64_Shdr *image_section_named(const struct image *image, const char *name)
{
	return image_section_next(image, name, NULL);
}

static size_t align_up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

/* Walk the notes in `bytes`: name and descriptor are padded to the segment's alignment. */
static size_t note_in(const unsigned char *bytes, size_t size, size_t align, const char *owner,
		      uint32_t type, void *desc, size_t room)
{
	size_t at = 0, owner_size = strlen(owner) + 1;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		memcpy(&note, bytes + at, sizeof(note));
		at += sizeof(note);
		if (note.n_namesz > size - at)
			return 0;
		const unsigned char *name = bytes + at;
		at = align_up(at + note.n_namesz, align);
		if (at > size || note.n_descsz > size - at)
			return 0;
		if (note.n_type == type && note.n_namesz == owner_size &&
		    memcmp(name, owner, owner_size) == 0) {
			memcpy(desc, bytes + at, note.n_descsz < room ? note.n_descsz : room);
			return note.n_descsz;
		}
		at = align_up(at + note.n_descsz, align);
		if (at > size)
			return 0;
	}
	return 0;
}

size_t image_note(const struct image *image, const char *owner, uint32_t type, void *desc,
		  size_t room)
{
	for (size_t i = 0; i < image->n_phdr; i++) {
		const Elf64_Phdr *p = &image->phdr[i];
		size_t size = p->p_filesz < MAX_NOTE_SEGMENT ? p->p_filesz : MAX_NOTE_SEGMENT;
		if (p->p_type != PT_NOTE)
			continue;
		_cleanup_free_ unsigned char *bytes = alloc_zero(size, 1);
		if (image_read(image, p->p_offset, bytes, size))
			continue;
		size_t n = note_in(bytes, size, p->p_align == 8 ? 8 : 4, owner, type, desc, room);
		if (n)
			return n;
	}
	return 0;
}

void image_build_id(const struct image *image, char text[IMAGE_BUILD_ID_ROOM])
{
	unsigned char id[(IMAGE_BUILD_ID_ROOM - 1) / 2];
	size_t n = image_note(image, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));

	text[0] = '\0';
	for (size_t i = 0; i < n && i < sizeof(id); i++)
		sprintf(text + 2 * i, "%02x", id[i]);
}
