/* What set a thread off, see trigger.h. */
#include "diagnose/trigger.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "diagnose/broken_off.h"
#include "diagnose/similar.h"

#define CHANGE_BEFORE_NS 8000000000ull
#define MESSAGE_BEFORE_NS 100000000ull
#define LONG_WAIT_NS 1000000ull
#define FREEZE_NS 100000000ull   /* from the wake-up by the freezer to where the thread is frozen */
#define FROZE_IT 85              /* per cent */

struct search {
	const struct describer *d;
	const struct scene *scene;
	uint32_t thread;
	uint64_t turn_ns;         /* when the busy turn began */
	uint64_t busy_ns;
	struct deed *deeds;
	unsigned count;
};

static void add(struct search *s, uint32_t thread, uint64_t time, uint64_t event, uint8_t confidence, const char *words)
{
	struct deed deed = { .time = time, .event = event, .words = words, .confidence = confidence };
	unsigned at;

	if (!thread || thread == s->thread || scene_is_system(s->scene, thread))
		return;
	for (unsigned i = 0; i < s->count; i++)
		if (s->deeds[i].actor.thread == thread)
			return;
	describe_thread(s->d, thread, time, &deed.actor);
	for (at = 0; at < s->count && s->deeds[at].confidence >= confidence; )
		at++;
	if (at == TRIGGER_MAX)
		return;
	if (s->count < TRIGGER_MAX)
		s->count++;
	for (unsigned i = s->count - 1; i > at; i--)
		s->deeds[i] = s->deeds[i - 1];
	s->deeds[at] = deed;
}

/* The thread's last wait of some length before it was busy. */
static const struct episode *turn_begin(const struct scene *scene, uint32_t thread, uint64_t busy_ns)
{
	const struct scene_thread *t = &scene->threads[thread];
	const struct episode *found = NULL;

	for (uint32_t i = 0; i < t->episode_count; i++) {
		const struct episode *e = &scene->episodes[t->episode + i];

		if (e->end_ns > busy_ns)
			break;
		if (e->end_ns - e->start_ns >= LONG_WAIT_NS || !found)
			found = e;
	}
	return found;
}

static bool watches_files(const struct search *s, uint32_t pid)
{
	struct row row = ends_of_process(s->d->ends, pid);

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(s->d->ends, row, i)->at.kind == OBJECT_KIND_inotify)
			return true;
	return false;
}

/* Who woke the thread from within a call on a file; the trace is read once for all its
 * waits in that time. */
static void ask_file_wakes(struct search *s, uint64_t from)
{
	const struct scene *scene = s->scene;
	uint32_t at = scene->threads[s->thread].wait, end = scene_waits_end(scene, s->thread), last = end;
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;

	while (at < end && scene->waits[at].end_ns < from)
		at++;
	while (last > at && scene->waits[last - 1].end_ns > s->busy_ns)
		last--;
	while (at < last && !scene->waits[at].end_event)
		at++;
	if (at == last || !scene->trace)
		return;
	trace_filter_add(&filter, EVENT_wake);
	cursor = trace_cursor_new(scene->trace, &filter);
	trace_cursor_seek(cursor, scene->waits[at].end_event);
	for (const struct event *e; at < last && (e = trace_cursor_next(cursor)); ) {
		const struct wait *w;

		while (at < last && scene->waits[at].end_event < e->number)
			at++;
		w = &scene->waits[at];
		if (at < last && w->end_event == e->number && w->end == WAIT_END_THREAD &&
		    object_kind(event_as(e, wake)->object) == OBJECT_KIND_file)
			add(s, w->waker, w->end_ns, w->end_event, 78, "wrote to a file it watches");
	}
	trace_cursor_free(cursor);
}

/* Who wrote a watched file shortly before: the wake-up of the watcher comes from
 * the writer's own call, the work often from a timer that the watcher sets. */
