/* A folded path in words, see report.h. */
#include "path/report.h"

#include <inttypes.h>
#include <string.h>

#define DOINGS_TOLD 4
#define DOING_LEAST 10u /* per mille of the row */
#define VIAS_TOLD 2
#define VIA_LEAST 100u  /* per mille of the row */

void report_path_time(uint64_t ns, struct buf *buf)
{
	if (ns >= 1000000000)
		buf_printf(buf, "%" PRIu64 ".%03" PRIu64 " s", ns / 1000000000, ns / 1000000 % 1000);
	else if (ns >= 1000000)
		buf_printf(buf, "%" PRIu64 ".%" PRIu64 " ms", ns / 1000000, ns / 100000 % 10);
	else
		buf_printf(buf, "%" PRIu64 " us", ns / 1000);
}

void report_path_time_wide(uint64_t ns, struct buf *buf)
{
	struct buf text;

	buf_init(&text);
	report_path_time(ns, &text);
	buf_printf(buf, "%10s", buf_str(&text));
	buf_done(&text);
}

static void put_text(const struct fold *fold, uint32_t text, struct buf *buf)
{
	buf_escaped(buf, texts_get(&fold->texts, text), strlen(texts_get(&fold->texts, text)), NULL);
}

/* True when the path is in one program only: it need not be named then. */
static bool is_one_program(const struct fold *fold)
{
	for (size_t i = 2; i < fold->nodes.length; i++)
		if (fold->nodes.items[i].key.who.program != fold->nodes.items[1].key.who.program)
			return false;
	return true;
}

static void put_role(const struct fold *fold, struct role_name who, bool one_program, struct buf *buf)
{
	if (who.thread != who.program && !one_program) {
		put_text(fold, who.program, buf);
		buf_char(buf, '/');
	}
	put_text(fold, who.thread, buf);
}

static void put_place(const struct fold *fold, struct role_name who, uint32_t function, bool one_program, struct buf *buf)
{
	put_role(fold, who, one_program, buf);
	if (function && function != who.thread) {
		buf_text(buf, " in ");
		put_text(fold, function, buf);
	}
}

static unsigned per_cent(uint64_t ns, uint64_t of)
{
	return of ? (unsigned)((ns * 100 + of / 2) / of) : 0;
}

static void put_share(struct buf *buf, uint64_t ns, uint64_t of)
{
	if (ns * 200 < of)
		buf_text(buf, "<1 %");
	else
		buf_printf(buf, "%u %%", per_cent(ns, of));
}

void report_path_row_words(const struct fold *fold, const struct fold_row *row, struct buf *buf)
{
	bool one_program = is_one_program(fold);

	if (row->lock) {
		put_text(fold, row->lock, buf);
		buf_text(buf, ", held by ");
	}
	put_place(fold, row->who, row->function, one_program, buf);
}

void report_path_doings(const struct fold *fold, const struct fold_row *row, struct buf *buf)
{
	for (size_t i = 0; i < row->doings.length && i < DOINGS_TOLD; i++) {
		const struct row_doing *d = &row->doings.items[i];

		if (i && d->ns * 1000 < row->ns * DOING_LEAST)
			break;
		buf_text(buf, i ? ", " : "");
		put_text(fold, d->what, buf);
		if (row->doings.length > 1) {
			buf_char(buf, ' ');
			put_share(buf, d->ns, row->ns);
		}
	}
}

static void put_queue(const struct fold *fold, const struct fold_row *row, struct buf *buf)
{
	const uint64_t *number = row->lock ? map_find(&fold->queue_by_lock, row->lock) : NULL;
	const struct fold_queue *q = number ? &fold->queues.items[*number] : NULL;

	if (!q || !q->waits)
		return;
	buf_printf(buf, "%47squeue: %" PRIu32 " thread%s waited %" PRIu64 " time%s, ", "", q->threads, q->threads == 1 ? "" : "s", q->waits,
		   q->waits == 1 ? "" : "s");
	report_path_time(q->waited_ns, buf);
	buf_printf(buf, " in all, up to %" PRIu32 " at once\n", q->most);
}

