/*
 * The two small protocols of systemd: sockets that it opened for us, and telling it how we are. No library is
 * needed for them.
 */
#ifndef SERVE_SYSTEMD_H
#define SERVE_SYSTEMD_H

/* How many sockets were handed over, from descriptor 3 on; 0 when none were, or when they are for another
 * process. */
int serve_systemd_socket_count(void);

/* What the unit file calls one of them, from 0; empty when it has no name. */
void serve_systemd_socket_name(int number, char name[64]);

/* Tells the supervisor, if there is one: "READY=1", "STOPPING=1". */
void serve_systemd_notify(const char *state);

#endif
