/*
 * A locale whose decimal point is a comma, for tests of what must not depend on it. Made with
 * localedef from the sources of Debian's package `locales` when the system has none compiled.
 */
#ifndef TESTS_COMMA_LOCALE_H
#define TESTS_COMMA_LOCALE_H

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static inline int comma_locale_make(void)
{
	char folder[] = "/tmp/locale-XXXXXX", command[256];

	if (!mkdtemp(folder))
		return -1;
	snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>&1",
		 folder);
	int status = system(command);
	setenv("LOCPATH", folder, 1);
	int found = status == 0 && setlocale(LC_ALL, "de_DE.UTF-8");
	unsetenv("LOCPATH");
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) == 0 && found ? 0 : -1;
}

/* Enter the locale; the test is skipped where there is none. */
static inline void comma_locale_begin(void)
{
	char text[32];

	if (!setlocale(LC_ALL, "de_DE.UTF-8") && comma_locale_make() < 0) {
		print_message(
			"skipped: no de_DE.UTF-8 and no localedef sources (package locales)\n");
		skip();
	}
	snprintf(text, sizeof(text), "%.1f", 0.5);
	assert_string_equal(text, "0,5");
}

/* A test's teardown, so that a failure does not leave the locale to the next test. */
static inline int comma_locale_end(void **state)
{
	(void)state;
	setlocale(LC_ALL, "C");
	return 0;
}

#endif
