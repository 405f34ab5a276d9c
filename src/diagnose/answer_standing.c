/* See answer_standing.h. */
#include "diagnose/answer_standing.h"

#include <inttypes.h>
#include <string.h>

#include "diagnose/answer.h"
#include "diagnose/ending.h"
#include "diagnose/kernel_place.h"
#include "diagnose/scene_build.h"
#include "diagnose/shared_word.h"
#include "diagnose/untaken.h"
#include "diagnose/walk.h"
#include "symbols/demangle.h"
#include "trace/names.h"

#define OTHERS_TOLD 3
#define PLACES_COMPARED 2 /* functions of the program that lead to a wait */

/* Number of the thread that held what the wait is for and has ended; 0 none known. */
static uint32_t gone_owner(const struct scene *scene, const struct wait *w)
{
	const struct scene_gathered *g = scene->gathered ? &scene->gathered[w->thread] : NULL;

	for (size_t i = g ? g->found.length : 0; i-- > 0; ) {
		const struct wait_found *f = &g->found.items[i];

		if (f->time >= w->start_ns && f->time <= w->end_ns && f->said.hint_kind == HINT_KIND_owner_gone)
			return f->said.hint;
	}
	return 0;
}

static void tell_other(const struct describer *d, uint32_t thread, uint64_t time_ns, struct buf *buf)
{
	const struct episode *e = scene_episode(d->scene, thread, time_ns);
	const struct wait *w = e && e->start_ns <= time_ns ? &d->scene->waits[e->last] : NULL;
	struct actor actor, place = { 0 };

	describe_thread(d, thread, time_ns, &actor);
	buf_text(buf, answer_who(d->arena, &actor));
	if (!w)
		return;
	describe_place(d, w->ustack, &place);
	buf_printf(buf, ", %s", describe_wait(d, w));
	answer_place(d->arena, buf, &place);
}

/* ---- who could end a wait of which nobody keeps who is to ---- */

struct other {
	uint32_t thread;
	const char *past;   /* function in which it is past the call that waits; NULL */
};

/* One function of both stacks, the innermost two of the program's own that lead to the wait: who
 * is past that call in it may have what is waited for. */
static const char *past_call_in(const struct describer *d, const struct wait *w, uint32_t ustack)
{
	const struct tables *tables = d->scene->tables;
	unsigned looked_at = 0;

	for (uint32_t mine = w->ustack; d->names && mine && mine < tables->frame_count && looked_at < PLACES_COMPARED; mine = tables->frames[mine].parent) {
		struct name here = *names_frame(d->names, mine);

		if (!here.function[0] || here.guessed || describe_is_plumbing(here.module) || describe_is_start(here.function))
			continue;
		looked_at++;
		for (uint32_t other = ustack; other && other < tables->frame_count; other = tables->frames[other].parent) {
			const struct name *there = names_frame(d->names, other);

			if (there->module_number == here.module_number && there->function_start == here.function_start &&
			    (here.script ? there->line > here.line : there->address > here.address))
				return arena_strdup(d->arena, there->function);
		}
	}
	return NULL;
}

static const struct wait *last_wait(const struct scene *scene, uint32_t thread, uint64_t time_ns)
{
	const struct episode *e = scene_episode(scene, thread, time_ns);

	return e && e->start_ns <= time_ns ? &scene->waits[e->last] : NULL;
}

/* Of its process, or, for a word that processes share, of a relative that runs the same program:
 * of a parent or child, and where there is none, of a sibling. */
static bool may_end(const struct scene *scene, const struct wait *w, uint32_t thread, bool siblings)
{
	const struct thread *t = &scene->tables->threads[thread], *waiter = &scene->tables->threads[w->thread];
	bool kin = t->parent_pid == waiter->pid || waiter->parent_pid == t->pid ||
		   (siblings && t->parent_pid && t->parent_pid == waiter->parent_pid);

	return scene_same_process(scene, thread, w->thread) || (wait_is_shared(w) && kin && t->exe[0] && !strcmp(t->exe, waiter->exe));
}