static void put_vias(const struct fold *fold, const struct fold_row *row, bool one_program, struct buf *buf)
{
	for (size_t i = 0; i < row->vias.length && i < VIAS_TOLD; i++) {
		const struct row_via *v = &row->vias.items[i];

		if (v->ns * 1000 < row->ns * VIA_LEAST)
			break;
		buf_printf(buf, "%47swaited for by ", "");
		put_place(fold, v->wait.who, v->wait.function, one_program, buf);
		buf_text(buf, " (");
		put_text(fold, v->wait.what, buf);
		buf_text(buf, ") ");
		put_share(buf, v->ns, row->ns);
		buf_char(buf, '\n');
	}
}

void report_path_table(const struct fold *fold, size_t rows, struct buf *buf)
{
	bool one_program = is_one_program(fold);
	uint64_t rest = 0;

	buf_printf(buf, "%5s %10s %8s %10s %10s  %s\n", "share", "total", "count", "median", "longest", "what");
	for (size_t i = 0; i < fold->rows.length; i++) {
		const struct fold_row *row = &fold->rows.items[i];

		if (i >= rows) {
			rest += row->ns;
			continue;
		}
		if (row->ns * 200 < fold->total_ns)
			buf_text(buf, " <1 %");
		else
			buf_printf(buf, "%3u %%", per_cent(row->ns, fold->total_ns));
		buf_char(buf, ' ');
		report_path_time_wide(row->ns, buf);
		buf_printf(buf, " %8" PRIu64 " ", row->count);
		report_path_time_wide(row->median_ns, buf);
		buf_char(buf, ' ');
		report_path_time_wide(row->longest_ns, buf);
		buf_text(buf, "  ");
		report_path_row_words(fold, row, buf);
		buf_text(buf, ": ");
		report_path_doings(fold, row, buf);
		buf_char(buf, '\n');
		put_vias(fold, row, one_program, buf);
		put_queue(fold, row, buf);
	}
	if (rest) {
		buf_printf(buf, "%3u %% ", per_cent(rest, fold->total_ns));
		report_path_time_wide(rest, buf);
		buf_printf(buf, "  in %zu more lines (--top N shows N)\n", fold->rows.length - rows);
	}
}

static void put_row_sentence(const struct fold *fold, const struct fold_row *row, struct buf *buf)
{
	report_path_row_words(fold, row, buf);
	buf_text(buf, " (");
	report_path_doings(fold, row, buf);
	if (row->count > 1) {
		buf_printf(buf, "; %" PRIu64 " times, median ", row->count);
		report_path_time(row->median_ns, buf);
	}
	buf_char(buf, ')');
}

void report_path_sentences(const struct fold *fold, const char *who, struct buf *buf)
{
	if (!fold->rows.length)
		return;
	buf_text(buf, "Of the path of ");
	buf_escaped(buf, who, strlen(who), NULL);
	buf_text(buf, " through ");
	report_path_time(fold->total_ns, buf);
	buf_printf(buf, ", %u %% went to ", per_cent(fold->rows.items[0].ns, fold->total_ns));
	put_row_sentence(fold, &fold->rows.items[0], buf);
	buf_char(buf, '.');
	if (fold->rows.length > 1 && per_cent(fold->rows.items[1].ns, fold->total_ns)) {
		buf_printf(buf, " Next, with %u %%, comes ", per_cent(fold->rows.items[1].ns, fold->total_ns));
		put_row_sentence(fold, &fold->rows.items[1], buf);
		buf_text(buf, "; `argus path` tells the rest.");
	}
}

void report_path_brief(const struct fold *fold, size_t rows, int indent, struct buf *buf)
{
	for (size_t i = 0; i < fold->rows.length && i < rows; i++) {
		if (fold->rows.items[i].ns * 100 < fold->total_ns)
			break;
		buf_printf(buf, "%*s%3u %% ", indent, "", per_cent(fold->rows.items[i].ns, fold->total_ns));
		put_row_sentence(fold, &fold->rows.items[i], buf);
		buf_char(buf, '\n');
	}
}

