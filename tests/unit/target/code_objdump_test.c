/*
 * The decoder against objdump, on every function of real files: each exit that it reports is such
 * an instruction, and each return or jump out of the function that objdump lists is reported.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/body.h"
#include "target/entry.h"
#include "target/symbols.h"

#define MOST_SHOWN 20

enum kind { OTHER, RETURN, JUMP, JUMP_IF, INDIRECT };

/* One instruction as objdump shows it. */
struct shown {
	uint64_t address, target;
	enum kind kind;
};

struct function {
	uint64_t address, size;
	bool cold;
	char name[80];
};

struct file {
	const char *path;
	VEC(struct shown) shown;
	VEC(struct function) functions;
	VEC(uint64_t) addresses; /* of functions but split-off parts */
	size_t n, n_complete, n_exits, n_unknown_depth, n_faults;
	size_t at_start[5], at_site[5];
};

static void collect(void *context, const struct symbol *symbol)
{
	struct file *file = context;
	struct function *function;

	if ((symbol->kind != SYMBOL_FUNCTION && symbol->kind != SYMBOL_IFUNC) || !symbol->size)
		return;
	function = vec_push(&file->functions);
	function->address = symbol->value;
	function->size = symbol->size;
	function->cold = symbols_is_cold(symbol->name, symbol->length);
	snprintf(function->name, sizeof(function->name), "%.*s", (int)symbol->length, symbol->name);
}

/* By address; of several at one address the longest first. */
static int by_address(const void *a, const void *b)
{
	const struct function *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->size < right->size) - (left->size > right->size);
}

static int by_shown_address(const void *a, const void *b)
{
	const struct shown *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

static void read_symbols(struct file *file, const struct image *image)
{
	struct dynamic dynamic;
	struct symbols symbols;
	struct err err;

	assert_int_equal(dynamic_open(&dynamic, image, &err), 0);
	assert_int_equal(symbols_open(&symbols, image, &dynamic, &err), 0);
	assert_int_equal(symbols_each(&symbols, collect, file, &err), 0);
	symbols_close(&symbols);
	dynamic_close(&dynamic);
	qsort(file->functions.at, file->functions.n, sizeof(*file->functions.at), by_address);
	for (size_t i = 0; i < file->functions.n; i++) {
		const struct function *function = &file->functions.at[i];
		if (!function->cold &&
		    (!file->addresses.n ||
		     file->addresses.at[file->addresses.n - 1] != function->address))
			*vec_push(&file->addresses) = function->address;
	}
}

/* "notrack jmp 1234 <x>" → its kind, past prefixes that objdump prints as words. */
static enum kind kind_of(const char *text, uint64_t *target)
{
	static const char *const prefixes[] = {"repz ", "bnd ", "notrack ", "data16 ", "repnz "};
	char mnemonic[16], operand[64] = "";

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0) {
			text += strlen(prefixes[i]);
			i = (size_t)-1;
		}
	}
	if (sscanf(text, "%15s %63s", mnemonic, operand) < 1)
		return OTHER;
	if (strncmp(mnemonic, "ret", 3) == 0)
		return RETURN;
	if (mnemonic[0] != 'j')
		return OTHER;
	if (operand[0] == '*')
		return INDIRECT;
	*target = strtoull(operand, NULL, 16);
	return strncmp(mnemonic, "jmp", 3) == 0 ? JUMP : JUMP_IF;
}

/* False when objdump is not there. */
static bool read_objdump(struct file *file)
{
	char command[256], line[512];

	snprintf(command, sizeof(command), "objdump -d -w --no-show-raw-insn '%s' 2>&1",
		 file->path);
	FILE *output = popen(command, "r"); /* NOLINT(cert-env33-c) */
	assert_non_null(output);
	while (fgets(line, sizeof(line), output)) {
		char *end;
		uint64_t address = strtoull(line, &end, 16);
		if (end == line || strncmp(end, ":\t", 2) != 0)
			continue;
		struct shown *shown = vec_push(&file->shown);
		shown->address = address;
		shown->kind = kind_of(end + 2, &shown->target);
	}
	return pclose(output) == 0 && file->shown.n > 0;
}

static const struct shown *shown_at(const struct file *file, uint64_t address)
{
	const struct shown key = {.address = address};

	return bsearch(&key, file->shown.at, file->shown.n, sizeof(key), by_shown_address);
}

static void fault(struct file *file, const struct function *function, uint64_t address,
		  const char *what)
{
	if (file->n_faults++ < MOST_SHOWN)
		print_message("%s: %s: %#" PRIx64 " %s\n", file->path, function->name, address,
			      what);
}

static void check_reported(struct file *file, const struct function *function,
			   const struct code *code)
{
	static const enum kind kinds[] = {
		[CODE_RETURN] = RETURN,
		[CODE_JUMP] = JUMP,
		[CODE_JUMP_IF] = JUMP_IF,
		[CODE_JUMP_INDIRECT] = INDIRECT,
	};

	for (size_t i = 0; i < code->exits.n; i++) {
		const struct code_exit *exit = &code->exits.at[i];
		const struct shown *shown = shown_at(file, exit->address);
		file->n_exits++;
		file->n_unknown_depth += !exit->depth_known;
		if (!shown || shown->kind != kinds[exit->kind])
			fault(file, function, exit->address, "is no such exit for objdump");
		else if ((shown->kind == JUMP || shown->kind == JUMP_IF) &&
			 shown->target != exit->target)
			fault(file, function, exit->address, "goes elsewhere for objdump");
	}
}

