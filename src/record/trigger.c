/* See trigger.h. */
#include "record/trigger.h"

#ifdef HAVE_BPF

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/map.h"
#include "record/object.h"
#include "record/spawn.h"
#include "record/state.h"
#include "record/window.h"

#define BLOCKED_MOST 1024
#define QUEUES_MOST 65536

/* A queue or a sleep under watch. */
struct watched {
	uint64_t since_ns;
	uint64_t mark;           /* bytes in the queue; switches of the thread */
	uint32_t round;          /* in which it was last seen */
	bool reported;
	bool known;              /* the queue has been seen empty: it has a reader */
};

struct watch_table {
	struct map index;        /* to items */
	struct watched *items;
	size_t count, most;
};

struct triggers {
	struct triggers_options options;
	struct state *state;
	struct windows *windows; /* NULL: not looked for */
	struct watch_table queues, sleeps;
	struct state_blocked blocked[BLOCKED_MOST];
	uint32_t round;
	uint64_t next_command_ns;
	pid_t command_pid;       /* 0: none runs */
	bool command_said;       /* the last run has said that there is a hang */
};

static void table_init(struct watch_table *table, size_t most)
{
	map_init(&table->index);
	table->most = most;
	table->items = mem_zalloc(most * sizeof(*table->items));
}

static void table_done(struct watch_table *table)
{
	map_done(&table->index);
	free(table->items);
}

/* NULL when the table is full. */
static struct watched *table_at(struct watch_table *table, uint64_t key)
{
	uint64_t *found = map_find(&table->index, key);

	if (found)
		return &table->items[*found];
	if (table->count == table->most)
		return NULL;
	map_put(&table->index, key, table->count);
	table->items[table->count] = (struct watched){ 0 };
	return &table->items[table->count++];
}

/* Forgets what was not seen in this round. */
static void table_sweep(struct watch_table *table, uint32_t round)
{
	struct map old = table->index;
	const struct map_slot *slot;
	size_t kept = 0;
	struct watched *items = mem_alloc((table->count + 1) * sizeof(*items));

	map_init(&table->index);
	for (size_t at = 0; (slot = map_next(&old, &at)); ) {
		if (table->items[slot->value].round != round)
			continue;
		items[kept] = table->items[slot->value];
		map_put(&table->index, slot->key, kept++);
	}
	memcpy(table->items, items, kept * sizeof(*items));
	table->count = kept;
	free(items);
	map_done(&old);
}

int triggers_open(const struct triggers_options *options, struct triggers **ret_triggers, struct err *err)
{
	struct triggers *triggers = mem_zalloc(sizeof(*triggers));
	int r;

	triggers->options = *options;
	table_init(&triggers->queues, QUEUES_MOST);
	table_init(&triggers->sleeps, BLOCKED_MOST);
	if (options->unread_ns || options->blocked_ns) {
		r = state_open(NULL, true, &triggers->state, err);
		if (r) {
			triggers_close(triggers);
			return r;
		}
	}
	if (options->window_ns) {
		triggers->windows = windows_open(options->display);
		if (!triggers->windows) {
			triggers_close(triggers);
			return err_set(err, -EINVAL, "windows are asked over a display of this machine, like :0, not '%s'",
				       options->display ? options->display : "");
		}
	}
	*ret_triggers = triggers;
	return 0;
}

void triggers_close(struct triggers *triggers)
{
	if (!triggers)
		return;
	table_done(&triggers->queues);
	table_done(&triggers->sleeps);
	state_close(triggers->state);
	windows_close(triggers->windows);
	free(triggers);
}

struct queue_sink {
	struct state_sink sink;
	struct triggers *triggers;
	uint64_t now_ns;
	char *text;
	bool seen;
};

static bool has_reader(unsigned kind)
{
	return kind == OBJECT_KIND_pipe || kind == OBJECT_KIND_fifo || kind == OBJECT_KIND_unix_stream ||
	       kind == OBJECT_KIND_unix_seqpacket || kind == OBJECT_KIND_unix_dgram || kind == OBJECT_KIND_tcp ||
	       kind == OBJECT_KIND_udp;
}

