/* See snapshot.h. */
#ifdef HAVE_BPF
#include "record/snapshot.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/slice.h"
#include "base/vec.h"
#include "record/cgroups.h"
#include "record/group_limits.h"
#include "record/processes.h"
#include "record/programs.h"
#include "record/stacks.h"
#include "record/state.h"
#include "record/tasks.h"

#define PROCESSES_LIMIT_MS 5000 /* for what /proc tells, all processes together */
#define SHARERS_LIMIT_MS 2000
#define BLOCKED_MOST 256       /* processes whose limits are looked for */

struct snapshots {
	pthread_mutex_t lock;           /* one snapshot at a time */
	struct snapshot_sink *sink;
	struct tasks *tasks;
	struct stacks *stacks;          /* NULL: nothing is known of interpreters */
	struct vec(struct async_process) pythons; /* of the threads found */
	struct state *state;
	struct map tids;                /* of the threads found */
	struct processes_sink processes;
	struct shared_words words;      /* that threads wait for, in this snapshot */
	struct processes left;
	struct state_sink states;
	struct cgroups_sink cgroups;
	struct group_limits_sink limits;
	struct vec(uint32_t) blocked;   /* processes with a thread that no signal wakes, but to end it */
	struct vec(uint32_t) sleepers;  /* with a first thread that sleeps for a time of its own choice */
	struct buf limits_told;
};

#define container(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

static int emit(struct snapshots *snapshots, uint32_t tid, enum event_type type, const void *payload, const char *tail,
		size_t tail_length, struct err *err)
{
	return snapshots->sink->event(snapshots->sink, tid, type, payload, tail, (uint32_t)tail_length, err);
}

static int emit_polled(struct snapshots *snapshots, uint32_t tid, const struct wait_found *wait, struct err *err)
{
	int r = 0;

	for (unsigned i = 0; !r && i < wait->polled; i++) {
		struct event_poll_item item = { .fd = (uint32_t)wait->poll[i].fd, .events = wait->poll[i].events };

		r = emit(snapshots, tid, EVENT_poll_item, &item, NULL, 0, err);
	}
	return r;
}

/* Of a lock whose owner has ended nobody is to end the wait. In a pid namespace of its
 * own the number is another's here. */
static bool owner_is_gone(const struct snapshots *snapshots, const struct task_found *found, const struct event_waiting *waiting)
{
	switch (waiting->hint_kind) {
	case HINT_KIND_mutex_owner:
	case HINT_KIND_rwlock_writer:
	case HINT_KIND_semaphore_last:
		return found->task.ns_tid == found->tid && !map_find(&snapshots->tids, waiting->hint);
	default:
		return false;
	}
}

static int emit_connecting(struct snapshots *snapshots, const struct task_found *found, const struct wait_found *wait, struct err *err)
{
	struct event_descriptor d;
	char text[sizeof(wait->address) + 4];
	uint32_t length = wait_found_connecting(found, wait, &d, text, sizeof(text));

	return length ? emit(snapshots, found->task.pid, EVENT_descriptor, &d, text, length, err) : 0;
}

static int emit_word(void *context, uint32_t pid, const struct shared_word *word, const struct event_descriptor *end, struct err *err)
{
	return emit(context, pid, EVENT_descriptor, end, word->name, strlen(word->name), err);
}

struct async_context {
	struct snapshots *snapshots;
	uint32_t tid;
};

static int on_async(void *context, enum event_type type, const void *payload, const char *tail, uint32_t tail_length, struct err *err)
{
	struct async_context *async = context;

	return emit(async->snapshots, async->tid, type, payload, tail, tail_length, err);
}

#define FUSE_READ_NUMBER 15

/* What the iterator found besides the wait. A request for pages tells no thread that waits for it, and so no number here. */
static int emit_more(struct snapshots *snapshots, const struct task_found *found, struct err *err)
{
	struct event_fuse_asked asked = { .connection = found->page_connection, .opcode = FUSE_READ_NUMBER };
	struct event_descriptor_limit full = { .limit = found->descriptors };
	int r = 0;

	if (found->page_connection)
		r = emit(snapshots, found->tid, EVENT_fuse_asked, &asked, NULL, 0, err);
	if (!r && found->descriptors)
		r = emit(snapshots, found->tid, EVENT_descriptor_limit, &full, NULL, 0, err);
	if (!r && found->signal.number) {
		struct event_signal_pending signal = found->signal;

		/* in a pid namespace of its own the number is another's here */
		if (found->task.ns_tid != found->tid)
			signal.sender = 0;
		r = emit(snapshots, found->tid, EVENT_signal_pending, &signal, NULL, 0, err);
	}
	return r;
}

