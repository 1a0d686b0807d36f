// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who a mapping of our own is shared with: run by the exporter on itself (BPF_PROG_TEST_RUN), with
 * an address at which it has mapped a file. An object of its own, since kernels before 5.17 have no
 * bpf_find_vma and would refuse the rest with it.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "contract.h"
#include "kernel_types.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct up_mapping);
} mapping SEC(".maps");

/*
 * The file behind the mapping is the one that holds the data: of an overlay, the layer's. Its
 * mappings are an interval tree, which has one node when there is only ours.
 */
static long look(struct task_struct *task, struct vm_area_struct *vma, void *unused)
{
	__u32 zero = 0;
	struct up_mapping *found = bpf_map_lookup_elem(&mapping, &zero);
	struct inode *inode = BPF_CORE_READ(vma, vm_file, f_inode);

	if (!found || !inode)
		return 0;
	struct rb_node *root = BPF_CORE_READ(inode, i_mapping, i_mmap.rb_root.rb_node);
	found->ino = BPF_CORE_READ(inode, i_ino);
	found->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	found->shared = root && (BPF_CORE_READ(root, rb_left) || BPF_CORE_READ(root, rb_right));
	found->found = 1;
	return 0;
}

SEC("raw_tp")
int look_at(struct bpf_raw_tracepoint_args *ctx)
{
	bpf_find_vma(bpf_get_current_task_btf(), ctx->args[0], look, NULL, 0);
	return 0;
}
