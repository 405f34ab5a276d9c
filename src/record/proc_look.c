/* See proc_look.h. Descriptors come from /proc/PID/fd, sockets' other ends from sock_diag.
 * Stacks of what stands still are taken by proc_stacks.h. */
#include "record/proc_look.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/cgroups.h"
#include "record/object.h"
#include "record/proc_busy.h"
#include "record/proc_clocks.h"
#include "record/proc_descriptors.h"
#include "record/proc_fuse.h"
#include "record/proc_sockets.h"
#include "record/proc_stacks.h"
#include "record/proc_text.h"
#include "record/processes.h"
#include "record/state.h"
#include "trace/writer.h"

#define PROCESSES_LIMIT_MS 3000
#define CALLS 512
#define BUSY_PERCENT 90u
#define PROCESSORS_MOST 4096

enum object_place { OBJECT_none, OBJECT_fd, OBJECT_fd2, OBJECT_fd3, OBJECT_futex, OBJECT_futex2, OBJECT_futexes, OBJECT_poll,
		    OBJECT_select, OBJECT_child, OBJECT_idtype, OBJECT_clone, OBJECT_clone3, OBJECT_fcntl, OBJECT_flock,
		    OBJECT_queue, OBJECT_semaphore };

static const struct { uint8_t wait, object; } calls[CALLS] = {
#define WAIT(number, kind, object, limit, argument) [number] = { WAIT_KIND_##kind, OBJECT_##object },
#include "record/waits.def"
#undef WAIT
};

/* What a thread's counters said at the first look. */
struct noted {
	uint64_t at_ns, switches;
	uint64_t ran_ns, queued_ns; /* on a processor, and waiting for one */
	bool runs;                  /* or could */
};

struct look {
	struct writer *writer;
	struct proc_look_seen *seen;
	struct vec(struct task_found) found;
	struct vec(struct stack_place) places; /* of each found */
	struct proc_stacks *stacks;
	struct vec(struct noted) noted_threads;
	struct map noted_at;         /* tid -> place in the list + 1 */
	uint64_t began_ns, ended_ns; /* the first look's begin, the second's end */
	struct proc_clocks clocks;
	struct vec(struct proc_busy) busy;
	struct proc_busy_sink lanes;
	struct cgroups_sink groups;
	uint32_t processors;
	struct proc_sockets *sockets;
	struct map holders;          /* inode of a socket -> process */
	struct map tids;
	struct processes processes;
	struct processes_sink sink, async_sink;
	struct shared_words words;   /* that threads wait for */
	struct vec(struct task_found) python_threads; /* that stand, of processes that run Python */
	struct vec(struct async_process) pythons; /* of each of them */
	struct state_sink states, noted;
	struct map blocked;          /* process -> file whose lock it waits for */
	struct buf locks;            /* text of /proc/locks */
	struct proc_descriptors_sink descriptors;
	struct vec(uint32_t) pids;   /* that can be looked into */
};

#define container(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

static int emit_at(struct look *look, uint64_t time, uint32_t tid, unsigned type, const void *data, const char *tail, size_t tail_length,
		   struct err *err)
{
	struct event e = { .time = time, .tid = tid, .cpu = (uint16_t)look->processors, .type = (uint16_t)type, .data = data,
			   .tail = tail ? tail : "", .tail_length = (uint32_t)tail_length };

	return writer_add_event(look->writer, &e, err);
}

static int emit(struct look *look, uint32_t tid, unsigned type, const void *data, const char *tail, size_t tail_length, struct err *err)
{
	return emit_at(look, clock_now_ns(), tid, type, data, tail, tail_length, err);
}

/* ---- one thread ---- */

static uint64_t object_at(const struct look *look, uint32_t pid, uint64_t fd)
{
	return proc_descriptor_object(look->sockets, pid, (uint32_t)fd, NULL);
}

/* Calls of a 32-bit program have other numbers. */
static bool is_narrow(const struct proc_call *call)
{
	return call->sp <= UINT32_MAX && call->ip <= UINT32_MAX;
}

