/* The scene: who ran, waited and woke whom, as the diagnosis looks at it.
 *
 * Spans, waits and wake-ups are the event graph's (graph.h), laid out by thread:
 * a gap-free row of spans (running, runnable, waiting, stopped, absent, unknown)
 * from the trace's first moment to its last (of a part of a trace, from when a wait
 * began that stood at its beginning), and each wait with its end: the thread, timer or device that ended it, or nobody. One pass over the trace adds
 * what the graph does not hold: stacks and arguments of waits, messages, samples,
 * file locks and the few other happenings that answer "who could have ended this
 * wait?". A scene is read-only but for corrections, and may be shared. */
#ifndef DIAGNOSE_SCENE_H
#define DIAGNOSE_SCENE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "trace/tables.h"
#include "trace/trace.h"

struct graph;
struct graph_room;
struct judgement;
struct wait_details;
struct rules;

enum span_state {
	SPAN_UNKNOWN,   /* not seen, or events were lost */
	SPAN_RUNNING,
	SPAN_RUNNABLE,  /* could run, has no processor */
	SPAN_WAITING,
	SPAN_STOPPED,   /* by a signal or tracer, or frozen */
	SPAN_ABSENT     /* not born yet, or ended */
};

/* Of what there are millions: no holes between them. */
#define SCENE_DENSE __attribute__((packed, aligned(4)))

/* It ends where the next one in its row starts; behind each row stands one
 * more entry, which only ends the last. */
struct SCENE_DENSE span {
	uint64_t start_ns;
	uint32_t place : 28;     /* span_wait, span_cpu */
	uint32_t state : 3;      /* enum span_state */
	uint32_t throttled : 1;  /* SPAN_RUNNABLE: its group's quota is used up */
};
_Static_assert(sizeof(struct span) == 12, "no holes");
#define SPAN_PLACES (1u << 28)

/* SPAN_WAITING and SPAN_STOPPED: index into waits, 0 not known; else 0. */
static inline uint32_t span_wait(const struct span *span)
{
	return span->state == SPAN_WAITING || span->state == SPAN_STOPPED ? span->place : 0;
}

/* SPAN_RUNNING: where; SPAN_RUNNABLE: where it is queued. */
static inline uint16_t span_cpu(const struct span *span)
{
	return (uint16_t)span->place;
}

static inline uint64_t span_end(const struct span *span)
{
	return span[1].start_ns;
}

/* Who had a processor, 0 nobody; ends where the next one starts, as spans do. */
struct SCENE_DENSE cpu_run {
	uint64_t start_ns;
	uint32_t thread;
};

/* Who had it how long in so many runs in a row, so that long windows are added up fast. */
#define CPU_BLOCK 4096u
struct cpu_share {
	uint64_t ns;
	uint32_t thread;
};

#define WAIT_FUTEX_PRIVATE 128

enum wait_end {
	WAIT_END_OPEN,       /* it lasts to the end of the trace */
	WAIT_END_THREAD,     /* another thread woke it */
	WAIT_END_TIMEOUT,    /* its own time limit or sleep ran out */
	WAIT_END_SOURCE,     /* an interrupt whose source is known or at least named */
	WAIT_END_UNKNOWN     /* it ran again and nothing says why */
};

/* Entry 0 of waits is unused. */
struct wait {
	uint64_t start_ns, end_ns;
	uint64_t object;
	uint64_t detail;         /* second word: of poll the first object */
	uint64_t timeout_ns;     /* its time limit, 0 none known */
	uint32_t begin_event;    /* number of the switch that began it, 0 none; as the graph's */
	uint32_t end_event;      /* number of the wake-up, 0 none */
	uint32_t site;           /* equal for waits at the same place in the program */
	uint32_t thread;
	uint32_t waker;          /* thread that woke it, or whose timer or request did; 0 none */
	uint32_t hint;           /* thread that could end it, as read from memory; 0 none */
	int32_t argument;
	uint32_t ustack, kstack;
	uint32_t episode;        /* that it is part of */
	uint16_t syscall;
	uint8_t kind;            /* WAIT_KIND_ */
	uint8_t hint_kind;       /* HINT_KIND_ */
	uint8_t state;           /* TASK_STATE_ */
	uint8_t end;             /* enum wait_end */
	uint8_t cause;           /* WAKE_CAUSE_ of the wake-up */
	uint8_t confidence : 7;  /* of the wake-up, per cent: 100 observed, less where events were lost around it */
	uint8_t idle : 1;        /* marked as harmless by a rule or the person */
};
_Static_assert(sizeof(struct wait) == 88, "no holes");

