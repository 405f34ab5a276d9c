/* How commands talk to the recorder that runs in the background.
 *
 * Its runtime folder (/run/argus, or $ARGUS_RUNTIME_DIR) holds a lock file, so
 * that there is only one, and a socket: one request line, one reply, end. Only
 * the recorder's user and root are answered. */
#ifndef RECORD_CONTROL_H
#define RECORD_CONTROL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define CONTROL_REQUEST_BYTES 4096

struct control {
	int lock_fd;     /* held as long as it runs */
	int listen_fd;
	char path[108];  /* of the socket */
};

const char *control_folder(void);

/* Takes the lock (-EALREADY with words when one runs) and opens the socket.
 * The lock belongs to the process and its forks. */
int control_open(struct control *control, struct err *err);
/* Writes into the lock file which process holds it and which ring it writes: for messages,
 * and for questions after it has ended. */
void control_own(struct control *control, const char *ring);
/* The folder of the ring that a recorder wrote last, as far as is known here: false when it is not. */
bool control_last_ring(char ret_ring[PATH_MAX]);
/* Removes the socket and gives the lock back. */
void control_close(struct control *control);

/* Accepts one caller and reads his request, without its newline; returns the
 * descriptor to answer on, or -errno. Waits for a slow caller a moment only.
 * One who may not ask has been told so: -EPERM. */
int control_accept(struct control *control, char request[CONTROL_REQUEST_BYTES], struct err *err);
/* Answers and hangs up. `code` 0: text is the result; else its words. */
void control_reply(int fd, int code, const char *text);

/* Asks the recorder; the reply's text goes to `reply`. -ENOENT with words when
 * none runs; the recorder's own failures as it words them. */
int control_ask(const char *request, struct buf *reply, struct err *err);
/* The same, but for how long it is waited for: -ETIMEDOUT. */
int control_ask_within(const char *request, int timeout_ms, struct buf *reply, struct err *err);

#endif