static void read_call(const struct look *look, struct task_found *t, const struct proc_call *call)
{
	const uint64_t *words = call->words;
	long number = call->number;

	if (number < 0 || number >= CALLS || is_narrow(call)) {
		t->waiting.wait = number == -1 ? WAIT_KIND_fault : WAIT_KIND_other;
		return;
	}
	t->waiting.syscall = (uint16_t)number;
	t->waiting.wait = calls[number].wait ? calls[number].wait : WAIT_KIND_other;
	memcpy(t->arguments, words, sizeof(t->arguments));
	switch ((enum object_place)calls[number].object) {
	case OBJECT_fd:
	case OBJECT_fcntl:
	case OBJECT_flock:
	case OBJECT_fd2:
	case OBJECT_fd3:
		t->waiting.argument = (uint32_t)words[calls[number].object == OBJECT_fd2 ? 1 : calls[number].object == OBJECT_fd3 ? 2 : 0];
		t->waiting.object = object_at(look, t->task.pid, t->waiting.argument);
		break;
	case OBJECT_futex:
		t->waiting.object = object_of(OBJECT_KIND_futex, object_hash((uint64_t)t->task.pid << 48 ^ words[0]));
		t->waiting.argument = (uint32_t)words[1];
		t->waiting.detail = words[0];
		break;
	case OBJECT_poll:
	case OBJECT_select:
		t->waiting.argument = (uint32_t)words[calls[number].object == OBJECT_poll ? 1 : 0];
		if (!t->waiting.argument)
			t->waiting.wait = WAIT_KIND_sleep;
		break;
	case OBJECT_child:
	case OBJECT_idtype:
		t->waiting.argument = (uint32_t)words[calls[number].object == OBJECT_child ? 0 : 1];
		if ((int)t->waiting.argument > 0 && (calls[number].object == OBJECT_child || words[0] == 1)) {
			t->waiting.hint = t->waiting.argument;
			t->waiting.hint_kind = HINT_KIND_child;
		}
		break;
	case OBJECT_queue:
	case OBJECT_semaphore:
		t->waiting.argument = (uint32_t)words[0];
		t->waiting.object = object_of_ipc(calls[number].object == OBJECT_queue ? OBJECT_KIND_queue : OBJECT_KIND_semaphore,
						  t->waiting.argument);
		break;
	case OBJECT_none:
	case OBJECT_futex2:
	case OBJECT_futexes:
	case OBJECT_clone:
	case OBJECT_clone3:
		break;
	}
}

/* Whether the file of this control group holds the word. */
static bool group_says(const char *folder, const char *group, size_t length, const char *file, const char *word)
{
	char path[1024], text[256];
	ssize_t got;
	int fd;

	if (snprintf(path, sizeof(path), "%s%.*s/%s", folder, (int)length, group, file) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	return strstr(text, word) != NULL;
}

/* The wait stays what it was: only its control group tells. */
static bool is_frozen(uint32_t pid, uint32_t tid)
{
	char text[4096];

	if (!proc_text_read(pid, tid, "cgroup", text, sizeof(text)))
		return false;
	for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *first = strchr(line, ':'), *group = first ? strchr(first + 1, ':') : NULL;
		size_t length = group ? strcspn(group + 1, "\n") : 0;

		if (!group)
			break;
		if (!strncmp(first, ":freezer:", 9) && group_says("/sys/fs/cgroup/freezer", group + 1, length, "freezer.state", "FROZEN"))
			return true;
		if (!strncmp(line, "0::", 3) && length > 1 && (group_says("/sys/fs/cgroup", group + 1, length, "cgroup.events", "frozen 1") ||
							       group_says("/sys/fs/cgroup/unified", group + 1, length, "cgroup.events", "frozen 1")))
			return true;
	}
	return false;
}

/* Of a process that may not be looked into: what others tell. Which of its threads waits for a
 * file lock is not among that; the first is taken. */