/* On a word that other processes may change; one whose operation is not known is taken to be private. */
static inline bool wait_is_shared(const struct wait *w)
{
	return w->kind == WAIT_KIND_futex && w->argument && !(w->argument & WAIT_FUTEX_PRIVATE);
}

/* Inside the kernel, for one thing, on which nothing in the program depends. */
static inline bool wait_is_in_kernel(const struct wait *w)
{
	return w->kind == WAIT_KIND_vfork || w->kind == WAIT_KIND_fuse || w->kind == WAIT_KIND_file_lock || w->kind == WAIT_KIND_kernel_lock ||
	       w->kind == WAIT_KIND_block_io || w->kind == WAIT_KIND_sync || w->kind == WAIT_KIND_open || w->kind == WAIT_KIND_fault ||
	       w->kind == WAIT_KIND_supervised;
}

/* The thread that is to end it is known, as it has what is waited for, or is what is. */
static inline bool wait_has_owner(const struct wait *w)
{
	return w->hint && (w->hint_kind == HINT_KIND_mutex_owner || w->hint_kind == HINT_KIND_pi_owner ||
			   w->hint_kind == HINT_KIND_rwlock_writer || w->hint_kind == HINT_KIND_thread_exit ||
			   w->hint_kind == HINT_KIND_interpreter_lock);
}

/* It is stopped, or kept by a lock or inside the kernel: none in which a thread rests. */
static inline bool wait_is_kept(const struct wait *w)
{
	return !w->idle && (w->kind == WAIT_KIND_stop || wait_has_owner(w) || (wait_is_in_kernel(w) && w->kind != WAIT_KIND_vfork));
}

/* A sleep, which nobody else ends, lasted as long as it was to, or longer: the thread may have stood in the queue. */
static inline bool wait_slept_out(const struct wait *w)
{
	return w->kind == WAIT_KIND_sleep && w->timeout_ns && w->end_ns - w->start_ns >= w->timeout_ns;
}

/* A call by which a thread listens to whoever comes, not for one answer. */
static inline bool wait_is_loop_rest(const struct wait *w)
{
	return w->kind == WAIT_KIND_epoll || w->kind == WAIT_KIND_accept || (w->kind == WAIT_KIND_poll && w->argument > 1);
}

/* Waits that are one in meaning: slices of a timed wait, or the sleeps of a poll
 * loop, with the moments between in which the thread only looked again. A wait
 * that stands alone is an episode too. It ends as its last wait ends. */
struct episode {
	uint64_t start_ns, end_ns;
	uint32_t first, last;    /* waits */
	uint32_t slices;
	uint32_t thread;
};

/* A thread's wake-up of another that was waiting, by its own doing: not that of
 * an interrupt in its place, and not one that a correction has cut. */
struct SCENE_DENSE wake {
	uint64_t time;
	uint32_t number;
	uint32_t waker, target;
};

struct message {
	uint64_t time;           /* when the call ended */
	uint64_t start_ns;       /* when it began */
	uint64_t object, channel;
	uint32_t number;         /* of the event */
	uint32_t thread;
	uint32_t peer;           /* pid, a hint; 0 unknown */
	uint32_t bytes;
	int32_t result;
	uint32_t ustack;
	uint8_t kind;            /* MESSAGE_KIND_ */
	uint8_t flags;           /* MESSAGE_FLAGS_ */
};

/* As it is kept: half of that, for of messages there are tens of millions. */
struct kept_message {
	uint64_t time;
	uint32_t end;            /* index into message_ends: what is the same for many */
	uint32_t number;
	uint32_t duration_ns;    /* UINT32_MAX: see long_messages */
	uint32_t bytes;
	int32_t result;
	uint32_t ustack;
};
_Static_assert(sizeof(struct kept_message) == 32, "two messages on a cache line");

struct message_end {
	uint64_t object, channel;
	uint32_t thread, peer;
	uint8_t kind, flags;
};