/* Those behind the call first; ret_fellows: who waits for the same. */
static size_t find_others(const struct describer *d, const struct diagnosis *g, const struct wait *w, bool siblings,
			  struct other *others, unsigned *ret_fellows)
{
	const struct tables *tables = d->scene->tables;
	size_t count = 0, behind = 0;

	*ret_fellows = 0;
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct wait *its;
		struct other other = { i };

		if (i == w->thread || tables->threads[i].end_ns < g->end_ns || !may_end(d->scene, w, i, siblings))
			continue;
		its = last_wait(d->scene, i, g->end_ns - 1);
		if (its && w->object && its->kind == w->kind && its->object == w->object) {
			(*ret_fellows)++;
			continue;
		}
		other.past = its ? past_call_in(d, w, its->ustack) : NULL;
		others[count++] = other;
		if (other.past) {
			others[count - 1] = others[behind];
			others[behind++] = other;
		}
	}
	return count;
}

static void tell_past(const struct describer *d, const struct diagnosis *g, uint32_t thread, const char *function, struct buf *buf)
{
	struct actor actor;

	if (!function)
		return;
	describe_thread(d, thread, g->end_ns - 1, &actor);
	buf_printf(buf, " In %s, %s is past the call in which this one waits: it may have what is waited for.", function, answer_who(d->arena, &actor));
}

/* All that have the memory mapped are known. */
static void tell_sharers(const struct describer *d, const struct diagnosis *g, const struct wait *w, const struct word_sharers *sharers,
			 struct buf *buf)
{
	const char *name = sharers->name[0] ? sharers->name : "it";

	if (!sharers->count) {
		buf_printf(buf, " No other process that could be looked into has that memory mapped%s%s", sharers->fellows ? " but who waits for the same" : "",
			   sharers->unnamed ? ", and no name leads to it: nobody who was found can end that." : name != sharers->name ? "." :
			   ": only one that opens it anew could end that.");
		return;
	}
	buf_printf(buf, " Only who has %s mapped can end that: ", name);
	for (uint32_t i = 0; i < sharers->count && i < OTHERS_TOLD; i++) {
		buf_text(buf, i ? "; " : "");
		tell_other(d, sharers->items[i].thread, g->end_ns - 1, buf);
	}
	if (sharers->more)
		buf_text(buf, "; and more");
	else if (sharers->count > OTHERS_TOLD)
		buf_printf(buf, "; and %u more", sharers->count - OTHERS_TOLD);
	buf_char(buf, '.');
	for (uint32_t i = 0; i < sharers->count; i++) {
		const struct wait *its = last_wait(d->scene, sharers->items[i].thread, g->end_ns - 1);

		tell_past(d, g, sharers->items[i].thread, its ? past_call_in(d, w, its->ustack) : NULL, buf);
	}
}

static void tell_fellows(unsigned fellows, struct buf *buf)
{
	if (fellows)
		buf_printf(buf, " %u more thread%s for the same.", fellows, fellows == 1 ? " waits" : "s wait");
}

/* Nobody keeps who is to signal a condition, or who has a lock without an owner: it can only be one of these. */
static void tell_others(const struct describer *d, const struct diagnosis *g, const struct wait *w, struct buf *buf)
{
	struct other *others = arena_array(d->arena, struct other, d->scene->tables->thread_count);
	bool shared = wait_is_shared(w);
	struct word_sharers sharers;
	unsigned fellows;
	size_t count;

	if (word_sharers_find(d->scene, d->ends, w, g->start_ns, g->end_ns, &sharers)) {
		tell_sharers(d, g, w, &sharers, buf);
		tell_fellows(sharers.fellows, buf);
		return;
	}
	count = find_others(d, g, w, false, others, &fellows);

	if (shared && !count)
		count = find_others(d, g, w, true, others, &fellows);
	if (shared)
		buf_printf(buf, " Any process that shares this memory can end that%s", count ? ", perhaps one of these: " : ".");
	else if (count)
		buf_text(buf, " Only another thread of its process can end that: ");
	for (size_t i = 0; i < count && i < OTHERS_TOLD; i++) {
		buf_text(buf, i ? "; " : "");
		tell_other(d, others[i].thread, g->end_ns - 1, buf);
	}
	if (count > OTHERS_TOLD)
		buf_printf(buf, "; and %zu more", count - OTHERS_TOLD);
	if (count)
		buf_char(buf, '.');
	for (size_t i = 0; i < count && i < OTHERS_TOLD && others[i].past; i++)
		tell_past(d, g, others[i].thread, others[i].past, buf);
	tell_fellows(fellows, buf);
}