static void guess_wait(const struct look *look, struct task_found *t)
{
	const uint64_t *lock = t->tid == t->task.pid ? map_find(&look->blocked, t->task.pid) : NULL;

	t->waiting.wait = lock ? WAIT_KIND_file_lock : WAIT_KIND_other;
	t->waiting.object = lock ? *lock : 0;
}

/* Where it sleeps, and in which call; false: that may not be seen, or it runs. */
static bool read_place(uint32_t pid, uint32_t tid, struct proc_call *call)
{
	char text[256];

	if (!proc_text_read(pid, tid, "syscall", text, sizeof(text)) || !proc_text_call(text, call))
		return false;
	if (call->number == PROC_CALL_RESTART && proc_text_read(pid, tid, "wchan", text, sizeof(text)))
		call->number = proc_text_restarted(text);
	return true;
}

/* False when it has gone. */
static bool read_thread(struct look *look, uint32_t pid, uint32_t tid, struct task_found *t, struct proc_thread *more,
			struct stack_place *place)
{
	char status[4096], stat[1024];
	struct proc_call call;
	bool is_seen;

	if (!proc_text_read(pid, tid, "status", status, sizeof(status)) || !proc_text_read(pid, tid, "stat", stat, sizeof(stat)) ||
	    !proc_text_thread(status, stat, (uint64_t)sysconf(_SC_CLK_TCK), t, more))
		return false;
	t->task.start_ns = proc_clocks_monotonic(&look->clocks, t->task.start_ns);
	t->tid = t->task.ns_tid = tid;
	t->task.pid = pid;
	t->task.flags |= pid == tid ? TASK_FLAGS_leader : 0;
	if (t->waiting.state == TASK_STATE_running || t->waiting.state == TASK_STATE_dead)
		return true;
	t->waiting.since_ns = proc_clocks_ran(&look->clocks, t, more->processor);
	is_seen = read_place(pid, tid, &call);
	if (is_seen && !is_narrow(&call))
		*place = (struct stack_place){ call.ip, call.sp };
	if (t->task.flags & TASK_FLAGS_kernel_thread) {
		t->waiting.wait = WAIT_KIND_worker;
	} else if (t->waiting.state == TASK_STATE_stopped || t->waiting.state == TASK_STATE_traced) {
		t->waiting.wait = WAIT_KIND_stop;
		t->waiting.hint = more->tracer;
		t->waiting.hint_kind = t->waiting.hint ? HINT_KIND_tracer : 0;
	} else if (is_frozen(pid, tid)) {
		t->waiting.state = TASK_STATE_frozen;
		t->waiting.wait = WAIT_KIND_stop;
	} else if (is_seen) {
		read_call(look, t, &call);
	} else {
		guess_wait(look, t);
	}
	return true;
}

/* ---- all of them ---- */

static void each_number(const char *path, void (*each)(struct look *look, uint32_t number, uint32_t of), struct look *look, uint32_t of)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			each(look, (uint32_t)strtoul(entry->d_name, NULL, 10), of);
	if (folder)
		closedir(folder);
}

static void note_thread(struct look *look, uint32_t tid, uint32_t pid)
{
	struct noted noted = { .at_ns = clock_now_ns() };
	char text[4096];

	if (!proc_text_read(pid, tid, "status", text, sizeof(text)))
		return;
	noted.switches = proc_text_switches(text);
	noted.runs = strstr(text, "\nState:\tR") != NULL;
	if (proc_text_read(pid, tid, "schedstat", text, sizeof(text)))
		proc_text_times(text, &noted.ran_ns, &noted.queued_ns);
	vec_push(&look->noted_threads, noted);
	map_put(&look->noted_at, tid, look->noted_threads.length);
}

static const struct noted *noted_of(const struct look *look, uint32_t tid)
{
	const uint64_t *at = map_find(&look->noted_at, tid);

	return at ? &look->noted_threads.items[*at - 1] : NULL;
}

static void note_process(struct look *look, uint32_t pid, uint32_t unused)
{
	char path[64];

	(void)unused;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	each_number(path, note_thread, look, pid);
}