static void ask_changes(struct search *s)
{
	const struct scene *scene = s->scene;
	uint64_t from = s->turn_ns > CHANGE_BEFORE_NS ? s->turn_ns - CHANGE_BEFORE_NS : 0;
	uint32_t pid = scene_pid(scene, s->thread);

	for (uint32_t i = scene->change_count; i-- > 0; ) {
		const struct file_change *c = &scene->changes[i];
		struct row row;

		if (c->time < from)
			break;
		if (c->time > s->busy_ns)
			continue;
		row = ends_of_object(s->d->ends, c->watcher);
		for (uint32_t j = 0; j < row.count; j++)
			if (ends_at(s->d->ends, row, j)->pid == pid) {
				add(s, c->thread, c->time, c->number, 80, "changed a file it watches");
				break;
			}
	}
	if (watches_files(s, pid))
		ask_file_wakes(s, from);
}

static void ask_messages(struct search *s)
{
	const struct scene *scene = s->scene;
	const struct scene_thread *t = &scene->threads[s->thread];
	uint64_t from = s->turn_ns > MESSAGE_BEFORE_NS ? s->turn_ns - MESSAGE_BEFORE_NS : 0;

	for (uint32_t i = scene_messages_from(scene, s->thread, from); i < t->messages.count; i++) {
		const struct message m = scene_message(scene, t->messages.items[i]);
		const struct row *row;
		struct message sent = { 0 };

		if (m.time > s->busy_ns)
			break;
		if (!(m.flags & MESSAGE_FLAGS_receive) || m.result <= 0)
			continue;
		row = scene_channel(scene, m.channel);
		for (uint32_t j = row ? scene_channel_from(scene, row, m.time) : 0, n = 0; j-- > 0 && !sent.number && n < 4096; n++) {
			const struct message other = scene_message(scene, row->items[j]);

			if (!(other.flags & MESSAGE_FLAGS_receive) && other.result > 0)
				sent = other;
		}
		if (sent.number)
			add(s, sent.thread, sent.time, sent.number,
			    m.kind == MESSAGE_KIND_eventfd || m.kind == MESSAGE_KIND_pipe || m.kind == MESSAGE_KIND_packet ? 50 : 75,
			    "sent it the message that it read before");
		else if (m.peer)
			add(s, tables_process(scene->tables, m.peer, m.time), m.time, m.number, 60,
			    "is at the other end of the connection it read before");
	}
}

static void ask_wakes(struct search *s, const struct episode *turn)
{
	struct path_node path[FOLLOW_MAX_BACK];
	unsigned count = follow_back(s->scene, turn, path);

	for (unsigned i = 0; i < count && i < 4; i++)
		add(s, path[i].thread, path[i].time, path[i].evidence, (uint8_t)(70 - 5 * i),
		    i ? "set off the one that woke it" : "woke it");
}

unsigned trigger_find(const struct describer *d, uint32_t thread, uint64_t busy_ns, struct deed deeds[TRIGGER_MAX])
{
	struct search s = { .d = d, .scene = d->scene, .thread = thread, .busy_ns = busy_ns, .deeds = deeds };
	const struct episode *turn = turn_begin(d->scene, thread, busy_ns);

	s.turn_ns = turn ? turn->end_ns : d->scene->tables->threads[thread].start_ns;
	ask_changes(&s);
	ask_messages(&s);
	if (turn)
		ask_wakes(&s, turn);
	if (!s.count && d->scene->tables->threads[thread].start_ns)
		add(&s, d->scene->tables->threads[thread].creator, d->scene->tables->threads[thread].start_ns,
		    d->scene->threads[thread].fork_event, 40, "started it");
	return s.count;
}

/* The group of that path, or one below it, is among those of the process. */
static bool is_in_group(struct arena *arena, const char *cgroups, const char *path)
{
	const char *at = path[0] ? strstr(cgroups, arena_printf(arena, "0::%s", path)) : NULL;

	return at && strchr(" /", at[strlen("0::") + strlen(path)]);
}

/* Without an event of it, as groups of the old kind freeze: who woke the thread, from within a write, only for it
 * to be frozen at once. */
