/* The walk of a run's path, see path_walk.h. */
#include "session/path_walk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/quiet_thread.h"
#include "diagnose/judgement.h"
#include "graph/graph.h"
#include "path/critical.h"
#include "path/pools.h"
#include "session/life.h"
#include "symbols/file_opener.h"
#include "symbols/module_shelf.h"
#include "trace/blocks.h"

#define PART_BLOCKS 16u
#define WALKERS 2u

/* A scene, or a part's: what is found in it, before it is joined to the whole. */
struct piece_of_walk {
	struct scene *scene;
	struct names *names;
	struct diagnoser *diagnoser;
	uint64_t from_ns, to_ns;  /* of the path */
	uint32_t thread;          /* whose path it is; 0: it did not live then */
	struct fold fold;
	struct naming naming;
	struct critical critical;
};

/* The thread, and as much of the piece as it lived. */
static uint32_t thread_of(const struct path_walk *walk, struct piece_of_walk *p)
{
	const struct tables *tables = p->scene->tables;
	uint32_t thread = tables_thread(tables, walk->tid, p->to_ns - 1);
	const struct thread *t;

	if (!thread)
		thread = tables_thread(tables, walk->tid, p->from_ns);
	for (uint32_t i = tables->thread_count; !thread && i-- > 1; )
		if (tables->threads[i].tid == walk->tid)
			thread = i;
	t = &tables->threads[thread];
	if (!thread || t->start_ns >= p->to_ns || t->end_ns <= p->from_ns)
		return 0;
	if (t->start_ns > p->from_ns)
		p->from_ns = t->start_ns;
	if (t->end_ns < p->to_ns)
		p->to_ns = t->end_ns;
	return thread;
}

static void walk_piece(const struct path_walk *walk, struct piece_of_walk *p, uint64_t whole_ns)
{
	fold_init_part(&p->fold, walk->fold);
	p->thread = thread_of(walk, p);
	if (!p->thread)
		return;
	p->critical = (struct critical){ .naming = &p->naming, .diagnoser = p->diagnoser, .fold = &p->fold, .whole_ns = whole_ns };
	naming_init(&p->naming, p->scene, p->diagnoser, p->names, &p->fold.texts, walk->lock_names);
	critical_begin(&p->critical);
	critical_add(&p->critical, p->thread, p->from_ns, p->to_ns);
	holds_count_queues(&p->naming, &p->fold, p->from_ns, p->to_ns);
	critical_end(&p->critical);
}

/* Pieces come from the last to the first. */
static void join_piece(struct path_walk *walk, struct piece_of_walk *p)
{
	const struct thread *t = &p->scene->tables->threads[p->thread];

	if (p->thread) {
		fold_join(walk->fold, &p->fold);
		fold_part_end(walk->fold);
		/* whose threads count is told by the pieces behind, too */
		naming_anew(&p->naming, &walk->fold->texts);
		pools_count(&p->naming, walk->fold, p->from_ns, p->to_ns);
		naming_done(&p->naming);
	}
	if (p->thread && !walk->comm) {
		walk->to_ns = p->to_ns;
		walk->pid = t->pid;
		walk->comm = arena_strdup(walk->arena, t->comm);
	}
	if (p->thread)
		walk->from_ns = p->from_ns;
	fold_done(&p->fold);
}

void path_walk_scene(struct path_walk *walk)
{
	const struct session *s = walk->session;
	struct piece_of_walk piece = { .scene = s->scene, .names = s->names, .diagnoser = s->diagnoser, .from_ns = walk->from_ns, .to_ns = walk->to_ns };

	walk_piece(walk, &piece, walk->to_ns - walk->from_ns);
	join_piece(walk, &piece);
}

/* ---- a long trace ---- */

/* Some blocks, as the walk needs them. */
struct part {
	size_t number;            /* from the last one of the path on */
	uint64_t from_ns, to_ns;  /* of the path */
	struct arena arena;
	struct trace *trace;
	struct scene *scene;      /* laid out thread by thread */
	struct names *names;
	struct judgement judgement; /* what it notes is the part's own */
	struct standing_ends ends; /* how waits end that stand where the part does */
};

