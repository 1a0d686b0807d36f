/* A library with USDT sites, for marks: one of a name that the program has too, and one that only
 * ever begins. */
#include "victim.h"

#include "notes.h"

PROBED void library_marks(long n)
{
	for (long i = 0; i < n; i++) {
		__asm__ volatile(MARK("marks", "hit", "0", ""));
		__asm__ volatile(MARK("marks", "open__start", "0", "-8@%0") : : "r"(i));
	}
	__asm__ volatile(MARK("marks", "open__done", "0", "-8@$-1"));
}
