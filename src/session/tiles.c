#include "session/tiles.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "trace/blocks.h"
#include "trace/states.h"

#define STATE_BITS 3u
#define STATE_MASK ((1u << STATE_BITS) - 1)
_Static_assert(LANE_ABSENT <= STATE_MASK && (int)THREAD_STOPPED == (int)LANE_STOPPED, "states fit, and are the same");

struct tile_lane {
	uint32_t tid, first, count;
};

struct tile {
	struct tile_lane *lanes;     /* by number; of one that was used twice, both parts are one lane */
	uint64_t *pieces;            /* where each begins, in ns from from_ns on, and above it its state */
	uint64_t from_ns, used;      /* used: when it was last looked at, counted in looks */
	size_t block, bytes;
	uint32_t lane_count;
};

struct tiles {
	const struct session *session;
	pthread_mutex_t lock;        /* of all that follows */
	pthread_cond_t wanted;
	pthread_t worker;
	bool working, ends;          /* the worker was started; it is to end */
	size_t first, last;          /* blocks that are wanted; first > last: none */
	struct err failed;           /* why one could not be decoded */
	struct vec(struct tile) kept; /* by block */
	uint64_t looks;
	size_t most_bytes, bytes;
};

struct tiles *tiles_new(const struct session *session, size_t most_bytes)
{
	struct tiles *tiles = mem_zalloc(sizeof(*tiles));

	pthread_mutex_init(&tiles->lock, NULL);
	pthread_cond_init(&tiles->wanted, NULL);
	tiles->session = session;
	tiles->most_bytes = most_bytes;
	tiles->first = 1;
	return tiles;
}

static void tile_done(struct tile *tile)
{
	free(tile->lanes);
	free(tile->pieces);
}

void tiles_free(struct tiles *tiles)
{
	if (!tiles)
		return;
	pthread_mutex_lock(&tiles->lock);
	tiles->ends = true;
	pthread_cond_signal(&tiles->wanted);
	pthread_mutex_unlock(&tiles->lock);
	if (tiles->working)
		pthread_join(tiles->worker, NULL);
	pthread_cond_destroy(&tiles->wanted);
	pthread_mutex_destroy(&tiles->lock);
	for (size_t i = 0; i < tiles->kept.length; i++)
		tile_done(&tiles->kept.items[i]);
	vec_done(&tiles->kept);
	free(tiles);
}

/* ---- a tile from its events ---- */

struct cut_piece {
	uint64_t start_ns, end_ns;
	uint32_t thread;
	uint8_t state;
};

struct cutting {
	const struct tables *tables;
	struct vec(struct cut_piece) pieces;
	uint64_t from_ns, to_ns;
};

static void take_interval(void *data, const struct state_interval *i)
{
	struct cutting *c = data;
	uint64_t from = i->from_ns > c->from_ns ? i->from_ns : c->from_ns, to = i->to_ns < c->to_ns ? i->to_ns : c->to_ns;

	if (from < to)
		vec_push(&c->pieces, ((struct cut_piece){ from, to, i->thread, i->state }));
}

