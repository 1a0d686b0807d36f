/* Which version this is; defined in build/version.c, which the Makefile writes. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

extern const char version_number[];   /* of the file VERSION */
extern const char version_revision[]; /* the commit it was built from, or "unknown" */

#endif