struct walkers {
	struct path_walk *walk;
	uint64_t from_ns, to_ns;  /* of the path */
	size_t first, end, count; /* blocks, parts */
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t next;              /* part to be taken up */
	size_t told;              /* ... of which it is known how its waits end */
	size_t joined;            /* so many are in the fold */
	struct life *life;        /* of the thread; NULL: it may be there all the time */
	struct standing_ends ends; /* of the waits that stand where part `told` ends */
	struct progress progress;
	int status;
	struct err err;
};

struct walker {
	struct walkers *all;
	struct graph_room room;   /* of one part's graph after the other's */
	struct module_shelf *shelf; /* and its names */
	pthread_t thread;
	bool started;
};

/* The blocks that are the part of that number. */
static void blocks_of(const struct walkers *all, size_t number, size_t *ret_first, size_t *ret_end)
{
	*ret_end = all->end - number * PART_BLOCKS;
	*ret_first = *ret_end - all->first > PART_BLOCKS ? *ret_end - PART_BLOCKS : all->first;
}

static int part_make(struct walkers *all, struct walker *walker, struct part *part, struct err *err)
{
	const struct names_options options = { .shelf = walker->shelf };
	struct blocks *blocks = all->walk->session->blocks;
	uint64_t from_ns, to_ns;
	size_t first, end;
	int r;

	blocks_of(all, part->number, &first, &end);
	from_ns = blocks_at(blocks, first)->from_ns;
	to_ns = blocks_end_ns(blocks, end - 1);
	r = blocks_part(blocks, first, end - 1, all->to_ns, &part->arena, &part->trace, err);
	part->from_ns = from_ns > all->from_ns ? from_ns : all->from_ns;
	part->to_ns = to_ns < all->to_ns ? to_ns + 1 : all->to_ns;
	if (!r)
		r = scene_build_lazily(part->trace, &walker->room, &part->scene, err);
	if (!r)
		r = names_open(part->trace, part->scene->tables, &options, &part->names, err);
	if (!r && all->walk->session->judgement) {
		part->judgement = *all->walk->session->judgement;
		memset(&part->judgement.spoken, 0, sizeof(part->judgement.spoken));
		part->scene->judgement = &part->judgement;
	}
	return r;
}

static void part_free(struct part *part)
{
	if (part->names)
		names_close(part->names);
	scene_free(part->scene);
	if (part->trace)
		trace_close(part->trace);
	judgement_done(&part->judgement);
	vec_done(&part->ends);
	arena_done(&part->arena);
}

/* Waits until it is the part's turn; false when something went wrong meanwhile. */
static bool await(struct walkers *all, const size_t *turn, size_t number)
{
	pthread_mutex_lock(&all->lock);
	while (*turn != number && !all->status)
		pthread_cond_wait(&all->moved, &all->lock);
	pthread_mutex_unlock(&all->lock);
	return !all->status;
}

static void pass_on(struct walkers *all, size_t *turn)
{
	pthread_mutex_lock(&all->lock);
	++*turn;
	pthread_cond_broadcast(&all->moved);
	pthread_mutex_unlock(&all->lock);
}

static void give_up(struct walkers *all, int status, const struct err *err)
{
	pthread_mutex_lock(&all->lock);
	if (!all->status) {
		all->err = *err;
		all->status = status;
	}
	pthread_cond_broadcast(&all->moved);
	pthread_mutex_unlock(&all->lock);
}

/* In the parts' order: how waits end, then, after the walk, what was found. */
static void walk_part(struct walkers *all, struct part *part)
{
	struct path_walk *walk = all->walk;
	struct piece_of_walk piece = { .scene = part->scene, .names = part->names, .from_ns = part->from_ns, .to_ns = part->to_ns };

	if (!await(all, &all->told, part->number))
		return;
	part->ends = all->ends;
	critical_apply(part->scene, &part->ends);
	critical_carry(part->scene, piece.from_ns, &part->ends, &all->ends);
	pass_on(all, &all->told);
	piece.diagnoser = diagnoser_new(part->scene, part->names);
	walk_piece(walk, &piece, all->to_ns - all->from_ns);
	if (await(all, &all->joined, part->number)) {
		join_piece(walk, &piece);
		for (size_t i = 0; i < part->judgement.spoken.length; i++)
			judgement_add_spoken(walk->session->judgement, &part->judgement.spoken.items[i]);
		progress_to(&all->progress, (part->number + 1) * PART_BLOCKS);
		pass_on(all, &all->joined);
	} else {
		if (piece.thread)
			naming_done(&piece.naming);
		fold_done(&piece.fold);
	}
	diagnoser_free(piece.diagnoser);
}

