/* What a person knows, laid over the finished graph: edges cut and kept, events
 * joined, waits marked as idling. The columns stay as they are, so that taking a
 * correction back is laying a shorter set over them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "graph/store.h"

static void correction_clear(struct correction *c)
{
	vec_clear(&c->joins);
	vec_clear(&c->rules);
	map_clear(&c->cut_edges);
	map_clear(&c->kept);
	map_clear(&c->idle);
	map_clear(&c->flags);
	arena_done(&c->arena);
	arena_init(&c->arena);
}

/* Row that holds the event: that of its thread, or the node of an interrupt. */
static uint32_t row_of_event(const struct graph *graph, uint64_t number)
{
	return graph_stretch_of_event(graph, number);
}

/* Marks the stored edges and wake-ups from one event to the other; how many. */
static unsigned mark_edges(struct graph *graph, struct map *marks, const struct rule *rule, uint32_t rule_number)
{
	uint32_t count;
	const uint32_t *order;
	unsigned marked = 0;

	for (size_t i = 0; i < graph->edges.length; i++)
		if (graph->edges.items[i].from_event == rule->from_event && graph->edges.items[i].to_event == rule->to_event) {
			map_put(marks, i, rule_number);
			marked++;
		}
	/* Edges of wake-ups are found by the event that wakes. */
	order = store_wakes_by_row(graph, &count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t next;

		if (graph->rows[order[i]].wake_event != rule->from_event)
			continue;
		next = row_next(graph, order[i]);
		if (next != GRAPH_NONE && graph->rows[next].in_event == rule->to_event) {
			map_put(marks, order[i] | 1ull << 63, rule_number);
			marked++;
		}
	}
	return marked;
}

static int add_join(struct graph *graph, const struct rule *rule, uint32_t rule_number, struct err *err)
{
	struct stored_edge edge = { .from_event = (uint32_t)rule->from_event, .to_event = (uint32_t)rule->to_event,
				    .kind = (uint8_t)(rule->mechanism ? rule->mechanism : MECHANISM_join),
				    .rule = (uint16_t)rule_number, .confidence = mechanism_infos[MECHANISM_join].confidence };
	struct arena arena;
	const struct event *from, *to;
	int code = 0;

	arena_init(&arena);
	from = trace_event(graph->trace, &arena, rule->from_event);
	to = trace_event(graph->trace, &arena, rule->to_event);
	edge.from_row = row_of_event(graph, rule->from_event);
	edge.to_row = row_of_event(graph, rule->to_event);
	if (!from || !to || edge.from_row == GRAPH_NONE || edge.to_row == GRAPH_NONE) {
		code = err_set(err, -ENOENT, "%s:%u:%u: event %" PRIu64 " is in no segment of this trace", rule->file, rule->line, rule->column,
			       !from || edge.from_row == GRAPH_NONE ? rule->from_event : rule->to_event);
	} else {
		edge.from_ns = from->time;
		edge.to_ns = to->time;
		vec_push(&graph->correction.joins, edge);
	}
	arena_done(&arena);
	return code;
}

static int apply(struct graph *graph, const struct rule *rule, uint32_t number, struct err *err)
{
	struct correction *c = &graph->correction;
	unsigned done = 1;
	uint32_t row;

	switch (rule->kind) {
	case RULE_cut_edge:
		done = mark_edges(graph, &c->cut_edges, rule, number);
		break;
	case RULE_keep_edge:
		done = mark_edges(graph, &c->kept, rule, number);
		break;
	case RULE_flag:
		map_put(&c->flags, rule->address, number);
		break;
	case RULE_join:
		return add_join(graph, rule, number, err);
	case RULE_idle_wait:
		row = row_of_event(graph, rule->from_event);
		done = row != GRAPH_NONE && graph->rows[row].flags & ROW_WAIT && graph->rows[row].out_event == rule->from_event;
		if (done)
			map_put(&c->idle, row, number);
		break;
	default:
		break;
	}
	if (!done && rule->kind == RULE_idle_wait)
		return err_set(err, -ENOENT, "%s:%u:%u: no wait begins at event %" PRIu64, rule->file, rule->line, rule->column,
			       rule->from_event);
	if (!done)
		return err_set(err, -ENOENT, "%s:%u:%u: there is no edge from event %" PRIu64 " to event %" PRIu64, rule->file,
			       rule->line, rule->column, rule->from_event, rule->to_event);
	c->rules.items[number - graph->rules.length].uses += done;
	return 0;
}

static bool is_correction(enum rule_kind kind)
{
	return kind == RULE_cut_edge || kind == RULE_keep_edge || kind == RULE_join || kind == RULE_idle_wait ||
	       kind == RULE_flag;
}

/* An edge comes or goes; a wake-up's together with the weak one to it. */
static void count_edge(struct graph *graph, uint64_t key, bool removed)
{
	struct graph_stats *stats = &graph->stats;
	bool is_wait = key >> 63, was;
	uint32_t row = (uint32_t)key;
	unsigned kind = is_wait ? graph->row_mechanisms[graph->rows[row].wake_rule] : graph->edges.items[key].kind & (EDGE_REMOVED - 1);

	was = is_wait ? graph->rows[row].flags & ROW_REMOVED : graph->edges.items[key].kind & EDGE_REMOVED;
	if (was == removed)
		return;
	stats->edges[kind] += removed ? UINT64_MAX : 1;
	stats->removed_by_rule += removed ? 1 : UINT64_MAX;
	if (is_wait)
		stats->edges[MECHANISM_wait] += removed ? UINT64_MAX : 1;
}

static void count_corrections(struct graph *graph)
{
	const struct correction *c = &graph->correction;
	const struct map_slot *slot;

	graph->stats = graph->built_stats;
	for (size_t at = 0; (slot = map_next(&c->cut_edges, &at)); )
		if (!map_find(&c->kept, slot->key))
			count_edge(graph, slot->key, true);
	for (size_t at = 0; (slot = map_next(&c->kept, &at)); )
		count_edge(graph, slot->key, false);
	for (size_t i = 0; i < c->joins.length; i++)
		graph->stats.edges[c->joins.items[i].kind]++;
}

const char *graph_flag_name(const struct graph *graph, uint64_t address)
{
	const uint64_t *rule = map_find(&graph->correction.flags, address);

	return rule ? graph_rule_name(graph, (uint32_t)*rule) : NULL;
}

int graph_correct(struct graph *graph, const struct rules *corrections, bool *ret_rebuild, struct err *err)
{
	struct correction *c = &graph->correction;
	bool rebuild = false;

	correction_clear(c);
	for (size_t i = 0; i < rules_count(corrections); i++) {
		const struct rule *rule = rules_at(corrections, i);
		int code;

		if (!is_correction(rule->kind)) {
			rebuild = true;
			continue;
		}
		vec_push(&c->rules, ((struct graph_rule){ .name = arena_strdup(&c->arena, rule->name),
							  .text = arena_printf(&c->arena, "%s:%u: %s", rule->file, rule->line, rule->text) }));
		code = apply(graph, rule, (uint32_t)(graph->rules.length + c->rules.length - 1), err);
		if (code) {
			correction_clear(c);
			count_corrections(graph);
			return code;
		}
	}
	count_corrections(graph);
	if (ret_rebuild)
		*ret_rebuild = rebuild;
	return 0;
}