static int on_thread(struct processes_sink *sink, const struct task_found *found, const char *texts, size_t texts_bytes,
		     const struct wait_found *wait, struct err *err)
{
	struct snapshots *snapshots = container(sink, struct snapshots, processes);
	char tail[sizeof(found->comm) + 1 + PROCESSES_TEXT_MOST];
	size_t comm = strnlen(found->comm, sizeof(found->comm));
	struct event_waiting waiting = wait_found_waiting(found, wait);
	struct event_descriptor end;
	bool blocked = waiting.state == TASK_STATE_blocked || waiting.state == TASK_STATE_killable;
	const char *asyncs = texts + texts_bytes + wait->stack_bytes;
	int r;

	if (texts_bytes > PROCESSES_TEXT_MOST)
		texts_bytes = PROCESSES_TEXT_MOST;
	memcpy(tail, found->comm, comm);
	tail[comm++] = 0;
	memcpy(tail + comm, texts, texts_bytes);
	if (blocked && !(found->task.flags & TASK_FLAGS_kernel_thread) && snapshots->blocked.length < BLOCKED_MOST)
		vec_push(&snapshots->blocked, found->task.pid);
	if (found->tid == found->task.pid && waiting.wait == WAIT_KIND_sleep && snapshots->sleepers.length < BLOCKED_MOST)
		vec_push(&snapshots->sleepers, found->task.pid);
	r = emit(snapshots, found->tid, EVENT_task, &found->task, tail, comm + texts_bytes, err);
	if (r)
		return r;
	if (owner_is_gone(snapshots, found, &waiting))
		waiting.hint_kind = HINT_KIND_owner_gone;
	r = emit(snapshots, found->tid, EVENT_waiting, &waiting, NULL, 0, err);
	if (!r)
		r = emit_connecting(snapshots, found, wait, err);
	if (!r && wait_found_word(found, wait, &snapshots->words, &end))
		r = emit_word(snapshots, found->task.pid, &wait->word, &end, err);
	if (!r && wait_found_fifo(found, wait, &end))
		r = emit(snapshots, found->task.pid, EVENT_descriptor, &end, wait->address, strlen(wait->address), err);
	if (!r)
		r = emit_polled(snapshots, found->tid, wait, err);
	if (!r)
		r = emit_more(snapshots, found, err);
	struct async_context async = { snapshots, found->tid };

	return r ? r : async_tasks_each(asyncs, wait->async_bytes, on_async, &async, err);
}

static int on_state(struct state_sink *sink, uint32_t tid, enum event_type type, const void *payload, const char *tail,
		    uint32_t tail_length, struct err *err)
{
	return emit(container(sink, struct snapshots, states), tid, type, payload, tail, tail_length, err);
}

static int on_cgroup(struct cgroups_sink *sink, const struct event_cgroup *cgroup, const char *path, struct err *err)
{
	return emit(container(sink, struct snapshots, cgroups), 0, EVENT_cgroup, cgroup, path, strlen(path), err);
}

static int on_limit(struct group_limits_sink *sink, uint32_t pid, const struct event_group_limit *limit, const char *path, struct err *err)
{
	return emit(container(sink, struct snapshots, limits), pid, EVENT_group_limit, limit, path, strlen(path), err);
}

int snapshots_open(const struct programs *programs, struct stacks *stacks, struct state_opening *opening, struct snapshot_sink *sink,
		   struct snapshots **ret_snapshots, struct err *err)
{
	struct snapshots *snapshots = mem_zalloc(sizeof(*snapshots));
	int r, opened;

	pthread_mutex_init(&snapshots->lock, NULL);
	map_init(&snapshots->tids);
	snapshots->sink = sink;
	snapshots->stacks = stacks;
	snapshots->processes = (struct processes_sink){ on_thread };
	snapshots->states.event = on_state;
	snapshots->cgroups.cgroup = on_cgroup;
	snapshots->limits.limit = on_limit;
	r = tasks_open(programs, stacks, &snapshots->tasks, err);
	opened = state_open_end(opening, &snapshots->state, r && r != -ENOTSUP ? NULL : err);
	if (!r || r == -ENOTSUP)
		r = opened;
	if (r && r != -ENOTSUP) {
		snapshots_close(snapshots);
		return r;
	}
	*ret_snapshots = snapshots;
	return 0;
}

