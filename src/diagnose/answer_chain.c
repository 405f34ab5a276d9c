/* The chain and the path of an answer, see answer.h. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "diagnose/answer.h"
#include "diagnose/busy.h"
#include "diagnose/judgement.h"
#include "diagnose/loops.h"
#include "symbols/demangle.h"

#define MANY_LINKS 24      /* of more, short ones are not shown */
/* A stay this short, between two of the same thread, says nothing by itself. */
#define FLICKER_NS 20000000ull

static bool same(const struct piece *a, const struct piece *b)
{
	return a->thread == b->thread && a->state == b->state && a->charge == b->charge &&
	       (a->wait == b->wait || a->state == SPAN_RUNNING);
}

/* Pieces of one thread as one, and how long it was in each state. */
struct stay {
	struct piece whole;
	uint64_t state_ns[SPAN_ABSENT + 1];
};

struct stays vec(struct stay);

/* The pieces without the flicker: a thread that runs and is preempted in turns,
 * or looks at a flag between two sleeps, is one piece in its usual state. No
 * piece of another thread is ever swallowed. */
static void smooth(const struct scene *scene, const struct pieces *pieces, struct stays *out)
{
	size_t at = 0;

	while (at < pieces->length) {
		uint64_t state_ns[SPAN_ABSENT + 1] = { 0 };
		struct piece whole = pieces->items[at];
		size_t end = at;
		uint64_t longest = 0;

		/* A run of pieces of one thread whose every member but the usual state is short. */
		while (end < pieces->length && pieces->items[end].thread == pieces->items[at].thread) {
			const struct piece *p = &pieces->items[end];
			uint64_t ns = p->end_ns - p->start_ns;
			bool alike = same(p, &pieces->items[at]) ||
				     (scene->waits[p->wait].site == scene->waits[pieces->items[at].wait].site &&
				      p->state == pieces->items[at].state && p->charge == pieces->items[at].charge);

			if (end > at && !alike && ns > FLICKER_NS)
				break;
			state_ns[p->state] += ns;
			if (ns > longest) {
				longest = ns;
				whole.state = p->state;
				whole.charge = p->charge;
				whole.wait = p->wait;
				whole.step = p->step;
				whole.throttled = p->throttled;
			}
			whole.end_ns = p->end_ns;
			end++;
		}
		for (uint8_t i = 0; i <= SPAN_ABSENT; i++)
			if (state_ns[i] > state_ns[whole.state] && i != SPAN_WAITING)
				whole.state = i;
		vec_push(out, ((struct stay){ .whole = whole }));
		memcpy(out->items[out->length - 1].state_ns, state_ns, sizeof(state_ns));
		at = end;
	}
}

static const char *why(const struct describer *d, const struct walk_steps *steps, uint32_t step)
{
	const struct walk_step *s = &steps->items[step];

	if (!step)
		return "";
	return arena_printf(d->arena, "%s", walk_link_words(s->link));
}

static void link_evidence(const struct describer *d, const struct piece *p, const struct walk_steps *steps,
			  const struct busy *busy, struct chain_link *link)
{
	const struct wait *w = &d->scene->waits[p->wait];
	uint64_t *evidence = arena_array(d->arena, uint64_t, 6);
	unsigned count = 0;

	if (p->step < steps->length && steps->items[p->step].evidence)
		evidence[count++] = steps->items[p->step].evidence;
	if (p->wait && w->begin_event)
		evidence[count++] = w->begin_event;
	if (p->wait && w->end_event && w->end_event != evidence[0])
		evidence[count++] = w->end_event;
	if (busy->first_event)
		evidence[count++] = busy->first_event;
	if (busy->last_event != busy->first_event)
		evidence[count++] = busy->last_event;
	link->evidence = evidence;
}

/* The kernel's first own function of an interrupt: what it calls is not what the
 * thread was doing. */
static bool begins_interrupt(const char *function)
{
	return !strcmp(function, "asm_common_interrupt") || !strncmp(function, "asm_sysvec_", 11) || !strcmp(function, "asm_exc_nmi") ||
	       !strcmp(function, "el0t_64_irq") || !strcmp(function, "el1h_64_irq");
}

/* The heaviest path, innermost first. */
static const char *const *busy_frames(const struct describer *d, const struct busy *busy)
{
	const char **frames = arena_array(d->arena, const char *, DIAGNOSIS_MAX_FRAMES + 1);
	unsigned count = 0, depth = 0;

	while (depth < busy->depth && !begins_interrupt(busy->path[depth].function))
		depth++;
	if (!depth)
		depth = busy->depth;
	for (unsigned i = depth; i-- > 0 && count < DIAGNOSIS_MAX_FRAMES; ) {
		const struct busy_frame *f = &busy->path[i];

		frames[count++] = f->function[0] && f->module[0] ? arena_printf(d->arena, "%s (%s)", f->text, f->module)
								 : arena_strdup(d->arena, f->text);
	}
	return frames;
}