static int compare_lanes(const void *a, const void *b)
{
	const struct tile_lane *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* One lane for each number, with room for its pieces and for an end behind each. */
static void make_lanes(const struct cutting *c, struct tile *tile)
{
	uint32_t count = 0;
	struct tile_lane *lanes = mem_zalloc(arena_array_bytes(sizeof(*lanes), c->tables->thread_count));

	for (uint32_t i = 1; i < c->tables->thread_count; i++)
		lanes[count++].tid = c->tables->threads[i].tid;
	if (count)
		qsort(lanes, count, sizeof(*lanes), compare_lanes);
	for (uint32_t i = 0; i < count; i++)
		if (!tile->lane_count || lanes[tile->lane_count - 1].tid != lanes[i].tid)
			lanes[tile->lane_count++].tid = lanes[i].tid;
	tile->lanes = lanes;
}

static struct tile_lane *find_lane(const struct tile *tile, uint32_t tid)
{
	uint32_t low = 0, high = tile->lane_count;

	SEARCH(low, high, middle, tile->lanes[middle].tid < tid);
	return low < tile->lane_count && tile->lanes[low].tid == tid ? &tile->lanes[low] : NULL;
}

static uint64_t pack(const struct cutting *c, uint64_t at_ns, unsigned state)
{
	return (at_ns - c->from_ns) << STATE_BITS | state;
}

/* Behind what the lane has; equal neighbours become one. */
static void put_piece(const struct cutting *c, const struct tile *tile, struct tile_lane *lane, const struct cut_piece *piece)
{
	uint64_t *at = tile->pieces + lane->first, *last = lane->count ? &at[lane->count - 1] : NULL;
	uint64_t start = pack(c, piece->start_ns, piece->state);

	if (last && *last >> STATE_BITS > start >> STATE_BITS)
		return;          /* of one that had the number before, whose end nothing told */
	/* its absence, which the piece before it was given as an end */
	if (last && *last >> STATE_BITS == start >> STATE_BITS)
		lane->count--;
	if (!lane->count || (at[lane->count - 1] & STATE_MASK) != piece->state)
		at[lane->count++] = start;
	if (piece->end_ns < c->to_ns)
		at[lane->count++] = pack(c, piece->end_ns, LANE_ABSENT);
}

static void lay_pieces(const struct cutting *c, struct tile *tile)
{
	struct tile_lane **of = mem_zalloc(arena_array_bytes(sizeof(struct tile_lane *), c->tables->thread_count));
	uint32_t first = 0;

	for (uint32_t i = 1; i < c->tables->thread_count; i++)
		of[i] = find_lane(tile, c->tables->threads[i].tid);
	for (size_t i = 0; i < c->pieces.length; i++)
		of[c->pieces.items[i].thread]->count += 2;
	for (uint32_t i = 0; i < tile->lane_count; i++) {
		tile->lanes[i].first = first;
		first += tile->lanes[i].count;
		tile->lanes[i].count = 0;
	}
	tile->pieces = mem_alloc(arena_array_bytes(sizeof(*tile->pieces), first));
	for (size_t i = 0; i < c->pieces.length; i++)
		put_piece(c, tile, of[c->pieces.items[i].thread], &c->pieces.items[i]);
	free(of);
}

/* Without the room that ends would have taken. */
static void close_up(struct tile *tile)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < tile->lane_count; i++) {
		memmove(tile->pieces + used, tile->pieces + tile->lanes[i].first, tile->lanes[i].count * sizeof(*tile->pieces));
		tile->lanes[i].first = used;
		used += tile->lanes[i].count;
	}
	tile->pieces = mem_realloc(tile->pieces, arena_array_bytes(sizeof(*tile->pieces), used));
	tile->lanes = mem_realloc(tile->lanes, arena_array_bytes(sizeof(*tile->lanes), tile->lane_count));
	tile->bytes = used * sizeof(*tile->pieces) + tile->lane_count * sizeof(*tile->lanes);
}

static void cut(const struct trace *part, const struct tables *tables, struct tile *tile)
{
	struct cutting c = { .tables = tables, .from_ns = tile->from_ns, .to_ns = trace_summary(part)->end_ns };
	struct states *states = states_new(part, tables, take_interval, &c);
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor;

	states_filter(&filter);
	cursor = trace_cursor_new(part, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); )
		states_take(states, e);
	trace_cursor_free(cursor);
	states_finish(states);
	make_lanes(&c, tile);
	lay_pieces(&c, tile);
	close_up(tile);
	vec_done(&c.pieces);
}

static int make_tile(const struct session *session, size_t block, struct tile *tile, struct err *err)
{
	struct tables *tables;
	struct arena arena;
	struct trace *part;
	int r;

	arena_init(&arena);
	*tile = (struct tile){ .block = block, .from_ns = blocks_at(session->blocks, block)->from_ns };
	r = blocks_part(session->blocks, block, block, UINT64_MAX, &arena, &part, err);
	if (!r) {
		r = tables_build_parts(part, TABLES_THREADS, &tables, err);
		if (!r) {
			cut(part, tables, tile);
			tables_free(tables);
		}
		trace_close(part);
	}
	arena_done(&arena);
	return r;
}

