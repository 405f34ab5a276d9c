/* Processes that do work which may never come back: opening and reading other
 * people's files, which may lie on a file system that no longer answers. A thread
 * that waits there keeps its whole process from ending, even by SIGKILL; a process
 * can be left behind.
 *
 * A helper answers one request after the other. When it neither computes nor runs for
 * a second it is killed and left behind, with all that it holds, and another takes its
 * place. All of them come from a small process that was forked early: it has none of
 * the memory, threads and descriptors that its owner gets later, and does nothing that
 * could hang.
 *
 * Of one thread at a time, but for helpers_open's result, which several may share. */
#ifndef BASE_HELPER_H
#define BASE_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define HELPER_DONE 0u             /* kind of the last answer; the others' are theirs */

struct helper_message {
	uint32_t kind;
	uint32_t bytes;
	int fd;                    /* one that came along, -1 none */
	void *data;                /* `bytes` and a NUL, aligned for any type */
};

/* ---- the helper's side ---- */

struct helper_port;

/* Answers a request; the end of the answers is told by who calls this. */
typedef void helper_serve(struct helper_port *port, const struct helper_message *request);
/* `fd` stays the caller's, -1 none. Ends the process where nobody listens any more. */
void helper_answer(struct helper_port *port, uint32_t kind, const void *data, size_t bytes, int fd);

/* For a process that was just forked to do such work: nothing of its owner's stays (terminal,
 * pipes that somebody waits for the end of, programs that the kernel keeps as long as a
 * descriptor is open, a mount that its folder keeps busy) but `fd`, which becomes
 * HELPER_FD. */
#define HELPER_FD 3
void helper_leave_owner(int fd);

/* ---- the owner's side ---- */

struct helpers;
struct helper;

/* Forks the process that helpers come from; the sooner the better. It and the helpers are
 * children of the caller. `hurry`: somebody waits for what they find; they come before what
 * merely computes. */
int helpers_open(helper_serve *serve, bool hurry, struct helpers **ret_helpers, struct err *err);
/* The processes that there are now, but for those left behind; their number. */
size_t helpers_pids(struct helpers *helpers, pid_t *ret_pids, size_t most);
/* After the helpers were closed. Accepts NULL. */
void helpers_close(struct helpers *helpers);

/* One that works for one thread; its process is started when it is first asked. */
struct helper *helper_open(struct helpers *helpers);
/* Does not wait for those that were left behind. Accepts NULL. */
void helper_close(struct helper *helper);
/* What the one who waits does meanwhile, now and then. It may not ask the same helper. */
void helper_meanwhile(struct helper *helper, void (*meanwhile)(void *data), void *data);
/* How long a helper may neither compute nor run before it is left behind (a second and a half).
 * May be called by another thread. Accepts NULL. */
void helper_patience(struct helper *helper, uint32_t ms);

/* Sends a request; `fd` stays the caller's, -1 none. After success helper_next is called until
 * it returns something else than 1. */
int helper_ask(struct helper *helper, uint32_t kind, const void *data, size_t bytes, int fd);
/* 1: an answer, to be released (helper_message_done); 0: there are no more; -ETIMEDOUT: it was
 * left behind; -EPIPE: it ended in the middle of its work. */
int helper_next(struct helper *helper, struct helper_message *ret_answer);
void helper_message_done(struct helper_message *message);
/* How many are left behind just now. */
uint32_t helper_left(struct helper *helper);

/* ---- what is in messages ---- */

struct helper_reader {
	const char *at, *end;
	bool failed;               /* it was read beyond its end */
};

struct helper_reader helper_read(const struct helper_message *message);
/* A struct; zeros behind the end. */
void helper_read_bytes(struct helper_reader *reader, void *to, size_t bytes);
/* A text that lies in the message; "" behind the end. */
const char *helper_read_text(struct helper_reader *reader);
void helper_put_text(struct buf *to, const char *text);

#endif
