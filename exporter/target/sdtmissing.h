/* What to tell somebody whose USDT site is not in the file that they named. */
#ifndef TARGET_SDTMISSING_H
#define TARGET_SDTMISSING_H

#include "target/sdt.h"

/*
 * Why `probe` ("provider:name") is not among the sites of the file `fd` at `path`, and where it
 * is: near names, what else the provider has, a function of that name, a library that the file
 * needs. Goes after "PATH: " with REASON_USDT_NOT_FOUND; lives in the arena. Text of the file is
 * quoted as it is.
 */
const char *sdtmissing_text(const struct sdt *sdt, int fd, const char *path, const char *probe,
			    struct arena *arena);

#endif
