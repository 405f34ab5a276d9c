#include "session/picture.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "diagnose/answer.h"
#include "graph/graph.h"
#include "session/lane.h"
#include "symbols/demangle.h"

/* A page is to stay below 2 MiB: a cell takes some 25 bytes, an arrow 40. */
#define CELLS_MOST 20000u
#define CELLS_OF_LANE 2000u
#define ARROWS_MOST 2500u
#define ARROWS_ASKED 400000u
#define ARROW_SLOTS 250u           /* of a pair of lanes, one arrow each */
#define SAMPLES_OF_LANE 400u
#define STACKS_MOST 1500u
#define COMMAND_BYTES 4096u

struct picture {
	struct arena *arena;
	struct json *json;
	const struct picture_request *request;
	const struct scene *scene;
	struct describer describer;
	struct map lanes;                /* thread -> lane + 1 */
	struct map word_numbers;         /* hash of the text -> number */
	struct vec(const char *) words;  /* number 0 is "" */
	struct map object_words;         /* hash of kind and object -> number of the word */
	struct map stack_numbers;        /* both nodes -> number */
	struct vec(uint64_t) stacks;     /* number 0 is none */
};

static uint64_t word_number(struct picture *p, const char *text)
{
	bool fresh;
	uint64_t *number = map_at(&p->word_numbers, hash_bytes(text, strlen(text)), &fresh);

	if (fresh) {
		*number = p->words.length;
		vec_push(&p->words, text);
	}
	return *number;
}

static uint64_t wait_word(struct picture *p, const struct wait *wait)
{
	bool fresh;
	uint64_t *number = map_at(&p->object_words, hash_u64(wait->object * 31 + wait->kind + 1), &fresh), found;

	if (!fresh)
		return *number;
	found = word_number(p, describe_wait(&p->describer, wait));
	*map_at(&p->object_words, hash_u64(wait->object * 31 + wait->kind + 1), NULL) = found;
	return found;
}

static uint64_t stack_number(struct picture *p, uint32_t ustack, uint32_t kstack)
{
	uint64_t both = (uint64_t)kstack << 32 | ustack, *number;
	bool fresh;

	if (!both || p->stacks.length >= STACKS_MOST)
		return 0;
	number = map_at(&p->stack_numbers, both, &fresh);
	if (fresh) {
		*number = p->stacks.length;
		vec_push(&p->stacks, both);
	}
	return *number;
}

/* ---- lanes ---- */

enum column { COLUMN_START, COLUMN_STATE, COLUMN_WORD, COLUMN_STACK, COLUMN_EVENT, COLUMN_END, COLUMN_WAKER, COLUMN_SHARE };

static uint64_t cell_value(struct picture *p, const struct lane_cell *cell, enum column column)
{
	const struct wait *wait = &p->scene->waits[cell->wait];
	bool waits = cell->wait && (cell->state == LANE_WAITING || cell->state == LANE_STOPPED);

	switch (column) {
	case COLUMN_START: return cell->start_ns - p->request->from_ns;
	case COLUMN_STATE: return cell->state;
	case COLUMN_WORD: return waits ? wait_word(p, wait) : 0;
	case COLUMN_STACK: return waits ? stack_number(p, wait->ustack, wait->kstack) : 0;
	case COLUMN_EVENT: return waits ? wait->begin_event : 0;
	case COLUMN_END: return waits ? wait->end_event : 0;
	case COLUMN_WAKER: return waits && wait->waker ? scene_tid(p->scene, wait->waker) : 0;
	case COLUMN_SHARE: return cell->state == LANE_MIXED ? cell->running * 1000000u + cell->runnable * 1000u + cell->unknown : 0;
	}
	return 0;
}

static void put_columns(struct picture *p, const struct lane_cells *cells)
{
	static const char *const names[] = { [COLUMN_START] = "start", [COLUMN_STATE] = "state", [COLUMN_WORD] = "word",
					     [COLUMN_STACK] = "stack", [COLUMN_EVENT] = "event", [COLUMN_END] = "end_event", [COLUMN_WAKER] = "waker",
					     [COLUMN_SHARE] = "share" };

	for (unsigned column = 0; column <= COLUMN_SHARE; column++) {
		json_array(p->json, names[column]);
		for (size_t i = 0; i < cells->length; i++)
			json_u64(p->json, NULL, cell_value(p, &cells->items[i], column));
		json_end(p->json);
	}
}

static void put_samples(struct picture *p, uint32_t thread)
{
	const struct row *row = &p->scene->threads[thread].samples;
	uint32_t first = scene_samples_from(p->scene, thread, p->request->from_ns), end = first, step;

	while (end < row->count && p->scene->samples[row->items[end]].time < p->request->to_ns)
		end++;
	step = (end - first) / SAMPLES_OF_LANE + 1;
	json_array(p->json, "sample_at");
	for (uint32_t i = first; i < end; i += step)
		json_u64(p->json, NULL, p->scene->samples[row->items[i]].time - p->request->from_ns);
	json_end(p->json);
	json_array(p->json, "sample_stack");
	for (uint32_t i = first; i < end; i += step) {
		const struct sample *s = &p->scene->samples[row->items[i]];

		json_u64(p->json, NULL, stack_number(p, s->ustack, s->kstack));
	}
	json_end(p->json);
}

