/*
 * First every function is decoded and what it shows is kept in short; then, with all of them
 * known to the closure, each is decided.
 */
#include "target/judge.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "bpf/contract.h"
#include "target/body.h"
#include "target/closure.h"
#include "target/code_return.h"
#include "target/entry.h"
#include "target/gostack.h"
#include "target/intern.h"

/* Where a size is not known, or is one that no function has, this much is looked at. */
#define WINDOW 4096

struct site {
	uint64_t address;
	uint32_t pushed_bytes;
	enum code_class class;
	bool is_loop_head;
	const char *text, *why;
};

/* What the code of one function shows. */
struct finding {
	struct site site;   /* where sp must be as at the entry */
	struct site pushed; /* where it need not */
	const char *at_symbol;
	struct plan_site *sites; /* its exits; owned */
	size_t n_sites;
	const char *no_sites; /* why they cannot be probed; NULL: they can */
	bool has_tail_jump, restarts, runs_on;
	bool pops;	      /* it returns by `ret $n` */
	uint64_t stack_check; /* Go: the address of its jump; 0: none */
};

struct judging {
	const struct judge_file *file;
	const struct image *image;
	struct closure closure;
	struct intern texts;
};

static const char *keep(struct judging *judging, struct strbuf *text)
{
	const char *kept = intern(&judging->texts, strbuf_text(text));

	strbuf_fini(text);
	return kept;
}

/* ---- decoding ---- */

static void decode(const struct judging *judging, const struct judged *judged, struct body *body)
{
	const struct functions *functions = judging->file->functions;
	uint64_t size = judged->size ? judged->size : closure_size(functions, judged->address);
	uint64_t offset, room;

	body_decode(body, judging->image, judged->address, size, functions->addresses,
		    functions->all.n);
	if (body->code.n_regions ||
	    !image_code_offset(judging->image, judged->address, &offset, &room))
		return;
	body_free(body);
	body_decode(body, judging->image, judged->address, room < WINDOW ? room : WINDOW,
		    functions->addresses, functions->all.n);
	if (!body->code.complete)
		return;
	body->code.complete = false;
	strcpy(body->code.why, "how long it is is not known");
}

static struct site site_of(struct judging *judging, const struct entry_site *entry)
{
	return (struct site){
		.address = entry->address,
		.pushed_bytes = entry->pushed_bytes,
		.class = entry->at_site,
		.is_loop_head = entry->is_loop_head,
		.text = intern(&judging->texts, entry->site_text),
		.why = intern(&judging->texts, entry->why),
	};
}

static bool is_exit(const struct code *code, uint64_t address)
{
	for (size_t i = 0; i < code->exits.n; i++)
		if (code->exits.at[i].address == address)
			return true;
	return false;
}

static struct site site_at_symbol(struct judging *judging, const struct code *code, const char *why)
{
	uint64_t address = code->region[0].address;
	char text[CODE_TEXT_ROOM];

	code_text(code, address, text);
	return (struct site){
		.address = address,
		.class = code_classify(code, address, NULL),
		.text = intern(&judging->texts, text),
		.why = intern(&judging->texts, why),
	};
}

static void find_sites(struct judging *judging, const struct code *code, struct finding *finding)
{
	struct entry_rules rules = {
		.nop5_is_cheap = judging->file->nop5_is_cheap,
		.symbols = judging->file->functions->addresses,
		.n_symbols = judging->file->functions->all.n,
	};
	struct entry_site site;

	entry_choose(code, &rules, &site);
	finding->site = site_of(judging, &site);
	finding->at_symbol = intern(&judging->texts, site.start_text);
	if (judging->file->is_go && code->n_regions) {
		finding->site =
			site_at_symbol(judging, code, "at the start, without a stack check");
		return;
	}
	rules.may_push = true;
	entry_choose(code, &rules, &site);
	finding->pushed = site_of(judging, &site);
	if (is_exit(code, site.address) && site.delta_bytes)
		finding->pushed = site_at_symbol(judging, code,
						 "at the start, as the cheaper site is an exit");
}