/* True when something went out: a connection that is made is asked for, too. */
static inline bool message_sent(const struct message *m)
{
	if (m->kind == MESSAGE_KIND_connect)
		return m->channel && (!m->result || m->result == -115); /* EINPROGRESS */
	return !(m->flags & MESSAGE_FLAGS_receive) && m->result > 0;
}

struct sample {
	uint64_t time;
	uint64_t number;
	uint64_t period_ns;
	uint32_t thread;
	uint32_t ustack, kstack;
};

/* The thread asked to give up the processor. */
struct yield {
	uint64_t time;
	uint32_t thread;
};

struct file_lock {
	uint64_t time;
	uint64_t number;
	uint64_t object, start, end;
	uint32_t thread;         /* 0 from a state record */
	uint32_t owner;          /* pid */
	uint32_t blocker;        /* pid, 0 unknown */
	int32_t result;
	uint8_t type, family;
	bool state;              /* from /proc/locks, not a happening */
	bool waits;              /* F_SETLKW, or the state record of a waiter */
};

struct fuse_request {
	uint64_t time, end_ns;   /* end_ns 0: no reply seen */
	uint64_t number, end_number;
	uint64_t unique;
	uint32_t thread, server; /* server: thread that replied, 0 none */
	uint32_t connection, opcode;
};

/* Every signal that was sent and taken, those that stop a process among them. */
struct sent_signal {
	uint64_t time, number;
	uint32_t sender, target; /* threads; target is a process's leader when sent to the process */
	uint32_t signal;
	bool stays;              /* it was put to those that the target has still to take, and none of its threads has begun to handle it since */
};

/* Calls by which locks are made and looked at that are no file locks: a file or folder that only one can make, a
 * process that lives. */
enum call_what {
	CALL_OTHER,
	CALL_MADE,       /* a file, folder or link that was not there */
	CALL_REFUSED,    /* it was there already */
	CALL_TAKEN_AWAY, /* a file or folder was removed, or renamed */
	CALL_ALIVE,      /* a signal of number 0 could be sent */
	CALL_GONE,       /* it could not: there is no such process */
	CALL_CHILD_LIVES /* it asked whether a child has ended, without waiting: none had */
};

struct call_made {
	uint64_t time, number;
	uint32_t thread;
	uint32_t target;         /* of CALL_ALIVE, CALL_GONE and CALL_CHILD_LIVES: the process's first thread, 0 unknown */
	uint16_t syscall;
	uint8_t what;            /* enum call_what */
};

/* What a call named that failed, or that looked for a file. */
struct named_call {
	uint64_t time, number;
	uint32_t thread;
	int32_t result;          /* 0, or a negative error number */
	uint16_t syscall;
	uint16_t family, port;   /* of connect */
	uint64_t address[2];
	const char *path;        /* "" none, or not known */
};

struct quota {
	uint64_t time, number;
	uint64_t cgroup, quota_ns, period_ns;
	uint64_t throttled_ns;   /* of state records: time throttled so far, all processors */
	uint32_t thread;         /* of a throttle event, 0 from a state record */
	bool throttled;
	const char *path;
};

struct file_change {
	uint64_t time, number;
	uint64_t object, watcher;
	uint32_t thread;
	uint32_t mask;
};

struct mark {
	uint64_t time, number;
	const char *text;
};

struct poll_item {
	uint64_t time, set, object;
	uint32_t pid;
	int32_t fd;
	uint32_t events;         /* EPOLL mask */
};

/* A file or folder that an inotify or fanotify group watches, as a snapshot found it. */
struct watched_file {
	uint64_t time, watcher, object;
	uint32_t pid;
	uint32_t mask;           /* IN_ */
	const char *path;        /* "" not known */
};

/* A limit of a control group, as a snapshot found it while a thread of it was blocked. */
struct group_limit {
	uint64_t time, limit, used, most_bytes;
	uint32_t most;           /* thread: of who has most of the memory, or of the program that has most of the processes; 0 not known */
	uint32_t device, refused;
	uint8_t kind;            /* GROUP_LIMIT_ */
	const char *path;        /* of the group; of a user's processes the user's number */
	uint32_t pid;            /* whose limit it is; 0 the group's */
};

