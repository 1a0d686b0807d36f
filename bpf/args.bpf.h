/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading an argument of a USDT site, as struct up_arg says where it lies. */
#ifndef UP_ARGS_BPF_H
#define UP_ARGS_BPF_H

#include "maps.bpf.h"

/* A register of the program; `offset` is into its registers, which the context begins with. */
static __always_inline bool register_read(struct pt_regs *ctx, __u16 offset, __u64 *value)
{
	*value = 0;
	if (offset == UP_ARG_NO_REGISTER)
		return true;
	/* Not from the context itself: there the verifier wants an offset that it knows. */
	return !bpf_probe_read_kernel(value, sizeof(*value), (const char *)ctx + offset);
}

/* Only the bytes that are meant are read: those behind may be on a page that is not there. */
static __always_inline bool memory_read(__u64 address, __u8 size, __u64 *value)
{
	const void *at = (const void *)address;

	*value = 0;
	switch (size) {
	case 1:
		return !bpf_probe_read_user(value, 1, at);
	case 2:
		return !bpf_probe_read_user(value, 2, at);
	case 4:
		return !bpf_probe_read_user(value, 4, at);
	default:
		return !bpf_probe_read_user(value, 8, at);
	}
}

/* Extend what is in the low `size` bytes to all of them. */
static __always_inline __u64 extend(__u64 value, const struct up_arg *arg)
{
	__u32 unused = 64 - arg->size * 8;

	if (unused >= 64)
		return value;
	value <<= unused;
	return arg->is_signed ? (__u64)((__s64)value >> unused) : value >> unused;
}

/* False when it cannot be read: the page is not in memory now. */
static __always_inline bool arg_read(struct pt_regs *ctx, const struct up_arg *arg, __u64 *value)
{
	__u64 base, index;

	if (arg->kind == UP_ARG_CONSTANT) {
		*value = extend(arg->value, arg);
		return true;
	}
	if (!register_read(ctx, arg->base, &base))
		return false;
	if (arg->kind == UP_ARG_REGISTER) {
		*value = extend(base >> (arg->shift & 63), arg);
		return true;
	}
	if (!register_read(ctx, arg->index, &index) ||
	    !memory_read(base + (index << (arg->shift & 63)) + arg->value, arg->size, value))
		return false;
	*value = extend(*value, arg);
	return true;
}

#endif
