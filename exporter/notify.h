/*
 * Telling the service manager how it goes: systemd's notification protocol, sd_notify(3). Without
 * a manager that asked for it ($NOTIFY_SOCKET) nothing is sent. Main thread only, but for what says
 * otherwise.
 */
#ifndef EXPORTER_NOTIFY_H
#define EXPORTER_NOTIFY_H

#include <stdbool.h>

/* The first attach pass, or a reload, is done. */
void notify_ready(void);
/* A reload begins; notify_ready ends it, however it went. */
void notify_reloading(void);
void notify_stopping(void);

/* One line for `systemctl status`. Sent when it differs from the last one. */
void notify_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The main loop turns. To be called often: a message goes out at most every third of the time after
 * which the manager takes the service for hung ($WATCHDOG_USEC), and none where it does not watch.
 */
void notify_alive(void);

/*
 * Whether the last notify_alive is longer ago than that time, or than ten minutes where nobody
 * watches. False before the first. Any thread.
 */
bool notify_is_overdue(void);

#endif
