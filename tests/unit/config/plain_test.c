/* plain.c: which words need quotes to be text. */
#include "common.h"

#include "config/plain.h"

static const struct typed {
	const char *text, *type;
} typed[] = {
	{"~", "null"},
	{"null", "null"},
	{"NULL", "null"},
	{"true", "a boolean"},
	{"False", "a boolean"},
	{"yes", "a boolean"},
	{"No", "a boolean"},
	{"ON", "a boolean"},
	{"off", "a boolean"},
	{".inf", "a number"},
	{"-.Inf", "a number"},
	{".NaN", "a number"},
	{"0", "a number"},
	{"12", "a number"},
	{"-12", "a number"},
	{"+1", "a number"},
	{"010", "a number"},
	{"0x10", "a number"},
	{"0o17", "a number"},
	{"0b11", "a number"},
	{"1_000", "a number"},
	{"1.5", "a number"},
	{".5", "a number"},
	{"1.", "a number"},
	{"1e3", "a number"},
	{"1E-3", "a number"},
	{"-1.5e+10", "a number"},
	{"1:30", "a number"},
	{"1:30:00.5", "a number"},
	{"2001-12-14", "a date"},
	{"2001-1-1", "a date"},
	{"2001-12-14T21:59:43Z", "a date"},
	{"2001-12-14 21:59", "a date"},
};

static const char *const texts[] = {
	"pay",	     "no_op",	"nothing",     "y",	      "n",	    "on_exit", "1st",
	"1.2.3",     "1e",	"e3",	       "0x",	      "0xzz",	    "0o9x",    "-",
	"+",	     ".",	"--",	       "-x",	      "_1",	    "1-2",     "12ms",
	"127.0.0.1", "2001-12", "2001-12-14x", "20011-12-14", "2001-123-1", "9.6:1-1", "1e3x",
	"_",	     "",	"~x",	       "null.",	      "1+1",	    "0b",      "5e+",
};

static void typed_words_are_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(typed); i++) {
		const char *type = plain_type(typed[i].text);
		if (!type || strcmp(type, typed[i].type) != 0)
			fail_msg("%s: %s", typed[i].text, type ? type : "text");
	}
}

static void text_is_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ITEMS(texts); i++)
		if (plain_type(texts[i]))
			fail_msg("%s: %s", texts[i], plain_type(texts[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(typed_words_are_told),
		cmocka_unit_test(text_is_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