/* ---- those that are kept ---- */

static size_t place_of(const struct tiles *tiles, size_t block)
{
	size_t low = 0, high = tiles->kept.length;

	SEARCH(low, high, middle, tiles->kept.items[middle].block < block);
	return low;
}

static void forget(struct tiles *tiles, size_t i)
{
	tiles->bytes -= tiles->kept.items[i].bytes;
	tile_done(&tiles->kept.items[i]);
	memmove(tiles->kept.items + i, tiles->kept.items + i + 1, (--tiles->kept.length - i) * sizeof(*tiles->kept.items));
}

/* The longest unused goes first; none of this look. */
static void make_room(struct tiles *tiles)
{
	while (tiles->bytes > tiles->most_bytes) {
		size_t oldest = 0;

		for (size_t i = 1; i < tiles->kept.length; i++)
			if (tiles->kept.items[i].used < tiles->kept.items[oldest].used)
				oldest = i;
		if (!tiles->kept.length || tiles->kept.items[oldest].used == tiles->looks)
			return;
		forget(tiles, oldest);
	}
}

bool tiles_fit(const struct tiles *tiles, uint64_t from_ns, uint64_t to_ns)
{
	return blocks_find(tiles->session->blocks, to_ns) - blocks_find(tiles->session->blocks, from_ns) < TILES_CLOSE;
}

static bool is_kept(const struct tiles *tiles, size_t block)
{
	size_t at = place_of(tiles, block);

	return at < tiles->kept.length && tiles->kept.items[at].block == block;
}

static void keep(struct tiles *tiles, const struct tile *tile)
{
	size_t at = place_of(tiles, tile->block);

	vec_push(&tiles->kept, *tile);
	memmove(tiles->kept.items + at + 1, tiles->kept.items + at, (tiles->kept.length - 1 - at) * sizeof(*tile));
	tiles->kept.items[at] = *tile;
	tiles->kept.items[at].used = tiles->looks;
	tiles->bytes += tile->bytes;
	make_room(tiles);
}

/* Decodes one that is wanted; the lock is held, but for the decoding. */
static void decode(struct tiles *tiles, size_t block)
{
	struct err err = { 0 };
	struct tile tile;
	int r;

	pthread_mutex_unlock(&tiles->lock);
	r = make_tile(tiles->session, block, &tile, &err);
	pthread_mutex_lock(&tiles->lock);
	if (r)
		tiles->failed = err;
	else
		keep(tiles, &tile);
}

static void *work(void *data)
{
	struct tiles *tiles = data;

	pthread_mutex_lock(&tiles->lock);
	while (!tiles->ends) {
		if (tiles->first > tiles->last || tiles->failed.code)
			pthread_cond_wait(&tiles->wanted, &tiles->lock);
		else if (is_kept(tiles, tiles->first))
			tiles->first++;
		else
			decode(tiles, tiles->first);
	}
	pthread_mutex_unlock(&tiles->lock);
	return NULL;
}

/* With the lock. */
static int look(struct tiles *tiles, size_t first, size_t last, struct err *err)
{
	bool all = true;

	if (tiles->failed.code)
		return err_set(err, tiles->failed.code, "%s", tiles->failed.text);
	tiles->looks++;
	for (size_t block = first; block <= last; block++)
		if (is_kept(tiles, block))
			tiles->kept.items[place_of(tiles, block)].used = tiles->looks;
		else
			all = false;
	if (all)
		return 1;
	tiles->first = first;
	tiles->last = last;
	if (!tiles->working && pthread_create(&tiles->worker, NULL, work, tiles))
		return err_set(err, -EAGAIN, "no thread can be started");
	tiles->working = true;
	pthread_cond_signal(&tiles->wanted);
	return 0;
}

