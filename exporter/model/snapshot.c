/* One scrape's content. */
#include "model/snapshot.h"

#include <stdlib.h>

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	arena_fini(&snapshot->arena);
	free(snapshot);
}
