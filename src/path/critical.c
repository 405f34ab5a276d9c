/* The critical path of one thread, see critical.h. */
#include "path/critical.h"

#include <string.h>

#include "diagnose/judgement.h"
#include "diagnose/loops.h"
#include "diagnose/suspects.h"
#include "diagnose/walk.h"
#include "path/cpu_runs.h"

#define SUSPECTED_LEAST_NS 20000000ull /* of waits that nobody is seen to end: for shorter ones nobody is looked for */
#define SUSPECTED_SHARE 100u           /* ... nor for those shorter than this part of the path */
#define SAMPLE_FRAMES 128

/* ---- from part to part ---- */

static int by_tid(const void *a, const void *b)
{
	const struct standing_end *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The wait, which is the thread's last one that is known, ends as the part behind tells. */
static void apply_to(const struct scene *scene, const struct standing_ends *ends, struct wait *w)
{
	const struct standing_end key = { .tid = scene_tid(scene, w->thread) }, *end;

	if (w->end != WAIT_END_OPEN || !ends->length || scene->tables->threads[w->thread].end_ns < scene->end_ns)
		return;
	end = bsearch(&key, ends->items, ends->length, sizeof(key), by_tid);
	if (!end)
		return;
	w->end = end->end;
	w->cause = end->cause;
	w->confidence = end->confidence;
	w->end_event = end->end_event;
	w->waker = end->waker_tid ? tables_thread(scene->tables, end->waker_tid, scene->end_ns) : 0;
	if (w->end == WAIT_END_THREAD && !w->waker)
		w->end = WAIT_END_UNKNOWN;
}

static void apply_laid(void *data, struct scene *scene, uint32_t thread)
{
	const struct scene_thread *t = &scene->threads[thread];

	if (thread && t->wait_count)
		apply_to(scene, data, &scene->waits[t->wait + t->wait_count - 1]);
}

void critical_apply(struct scene *scene, struct standing_ends *ends)
{
	scene_on_laid(scene, apply_laid, ends);
}

/* The thread itself when it lived before the moment, else the one that made it. */
static uint32_t alive_before(const struct scene *scene, uint32_t thread, uint64_t time)
{
	for (unsigned i = 0; thread && scene->tables->threads[thread].start_ns >= time && i < 64; i++)
		thread = scene->tables->threads[thread].creator;
	return thread;
}

void critical_carry(const struct scene *scene, uint64_t from_ns, const struct standing_ends *ends, struct standing_ends *ret_before)
{
	struct standing_ends before = { 0 };

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		struct wait w;
		uint32_t waker;

		if (!scene_wait_at(scene, i, from_ns, &w))
			continue;
		apply_to(scene, ends, &w);
		waker = alive_before(scene, w.waker, from_ns);
		vec_push(&before, ((struct standing_end){ .end_event = w.end_event, .tid = scene_tid(scene, i),
			.waker_tid = waker ? scene_tid(scene, waker) : 0, .end = w.end, .cause = w.cause, .confidence = w.confidence }));
	}
	if (before.length)
		qsort(before.items, before.length, sizeof(*before.items), by_tid);
	*ret_before = before;
}

/* ---- the walk ---- */

struct asked {
	const struct holds *holds;
	struct inquiry inquiry;
	struct suspects suspects;
	struct arena arena;
	struct map answers;        /* episode -> index into hops + 1, 0 nobody */
	struct vec(struct suspect) kept;
	uint64_t least_ns;
};

/* Who had ended before did nothing in that time: it stays with who waited. */
static bool lives(const struct scene *scene, const struct suspect *suspect, uint64_t from)
{
	return scene->tables->threads[suspects_thread(suspect)].end_ns > from;
}

static const struct suspect *first_alive(const struct scene *scene, const struct suspects *suspects, uint64_t from)
{
	for (size_t i = 0; i < suspects->length; i++)
		if (lives(scene, &suspects->items[i], from))
			return &suspects->items[i];
	return NULL;
}

/* Who should have ended a wait that nobody is seen to have ended: who is read from memory to
 * hold what is waited for; of long ones, whom the diagnosis suspects. */