/* The place where a short run ended in a wait, for want of samples in it. */
static uint32_t stack_at_end(const struct scene *scene, const struct piece *p)
{
	const struct episode *e = scene_episode(scene, p->thread, p->end_ns);

	if (!e || e->start_ns > p->end_ns + 1000000)
		return 0;
	return scene->waits[e->last].ustack ? scene->waits[e->last].ustack : scene->waits[e->first].ustack;
}

/* Stacks are named only where they tell something: a named stack costs a symbol
 * table, and a chain may have hundreds of short links. */
static bool worth_frames(const struct piece *p, const struct diagnosis *diagnosis, size_t count)
{
	return count < 64 || (p->end_ns - p->start_ns) * 100 > diagnosis->end_ns - diagnosis->start_ns;
}

/* Few links of a chain can be so long that what they did is worth more than a look
 * at their samples. */
static bool is_big(const struct piece *p, const struct diagnosis *diagnosis)
{
	return (p->end_ns - p->start_ns) * 8 > diagnosis->end_ns - diagnosis->start_ns;
}

/* Shorter ones are told as what they mostly were. */
static bool is_told(const struct piece *p)
{
	return p->end_ns - p->start_ns > FLICKER_NS && (p->state == SPAN_RUNNING || p->state == SPAN_RUNNABLE);
}

/* Of a mixture each state that is a part of it, the longest first: no one of them went on for all that time. */
static const char *mixture(const struct describer *d, const struct stay *stay)
{
	uint64_t left[SPAN_ABSENT + 1], length = stay->whole.end_ns - stay->whole.start_ns;
	const char *words = NULL;

	memcpy(left, stay->state_ns, sizeof(left));
	for (unsigned i = 0; i <= SPAN_ABSENT; i++)
		if (nearly_all(d->scene, left[i], length))
			return NULL;
	for (;;) {
		uint8_t most = 0;

		for (uint8_t i = 1; i <= SPAN_ABSENT; i++)
			if (left[i] > left[most])
				most = i;
		if (nearly_none(d->scene, left[most], length))
			return words;
		words = arena_printf(d->arena, "%s%s%s for %s", words ? words : "", words ? ", " : "", span_state_name(most),
				     describe_time(d->arena, left[most]));
		left[most] = 0;
	}
}

void answer_chain(const struct describer *d, const struct pieces *pieces, const struct walk_steps *steps,
		  struct diagnosis *diagnosis)
{
	struct stays smoothed = { 0 };
	struct chain_link *links;

	smooth(d->scene, pieces, &smoothed);
	links = arena_array(d->arena, struct chain_link, smoothed.length);
	for (size_t i = 0; i < smoothed.length; i++) {
		const struct piece *p = &smoothed.items[i].whole;
		const struct wait *w = &d->scene->waits[p->wait];
		struct chain_link *link = &links[i];
		const char *mixed;
		struct busy busy = { 0 };

		describe_thread(d, p->thread, p->start_ns + (p->end_ns - p->start_ns) / 2, &link->actor);
		link->start_ns = p->start_ns;
		link->end_ns = p->end_ns;
		link->state = p->throttled ? "throttled" : span_state_name(p->state);
		mixed = !p->throttled && p->charge == CHARGE_THREAD && is_told(p) ? mixture(d, &smoothed.items[i]) : NULL;
		if (mixed)
			link->state = mixed;
		link->why = why(d, steps, p->step < steps->length ? p->step : 0);
		link->frames = arena_array(d->arena, const char *, 1);
		if (p->charge == CHARGE_SOURCE) {
			link->actor.kind = w->cause == WAKE_CAUSE_unknown ? ACTOR_UNKNOWN : ACTOR_DEVICE;
			link->actor.object = describe_packet(d, w, p->sender);
		} else if (p->wait && (p->state == SPAN_WAITING || p->state == SPAN_STOPPED)) {
			link->actor.object = describe_object(d, w->object);
			link->state = p->state == SPAN_STOPPED ? describe_stop(w) : describe_wait(d, w);
		}
		if (d->names && worth_frames(p, diagnosis, smoothed.length)) {
			if (p->state == SPAN_RUNNING || p->state == SPAN_RUNNABLE) {
				if (d->busies)
					busy_find(d->arena, d->busies, p->thread, p->start_ns, p->end_ns,
						  is_big(p, diagnosis) ? BUSY_LINK : BUSY_SAMPLES, &busy);
				link->frames = busy.depth ? busy_frames(d, &busy)
							  : describe_stack(d, stack_at_end(d->scene, p), 0);
			} else if (p->wait) {
				link->frames = describe_stack(d, w->ustack, w->kstack);
			}
		}
		link->script = describe_script(d, link->frames);
		link_evidence(d, p, steps, &busy, link);
	}
	diagnosis->chain = links;
	diagnosis->chain_count = smoothed.length;
	vec_done(&smoothed);
}