/* A signal that is to end a program, and that a thread has not taken, as a snapshot found it. */
struct pending_signal {
	uint64_t time, number;
	uint32_t thread, sender; /* the second a process's first thread, 0 not known */
	uint32_t signal;
	bool blocked;            /* by that thread */
};

/* A process that has as many descriptors open as it may, as a snapshot found it. */
struct descriptor_limit {
	uint64_t time, number;
	uint32_t pid, limit;
};

/* Indices into one of the scene's arrays, in the order of time. */
struct row {
	const uint32_t *items;
	uint32_t count;
};

struct scene_thread {
	const struct span *spans;
	uint32_t span_count;
	uint32_t wait, wait_count;       /* its waits lie in a row, in the order of time */
	uint32_t wake, wake_count;       /* so do the wake-ups it made */
	uint32_t episode, episode_count; /* and its episodes */
	uint32_t first_mate, next_mate;  /* of its process, in the tables' order; 0: not told, none */
	struct row messages;
	struct row samples;
	struct row yields;
	uint64_t since_ns;       /* its events are told from then on: start_ns, or before that */
	uint64_t running_ns;     /* in the whole trace */
	uint64_t fork_event;     /* number of its fork, 0 before the trace */
	uint32_t fork_stack;     /* the stack at which its creator made it, 0 not known */
	uint64_t exec_ns;        /* last exec, 0 none */
};

struct object_name {
	uint64_t object;
	const char *name;
};

struct numbers {
	uint64_t *items;
	uint32_t count;
};

#define SCENE_KEPT 18
/* Columns that are laid out anew; the spans of each of two workers first. */
enum { LAID_waits = 2, LAID_wakes, LAID_episodes, SCENE_LAID };

/* What of a thread is still to be laid out. */
enum { PENDING_waits = 1, PENDING_spans = 2, PENDING_episodes = 4, PENDING_wakes = 8, PENDING_spared = 16 /* its spans alone */ };

struct scene {
	struct arena arena;
	struct arena rows_arena;         /* of the threads' and channels' rows, see scene_rows.c */
	struct arena laid;               /* spans, waits, wake-ups, episodes: laid out anew by corrections */
	const struct trace *trace;
	const struct tables *tables;
	struct tables *owned_tables;     /* NULL: they are the caller's */
	struct graph *graph;             /* NULL in scenes made by hand */
	struct judgement *judgement;     /* by which it is judged (judgement.h); the caller's; NULL the usual rules */
	uint32_t version;                /* counts corrections */
	bool built_with_corrections;     /* the graph, rather than corrected afterwards */
	uint64_t start_ns, end_ns;
	uint64_t reach_ns;               /* of a part of a trace, when that begins: waits that stood at start_ns reach back to it */
	bool messages_seen;              /* the trace has message events */
	uint32_t thread_count;           /* as in tables */
	struct scene_thread *threads;
	uint8_t *other_argus;            /* by thread, as they are asked about: 0 not yet, 1 no, 2 yes */
	struct wait *waits;
	uint32_t wait_count;
	struct episode *episodes;
	uint32_t episode_count;
	struct wake *wakes;
	uint32_t wake_count;
	struct kept_message *messages;   /* scene_message */
	struct message_end *message_ends;
	struct map long_messages;        /* number -> duration */
	uint32_t message_count;
	struct row connections;          /* messages that made one, or accepted it */
	struct channel {
		uint64_t channel;
		struct row messages;
	} *channels;                     /* sorted by number */
	uint32_t channel_count;
	struct sample *samples;
	uint32_t sample_count;
	struct yield *yields;
	uint32_t yield_count;
	struct file_lock *locks;
	uint32_t lock_count;
	struct fuse_request *fuse;
	uint32_t fuse_count;
	struct sent_signal *signals;
	uint32_t signal_count;
	struct row ending_signals;       /* those by which a program is told to end, and does not at once */
	struct call_made *calls;
	uint32_t call_count;
	struct named_call *named_calls;
	uint32_t named_call_count;
	struct quota *quotas;
	uint32_t quota_count;
	struct file_change *changes;
	uint32_t change_count;
	struct mark *marks;
	uint32_t mark_count;
	struct poll_item *poll_items;
	uint32_t poll_item_count;
	struct watched_file *watched;
	uint32_t watched_count;
	struct group_limit *group_limits;
	uint32_t group_limit_count;
	struct pending_signal *pending_signals;
	uint32_t pending_signal_count;
	struct descriptor_limit *descriptor_limits;
	uint32_t descriptor_limit_count;
	struct cpu_row {
		struct cpu_run *runs;
		uint32_t count;
		struct cpu_share *shares;    /* of the whole blocks, each thread of a block once */
		uint32_t *blocks;            /* first share of each; one more at the end */
		uint32_t block_count;
	} *cpus;
	uint32_t cpu_count;
	void *kept[SCENE_KEPT];          /* memory of the arrays above that do not lie in the arena */
	unsigned kept_count;
	uint8_t *pending;                /* by thread, PENDING_ as bits: it is laid out when it is asked for; NULL: nothing is left */
	struct scene_lazy *lazy;         /* by which that is done; NULL: all was laid out at once */
	void *laid_columns[SCENE_LAID];  /* memory of spans, waits and what follows from them */
	struct wait_details *wait_details; /* what was gathered of waits; NULL: none of it is left, nothing can be corrected */
	struct scene_gathered *gathered; /* by thread, see scene_build.h */
	/* What a person said that the graph does not hold. */
	struct numbers boundaries;       /* pairs: time, thread */
	struct object_name *object_names;
	uint32_t name_count;
};

