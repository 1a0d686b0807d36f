/* Relocations of pointers, sorted by the pointer's address. */
#include "target/slots.h"

#include <string.h>

enum { READ_AT_ONCE = 1024 };

void slots_init(struct slots *slots, const struct image *image, struct dynamic *dynamic)
{
	*slots = (struct slots){.image = image, .dynamic = dynamic};
}

void slots_fini(struct slots *slots)
{
	vec_fini(&slots->all);
}

static const struct {
	uint16_t machine;
	uint32_t type;
	enum slot_kind kind;
} types[] = {
	{EM_X86_64, R_X86_64_JUMP_SLOT, SLOT_IMPORT},
	{EM_X86_64, R_X86_64_GLOB_DAT, SLOT_IMPORT},
	{EM_X86_64, R_X86_64_RELATIVE, SLOT_LOCAL},
	{EM_X86_64, R_X86_64_IRELATIVE, SLOT_RESOLVER},
	{EM_AARCH64, R_AARCH64_JUMP_SLOT, SLOT_IMPORT},
	{EM_AARCH64, R_AARCH64_GLOB_DAT, SLOT_IMPORT},
	{EM_AARCH64, R_AARCH64_RELATIVE, SLOT_LOCAL},
	{EM_AARCH64, R_AARCH64_IRELATIVE, SLOT_RESOLVER},
};

static void add(struct slots *slots, const Elf64_Rela *rela)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].machine != slots->image->ehdr.e_machine ||
		    types[i].type != ELF64_R_TYPE(rela->r_info) || slots->all.n == SLOTS_MOST)
			continue;
		*vec_push(&slots->all) = (struct slot){
			.address = rela->r_offset,
			.value = types[i].kind == SLOT_IMPORT ? ELF64_R_SYM(rela->r_info)
							      : (uint64_t)rela->r_addend,
			.kind = types[i].kind,
		};
		return;
	}
}

static void read_table(struct slots *slots, uint64_t offset, uint64_t size)
{
	Elf64_Rela block[READ_AT_ONCE];

	if (!image_holds(slots->image, offset, size) ||
	    size / sizeof(*block) > SLOTS_MOST_READ - slots->n_read)
		return;
	slots->n_read += size / sizeof(*block);
	for (uint64_t left = size / sizeof(*block); left;) {
		size_t n = left < READ_AT_ONCE ? (size_t)left : READ_AT_ONCE;
		if (image_read(slots->image, offset, block, n * sizeof(*block)))
			return;
		for (size_t i = 0; i < n; i++)
			add(slots, &block[i]);
		left -= n;
		offset += n * sizeof(*block);
	}
}

/* The loader's own view; a file without section headers has it too. */
static void read_dynamic(struct slots *slots, const Elf64_Phdr *segment)
{
	uint64_t rela = 0, rela_size = 0, jmprel = 0, jmprel_size = 0, offset;
	Elf64_Dyn entry;

	for (uint64_t at = 0; at + sizeof(entry) <= segment->p_filesz; at += sizeof(entry)) {
		if (image_read(slots->image, segment->p_offset + at, &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_RELA)
			rela = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_RELASZ)
			rela_size = entry.d_un.d_val;
		else if (entry.d_tag == DT_JMPREL)
			jmprel = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_PLTRELSZ)
			jmprel_size = entry.d_un.d_val;
	}
	if (rela_size && image_offset(slots->image, rela, &offset, NULL))
		read_table(slots, offset, rela_size);
	if (jmprel_size && image_offset(slots->image, jmprel, &offset, NULL))
		read_table(slots, offset, jmprel_size);
}

/* A static program has no dynamic segment; its relocations are found by their sections. */
static void read_sections(struct slots *slots)
{
	for (size_t i = 0; i < slots->image->n_shdr; i++) {
		const Elf64_Shdr *section = &slots->image->shdr[i];
		if (section->sh_type == SHT_RELA && section->sh_flags & SHF_ALLOC)
			read_table(slots, section->sh_offset, section->sh_size);
	}
}

static int by_address(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static void read_all(struct slots *slots)
{
	const Elf64_Phdr *segment = image_segment(slots->image, PT_DYNAMIC);

	slots->read = true;
	if (segment)
		read_dynamic(slots, segment);
	else
		read_sections(slots);
	if (slots->all.n)
		qsort(slots->all.at, slots->all.n, sizeof(*slots->all.at), by_address);
}

struct slot slots_find(struct slots *slots, uint64_t address)
{
	struct slot key = {.address = address}, *found = NULL;

	if (!slots->read)
		read_all(slots);
	if (slots->all.n)
		found = bsearch(&key, slots->all.at, slots->all.n, sizeof(key), by_address);
	return found ? *found : key;
}

const char *slots_import(struct slots *slots, const struct slot *slot)
{
	const struct dynamic *dynamic = slots->dynamic;
	Elf64_Sym symbol;
	size_t length;

	if (slot->kind != SLOT_IMPORT || slot->value >= dynamic->n_symbols ||
	    image_read(slots->image, dynamic->symbols_offset + slot->value * sizeof(symbol),
		       &symbol, sizeof(symbol)))
		return NULL;
	return strings_get(&slots->dynamic->strings, symbol.st_name, &length);
}

/* [endbr64] [bnd] jmp *disp32(%rip) */
static bool is_x86_stub(const unsigned char *code, uint64_t address, uint64_t *slot)
{
	static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
	int32_t distance;

	at += code[at] == 0xf2;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&distance, code + at + 2, sizeof(distance));
	*slot = address + at + 6 + (uint64_t)(int64_t)distance;
	return true;
}

/* [bti c] adrp x16, page; ldr x17, [x16, #offset]; … br x17 */
static bool is_arm64_stub(const unsigned char *code, uint64_t address, uint64_t *slot)
{
	uint32_t word[3];

	memcpy(word, code, sizeof(word));
	if (word[0] == 0xd503245f) {
		memcpy(word, code + 4, sizeof(word));
		address += 4;
	}
	if ((word[0] & 0x9f00001f) != 0x90000010 || (word[1] & 0xffc003ff) != 0xf9400211)
		return false;
	int64_t pages = (int64_t)((uint64_t)(word[0] >> 5 & 0x7ffff) << 45) >> 43;
	pages |= word[0] >> 29 & 3;
	*slot = (address & ~UINT64_C(0xfff)) + ((uint64_t)pages << 12) +
		8 * (uint64_t)(word[1] >> 10 & 0xfff);
	return true;
}

bool slots_is_stub(const struct slots *slots, uint64_t address, uint64_t *slot)
{
	unsigned char code[16];
	uint64_t offset, room;

	if (!image_code_offset(slots->image, address, &offset, &room) || room < sizeof(code) ||
	    image_read(slots->image, offset, code, sizeof(code)))
		return false;
	return slots->image->ehdr.e_machine == EM_AARCH64 ? is_arm64_stub(code, address, slot)
							  : is_x86_stub(code, address, slot);
}