/* ---- exits ---- */

/* Why an exit cannot be probed, or NULL. */
static const char *exit_obstacle(const struct judging *judging, const struct code_exit *exit)
{
	if (exit->class == CODE_REFUSED)
		return "the kernel takes no probe at";
	if (!exit->depth_known)
		return "it is not known what is on the stack at";
	if (exit->kind == CODE_JUMP_IF && judging->image->ehdr.e_machine != EM_X86_64)
		return "the condition is not evaluated on this machine of";
	return NULL;
}

static const char *describe_exit(struct judging *judging, const struct code *code,
				 const struct code_exit *exit, const char *obstacle)
{
	char text[CODE_TEXT_ROOM];
	struct strbuf out;

	code_text(code, exit->address, text);
	strbuf_init(&out);
	strbuf_printf(&out, "%s its exit \"%.60s\"", obstacle, text);
	return keep(judging, &out);
}

/* x86-64 `ret $n` (c2 iw, perhaps with a prefix): the plain form is one byte, with a prefix two. */
static bool is_popping_return(const struct image *image, const struct code_exit *exit)
{
	return image->ehdr.e_machine == EM_X86_64 && exit->kind == CODE_RETURN && exit->length > 2;
}

static void find_exits(struct judging *judging, const struct code *code, struct finding *finding)
{
	finding->sites = alloc_zero(code->exits.n, sizeof(*finding->sites));
	for (size_t i = 0; i < code->exits.n; i++) {
		const struct code_exit *exit = &code->exits.at[i];
		const char *obstacle = exit_obstacle(judging, exit);
		struct plan_site *site = &finding->sites[finding->n_sites++];
		finding->has_tail_jump |= exit->kind != CODE_RETURN;
		finding->pops |= is_popping_return(judging->image, exit);
		site->sp_adjust = exit->depth;
		if (exit->kind == CODE_JUMP_IF)
			site->condition = UP_CONDITION_X86 + exit->condition;
		if (!image_code_offset(judging->image, exit->address, &site->offset, NULL))
			obstacle = "the file does not hold";
		if (obstacle && !finding->no_sites)
			finding->no_sites = describe_exit(judging, code, exit, obstacle);
	}
	if (!code->complete) {
		struct strbuf text = {0};
		strbuf_printf(&text, "its exits are not all known: %s", code->why);
		finding->no_sites = keep(judging, &text);
	} else if (is_exit(code, finding->pushed.address)) {
		finding->no_sites = "it is left by its first instruction";
	}
}

static void find(struct judging *judging, const struct judged *judged, struct finding *finding)
{
	const struct code_step *start;
	struct body body;

	decode(judging, judged, &body);
	start = code_step_at(&body.code, judged->address);
	finding->restarts = !start || start->target || !body.code.complete;
	find_sites(judging, &body.code, finding);
	find_exits(judging, &body.code, finding);
	finding->runs_on = code_return_is_unlikely(&body.code);
	if (!judging->file->is_go || !gostack_check(&body.code, &finding->stack_check))
		finding->stack_check = 0;
	closure_add(&judging->closure, &body.code);
	body_free(&body);
}

/* ---- deciding ---- */

static const char go_warning[] =
	"a Go function that has to grow its stack begins again: that call is counted twice";

/* Go: past the stack check, or where the function cannot begin again. */
static void place_go(const struct judging *judging, const struct finding *finding,
		     struct judged *judged)
{
	enum { NOT_BELOW_OR_EQUAL = 7 }; /* the jump is `jbe`, 6 */

	if (!finding->stack_check) {
		judged->warning = finding->restarts ? go_warning : NULL;
		return;
	}
	image_code_offset(judging->image, finding->stack_check, &judged->entry_offset, NULL);
	judged->entry_condition = UP_CONDITION_X86 + NOT_BELOW_OR_EQUAL;
	judged->entry = (struct plan_entry){
		.at_symbol = finding->at_symbol,
		.at_site = "jbe",
		.class = code_class_name(CODE_EMULATED),
		.why = "on the jump of Go's stack check, counted when the stack is large enough",
	};
}