/* ---- pools and stages ---- */

#define POOL_LEAST 10u  /* per mille of the path */

void report_path_pools(const struct fold *fold, struct buf *buf)
{
	bool one_program = is_one_program(fold);
	size_t told = 0;

	while (told < fold->pools.length && fold->pools.items[told].path_ns * 1000 >= fold->total_ns * POOL_LEAST)
		told++;
	if (told < 2 && (!told || fold->pools.items[0].threads < 2))
		return;
	buf_printf(buf, "\nEach pool of threads, or stage, and how its threads spent their time:\n%5s %8s %7s %6s %7s  %s\n",
		   "share", "threads", "worked", "locks", "others", "who");
	for (size_t i = 0; i < told; i++) {
		const struct fold_pool *p = &fold->pools.items[i];

		buf_printf(buf, "%3u %% %8" PRIu32 " %5u %% %4u %% %5u %%  ", per_cent(p->path_ns, fold->total_ns), p->threads,
			   per_cent(p->worked_ns, p->lived_ns), per_cent(p->locks_ns, p->lived_ns), per_cent(p->others_ns, p->lived_ns));
		put_role(fold, p->who, one_program, buf);
		buf_char(buf, '\n');
	}
}

/* ---- the tree ---- */

/* Children of a node, the largest first, into `list`; returns their number. */
static size_t children(const struct fold *fold, uint32_t node, uint32_t *list)
{
	size_t count = 0;

	for (uint32_t i = 1; i < fold->nodes.length; i++) {
		size_t at = count;

		if (fold->nodes.items[i].parent != node || !fold->nodes.items[i].total_ns)
			continue;
		while (at > 0 && fold->nodes.items[list[at - 1]].total_ns < fold->nodes.items[i].total_ns) {
			list[at] = list[at - 1];
			at--;
		}
		list[at] = i;
		count++;
	}
	return count;
}

static void put_node(const struct fold *fold, uint32_t node, unsigned depth, unsigned least, bool one_program, struct buf *buf)
{
	uint32_t *list = mem_alloc(arena_array_bytes(sizeof(*list), fold->nodes.length));
	size_t count = children(fold, node, list);

	for (size_t i = 0; i < count; i++) {
		const struct fold_node *n = &fold->nodes.items[list[i]];

		if (n->total_ns * 1000 < fold->total_ns * least)
			break;
		buf_printf(buf, "%3u %% ", per_cent(n->total_ns, fold->total_ns));
		report_path_time_wide(n->total_ns, buf);
		buf_printf(buf, "  %*s", (int)depth * 2, "");
		put_place(fold, n->key.who, n->key.function, one_program, buf);
		buf_text(buf, ": ");
		put_text(fold, n->key.what, buf);
		buf_char(buf, '\n');
		put_node(fold, list[i], depth + 1, least, one_program, buf);
	}
	free(list);
}

void report_path_tree(const struct fold *fold, unsigned least, struct buf *buf)
{
	buf_printf(buf, "%5s %10s  %s\n", "share", "total", "along the path: who waited, inside of it what went on meanwhile");
	put_node(fold, 0, 0, least, is_one_program(fold), buf);
}

/* ---- what would help ---- */

static void put_change(const struct fold *fold, const struct change *c, struct buf *buf)
{
	const struct fold_row *row = &fold->rows.items[c->row];

	switch (c->kind) {
	case CHANGE_HALF:
	case CHANGE_NOTHING:
		report_path_row_words(fold, row, buf);
		buf_text(buf, c->kind == CHANGE_HALF ? ": half as long" : ": no time at all");
		return;
	case CHANGE_TWO_HOLDERS:
		put_text(fold, row->lock, buf);
		buf_text(buf, ": two may have it at once");
		return;
	case CHANGE_ONE_MORE:
		put_role(fold, row->who, is_one_program(fold), buf);
		buf_printf(buf, ": %" PRIu32 " instead of %" PRIu32 " share the work", c->threads + 1, c->threads);
		return;
	case CHANGE_PROCESSOR:
		buf_text(buf, "one more processor");
		return;
	}
}

