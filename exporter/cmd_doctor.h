/* `uprobe_exporter doctor`. */
#ifndef EXPORTER_CMD_DOCTOR_H
#define EXPORTER_CMD_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

/* Print the findings; the exit status: 0 probes can be attached, 1 they cannot. */
int cmd_doctor(bool json, FILE *out);

#endif
