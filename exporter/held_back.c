/*
 * Links per process: giving them to the processes that are selected, and saying so of probes that
 * some of these are without. The probes stay what they are meanwhile; only what is shown of them
 * differs.
 */
#include "base/log.h"
#include "table.h"

/* One word for a target, whose probes fare alike. */
static void log_change(const struct target *target, enum reason before, enum reason now,
		       const char *detail)
{
	if (now)
		log_warn("not all selected processes are measured",
			 LOG_STR("target", target->spec->name), LOG_STR("reason", reason_name(now)),
			 LOG_STR("detail", detail));
	else if (before)
		log_info("all selected processes are measured again",
			 LOG_STR("target", target->spec->name));
}

static void look_at(struct probes *probes, struct target *target)
{
	bool logged = false;

	for (size_t i = 0; i < target->n_probes; i++) {
		struct probe *probe = &target->probes[i];
		char detail[256];
		enum reason before = probe->held_back;
		enum reason now = probe->series < 0
					  ? REASON_NONE
					  : attach_held_back(probes->attach, probe->series, detail,
							     sizeof(detail));
		if (now == before)
			continue;
		pthread_mutex_lock(&probes->lock);
		probe->held_back = now;
		pthread_mutex_unlock(&probes->lock);
		if (!logged)
			log_change(target, before, now, detail);
		logged = true;
	}
}

void held_back_look(struct probes *probes)
{
	attach_follow_selected(probes->attach);
	for (size_t i = 0; i < probes->n_targets; i++)
		look_at(probes, &probes->targets[i]);
}