/* Builds the graph with it, and owns that. `tables` may be NULL: the graph's pass
 * then makes them, and the scene owns them; else they must outlive it. */
int scene_build(const struct trace *trace, const struct tables *tables, struct scene **ret_scene, struct err *err);
/* Who follows the building. */
struct scene_watch {
	void (*see)(void *data, const struct event *e); /* each event of the pass, with all fields; NULL: not of interest */
	void (*passed)(void *data); /* the pass is over, before anything is laid out; it may take its time */
	void *data;
};
/* The same of a part of a trace, whose building another follows (NULL: nobody). `room` (may be NULL) goes to the graph. Nobody
 * corrects it: what only that needs is not kept. */
int scene_build_watched(const struct trace *trace, const struct scene_watch *watch, struct graph_room *room, struct scene **ret_scene,
			struct err *err);
/* The same for who asks about few of its threads: each is laid out when it is first asked for, by the questions below or by
 * scene_need. Such a scene is for one thread of the program. */
int scene_build_lazily(const struct trace *trace, struct graph_room *room, struct scene **ret_scene, struct err *err);
void scene_free(struct scene *scene);

/* Of a scene that is laid out thread by thread: */
void scene_lay_waits_of(const struct scene *scene, uint32_t thread);
void scene_lay_thread(const struct scene *scene, uint32_t thread);
void scene_lay_wakes_of(const struct scene *scene, uint32_t thread);
/* Nobody holds spans of it now: of a scene that spares memory, those of threads that have many may go, until they are asked for. */
void scene_spare(const struct scene *scene);
/* Called for each thread when its waits are there. */
void scene_on_laid(struct scene *scene, void (*laid)(void *data, struct scene *scene, uint32_t thread), void *data);
/* The thread's wait that lasts at the moment and began before it, as the switches tell it; for that it is not laid out. */
bool scene_wait_at(const struct scene *scene, uint32_t thread, uint64_t time_ns, struct wait *ret_wait);
/* False when the thread surely has no wait of a kind in the set (bits by WAIT_KIND_); for that it is not laid out. */
bool scene_may_wait_for(const struct scene *scene, uint32_t thread, uint64_t kinds);

/* Before the thread's columns are looked at. */
static inline void scene_need(const struct scene *scene, uint32_t thread)
{
	if (scene->pending && scene->pending[thread] & (PENDING_waits | PENDING_spans | PENDING_episodes))
		scene_lay_thread(scene, thread);
}
/* Before its spans, or how long it ran, are looked at. */
static inline void scene_need_spans(const struct scene *scene, uint32_t thread)
{
	if (scene->pending && scene->pending[thread] & (PENDING_waits | PENDING_spans | PENDING_episodes | PENDING_spared))
		scene_lay_thread(scene, thread);
}
/* ... of which no more than the waits are. */
static inline void scene_need_waits(const struct scene *scene, uint32_t thread)
{
	if (scene->pending && scene->pending[thread] & PENDING_waits)
		scene_lay_waits_of(scene, thread);
}
static inline void scene_need_wakes(const struct scene *scene, uint32_t thread)
{
	if (scene->pending && scene->pending[thread] & PENDING_wakes)
		scene_lay_wakes_of(scene, thread);
}
/* Lays a person's statements over graph and scene, in place of those laid over
 * them before; what only a build of the graph can take in has it built anew.
 * -ENOENT, with the statement in words: it speaks of an event or edge that is not
 * there; the scene is then as it was built. */
