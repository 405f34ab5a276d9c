/* The folded path of a window, see path_picture.h. */
#include "session/path_picture.h"

#include <string.h>

#include "path/critical.h"
#include "path/lock_names.h"
#include "path/pools.h"
#include "path/report.h"
#include "session/path_run.h"

#define SHORT_PART 200u   /* of the path: shorter links are not told one by one */
#define ROWS_SHOWN 12u

bool path_window_of(const struct session *session, uint32_t tid, uint64_t from_ns, uint64_t to_ns, size_t cells, struct fold *ret_fold)
{
	const struct path_question question = { .tid = tid, .from_ns = from_ns, .to_ns = to_ns, .line_cells = (unsigned)cells,
						.short_below_ns = (to_ns - from_ns) / SHORT_PART };

	return from_ns < to_ns && path_fold_of(session, &question, ret_fold);
}

bool path_window(const struct session *session, uint32_t thread, uint64_t from_ns, uint64_t to_ns, size_t cells, struct fold *ret_fold)
{
	struct critical critical = { .diagnoser = session->diagnoser, .fold = ret_fold, .whole_ns = to_ns - from_ns };
	struct lock_names *lock_names;
	struct naming naming;

	if (!session->scene || !thread || from_ns >= to_ns)
		return false;
	if (from_ns < session->scene->start_ns || to_ns > session->scene->end_ns)
		return session->blocks && path_window_of(session, session->tables->threads[thread].tid, from_ns, to_ns, cells, ret_fold);
	fold_init(ret_fold);
	ret_fold->short_below_ns = (to_ns - from_ns) / SHORT_PART;
	line_begin(&ret_fold->line, from_ns, to_ns, cells);
	lock_names = lock_names_new(session->trace, from_ns, to_ns);
	naming_init(&naming, session->scene, session->diagnoser, session->names, &ret_fold->texts, lock_names);
	critical.naming = &naming;
	critical_begin(&critical);
	critical_add(&critical, thread, from_ns, to_ns);
	fold_part_end(ret_fold);
	holds_count_queues(&naming, ret_fold, from_ns, to_ns);
	pools_count(&naming, ret_fold, from_ns, to_ns);
	critical_end(&critical);
	naming_done(&naming);
	lock_names_free(lock_names);
	fold_finish(ret_fold);
	return true;
}

bool path_in_pieces(const struct fold *fold)
{
	return fold->rows.length && fold->short_ns * 2 >= fold->total_ns;
}

static bool is_named(const struct session *session, const struct actor *actor, uint64_t time, const char *program)
{
	uint32_t leader = actor->pid ? tables_process(session->tables, actor->pid, time) : 0;

	return leader && !strcmp(session->tables->threads[leader].comm, program);
}

static bool names_program(const struct session *session, const struct diagnosis *g, const char *program)
{
	bool named = is_named(session, &g->victim, g->end_ns, program) || is_named(session, &g->culprit, g->end_ns, program);

	for (size_t i = 0; i < g->path_count && !named; i++)
		named = is_named(session, &g->path[i].actor, g->end_ns, program);
	for (size_t i = 0; i < g->circle_count && !named; i++)
		named = is_named(session, &g->circle[i], g->end_ns, program);
	return named;
}

bool path_agrees(const struct session *session, const struct diagnosis *g, const struct fold *fold)
{
	uint64_t named_ns = 0;

	for (size_t i = 0; i < fold->rows.length; i++)
		if (names_program(session, g, texts_get(&fold->texts, fold->rows.items[i].who.program)))
			named_ns += fold->rows.items[i].ns;
	return named_ns * 2 >= fold->total_ns;
}

static void put_row(const struct fold *fold, const struct fold_row *row, struct json *json)
{
	struct buf text;

	buf_init(&text);
	json_object(json, NULL);
	report_path_row_words(fold, row, &text);
	json_text(json, "what", buf_str(&text));
	buf_clear(&text);
	report_path_doings(fold, row, &text);
	json_text(json, "doing", buf_str(&text));
	json_u64(json, "ns", row->ns);
	json_u64(json, "count", row->count);
	json_u64(json, "median_ns", row->median_ns);
	json_u64(json, "longest_ns", row->longest_ns);
	json_end(json);
	buf_done(&text);
}

static int64_t shown_row(const struct fold *fold, size_t cell)
{
	uint32_t row = line_row(&fold->line, cell);

	return row < ROWS_SHOWN ? (int64_t)row : -1;
}

void path_picture_json(const struct fold *fold, uint64_t from_ns, uint64_t to_ns, const char *name, struct json *json)
{
	if (!fold->rows.length) {
		json_null(json, name);
		return;
	}
	json_object(json, name);
	json_u64(json, "from_ns", from_ns);
	json_u64(json, "to_ns", to_ns);
	json_u64(json, "total_ns", fold->total_ns);
	json_u64(json, "unknown_ns", fold->unknown_ns);
	json_u64(json, "links", fold->links_seen);
	json_array(json, "rows");
	for (size_t i = 0; i < fold->rows.length && i < ROWS_SHOWN; i++)
		put_row(fold, &fold->rows.items[i], json);
	json_end(json);
	if (!fold->line.cell_count) {
		json_end(json);
		return;
	}
	json_u64(json, "cell_ns", fold->line.cell_ns);
	json_array(json, "cells");
	for (size_t i = 0, end; i < fold->line.cell_count; i = end) {
		int64_t row = shown_row(fold, i);

		for (end = i + 1; end < fold->line.cell_count && shown_row(fold, end) == row; end++)
			;
		json_array(json, NULL);
		json_i64(json, NULL, row);
		json_u64(json, NULL, end - i);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}
