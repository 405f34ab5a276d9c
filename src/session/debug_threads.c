/* The interactive session: what threads did, side by side and one by one: timelines,
 * sums, and each wait with who ended it. */
#include "session/debug.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/vec.h"
#include "diagnose/describe.h"
#include "symbols/demangle.h"

#define ROWS_SHOWN 24
#define THREADS_SHOWN 40
#define WAITS_SHOWN 60
#define NAME_COLUMNS 36        /* of a narrow terminal's timeline */
#define NAME_COLUMNS_MOST 56
#define COLUMNS_USUAL 80

static char state_letter(uint8_t state)
{
	switch ((enum span_state)state) {
	case SPAN_RUNNING: return '#';
	case SPAN_RUNNABLE: return '+';
	case SPAN_WAITING: return '.';
	case SPAN_STOPPED: return 'T';
	case SPAN_UNKNOWN: return '?';
	case SPAN_ABSENT: return ' ';
	}
	return '?';
}

/* One line of a timeline: in each column the state that filled most of it. */
static void put_row(struct debug *debug, uint32_t thread, uint64_t from, uint64_t to, int name_columns, unsigned columns, struct buf *out)
{
	buf_printf(out, "%-*.*s |", name_columns, name_columns, debug_who(debug, thread, from + (to - from) / 2));
	for (unsigned i = 0; i < columns; i++) {
		uint64_t begin = from + (uint64_t)((double)(to - from) * i / columns);
		uint64_t end = from + (uint64_t)((double)(to - from) * (i + 1) / columns);
		struct state_times times;
		uint8_t most = SPAN_UNKNOWN;

		scene_state_times(debug->session.scene, thread, begin, end > begin ? end : begin + 1, &times);
		for (uint8_t state = 0; state <= SPAN_ABSENT; state++)
			if (times.ns[state] > times.ns[most])
				most = state;
		buf_char(out, state_letter(most));
	}
	buf_text(out, "|\n");
}

/* Time of the chain that a thread is charged with. */
struct share {
	uint32_t thread;
	uint64_t ns;
	bool told;           /* the answer's path goes through it */
};

struct shares {
	struct vec(struct share) list;
};

static struct share *share_of(struct shares *shares, uint32_t thread)
{
	for (size_t i = 0; i < shares->list.length; i++)
		if (shares->list.items[i].thread == thread)
			return &shares->list.items[i];
	vec_push(&shares->list, ((struct share){ thread, 0, false }));
	return &shares->list.items[shares->list.length - 1];
}

/* Those of the path as they are; the others by their time. */
static int compare_shares(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->told || y->told)
		return y->told - x->told;
	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Threads in the order in which a timeline shows them: those that filled no column
 * of the chain come last, and are worth no row. */
static void collect_shares(const struct diagnosis *g, unsigned columns, struct shares *shares)
{
	uint64_t least = (g->end_ns - g->start_ns) / columns / 2;
	size_t told, kept;

	for (size_t i = 0; i < g->path_count; i++)
		if (g->path[i].actor.thread)
			share_of(shares, g->path[i].actor.thread)->told = true;
	told = shares->list.length;
	for (size_t i = 0; i < g->chain_count; i++)
		if (g->chain[i].actor.thread)
			share_of(shares, g->chain[i].actor.thread)->ns += g->chain[i].end_ns - g->chain[i].start_ns;
	if (shares->list.length > told)
		qsort(shares->list.items + told, shares->list.length - told, sizeof(struct share), compare_shares);
	for (kept = told; kept < shares->list.length && shares->list.items[kept].ns >= least; kept++)
		;
	shares->list.length = kept;
}

/* Whole names, as far as they leave half of a terminal's width. */
static int names_width(struct debug *debug, const struct diagnosis *g, const struct shares *shares)
{
	int most = debug->width ? debug->width / 2 : NAME_COLUMNS_MOST, longest = 0;

	if (most < NAME_COLUMNS || most > NAME_COLUMNS_MOST)
		most = most < NAME_COLUMNS ? NAME_COLUMNS : NAME_COLUMNS_MOST;
	for (size_t i = 0; i < shares->list.length && i < ROWS_SHOWN; i++) {
		int length = (int)strlen(debug_who(debug, shares->list.items[i].thread, g->start_ns + (g->end_ns - g->start_ns) / 2));

		longest = length > longest ? length : longest;
	}
	return longest < most ? longest : most;
}

