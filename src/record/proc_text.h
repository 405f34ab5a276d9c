/* Texts of /proc about a thread and its descriptors. What a process calls itself stands in
 * some of them, so they are as hostile as any other input. */
#ifndef RECORD_PROC_TEXT_H
#define RECORD_PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/tasks.h"

/* Text of /proc/PID/task/TID/NAME; false when it cannot be read. */
bool proc_text_read(uint32_t pid, uint32_t tid, const char *name, char *to, size_t size);

struct proc_thread {
	uint64_t switches;         /* from the processor, so far */
	uint32_t processor;        /* it last ran on */
	uint32_t tracer;           /* process, 0 none */
};

/* Of task/TID/status and task/TID/stat; the thread's state and what it is, not its wait. */
bool proc_text_thread(const char *status, const char *stat, uint64_t ticks, struct task_found *ret_found, struct proc_thread *ret_more);
struct proc_call {
	long number;               /* -1 outside of one */
	uint64_t words[6];         /* its arguments */
	uint64_t sp, ip;
};

/* restart_syscall: after a stop or a freeze calls with a time limit go on as it, with the arguments of before. */
#define PROC_CALL_RESTART 219
/* Which call it was, of task/TID/wchan; PROC_CALL_RESTART where that does not tell. */
long proc_text_restarted(const char *wchan);
/* Of task/TID/syscall; false: it runs. */
bool proc_text_call(const char *text, struct proc_call *ret_call);

#define PROC_FUNCTIONS_MOST 64u
#define PROC_FUNCTION_MOST 127u

struct proc_function {
	const char *name;          /* in the text */
	size_t length;             /* PROC_FUNCTION_MOST at most */
};

/* Of task/TID/stack, the kernel's functions, innermost first; or of task/TID/wchan, one. Their number. */
unsigned proc_text_stack(const char *text, struct proc_function ret_functions[PROC_FUNCTIONS_MOST]);
/* How often it has left the processor, of task/TID/status. */
uint64_t proc_text_switches(const char *status);
/* ... and of these, to wait. */
uint64_t proc_text_waits(const char *status);
/* Of task/TID/cgroup: the group of a controller, which ends where the line does; of the unified hierarchy where
 * none has it. NULL: none is told. The text is cut there. */
const char *proc_text_group(char *text, const char *controller);
/* Of task/TID/schedstat, nanoseconds. */
bool proc_text_times(const char *text, uint64_t *ret_run_ns, uint64_t *ret_queued_ns);

#define PROC_WATCHED_MOST 256u

struct proc_fdinfo {
	uint32_t flags;            /* O_ */
	uint32_t awaited;          /* process of a pidfd, 0 none */
	uint64_t eventfd;          /* its number, + 1; 0 not told */
	uint32_t fuse;             /* connection of a user-space file system's server, 0 not told (before 6.17) */
	char lock[96];             /* line of /proc/locks, of a lock that belongs to the open file; "" none */
	uint32_t watched;          /* of an epoll set */
	struct { uint32_t fd, events; } items[PROC_WATCHED_MOST];
};

void proc_text_fdinfo(const char *text, struct proc_fdinfo *ret_info);

/* Of /proc/PID/mountinfo: the connection of the user-space file system on which the path lies as it is
 * written (links are not followed, which might wait for that very file system); of "" the only one
 * there is; 0 none. The text's mount points are decoded in place. */
uint32_t proc_text_fuse_mount(char *mountinfo, const char *path);

#endif