static unsigned on_missing(struct walk *walk, const struct episode *episode, uint64_t from, uint64_t to, struct hop hops[WALK_MAX_HOPS])
{
	struct asked *asked = walk->data;
	const struct wait *w = &walk->scene->waits[episode->last];
	bool fresh = false, alone;
	uint64_t *answer;
	const struct suspect *s;

	if (w->idle || (w->kind == WAIT_KIND_sleep && !loop_is(walk->scene, episode)))
		return 0;
	if (w->hint && w->hint_kind != HINT_KIND_socket_peer && w->hint_kind != HINT_KIND_child && w->hint != w->thread &&
	    !walk_on_stack(walk, w->hint)) {
		hops[0] = (struct hop){ .from_ns = from, .thread = w->hint, .link = LINK_OWNER, .confidence = 80, .evidence = w->begin_event };
		return 1;
	}
	if (to - from < asked->least_ns)
		return 0;
	answer = map_at(&asked->answers, (uint64_t)(episode - walk->scene->episodes), &fresh);
	if (fresh) {
		suspects_find(&asked->inquiry, episode, from, to, walk->stack, walk->depth, &asked->suspects, &alone);
		s = first_alive(walk->scene, &asked->suspects, from);
		*answer = s ? asked->kept.length + 1 : 0;
		if (s)
			vec_push(&asked->kept, *s);
	}
	if (!*answer)
		return 0;
	s = &asked->kept.items[*answer - 1];
	if (!lives(walk->scene, s, from))
		return 0;
	/* Who sleeps again and again looks for something only where it is surely known who does that. */
	if (w->kind == WAIT_KIND_sleep && s->hops[s->hop_count - 1].link != LINK_WROTE &&
	    (s->hops[s->hop_count - 1].link != LINK_FLAG || s->hops[s->hop_count - 1].confidence < limit_of(walk->scene, LIMIT_flag_came_back)))
		return 0;
	memcpy(hops, s->hops, s->hop_count * sizeof(*hops));
	return s->hop_count;
}

static bool on_lock(const struct walk *walk, const struct wait *wait, uint64_t time_ns, uint32_t *ret_thread, uint64_t *ret_until)
{
	const struct asked *asked = walk->data;

	return wait->object && (wait->kind == WAIT_KIND_futex || wait->kind == WAIT_KIND_file_lock) &&
	       holds_turn(asked->holds, wait->object, time_ns, ret_thread, ret_until) && *ret_thread != wait->thread;
}

/* ---- into the fold ---- */

struct step_names {
	uint32_t node;            /* + 1; the innermost wait of a program on the way, 0 not looked at */
	uint32_t thread;          /* of a program, that waits there or has the turn */
};

struct adding {
	struct critical *critical;
	struct naming *naming;
	struct fold *fold;
	const struct walk_steps *steps;
	struct vec(struct step_names) seen; /* by step */
	bool held;                /* pieces are kept until the walk has come to its end */
	const struct holds *holds;
	struct asked *asked;
	unsigned level;           /* of walks inside of walks */
};

static struct fold_key wait_key(struct naming *naming, const struct wait *w)
{
	return (struct fold_key){ .who = naming_role(naming, w->thread), .function = naming_stack(naming, w->ustack).function,
				  .what = naming_what(naming, w), .doing = w->kind == WAIT_KIND_stop ? CLASS_STOPPED : CLASS_WAIT };
}

/* The waits of programs from the root to a step, as a node; the kernel's own threads work
 * for whoever waits for them. */
static struct step_names step_seen(struct adding *a, uint32_t step)
{
	const struct walk_step *s = &a->steps->items[step];
	struct step_names *seen, above;
	const struct scene *scene = a->naming->scene;

	while (a->seen.length < a->steps->length)
		vec_push(&a->seen, ((struct step_names){ 0 }));
	if (a->seen.items[step].node)
		return a->seen.items[step];
	above = step_seen(a, s->parent);
	seen = &a->seen.items[step];
	*seen = above;
	if (s->episode && !naming_is_kernel(a->naming, a->steps->items[s->parent].thread)) {
		struct fold_key key = wait_key(a->naming, &scene->waits[scene->episodes[s->episode - 1].last]);

		seen->node = fold_child(a->fold, above.node - 1, &key) + 1;
	}
	if (!naming_is_kernel(a->naming, s->thread))
		seen->thread = s->thread;
	return *seen;
}

