/* `list --usdt`: one line a site. */
#include "cmd_list_usdt.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/glob.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "printable.h"
#include "target/file.h"
#include "target/sdt.h"
#include "target/sdtmissing.h"

struct printing {
	const struct sdt *sdt;
	FILE *out;
	bool json;
	size_t n, n_probes;
	struct strbuf line;
};

/* ---- JSON ---- */

static const char *operand_of(const struct sdtarg *arg, struct strbuf *text)
{
	strbuf_clear(text);
	strbuf_add(text, arg->operand, arg->operand_length);
	return strbuf_text(text);
}

static void put_json_arguments(struct strbuf *line, const struct sdtarg *args, size_t n)
{
	struct strbuf operand;

	strbuf_init(&operand);
	strbuf_puts(line, ",\"arguments\":[");
	for (size_t i = 0; i < n && i < SDTARG_MOST; i++) {
		strbuf_puts(line, i ? ",{\"type\":" : "{\"type\":");
		json_put_nullable(line, args[i].type);
		strbuf_puts(line, ",\"operand\":");
		json_put_string(line, operand_of(&args[i], &operand));
		strbuf_puts(line, ",\"problem\":");
		json_put_nullable(line, args[i].arg.kind ? NULL : args[i].problem);
		strbuf_putc(line, '}');
	}
	strbuf_printf(line, "],\"more_arguments\":%zu}", n > SDTARG_MOST ? n - SDTARG_MOST : 0);
	strbuf_fini(&operand);
}

static void put_json_number(struct strbuf *line, const char *key, uint64_t number)
{
	strbuf_printf(line, ",\"%s\":", key);
	if (number)
		strbuf_printf(line, "%" PRIu64, number);
	else
		strbuf_puts(line, "null");
}

static void put_json(struct printing *printing, const struct sdt_site *site,
		     const struct sdtarg *args, size_t n)
{
	struct strbuf *line = &printing->line;

	strbuf_puts(line, printing->n ? ",\n{\"provider\":" : "[\n{\"provider\":");
	json_put_string(line, site->provider);
	strbuf_puts(line, ",\"name\":");
	json_put_string(line, site->name);
	put_json_number(line, "offset", site->offset);
	put_json_number(line, "semaphore", site->semaphore);
	strbuf_puts(line, ",\"reason\":");
	json_put_nullable(line, site->reason ? reason_name(site->reason) : NULL);
	strbuf_puts(line, ",\"problem\":");
	json_put_nullable(line, site->problem);
	strbuf_puts(line, ",\"remark\":");
	json_put_nullable(line, site->remark);
	put_json_arguments(line, args, n);
}

/* ---- text ---- */

static void put_argument(struct strbuf *line, size_t number, const struct sdtarg *arg)
{
	struct strbuf operand;

	strbuf_init(&operand);
	strbuf_printf(line, "%s arg%zu %s ", number > 1 ? "," : " ", number,
		      arg->type ? arg->type : "?");
	printable_put(line, operand_of(arg, &operand));
	if (!arg->arg.kind) {
		strbuf_puts(line, " (cannot be read: ");
		printable_put(line, arg->problem);
		strbuf_putc(line, ')');
	}
	strbuf_fini(&operand);
}

static void put_number(struct strbuf *line, uint64_t number)
{
	if (number)
		strbuf_printf(line, "0x%-10" PRIx64 " ", number);
	else
		strbuf_printf(line, "%-12s ", "-");
}

static void put_text(struct printing *printing, const struct sdt_site *site,
		     const struct sdtarg *args, size_t n)
{
	struct strbuf *line = &printing->line;

	if (!printing->n)
		strbuf_printf(line, "%-12s %-12s PROBE\n", "OFFSET", "SEMAPHORE");
	put_number(line, site->offset);
	put_number(line, site->semaphore);
	printable_put(line, site->provider);
	strbuf_putc(line, ':');
	printable_put(line, site->name);
	for (size_t i = 0; i < n && i < SDTARG_MOST; i++)
		put_argument(line, i + 1, &args[i]);
	if (n > SDTARG_MOST)
		strbuf_printf(line, " and %zu more", n - SDTARG_MOST);
	strbuf_putc(line, '\n');
	if (site->problem)
		strbuf_printf(line, "%26scannot be probed: %s\n", "", site->problem);
	else if (site->remark)
		strbuf_printf(line, "%26s%s\n", "", site->remark);
}