/* Nearly all through the look it ran, or could have: the kernel counts the time in the queue
 * when it is over. */
static void note_busy(struct look *look, const struct noted *before, const struct task_found *t, const struct proc_thread *more)
{
	uint64_t run, queued, look_ns = clock_now_ns() - before->at_ns;
	char text[128];

	if (more->processor >= look->processors || !proc_text_read(t->task.pid, t->tid, "schedstat", text, sizeof(text)) ||
	    !proc_text_times(text, &run, &queued))
		return;
	run = run > before->ran_ns ? run - before->ran_ns : 0;
	if (before->runs && before->switches == more->switches)
		queued = look_ns;
	else
		queued = queued > before->queued_ns ? queued - before->queued_ns : 0;
	if ((run + queued) * 100 >= look_ns * BUSY_PERCENT)
		vec_push(&look->busy, ((struct proc_busy){ t->tid, more->processor, run }));
}

/* Its processor's quota is that of this group. */
static uint64_t group_of(uint32_t pid, uint32_t tid)
{
	char text[4096];
	const char *path = proc_text_read(pid, tid, "cgroup", text, sizeof(text)) ? proc_text_group(text, "cpu") : NULL;
	uint64_t group = 0;

	if (path)
		cgroups_find(path, &group, NULL);
	return group;
}

static void take_kernel_stack(struct look *look, struct task_found *t)
{
	char text[8192];
	bool whole = proc_text_read(t->task.pid, t->tid, "stack", text, sizeof(text));

	if (whole || proc_text_read(t->task.pid, t->tid, "wchan", text, sizeof(text)))
		proc_stacks_kernel(look->stacks, text, !whole, &t->waiting.kstack, NULL);
}

static void take_thread(struct look *look, uint32_t tid, uint32_t pid)
{
	const struct noted *before = noted_of(look, tid);
	struct stack_place place = { 0 };
	struct proc_thread more;
	struct task_found t;

	if (look->found.length >= TASKS_MOST || !read_thread(look, pid, tid, &t, &more, &place) || t.waiting.state == TASK_STATE_dead)
		return;
	/* one that moved does not stand: nothing is known of what it did */
	if (!before || before->switches != more.switches)
		t.waiting = (struct event_waiting){ .state = TASK_STATE_running, .syscall = SYSCALL_NONE };
	if (t.waiting.wait && !(t.task.flags & TASK_FLAGS_kernel_thread))
		take_kernel_stack(look, &t);
	else
		place.sp = 0;
	if (t.waiting.state == TASK_STATE_running && before)
		note_busy(look, before, &t, &more);
	if (look->busy.length && look->busy.items[look->busy.length - 1].tid == tid)
		t.task.cgroup = group_of(pid, tid);
	look->seen->threads++;
	look->seen->still += t.waiting.wait != 0;
	map_put(&look->tids, tid, 1);
	vec_push(&look->found, t);
	vec_push(&look->places, place);
}

static void take_process(struct look *look, uint32_t pid, uint32_t unused)
{
	char path[64], text[256];

	(void)unused;
	if (pid == (uint32_t)getpid())
		return;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	each_number(path, take_thread, look, pid);
	if (proc_text_read(pid, pid, "syscall", text, sizeof(text))) {
		look->seen->processes++;
		vec_push(&look->pids, pid);
		proc_descriptors_note(&look->holders, pid);
	} else if (access(path, F_OK) == 0) {
		look->seen->closed++;
	}
}

/* Which file system in user space it waits for. */
static int emit_fuse(struct look *look, const struct task_found *found, const struct wait_found *wait, struct err *err)
{
	struct event_fuse_asked asked = { .unique = found->tid, .connection = found->waiting.wait ? proc_fuse_asked(found, wait) : 0 };

	return asked.connection ? emit(look, found->tid, EVENT_fuse_asked, &asked, NULL, 0, err) : 0;
}

