/*
 * All sites of a name are probed or none: a count of some of them would be a lie. An argument
 * matters only where the config's `key` names it.
 */
#include "target/usdt.h"

#include "base/strbuf.h"
#include "target/sdtmissing.h"

/* The sites of one name, and which of their arguments is asked for: 0, none. */
struct wanted {
	const struct spec_usdt *usdt;
	uint32_t argument;
	bool ends;
	const char *text; /* "provider:name" */
	const struct sdt_site *sites;
	size_t n;
};

static void refuse(struct plan_probe *probe, enum reason reason, const char *detail)
{
	probe->reason = reason;
	probe->detail = detail;
}

static void read_file(struct usdt_file *file, const struct plan_file *plan_file,
		      struct arena *arena)
{
	struct err err = {0};

	file->read = true;
	if (!sdt_read(&file->sdt, plan_file->fd, arena, &err))
		return;
	file->reason = err.reason;
	file->detail = arena_printf(arena, "%s: %s", plan_file->path, err.msg);
}

static bool find_sites(const struct usdt_file *file, struct wanted *wanted,
		       struct plan_probe *probe, struct arena *arena)
{
	wanted->text = arena_printf(arena, "%s:%s", wanted->usdt->provider, wanted->usdt->name);
	wanted->sites = sdt_find(&file->sdt, wanted->text, &wanted->n);
	if (wanted->sites)
		return true;
	refuse(probe, REASON_USDT_NOT_FOUND,
	       arena_printf(arena, "%s: %s", probe->file->path,
			    sdtmissing_text(&file->sdt, probe->file->fd, probe->file->path,
					    wanted->text, arena)));
	return false;
}

/* Where the argument lies that the key names; false when it cannot be read there. */
static bool find_key(const struct usdt_file *file, const struct wanted *wanted,
		     const struct sdt_site *site, struct up_arg *key, struct plan_probe *probe,
		     struct arena *arena)
{
	struct sdtarg args[SDTARG_MOST];
	uint32_t at = wanted->argument;

	*key = (struct up_arg){0};
	if (!at)
		return true;
	size_t n = sdt_args(&file->sdt, site, args, SDTARG_MOST);
	if (at > n || at > SDTARG_MOST) {
		refuse(probe, REASON_USDT_ARGUMENT,
		       arena_printf(arena,
				    "%s has %zu arguments at 0x%llx, and the key names arg%u",
				    wanted->text, n, (unsigned long long)site->offset, at));
		return false;
	}
	const struct sdtarg *arg = &args[at - 1];
	if (arg->arg.kind == UP_ARG_NONE) {
		refuse(probe, REASON_USDT_ARGUMENT,
		       arena_printf(arena, "arg%u of %s cannot be read at 0x%llx (%.*s): %s", at,
				    wanted->text, (unsigned long long)site->offset,
				    (int)arg->operand_length, arg->operand, arg->problem));
		return false;
	}
	*key = arg->arg;
	return true;
}

static bool add_marks(const struct usdt_file *file, const struct wanted *wanted,
		      struct plan_mark *marks, struct plan_probe *probe, struct arena *arena)
{
	for (size_t i = 0; i < wanted->n; i++) {
		const struct sdt_site *site = &wanted->sites[i];
		struct plan_mark *mark = &marks[i];
		if (site->reason) {
			refuse(probe, site->reason,
			       arena_printf(arena, "%s at address 0x%llx: %s", wanted->text,
					    (unsigned long long)site->address, site->problem));
			return false;
		}
		mark->offset = site->offset;
		mark->semaphore = site->semaphore;
		mark->ends = wanted->ends;
		if (!find_key(file, wanted, site, &mark->key, probe, arena))
			return false;
	}
	return true;
}

/* "3 sites, of which 2 have a semaphore". */
static const char *describe(const struct plan_probe *probe, struct arena *arena)
{
	size_t with = 0, ends = 0;
	struct strbuf text;

	for (size_t i = 0; i < probe->n_marks; i++) {
		with += probe->marks[i].semaphore != 0;
		ends += probe->marks[i].ends;
	}
	strbuf_init(&text);
	if (ends)
		strbuf_printf(&text, "%zu start%s, %zu end%s", probe->n_marks - ends,
			      probe->n_marks - ends == 1 ? "" : "s", ends, ends == 1 ? "" : "s");
	else
		strbuf_printf(&text, "%zu site%s", probe->n_marks, probe->n_marks == 1 ? "" : "s");
	if (with)
		strbuf_printf(&text, "; %zu with a semaphore, which is raised while probed", with);
	const char *kept = arena_strdup(arena, strbuf_text(&text));
	strbuf_fini(&text);
	return kept;
}

static void take_marks(const struct usdt_file *file, struct wanted *wanted, size_t n,
		       struct plan_probe *probe, struct arena *arena)
{
	size_t n_marks = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		n_marks += wanted[i].n;
	struct plan_mark *marks = arena_array(arena, n_marks, sizeof(*marks));
	for (size_t i = 0; i < n; at += wanted[i++].n)
		if (!add_marks(file, &wanted[i], &marks[at], probe, arena))
			return;
	probe->marks = marks;
	probe->n_marks = n_marks;
	probe->strategy = STRATEGY_USDT;
	probe->symbol = wanted[0].text;
	probe->symbol_offset = probe->entry_offset = marks[0].offset;
	probe->detail = describe(probe, arena);
}

void usdt_resolve(struct usdt_file *file, struct plan_probe *probe, struct arena *arena)
{
	const struct spec_function *spec = probe->function;
	struct wanted wanted[] = {
		{.usdt = &spec->start, .argument = spec->key.start_argument},
		{.usdt = &spec->end, .argument = spec->key.end_argument, .ends = true},
	};
	size_t n = spec->by == BY_PAIR ? 2 : 1;

	if (!file->read)
		read_file(file, probe->file, arena);
	if (file->reason) {
		refuse(probe, file->reason, file->detail);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!find_sites(file, &wanted[i], probe, arena))
			return;
	take_marks(file, wanted, n, probe, arena);
}
