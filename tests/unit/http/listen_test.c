/* Listen addresses: the forms, and the sockets they become. */
#include "client.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "http/listen.h"

static void forms_taken(void **state)
{
	static const struct {
		const char *text, *host, *port;
		int ipv6;
	} cases[] = {
		{":10435", "", "10435", 0},
		{":0", "", "0", 0},
		{":65535", "", "65535", 0},
		{"127.0.0.1:0", "127.0.0.1", "0", 0},
		{"0.0.0.0:80", "0.0.0.0", "80", 0},
		{"[::1]:9000", "::1", "9000", 1},
		{"[::]:9000", "::", "9000", 1},
		{"[fe80::1%lo]:9000", "fe80::1%lo", "9000", 1},
		{"[::ffff:127.0.0.1]:1", "::ffff:127.0.0.1", "1", 1},
		{"localhost:9000", "localhost", "9000", 0},
		{"a-b_c.Example.org:1", "a-b_c.Example.org", "1", 0},
	};
	struct listen_spec spec;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(listen_parse(cases[i].text, &spec, NULL), 0);
		assert_string_equal(spec.host, cases[i].host);
		assert_string_equal(spec.port, cases[i].port);
		assert_int_equal(spec.ipv6, cases[i].ipv6);
	}
}

static void forms_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "empty"},
		{"vsock://", "no scheme"},
		{"vsock://:9000", "no scheme"},
		{"fd://3", "no scheme"},
		{"unix:///run/x.sock", "no scheme"},
		{"http://localhost:9000", "no scheme"},
		{"9000", "port is missing"},
		{"localhost", "port is missing"},
		{"127.0.0.1", "port is missing"},
		{"[::1]", "port is missing"},
		{":", "port must be a number"},
		{"localhost:", "port must be a number"},
		{":70000", "from 0 to 65535"},
		{":65536", "from 0 to 65535"},
		{":99999999999999999999", "from 0 to 65535"},
		{":-1", "port must be a number"},
		{":+80", "port must be a number"},
		{": 80", "port must be a number"},
		{":80 ", "port must be a number"},
		{":http", "port must be a number"},
		{":0x50", "port must be a number"},
		{"::1:9000", "needs brackets"},
		{"::", "port must be a number"},
		{"[::1:9000", "unbalanced brackets"},
		{"[::1]9000", "port is missing"},
		{"[::1]x:9000", "unbalanced brackets"},
		{"::1]:9000", "needs brackets"},
		{"[]:9000", "not an IPv6 address"},
		{"[localhost]:9000", "not an IPv6 address"},
		{"[127.0.0.1]:9000", "not an IPv6 address"},
		{"[::g]:9000", "not an IPv6 address"},
		{"127.0.0.256:9000", "not an IPv4 address"},
		{"127.1:9000", "not an IPv4 address"},
		{"1.2.3.4.5:9000", "not an IPv4 address"},
		{"127.0.0.1/8:9000", "not a host name"},
		{"*:9000", "not a host name"},
		{"host name:9000", "not a host name"},
		{"unix:/run/x:1", "needs brackets"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct listen_spec spec;
		struct err err = {0};
		assert_int_equal(listen_parse(cases[i].text, &spec, &err), -EINVAL);
		assert_int_equal(err.reason, REASON_CONFIG);
		assert_has(err.msg, cases[i].why);
		assert_has(err.msg, "write \":PORT\"");
	}
}

static void long_names(void **state)
{
	struct listen_spec spec;
	char text[600];

	(void)state;
	memset(text, 'a', sizeof(text));
	strcpy(text + 255, ":1");
	assert_int_equal(listen_parse(text, &spec, NULL), 0);
	assert_int_equal(strlen(spec.host), 255);
	memset(text, 'a', sizeof(text));
	strcpy(text + 256, ":1");
	assert_int_equal(listen_parse(text, &spec, NULL), -EINVAL);
	memset(text, 'a', sizeof(text));
	text[0] = '[';
	strcpy(text + 500, "]:1");
	assert_int_equal(listen_parse(text, &spec, NULL), -EINVAL);
}

static int try_open(const char *const *addresses, size_t n, struct err *err)
{
	struct listeners listeners;
	int code = listen_open(addresses, n, &listeners, err);

	if (code)
		assert_int_equal(listeners.n, 0);
	listen_close(&listeners);
	return code;
}

