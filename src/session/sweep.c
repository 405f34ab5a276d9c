/* Hangs over a long trace, some groups of blocks at a time, with some of what is before
 * and behind them: memory goes with what is judged together. What was found is noted in
 * the index, by group.
 *
 * A hang is told in the group in which it ends. A wait that lasts longer stands in each
 * part from its true beginning on; of work that goes on over several parts each tells
 * its piece, and the pieces are joined. Who asks about a window is told what goes on
 * beyond it from the groups where that ends.
 *
 * A group's hangs are judged best with all that is judged together with it: at the end of a trace, which may grow, they
 * are noted for that end alone.
 *
 * Two parts are judged at once, on a thread each: the walk over one finds what stands
 * at the next one's beginning, which is judged from then on. Who keeps a pace does it on
 * one thread, in as little memory as that takes. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/memory_watch.h"
#include "base/progress.h"
#include "base/quiet_thread.h"
#include "base/sparse.h"
#include "diagnose/hangs_cut.h"
#include "graph/graph.h"
#include "session/hang_notes.h"
#include "session/recorded.h"
#include "session/sweep.h"
#include "session/sweep_begin.h"
#include "session/sweep_later.h"
#include "session/sweep_past.h"
#include "session/sweep_pieces.h"
#include "symbols/file_opener.h"
#include "symbols/module_shelf.h"
#include "trace/blocks.h"

#define GROUP_BLOCKS 4u        /* whose hangs are noted together */
#define GROUPS_AT_ONCE 4u      /* that are judged together: what comes before and behind them is read besides, memory goes with them */
#define LONG_GROUPS 256u       /* of so many, some seventy million events, ... */
#define LONG_AT_ONCE 11u       /* ... so many together, a fifth of the work less, ... */
#define LONG_ROOM (1150ull << 20) /* ... where there is memory for them */
#define PACED_ROOM (2ull << 30) /* who keeps a pace judges one alone where there is less: 140 MB instead of 210 */
#define PAST_BLOCKS 24u        /* before them it is known what some threads did (sweep_past.h) */
#define LATER_GROUPS 3u        /* behind a window, in which most of what hung in it ends: they are judged together with it */
#define LATER_ROUNDS 16u       /* so often the group is looked for in which the rest ends */
#define TAIL_NS 1000000000ull  /* behind them */
#define TAIL_BLOCKS 2u         /* at most */
#define THREADS 2u             /* that judge: memory goes with them */
#define SETTLED_NS 5000000000ull /* processors' last chunks are written so late at most */
#define SAVE_GROUPS 64u        /* so often what was found is written */

struct group {
	size_t first, last;        /* blocks */
	uint64_t from_ns, to_ns;
	bool noted;
	bool taken;                /* of those behind a window: it is judged, too */
	struct vec(struct hangs_cut) cuts; /* loops that ended in it and began before what was laid out */
	struct vec(struct hang) hangs;
	struct arena arena;        /* of their texts */
};

/* A hang of the window goes on where a stretch ends. */
struct going_on {
	uint32_t tid;
	uint64_t after_ns;
};

struct sweep {
	struct session *session;
	const struct hangs_options *options;
	struct vec(struct group) groups;
	struct vec(struct group) later; /* behind the window, not noted, and judged only if a hang of the window ends there */
	struct vec(struct going_on) going_on; /* whose group is laid out writes here */
	struct vec(struct hangs_cut) elsewhere; /* loops that are noted of groups that are not asked about */
	bool usual;                /* judged as always: notes are read and written */
	const struct sweep_pace *pace; /* NULL: as fast as it goes */
	struct progress progress;
	pthread_mutex_t laying;    /* whose group is laid out, the most of its memory: one at a time */
	pthread_mutex_t lock;      /* of what follows */
	size_t next, done;         /* group to be taken up; how many are judged */
	size_t unknown;            /* that are to be judged */
	size_t at_once;            /* so many together */
	int failed;
	struct err *err;
};