/* The waits before and behind a moment at which the thread did not wait. */
static void waits_around(const struct naming *naming, uint32_t thread, uint64_t time, const struct wait **ret_before, const struct wait **ret_behind)
{
	const struct scene *scene = naming->scene;
	uint32_t next = scene_waits_from_near(scene, thread, time, naming->near);

	*ret_before = next > scene->threads[thread].wait ? &scene->waits[next - 1] : NULL;
	*ret_behind = next < scene_waits_end(scene, thread) ? &scene->waits[next] : NULL;
}

/* Who was woken and has no processor yet is still in the call that it waited in: that wait; else NULL. */
static const struct wait *woken_from(const struct naming *naming, uint32_t thread, uint64_t time)
{
	const struct scene *scene = naming->scene;
	const struct span *span = scene_span_near(scene, thread, time, naming->near);
	const struct wait *wait;

	if (!span || span == scene->threads[thread].spans || span[-1].state != SPAN_WAITING)
		return NULL;
	wait = &scene->waits[span_wait(&span[-1])];
	return span_wait(&span[-1]) && wait->ustack ? wait : NULL;
}

static uint8_t doing_of(const struct piece *p)
{
	switch ((enum span_state)p->state) {
	case SPAN_RUNNING: return CLASS_RUN;
	case SPAN_RUNNABLE: return p->throttled ? CLASS_THROTTLED : CLASS_QUEUED;
	case SPAN_WAITING: return CLASS_WAIT;
	case SPAN_STOPPED: return CLASS_STOPPED;
	case SPAN_UNKNOWN:
	case SPAN_ABSENT: break;
	}
	return CLASS_UNKNOWN;
}

static void add_samples(struct adding *a, uint32_t thread, uint32_t row, uint32_t node, uint64_t from, uint64_t to)
{
	const struct scene *scene = a->naming->scene;
	const struct scene_thread *t = &scene->threads[thread];

	for (uint32_t i = scene_samples_from_near(scene, thread, from, a->naming->near); i < t->samples.count; i++) {
		const struct sample *s = &scene->samples[t->samples.items[i]];
		uint32_t functions[SAMPLE_FRAMES];
		size_t count = 0;

		if (s->time >= to)
			break;
		for (uint32_t at = s->ustack; at && at < scene->tables->frame_count && count < SAMPLE_FRAMES; at = scene->tables->frames[at].parent) {
			uint32_t function = naming_function(a->naming, at);

			/* What the C library does, or an interpreter, is its caller's work. */
			if (function && !naming_is_runtime(a->naming, at))
				functions[count++] = function;
		}
		if (count)
			fold_sample(a->fold, row, node, functions, count);
	}
}

/* Who waits there with the lock waits in the function that takes it, as far as its stack tells. */
static bool waits_inside(struct naming *naming, const struct wait *wait, const struct hold *hold)
{
	return hold && (naming_is_on_stack(naming, wait->ustack, hold->function) || (hold->function && naming_is_cut(naming, wait->ustack)));
}

struct stretch_words critical_words(struct naming *naming, uint32_t thread, const struct wait *wait, uint8_t doing, const struct hold *hold,
				    uint64_t time_ns)
{
	struct stretch_words words = { .lock = hold ? hold->lock : 0, .runs = !wait && !hold };
	bool on_stack = false;

	if (wait) {
		words.key = wait_key(naming, wait);
		on_stack = waits_inside(naming, wait, hold);
	} else if (doing == CLASS_QUEUED && (wait = woken_from(naming, thread, time_ns))) {
		words.key = wait_key(naming, wait);
		words.key.doing = doing;
		words.key.what = naming_doing(naming, doing);
		words.runs = false;
		on_stack = waits_inside(naming, wait, hold);
	} else {
		const struct wait *before, *behind;

		waits_around(naming, thread, time_ns, &before, &behind);
		words.key = (struct fold_key){ .who = naming_role(naming, thread), .doing = doing,
					       .function = before && behind ? naming_between(naming, before->ustack, behind->ustack) : 0,
					       .what = naming_doing(naming, doing) };
		on_stack = hold && ((before && naming_is_on_stack(naming, before->ustack, hold->function)) ||
				    (behind && naming_is_on_stack(naming, behind->ustack, hold->function)));
	}
	if (!words.key.function)
		words.key.function = naming_start(naming, thread);
	/* Who waits for a lock that several have at once takes it elsewhere than who has it, perhaps. */
	if (on_stack && hold->shared && hold->function == naming_start(naming, thread))
		on_stack = false;
	words.function = on_stack ? hold->function : words.key.function;
	return words;
}