static struct plan_entry entry_of(const struct finding *finding, const struct site *site)
{
	return (struct plan_entry){.at_symbol = finding->at_symbol,
				   .at_site = site->text,
				   .class = code_class_name(site->class),
				   .why = site->why};
}

/* Put the entry probe; refuse, with the reason, when it cannot stand there. */
static void place(struct judging *judging, const struct finding *finding, struct judged *judged)
{
	const struct site *site =
		judged->strategy == STRATEGY_RETURN_SITES ? &finding->pushed : &finding->site;

	image_code_offset(judging->image, site->address, &judged->entry_offset, NULL);
	judged->entry_sp_adjust = (int32_t)site->pushed_bytes;
	judged->entry = entry_of(finding, site);
	if (judging->file->is_go)
		place_go(judging, finding, judged);
	if (finding->stack_check || (site->class != CODE_REFUSED && !site->is_loop_head))
		return;
	judged->reason = site->is_loop_head ? REASON_UNSAFE_SITE : REASON_KERNEL_REFUSED;
	judged->detail = site->why;
}

/* What speaks against return probes in general. Of a library that says enough. */
static const char *against(const struct judge_file *file, const struct judged *judged)
{
	if (judged->switches)
		return judged->switches;
	return file->is_library && !file->is_go
		       ? "it is in a shared library, and exceptions may pass through it whatever "
			 "calls it"
		       : file->evidence;
}

/*
 * Whether a return probe does no harm; `why` gets the reason for either answer. What holds for
 * the file is asked before what holds for the function, since it costs nothing.
 */
static bool return_is_safe(struct judging *judging, const struct finding *finding,
			   const struct judged *judged, struct strbuf *why)
{
	const struct judge_file *file = judging->file;

	const char *use = closure_return_use(&judging->closure, judged->address);
	if (!use && finding->runs_on)
		use = "nothing shows that it is called and returns";
	if (!use && finding->pops)
		use = "it takes bytes off its caller's stack as it returns (ret $n), after which "
		      "the "
		      "return is not recognised";
	if (use) {
		strbuf_puts(why, use);
		return false;
	}
	if (file->return_is_safe && !judged->switches) {
		strbuf_puts(why, file->evidence);
		return true;
	}
	/* The kernel takes a return that waits on a lower stack for one that never comes. */
	if (file->altstack) {
		strbuf_printf(why,
			      "%s; and a signal handler on another stack may run while it does",
			      against(file, judged));
		return false;
	}
	struct strbuf calls = {0};
	bool closed = closure_is_closed(&judging->closure, judged->address, &calls);
	if (closed)
		strbuf_puts(why, "whoever calls it, nothing can unwind or switch stacks "
				 "inside: ");
	else
		strbuf_printf(why, "%s; ", against(file, judged));
	strbuf_puts(why, strbuf_text(&calls));
	strbuf_fini(&calls);
	return closed;
}

static void use_return_probe(struct judging *judging, const struct finding *finding,
			     struct judged *judged, const char *why)
{
	struct strbuf text = {0};

	judged->strategy = STRATEGY_URETPROBE;
	strbuf_puts(&text, why);
	if (finding->has_tail_jump)
		strbuf_puts(&text,
			    "; its time includes the functions that it goes on to by a jump");
	judged->detail = keep(judging, &text);
}

static void use_sites(struct judging *judging, struct finding *finding, struct judged *judged,
		      const char *why)
{
	struct strbuf text = {0};

	judged->strategy = STRATEGY_RETURN_SITES;
	judged->n_sites = finding->n_sites;
	judged->sites = arena_array(judging->file->arena, finding->n_sites, sizeof(*judged->sites));
	memcpy((void *)(uintptr_t)judged->sites, finding->sites,
	       finding->n_sites * sizeof(*judged->sites));
	if (finding->n_sites)
		strbuf_printf(&text, "probes on its %zu exit%s: ", finding->n_sites,
			      finding->n_sites == 1 ? "" : "s");
	else
		strbuf_puts(&text, "it never returns, so that its calls stay in flight: ");
	strbuf_puts(&text, why);
	if (finding->has_tail_jump)
		strbuf_puts(&text,
			    "; its time ends where it goes on to another function by a jump");
	judged->detail = keep(judging, &text);
}