void report_path_changes(const struct fold *fold, const struct changes *changes, struct buf *buf)
{
	buf_text(buf, "\nWhat would help, by replay; the truth should lie in the bounds:\n");
	if (!changes->length)
		buf_text(buf, "  replay cannot tell: unchanged, the run does not end in it, or not about when it did\n");
	else
		buf_printf(buf, "%10s  %23s  %s\n", "run takes", "bounds", "if");
	for (size_t i = 0; i < changes->length; i++) {
		const struct change *c = &changes->items[i];

		if (!c->told) {
			buf_printf(buf, "%10s  %23s  ", "?", "replay cannot tell");
		} else {
			report_path_time_wide(c->ns, buf);
			buf_text(buf, "  ");
			report_path_time_wide(c->low_ns, buf);
			buf_text(buf, " - ");
			report_path_time_wide(c->high_ns, buf);
			buf_text(buf, "  ");
		}
		put_change(fold, c, buf);
		buf_char(buf, '\n');
	}
}

void report_path_changes_json(const struct changes *changes, struct json *json)
{
	static const char *const names[] = {
		[CHANGE_HALF] = "half", [CHANGE_NOTHING] = "nothing", [CHANGE_TWO_HOLDERS] = "two_holders", [CHANGE_ONE_MORE] = "one_more",
		[CHANGE_PROCESSOR] = "processor",
	};

	json_array(json, "what_if");
	for (size_t i = 0; i < changes->length; i++) {
		const struct change *c = &changes->items[i];

		json_object(json, NULL);
		json_text(json, "change", names[c->kind]);
		json_u64(json, "row", c->row);
		json_bool(json, "told", c->told);
		json_u64(json, "run_ns", c->ns);
		json_u64(json, "low_ns", c->low_ns);
		json_u64(json, "high_ns", c->high_ns);
		json_end(json);
	}
	json_end(json);
}

/* ---- for flame graphs ---- */

static void put_frame(const struct fold *fold, const struct fold_key *key, struct buf *buf)
{
	struct buf text;

	buf_init(&text);
	put_place(fold, key->who, key->function, false, &text);
	buf_text(&text, ": ");
	put_text(fold, key->what, &text);
	for (size_t i = 0; i < text.length; i++)
		buf_char(buf, text.data[i] == ';' ? ',' : text.data[i]);
	buf_done(&text);
}

void report_path_folded(const struct fold *fold, struct buf *buf)
{
	for (uint32_t i = 1; i < fold->nodes.length; i++) {
		uint32_t way[256];
		unsigned depth = 0;

		if (fold->nodes.items[i].own_ns < 1000)
			continue;
		for (uint32_t at = i; at && depth < 256; at = fold->nodes.items[at].parent)
			way[depth++] = at;
		while (depth-- > 0) {
			put_frame(fold, &fold->nodes.items[way[depth]].key, buf);
			buf_char(buf, depth ? ';' : ' ');
		}
		buf_printf(buf, "%" PRIu64 "\n", fold->nodes.items[i].own_ns / 1000);
	}
}

/* ---- JSON ---- */

static const char *class_name(uint8_t doing)
{
	static const char *const names[] = {
		[CLASS_RUN] = "running", [CLASS_QUEUED] = "runnable", [CLASS_THROTTLED] = "throttled", [CLASS_WAIT] = "waiting",
		[CLASS_STOPPED] = "stopped", [CLASS_UNKNOWN] = "unknown",
	};

	return names[doing];
}

static const char *text_or_null(const struct fold *fold, uint32_t text)
{
	return text ? texts_get(&fold->texts, text) : NULL;
}

static void put_who(const struct fold *fold, struct role_name who, uint32_t function, struct json *json)
{
	json_text(json, "program", texts_get(&fold->texts, who.program));
	json_text(json, "thread", texts_get(&fold->texts, who.thread));
	json_text(json, "function", text_or_null(fold, function));
}

