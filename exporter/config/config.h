/*
 * A config file becomes a spec, or a list of everything that is wrong with it.
 *
 * yaml.c turns text into nodes with line and column (the only user of libyaml), parse.c nodes
 * into a spec, check.c applies the rules that span several keys.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stddef.h>

#include "base/strbuf.h"
#include "model/spec.h"

/*
 * Read and validate `path`. 0 with *spec owned by the caller (spec_free), or -errno with *spec
 * NULL and every fault of the file in `diagnostics`, each as
 *     file:line:col: message
 *         the line of the file
 *         ^~~~
 * `diagnostics` may also hold warnings ("file:line:col: warning: …") when the result is 0.
 */
int config_load(const char *path, struct spec **spec, struct strbuf *diagnostics);

/* The same for text in memory; `name` stands for the file in messages. */
int config_parse(const char *name, const char *text, size_t length, struct spec **spec,
		 struct strbuf *diagnostics);

#endif