static void put_lane(struct picture *p, unsigned lane, unsigned most)
{
	const struct picture_request *request = p->request;
	uint32_t thread = request->threads[lane];
	const struct thread *t = &p->scene->tables->threads[thread];
	uint32_t leader = tables_process(p->scene->tables, t->pid, request->to_ns);
	uint64_t seen = t->end_ns < request->to_ns ? t->end_ns : request->to_ns;
	struct lane_cells cells = { 0 };

	lane_add(p->scene, thread, request->from_ns, request->to_ns, most, &cells);
	json_object(p->json, NULL);
	json_u64(p->json, "tid", t->tid);
	json_u64(p->json, "pid", t->pid);
	json_text(p->json, "comm", request->comms && request->comms[lane] ? request->comms[lane] : tables_comm(p->scene->tables, thread, seen));
	json_text(p->json, "process", leader && leader != thread ? tables_comm(p->scene->tables, leader, seen) : "");
	json_text_length(p->json, "command", t->command, strnlen(t->command, COMMAND_BYTES));
	put_columns(p, &cells);
	put_samples(p, thread);
	json_end(p->json);
	vec_done(&cells);
}

/* ---- arrows ---- */

struct arrow {
	uint64_t from_ns, to_ns, event;
	uint32_t from, to;               /* lanes */
	uint8_t kind, confidence;
	bool evidence;
};

struct arrows vec(struct arrow);

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool is_evidence(const struct picture *p, uint64_t event)
{
	const struct picture_request *request = p->request;

	return event && request->evidence_count && bsearch(&event, request->evidence, request->evidence_count, sizeof(event), compare_u64);
}

/* One arrow of a pair of lanes in each slot of time, and those that the answer rests on. */
static void take_edge(struct picture *p, const struct graph_edge *e, struct map *slots, struct arrows *arrows)
{
	const struct picture_request *request = p->request;
	const uint64_t *from = map_find(&p->lanes, e->from_thread), *to = map_find(&p->lanes, e->to_thread);
	struct arrow arrow = { .from_ns = e->from_ns, .to_ns = e->to_ns, .event = e->from_event, .kind = (uint8_t)e->kind,
			       .confidence = e->confidence };
	bool fresh;

	if (!from || !to || *from == *to || e->removed || e->to_ns < request->from_ns || e->from_ns > request->to_ns)
		return;
	arrow.from = (uint32_t)*from - 1;
	arrow.to = (uint32_t)*to - 1;
	arrow.evidence = is_evidence(p, e->from_event) || is_evidence(p, e->to_event);
	if (!arrow.evidence) {
		uint64_t length = request->to_ns - request->from_ns + 1;
		uint64_t slot = (e->to_ns > request->from_ns ? e->to_ns - request->from_ns : 0) / (length / ARROW_SLOTS + 1);

		map_at(slots, ((uint64_t)arrow.from << 40 | (uint64_t)arrow.to << 20) + slot, &fresh);
		if (!fresh || arrows->length >= ARROWS_MOST)
			return;
	}
	vec_push(arrows, arrow);
}

/* Its segment at the range's begin or, if it was not seen to run before, its first one. */
static uint32_t first_segment(const struct picture *p, uint32_t thread)
{
	const struct scene_thread *t = &p->scene->threads[thread];
	uint32_t s = graph_segment_at(p->scene->graph, thread, p->request->from_ns);

	for (uint32_t i = 0; s == GRAPH_NONE && i < t->span_count && t->spans[i].start_ns < p->request->to_ns; i++)
		if (t->spans[i].state == SPAN_RUNNING && span_end(&t->spans[i]) > p->request->from_ns)
			s = graph_segment_at(p->scene->graph, thread, t->spans[i].start_ns);
	return s;
}

static void find_arrows(struct picture *p, struct arrows *arrows)
{
	const struct graph *graph = p->scene->graph;
	struct map slots = { 0 };
	unsigned asked = 0;

	for (unsigned i = 0; graph && i < p->request->count; i++) {
		uint32_t s = first_segment(p, p->request->threads[i]);

		for (; s != GRAPH_NONE && asked < ARROWS_ASKED; s = graph_segment_next(graph, s)) {
			struct graph_edges walk = graph_edges_into(graph, s, EDGES_STRONG);
			struct graph_segment segment;

			if (!graph_segment(graph, s, &segment) || segment.start_ns > p->request->to_ns)
				break;
			for (struct graph_edge e; graph_edges_next(&walk, &e); asked++)
				take_edge(p, &e, &slots, arrows);
			asked++;
		}
	}
	map_done(&slots);
}