static void put_row(const struct fold *fold, const struct fold_row *row, struct json *json)
{
	const uint64_t *number = row->lock ? map_find(&fold->queue_by_lock, row->lock) : NULL;

	json_object(json, NULL);
	json_text(json, "lock", text_or_null(fold, row->lock));
	put_who(fold, row->who, row->function, json);
	json_bool(json, "by_samples", row->by_samples);
	json_u64(json, "ns", row->ns);
	json_double(json, "share", fold->total_ns ? (double)row->ns / (double)fold->total_ns : 0);
	json_u64(json, "count", row->count);
	json_u64(json, "median_ns", row->median_ns);
	json_u64(json, "longest_ns", row->longest_ns);
	json_array(json, "doing");
	for (size_t i = 0; i < row->doings.length; i++) {
		json_object(json, NULL);
		json_text(json, "what", texts_get(&fold->texts, row->doings.items[i].what));
		json_text(json, "class", class_name(row->doings.items[i].doing));
		json_u64(json, "ns", row->doings.items[i].ns);
		json_u64(json, "count", row->doings.items[i].count);
		json_end(json);
	}
	json_end(json);
	json_array(json, "waited_for_by");
	for (size_t i = 0; i < row->vias.length; i++) {
		json_object(json, NULL);
		put_who(fold, row->vias.items[i].wait.who, row->vias.items[i].wait.function, json);
		json_text(json, "what", texts_get(&fold->texts, row->vias.items[i].wait.what));
		json_u64(json, "ns", row->vias.items[i].ns);
		json_end(json);
	}
	json_end(json);
	if (number && fold->queues.items[*number].waits) {
		const struct fold_queue *q = &fold->queues.items[*number];

		json_object(json, "queue");
		json_u64(json, "threads", q->threads);
		json_u64(json, "waits", q->waits);
		json_u64(json, "waited_ns", q->waited_ns);
		json_u64(json, "queued_ns", q->held_ns);
		json_u64(json, "most", q->most);
		json_end(json);
	} else {
		json_null(json, "queue");
	}
	json_end(json);
}

void report_path_json(const struct fold *fold, struct json *json)
{
	json_u64(json, "total_ns", fold->total_ns);
	json_u64(json, "unknown_ns", fold->unknown_ns);
	json_u64(json, "links", fold->links_seen);
	json_array(json, "rows");
	for (size_t i = 0; i < fold->rows.length; i++)
		put_row(fold, &fold->rows.items[i], json);
	json_end(json);
	json_array(json, "pools");
	for (size_t i = 0; i < fold->pools.length; i++) {
		const struct fold_pool *p = &fold->pools.items[i];

		json_object(json, NULL);
		json_text(json, "program", texts_get(&fold->texts, p->who.program));
		json_text(json, "thread", texts_get(&fold->texts, p->who.thread));
		json_u64(json, "threads", p->threads);
		json_u64(json, "ns", p->path_ns);
		json_u64(json, "lived_ns", p->lived_ns);
		json_u64(json, "worked_ns", p->worked_ns);
		json_u64(json, "locks_ns", p->locks_ns);
		json_u64(json, "others_ns", p->others_ns);
		json_end(json);
	}
	json_end(json);
	json_array(json, "tree");
	for (uint32_t i = 1; i < fold->nodes.length; i++) {
		const struct fold_node *n = &fold->nodes.items[i];

		json_object(json, NULL);
		json_u64(json, "node", i);
		json_u64(json, "parent", n->parent);
		put_who(fold, n->key.who, n->key.function, json);
		json_text(json, "what", texts_get(&fold->texts, n->key.what));
		json_text(json, "class", class_name(n->key.doing));
		json_u64(json, "own_ns", n->own_ns);
		json_u64(json, "with_inner_ns", n->total_ns);
		json_u64(json, "count", n->count);
		json_u64(json, "longest_ns", n->longest_ns);
		json_end(json);
	}
	json_end(json);
}