/* Of a datagram socket that is not connected. */
static void tell_unconnected(const struct describer *d, const struct wait *w, struct buf *buf)
{
	uint64_t object = w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;

	if (!ends_is_connected_datagram(d->ends, object) && ends_asks_by_datagram(d->scene, d->ends, object))
		buf_text(buf, " To whom it sent is not known: its socket is not connected, and the kernel keeps no address then.");
}

/* The end of a FIFO that it is about to have, since the snapshot; NULL it is not known. */
static const struct descriptor *fifo_opened(const struct describer *d, const struct wait *w)
{
	struct row row = ends_of_process(d->ends, scene_pid(d->scene, w->thread));

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *end = ends_at(d->ends, row, i);

		if (end->at.kind == OBJECT_KIND_fifo && (int32_t)end->at.fd == -1 && end->time >= w->start_ns)
			return end;
	}
	return NULL;
}

/* One that was started by the same process, and opens another FIFO all the time: each may be to open what the other one does, next. */
static void tell_other_fifos(const struct describer *d, const struct diagnosis *g, const struct wait *w, const struct descriptor *own, struct buf *buf)
{
	const struct thread *threads = d->scene->tables->threads;
	unsigned told = 0;

	for (uint32_t i = 1; i < d->scene->thread_count && told < OTHERS_TOLD; i++) {
		const struct wait *its = threads[i].tid == threads[i].pid && threads[i].parent_pid && i != w->thread &&
					 threads[i].parent_pid == threads[w->thread].parent_pid && threads[i].end_ns >= g->end_ns
			? last_wait(d->scene, i, g->end_ns - 1) : NULL;
		const struct descriptor *end = its && its->kind == WAIT_KIND_open && its->end_ns >= g->end_ns ? fifo_opened(d, its) : NULL;
		struct actor actor;

		if (!end || end->at.object == own->at.object || its->start_ns > g->start_ns + (g->end_ns - g->start_ns) / 2)
			continue;
		describe_thread(d, i, g->end_ns - 1, &actor);
		buf_printf(buf, " %s, which the same process started, opens %s, which nobody has open for %s.", answer_who(d->arena, &actor), end->text,
			   end->at.access == 1 ? "writing" : "reading");
		told++;
	}
}

/* The other end nobody has. */
static void tell_fifo(const struct describer *d, const struct diagnosis *g, const struct wait *w, struct buf *buf)
{
	const struct descriptor *end = fifo_opened(d, w);

	if (!end)
		return;
	buf_printf(buf, " It opens %s, which nobody has open for %s.", end->text, end->at.access == 1 ? "writing" : "reading");
	tell_other_fifos(d, g, w, end, buf);
}

/* The client of the worker that most likely has it: the other end of the only connection that its process, or that thread, serves. */
static void tell_session(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct path_step *last = g->path_count > 1 ? &g->path[g->path_count - 1] : NULL;
	const struct wait *w = last && !strcmp(last->link, walk_link_words(LINK_SESSION)) ? last_wait(d->scene, last->actor.thread, g->end_ns - 1) : NULL;
	uint64_t own = !w ? 0 : w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll ? w->detail : 0, seen = 0;
	struct row row = w ? ends_of_process(d->ends, scene_pid(d->scene, w->thread)) : (struct row){ 0 };
	uint32_t client = 0;
	struct actor actor;

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *end = ends_at(d->ends, row, i);

		if (end->at.object == seen || ends_role(d->ends, end->at.object) != END_SERVER || (own && end->at.object != own))
			continue;
		if (seen)
			return;
		seen = end->at.object;
		client = suspects_neighbour(d->scene, d->ends, end, g->start_ns, g->end_ns);
	}
	if (!client)
		return;
	describe_thread(d, client, g->end_ns - 1, &actor);
	buf_printf(buf, " That session is one of %s.", answer_who(d->arena, &actor));
}