bool answer_link_shown(const struct diagnosis *diagnosis, const struct chain_link *link)
{
	return diagnosis->chain_count <= MANY_LINKS || (link->end_ns - link->start_ns) * 200 >= diagnosis->end_ns - diagnosis->start_ns;
}

/* Time charged to the step or to steps below it. */
static uint64_t step_ns(const struct pieces *pieces, const struct walk_steps *steps, uint32_t step)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < pieces->length; i++) {
		uint32_t at = pieces->items[i].step;

		while (at != step && at)
			at = steps->items[at].parent;
		if (at == step)
			ns += pieces->items[i].end_ns - pieces->items[i].start_ns;
	}
	return ns;
}

/* The middle of the longest piece that is charged to the step or through it. */
static uint64_t longest_below(const struct pieces *pieces, const struct walk_steps *steps, uint32_t step)
{
	uint64_t longest = 0, middle_ns = 0;

	for (size_t i = 0; i < pieces->length; i++) {
		const struct piece *p = &pieces->items[i];
		uint32_t at = p->step;

		while (at != step && at)
			at = steps->items[at].parent;
		if (at == step && p->end_ns - p->start_ns > longest) {
			longest = p->end_ns - p->start_ns;
			middle_ns = p->start_ns + longest / 2;
		}
	}
	return middle_ns;
}

/* What it waits on, and in which function: how often until `to_ns`, which may go on over
 * the next episodes at the same place. */
static const char *wait_words(const struct describer *d, const struct episode *episode, uint64_t to_ns)
{
	const struct scene_thread *t = &d->scene->threads[episode->thread];
	const struct episode *last = episode, *end = d->scene->episodes + t->episode + t->episode_count;
	const struct wait *wait = &d->scene->waits[episode->last];
	const char *words = describe_wait(d, wait);
	uint32_t times = loop_times(d->scene, episode);
	struct actor place = { 0 };

	describe_place(d, wait->ustack, &place);
	while (times > 2 && last + 1 < end && last->end_ns < to_ns && d->scene->waits[last[1].last].site == wait->site)
		times += loop_times(d->scene, ++last);
	/* in a call that goes on the kernel looked, not the program */
	if (times > 2 && !wait_is_in_kernel(wait))
		words = arena_printf(d->arena, "%s again and again, %u times, every %s", words, times,
				     describe_time(d->arena, (last->end_ns - episode->start_ns) / times));
	return place.function ? arena_printf(d->arena, "%s, in %s", words, demangle_brief(d->arena, place.function)) : words;
}

/* The same of what is charged to the step itself: from its first piece at the place of the longest to its last. */
static const char *own_wait_words(const struct describer *d, const struct pieces *pieces, uint32_t step, const struct piece *longest)
{
	const struct wait *waits = d->scene->waits;
	const struct piece *first = longest, *last = longest;

	for (const struct piece *p = pieces->items; p < pieces->items + pieces->length; p++) {
		if (p->step != step || !p->wait || p->thread != longest->thread || waits[p->wait].site != waits[longest->wait].site)
			continue;
		first = p < first ? p : first;
		last = p > last ? p : last;
	}
	return wait_words(d, &d->scene->episodes[waits[first->wait].episode], last->end_ns);
}

/* What one that serves many waits on between them. */
static const char *served_words(const struct describer *d, const struct episode *episode)
{
	const struct wait *wait = &d->scene->waits[episode->last];
	struct actor place = { 0 };

	describe_place(d, wait->ustack, &place);
	return arena_printf(d->arena, "%s%s%s, with other work in between", describe_wait(d, wait), place.function ? ", in " : "",
			    place.function ? demangle_brief(d->arena, place.function) : "");
}

/* On a busy machine a computing thread stands in the queue for most of the time. */
static bool computed(const struct state_times *times)
{
	return times->ns[SPAN_RUNNING] * 12 > times->ns[SPAN_RUNNABLE];
}

static const char *computing_words(const struct describer *d, const struct state_times *times)
{
	if (times->ns[SPAN_RUNNABLE] * 10 < times->ns[SPAN_RUNNING])
		return "computing";
	return arena_printf(d->arena, "computing (it ran %s and waited for a processor %s)",
			    describe_time(d->arena, times->ns[SPAN_RUNNING]), describe_time(d->arena, times->ns[SPAN_RUNNABLE]));
}