/* Who judges; what it needs for each group anew. */
struct judge {
	struct sweep *sweep;
	struct judgement judgement; /* that others do not write into */
	struct graph_room room;
	struct module_shelf *shelf; /* what was read for names */
	struct blocks_watch *watch;
	bool is_laying;
	pthread_t thread;
};

/* ---- one group ---- */

static void see(void *data, const struct event *e)
{
	const struct judge *judge = data;

	blocks_watch_see(judge->watch, e);
}

/* Some groups, one behind the other, that are judged together. */
struct stretch {
	struct group *groups;
	size_t count;
	uint64_t from_ns, to_ns;
	bool end;                  /* of the trace */
	bool whole;                /* as many as are judged together, or up to what is noted; or of those behind a window */
};

static struct stretch stretch_of(const struct sweep *s, struct group *groups, size_t count)
{
	return (struct stretch){ .groups = groups, .count = count, .from_ns = groups[0].from_ns, .to_ns = groups[count - 1].to_ns,
				 .end = groups[count - 1].last + 1 == blocks_count(s->session->blocks) };
}

/* Whether the hang is one to be told here; it is cut to that. */
static bool is_told(const struct scene *scene, const struct stretch *stretch, struct hang *h)
{
	bool open = h->end_ns >= scene->end_ns && !stretch->end;
	const struct span *span = open ? scene_span(scene, h->thread, scene->end_ns - 1) : NULL;

	if (h->end_ns < stretch->from_ns || (h->start_ns > stretch->to_ns && !stretch->end))
		return false;
	if (h->end_ns > stretch->to_ns && !stretch->end) {
		/* It ends somewhere else. */
		if (!hang_has_pieces(h) || (span && span->state != SPAN_RUNNING && span->state != SPAN_RUNNABLE))
			return false;
		h->end_ns = stretch->to_ns;
	}
	return h->end_ns > h->start_ns;
}

static void hang_keep_names(struct arena *arena, struct hang *h)
{
	h->comm = arena_strdup(arena, h->comm);
	h->program = h->program ? arena_strdup(arena, h->program) : NULL;
}

static bool is_asked_for(const struct hangs_options *options, const struct hang *h)
{
	return !options->to_ns || (h->start_ns <= options->to_ns && h->end_ns >= options->from_ns);
}

/* Gives it to the group in which it ends, as told to who has another scene. */
static void tell(struct sweep *s, const struct scene *scene, const struct stretch *stretch, struct hang h)
{
	struct group *group = stretch->groups;

	if (s->options->to_ns && h.end_ns > stretch->to_ns && is_asked_for(s->options, &h))
		vec_push(&s->going_on, ((struct going_on){ scene_tid(scene, h.thread), stretch->to_ns }));
	if (!is_told(scene, stretch, &h))
		return;
	h.start_ns = sweep_begin(s->session->trace, scene, &h, stretch->to_ns - stretch->from_ns);
	while (group + 1 < stretch->groups + stretch->count && h.end_ns > group->to_ns)
		group++;
	h.awaits = h.awaits ? scene_tid(scene, h.awaits) : 0;
	h.thread = h.tid;
	hang_keep_names(&group->arena, &h);
	vec_push(&group->hangs, h);
}

/* The walk over a part goes on while another one is laid out and judged. */
static void await_turn(void *data)
{
	struct judge *judge = data;

	blocks_watch_end(judge->watch);
	judge->watch = NULL;
	mem_step_ends();
	pthread_mutex_lock(&judge->sweep->laying);
	judge->is_laying = true;
}

static void end_turn(struct judge *judge)
{
	if (judge->is_laying)
		pthread_mutex_unlock(&judge->sweep->laying);
	judge->is_laying = false;
}

/* The last block of the part that is laid out for it. */
static size_t last_block(const struct sweep *s, const struct stretch *stretch)
{
	const struct blocks *blocks = s->session->blocks;
	size_t end = stretch->groups[stretch->count - 1].last, last = end;

	while (last < end + TAIL_BLOCKS && last + 1 < blocks_count(blocks) && blocks_at(blocks, last + 1)->from_ns <= stretch->to_ns + TAIL_NS)
		last++;
	return last;
}