static uint64_t since_from(const struct picture *p, uint64_t time_ns)
{
	return time_ns > p->request->from_ns ? time_ns - p->request->from_ns : 0;
}

static void put_arrows(struct picture *p)
{
	struct arrows arrows = { 0 };

	find_arrows(p, &arrows);
	json_array(p->json, "arrows");
	for (size_t i = 0; i < arrows.length; i++) {
		const struct arrow *a = &arrows.items[i];

		json_array(p->json, NULL);
		json_u64(p->json, NULL, a->from);
		json_u64(p->json, NULL, a->to);
		json_u64(p->json, NULL, since_from(p, a->from_ns));
		json_u64(p->json, NULL, since_from(p, a->to_ns));
		json_u64(p->json, NULL, word_number(p, mechanism_infos[a->kind].name));
		json_u64(p->json, NULL, a->event);
		json_u64(p->json, NULL, a->confidence);
		json_u64(p->json, NULL, a->evidence);
		json_end(p->json);
	}
	json_end(p->json);
	vec_done(&arrows);
}

/* ---- stacks and words ---- */

/* "function (module)": of the function its short name. */
static const char *brief_frame(struct arena *arena, const char *frame)
{
	const char *module = frame;

	for (const char *at = frame; (at = strstr(at, " (")); at++)
		module = at;
	if (module == frame)
		return demangle_brief(arena, frame);
	return arena_printf(arena, "%s%s", demangle_brief(arena, arena_strndup(arena, frame, (size_t)(module - frame))), module);
}

static void put_stacks(struct picture *p)
{
	json_array(p->json, "stacks");
	for (size_t i = 0; i < p->stacks.length; i++) {
		const char *const *frames = describe_stack(&p->describer, (uint32_t)p->stacks.items[i], (uint32_t)(p->stacks.items[i] >> 32));

		json_array(p->json, NULL);
		for (; p->stacks.items[i] && *frames; frames++)
			json_u64(p->json, NULL, word_number(p, brief_frame(p->arena, *frames)));
		json_end(p->json);
	}
	json_end(p->json);
}

static void put_losses_and_marks(struct picture *p)
{
	const struct trace_summary *summary = trace_summary(p->request->session->trace);

	json_array(p->json, "gaps");
	for (size_t i = 0; i < summary->gap_count && i < 200; i++) {
		const struct trace_gap *gap = &summary->gaps[i];

		if (gap->from_ns >= p->request->to_ns || gap->to_ns <= p->request->from_ns)
			continue;
		json_array(p->json, NULL);
		json_u64(p->json, NULL, since_from(p, gap->from_ns));
		json_u64(p->json, NULL, since_from(p, gap->to_ns));
		json_u64(p->json, NULL, gap->lost);
		json_end(p->json);
	}
	json_end(p->json);
	json_array(p->json, "marks");
	for (uint32_t i = 0; i < p->scene->mark_count && i < 200; i++) {
		const struct mark *mark = &p->scene->marks[i];

		if (mark->time < p->request->from_ns || mark->time > p->request->to_ns)
			continue;
		json_object(p->json, NULL);
		json_u64(p->json, "at", since_from(p, mark->time));
		json_text(p->json, "text", mark->text);
		json_end(p->json);
	}
	json_end(p->json);
}

void picture_json(struct arena *arena, struct json *json, const char *key, const struct picture_request *request)
{
	struct picture p = { .arena = arena, .json = json, .request = request, .scene = request->session->scene };
	unsigned most = CELLS_MOST / (request->count + 1);

	p.describer = (struct describer){ .arena = arena, .scene = p.scene, .ends = diagnoser_ends(request->session->diagnoser),
					  .names = request->session->names };
	word_number(&p, "");
	vec_push(&p.stacks, 0);
	for (unsigned i = 0; i < request->count; i++)
		map_put(&p.lanes, request->threads[i], i + 1);
	json_object(json, key);
	json_u64(json, "from_ns", request->from_ns);
	json_u64(json, "to_ns", request->to_ns);
	json_array(json, "lanes");
	for (unsigned i = 0; i < request->count; i++)
		put_lane(&p, i, most < CELLS_OF_LANE ? most : CELLS_OF_LANE);
	json_end(json);
	put_arrows(&p);
	put_losses_and_marks(&p);
	put_stacks(&p);
	json_array(json, "words");
	for (size_t i = 0; i < p.words.length; i++)
		json_text(json, NULL, p.words.items[i]);
	json_end(json);
	json_end(json);
	map_done(&p.lanes);
	map_done(&p.word_numbers);
	map_done(&p.object_words);
	map_done(&p.stack_numbers);
	vec_done(&p.words);
	vec_done(&p.stacks);
}