static void all_or_none(void **state)
{
	static const char *const last_is_bad[] = {"127.0.0.1:0", "[::1]:0", "nonsense"};
	static const char *const not_ours[] = {"127.0.0.1:0", "192.0.2.1:0"}; /* RFC 5737 */
	static const char *const unresolved[] = {"no-such-host.invalid:9000"};
	int before = count_open_files();
	struct err err = {0};

	(void)state;
	assert_int_equal(try_open(last_is_bad, 3, &err), -EINVAL);
	assert_has(err.msg, "\"nonsense\"");
	assert_int_equal(try_open(not_ours, 2, &err), -EADDRNOTAVAIL);
	assert_has(err.msg, "\"192.0.2.1:0\": this machine has no such address");
	assert_int_equal(try_open(unresolved, 1, &err), -EADDRNOTAVAIL);
	assert_has(err.msg, "cannot resolve \"no-such-host.invalid\"");
	assert_int_equal(try_open(NULL, 0, &err), -EINVAL);
	assert_has(err.msg, "no listen address given");
	assert_int_equal(count_open_files(), before);
}

/* The n-th address, with its port replaced by P. */
static void check_address(const struct listeners *listeners, size_t n, const char *want)
{
	char got[128];

	assert_true(n < listeners->n);
	assert_true(port_of(listeners->at[n].address) > 0);
	snprintf(got, sizeof(got), "%s", listeners->at[n].address);
	strcpy(strrchr(got, ':') + 1, "P");
	assert_string_equal(got, want);
}

static void several_addresses(void **state)
{
	static const char *const addresses[] = {"127.0.0.1:0", "[::1]:0", ":0"};
	struct listeners listeners;

	(void)state;
	assert_int_equal(listen_open(addresses, 3, &listeners, NULL), 0);
	assert_int_equal(listeners.n, 3);
	check_address(&listeners, 0, "127.0.0.1:P");
	check_address(&listeners, 1, "[::1]:P");
	check_address(&listeners, 2, "[::]:P");
	/* The third takes both families. */
	int v4 = dial_address(listeners.at[2].address, AF_INET);
	int v6 = dial_address(listeners.at[2].address, AF_INET6);
	assert_true(v4 >= 0 && v6 >= 0);
	close(v4);
	close(v6);
	listen_close(&listeners);
}

static void names(void **state)
{
	static const char *const any_port[] = {"localhost:0"};
	struct listeners listeners;
	struct err err = {0};
	char text[32];

	(void)state;
	assert_int_equal(listen_open(any_port, 1, &listeners, &err), 0);
	assert_int_equal(listeners.n, 1);
	snprintf(text, sizeof(text), "localhost:%d", port_of(listeners.at[0].address));
	listen_close(&listeners);
	const char *const given_port[] = {text};
	assert_int_equal(listen_open(given_port, 1, &listeners, &err), 0);
	assert_true(listeners.n >= 1);
	for (size_t i = 0; i < listeners.n; i++)
		assert_int_equal(port_of(listeners.at[i].address), port_of(text));
	listen_close(&listeners);
}

static void port_in_use(void **state)
{
	static const char *const first[] = {"127.0.0.1:0"};
	struct listeners listeners;

	(void)state;
	assert_int_equal(listen_open(first, 1, &listeners, NULL), 0);
	for (int i = 0; i < 3; i++) {
		static const char *const hosts[] = {"127.0.0.1", "", "localhost"};
		char text[64];
		struct err err = {0};
		const char *const again[] = {text};
		snprintf(text, sizeof(text), "%s:%d", hosts[i], port_of(listeners.at[0].address));
		assert_int_equal(try_open(again, 1, &err), -EADDRINUSE);
		assert_has(err.msg, text);
		assert_has(err.msg, "address already in use");
	}
	listen_close(&listeners);
}

/* Make socket(AF_INET6, …) fail as on a machine whose kernel has no IPv6. */
static int forbid_ipv6(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Status 0 when the fallback works, else the number of the step that failed. */
static int listen_without_ipv6(void)
{
	static const char *const any[] = {":0"};
	static const char *const v6[] = {"[::1]:0"};
	struct listeners listeners;
	struct err err = {0};

	if (forbid_ipv6())
		return 1;
	if (listen_open(any, 1, &listeners, &err) || listeners.n != 1)
		return 2;
	if (strncmp(listeners.at[0].address, "0.0.0.0:", 8))
		return 3;
	listen_close(&listeners);
	if (listen_open(v6, 1, &listeners, &err) != -EAFNOSUPPORT)
		return 4;
	return strstr(err.msg, "no such kind of address") ? 0 : 5;
}

static void falls_back_to_ipv4(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (!child)
		_exit(listen_without_ipv6());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_taken),	     cmocka_unit_test(forms_refused),
		cmocka_unit_test(long_names),	     cmocka_unit_test(all_or_none),
		cmocka_unit_test(several_addresses), cmocka_unit_test(names),
		cmocka_unit_test(port_in_use),	     cmocka_unit_test(falls_back_to_ipv4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
