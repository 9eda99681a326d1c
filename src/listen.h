/*
 * listen: the workers' sockets: made in a directory, or inherited from a supervisor (socket
 * activation).
 */
#ifndef LISTEN_H
#define LISTEN_H

#include "base/arena.h"

/*
 * A listening unix socket at path, mode 0660, close-on-exec, non-blocking; an old socket file is
 * replaced. -1 with *why in the arena.
 */
int listen_open(struct arena *a, const char *path, const char **why);
/* Number of sockets that the environment passes (LISTEN_PID is us), first descriptor in *first; 0 if none. */
int listen_inherited(int *first);
/* Takes the lock of a directory, held until the process ends, so that two of a program do not share it; -1 with
 * *why. */
int listen_lock(struct arena *a, const char *dir, const char *program, const char **why);

/*
 * One line to the supervisor ($NOTIFY_SOCKET), such as "READY=1"; nothing without one. Not a library:
 * it is one datagram.
 */
void notify(const char *state);
/* Half of the supervisor's watchdog time in ms; 0 = it wants none. */
int64_t notify_watchdog_ms(void);

#endif
