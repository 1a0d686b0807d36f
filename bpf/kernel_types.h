/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few kernel types the programs look into, declared with just the fields in use: CO-RE
 * relocates them against the running kernel's BTF, so no generated header is needed.
 */
#ifndef UP_KERNEL_TYPES_H
#define UP_KERNEL_TYPES_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* kernel/events/uprobes.c: the page of out-of-line slots; its start is the return trampoline. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct rb_node {
	struct rb_node *rb_right, *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct address_space {
	struct rb_root_cached i_mmap; /* all mappings of a file */
};

struct dentry;

struct super_block {
	unsigned int s_dev;
	struct dentry *s_root;
};

struct inode {
	unsigned long i_ino;
	unsigned int i_nlink;
	struct super_block *i_sb;
	struct address_space *i_mapping;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct vm_area_struct {
	struct file *vm_file;
};

struct mm_struct {
	unsigned long start_stack;
	struct file *exe_file;
	struct uprobes_state uprobes_state;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads of the process that have not begun to exit */
};

struct thread_struct {
	unsigned long fsbase; /* x86-64 */
};

/* kernel/events/uprobes.c: pending returns of a thread. */
struct uprobe_task {
	unsigned int depth;
};

struct ns_common {
	unsigned int inum;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

struct task_struct {
	int pid, tgid;
	struct nsproxy *nsproxy;
	char comm[16];
	struct task_struct *group_leader;
	unsigned long long start_boottime; /* ns */
	struct uprobe_task *utask;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct thread_struct thread;
};

#pragma clang attribute pop

#endif