int debug_timeline(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct diagnosis *g = debug->diagnosis;
	uint64_t columns = COLUMNS_USUAL;
	struct shares shares = { 0 };
	int r = debug_need_answer(debug, err), names;

	if (r)
		return r;
	if (debug->width > NAME_COLUMNS + 13)
		columns = (uint64_t)debug->width - NAME_COLUMNS - 3;
	if (words->count > 1 && (parse_number(words->items[1], &columns) || columns < 10 || columns > 1000))
		return err_set(err, -EINVAL, "columns: a number from 10 to 1000");
	collect_shares(g, (unsigned)columns, &shares);
	names = names_width(debug, g, &shares);
	if (words->count < 2 && debug->width > names + 13)
		columns = (uint64_t)(debug->width - names - 3);
	buf_printf(out, "%.3f s to %.3f s; # runs, + runnable, . waits, T stopped; a column is %s\n", debug_seconds(debug, g->start_ns),
		   debug_seconds(debug, g->end_ns), describe_time(&debug->arena, (g->end_ns - g->start_ns) / columns));
	for (size_t i = 0; i < shares.list.length && i < ROWS_SHOWN; i++)
		put_row(debug, shares.list.items[i].thread, g->start_ns, g->end_ns, names, (unsigned)columns, out);
	if (shares.list.length > ROWS_SHOWN)
		buf_printf(out, "... and %zu threads that took less of the time\n", shares.list.length - ROWS_SHOWN);
	vec_done(&shares.list);
	return 0;
}

/* ---- all threads ---- */

struct sums {
	uint32_t thread;
	struct state_times times;
};

static int compare_sums(const void *a, const void *b)
{
	const struct sums *x = a, *y = b;
	uint64_t tx = x->times.ns[SPAN_RUNNING] + x->times.ns[SPAN_RUNNABLE], ty = y->times.ns[SPAN_RUNNING] + y->times.ns[SPAN_RUNNABLE];

	return tx < ty ? 1 : tx > ty ? -1 : x->thread < y->thread ? -1 : x->thread > y->thread;
}

static bool fits(const struct thread *t, const char *text)
{
	return !text || strstr(t->comm, text) || strstr(t->command, text);
}

int debug_threads(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct scene *scene = debug->session.scene;
	const char *text = words->count > 1 ? words->items[1] : NULL;
	struct vec(struct sums) rows = { 0 };

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		struct sums sums = { .thread = i };

		if (!fits(&scene->tables->threads[i], text))
			continue;
		scene_state_times(scene, i, scene->start_ns, scene->end_ns, &sums.times);
		vec_push(&rows, sums);
	}
	if (!rows.length)
		return err_set(err, -ENOENT, "no thread has '%s' in its name or command", text ? text : "");
	qsort(rows.items, rows.length, sizeof(*rows.items), compare_sums);
	buf_text(out, "       ran     queued      waits  woke others  thread and command\n");
	for (size_t i = 0; i < rows.length && i < THREADS_SHOWN; i++) {
		const struct sums *s = &rows.items[i];
		const struct thread *t = &scene->tables->threads[s->thread];
		const struct scene_thread *did = &scene->threads[s->thread];

		buf_printf(out, "%10s %10s %10" PRIu32 " %12" PRIu32 "  %s", describe_time(&debug->arena, s->times.ns[SPAN_RUNNING]),
			   describe_time(&debug->arena, s->times.ns[SPAN_RUNNABLE]), did->wait_count, did->wake_count,
			   debug_who(debug, s->thread, t->end_ns));
		if (t->command[0])
			buf_text(out, "  ");
		buf_escaped(out, t->command, strnlen(t->command, 60), NULL);
		buf_char(out, '\n');
	}
	if (rows.length > THREADS_SHOWN)
		buf_printf(out, "... and %zu that ran less; `threads TEXT` shows those with the text in their names\n",
			   rows.length - THREADS_SHOWN);
	vec_done(&rows);
	return 0;
}

/* ---- the waits of one ---- */

static const char *end_words(struct debug *debug, const struct wait *w)
{
	switch ((enum wait_end)w->end) {
	case WAIT_END_THREAD:
		return arena_printf(&debug->arena, "woken by %s, event %" PRIu32, debug_who(debug, w->waker, w->end_ns), w->end_event);
	case WAIT_END_TIMEOUT: return "until its own time limit";
	case WAIT_END_SOURCE: return arena_printf(&debug->arena, "woken by %s", describe_source(w));
	case WAIT_END_UNKNOWN: return "nothing tells what ended it";
	case WAIT_END_OPEN: return "to the end of the trace";
	}
	return "";
}

static int longer_first(const void *a, const void *b)
{
	const struct wait *const *x = a, *const *y = b;
	uint64_t tx = (*x)->end_ns - (*x)->start_ns, ty = (*y)->end_ns - (*y)->start_ns;

	return tx < ty ? 1 : tx > ty ? -1 : *x < *y ? -1 : *x > *y;
}

