/* The growing text. */
#include "base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void an_unwritten_buffer_is_an_empty_text(void **state)
{
	struct strbuf buf;

	(void)state;
	strbuf_init(&buf);
	assert_string_equal(strbuf_text(&buf), "");
	char *text = strbuf_take(&buf);
	assert_string_equal(text, "");
	free(text);
	strbuf_fini(&buf);
}

static void writes_follow_each_other(void **state)
{
	struct strbuf buf;

	(void)state;
	strbuf_init(&buf);
	strbuf_puts(&buf, "a");
	strbuf_putc(&buf, 'b');
	strbuf_add(&buf, "cdX", 2);
	strbuf_printf(&buf, "%d-%s", 7, "e");
	assert_string_equal(strbuf_text(&buf), "abcd7-e");
	assert_int_equal(buf.length, 7);
	strbuf_clear(&buf);
	assert_string_equal(strbuf_text(&buf), "");
	strbuf_puts(&buf, "again");
	assert_string_equal(strbuf_text(&buf), "again");
	strbuf_fini(&buf);
}

static void long_texts_grow(void **state)
{
	struct strbuf buf;
	char long_text[5000];

	(void)state;
	memset(long_text, 'x', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = '\0';
	strbuf_init(&buf);
	for (int i = 0; i < 1000; i++) {
		strbuf_putc(&buf, 'x');
		assert_int_equal(strlen(buf.text), (size_t)i + 1);
	}
	strbuf_printf(&buf, "%s", long_text);
	strbuf_add(&buf, "a\0b", 3);
	assert_int_equal(buf.length, 1000 + 4999 + 3);
	assert_memory_equal(buf.text + 5999, "a\0b", 4);
	strbuf_fini(&buf);
}

static void taking_empties(void **state)
{
	struct strbuf buf;

	(void)state;
	strbuf_init(&buf);
	strbuf_puts(&buf, "mine");
	char *text = strbuf_take(&buf);
	assert_string_equal(text, "mine");
	assert_string_equal(strbuf_text(&buf), "");
	assert_int_equal(buf.length, 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unwritten_buffer_is_an_empty_text),
		cmocka_unit_test(writes_follow_each_other),
		cmocka_unit_test(long_texts_grow),
		cmocka_unit_test(taking_empties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