static void refuse_return(struct judging *judging, const struct finding *finding,
			  struct judged *judged, const char *why)
{
	struct strbuf text = {0};

	judged->reason = REASON_UNSAFE_RETURN;
	strbuf_printf(&text,
		      "nothing shows that a return probe is harmless here: %s; and probes on its "
		      "exits are not possible: %s. Count calls only (exit: none), or take the risk "
		      "by name (exit: uretprobe)",
		      why, finding->no_sites);
	judged->detail = keep(judging, &text);
}

static void decide_auto(struct judging *judging, struct finding *finding, struct judged *judged)
{
	struct strbuf why = {0};

	if (return_is_safe(judging, finding, judged, &why))
		use_return_probe(judging, finding, judged, strbuf_text(&why));
	else if (!finding->no_sites)
		use_sites(judging, finding, judged, strbuf_text(&why));
	else
		refuse_return(judging, finding, judged, strbuf_text(&why));
	strbuf_fini(&why);
}

static void decide_uretprobe(struct judging *judging, struct finding *finding,
			     struct judged *judged)
{
	struct strbuf why = {0}, text = {0};
	bool safe = return_is_safe(judging, finding, judged, &why);

	use_return_probe(judging, finding, judged, safe ? strbuf_text(&why) : "asked for by name");
	if (!safe) {
		strbuf_printf(&text,
			      "the return probe is used because the config asks for it; nothing "
			      "shows that it is harmless: %s",
			      strbuf_text(&why));
		judged->warning = keep(judging, &text);
	}
	strbuf_fini(&why);
}

static void decide_sites(struct judging *judging, struct finding *finding, struct judged *judged)
{
	struct strbuf text = {0};

	if (!finding->no_sites) {
		use_sites(judging, finding, judged, "asked for by name");
		return;
	}
	judged->reason = REASON_UNSAFE_RETURN;
	strbuf_printf(&text,
		      "probes on its exits are not possible: %s. Let the exporter choose (exit: "
		      "auto), or count calls only (exit: none)",
		      finding->no_sites);
	judged->detail = keep(judging, &text);
}

static void decide(struct judging *judging, struct finding *finding, struct judged *judged)
{
	judged->strategy = STRATEGY_NONE;
	judged->detail = "calls are counted, their ends are not watched";
	judged->entry = entry_of(finding, &finding->site);
	image_code_offset(judging->image, judged->address, &judged->entry_offset, NULL);
	switch (judged->exit) {
	case EXIT_NONE:
		break;
	case EXIT_AUTO:
		decide_auto(judging, finding, judged);
		break;
	case EXIT_URETPROBE:
		decide_uretprobe(judging, finding, judged);
		break;
	case EXIT_RETURN_SITES:
		decide_sites(judging, finding, judged);
		break;
	}
	if (!judged->reason)
		place(judging, finding, judged);
}

void judge(const struct judge_file *file, struct judged *const *functions, size_t n)
{
	struct judging judging = {.file = file, .image = file->functions->symbols->image};
	_cleanup_free_ struct finding *findings = alloc_zero(n, sizeof(*findings));

	closure_init(&judging.closure, file->functions);
	intern_init(&judging.texts, file->arena);
	for (size_t i = 0; i < n; i++)
		find(&judging, functions[i], &findings[i]);
	for (size_t i = 0; i < n; i++) {
		decide(&judging, &findings[i], functions[i]);
		free(findings[i].sites);
	}
	intern_fini(&judging.texts);
	closure_fini(&judging.closure);
}
