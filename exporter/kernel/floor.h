/*
 * Measuring the floor (model/floor.h) on functions of our own, one for each way in which the
 * kernel handles the entry and each way in which the exit is seen.
 */
#ifndef KERNEL_FLOOR_H
#define KERNEL_FLOOR_H

#include <stddef.h>

#include "kernel/maps.h"
#include "kernel/object.h"
#include "model/floor.h"

/*
 * Fill `floors` (room for PROBE_FLOORS_MOST) and return how many there are: 0 on machines for which
 * there are no such functions, or when something is in the way (logged). Takes as
 * many series.
 */
size_t floor_measure(const struct object *object, struct maps *maps, struct probe_floor *floors);

#endif
