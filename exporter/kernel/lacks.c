/* Looking up the enumerators that name a feature in the kernel's BTF. */
#include "kernel/lacks.h"

#include <string.h>
#include <sys/utsname.h>

#include <bpf/btf.h>

/* include/uapi/linux/bpf.h: an enumerator came into each enum with its feature. */
static const struct feature_name {
	const char *set, *name, *what, *since;
} names[] = {
	[TIER_AUTO] = {"bpf_func_id", "BPF_FUNC_get_attach_cookie", "bpf_get_attach_cookie()",
		       "5.15"},
	[TIER_SESSION] = {"bpf_attach_type", "BPF_TRACE_UPROBE_SESSION",
			  "uprobe session links (BPF_TRACE_UPROBE_SESSION)", "6.13"},
	[TIER_MULTI] = {"bpf_attach_type", "BPF_TRACE_UPROBE_MULTI",
			"uprobe_multi links (BPF_TRACE_UPROBE_MULTI)", "6.6"},
	[TIER_PERF] = {"bpf_func_id", "BPF_FUNC_get_attach_cookie", "bpf_get_attach_cookie()",
		       "5.15"},
};

static bool has_enumerator(const struct btf *btf, const struct feature_name *feature)
{
	int id = btf__find_by_name_kind(btf, feature->set, BTF_KIND_ENUM);

	if (id < 0)
		return true; /* not told: claim nothing */
	const struct btf_type *type = btf__type_by_id(btf, (uint32_t)id);
	const struct btf_enum *values = btf_enum(type);
	for (uint16_t i = 0; i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, values[i].name_off), feature->name))
			return true;
	return false;
}

bool lacks_explain(enum tier tier, struct strbuf *out)
{
	const struct feature_name *feature = &names[tier];
	struct btf *btf = btf__load_vmlinux_btf();
	bool lacks = btf && !has_enumerator(btf, feature);
	struct utsname kernel = {0};

	btf__free(btf);
	if (!lacks)
		return false;
	uname(&kernel);
	strbuf_printf(out, "this kernel (%s) has no %s, which came with %s", kernel.release,
		      feature->what, feature->since);
	return true;
}
