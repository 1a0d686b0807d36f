/* cgroup_path.c: paths as they are met in the field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "target/cgroup_path.h"

#define N_ITEMS(a) (sizeof(a) / sizeof((a)[0]))

#define ID	   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2	   "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID	   "2b801b7a-5266-4386-864e-45ed71136371"
#define UID_	   "2b801b7a_5266_4386_864e_45ed71136371"
#define HASH	   "8d8f6e3d1b1e4a6a8a9bd6c2b6ab35b7"

static const struct {
	const char *path, *container, *pod;
} cases[] = {
	/* none */
	{"/", "", ""},
	{"", "", ""},
	{"/init.scope", "", ""},
	{"/system.slice/sshd.service", "", ""},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice/x.service", "", ""},
	{"/user.slice/user-1000.slice/session-3.scope", "", ""},
	{"/kubepods", "", ""},
	{"/kubepods.slice/kubepods-burstable.slice", "", ""},
	{"/system.slice/containerd.service", "", ""},
	{"/docker", "", ""},

	/* Docker: cgroupfs, systemd, rootless, with a parent, systemd within */
	{"/docker/" ID, ID, ""},
	{"/system.slice/docker-" ID ".scope", ID, ""},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", ID, ""},
	{"/my.slice/my-own.slice/docker-" ID ".scope", ID, ""},
	{"/docker/" ID "/init.scope", ID, ""},
	{"/docker/" ID "/system.slice/cron.service", ID, ""},
	{"/docker/" ID "/docker/" ID2, ID2, ""},
	{"/system.slice/docker-" ID ".scope/docker/" ID2, ID2, ""},
	/* units that belong to a container, but hold no process of it */
	{"/system.slice/var-lib-docker-containers-" ID "-mounts-shm.mount", "", ""},
	{"/system.slice/docker-" ID ".service", "", ""},

	/* Kubernetes, cgroupfs: with the three classes; static pods */
	{"/kubepods/burstable/pod" UID "/" ID, ID, UID},
	{"/kubepods/besteffort/pod" UID "/" ID, ID, UID},
	{"/kubepods/pod" UID "/" ID, ID, UID},
	{"/kubepods/burstable/pod" HASH "/" ID, ID, HASH},
	{"/kubepods/burstable/pod" UID, "", UID},
	{"/kubepods/burstable/pod" UID "/crio-" ID, ID, UID},
	/* … systemd: containerd, CRI-O, Docker */
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 ID, UID},
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-" ID
	 ".scope",
	 ID, UID},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" ID ".scope", ID, UID},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" HASH
	 ".slice/cri-containerd-" ID ".scope",
	 ID, HASH},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice", "", UID},
	/* CRI-O's watcher, which is outside of the container; a container with a group of its own
	 */
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope", "", UID},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container", ID, UID},
	/* containerd with cgroupfs under a kubelet with systemd */
	{"/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID,
	 ID, UID},
	{"/kubepods-besteffort-pod" UID_ ".slice:crio:" ID, ID, UID},
	/* kind: nodes are containers; and a node in a pod: innermost container, outermost pod */
	{"/docker/" ID2 "/kubelet/kubepods/burstable/pod" UID "/" ID, ID, UID},
	{"/system.slice/docker-" ID2 ".scope/kubelet.slice/kubelet-kubepods.slice/"
	 "kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 ID, UID},
	{"/kubepods/burstable/pod" UID "/" ID2 "/docker/" ID, ID, UID},
	{"/kubepods/pod" UID "/" ID2 "/kubepods/pod" HASH "/" ID, ID, UID},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID
	 ".scope/system.slice/docker-" ID2 ".scope",
	 ID2, UID},
	/* in a cgroup namespace, seen from another */
	{"/../" ID, ID, ""},
	{"/../../pod" UID "/" ID, ID, UID},
	{"/../../../kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 ID, UID},
	{"/..", "", ""},
	/* k3s, nerdctl, Podman: rootful, rootless, in a pod, cgroupfs */
	{"/k8s.io/" ID, ID, ""},
	{"/default/" ID, ID, ""},
	{"/system.slice/nerdctl-" ID ".scope", ID, ""},
	{"/machine.slice/libpod-" ID ".scope", ID, ""},
	{"/machine.slice/libpod-" ID ".scope/container", ID, ""},
	{"/machine.slice/libpod-conmon-" ID ".scope", "", ""},
	{"/machine.slice/machine-libpod_pod_" ID2 ".slice/libpod-" ID ".scope", ID, ""},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", ID, ""},
	{"/libpod_parent/libpod-" ID, ID, ""},
	{"/libpod_parent/conmon", "", ""},
	/* LXC and LXD */
	{"/lxc/web", "web", ""},
	{"/lxc.payload/web", "web", ""},
	{"/lxc.payload.web-1", "web-1", ""},
	{"/lxc.payload.web/init.scope", "web", ""},
	{"/lxc.payload.web/system.slice/nginx.service", "web", ""},
	{"/lxc.monitor.web", "", ""},
	{"/lxc.payload.web/docker/" ID, ID, ""},
	/* systemd-nspawn, libvirt */
	{"/machine.slice/machine-debian.scope", "debian", ""},
	{"/machine.slice/machine-my\\x2dbox.scope/payload", "my-box", ""},
	{"/machine.slice/systemd-nspawn@build.service/payload", "build", ""},
	{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "", ""},
	{"/machine.slice/machine-lxc\\x2d123\\x2dweb.scope", "lxc-123-web", ""},
	/* Garden, ECS on EC2 and on Fargate */
	{"/garden/6f265890-5165-7fab-6b52-18d1", "6f265890-5165-7fab-6b52-18d1", ""},
	{"/garden/" UID, UID, ""},
	{"/system.slice/garden.service/garden/6f265890-5165-7fab-6b52-18d1",
	 "6f265890-5165-7fab-6b52-18d1", ""},
	{"/ecs/cluster/" UID "/" ID, ID, ""},
	{"/ecs/" HASH "/" ID, ID, ""},
	{"/ecs/" HASH "/" HASH "-2537470602", HASH "-2537470602", ""},
	{"/ecs/" HASH "/" HASH "-x", "", ""},

	/* nearly */
	{"/docker/" ID "0", "", ""},
	{"/docker/x" ID, "", ""},
	{"/docker/0123456789abcdef", "", ""},
	{"/docker/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", "", ""},
	{"/kubepods/burstable/pod2b801b7a-5266-4386-864e-45ed7113637/" ID, ID, ""},
	{"/kubepods/burstable/tripod" UID "/" ID, ID, ""},
	{"/kubepods/pod/" ID, ID, ""},
	/* hostile: no such name becomes a label */
	{"/lxc/a b", "", ""},
	{"/lxc/\xff\xfe", "", ""},
	{"/lxc.payload.\x1b[31m", "", ""},
	{"/machine.slice/machine-a\\x0ab.scope", "", ""},
	{"/machine.slice/machine-a\\xffb.scope", "", ""},
	{"/machine.slice/machine-a\\x00b.scope", "", ""},
	{"/machine.slice/machine-a\\x.scope", "", ""},
	{"/machine.slice/machine-.scope", "", ""},
	{"machine-.scop", "", ""},
	{"/lxc//", "", ""},
	{"//docker///" ID "//", ID, ""},
};