/* The thread's process has a part in the path. */
static void note_process(struct adding *a, uint32_t thread)
{
	uint32_t pid = scene_pid(a->naming->scene, thread);

	if (pid != a->critical->noted_pid)
		map_put(&a->fold->pids, pid, 1);
	a->critical->noted_pid = pid;
}

/* A stretch in which the thread did one thing, and had one lock or none. */
static void add_stretch(struct adding *a, const struct piece *p, const struct hold *hold, uint64_t from, uint64_t to)
{
	const struct scene *scene = a->naming->scene;
	struct step_names step = step_seen(a, p->step);
	bool kernel = naming_is_kernel(a->naming, p->thread), waits = p->wait && (p->state == SPAN_WAITING || p->state == SPAN_STOPPED);
	uint32_t node = step.node - 1, via = node, row;
	struct stretch_words words;

	if (kernel && node) {
		/* The wait of the program that the kernel works for. */
		words = (struct stretch_words){ .key = a->fold->nodes.items[node].key, .lock = hold ? hold->lock : 0 };
		words.function = hold ? hold->function : words.key.function;
		via = a->fold->nodes.items[node].parent;
	} else {
		words = critical_words(a->naming, p->thread, waits ? &scene->waits[p->wait] : NULL, doing_of(p), hold, from);
		node = fold_child(a->fold, node, &words.key);
	}
	row = fold_row(a->fold, words.lock, words.key.who, words.function, words.runs);
	note_process(a, step.thread);
	fold_add(a->fold, row, node, via, (uint64_t)scene_tid(scene, step.thread) << 32 | (hold ? (uint32_t)hold->start_ns : 0), from, to);
	if (words.key.doing == CLASS_UNKNOWN)
		a->fold->unknown_ns += to - from;
	if (words.key.doing == CLASS_RUN)
		add_samples(a, p->thread, row, node, from, to);
}

static bool is_of_run(struct adding *a, uint32_t thread, uint32_t waiting)
{
	const struct scene *scene = a->naming->scene;
	uint8_t *known = &a->critical->of_root[thread];

	if (naming_is_kernel(a->naming, thread))
		return false;
	if (scene_pid(scene, thread) == scene_pid(scene, waiting))
		return true;
	if (!*known)
		*known = 1 + scene_descends_from(scene, thread, a->critical->root_pid);
	return *known == 2;
}

/* A stretch in which the thread stood for a processor that another one of the run had: what that did is what the run
 * waited for. */
static void add_in_front(struct adding *a, const struct piece *p, uint32_t thread, uint64_t from, uint64_t to)
{
	struct step_names step = step_seen(a, p->step);
	struct stretch_words waits = critical_words(a->naming, p->thread, NULL, CLASS_QUEUED, NULL, from);
	uint32_t via = fold_child(a->fold, step.node - 1, &waits.key);
	uint64_t until;

	for (uint64_t at = from; at < to; at = until) {
		const struct hold *hold = holds_at(a->holds, thread, at, &until);
		struct stretch_words words = critical_words(a->naming, thread, NULL, CLASS_RUN, hold, at);
		uint32_t node = fold_child(a->fold, via, &words.key), row = fold_row(a->fold, words.lock, words.key.who, words.function, words.runs);

		until = until < to ? until : to;
		note_process(a, thread);
		fold_add(a->fold, row, node, via, (uint64_t)scene_tid(a->naming->scene, thread) << 32 | (hold ? (uint32_t)hold->start_ns : 0), at,
			 until);
		add_samples(a, thread, row, node, at, until);
	}
}

