/* Names of cgroups, looked at part by part. */
#include "target/cgroup_path.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define N_ITEMS(a) (sizeof(a) / sizeof((a)[0]))

#define ID_DIGITS  64 /* of OCI runtimes: containerd, CRI-O, Docker, Podman */

struct part {
	const char *text;
	size_t length;
};

static bool is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* `x` in the shape is a hexadecimal digit, `-` what separates: systemd turns it into `_`. */
static bool has_shape(const char *text, const char *shape)
{
	for (; *shape; shape++, text++)
		if (*shape == 'x' ? !is_digit(*text) : *text != '-' && *text != '_')
			return false;
	return true;
}

static bool ends_with(struct part part, const char *end)
{
	size_t n = strlen(end);
	return part.length >= n && !memcmp(part.text + part.length - n, end, n);
}

static bool begins_with(struct part part, const char *start)
{
	size_t n = strlen(start);
	return part.length >= n && !memcmp(part.text, start, n);
}

static struct part without_end(struct part part, const char *end)
{
	if (ends_with(part, end))
		part.length -= strlen(end);
	return part;
}

/* ---- pods ---- */

/* A uid, and the hash that the kubelet gives a static pod in place of one. */
static const char *const uid_shapes[] = {
	"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
};

/* `podUID` (cgroupfs) or `kubepods-burstable-podUID.slice` (systemd). */
static bool read_pod(struct part part, char *uid)
{
	part = without_end(part, ".slice");
	for (size_t i = 0; i < N_ITEMS(uid_shapes); i++) {
		size_t n = strlen(uid_shapes[i]);
		if (part.length < n + 3)
			continue;
		const char *at = part.text + part.length - n, *pod = at - 3;
		if (memcmp(pod, "pod", 3) != 0 || (pod > part.text && pod[-1] != '-') ||
		    !has_shape(at, uid_shapes[i]))
			continue;
		for (size_t c = 0; c < n; c++)
			uid[c] = at[c] == '_' ? '-' : at[c];
		uid[n] = '\0';
		return true;
	}
	return false;
}

/* ---- containers ---- */

static bool keep(struct part part, char *container)
{
	if (!part.length || part.length >= CGROUP_CONTAINER_BYTES)
		return false;
	for (size_t i = 0; i < part.length; i++)
		if (!isalnum((unsigned char)part.text[i]) && !memchr("-_.:", part.text[i], 4))
			return false;
	memcpy(container, part.text, part.length);
	container[part.length] = '\0';
	return true;
}

/* An id by itself, or behind what made it: `cri-containerd-ID.scope`. conmon only watches one. */
static bool read_oci(struct part part, char *container)
{
	part = without_end(part, ".scope");
	if (part.length < ID_DIGITS)
		return false;
	struct part before = {part.text, part.length - ID_DIGITS};
	struct part id = {part.text + before.length, ID_DIGITS};
	for (size_t i = 0; i < id.length; i++)
		if (!is_digit(id.text[i]))
			return false;
	if (before.length && (!ends_with(before, "-") || ends_with(before, "conmon-")))
		return false;
	return keep(id, container);
}