static void note_cut(void *data, const struct hangs_cut *cut)
{
	const struct stretch *stretch = data;

	for (size_t i = 0; i < stretch->count; i++)
		if (cut->to_ns >= stretch->groups[i].from_ns && cut->to_ns <= stretch->groups[i].to_ns)
			vec_push(&stretch->groups[i].cuts, *cut);
}

static int find_hangs(const struct judge *judge, const struct stretch *stretch, struct session *look, struct err *err)
{
	struct sweep *s = judge->sweep;
	struct hangs_options options = *s->options;
	const struct names_options names = { .shelf = judge->shelf };
	int r = names_open(look->part, look->scene->tables, &names, &look->names, err);
	const struct hang *hangs;
	size_t count;

	if (r)
		return r;
	look->diagnoser = diagnoser_new(look->scene, look->names);
	options.goes_before = look->scene->start_ns > trace_summary(s->session->trace)->start_ns;
	options.goes_on = !stretch->end;
	options.root_pid = s->options->root_pid || s->session->elsewhere ? s->options->root_pid : recorded_root(look->part, look->scene->tables);
	count = hangs_find_all(look->diagnoser, &options, &hangs);
	for (size_t i = 0; i < count; i++)
		tell(s, look->scene, stretch, hangs[i]);
	if (look->scene->start_ns > trace_summary(s->session->trace)->start_ns)
		hangs_cut_loops(look->scene, s->options, stretch->from_ns, stretch->to_ns, note_cut, (void *)(uintptr_t)stretch);
	diagnoser_free(look->diagnoser);
	names_close(look->names);
	return 0;
}

static int judge_stretch(struct judge *judge, const struct stretch *stretch, struct err *err)
{
	struct blocks *blocks = judge->sweep->session->blocks;
	size_t first = stretch->groups[0].first, last = last_block(judge->sweep, stretch);
	const struct scene_watch watch = { see, await_turn, judge };
	struct session look = { 0 };
	struct map threads, programs;
	int r;

	arena_init(&look.look_arena);
	map_init(&threads);
	map_init(&programs);
	sweep_past(blocks, first, judgement_limit(&judge->judgement, LIMIT_look_ns), &threads, &programs);
	r = blocks_part_since(blocks, first > PAST_BLOCKS ? first - PAST_BLOCKS : 0, &threads, &programs, first, last,
			      stretch->end ? UINT64_MAX : stretch->to_ns + TAIL_NS, &look.look_arena, &look.part, err);
	map_done(&threads);
	map_done(&programs);
	mem_step_ends();
	if (!r)
		judge->watch = blocks_watch(blocks, first, stretch->end ? last : stretch->groups[stretch->count - 1].last + 1);
	if (!r)
		r = scene_build_watched(look.part, &watch, &judge->room, &look.scene, err);
	blocks_watch_end(judge->watch);
	judge->watch = NULL;
	mem_step_ends();
	if (!r) {
		look.scene->judgement = &judge->judgement;
		r = find_hangs(judge, stretch, &look, err);
	}
	scene_free(look.scene);
	end_turn(judge);
	if (look.part)
		trace_close(look.part);
	arena_done(&look.look_arena);
	mem_step_ends();
	return r;
}

static uint64_t end_of(const struct sweep *s)
{
	return trace_summary(s->session->trace)->end_ns;
}

/* Whether more of it may come. */
static bool is_settled(const struct sweep *s, const struct group *group)
{
	return group->last + 1 < blocks_count(s->session->blocks) && group->to_ns + SETTLED_NS <= end_of(s);
}

/* `to_ns`: the group's end, or the trace's where it holds for that end alone. */
static struct hang_notes_key key_of(const struct sweep *s, const struct group *group, uint64_t to_ns)
{
	return (struct hang_notes_key){ .block = group->first, .root_pid = s->session->elsewhere ? HANGS_ELSEWHERE : s->options->root_pid,
					.pid = s->options->pid, .to_ns = to_ns };
}

