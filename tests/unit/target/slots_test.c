/* Relocations as slots.c reads them: from the sections of a program without a dynamic segment. */
#include "tests/unit/target/framed.h"

#include "target/slots.h"

#define TABLE ALL
#define TAKEN 0x1234

/* What is known of the pointer at TAKEN when the table says that it has `n` entries. */
static enum slot_kind kind_with(uint64_t n)
{
	unsigned char file[ALL];
	const Elf64_Rela rela = {.r_offset = TAKEN, .r_info = R_X86_64_RELATIVE};
	Elf64_Shdr section = {.sh_type = SHT_RELA,
			      .sh_flags = SHF_ALLOC,
			      .sh_offset = TABLE,
			      .sh_size = n * sizeof(rela)};
	struct image image;
	struct slots slots;

	make_file(file);
	open_bytes(&image, file);
	assert_int_equal(ftruncate(image.fd, 1 << 20), 0); /* the rest of the table is a hole */
	assert_int_equal(pwrite(image.fd, &rela, sizeof(rela), TABLE), sizeof(rela));
	image.size = UINT64_C(1) << 50;
	image.shdr = &section;
	image.n_shdr = 1;
	slots_init(&slots, &image, NULL);
	enum slot_kind kind = slots_find(&slots, TAKEN).kind;
	slots_fini(&slots);
	image.shdr = NULL;
	image.n_shdr = 0;
	close_bytes(&image);
	return kind;
}

static void a_table(void **state)
{
	(void)state;
	assert_int_equal(kind_with(1), SLOT_LOCAL);
	assert_int_equal(kind_with(4000), SLOT_LOCAL);
}

static void a_table_without_end(void **state)
{
	(void)state;
	assert_int_equal(kind_with(SLOTS_MOST_READ + 1), SLOT_UNKNOWN);
	assert_int_equal(kind_with(UINT64_C(1) << 44), SLOT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table),
		cmocka_unit_test(a_table_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