/* A stretch in which the thread stood for a processor, without a lock that others want. */
static void add_queued(struct adding *a, const struct piece *p, uint64_t from, uint64_t to)
{
	const struct span *span = scene_span_near(a->naming->scene, p->thread, from, a->naming->near);
	uint64_t until;

	for (uint64_t at = from; at < to; at = until) {
		uint32_t thread;

		until = to;
		thread = span ? cpu_runs_who(a->naming, span_cpu(span), at, &until) : 0;
		if (thread && thread != p->thread && is_of_run(a, thread, p->thread))
			add_in_front(a, p, thread, at, until);
		else
			add_stretch(a, p, NULL, at, until);
	}
}

static void add_simple(struct adding *a, const struct piece *p)
{
	uint32_t thread = step_seen(a, p->step).thread;
	bool queued = doing_of(p) == CLASS_QUEUED && !naming_is_kernel(a->naming, p->thread);
	uint64_t until;

	for (uint64_t at = p->start_ns; at < p->end_ns; at = until) {
		const struct hold *hold = holds_at(a->holds, thread, at, &until);

		if (until > p->end_ns)
			until = p->end_ns;
		if (!hold && queued)
			add_queued(a, p, at, until);
		else
			add_stretch(a, p, hold, at, until);
	}
}

#define LEVELS_MOST 256u /* walks that go on where another one was as deep as walks go, or in a loop that looks for what another does */

static void add_walk(struct critical *critical, struct asked *asked, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		     struct step_names root, unsigned level);

/* The path goes on at another thread, for which the one waits. */
static void add_other(struct adding *a, const struct piece *p, uint32_t other, uint64_t from, uint64_t to)
{
	struct step_names names = step_seen(a, p->step);
	struct fold_key key = wait_key(a->naming, &a->naming->scene->waits[p->wait]);

	names.node = fold_child(a->fold, names.node - 1, &key) + 1;
	names.thread = other;
	add_walk(a->critical, a->asked, other, from, to, names, a->level + 1);
}

/* The child whose end the wait was, of one that lived all the while; 0 none. A script sleeps by children, one after the other. */
static uint32_t child_waited_for(const struct scene *scene, const struct wait *w, uint64_t from)
{
	return w->kind == WAIT_KIND_child && w->end == WAIT_END_THREAD && scene->tables->threads[w->waker].start_ns <= from ? w->waker : 0;
}

/* The sleeps of a loop are looked at one by one. */
static bool is_loop(const struct scene *scene, const struct piece *p)
{
	return p->state == SPAN_WAITING && p->wait &&
	       (scene->waits[p->wait].kind == WAIT_KIND_sleep || scene->episodes[scene->waits[p->wait].episode].slices > 1);
}

/* Of a loop that sleeps again and again each sleep counts, and what it did between them: that may be the most of it. Where
 * it is known who does what it looks for the path goes there, until that is done. */
static void add_piece(struct adding *a, const struct piece *p)
{
	const struct scene *scene = a->naming->scene;
	const struct scene_thread *t = &scene->threads[p->thread];
	uint64_t at = p->start_ns;
	struct look look;
	uint32_t child;

	if (!is_loop(scene, p)) {
		add_simple(a, p);
		return;
	}
	for (uint32_t i = scene_span_index(scene, p->thread, at); i < t->span_count && at < p->end_ns; i++) {
		const struct span *s = &t->spans[i];
		struct piece part = *p;

		part.end_ns = span_end(s) < p->end_ns ? span_end(s) : p->end_ns;
		part.state = s->state;
		part.throttled = s->throttled;
		part.wait = span_wait(s);
		if (s->state == SPAN_WAITING && span_wait(s) && a->level < LEVELS_MOST && at < part.end_ns &&
		    looks_find(&a->critical->looks, &scene->waits[span_wait(s)], &look) && look.done_ns > at) {
			uint64_t done = look.done_ns < p->end_ns ? look.done_ns : p->end_ns;

			add_other(a, &part, look.other, at, done);
			at = done;
		}
		if (s->state == SPAN_WAITING && span_wait(s) && a->level < LEVELS_MOST && at < part.end_ns &&
		    (child = child_waited_for(scene, &scene->waits[span_wait(s)], at))) {
			add_other(a, &part, child, at, part.end_ns);
			at = part.end_ns;
		}
		part.start_ns = at;
		at = part.end_ns > at ? part.end_ns : at;
		if (part.end_ns > part.start_ns)
			add_simple(a, &part);
	}
}