static int take_descriptor(struct state_sink *sink, uint32_t pid, enum event_type type, const void *payload,
			   const char *tail, uint32_t tail_length, struct err *err)
{
	struct queue_sink *to = (struct queue_sink *)sink;
	struct triggers *triggers = to->triggers;
	const struct event_descriptor *d = payload;
	struct watched *queue;

	(void)err;
	if (type != EVENT_descriptor || !has_reader(d->kind) || !(d->access & 1))
		return 0;
	queue = table_at(&triggers->queues, hash_u64(d->object) + pid);
	if (!queue)
		return 0;
	queue->round = triggers->round;
	if (!d->queued) {
		*queue = (struct watched){ .round = triggers->round, .known = true };
		return 0;
	}
	/* less than before: somebody reads, if slowly */
	if (!queue->since_ns || d->queued < queue->mark) {
		queue->since_ns = to->now_ns;
		queue->reported = false;
	}
	queue->mark = d->queued;
	if (!queue->known || queue->reported || to->now_ns - queue->since_ns < triggers->options.unread_ns)
		return 0;
	queue->reported = true;
	if (to->seen)
		return 0;
	to->seen = true;
	snprintf(to->text, TRIGGER_TEXT_BYTES, "process %u leaves %u %s unread on descriptor %d%s%.*s", pid, d->queued,
		 d->state == 10 ? "connections" : "bytes", (int)d->fd, tail_length ? ", " : "", (int)tail_length, tail);
	return 0;
}

static int check_queues(struct triggers *triggers, uint64_t now_ns, char *text, struct err *err)
{
	struct queue_sink to = { { take_descriptor }, triggers, now_ns, text, false };
	int r = state_record(triggers->state, STATE_DESCRIPTORS, 0, &to.sink, err);

	if (r)
		return r;
	table_sweep(&triggers->queues, triggers->round);
	return to.seen;
}

static int check_sleeps(struct triggers *triggers, uint64_t now_ns, char *text, struct err *err)
{
	int count = state_find_blocked(triggers->state, triggers->blocked, BLOCKED_MOST, err), seen = 0;

	for (int i = 0; i < count; i++) {
		const struct state_blocked *blocked = &triggers->blocked[i];
		struct watched *sleep = table_at(&triggers->sleeps, blocked->tid);

		if (!sleep)
			continue;
		sleep->round = triggers->round;
		if (!sleep->since_ns || sleep->mark != blocked->switches) {
			sleep->since_ns = now_ns;
			sleep->mark = blocked->switches;
			sleep->reported = false;
		}
		if (sleep->reported || now_ns - sleep->since_ns < triggers->options.blocked_ns)
			continue;
		sleep->reported = true;
		if (!seen)
			snprintf(text, TRIGGER_TEXT_BYTES,
				 "thread %u of process %u (%.16s) has been in one uninterruptible wait for %" PRIu64 " s", blocked->tid,
				 blocked->pid, blocked->comm, (now_ns - sleep->since_ns) / 1000000000u);
		seen = 1;
	}
	if (count < 0)
		return count;
	table_sweep(&triggers->sleeps, triggers->round);
	return seen;
}

/* A command that still runs is waited for: it is not started twice. */
static void run_command(struct triggers *triggers, uint64_t now_ns)
{
	const char *const words[] = { "sh", "-c", triggers->options.command, NULL };

	if (!triggers->options.command || triggers->command_pid || now_ns < triggers->next_command_ns)
		return;
	triggers->next_command_ns = now_ns + triggers->options.command_ns;
	triggers->command_pid = spawn_program("/bin/sh", words);
	if (triggers->command_pid < 0)
		triggers->command_pid = 0;
}

int triggers_check(struct triggers *triggers, uint64_t now_ns, char text[TRIGGER_TEXT_BYTES], struct err *err)
{
	int r = 0;

	triggers->round++;
	run_command(triggers, now_ns);
	if (triggers->options.unread_ns)
		r = check_queues(triggers, now_ns, text, err);
	if (!r && triggers->options.blocked_ns)
		r = check_sleeps(triggers, now_ns, text, err);
	if (!r && triggers->windows)
		r = windows_check(triggers->windows, now_ns, triggers->options.window_ns, text, TRIGGER_TEXT_BYTES);
	return r;
}

int triggers_child(struct triggers *triggers, int pid, int status, char text[TRIGGER_TEXT_BYTES])
{
	bool says;

	if (pid != triggers->command_pid)
		return 0;
	triggers->command_pid = 0;
	says = WIFEXITED(status) && !WEXITSTATUS(status);
	if (says && !triggers->command_said)
		snprintf(text, TRIGGER_TEXT_BYTES, "the command says so: %s", triggers->options.command);
	else if (says)
		return 0;
	triggers->command_said = says;
	return says;
}

#endif