/* Of a window's last ones nothing is noted: who asks about more judges them with what follows. */
static void note_group(const struct sweep *s, const struct group *group, const struct stretch *stretch)
{
	struct hang_notes_key key = key_of(s, group, stretch->whole && is_settled(s, group) ? group->to_ns : end_of(s));
	struct hang_note note = { group->hangs.items, group->hangs.length, group->cuts.items, group->cuts.length };

	if (!stretch->whole && !stretch->end)
		return;
	hang_notes_write(s->session->blocks, &key, &note);
}

static bool read_notes(const struct sweep *s, struct group *group, struct hang_note *note)
{
	struct hang_notes_key whole = key_of(s, group, group->to_ns), so_far = key_of(s, group, end_of(s));

	if (!s->usual)
		return false;
	return (is_settled(s, group) && hang_notes_read(&group->arena, s->session->blocks, &whole, note)) ||
	       hang_notes_read(&group->arena, s->session->blocks, &so_far, note);
}

/* Told under the lock. */
static void end_stretch(struct sweep *s, const struct stretch *stretch, int r, const struct err *err)
{
	const struct trace_summary *summary = trace_summary(s->session->trace);
	size_t before = s->done;

	if (r && !s->failed) {
		s->failed = r;
		*s->err = *err;
	}
	s->done += stretch->count;
	s->unknown -= stretch->count;
	for (size_t i = 0; !r && s->usual && i < stretch->count; i++)
		note_group(s, &stretch->groups[i], stretch);
	if (!r && s->usual && (s->pace || before / SAVE_GROUPS != s->done / SAVE_GROUPS))
		session_save_index(s->session);
	progress_to(&s->progress, (summary->events + summary->state_events) * s->done / s->groups.length);
}

static int keep_pace(const struct sweep *s, uint64_t until_ns)
{
	struct sweep_progress progress = { .groups_left = s->unknown, .until_ns = until_ns };

	for (size_t i = 0; i < s->groups.length; i++)
		for (size_t k = 0; k < s->groups.items[i].hangs.length; k++)
			progress.hangs += !s->groups.items[i].hangs.items[k].meant;
	return s->pace ? s->pace->before(s->pace->data, &progress) : 0;
}

/* Takes up what is to be judged next; nothing of it is noted. False when there is nothing left. */
static bool take_up(struct sweep *s, struct stretch *ret_stretch)
{
	size_t most = s->at_once, first, count = 1;
	bool whole;

	for (; s->next < s->groups.length && s->groups.items[s->next].noted; s->next++)
		s->done++;
	first = s->next;
	if (first >= s->groups.length || s->failed)
		return false;
	while (count < most && first + count < s->groups.length && !s->groups.items[first + count].noted &&
	       s->groups.items[first + count].first == s->groups.items[first + count - 1].last + 1)
		count++;
	whole = count == most || count >= GROUPS_AT_ONCE || s->groups.items[first].taken ||
		(first + count < s->groups.length && s->groups.items[first + count].first == s->groups.items[first + count - 1].last + 1);
	if (s->pace && s->pace->grows && !whole)
		return false;
	s->next += count;
	*ret_stretch = stretch_of(s, &s->groups.items[first], count);
	ret_stretch->whole = whole;
	return true;
}

/* Where the process that is asked about was not, nothing of it is found. Stretches are the same as without this: what is judged together is
 * what it is judged by. */
static bool may_hang_in(const struct sweep *s, const struct stretch *stretch)
{
	uint64_t from_ns = stretch->from_ns > TAIL_NS ? stretch->from_ns - TAIL_NS : 0;

	return !s->options->pid ||
	       session_process_lives(s->session, s->options->pid, from_ns, stretch->end ? UINT64_MAX : stretch->to_ns + TAIL_NS);
}