static int by_time(const void *a, const void *b)
{
	const struct wait *const *x = a, *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* A wait, and what the thread did since the one before. */
static void put_wait(struct debug *debug, const struct wait *w, struct buf *out)
{
	const struct scene *scene = debug->session.scene;
	const struct scene_thread *t = &scene->threads[w->thread];
	struct describer d = debug_describer(debug);
	uint64_t since = w > scene->waits + t->wait ? w[-1].end_ns : scene->start_ns;
	const char *words = describe_wait(&d, w);
	struct actor place = { 0 };
	struct state_times times;

	scene_state_times(scene, w->thread, since < w->start_ns ? since : w->start_ns, w->start_ns, &times);
	buf_printf(out, "%12.6f s %10s %10s %10s  ", debug_seconds(debug, w->start_ns),
		   describe_time(&debug->arena, times.ns[SPAN_RUNNING]), describe_time(&debug->arena, times.ns[SPAN_RUNNABLE]),
		   describe_time(&debug->arena, w->end_ns - w->start_ns));
	buf_escaped(out, words, strlen(words), NULL);
	describe_place(&d, w->ustack, &place);
	if (place.function) {
		buf_text(out, ", in ");
		words = demangle_brief(&debug->arena, place.function);
		buf_escaped(out, words, strlen(words), NULL);
	}
	buf_printf(out, "; %s", end_words(debug, w));
	if (w->begin_event)
		buf_printf(out, " (begun by event %" PRIu32 ")", w->begin_event);
	buf_char(out, '\n');
}

/* The thread that is meant, and the stretch. */
static int choose_stretch(struct debug *debug, const struct debug_words *words, uint32_t *ret_thread, uint64_t *ret_from,
			  uint64_t *ret_to, struct err *err)
{
	const struct scene *scene = debug->session.scene;
	const struct debug_place *place;
	uint64_t tid;
	int r = 0;

	*ret_from = debug->diagnosis && words->count < 2 ? debug->diagnosis->start_ns : scene->start_ns;
	*ret_to = debug->diagnosis && words->count < 2 ? debug->diagnosis->end_ns : scene->end_ns;
	if (words->count == 3 || words->count > 4)
		return debug_usage(words, err);
	if (words->count == 1) {
		place = debug_place_now(debug, err);
		if (place)
			*ret_thread = place->thread;
		return place ? 0 : -ENOENT;
	}
	r = debug_number(words->items[1], &tid, err);
	if (!r && words->count == 4)
		r = session_time(&debug->session, words->items[2], ret_from, err);
	if (!r && words->count == 4)
		r = session_time(&debug->session, words->items[3], ret_to, err);
	if (r)
		return r;
	*ret_thread = tid <= UINT32_MAX ? tables_thread(debug->session.tables, (uint32_t)tid, *ret_to) : 0;
	if (!*ret_thread && tid <= UINT32_MAX)
		*ret_thread = tables_thread(debug->session.tables, (uint32_t)tid, *ret_from);
	return *ret_thread ? 0 : err_set(err, -ENOENT, "thread %s is not in the trace at that time", words->items[1]);
}

int debug_waits(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const struct scene *scene = debug->session.scene;
	struct vec(const struct wait *) rows = { 0 };
	const struct scene_thread *t;
	uint64_t from, to;
	uint32_t thread;
	size_t all;
	int r = choose_stretch(debug, words, &thread, &from, &to, err);

	if (r)
		return r;
	t = &scene->threads[thread];
	for (uint32_t i = t->wait; i < t->wait + t->wait_count; i++)
		if (scene->waits[i].end_ns > from && scene->waits[i].start_ns < to)
			vec_push(&rows, &scene->waits[i]);
	all = rows.length;
	buf_printf(out, "%s from %.3f s to %.3f s: %zu wait%s\n", debug_who(debug, thread, from + (to - from) / 2), debug_seconds(debug, from),
		   debug_seconds(debug, to), all, all == 1 ? "" : "s");
	if (all) {
		qsort(rows.items, all, sizeof(*rows.items), longer_first);
		rows.length = all < WAITS_SHOWN ? all : WAITS_SHOWN;
		qsort(rows.items, rows.length, sizeof(*rows.items), by_time);
		buf_text(out, "          at        ran     queued     waited  for what\n");
	}
	for (size_t i = 0; i < rows.length; i++)
		put_wait(debug, rows.items[i], out);
	if (all > rows.length)
		buf_printf(out, "... the longest %zu; `waits TID FROM TO` shows a shorter stretch\n", rows.length);
	vec_done(&rows);
	return 0;
}