/* Garden (Cloud Foundry): a uid without its last part. ECS on Fargate: 32 digits and a number. */
static bool read_other_id(struct part part, char *container)
{
	static const char garden[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxx";
	static const char fargate[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-";

	if (part.length == sizeof(garden) - 1 && has_shape(part.text, garden))
		return keep(part, container);
	if (part.length < sizeof(fargate) || !has_shape(part.text, fargate))
		return false;
	for (size_t i = sizeof(fargate) - 1; i < part.length; i++)
		if (!isdigit((unsigned char)part.text[i]))
			return false;
	return keep(part, container);
}

static int digit_value(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* systemd writes `-` in a name as `\x2d` (systemd.unit(5)). What it stands for is in `name`. */
static struct part unescape(struct part part, char *name, size_t room_bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < part.length && n < room_bytes; i++) {
		const char *at = part.text + i;
		if (*at == '\\' && i + 3 < part.length && at[1] == 'x' && is_digit(at[2]) &&
		    is_digit(at[3])) {
			name[n++] = (char)(digit_value(at[2]) << 4 | digit_value(at[3]));
			i += 3;
		} else {
			name[n++] = *at;
		}
	}
	return (struct part){name, n};
}

static const struct {
	const char *before, *after;
} named[] = {
	{"lxc.payload.", ""},
	{"machine-", ".scope"}, /* systemd-nspawn, libvirt's LXC */
	{"systemd-nspawn@", ".service"},
};

static bool read_named(struct part part, char *container)
{
	char name[CGROUP_CONTAINER_BYTES];

	for (size_t i = 0; i < N_ITEMS(named); i++) {
		struct part rest = part;
		if (!begins_with(part, named[i].before) || !ends_with(part, named[i].after) ||
		    part.length < strlen(named[i].before) + strlen(named[i].after))
			continue;
		rest.text += strlen(named[i].before);
		rest.length -= strlen(named[i].before) + strlen(named[i].after);
		struct part plain = unescape(rest, name, sizeof(name));
		return !begins_with(plain, "qemu-") && /* a machine, no container */
		       keep(plain, container);
	}
	return false;
}

static const char *const parents[] = {"lxc", "lxc.payload", "garden"};

static bool read_child(struct part parent, struct part part, char *container)
{
	for (size_t i = 0; i < N_ITEMS(parents); i++)
		if (parent.length == strlen(parents[i]) && begins_with(parent, parents[i]))
			return keep(part, container);
	return false;
}

/* ---- paths ---- */

void cgroup_path_parse(const char *path, struct cgroup_ids *ids)
{
	struct part part = {path, 0}, parent = {path, 0};

	ids->container[0] = ids->pod_uid[0] = '\0';
	/* The cgroupfs driver makes a part `SLICE:PREFIX:ID` of what was meant for systemd. */
	for (; *part.text; parent = part, part.text += part.length) {
		part.text += strspn(part.text, "/:");
		part.length = strcspn(part.text, "/:");
		if (!ids->pod_uid[0] && read_pod(part, ids->pod_uid))
			continue;
		if (!read_oci(part, ids->container) && !read_other_id(part, ids->container) &&
		    !read_named(part, ids->container))
			read_child(parent, part, ids->container);
	}
}

/* ---- /proc/PID/cgroup ---- */

/* Whether a comma-separated list has the name. */
static bool lists(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
		if (!strncmp(list, name, n) && (!list[n] || list[n] == ','))
			return true;
	return false;
}

static int rank(const char *controllers)
{
	static const char *const order[] = {"memory", "cpu", "name=systemd", "pids"};

	if (!*controllers)
		return N_ITEMS(order) + 1;
	for (int i = N_ITEMS(order); i > 0; i--)
		if (lists(controllers, order[i - 1]))
			return i;
	return 0;
}

/* Split "id:controllers:path": the controllers and the path, or NULL. */
static char *split(char *line, const char **controllers)
{
	char *colon = strchr(line, ':'), *path = colon ? strchr(colon + 1, ':') : NULL;

	if (!path)
		return NULL;
	*path++ = '\0';
	*controllers = colon + 1;
	size_t length = strlen(path), deleted = strlen(" (deleted)");
	if (length > deleted && !strcmp(path + length - deleted, " (deleted)"))
		path[length - deleted] = '\0';
	return path;
}

static int worth(const char *path, const char *controllers, const struct cgroup_ids *ids)
{
	int says = ids->container[0] || ids->pod_uid[0] ? 2 : strcmp(path, "/") != 0;
	return says * 8 + rank(controllers);
}

bool cgroup_path_choose(const char *text, size_t length, char *path, size_t room_bytes,
			struct cgroup_ids *ids)
{
	const char *end = text + length, *next, *controllers;
	char line[4096 + 256];
	int best = -1;

	*path = '\0';
	ids->container[0] = ids->pod_uid[0] = '\0';
	for (; text < end && (next = memchr(text, '\n', (size_t)(end - text))); text = next + 1) {
		struct cgroup_ids found;
		size_t n = (size_t)(next - text);
		if (n >= sizeof(line))
			continue;
		memcpy(line, text, n);
		line[n] = '\0';
		char *own = split(line, &controllers);
		if (!own || own[0] != '/' || strlen(own) >= room_bytes)
			continue;
		cgroup_path_parse(own, &found);
		int value = worth(own, controllers, &found);
		if (value <= best)
			continue;
		best = value;
		*ids = found;
		memcpy(path, own, strlen(own) + 1);
	}
	return best >= 0;
}