static bool trigger_frozen_by(const struct describer *d, const struct wait *frozen, struct deed *ret_deed)
{
	const struct scene *scene = d->scene;
	const struct wait *before = frozen - 1;
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;
	const struct event *e;

	if (before < &scene->waits[scene->threads[frozen->thread].wait] || before->end != WAIT_END_THREAD || !before->end_event ||
	    frozen->start_ns - before->end_ns > FREEZE_NS)
		return false;
	trace_filter_add(&filter, EVENT_wake);
	cursor = trace_cursor_new(scene->trace, &filter);
	trace_cursor_seek(cursor, before->end_event);
	e = trace_cursor_next(cursor);
	if (e && e->number == before->end_event && event_as(e, wake)->syscall == SYS_write) {
		ret_deed->time = e->time;
		ret_deed->event = e->number;
		ret_deed->confidence = FROZE_IT;
		describe_thread(d, before->waker, e->time, &ret_deed->actor);
	}
	trace_cursor_free(cursor);
	return ret_deed->event != 0;
}

/* Who froze, as the last before then, a control group that the thread is in. */
static bool trigger_freeze(const struct describer *d, const struct wait *frozen, uint64_t time, struct deed *ret_deed)
{
	uint32_t thread = frozen->thread;
	const struct tables *tables = d->scene->tables;
	struct trace_filter filter = { 0 };
	struct trace_cursor *cursor;

	if (!d->scene->trace)
		return false;
	*ret_deed = (struct deed){ .confidence = 95, .words = "froze its control group" };
	trace_filter_add(&filter, EVENT_freeze);
	cursor = trace_cursor_new(d->scene->trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)) && e->time <= time; ) {
		if (event_as(e, freeze)->frozen && is_in_group(d->arena, tables->threads[thread].cgroups, arena_strndup(d->arena, e->tail, e->tail_length))) {
			ret_deed->time = e->time;
			ret_deed->event = e->number;
			describe_thread(d, tables_thread(tables, e->tid, e->time), e->time, &ret_deed->actor);
		}
	}
	trace_cursor_free(cursor);
	return ret_deed->event ? ret_deed->actor.thread != 0 : trigger_frozen_by(d, frozen, ret_deed);
}

/* The last that it was stopped by before then, where that was the freezer; NULL it was not. */
static const struct wait *was_frozen(const struct scene *scene, uint32_t thread, uint64_t time)
{
	for (uint32_t i = scene_waits_from(scene, thread, time); i-- > scene->threads[thread].wait; )
		if (scene->waits[i].kind == WAIT_KIND_stop)
			return scene->waits[i].state == TASK_STATE_frozen ? &scene->waits[i] : NULL;
	return NULL;
}

bool trigger_stop(const struct describer *d, uint32_t thread, uint64_t time, struct deed *ret_deed)
{
	const struct scene *scene = d->scene;

	const struct wait *frozen = was_frozen(scene, thread, time);

	if (frozen)
		return trigger_freeze(d, frozen, time, ret_deed);
	for (uint32_t i = scene->signal_count; i-- > 0; ) {
		const struct sent_signal *stop = &scene->signals[i];

		if (stop->time > time || stop->signal < SIGSTOP || stop->signal > SIGTTOU || scene_pid(scene, stop->target) != scene_pid(scene, thread))
			continue;
		*ret_deed = (struct deed){ .time = stop->time, .event = stop->number, .confidence = 95,
					   .words = "stopped it by a signal" };
		describe_thread(d, stop->sender, stop->time, &ret_deed->actor);
		/* the terminal's signal is sent by whoever reads from it, which the answer says otherwise */
		return stop->sender != 0 && stop->signal != SIGTTIN && stop->signal != SIGTTOU;
	}
	return false;
}

bool trigger_kill(const struct describer *d, uint32_t thread, struct deed *ret_deed)
{
	const struct scene *scene = d->scene;

	for (uint32_t i = scene->signal_count; i-- > 0; ) {
		const struct sent_signal *kill = &scene->signals[i];

		if (kill->time > scene->tables->threads[thread].end_ns || !kill->sender || !broken_off_ends_programs(kill->signal) ||
		    scene_pid(scene, kill->target) != scene_pid(scene, thread))
			continue;
		*ret_deed = (struct deed){ .time = kill->time, .event = kill->number, .confidence = 95, .words = "killed it by a signal" };
		describe_thread(d, kill->sender, kill->time, &ret_deed->actor);
		return true;
	}
	return false;
}