void snapshots_close(struct snapshots *snapshots)
{
	if (!snapshots)
		return;
	tasks_close(snapshots->tasks);
	state_close(snapshots->state);
	map_done(&snapshots->tids);
	vec_done(&snapshots->pythons);
	vec_done(&snapshots->words);
	vec_done(&snapshots->blocked);
	vec_done(&snapshots->sleepers);
	buf_done(&snapshots->limits_told);
	processes_done(&snapshots->left);
	pthread_mutex_destroy(&snapshots->lock);
	free(snapshots);
}

/* Which interpreter runs in each thread's process; threads of one stand together. */
static void find_pythons(struct snapshots *snapshots, const struct task_found *found, size_t count)
{
	struct async_process python = { 0 };

	vec_clear(&snapshots->pythons);
	for (size_t i = 0; i < count; i++) {
		if (!i || found[i].task.pid != found[i - 1].task.pid)
			stacks_interpreter(snapshots->stacks, found[i].task.pid, &python.version, &python.key);
		vec_push(&snapshots->pythons, python);
	}
}

static int take_tasks(struct snapshots *snapshots, struct event_snapshot *mark, struct err *err)
{
	struct tasks_want all = { .stacks = 1 };
	const struct task_found *found;
	size_t count;
	int r;

	if (!snapshots->tasks)
		return 0;
	r = tasks_find(snapshots->tasks, &all, &found, &count, err);
	map_clear(&snapshots->tids);
	vec_clear(&snapshots->words);
	vec_clear(&snapshots->blocked);
	vec_clear(&snapshots->sleepers);
	for (size_t i = 0; !r && i < count; i++)
		map_put(&snapshots->tids, found[i].tid, 1);
	mark->cut = !r && count >= TASKS_MOST;
	if (!r && snapshots->stacks)
		find_pythons(snapshots, found, count);
	if (!r)
		r = processes_read(&snapshots->left, found, NULL, snapshots->stacks ? snapshots->pythons.items : NULL, count,
				   PROCESSES_LIMIT_MS, &snapshots->processes, err);
	if (!r)
		r = processes_share(&snapshots->left, found, count, &snapshots->words, SHARERS_LIMIT_MS, emit_word, snapshots, err);
	mark->unread = snapshots->left.unread;
	tasks_release(snapshots->tasks);
	return r;
}

static int take(struct snapshots *snapshots, uint32_t reason, struct err *err)
{
	struct event_snapshot mark = { .end = 0, .reason = reason };
	int r = emit(snapshots, 0, EVENT_snapshot, &mark, NULL, 0, err);

	if (!r)
		r = take_tasks(snapshots, &mark, err);
	if (!r && snapshots->state)
		r = state_record(snapshots->state, STATE_ALL, 0, &snapshots->states, err);
	if (!r)
		r = cgroups_read(&snapshots->cgroups, err);
	buf_clear(&snapshots->limits_told);
	for (size_t i = 0; !r && i < snapshots->blocked.length; i++)
		r = group_limits_read(snapshots->blocked.items[i], false, &snapshots->limits_told, &snapshots->limits, err);
	buf_clear(&snapshots->limits_told);
	for (size_t i = 0; !r && i < snapshots->sleepers.length; i++)
		r = group_limits_read(snapshots->sleepers.items[i], true, &snapshots->limits_told, &snapshots->limits, err);
	if (r)
		return r;
	mark.end = 1;
	return emit(snapshots, 0, EVENT_snapshot, &mark, NULL, 0, err);
}

int snapshots_take(struct snapshots *snapshots, uint32_t reason, struct err *err)
{
	int r;

	slice_lengthen();
	pthread_mutex_lock(&snapshots->lock);
	r = take(snapshots, reason, err);
	pthread_mutex_unlock(&snapshots->lock);
	return r;
}

int snapshots_count_waiting(struct snapshots *snapshots, uint64_t from_ns, uint64_t to_ns, size_t *ret_count,
			    struct err *err)
{
	struct tasks_want want = { .waiting_from_ns = from_ns, .waiting_to_ns = to_ns };
	const struct task_found *found;
	int r;

	*ret_count = 0;
	if (!snapshots->tasks)
		return 0;
	pthread_mutex_lock(&snapshots->lock);
	r = tasks_find(snapshots->tasks, &want, &found, ret_count, err);
	tasks_release(snapshots->tasks);
	pthread_mutex_unlock(&snapshots->lock);
	return r;
}
#endif
