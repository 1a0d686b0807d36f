/*
 * USDT notes that contradict each other, as no compiler writes them: clash. One instruction has the
 * sites plain, same (both without a semaphore), gated and gated__too (with one each).
 */
#include "victim.h"

#include "notes.h"

SEMAPHORE(gate);
SEMAPHORE(gate_too);

PROBED void pass(void)
{
	__asm__ volatile(MARK("clash", "plain", "0", "") NOTE("clash", "gated", "gate", "") NOTE(
		"clash", "gated__too", "gate_too", "") NOTE("clash", "same", "0", ""));
	__asm__ volatile(MARK("clash", "other", "0", ""));
	__asm__ volatile(MARK("clash", "alone", "gate", ""));
}

int main(void)
{
	for (bool more = ready(); more; more = next_round()) {
		pass();
		say("{\"gates\":[%d,%d]}\n", gate, gate_too);
	}
	return 0;
}