static bool is_reported(const struct code *code, uint64_t address)
{
	for (size_t i = 0; i < code->exits.n; i++) {
		if (code->exits.at[i].address == address)
			return true;
	}
	return false;
}

static bool inside(const struct code *code, uint64_t address)
{
	for (size_t i = 0; i < code->n_regions; i++) {
		if (address - code->region[i].address < code->region[i].size)
			return true;
	}
	return false;
}

/* Jumps to the function's end stand behind calls that do not return; they are no exits. */
static bool to_the_end(const struct code *code, uint64_t address)
{
	for (size_t i = 0; i < code->n_regions; i++) {
		if (address == code->region[i].address + code->region[i].size)
			return true;
	}
	return false;
}

/* Everything objdump lists in the regions. An indirect jump that is no exit uses a table. */
static void check_listed(struct file *file, const struct function *function,
			 const struct code *code, const struct code_region *region)
{
	size_t n_indirect = 0;

	for (uint64_t at = region->address; at < region->address + region->size; at++) {
		const struct shown *shown = shown_at(file, at);
		if (!shown || shown->kind == OTHER || is_reported(code, at))
			continue;
		n_indirect += shown->kind == INDIRECT;
		if (shown->kind == RETURN)
			fault(file, function, at, "is a return that is not reported");
		else if (shown->kind != INDIRECT && !inside(code, shown->target) &&
			 !to_the_end(code, shown->target))
			fault(file, function, at, "leaves and is not reported");
	}
	if (n_indirect > code->n_tables)
		fault(file, function, region->address, "has indirect jumps that are not reported");
}

static void check_function(struct file *file, const struct image *image,
			   const struct function *function)
{
	const struct entry_rules rules = {.symbols = file->addresses.at,
					  .n_symbols = file->addresses.n};
	struct entry_site site;
	struct body body;

	body_decode(&body, image, function->address, function->size, file->addresses.at,
		    file->addresses.n);
	entry_choose(&body.code, &rules, &site);
	file->n++;
	file->at_start[site.at_start]++;
	file->at_site[site.at_site]++;
	assert_true(*site.why);
	if (body.code.complete) {
		file->n_complete++;
		check_reported(file, function, &body.code);
		for (size_t i = 0; i < body.code.n_regions; i++)
			check_listed(file, function, &body.code, &body.code.region[i]);
	} else {
		assert_true(*body.code.why);
		if (file->n - file->n_complete <= MOST_SHOWN)
			print_message("  %s: %s\n", function->name, body.code.why);
	}
	body_free(&body);
}

static void print_statistics(const struct file *file)
{
	print_message("%s: %zu functions, %zu complete (%.2f%%), %zu exits, %zu of them with an "
		      "unknown depth\n",
		      file->path, file->n, file->n_complete,
		      100.0 * (double)file->n_complete / (double)file->n, file->n_exits,
		      file->n_unknown_depth);
	for (unsigned class = 0; class < 5; class ++)
		print_message("  %-15s %6zu at the start, %6zu at the site\n",
			      code_class_name(class), file->at_start[class], file->at_site[class]);
}

static void check_file(const char *path)
{
	struct file file = {.path = path};
	struct image image;
	struct err err;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		print_message("skipped: %s is not there\n", path);
		skip();
	}
	assert_int_equal(image_open(&image, fd, &err), 0);
	if (!read_objdump(&file)) {
		print_message("skipped: objdump is not installed\n");
		skip();
	}
	qsort(file.shown.at, file.shown.n, sizeof(*file.shown.at), by_shown_address);
	read_symbols(&file, &image);
	for (size_t i = 0; i < file.functions.n; i++) {
		const struct function *function = &file.functions.at[i];
		if (!function->cold && (i == 0 || function[-1].address != function->address))
			check_function(&file, &image, function);
	}
	print_statistics(&file);
	assert_int_equal(file.n_faults, 0);
	assert_true(file.n_complete * 100 > file.n * 97);
	vec_fini(&file.shown);
	vec_fini(&file.functions);
	vec_fini(&file.addresses);
	image_close(&image);
	close(fd);
}

static void test_libc(void **state)
{
	(void)state;
	check_file("/lib/x86_64-linux-gnu/libc.so.6");
}

static void test_libstdcxx(void **state)
{
	(void)state;
	check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
}

static void test_postgres(void **state)
{
	(void)state;
	check_file("/usr/lib/postgresql/15/bin/postgres");
}

static void test_exporter(void **state)
{
	(void)state;
	check_file("build/uprobe_exporter");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_libstdcxx),
		cmocka_unit_test(test_postgres),
		cmocka_unit_test(test_exporter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
