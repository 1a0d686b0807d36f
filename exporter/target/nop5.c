/* Tried, not told by the version. */
#include "target/nop5.h"

#include <errno.h>
#include <unistd.h>

bool nop5_is_cheap(void)
{
#ifdef __x86_64__
	/* uprobe(2), from elsewhere than a trampoline: -ENXIO where it exists. */
	enum { UPROBE = 336 };
	return syscall(UPROBE) == -1 && errno == ENXIO;
#else
	return false;
#endif
}