/* What it connects to, as the descriptor of a connection would tell. */
static int emit_connecting(struct look *look, const struct task_found *found, const struct wait_found *wait, struct err *err)
{
	struct event_descriptor d;
	char text[sizeof(wait->address) + 4];
	uint32_t length = wait_found_connecting(found, wait, &d, text, sizeof(text));

	return length ? emit(look, found->task.pid, EVENT_descriptor, &d, text, length, err) : 0;
}

static int emit_word(void *context, uint32_t pid, const struct shared_word *word, const struct event_descriptor *end, struct err *err)
{
	return emit(context, pid, EVENT_descriptor, end, word->name, strlen(word->name), err);
}

static int on_thread(struct processes_sink *sink, const struct task_found *found, const char *texts, size_t bytes,
		     const struct wait_found *wait, struct err *err)
{
	struct look *look = container(sink, struct look, sink);
	struct event_waiting waiting = wait_found_waiting(found, wait);
	struct event_descriptor end;
	char tail[sizeof(found->comm) + 1 + PROCESSES_TEXT_MOST];
	size_t comm = strnlen(found->comm, sizeof(found->comm)), stack = bytes;
	int r = 0;

	if (bytes > PROCESSES_TEXT_MOST)
		bytes = PROCESSES_TEXT_MOST;
	memcpy(tail, found->comm, comm);
	tail[comm++] = 0;
	memcpy(tail + comm, texts, bytes);
	if (wait->stack_bytes)
		r = proc_stacks_user(look->stacks, found->task.pid, &look->places.items[found - look->found.items], texts + stack, wait->stack_bytes,
				     &waiting.ustack, err);
	struct async_process python = wait->stack_bytes ? proc_stacks_interpreter(look->stacks) : (struct async_process){ 0 };
	if (python.version) {
		vec_push(&look->python_threads, *found);
		vec_push(&look->pythons, python);
	}
	r = r ? r : emit(look, found->tid, EVENT_task, &found->task, tail, comm + bytes, err);
	if ((wait->hint_kind == HINT_KIND_mutex_owner || wait->hint_kind == HINT_KIND_rwlock_writer ||
	     wait->hint_kind == HINT_KIND_semaphore_last) && wait->hint && !map_find(&look->tids, wait->hint))
		waiting.hint_kind = HINT_KIND_owner_gone;
	if (waiting.wait == WAIT_KIND_poll && wait->polled) {
		waiting.detail = object_at(look, found->task.pid, (uint64_t)wait->poll[0].fd);
		waiting.argument = wait->polled; /* select tells only the highest number */
	}
	if (!r && waiting.wait)
		r = emit(look, found->tid, EVENT_waiting, &waiting, NULL, 0, err);
	for (unsigned i = 0; !r && i < wait->polled; i++) {
		struct event_poll_item item = { .object = object_at(look, found->task.pid, (uint64_t)wait->poll[i].fd),
						.fd = (uint32_t)wait->poll[i].fd, .events = wait->poll[i].events };

		r = emit(look, found->tid, EVENT_poll_item, &item, NULL, 0, err);
	}
	if (!r && wait_found_word(found, wait, &look->words, &end))
		r = emit_word(look, found->task.pid, &wait->word, &end, err);
	if (!r && wait_found_fifo(found, wait, &end))
		r = emit(look, found->task.pid, EVENT_descriptor, &end, wait->address, strlen(wait->address), err);
	r = r ? r : emit_fuse(look, found, wait, err);
	return r ? r : emit_connecting(look, found, wait, err);
}

struct async_context {
	struct look *look;
	uint32_t tid;
};

static int on_async(void *context, enum event_type type, const void *payload, const char *tail, uint32_t tail_length, struct err *err)
{
	struct async_context *async = context;

	return emit(async->look, async->tid, type, payload, tail, tail_length, err);
}

/* Which interpreter a process runs is known when its threads have been read: then its event loops' tasks are. */
static int on_python_thread(struct processes_sink *sink, const struct task_found *found, const char *texts, size_t bytes,
			    const struct wait_found *wait, struct err *err)
{
	struct async_context async = { container(sink, struct look, async_sink), found->tid };

	return async_tasks_each(texts + bytes + wait->stack_bytes, wait->async_bytes, on_async, &async, err);
}

