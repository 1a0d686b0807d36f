/*
 * The floor: what a probe reports for a function that does nothing. It is the probe's own time,
 * contained in everything that is measured with probes of this kind.
 */
#ifndef MODEL_FLOOR_H
#define MODEL_FLOOR_H

#define PROBE_FLOORS_MOST 6

struct probe_floor {
	const char
		*entry_class; /* "emulated", "nop5", "stepped": what the kernel does at the entry */
	const char *exit_strategy; /* as exit_strategy_name */
	double seconds;		   /* median */
};

#endif