static void *judge_groups(void *data)
{
	struct judge *judge = data;
	struct sweep *s = judge->sweep;
	struct stretch stretch;

	pthread_mutex_lock(&s->lock);
	while (take_up(s, &stretch)) {
		struct err err = { 0 };
		int r;

		pthread_mutex_unlock(&s->lock);
		r = keep_pace(s, stretch.from_ns);
		if (!r && may_hang_in(s, &stretch))
			r = judge_stretch(judge, &stretch, &err);
		if (s->pace)
			graph_room_done(&judge->room);
		pthread_mutex_lock(&s->lock);
		end_stretch(s, &stretch, r, &err);
	}
	pthread_mutex_unlock(&s->lock);
	graph_room_done(&judge->room);
	return NULL;
}

/* ---- all of them ---- */

/* Groups count from each file's first block on, so that they are the same when older
 * files have gone. */
static struct group group_at(const struct blocks *blocks, size_t first)
{
	struct group group = { .first = first, .last = first };

	while (group.last + 1 < blocks_count(blocks) && group.last + 1 - first < GROUP_BLOCKS &&
	       blocks_at(blocks, group.last + 1)->file == blocks_at(blocks, first)->file)
		group.last++;
	group.from_ns = blocks_at(blocks, first)->from_ns;
	group.to_ns = blocks_end_ns(blocks, group.last);
	return group;
}

/* Whether it lies behind the window, too far for most of what hung in that. */
static bool is_later(const struct sweep *s, const struct group *group, size_t behind)
{
	return s->options->to_ns && group->from_ns > s->options->to_ns && !group->noted && behind > LATER_GROUPS;
}

/* Those of the window and some behind it, with what is noted of them. */
static void find_groups(struct sweep *s)
{
	size_t behind = 0;
	const struct blocks *blocks = s->session->blocks;

	for (size_t i = 0; i < blocks_count(blocks); ) {
		struct group group = group_at(blocks, i);
		struct hang_note note = { 0 };

		i = group.last + 1;
		if (s->pace && s->pace->grows && !is_settled(s, &group))
			continue;
		arena_init(&group.arena);
		group.noted = read_notes(s, &group, &note);
		behind += s->options->to_ns && group.from_ns > s->options->to_ns;
		if (is_later(s, &group, behind)) {
			vec_push(&s->later, group);
			continue;
		}
		if (s->options->to_ns && group.to_ns < s->options->from_ns) {
			for (size_t k = 0; k < note.cut_count; k++)
				vec_push(&s->elsewhere, note.cuts[k]);
			arena_done(&group.arena);
			continue;
		}
		for (size_t k = 0; group.noted && k < note.count; k++)
			vec_push(&group.hangs, note.hangs[k]);
		for (size_t k = 0; group.noted && k < note.cut_count; k++)
			vec_push(&group.cuts, note.cuts[k]);
		s->unknown += !group.noted;
		vec_push(&s->groups, group);
	}
}

static size_t groups_at_once(const struct sweep *s)
{
	if (s->pace && memory_room() < PACED_ROOM)
		return 1;
	return !s->pace && s->unknown >= LONG_GROUPS && memory_room() >= LONG_ROOM ? LONG_AT_ONCE : GROUPS_AT_ONCE;
}

static void judge_all(struct sweep *s)
{
	size_t threads = s->unknown > s->at_once && !s->pace && sysconf(_SC_NPROCESSORS_ONLN) > 1 ? THREADS : 1, started = 1;
	struct judge judges[THREADS];

	if (!s->unknown)
		return;
	for (size_t i = 0; i < threads; i++) {
		judges[i] = (struct judge){ .sweep = s, .judgement = *s->session->judgement, .shelf = module_shelf_new() };
		file_opener_prepare(module_shelf_opener(judges[i].shelf)); /* a fork later has all memory written anew */
		memset(&judges[i].judgement.spoken, 0, sizeof(judges[i].judgement.spoken));
	}
	if (s->pace)
		mem_give_back();
	else
		mem_keep(true);
	while (started < threads && !quiet_thread(&judges[started].thread, judge_groups, &judges[started]))
		started++;
	judge_groups(&judges[0]);
	for (size_t i = 1; i < started; i++)
		pthread_join(judges[i].thread, NULL);
	for (size_t i = 0; i < threads; i++) {
		judgement_done(&judges[i].judgement);
		module_shelf_free(judges[i].shelf);
	}
	if (!s->pace)
		mem_keep(false);
}