static int on_descriptor(struct proc_descriptors_sink *sink, uint32_t pid, enum event_type type, const void *payload, const char *tail,
			 uint32_t tail_length, struct err *err)
{
	return emit(container(sink, struct look, descriptors), pid, type, payload, tail, tail_length, err);
}

static int on_state(struct state_sink *sink, uint32_t tid, enum event_type type, const void *payload, const char *tail,
		   uint32_t tail_length, struct err *err)
{
	return emit(container(sink, struct look, states), tid, type, payload, tail, tail_length, err);
}

static int note_blocked(struct state_sink *sink, uint32_t tid, enum event_type type, const void *payload, const char *tail,
			uint32_t tail_length, struct err *err)
{
	const struct event_lock_held *lock = payload;

	(void)type;
	(void)tail;
	(void)tail_length;
	(void)err;
	if (lock->blocked && tid)
		map_put(&container(sink, struct look, noted)->blocked, tid, lock->object);
	return 0;
}

/* Who waits for a lock of an open file stands in /proc/locks without a number. */
static int emit_unnamed_waiters(struct look *look, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < look->found.length; i++) {
		const struct task_found *t = &look->found.items[i];
		struct event_lock_held lock = { .object = t->waiting.object, .end = INT64_MAX, .family = LOCK_FAMILY_description,
						.type = LOCK_TYPE_write, .blocked = 1 };

		if (t->waiting.wait == WAIT_KIND_file_lock && lock.object && !map_find(&look->blocked, t->task.pid))
			r = emit(look, t->task.pid, EVENT_lock_held, &lock, NULL, 0, err);
	}
	return r;
}

static void read_locks(struct look *look)
{
	char block[4096];
	size_t got;
	FILE *file = fopen("/proc/locks", "re");

	buf_init(&look->locks);
	while (file && (got = fread(block, 1, sizeof(block), file)) > 0)
		buf_add(&look->locks, block, got);
	if (file)
		fclose(file);
	state_parse_locks(buf_str(&look->locks), 0, &look->noted, NULL);
}

static int emit_clock(struct look *look, struct err *err)
{
	uint64_t now = clock_now_ns();
	struct event_clock clock = { .realtime_ns = now + (uint64_t)clock_ahead_ns(CLOCK_REALTIME),
				     .boottime_ns = now + (uint64_t)clock_ahead_ns(CLOCK_BOOTTIME) };

	return emit_at(look, now, 0, EVENT_clock, &clock, NULL, 0, err);
}

static int emit_machine(struct look *look, struct err *err)
{
	struct utsname name;
	struct buf buf;
	int r;

	buf_init(&buf);
	if (!uname(&name))
		buf_printf(&buf, "hostname=%s%ckernel=%s%carchitecture=%s%c", name.nodename, 0, name.release, 0, name.machine, 0);
	buf_printf(&buf, "level=proc%crecorder_pid=%d%c", 0, (int)getpid(), 0);
	r = emit(look, 0, EVENT_machine, NULL, buf_str(&buf), buf.length, err);
	buf_done(&buf);
	return r;
}

static int on_leaves(struct proc_busy_sink *sink, uint64_t time_ns, uint32_t processor, uint32_t tid, const struct event_switch *to,
		     struct err *err)
{
	struct event e = { .time = time_ns, .tid = tid, .cpu = (uint16_t)processor, .type = EVENT_switch, .data = to, .tail = "" };

	return writer_add_event(container(sink, struct look, lanes)->writer, &e, err);
}

/* One without a quota keeps nobody off. */
static int on_group(struct cgroups_sink *sink, const struct event_cgroup *group, const char *path, struct err *err)
{
	return group->quota_ns ? emit(container(sink, struct look, groups), 0, EVENT_cgroup, group, path, strlen(path), err) : 0;
}

