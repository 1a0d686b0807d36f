/*
 * `uprobe_exporter healthcheck`: whether the exporter on this machine is ready, for images and
 * pods that hold no other program that could ask.
 */
#ifndef EXPORTER_CMD_HEALTHCHECK_H
#define EXPORTER_CMD_HEALTHCHECK_H

/*
 * GET /-/ready on a listen address as `serve` takes it; where that is every address of the machine,
 * on loopback. Says on stderr why not. The exit status.
 */
int cmd_healthcheck(const char *address);

#endif