int tiles_look(struct tiles *tiles, uint64_t from_ns, uint64_t to_ns, struct err *err)
{
	size_t first = blocks_find(tiles->session->blocks, from_ns), last = blocks_find(tiles->session->blocks, to_ns);
	int r;

	pthread_mutex_lock(&tiles->lock);
	r = look(tiles, first, last, err);
	pthread_mutex_unlock(&tiles->lock);
	return r;
}

void tiles_hold(struct tiles *tiles)
{
	pthread_mutex_lock(&tiles->lock);
}

void tiles_release(struct tiles *tiles)
{
	pthread_mutex_unlock(&tiles->lock);
}

/* ---- lanes ---- */

/* The thread's pieces of the tile between two moments; the first one may begin before. */
struct stretch_of_tile {
	const uint64_t *pieces;
	uint64_t base_ns, from_ns, to_ns;
	uint32_t first, end, count;
};

static struct stretch_of_tile stretch_of(const struct tiles *tiles, size_t i, uint32_t tid, uint64_t from_ns, uint64_t to_ns)
{
	const struct tile *tile = &tiles->kept.items[i];
	const struct tile_lane *lane = find_lane(tile, tid);
	uint64_t end_ns = blocks_end_ns(tiles->session->blocks, tile->block);
	struct stretch_of_tile s = { .base_ns = tile->from_ns, .from_ns = from_ns > tile->from_ns ? from_ns : tile->from_ns,
				     .to_ns = end_ns < to_ns ? end_ns + 1 : to_ns };
	uint32_t low = 0, high;

	if (!lane || s.from_ns >= s.to_ns)
		return s;
	s.pieces = tile->pieces + lane->first;
	s.count = high = lane->count;
	SEARCH(low, high, at, (s.pieces[at] >> STATE_BITS) + s.base_ns <= s.from_ns);
	s.first = low ? low - 1 : 0;
	high = lane->count;
	SEARCH(low, high, end, (s.pieces[end] >> STATE_BITS) + s.base_ns < s.to_ns);
	s.end = low;
	return s;
}

static void add_stretch(const struct stretch_of_tile *s, struct lane_mixing *mixing)
{
	for (uint32_t i = s->first; i < s->end; i++) {
		uint64_t start = (s->pieces[i] >> STATE_BITS) + s->base_ns, end = i + 1 < s->count ? (s->pieces[i + 1] >> STATE_BITS) + s->base_ns : s->to_ns;
		struct lane_cell cell = { .start_ns = start > s->from_ns ? start : s->from_ns, .state = (uint8_t)(s->pieces[i] & STATE_MASK) };

		end = end < s->to_ns ? end : s->to_ns;
		if (cell.start_ns < end)
			lane_mix(mixing, &cell, end);
	}
}

void tiles_lane(const struct tiles *tiles, uint32_t tid, uint64_t born_ns, uint64_t gone_ns, uint64_t from_ns, uint64_t to_ns, unsigned most,
		struct lane_cells *cells)
{
	uint64_t from = born_ns > from_ns ? born_ns : from_ns, to = gone_ns < to_ns ? gone_ns : to_ns;
	size_t first = place_of(tiles, blocks_find(tiles->session->blocks, from)), last = first, pieces = 0;
	struct lane_mixing mixing = { .cells = cells };

	if (from >= to)
		return;
	for (; last < tiles->kept.length && tiles->kept.items[last].from_ns < to; last++) {
		struct stretch_of_tile s = stretch_of(tiles, last, tid, from, to);

		pieces += s.end - s.first;
	}
	mixing.least_ns = lane_least(from, to, pieces, most);
	for (size_t i = first; i < last; i++) {
		struct stretch_of_tile s = stretch_of(tiles, i, tid, from, to);

		add_stretch(&s, &mixing);
	}
	lane_mix_end(&mixing);
	if (to < to_ns)
		vec_push(cells, ((struct lane_cell){ .start_ns = to, .state = LANE_ABSENT }));
}