/* State is told as of the look's begin, which the second look has proved. */
static int look_twice(struct look *look, uint64_t look_ns, struct err *err)
{
	struct timespec nap = { (time_t)(look_ns / 1000000000), (long)(look_ns % 1000000000) };
	struct event_snapshot mark = { .reason = SNAPSHOT_REASON_request };
	int r;

	look->began_ns = clock_now_ns();
	each_number("/proc", note_process, look, 0);
	r = emit_machine(look, err);
	if (!r)
		r = emit_clock(look, err);
	cgroups_read(&look->groups, NULL);
	nanosleep(&nap, NULL);
	if (!r)
		r = emit(look, 0, EVENT_snapshot, &mark, NULL, 0, err);
	proc_clocks_open(&look->clocks);
	look->sockets = proc_sockets_read();
	read_locks(look);
	each_number("/proc", take_process, look, 0);
	look->ended_ns = clock_now_ns();
	cgroups_read(&look->groups, NULL);
	if (!r)
		r = proc_busy_lay_out(look->busy.items, look->busy.length, look->began_ns, look->ended_ns, &look->lanes, err);
	if (!r)
		r = processes_read(&look->processes, look->found.items, look->places.items, NULL, look->found.length, PROCESSES_LIMIT_MS, &look->sink, err);
	mark.unread = look->processes.unread;
	if (!r)
		r = processes_share(&look->processes, look->found.items, look->found.length, &look->words, PROCESSES_LIMIT_MS, emit_word, look, err);
	if (!r)
		r = processes_read(&look->processes, look->python_threads.items, NULL, look->pythons.items, look->python_threads.length,
				   PROCESSES_LIMIT_MS, &look->async_sink, err);
	for (size_t i = 0; !r && i < look->pids.length; i++)
		r = proc_descriptors_read(look->sockets, &look->holders, look->pids.items[i], &look->descriptors, err);
	if (!r)
		r = state_parse_locks(buf_str(&look->locks), 0, &look->states, err);
	if (!r)
		r = emit_unnamed_waiters(look, err);
	mark.end = 1;
	mark.cut = look->found.length >= TASKS_MOST;
	if (!r)
		r = emit(look, 0, EVENT_snapshot, &mark, NULL, 0, err);
	return r ? r : emit_clock(look, err);
}

static int yama(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = -1;

	if (file && fscanf(file, "%d", &scope) != 1)
		scope = -1;
	if (file)
		fclose(file);
	return scope;
}

int proc_look(const char *path, uint64_t look_ns, struct proc_look_seen *ret_seen, struct err *err)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	struct look look = { .seen = ret_seen, .sink = { on_thread }, .async_sink = { on_python_thread }, .states.event = on_state, .noted.event = note_blocked,
			     .descriptors.event = on_descriptor, .lanes.leaves = on_leaves, .groups.cgroup = on_group,
			     .processors = processors > 0 && processors < PROCESSORS_MOST ? (uint32_t)processors : 1 };
	/* the state has a stream of its own, behind the processors' */
	struct writer_options options = { .cpus = look.processors + 1 };
	int r = writer_create(path, true, &options, &look.writer, err), closing;

	if (r)
		return r;
	*ret_seen = (struct proc_look_seen){ .ptrace_scope = yama() };
	map_init(&look.noted_at);
	map_init(&look.holders);
	map_init(&look.blocked);
	map_init(&look.tids);
	r = proc_stacks_open(&look.states, &look.stacks, err);
	if (!r)
		r = look_twice(&look, look_ns, err);
	proc_stacks_close(look.stacks);
	proc_clocks_close(&look.clocks);
	closing = writer_close(look.writer, r ? NULL : err);
	map_done(&look.noted_at);
	vec_done(&look.noted_threads);
	map_done(&look.holders);
	map_done(&look.blocked);
	buf_done(&look.locks);
	vec_done(&look.busy);
	proc_sockets_free(look.sockets);
	map_done(&look.tids);
	processes_done(&look.processes);
	vec_done(&look.found);
	vec_done(&look.python_threads);
	vec_done(&look.words);
	vec_done(&look.pythons);
	vec_done(&look.places);
	vec_done(&look.pids);
	return r ? r : closing;
}