void critical_begin(struct critical *critical)
{
	holds_find(critical->naming, &critical->holds);
	looks_init(&critical->looks, critical->naming->scene);
}

void critical_end(struct critical *critical)
{
	holds_done(&critical->holds);
	looks_done(&critical->looks);
}

static bool goes_deeper(const struct adding *a, const struct piece *p)
{
	return p->deep && a->level < LEVELS_MOST && a->naming->scene->waits[p->wait].waker;
}

/* The path may go on at another thread there, by a walk of its own. */
static bool leads_on(struct adding *a, const struct piece *p)
{
	const struct scene *scene = a->naming->scene;
	const struct scene_thread *t = &scene->threads[p->thread];
	struct look look;

	if (goes_deeper(a, p))
		return true;
	if (!is_loop(scene, p))
		return false;
	for (uint32_t i = scene_span_index(scene, p->thread, p->start_ns); i < t->span_count && t->spans[i].start_ns < p->end_ns; i++) {
		const struct span *s = &t->spans[i];

		if (s->state == SPAN_WAITING && span_wait(s) &&
		    (looks_find(&a->critical->looks, &scene->waits[span_wait(s)], &look) || child_waited_for(scene, &scene->waits[span_wait(s)], p->end_ns)))
			return true;
	}
	return false;
}

/* Many pieces in the midst of a walk: added while what they tell of is at hand. Walks of their own come behind this one: whom
 * it suspects is asked first. */
static void take_pieces(struct walk *walk, void *data)
{
	struct adding *a = data;
	struct piece *pieces = walk->pieces->items;
	size_t taken = 0, all = walk->pieces->length;

	while (!a->held && taken + 1 < all) {
		if (leads_on(a, &pieces[taken]))
			a->held = true;
		else
			add_piece(a, &pieces[taken++]);
	}
	memmove(pieces, pieces + taken, (all - taken) * sizeof(*pieces));
	walk->pieces->length -= taken;
}

/* The path of a thread between two moments, inside of what `root` names. */
static void add_walk(struct critical *critical, struct asked *asked, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		     struct step_names root, unsigned level)
{
	struct naming *naming = critical->naming;
	struct pieces pieces = { 0 };
	struct walk_steps steps = { 0 };
	struct walk walk = { .scene = naming->scene, .missing = on_missing, .holder = on_lock, .data = asked, .pieces = &pieces, .steps = &steps,
			     .near = naming->near, .many = take_pieces };
	struct adding a = { .critical = critical, .naming = naming, .fold = critical->fold, .steps = &steps,
			     .holds = &critical->holds, .asked = asked, .level = level };

	walk.many_data = &a;
	vec_push(&a.seen, root);
	walk_window(&walk, thread, from_ns, to_ns);
	for (size_t i = 0; i < pieces.length; i++) {
		const struct piece *p = &pieces.items[i];

		if (goes_deeper(&a, p))
			add_other(&a, p, naming->scene->waits[p->wait].waker, p->start_ns, p->end_ns);
		else
			add_piece(&a, p);
	}
	vec_done(&a.seen);
	vec_done(&pieces);
	vec_done(&steps);
}

void critical_add(struct critical *critical, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct asked asked = {
		.holds = &critical->holds,
		.inquiry = { .scene = critical->naming->scene, .ends = diagnoser_ends(critical->diagnoser),
			     .now = diagnoser_side(critical->diagnoser) },
		.least_ns = critical->whole_ns / SUSPECTED_SHARE > SUSPECTED_LEAST_NS ? critical->whole_ns / SUSPECTED_SHARE : SUSPECTED_LEAST_NS,
	};

	critical->root_pid = scene_pid(critical->naming->scene, thread);
	critical->of_root = mem_zalloc(critical->naming->scene->thread_count);
	critical->noted_pid = UINT32_MAX;
	arena_init(&asked.arena);
	asked.inquiry.arena = &asked.arena;
	map_init(&asked.answers);
	add_walk(critical, &asked, thread, from_ns, to_ns, (struct step_names){ 1, thread }, 0);
	free(critical->of_root);
	critical->of_root = NULL;
	inquiry_done(&asked.inquiry);
	vec_done(&asked.suspects);
	vec_done(&asked.kept);
	map_done(&asked.answers);
	arena_done(&asked.arena);
}