/* ---- all of them ---- */

static void print(struct printing *printing, const struct sdt_site *site)
{
	struct sdtarg args[SDTARG_MOST];
	size_t n = sdt_args(printing->sdt, site, args, SDTARG_MOST);

	strbuf_clear(&printing->line);
	if (printing->json)
		put_json(printing, site, args, n);
	else
		put_text(printing, site, args, n);
	printing->n++;
	fputs(strbuf_text(&printing->line), printing->out);
}

static bool matches(const char *pattern, const struct sdt_site *site, struct strbuf *text)
{
	if (!pattern)
		return true;
	strbuf_clear(text);
	strbuf_printf(text, "%s:%s", site->provider, site->name);
	return glob_matches(pattern, strbuf_text(text), text->length);
}

static void print_end(struct printing *printing)
{
	if (printing->json)
		fputs(printing->n ? "\n]\n" : "[]\n", printing->out);
	else if (printing->n)
		fprintf(printing->out, "\n%zu site%s of %zu probe%s\n", printing->n,
			printing->n == 1 ? "" : "s", printing->n_probes,
			printing->n_probes == 1 ? "" : "s");
}

static void print_all(struct printing *printing, const char *pattern)
{
	const struct sdt_site *last = NULL;
	struct strbuf text;

	strbuf_init(&text);
	strbuf_init(&printing->line);
	for (size_t i = 0; i < printing->sdt->n; i++) {
		const struct sdt_site *site = &printing->sdt->sites[i];
		if (!matches(pattern, site, &text))
			continue;
		print(printing, site);
		printing->n_probes += !last || strcmp(last->name, site->name) != 0 ||
				      strcmp(last->provider, site->provider) != 0;
		last = site;
	}
	print_end(printing);
	strbuf_fini(&printing->line);
	strbuf_fini(&text);
}

/* Why nothing was shown: a name that is not a pattern is told where it may be. */
static void complain_of_nothing(const struct sdt *sdt, const struct file *file, const char *pattern,
				struct arena *arena)
{
	const char *text = "no USDT site matches the pattern";

	if (pattern && !strpbrk(pattern, "*?[\\"))
		text = sdtmissing_text(sdt, file->fd, file->path, pattern, arena);
	else if (!sdt->has_notes)
		text = "has no USDT sites (no stapsdt notes)";
	else if (sdt->damage)
		text = sdt->damage;
	else if (!sdt->n)
		text = "its notes hold no USDT site";
	printable_complain(arena_printf(arena, "%s: %s", file->path, text));
}

static int list(const struct file *file, const char *pattern, bool json, FILE *out,
		struct arena *arena)
{
	struct printing printing = {.out = out, .json = json};
	struct err err = {0};
	struct sdt sdt;

	if (sdt_read(&sdt, file->fd, arena, &err)) {
		printable_complain(arena_printf(arena, "%s: %s", file->path, err.msg));
		return 2;
	}
	printing.sdt = &sdt;
	print_all(&printing, pattern);
	if (!printing.n)
		complain_of_nothing(&sdt, file, pattern, arena);
	else if (sdt.damage)
		printable_complain(arena_printf(arena, "%s: not all sites are listed: %s",
						file->path, sdt.damage));
	return printing.n ? 0 : sdt.damage && !sdt.n ? 2 : 1;
}

int cmd_list_usdt(const char *path, const char *pattern, bool json, FILE *out)
{
	const char *fault = pattern ? glob_fault(pattern) : NULL;
	struct err err = {0};
	struct arena arena;
	struct file file;
	int status = 2;

	arena_init(&arena);
	if (fault)
		printable_complain(arena_printf(&arena, "the pattern %s", fault));
	else if (file_open(&file, path, &arena, &err))
		printable_complain(err.msg);
	else {
		status = list(&file, pattern, json, out, &arena);
		close(file.fd);
	}
	arena_fini(&arena);
	return status;
}