/* Who was told to end by one that waits for it, and has not begun to handle that. */
static void tell_untaken(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	for (size_t i = 0; i < g->path_count; i++)
		for (size_t k = 0; k <= g->path_count; k++) {
			const struct actor *told = k < g->path_count ? &g->path[k].actor : &g->culprit;
			const struct sent_signal *s = told->thread && g->path[i].actor.thread ?
				untaken_find(d->scene, g->path[i].actor.thread, scene_pid(d->scene, told->thread), g->end_ns) : NULL;

			if (!s)
				continue;
			if (answer_kept_signal(d, g, buf))
				return;
			buf_printf(buf, " %s was sent %s (event %" PRIu64 "), which none of its threads has begun to handle.", answer_who(d->arena, told),
				   signal_name(s->signal), s->number);
			return;
		}
	answer_kept_signal(d, g, buf);
}

/* Why that thread is named, and not the first one of its process. */
static void tell_made_to_end(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct sent_signal *told;
	struct actor by;

	if (ending_thread(d->scene, scene_pid(d->scene, g->victim.thread), &told) != g->victim.thread)
		return;
	buf_printf(buf, " %s was made to end its process, which ", answer_who(d->arena, &g->victim));
	if (told->sender) {
		describe_thread(d, told->sender, told->time, &by);
		buf_printf(buf, "%s had sent %s", answer_who(d->arena, &by), signal_name(told->signal));
	} else {
		buf_printf(buf, "had been sent %s", signal_name(told->signal));
	}
	buf_printf(buf, " (event %" PRIu64 ").", told->number);
}

/* The culprit's own, in another process than the victim's, of which nobody is known who is to end it. */
static bool is_of_others(const struct describer *d, const struct diagnosis *g, const struct wait *w)
{
	return w->end == WAIT_END_OPEN && w->thread == g->culprit.thread && !w->hint && !wait_is_shared(w) && !w->timeout_ns &&
	       !scene_same_process(d->scene, w->thread, g->victim.thread) && !g->circle_count;
}

void answer_standing_text(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	const struct wait *w = g->last_wait ? &d->scene->waits[g->last_wait] : NULL;
	enum kernel_place at = w ? kernel_place_of_wait(d->names, d->scene->tables, w) : KERNEL_PLACE_UNKNOWN;
	uint32_t gone = w && w->hint_kind == HINT_KIND_owner_gone ? gone_owner(d->scene, w) : 0;

	if (gone)
		buf_printf(buf, " Who held that last, %s %" PRIu32 ", has ended without giving it back.",
			   w->kind == WAIT_KIND_semaphore ? "process" : "thread", gone);
	/* who opens a file is told to wait for that in other words */
	if (at != KERNEL_PLACE_UNKNOWN && at != KERNEL_PLACE_FROZEN && at != KERNEL_PLACE_MEMORY &&
	    !(w->kind == WAIT_KIND_open && (at == KERNEL_PLACE_FIFO || at == KERNEL_PLACE_LEASE)))
		buf_printf(buf, " In the kernel it waits %s.", kernel_place_words(at));
	if (w && !gone && (g->culprit.kind == ACTOR_UNKNOWN || is_of_others(d, g, w)) &&
	    (w->kind == WAIT_KIND_futex || object_kind(w->object) == OBJECT_KIND_userfaultfd) && w->end != WAIT_END_THREAD)
		tell_others(d, g, w, buf);
	if (w && g->culprit.kind == ACTOR_UNKNOWN && at == KERNEL_PLACE_FIFO && w->kind == WAIT_KIND_open)
		tell_fifo(d, g, w, buf);
	if (w && g->culprit.kind == ACTOR_UNKNOWN && w->end == WAIT_END_OPEN)
		tell_unconnected(d, w, buf);
	tell_session(d, g, buf);
	tell_made_to_end(d, g, buf);
	tell_untaken(d, g, buf);
	answer_kept_descriptors(d, g, buf);
	answer_looks_text(d, g->culprit.thread != g->victim.thread ? answer_who(d->arena, &g->victim) : NULL, g->victim.thread, g->start_ns, g->end_ns, buf);
}