/* Where the thread was not there is nothing of its path; of the part behind it is needed how waits end. */
static bool is_needed(const struct walkers *all, size_t number)
{
	const struct blocks *blocks = all->walk->session->blocks;
	size_t first, end, before, unused;

	blocks_of(all, number, &first, &end);
	before = first;
	if (number + 1 < all->count)
		blocks_of(all, number + 1, &before, &unused);
	return !all->life || life_is_there(all->life, blocks_at(blocks, before)->from_ns, blocks_end_ns(blocks, end - 1));
}

static void pass_over(struct walkers *all, const struct part *part)
{
	if (!await(all, &all->told, part->number))
		return;
	vec_clear(&all->ends);
	pass_on(all, &all->told);
	if (await(all, &all->joined, part->number))
		pass_on(all, &all->joined);
}

/* Part after part, until there is none left. */
static void *walk_parts(void *data)
{
	struct walker *walker = data;
	struct walkers *all = walker->all;

	for (;;) {
		struct part part = { 0 };
		struct err err;
		int r;

		pthread_mutex_lock(&all->lock);
		part.number = all->status ? all->count : all->next++;
		pthread_mutex_unlock(&all->lock);
		if (part.number >= all->count)
			return NULL;
		if (!is_needed(all, part.number)) {
			pass_over(all, &part);
			continue;
		}
		arena_init(&part.arena);
		r = part_make(all, walker, &part, &err);
		if (r)
			give_up(all, r, &err);
		else
			walk_part(all, &part);
		part_free(&part);
	}
}

static void start(struct walker *walker)
{
	walker->started = !quiet_thread(&walker->thread, walk_parts, walker);
}

static void walk_all(struct walkers *all)
{
	struct walker walkers[WALKERS] = { 0 };

	for (unsigned i = 0; i < WALKERS; i++)
		walkers[i] = (struct walker){ .all = all, .shelf = module_shelf_new() };
	for (unsigned i = 0; i < WALKERS && all->count > 1; i++)
		file_opener_prepare(module_shelf_opener(walkers[i].shelf));
	for (unsigned i = 1; i < WALKERS && i < all->count; i++)
		if (sysconf(_SC_NPROCESSORS_ONLN) > (long)i)
			start(&walkers[i]);
	walk_parts(&walkers[0]);
	for (unsigned i = 0; i < WALKERS; i++) {
		if (walkers[i].started)
			pthread_join(walkers[i].thread, NULL);
		graph_room_done(&walkers[i].room);
		module_shelf_free(walkers[i].shelf);
	}
}

int path_walk_blocks(struct path_walk *walk, struct err *err)
{
	struct blocks *blocks = walk->session->blocks;
	size_t first = blocks_find(blocks, walk->from_ns), end = blocks_find(blocks, walk->to_ns) + 1;
	struct walkers all = { .walk = walk, .from_ns = walk->from_ns, .to_ns = walk->to_ns, .first = first, .end = end,
			       .count = (end - first + PART_BLOCKS - 1) / PART_BLOCKS };

	mem_part(true);
	if (all.count > 1)
		all.life = life_of_thread(walk->session->trace, walk->tid);
	if (all.count > 1)
		lock_names_prepare(walk->lock_names);
	if (end - first > PART_BLOCKS)
		all.status = blocks_find_standing(blocks, end - PART_BLOCKS, PART_BLOCKS, &all.err);
	pthread_mutex_init(&all.lock, NULL);
	pthread_cond_init(&all.moved, NULL);
	progress_begin(&all.progress, "walking the path", end - first);
	if (!all.status)
		walk_all(&all);
	progress_end(&all.progress);
	pthread_cond_destroy(&all.moved);
	pthread_mutex_destroy(&all.lock);
	vec_done(&all.ends);
	life_free(all.life);
	mem_part(false);
	if (all.status)
		*err = all.err;
	return all.status;
}