int scene_correct(struct scene *scene, const struct rules *corrections, struct err *err);
/* Joins waits to episodes; part of scene_build, and for scenes made by hand. */
void scene_join_waits(struct scene *scene);
/* One thread's; the column of episodes has room for `capacity`, of which so many bytes have their pages. */
void scene_join_waits_of(struct scene *scene, uint32_t thread, size_t capacity, size_t *populated);

/* The span of the thread that holds the moment; NULL outside the trace. */
const struct span *scene_span(const struct scene *scene, uint32_t thread, uint64_t time);
/* The wait in which the thread stands then; NULL where it runs, or could. */
static inline const struct wait *scene_waits_at(const struct scene *scene, uint32_t thread, uint64_t time)
{
	const struct span *span = scene_span(scene, thread, time);

	return span && span->state == SPAN_WAITING ? &scene->waits[span_wait(span)] : NULL;
}
/* Index of that span, span_count when there is none. */
uint32_t scene_span_index(const struct scene *scene, uint32_t thread, uint64_t time);
/* The episode that holds the moment, or the next one behind it; NULL when there
 * is none. */
const struct episode *scene_episode(const struct scene *scene, uint32_t thread, uint64_t time);
/* The first of the waits at the episode's place that had the limit which ends it: who
 * does other work meanwhile and sets himself what is left of it has not begun anew. */
const struct episode *scene_limit_begin(const struct scene *scene, const struct episode *episode, uint64_t slack_ns);
struct message scene_message(const struct scene *scene, uint32_t index);
/* Messages of a channel, both directions; NULL when it carried none. */
const struct row *scene_channel(const struct scene *scene, uint64_t channel);
/* The same for who looks at many moments, mostly in the order of time: beside the place where the thread was looked at last,
 * which is kept in `near`, by thread; NULL: it is not. */
struct scene_near {
	uint32_t span, episode, wait, sample;
};
const struct span *scene_span_near(const struct scene *scene, uint32_t thread, uint64_t time, struct scene_near *near);
const struct episode *scene_episode_near(const struct scene *scene, uint32_t thread, uint64_t time, struct scene_near *near);
uint32_t scene_waits_from_near(const struct scene *scene, uint32_t thread, uint64_t time, struct scene_near *near);
uint32_t scene_samples_from_near(const struct scene *scene, uint32_t thread, uint64_t time, struct scene_near *near);

/* Index of the thread's first wake-up, wait, at or after the time; behind its last
 * one when there is none. */
uint32_t scene_wakes_from(const struct scene *scene, uint32_t thread, uint64_t time);
uint32_t scene_waits_from(const struct scene *scene, uint32_t thread, uint64_t time);
/* First place in the row whose item is at or after the time. */
uint32_t scene_messages_from(const struct scene *scene, uint32_t thread, uint64_t time);
/* First place in a channel's row whose message is at or after the time. */
uint32_t scene_channel_from(const struct scene *scene, const struct row *row, uint64_t time);
uint32_t scene_samples_from(const struct scene *scene, uint32_t thread, uint64_t time);
/* How often the thread asked to give up the processor, as far as the trace says; both inclusive. */
uint64_t scene_yields(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns);

/* The wait in which the thread stands as that time ends; NULL: in none. */
static inline const struct wait *scene_stands_until(const struct scene *scene, uint32_t thread, uint64_t to_ns)
{
	const struct episode *e = to_ns ? scene_episode(scene, thread, to_ns - 1) : NULL;

	return e && e->end_ns >= to_ns ? &scene->waits[e->last] : NULL;
}

/* The same of one that has stood so for half of the time at least. */
static inline const struct wait *scene_stands_in(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct episode *e = scene_episode(scene, thread, to_ns - 1);

	return e && e->end_ns >= to_ns && e->start_ns <= from_ns + (to_ns - from_ns) / 2 ? &scene->waits[e->last] : NULL;
}

