/*
 * The measured program: functions with one first instruction each, in several copies, so that
 * every tool has a copy of its own and all can stay attached while rounds alternate.
 *
 * Reads lines "KIND COPY CALLS", and answers each with the nanoseconds a call took, by its own
 * clock, loop included.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* KIND_COPY: `first`, then a body of one instruction and ret. */
#define ONE(kind, copy, first, last)                                            \
	__asm__(".text\n.balign 64\n.globl " #kind "_" #copy "\n"                 \
		".type " #kind "_" #copy ", @function\n" #kind "_" #copy ":\n"    \
		first "\nmov %edi, %eax\n" last "\nret\n"                         \
		".size " #kind "_" #copy ", .-" #kind "_" #copy "\n");            \
	extern int kind##_##copy(int)

#define COPIES(kind, first, last)                                               \
	ONE(kind, 0, first, last);                                              \
	ONE(kind, 1, first, last);                                              \
	ONE(kind, 2, first, last);                                              \
	ONE(kind, 3, first, last);                                              \
	ONE(kind, 4, first, last);                                              \
	ONE(kind, 5, first, last);                                              \
	ONE(kind, 6, first, last);                                              \
	ONE(kind, 7, first, last);                                              \
	ONE(kind, 8, first, last);                                              \
	ONE(kind, 9, first, last)

COPIES(push, "push %rbp", "pop %rbp");
COPIES(endbr, "endbr64\npush %rbp", "pop %rbp");
COPIES(sub, "sub $24, %rsp", "add $24, %rsp");
COPIES(lea, "lea 1(%rdi), %ecx", "");
COPIES(nop5, ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00", "");

typedef int (*function)(int);

#define ROW(kind)                                                                                \
	{                                                                                        \
		#kind,                                                                           \
		{                                                                                \
			kind##_0, kind##_1, kind##_2, kind##_3, kind##_4, kind##_5, kind##_6,     \
				kind##_7, kind##_8, kind##_9                                     \
		}                                                                                \
	}

static const struct {
	const char *kind;
	function copies[10];
} rows[] = {ROW(push), ROW(endbr), ROW(sub), ROW(lea), ROW(nop5)};

static function find(const char *kind, int copy)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].kind, kind) && copy >= 0 && copy < 10)
			return rows[i].copies[copy];
	fprintf(stderr, "calls: no %s_%d\n", kind, copy);
	exit(2);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(void)
{
	char line[128], kind[32];
	int copy;
	long calls;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%31s %d %ld", kind, &copy, &calls) != 3 || calls <= 0)
			return 2;
		function f = find(kind, copy);
		double start = now_ns();
		for (long i = 0; i < calls; i++)
			f((int)i);
		printf("%.2f\n", (now_ns() - start) / (double)calls);
		fflush(stdout);
	}
	return 0;
}
