/* Opening and closing the links of a group, and finding the sites the kernel refuses. */
#include "kernel/linkset.h"

#include <errno.h>
#include <unistd.h>

static int add_multi(struct fd_list *fds, int prog_fd, int attach_type,
		     const struct link_sites *sites, int at_return)
{
	int fd = link_multi(prog_fd, attach_type, sites, at_return);

	if (fd < 0)
		return fd;
	*vec_push(fds) = fd;
	return 0;
}

static int add_perf(struct fd_list *fds, int prog_fd, const struct link_sites *sites, int at_return)
{
	for (size_t i = 0; i < sites->n; i++) {
		int pair[2];
		int result = link_perf(prog_fd, sites, i, at_return, pair);
		if (result)
			return result;
		*vec_push(fds) = pair[0];
		*vec_push(fds) = pair[1];
	}
	return 0;
}

static int open_all(struct linkset *set, const struct object *object,
		    const struct link_sites *sites, enum link_kind kind)
{
	const struct object_form *form = object->form;
	int prog_fd = kind == LINK_EXIT	  ? object->prog_site
		      : kind == LINK_MARK ? object->prog_mark
					  : object->prog_entry;
	bool perf = form->tier == TIER_PERF;
	int result = 0;

	if (form->tier == TIER_SESSION && kind == LINK_CALL)
		return add_multi(&set->entries, object->prog_session, form->return_attach_type,
				 sites, 0);
	/* The return link first: an entry that is counted must find its return probe in place. */
	if (kind == LINK_CALL)
		result = perf ? add_perf(&set->returns, object->prog_leave, sites, 1)
			      : add_multi(&set->returns, object->prog_leave,
					  form->return_attach_type, sites, 1);
	if (result)
		return result;
	return perf ? add_perf(&set->entries, prog_fd, sites, 0)
		    : add_multi(&set->entries, prog_fd, form->entry_attach_type, sites, 0);
}

static void close_from(struct fd_list *fds, size_t from)
{
	for (size_t i = from; i < fds->n; i++)
		close(fds->at[i]);
	fds->n = from;
}

int linkset_add(struct linkset *set, const struct object *object, const struct link_sites *sites,
		enum link_kind kind)
{
	size_t n_entries = set->entries.n, n_returns = set->returns.n;
	int result = open_all(set, object, sites, kind);

	if (!result)
		return 0;
	close_from(&set->entries, n_entries);
	close_from(&set->returns, n_returns);
	return result;
}

int linkset_open(struct linkset *set, const struct object *object, const struct link_sites *sites,
		 enum link_kind kind)
{
	*set = (struct linkset){0};
	int result = linkset_add(set, object, sites, kind);
	if (result)
		linkset_close(set);
	return result;
}

void linkset_close_entries(struct linkset *set)
{
	close_from(&set->entries, 0);
	vec_fini(&set->entries);
}

void linkset_close(struct linkset *set)
{
	linkset_close_entries(set);
	close_from(&set->returns, 0);
	vec_fini(&set->returns);
}

bool linkset_error_is_of_site(int error)
{
	switch (-error) {
	case 0:
	case EPERM:
	case EACCES:
	case ENOENT:
	case ESRCH:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case ENOSYS:
	case EINTR:
	case EAGAIN:
		return false;
	default: /* above all -524 (ENOTSUPP) and -EINVAL */
		return true;
	}
}

struct search {
	const struct object *object;
	const struct link_sites *sites;
	enum link_kind kind;
	bool together; /* what could be linked stays so, until the end: in `held` */
	struct linkset held;
	int *errors;
	unsigned tries;
};

static int try_part(struct search *search, const struct link_sites *part)
{
	struct linkset trial;

	search->tries++;
	if (search->together)
		return linkset_add(&search->held, search->object, part, search->kind);
	int result = linkset_open(&trial, search->object, part, search->kind);
	if (!result)
		linkset_close(&trial);
	return result;
}

/* Halve until the refused sites stand alone: two tries a level for each of them. */
static void bisect(struct search *search, size_t from, size_t n)
{
	const struct link_sites *sites = search->sites;
	struct link_sites part = {
		.path = sites->path,
		.offsets = sites->offsets + from,
		.cookies = sites->cookies + from,
		.semaphores = sites->semaphores ? sites->semaphores + from : NULL,
		.n = n,
		.pid = sites->pid,
	};
	int result = try_part(search, &part);

	if (n == 1 || !linkset_error_is_of_site(result)) {
		for (size_t i = 0; i < n; i++)
			search->errors[from + i] = result;
		return;
	}
	bisect(search, from, n / 2);
	bisect(search, from + n / 2, n - n / 2);
}

unsigned linkset_find_refused(const struct object *object, const struct link_sites *sites,
			      enum link_kind kind, bool together, int *errors)
{
	struct search search = {
		.object = object,
		.sites = sites,
		.kind = kind,
		.together = together,
		.errors = errors,
	};

	bisect(&search, 0, sites->n);
	linkset_close(&search.held);
	return search.tries;
}