static inline uint32_t scene_waits_end(const struct scene *scene, uint32_t thread)
{
	scene_need(scene, thread);
	return scene->threads[thread].wait + scene->threads[thread].wait_count;
}
/* Whether it has ended or not; NULL: the thread never waited. */
static inline const struct wait *scene_last_wait(const struct scene *scene, uint32_t thread)
{
	uint32_t end = scene_waits_end(scene, thread);

	return scene->threads[thread].wait_count ? &scene->waits[end - 1] : NULL;
}
static inline uint32_t scene_wakes_end(const struct scene *scene, uint32_t thread)
{
	scene_need_wakes(scene, thread);
	return scene->threads[thread].wake + scene->threads[thread].wake_count;
}

/* How long the thread was in each state inside the window. */
struct state_times {
	uint64_t ns[SPAN_ABSENT + 1];
	uint64_t throttled_ns;
};
void scene_state_times(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		       struct state_times *ret_times);

/* Of the episode's slices the last; or one in which alone the owner of what it waits for was read, who has not moved since. */
const struct wait *scene_slice_with_owner(const struct scene *scene, const struct episode *episode, uint64_t to_ns);

const char *span_state_name(enum span_state state);
static inline uint32_t scene_pid(const struct scene *scene, uint32_t thread)
{
	return scene->tables->threads[thread].pid;
}
static inline uint32_t scene_tid(const struct scene *scene, uint32_t thread)
{
	return scene->tables->threads[thread].tid;
}
/* True when what the message leads to is cut by a rule or the person. */
bool scene_is_cut(const struct scene *scene, const struct message *sent);
/* True when its waker ended the wait by sending the thread's process a signal. */
bool scene_ended_by_signal(const struct scene *scene, const struct wait *wait);
/* True when the thread's process was sent a signal, by whomever, as the wait ended. */
bool scene_met_signal(const struct scene *scene, const struct wait *wait);
/* Which one, 0 none. */
uint32_t scene_signal_at_end(const struct scene *scene, const struct wait *wait);
/* True when both threads are of one process. */
bool scene_same_process(const struct scene *scene, uint32_t a, uint32_t b);
/* The thread of its process behind `after` (0: the first one), itself among them; 0 there is none. */
uint32_t scene_mate(const struct scene *scene, uint32_t thread, uint32_t after);
#define SCENE_EACH_MATE(scene, thread, i) for (uint32_t i = scene_mate(scene, thread, 0); i; i = scene_mate(scene, thread, i))
/* So that this is quick. */
void scene_link_mates(struct scene *scene);
/* It sleeps for longer than anybody waits: until a signal comes, as of a child that has ended. */
bool scene_sleeps_until_told(const struct scene *scene, const struct wait *wait);
/* The thread that sleeps there did next to nothing else in its life: so a program does by which a script sleeps. Loosely: what it takes
 * to begin on a busy machine is next to nothing, too. */
bool scene_is_sleeper(const struct scene *scene, const struct wait *sleep, bool loosely);
/* True when the thread's process started the other. */
bool scene_has_started(const struct scene *scene, uint32_t thread, uint32_t child);
/* True for a thread of the process, and for those that it or its own made. */
bool scene_descends_from(const struct scene *scene, uint32_t thread, uint32_t pid);
/* Processes that one started, or of which one started the other. What init started belongs together by nothing. */
bool scene_is_kin(const struct scene *scene, uint32_t a, uint32_t b);
/* The only child that the thread's process had for all of the time (its first thread); 0 none, or several. */
uint32_t scene_only_child(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
static inline bool scene_is_pipe(uint64_t object)
{
	return object_kind(object) == OBJECT_KIND_pipe || object_kind(object) == OBJECT_KIND_fifo;
}
static inline bool scene_is_socket(uint64_t object)
{
	return object_kind(object) >= OBJECT_KIND_unix_stream && object_kind(object) <= OBJECT_KIND_socket;
}
/* True for kernel threads, the idle entry and Argus itself. */
bool scene_is_system(const struct scene *scene, uint32_t thread);
/* Of another run of it, by its name: that records, or answers, at its own pace, and nobody asks about it. */
bool scene_is_other_argus(const struct scene *scene, uint32_t thread);

#endif
