/*
 * What the kernel does with a uprobe at an x86-64 instruction.
 *
 * Facts from the kernel's arch/x86/kernel/uprobes.c (good_insns_64, good_2byte_insns,
 * is_prefix_bad, branch_setup_xol_ops, push_setup_xol_ops, can_optimize), 4.x to 7.x. Where
 * versions differ, the worst of them counts: what one emulates and another steps is stepped, what
 * one refuses is refused. Two forms are kept apart because they matter: multi-byte nops, emulated
 * since 6.18, and five-byte nops, which kernels from 6.18 on replace by a call.
 */
#include "target/code_x86.h"

struct rule {
	unsigned char first, last; /* opcodes */
	enum code_class class;
	const char *why;
};

static const char in_out[] = "it is an input or output instruction";
static const char traps[] = "it traps";
static const char privileged[] = "it is a system instruction";
static const char unknown[] = "the kernel does not know its opcode";

/* One-byte opcodes. The kernel looks at the opcode byte of VEX and EVEX forms in the same way. */
static const struct rule one_byte[] = {
	{0x06, 0x07, CODE_REFUSED, unknown},	{0x0e, 0x0e, CODE_REFUSED, unknown},
	{0x16, 0x17, CODE_REFUSED, unknown},	{0x1e, 0x1f, CODE_REFUSED, unknown},
	{0x27, 0x27, CODE_REFUSED, unknown},	{0x2f, 0x2f, CODE_REFUSED, unknown},
	{0x37, 0x37, CODE_REFUSED, unknown},	{0x3f, 0x3f, CODE_REFUSED, unknown},
	{0x60, 0x62, CODE_REFUSED, unknown},	{0x6c, 0x6f, CODE_REFUSED, in_out},
	{0x82, 0x82, CODE_REFUSED, unknown},	{0x9a, 0x9a, CODE_REFUSED, unknown},
	{0xcc, 0xcd, CODE_REFUSED, traps},	{0xce, 0xcf, CODE_REFUSED, privileged},
	{0xd4, 0xd6, CODE_REFUSED, unknown},	{0xe4, 0xe7, CODE_REFUSED, in_out},
	{0xea, 0xea, CODE_REFUSED, unknown},	{0xec, 0xef, CODE_REFUSED, in_out},
	{0xf1, 0xf1, CODE_REFUSED, traps},	{0xf4, 0xf4, CODE_REFUSED, privileged},
	{0xfa, 0xfb, CODE_REFUSED, privileged},
};

/* Opcodes after 0f. */
static const struct rule two_byte[] = {
	{0x00, 0x01, CODE_REFUSED, privileged}, {0x05, 0x09, CODE_REFUSED, privileged},
	{0x0b, 0x0b, CODE_REFUSED, traps},	{0x30, 0x30, CODE_REFUSED, privileged},
	{0x34, 0x35, CODE_REFUSED, privileged}, {0x37, 0x37, CODE_REFUSED, privileged},
	{0x78, 0x79, CODE_REFUSED, privileged}, {0x80, 0x8f, CODE_EMULATED, NULL},
	{0xae, 0xae, CODE_REFUSED, unknown},	{0xff, 0xff, CODE_REFUSED, traps},
};

/* Legacy one-byte opcodes that are emulated. */
static const struct rule emulated[] = {
	{0x70, 0x7f, CODE_EMULATED, NULL},
	{0xe8, 0xe9, CODE_EMULATED, NULL},
	{0xeb, 0xeb, CODE_EMULATED, NULL},
};

static const struct rule *rule_for(const struct rule *rules, size_t n, unsigned char opcode)
{
	for (size_t i = 0; i < n; i++) {
		if (opcode >= rules[i].first && opcode <= rules[i].last)
			return &rules[i];
	}
	return NULL;
}
#define RULE_FOR(rules, opcode) rule_for(rules, sizeof(rules) / sizeof((rules)[0]), opcode)

static bool has_prefix(const ZydisDecodedInstruction *insn, unsigned char value)
{
	for (unsigned i = 0; i < insn->raw.prefix_count; i++) {
		if (insn->raw.prefixes[i].value == value)
			return true;
	}
	return false;
}

static const char *bad_prefix(const ZydisDecodedInstruction *insn)
{
	if (has_prefix(insn, 0xf0))
		return "it has a lock prefix";
	if (has_prefix(insn, 0x2e) || has_prefix(insn, 0x36) || has_prefix(insn, 0x3e) ||
	    has_prefix(insn, 0x26))
		return "it has a cs, ds, es or ss segment prefix";
	return NULL;
}

static enum code_class classify_nop(const ZydisDecodedInstruction *insn)
{
	if (insn->length == 5)
		return CODE_NOP5;
	if (insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && insn->opcode == 0x90)
		return CODE_EMULATED;
	return insn->opcode == 0x1f ? CODE_LONG_NOP : CODE_STEPPED;
}

/* push %reg: emulated without prefixes but REX.B alone. */
static bool is_plain_push(const ZydisDecodedInstruction *insn)
{
	return (insn->opcode & 0xf8) == 0x50 &&
	       (insn->length == 1 || (insn->length == 2 && has_prefix(insn, 0x41)));
}

static enum code_class take(const struct rule *rule, const ZydisDecodedInstruction *insn,
			    const char **why)
{
	if (rule->class == CODE_EMULATED && has_prefix(insn, 0x66)) {
		*why = "it is a branch with an operand size prefix";
		return CODE_REFUSED;
	}
	*why = rule->why;
	return rule->class;
}

static enum code_class classify_legacy(const struct code_x86 *x, const char **why)
{
	const ZydisDecodedInstruction *insn = &x->insn;
	const struct rule *rule = NULL;

	if (insn->mnemonic == ZYDIS_MNEMONIC_NOP)
		return classify_nop(insn);
	if (insn->length == 5 && code_x86_is_lea_nop(x))
		return CODE_NOP5;
	if (insn->opcode_map == ZYDIS_OPCODE_MAP_0F)
		rule = RULE_FOR(two_byte, insn->opcode);
	else if (insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
		rule = RULE_FOR(one_byte, insn->opcode);
		if (!rule)
			rule = RULE_FOR(emulated, insn->opcode);
		if (is_plain_push(insn))
			return CODE_EMULATED;
		if (insn->opcode == 0x90 && insn->mnemonic == ZYDIS_MNEMONIC_XCHG) {
			*why = "older kernels take it for a nop";
			return CODE_REFUSED;
		}
		if (insn->opcode == 0x8e && insn->raw.modrm.reg == 2) {
			*why = "it loads the stack segment";
			return CODE_REFUSED;
		}
	}
	return rule ? take(rule, insn, why) : CODE_STEPPED;
}

enum code_class code_x86_classify(const unsigned char *bytes, size_t room, const char **why)
{
	struct code_x86 x;
	const struct rule *rule;

	*why = "its bytes are no instruction";
	if (!code_x86_decode(bytes, room, &x))
		return CODE_REFUSED;
	*why = bad_prefix(&x.insn);
	if (*why)
		return CODE_REFUSED;
	if (x.insn.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return classify_legacy(&x, why);
	rule = RULE_FOR(one_byte, x.insn.opcode);
	return rule ? take(rule, &x.insn, why) : CODE_STEPPED;
}