static struct group *later_group(struct sweep *s, uint64_t time_ns)
{
	for (size_t i = 0; i < s->later.length; i++)
		if (!s->later.items[i].taken && time_ns >= s->later.items[i].from_ns && time_ns <= s->later.items[i].to_ns)
			return &s->later.items[i];
	return NULL;
}

/* Takes up the groups behind one stretch's end in which hangs of the window go on that it left open. False: none are. */
static bool take_up_later(struct sweep *s)
{
	uint64_t end_ns = trace_summary(s->session->trace)->end_ns, after_ns = 0;
	size_t kept = 0, at = 0, taken = 0;
	struct map tids;

	map_init(&tids);
	for (size_t i = 0; i < s->going_on.length; i++) {
		struct going_on g = s->going_on.items[i];

		if (!later_group(s, g.after_ns + 1)) /* what is behind it was judged, too */
			continue;
		after_ns = after_ns ? after_ns : g.after_ns;
		if (g.after_ns == after_ns)
			map_put(&tids, g.tid, UINT64_MAX);
		else
			s->going_on.items[kept++] = g;
	}
	s->going_on.length = kept;
	if (tids.length)
		sweep_go_on(s->session->trace, after_ns + 1, &tids);
	for (const struct map_slot *slot; (slot = map_next(&tids, &at)); ) {
		struct group *group = later_group(s, slot->value < end_ns ? slot->value : end_ns);

		if (!group)
			continue;
		group->taken = true;
		vec_push(&s->groups, *group);
		s->unknown++;
		taken++;
	}
	map_done(&tids);
	return taken > 0;
}

/* A loop that was cut. */
struct cut {
	struct hangs_cut loop;
	struct group *group;       /* NULL: one that is not asked about */
};

static int by_place(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;

	if (x->loop.pid != y->loop.pid)
		return x->loop.pid < y->loop.pid ? -1 : 1;
	return x->loop.site < y->loop.site ? -1 : x->loop.site > y->loop.site;
}

/* Whoever loops through the trace was no hang where only a loop's end was seen. */
static void forget_loop(const struct cut *cut)
{
	struct group *group = cut->group;
	size_t kept = 0;

	for (size_t i = 0; group && i < group->hangs.length; i++) {
		const struct hang *h = &group->hangs.items[i];

		if (h->tid != cut->loop.tid || h->start_ns > cut->loop.from_ns || h->end_ns <= cut->loop.from_ns)
			group->hangs.items[kept++] = *h;
	}
	if (group)
		group->hangs.length = kept;
}

/* Where a process's loops were cut again and again through the trace it rests. */
static void forget_rests(struct sweep *s)
{
	size_t rest = judgement_limit(s->session->judgement, LIMIT_cut_of_rest);
	struct vec(struct cut) cuts = { 0 };

	for (size_t i = 0; i < s->elsewhere.length; i++)
		vec_push(&cuts, ((struct cut){ s->elsewhere.items[i], NULL }));
	for (size_t i = 0; i < s->groups.length; i++)
		for (size_t k = 0; k < s->groups.items[i].cuts.length; k++)
			vec_push(&cuts, ((struct cut){ s->groups.items[i].cuts.items[k], &s->groups.items[i] }));
	if (cuts.length)
		qsort(cuts.items, cuts.length, sizeof(*cuts.items), by_place);
	for (size_t i = 0, next; i < cuts.length; i = next) {
		for (next = i + 1; next < cuts.length && !by_place(&cuts.items[i], &cuts.items[next]); next++)
			;
		for (size_t k = i; k < next && next - i >= rest; k++)
			forget_loop(&cuts.items[k]);
	}
	vec_done(&cuts);
}