static const char *spinning_words(const struct describer *d, uint32_t thread, const struct diagnosis *g)
{
	struct actor place = { .thread = thread };

	describe_busy(d, g->start_ns, g->end_ns, &place);
	return place.function ? arena_printf(d->arena, "spinning in %s, looking again and again",
					     demangle_brief(d->arena, place.function))
			      : "spinning, looking again and again";
}

/* What leads from one that spins, without a wait, to whom it spins for. */
static bool is_looked_for(uint8_t link)
{
	return link == LINK_FLAG || link == LINK_WROTE || link == LINK_SIMILAR || link == LINK_SIGNALLED || link == LINK_AWAITED ||
	       link == LINK_TO_COME || link == LINK_CAME_LAST || link == LINK_ASKED;
}

/* What the thread of a step did for most of its share: it waited, when a step
 * below it says for whom, else what its own pieces say. */
static const char *step_words(const struct describer *d, const struct pieces *pieces, const struct walk_steps *steps,
			      uint32_t step, uint32_t below, const struct diagnosis *diagnosis)
{
	const struct episode *below_episode = &d->scene->episodes[below && steps->items[below].episode ? steps->items[below].episode - 1 : 0];
	const struct piece *best = NULL;
	struct state_times times = { 0 };

	if (below && steps->items[below].served)
		return served_words(d, &d->scene->episodes[steps->items[below].episode - 1]);
	if (below && steps->items[below].episode)
		return wait_words(d, below_episode, below_episode->start_ns + step_ns(pieces, steps, below));
	if (below && !step && diagnosis->looks)
		return "looking again and again";
	if (below && is_looked_for(steps->items[below].link))
		return spinning_words(d, steps->items[step].thread, diagnosis);
	if (below)
		return steps->items[below].link == LINK_CREATOR ? "not born yet" : "passing it on";
	for (size_t i = 0; i < pieces->length; i++) {
		const struct piece *p = &pieces->items[i];

		if (p->step != step)
			continue;
		times.ns[p->state] += p->end_ns - p->start_ns;
	}
	/* many short sleeps say more than one long turn in the queue */
	for (size_t i = 0; i < pieces->length; i++) {
		const struct piece *p = &pieces->items[i];

		if (p->step == step && (p->state == SPAN_WAITING || times.ns[p->state] > times.ns[SPAN_WAITING]) &&
		    (!best || p->end_ns - p->start_ns > best->end_ns - best->start_ns))
			best = p;
	}
	if (!best)
		return "";
	if (best->throttled)
		return "runnable, but throttled: its group's processor quota is used up";
	if (best->state == SPAN_WAITING && best->wait)
		return own_wait_words(d, pieces, step, best);
	if (best->state == SPAN_STOPPED)
		return describe_stop(&d->scene->waits[best->wait]);
	if (best->state == SPAN_RUNNING || (best->state == SPAN_RUNNABLE && computed(&times)))
		return computing_words(d, &times);
	return best->state == SPAN_RUNNABLE ? "runnable, without a processor" : span_state_name(best->state);
}

/* Where the way to a step comes by its thread already, who was met in between explains nothing. */
static uint32_t met_first(const struct walk_steps *steps, uint32_t step)
{
	uint32_t first = step;

	for (uint32_t at = step; at; at = steps->items[at].parent)
		if (steps->items[at].thread == steps->items[step].thread)
			first = at;
	return first;
}

void answer_path(const struct describer *d, const struct pieces *pieces, const struct walk_steps *steps, uint32_t step,
		 struct diagnosis *diagnosis)
{
	uint32_t way[128];
	unsigned count = 0;
	struct path_step *path;

	if (!diagnosis->circle_count)
		step = met_first(steps, step);
	way[count++] = step;
	while (step && count < 127) {
		step = steps->items[step].parent;
		way[count++] = step;
	}
	path = arena_array(d->arena, struct path_step, count);
	for (unsigned i = 0; i < count; i++) {
		const struct walk_step *s = &steps->items[way[count - 1 - i]];
		uint32_t below = i + 1 < count ? way[count - 2 - i] : 0;

		/* Programs change: they are called as they were while most of that went by. */
		describe_thread(d, s->thread, longest_below(pieces, steps, way[count - 1 - i]), &path[i].actor);
		path[i].words = step_words(d, pieces, steps, way[count - 1 - i], below, diagnosis);
		path[i].link = walk_link_words(s->link);
		path[i].ns = step_ns(pieces, steps, way[count - 1 - i]);
		path[i].event = s->evidence;
		path[i].confidence = s->confidence;
		answer_callbacks(d, s->thread, longest_below(pieces, steps, way[count - 1 - i]), &path[i]);
	}
	diagnosis->path = path;
	diagnosis->path_count = count;
}
