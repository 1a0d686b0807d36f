/* Reloads are done by the main thread; others ask for them by an eventfd, and wait. */
#include "reloader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "config/config.h"
#include "file_stamp.h"
#include "notify.h"

/* Who waits holds up an HTTP thread, of which there are eight (WORKERS_MAX): some are for scrapes.
 */
enum { MOST_WAITING = 4 };

struct reloader {
	const struct options *options;
	struct probes *probes;
	struct loop *loop;
	struct file_stamp stamp; /* of the config file as it was last read */
	struct file_stamp seen;	 /* and as it was last looked at */
	int event_fd;
	pthread_mutex_t lock; /* over all below */
	pthread_cond_t done;
	uint64_t asked, answered; /* requests, and how many of them the last reload answers */
	unsigned waiting;
	bool right, stopped;
};

/* Every line of what is to be said of the config is a line of the log. */
static void log_diagnostics(enum log_level level, const char *text)
{
	_cleanup_free_ char *copy = alloc_strdup(text);
	char *rest = copy;

	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			log_at(level, "config", LOG_STR("fault", line));
}

static bool load(struct reloader *reloader)
{
	struct strbuf diagnostics;
	struct spec *spec;
	const char *file = reloader->options->config_file;

	reloader->stamp = reloader->seen = file_stamp_of(file);
	strbuf_init(&diagnostics);
	bool right = !config_load(file, &spec, &diagnostics);
	if (right) {
		log_diagnostics(LOG_LEVEL_WARN, strbuf_text(&diagnostics));
		probes_reload(reloader->probes, spec);
		log_info("config reloaded", LOG_STR("config", file));
	} else {
		probes_reload_failed(reloader->probes);
		log_diagnostics(LOG_LEVEL_ERROR, strbuf_text(&diagnostics));
		log_error("config not reloaded: what was configured before goes on",
			  LOG_STR("config", file));
	}
	strbuf_fini(&diagnostics);
	return right;
}

static bool reload(struct reloader *reloader, uint64_t answers)
{
	notify_reloading();
	bool right = load(reloader);
	notify_ready();
	pthread_mutex_lock(&reloader->lock);
	reloader->right = right;
	reloader->answered = answers;
	pthread_cond_broadcast(&reloader->done);
	pthread_mutex_unlock(&reloader->lock);
	return right;
}

/* Those who asked before this moment get the answer. */
bool reloader_run(struct reloader *reloader)
{
	pthread_mutex_lock(&reloader->lock);
	uint64_t asked = reloader->asked;
	pthread_mutex_unlock(&reloader->lock);
	return reload(reloader, asked);
}

void reloader_look(struct reloader *reloader)
{
	struct file_stamp now = file_stamp_of(reloader->options->config_file);
	bool settled = file_stamp_equal(&now, &reloader->seen);

	reloader->seen = now;
	if (reloader->options->auto_reload && settled && now.ino &&
	    !file_stamp_equal(&now, &reloader->stamp))
		reloader_run(reloader);
}

static void asked(void *context, int fd)
{
	struct reloader *reloader = context;
	uint64_t unused;

	if (read(fd, &unused, sizeof(unused)) == sizeof(unused))
		reloader_run(reloader);
}

enum reload_answer reloader_request(struct reloader *reloader)
{
	enum reload_answer answer = RELOAD_STOPPING;
	uint64_t one = 1;

	pthread_mutex_lock(&reloader->lock);
	if (reloader->waiting >= MOST_WAITING) {
		pthread_mutex_unlock(&reloader->lock);
		return RELOAD_BUSY;
	}
	uint64_t mine = ++reloader->asked;
	if (write(reloader->event_fd, &one, sizeof(one)) != sizeof(one) && errno != EAGAIN) {
		reloader->asked--; /* EAGAIN: it has been told many times */
		pthread_mutex_unlock(&reloader->lock);
		return RELOAD_NOT_ASKED;
	}
	reloader->waiting++;
	while (reloader->answered < mine && !reloader->stopped)
		pthread_cond_wait(&reloader->done, &reloader->lock);
	reloader->waiting--;
	if (reloader->answered >= mine)
		answer = reloader->right ? RELOADED : RELOAD_CONFIG_WRONG;
	pthread_mutex_unlock(&reloader->lock);
	return answer;
}

void reloader_stop(struct reloader *reloader)
{
	if (!reloader)
		return;
	pthread_mutex_lock(&reloader->lock);
	reloader->stopped = true;
	pthread_cond_broadcast(&reloader->done);
	pthread_mutex_unlock(&reloader->lock);
}

struct reloader *reloader_new(const struct options *options, struct probes *probes,
			      struct loop *loop, const struct file_stamp *stamp)
{
	struct reloader *reloader = alloc_zero(1, sizeof(*reloader));

	reloader->options = options;
	reloader->probes = probes;
	reloader->loop = loop;
	reloader->stamp = reloader->seen = *stamp;
	pthread_mutex_init(&reloader->lock, NULL);
	pthread_cond_init(&reloader->done, NULL);
	reloader->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reloader->event_fd >= 0)
		loop_watch(loop, reloader->event_fd, asked, reloader);
	return reloader;
}

void reloader_free(struct reloader *reloader)
{
	if (!reloader)
		return;
	if (reloader->event_fd >= 0) {
		loop_unwatch(reloader->loop, reloader->event_fd);
		close(reloader->event_fd);
	}
	pthread_mutex_destroy(&reloader->lock);
	pthread_cond_destroy(&reloader->done);
	free(reloader);
}