static void paths_of_the_field(void **state)
{
	struct cgroup_ids ids;
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < N_ITEMS(cases); i++) {
		memset(&ids, 'x', sizeof(ids));
		cgroup_path_parse(cases[i].path, &ids);
		if (!strcmp(ids.container, cases[i].container) &&
		    !strcmp(ids.pod_uid, cases[i].pod))
			continue;
		print_error("%s: `%s` `%s`\n", cases[i].path, ids.container, ids.pod_uid);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void a_long_name_is_none(void **state)
{
	char path[300];
	struct cgroup_ids ids;

	(void)state;
	memset(path, 'n', sizeof(path));
	memcpy(path, "/lxc/", 5);
	path[5 + CGROUP_CONTAINER_BYTES - 1] = '\0';
	cgroup_path_parse(path, &ids);
	assert_int_equal(strlen(ids.container), CGROUP_CONTAINER_BYTES - 1);
	path[5 + CGROUP_CONTAINER_BYTES - 1] = 'n';
	path[5 + CGROUP_CONTAINER_BYTES] = '\0';
	cgroup_path_parse(path, &ids);
	assert_string_equal(ids.container, "");
}

/* ---- choosing a line ---- */

static const struct {
	const char *text, *path, *container;
} files[] = {
	{"0::/system.slice/x.service\n", "/system.slice/x.service", ""},
	{"0::/\n", "/", ""},
	/* hybrid: version 2 unless it says nothing */
	{"5:pids:/a\n1:name=systemd:/b\n0::/c\n", "/c", ""},
	{"5:pids:/a\n1:name=systemd:/b\n0::/\n", "/a", ""},
	{"3:cpu,cpuacct:/a\n1:name=systemd:/b\n0::/\n", "/b", ""},
	{"3:cpuacct,cpu:/a\n2:freezer:/b\n", "/a", ""},
	{"9:cpuset:/\n4:memory:/m\n3:cpu:/\n0::/\n", "/m", ""},
	{"9:blkio:/b\n8:pids:/\n0::/\n", "/b", ""},
	/* containerd's own place in version 2, the container's in version 1 */
	{"7:pids:/docker/" ID "\n1:name=systemd:/docker/" ID
	 "\n0::/system.slice/containerd.service\n",
	 "/docker/" ID, ID},
	{"7:pids:/kubepods/pod" UID "\n0::/system.slice\n", "/kubepods/pod" UID, ""},
	/* a path with colons, an ended cgroup, a line without its end, and no line at all */
	{"0::/a:b:c\n", "/a:b:c", ""},
	{"0::/gone (deleted)\n", "/gone", ""},
	{"0::/a\n1:pids:/docker/" ID, "/a", ""},
	{"0::relative\n1:pids:/a\n", "/a", ""},
	{"0:/a\nx\n\n::\n0::/b\n", "/b", ""},
};

static void the_line_that_says_most(void **state)
{
	struct cgroup_ids ids;
	char path[4096];

	(void)state;
	for (size_t i = 0; i < N_ITEMS(files); i++) {
		assert_true(cgroup_path_choose(files[i].text, strlen(files[i].text), path,
					       sizeof(path), &ids));
		assert_string_equal(path, files[i].path);
		assert_string_equal(ids.container, files[i].container);
	}
	static const char *const none[] = {"", "\n", "0::/a", "0:", ":\n", "0::\n"};
	for (size_t i = 0; i < N_ITEMS(none); i++)
		assert_false(
			cgroup_path_choose(none[i], strlen(none[i]), path, sizeof(path), &ids));
}

static void a_path_without_room_is_passed_over(void **state)
{
	struct cgroup_ids ids;
	char path[6], text[] = "0::/12345\n1:pids:/1234\n";

	(void)state;
	assert_true(cgroup_path_choose(text, strlen(text), path, sizeof(path), &ids));
	assert_string_equal(path, "/1234");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_of_the_field),
		cmocka_unit_test(a_long_name_is_none),
		cmocka_unit_test(the_line_that_says_most),
		cmocka_unit_test(a_path_without_room_is_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
