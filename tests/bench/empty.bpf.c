// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kernel's own limit: programs that do nothing, on the entry and the return of a call. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("kprobe")
int empty(void *ctx)
{
	return 0;
}