/* Texts go into the arena: the group's are freed. */
static struct hang *all_hangs(struct sweep *s, struct arena *arena, size_t *ret_count)
{
	struct hang *hangs;
	size_t count = 0, at = 0;

	for (size_t i = 0; i < s->groups.length; i++)
		count += s->groups.items[i].hangs.length;
	hangs = arena_array(arena, struct hang, count);
	for (size_t i = 0; i < s->groups.length; i++) {
		struct group *group = &s->groups.items[i];

		for (size_t k = 0; k < group->hangs.length; k++) {
			hangs[at] = group->hangs.items[k];
			hang_keep_names(arena, &hangs[at]);
			at++;
		}
		vec_done(&group->hangs);
		vec_done(&group->cuts);
		arena_done(&group->arena);
	}
	*ret_count = count;
	return hangs;
}

static int sweep(struct sweep *s, struct arena *arena, const struct hang **ret_hangs, size_t *ret_count)
{
	const struct hangs_options *options = s->options;
	const struct trace_summary *summary = trace_summary(s->session->trace);
	size_t count, kept = 0;
	struct hang *hangs;

	progress_begin(&s->progress, "looking for hangs", summary->events + summary->state_events);
	find_groups(s);
	if (options->to_ns && s->unknown)
		session_hurry(s->session, s->groups.items[0].from_ns);
	s->at_once = groups_at_once(s);
	if (options->pid && s->unknown) /* before there are threads */
		session_process_lives(s->session, options->pid, 0, UINT64_MAX);
	judge_all(s);
	for (unsigned i = 0; i < LATER_ROUNDS && !s->failed && take_up_later(s); i++)
		judge_all(s);
	for (size_t i = 0; i < s->later.length; i++)
		if (!s->later.items[i].taken)
			arena_done(&s->later.items[i].arena);
	forget_rests(s);
	progress_end(&s->progress);
	hangs = all_hangs(s, arena, &count);
	count = sweep_join_pieces(hangs, count);
	hangs_as_others(s->session->judgement, hangs, count);
	for (size_t i = 0; i < count; i++)
		if (is_asked_for(options, &hangs[i]))
			hangs[kept++] = hangs[i];
	*ret_hangs = hangs;
	*ret_count = kept;
	hangs_rank(s->session->judgement, hangs, kept);
	return s->failed;
}

static void sweep_done(struct sweep *s)
{
	vec_done(&s->groups);
	vec_done(&s->later);
	vec_done(&s->going_on);
	vec_done(&s->elsewhere);
}

int session_sweep(struct session *session, struct arena *arena, const struct hangs_options *options, const struct hang **ret_hangs,
		  size_t *ret_count, struct err *err)
{
	struct sweep s = { .session = session, .options = options, .laying = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .err = err,
			   .usual = !options->threshold_ns && !session->judgement_changed };
	int r = sweep(&s, arena, ret_hangs, ret_count);

	sweep_done(&s);
	return r;
}

static uint64_t judged_until(const struct sweep *s)
{
	size_t count = s->unknown ? s->next : s->groups.length;

	return count ? s->groups.items[count - 1].to_ns : trace_summary(s->session->trace)->start_ns;
}

int session_index(struct session *session, const struct sweep_pace *pace, size_t *ret_count, struct err *err)
{
	const struct hangs_options options = { .root_pid = session->root_pid };
	struct sweep s = { .session = session, .options = &options, .laying = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,
			   .err = err, .usual = true, .pace = pace };
	const struct hang *hangs;
	struct arena arena;
	int r;

	arena_init(&arena);
	blocks_be_frugal(session->blocks);
	sparse_lie_in(blocks_folder(session->blocks, &arena));
	r = sweep(&s, &arena, &hangs, ret_count);
	*ret_count = r ? 0 : hangs_certain(hangs, *ret_count);
	if (!r)
		r = pace->before(pace->data, &(struct sweep_progress){ .hangs = *ret_count, .until_ns = judged_until(&s) });
	sparse_lie_in(NULL);
	sweep_done(&s);
	arena_done(&arena);
	return r ? r : blocks_save(session->blocks, err);
}
