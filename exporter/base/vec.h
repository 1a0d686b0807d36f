/*
 * A growing array of any type, as three fields in the caller's hands:
 *
 *     VEC(struct probe) probes = {0};
 *     struct probe *p = vec_push(&probes);      (zeroed)
 *     for (size_t i = 0; i < probes.n; i++) use(&probes.at[i]);
 *     vec_fini(&probes);
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t n;                                                                          \
		size_t room;                                                                       \
	}

/* A pointer to one more item, zeroed; pointers given before may move. */
#define vec_push(v)                                                                                \
	((v)->n == (v)->room ? (void)((v)->at = alloc_resize(                                      \
					      (v)->at, (v)->room = (v)->room ? 2 * (v)->room : 8,  \
					      sizeof(*(v)->at)))                                   \
			     : (void)0,                                                            \
	 memset(&(v)->at[(v)->n], 0, sizeof(*(v)->at)), &(v)->at[(v)->n++])

#define vec_fini(v) (free((v)->at), (v)->at = NULL, (v)->n = (v)->room = 0)

#endif
