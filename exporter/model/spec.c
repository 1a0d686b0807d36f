/* The validated config. */
#include "model/spec.h"

#include <stdlib.h>

static const char *const exit_mode_names[] = {
	[EXIT_AUTO] = "auto",
	[EXIT_URETPROBE] = "uretprobe",
	[EXIT_RETURN_SITES] = "return-sites",
	[EXIT_NONE] = "none",
};

const char *exit_mode_name(enum exit_mode mode)
{
	return exit_mode_names[mode];
}

void spec_free(struct spec *spec)
{
	if (!spec)
		return;
	arena_fini(&spec->arena);
	free(spec);
}
