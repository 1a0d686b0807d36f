/*
 * Two steps: every process by itself; then, where a filter has `children`, the tree of parents that
 * was noted in the first step. A process that begins in between is for the next pass.
 */
#include "target/procpass.h"

#include <stdlib.h>

#include "base/vec.h"
#include "target/procs.h"

struct identity {
	pid_t pid;
	uint64_t start_ticks;
};

/* A process in the tree. */
struct node {
	struct identity is;
	pid_t ppid;
};

struct identities {
	VEC(struct identity) list; /* by pid */
};

struct filter {
	struct procmatch *match;
	bool children, skipped;
	struct identities own;	     /* with `children`: who matched in this pass */
	struct identities inherited; /* … who descends from such a one */
};

struct procpass {
	struct filter *filters;
	size_t n;
	bool children;		/* one of those that are not skipped has it */
	VEC(struct node) nodes; /* by pid */
};

struct procpass *procpass_new(struct procmatch *const *filters, size_t n)
{
	struct procpass *pass = alloc_zero(1, sizeof(*pass));

	pass->filters = alloc_zero(n, sizeof(*pass->filters));
	pass->n = n;
	for (size_t i = 0; i < n; i++) {
		pass->filters[i].match = filters[i];
		pass->filters[i].children = procmatch_spec(filters[i])->children;
	}
	return pass;
}

void procpass_free(struct procpass *pass)
{
	if (!pass)
		return;
	for (size_t i = 0; i < pass->n; i++) {
		vec_fini(&pass->filters[i].own.list);
		vec_fini(&pass->filters[i].inherited.list);
	}
	vec_fini(&pass->nodes);
	free(pass->filters);
	free(pass);
}

/* ---- each process by itself ---- */

struct looking {
	struct procpass *pass;
	procpass_visit *visit;
	void *context;
};

static bool look(void *context, struct procview *view)
{
	const struct looking *looking = context;
	struct procpass *pass = looking->pass;
	const struct procview_stat *stat = pass->children ? procview_stat(view) : NULL;

	if (pass->children && (!stat || stat->kernel_thread || stat->ended))
		return true;
	if (stat)
		*vec_push(&pass->nodes) = (struct node){{view->pid, stat->start_ticks}, stat->ppid};
	for (size_t i = 0; i < pass->n; i++) {
		struct filter *filter = &pass->filters[i];
		if (filter->skipped || !procmatch_matches(filter->match, view))
			continue;
		if (filter->children)
			*vec_push(&filter->own.list) =
				(struct identity){view->pid, view->stat.start_ticks};
		looking->visit(looking->context, i, view, false);
	}
	return true;
}

/* ---- descendants ---- */

/* Of identities, and of nodes, which begin with one. */
static int by_pid(const void *left, const void *right)
{
	const struct identity *a = left, *b = right;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

static void sort(struct identities *set)
{
	if (set->list.n)
		qsort(set->list.at, set->list.n, sizeof(*set->list.at), by_pid);
}

static bool holds(const struct identities *set, const struct identity *wanted)
{
	const struct identity *found = NULL;

	if (set->list.n)
		found = bsearch(wanted, set->list.at, set->list.n, sizeof(*wanted), by_pid);
	return found && found->start_ticks == wanted->start_ticks;
}

/* A parent is older than its child; else its pid was given to another between the two looks. */
static const struct node *parent_of(const struct procpass *pass, const struct node *node)
{
	const struct node key = {.is.pid = node->ppid}, *found;

	found = bsearch(&key, pass->nodes.at, pass->nodes.n, sizeof(key), by_pid);
	return found && found->is.start_ticks <= node->is.start_ticks ? found : NULL;
}

enum answer { UNKNOWN, ASKING, NO, YES };

/*
 * Whether a node is selected, or one above it; the answer is noted for all on the way, so that each
 * is asked once. A ring of parents, which only a torn reading can make, is no descent.
 */
static enum answer ask(const struct procpass *pass, const struct filter *filter,
		       unsigned char *answers, const struct node *start)
{
	const struct node *node = start;
	enum answer answer = NO;

	for (; node; node = parent_of(pass, node)) {
		unsigned char *noted = &answers[node - pass->nodes.at];
		if (*noted != UNKNOWN) {
			answer = *noted == YES ? YES : NO;
			break;
		}
		*noted = ASKING;
		if (holds(&filter->own, &node->is) || holds(&filter->inherited, &node->is)) {
			answer = YES;
			break;
		}
	}
	for (node = start; node; node = parent_of(pass, node)) {
		unsigned char *noted = &answers[node - pass->nodes.at];
		if (*noted != ASKING)
			break;
		*noted = answer;
	}
	return answer;
}

/* Who is a descendant, in place of who was in the last pass; one may match by itself as well. */
static void inherit(const struct procpass *pass, struct filter *filter)
{
	_cleanup_free_ unsigned char *answers = alloc_zero(pass->nodes.n, 1);
	struct identities now = {0};

	sort(&filter->own);
	for (size_t i = 0; i < pass->nodes.n; i++) {
		const struct node *node = &pass->nodes.at[i], *parent = parent_of(pass, node);
		if (holds(&filter->inherited, &node->is) ||
		    (parent && ask(pass, filter, answers, parent) == YES))
			*vec_push(&now.list) = node->is;
	}
	vec_fini(&filter->inherited.list);
	filter->inherited = now; /* by pid, as the nodes are */
}

static void show(const struct filter *filter, size_t number, int proc_fd, procpass_visit *visit,
		 void *context)
{
	struct procview view;

	for (size_t i = 0; i < filter->inherited.list.n; i++) {
		const struct identity *identity = &filter->inherited.list.at[i];
		const struct procview_stat *stat;
		if (holds(&filter->own, identity))
			continue;
		if (procview_open(&view, proc_fd, identity->pid) && (stat = procview_stat(&view)) &&
		    stat->start_ticks == identity->start_ticks && procview_is_process(&view))
			visit(context, number, &view, true);
		procview_close(&view);
	}
}

static void begin(struct procpass *pass, const bool *skipped)
{
	pass->nodes.n = 0;
	pass->children = false;
	for (size_t i = 0; i < pass->n; i++) {
		struct filter *filter = &pass->filters[i];
		filter->skipped = skipped && skipped[i];
		if (filter->skipped)
			continue;
		procmatch_refresh(filter->match);
		filter->own.list.n = 0;
		pass->children |= filter->children;
	}
}

int procpass_run(struct procpass *pass, int proc_fd, const bool *skipped, procpass_visit *visit,
		 void *context)
{
	begin(pass, skipped);
	int rc = procs_each(proc_fd, look, &(struct looking){pass, visit, context});
	if (rc)
		return rc;
	if (pass->nodes.n)
		qsort(pass->nodes.at, pass->nodes.n, sizeof(*pass->nodes.at), by_pid);
	for (size_t i = 0; i < pass->n; i++) {
		if (!pass->filters[i].children || pass->filters[i].skipped)
			continue;
		inherit(pass, &pass->filters[i]);
		show(&pass->filters[i], i, proc_fd, visit, context);
	}
	return 0;
}
