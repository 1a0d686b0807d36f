/*
 * Errors that a person must act on. Functions return 0 or -errno; where somebody has to read
 * why, they also fill a caller-owned `struct err`. `reason` is the closed set that becomes the
 * label of uprobe_exporter_probe_failure_info, so a new kind of failure is added here, once.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

enum reason {
	REASON_NONE,
	REASON_CONFIG,		  /* the config file is wrong */
	REASON_BINARY_NOT_FOUND,  /* no such file */
	REASON_BINARY_UNREADABLE, /* the file cannot be opened or read */
	REASON_BINARY_CHANGED,	  /* the file was written to in place while it was probed */
	REASON_NOT_ELF,		  /* script, directory, FIFO, empty or other file */
	REASON_WRONG_MACHINE,	  /* ELF of another class, machine or byte order */
	REASON_BAD_ELF,		  /* truncated or inconsistent ELF */
	REASON_SYMBOL_NOT_FOUND,
	REASON_SYMBOL_UNDEFINED,   /* imported: another file defines it */
	REASON_SYMBOL_AMBIGUOUS,   /* several local functions or versions have this name */
	REASON_NOT_A_FUNCTION,	   /* data, absolute or thread-local symbol, or not executable */
	REASON_USDT_NOT_FOUND,	   /* the file has no USDT site of this name */
	REASON_USDT_ARGUMENT,	   /* the argument that `key` names is not there or not readable */
	REASON_IFUNC,		   /* resolved at run time to one of several implementations */
	REASON_NOT_AN_INSTRUCTION, /* the place is inside an instruction or not in code */
	REASON_UNSAFE_SITE,	   /* a probe at this very instruction would harm the program */
	REASON_GENERATED_CODE,	   /* the function is made at run time: no file holds it */
	REASON_GO_UNSUPPORTED,	   /* a Go function: its stack moves */
	REASON_UNSAFE_RETURN,	   /* nothing shows that a return probe is harmless here */
	REASON_HOST_COST,	   /* every process of the machine would pay for it */
	REASON_PROCESS_NOT_FOUND,  /* the process filter selects no living process */
	REASON_PERMISSION,	   /* a capability or sysctl is in the way */
	REASON_KERNEL_REFUSED,	   /* the kernel does not take a probe at this instruction */
	REASON_KERNEL_UNSUPPORTED, /* a kernel feature is missing */
	REASON_LIMIT,		   /* one of the exporter's own limits is reached */
	REASON_OUT_OF_RESOURCES,   /* memory, descriptors */
	REASON_INTERNAL,	   /* a bug: please report */
	REASON_COUNT,
};

struct err {
	int code; /* -errno, 0 when unset */
	enum reason reason;
	const char *file; /* borrowed; NULL when no file is meant */
	int line, col;	  /* 1-based; 0 when unknown */
	char msg[1024];
};

/* The label value of a reason, for example "symbol_not_found". Static storage. */
const char *reason_name(enum reason reason);

/* Fill `err` (may be NULL) and return `code`, so that `return err_set(...)` reads well. */
int err_set(struct err *err, int code, enum reason reason, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
