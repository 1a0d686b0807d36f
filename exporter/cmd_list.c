/* `list`: one line a function. */
#include "cmd_list.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "cmd_list_usdt.h"
#include "model/plan.h"
#include "printable.h"
#include "target/list.h"

struct printing {
	FILE *out;
	bool json;
	size_t n;
	struct strbuf line;
};

static void put_json(struct printing *printing, const struct list_function *function)
{
	struct strbuf *line = &printing->line;

	strbuf_puts(line, printing->n ? ",\n{\"function\":" : "[\n{\"function\":");
	json_put_string(line, function->names[0]);
	strbuf_puts(line, ",\"aliases\":[");
	for (size_t i = 1; i < function->n_names; i++) {
		strbuf_puts(line, i > 1 ? "," : "");
		json_put_string(line, function->names[i]);
	}
	strbuf_printf(line, "],\"offset\":%" PRIu64 ",\"size\":%" PRIu64 ",\"bind\":\"%s\"",
		      function->offset, function->size, function->bind);
	strbuf_printf(line,
		      ",\"untyped\":%s,\"entry_class\":", function->untyped ? "true" : "false");
	json_put_nullable(line, function->entry_class);
	strbuf_puts(line, ",\"exit_auto\":");
	json_put_nullable(line, function->strategy);
	strbuf_puts(line, ",\"why\":");
	json_put_nullable(line, function->why);
	strbuf_putc(line, '}');
}

static void put_text(struct printing *printing, const struct list_file *file,
		     const struct list_function *function)
{
	struct strbuf *line = &printing->line;

	if (!printing->n)
		strbuf_printf(line, "%-12s %8s  %-6s  %-14s  %-12s  %s\n", "OFFSET", "SIZE", "BIND",
			      "ENTRY", "EXIT", "FUNCTION");
	strbuf_printf(line, "0x%-10" PRIx64 " %8" PRIu64 "  %-6s  %-14s  %-12s  ", function->offset,
		      function->size, function->bind,
		      function->entry_class ? function->entry_class : "-",
		      function->strategy ? function->strategy
		      : file->judged	 ? "refused"
					 : "-");
	for (size_t i = 0; i < function->n_names; i++) {
		strbuf_puts(line, i == 0 ? "" : i == 1 ? "  = " : ", ");
		printable_put(line, function->names[i]);
	}
	if (function->n_more_names)
		strbuf_printf(line, " and %zu more", function->n_more_names);
	strbuf_puts(line, function->untyped ? "  (no type)\n" : "\n");
}

static void print(void *context, const struct list_file *file, const struct list_function *function)
{
	struct printing *printing = context;

	strbuf_clear(&printing->line);
	if (printing->json)
		put_json(printing, function);
	else
		put_text(printing, file, function);
	printing->n++;
	fputs(strbuf_text(&printing->line), printing->out);
}

/* What holds for all lines alike is said once, at the end. */
static void print_end(struct printing *printing, const struct list_file *file)
{
	struct strbuf *line = &printing->line;

	strbuf_clear(line);
	if (printing->json)
		strbuf_puts(line, printing->n ? "\n]\n" : "[]\n");
	else if (printing->n)
		strbuf_printf(line, "\n%zu function%s%s\n", printing->n,
			      printing->n == 1 ? "" : "s",
			      file->is_go    ? "; exit: auto is refused (Go): exit: none works"
			      : file->judged ? "; EXIT is what exit: auto does, check tells why"
					     : "; too many to look at their code: give a pattern");
	fputs(strbuf_text(line), printing->out);
}

int cmd_list(const char *path, const char *pattern, bool usdt, bool json, FILE *out)
{
	struct printing printing = {.out = out, .json = json};
	struct list_file file;
	struct arena arena;
	struct err err = {0};

	if (usdt)
		return cmd_list_usdt(path, pattern, json, out);
	arena_init(&arena);
	strbuf_init(&printing.line);
	long shown = list_functions(path, pattern, print, &printing, &arena, &file, &err);
	if (shown < 0)
		printable_complain(err.msg);
	else
		print_end(&printing, &file);
	if (shown == 0)
		printable_complain(pattern ? "no function matches the pattern"
					   : "the file names no function (it is stripped)");
	if (shown > 0 && file.truncated)
		printable_complain("the file has too many symbols: not all are listed");
	strbuf_fini(&printing.line);
	arena_fini(&arena);
	return shown < 0 ? 2 : shown == 0;
}
