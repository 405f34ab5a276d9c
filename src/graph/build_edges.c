/* Edges that are kept one by one: by equal keys of two events, after the edge
 * rules. Those from wake-ups live in the rows of the waits that they end. */
#include "graph/build.h"

#define MAX_LIST 65536 /* beginnings kept for one key */

unsigned edge_cut_by(struct builder *b, unsigned mechanism, unsigned confidence, const struct slot *from, const struct slot *to)
{
	struct rule_scene scene = { .thread = &from->facts, .target = &to->facts, .tail = "", .mechanism = mechanism,
				    .confidence = confidence };

	for (size_t i = 0; i < b->program.cuts.length; i++) {
		const struct boundary *cut = &b->program.cuts.items[i];

		if ((!cut->rule->mechanism || cut->rule->mechanism == mechanism) && condition_holds(&cut->rule->where, &scene))
			return cut->row_rule;
	}
	return 0;
}

static const struct slot *slot_of_row(struct builder *b, uint32_t row)
{
	const struct slot *slot = slot_find(b, b->threads.items[row_thread(b->graph, row)].tid);

	return slot ? slot : &b->nobody;
}

uint32_t edge_cut(struct builder *b, const struct stored_edge *edge, const struct slot *from, const struct slot *to)
{
	unsigned cut;

	if (!b->program.cuts.length)
		return 0;
	cut = edge_cut_by(b, edge->kind, edge->confidence, from ? from : slot_of_row(b, edge->from_row),
			  to ? to : slot_of_row(b, edge->to_row));
	if (!cut)
		return 0;
	rule_used(b, row_rule_number(b, cut));
	return row_rule_number(b, cut);
}

void edge_add(struct builder *b, const struct stored_edge *edge, const struct slot *from, const struct slot *to)
{
	struct stored_edge kept = *edge;
	struct packed_edge packed;

	if (kept.from_row == GRAPH_NONE || kept.to_row == GRAPH_NONE)
		return;
	if (kept.from_ns < b->gap_to_ns)
		return; /* events were lost between the two */
	kept.removed = edge_cut(b, &kept, from, to);
	if (kept.removed) {
		b->graph->stats.removed_by_rule++;
	} else {
		b->graph->stats.edges[kept.kind]++;
	}
	rule_used(b, kept.rule);
	packed = edge_pack(&kept);
	edge_list_add(&b->graph->edges, &packed);
}

static uint64_t key_of(const struct rule_end *end, const struct rule_scene *scene)
{
	uint64_t key = operand_value(&end->key[0], scene);

	for (unsigned i = 1; i < end->keys; i++)
		key = hash_u64(key) ^ operand_value(&end->key[i], scene);
	return key;
}

static uint32_t begin_new(struct builder *b, const struct keyed_begin *begin)
{
	uint32_t index = b->free_begin;

	if (index) {
		b->free_begin = b->begins.items[index].next;
		b->begins.items[index] = *begin;
		return index;
	}
	if (!b->begins.length)
		vec_push(&b->begins, (struct keyed_begin){ 0 });
	vec_push(&b->begins, *begin);
	return (uint32_t)b->begins.length - 1;
}

static void begin_free(struct builder *b, uint32_t index)
{
	b->begins.items[index].next = b->free_begin;
	b->free_begin = index;
}

static void free_list(struct builder *b, uint64_t heads)
{
	for (uint32_t at = (uint32_t)heads; at; ) {
		uint32_t next = b->begins.items[at].next;

		begin_free(b, at);
		at = next;
	}
}

/* Lists may have lost members in a gap; a key and its latest beginning have not. */
static void forget_after_gap(struct builder *b, const struct edge_end *end, struct key_table *table)
{
	const struct map_slot *slot;
	size_t at = 0;

	if (table->epoch == b->gap_epoch)
		return;
	table->epoch = b->gap_epoch;
	if (end->rule->take != TAKE_fifo && end->rule->take != TAKE_all)
		return;
	while ((slot = map_next(&table->heads, &at)))
		free_list(b, slot->value);
	map_clear(&table->heads);
}

static void keyed_from(struct builder *b, const struct edge_end *end, const struct rule_scene *scene, uint32_t row, uint64_t ns,
		       uint32_t tid)
{
	struct key_table *table = &b->program.tables.items[end->table];
	struct keyed_begin begin = { .ns = ns, .event = b->event, .row = row, .tid = tid };
	uint64_t *heads, key = key_of(end->end, scene);
	uint32_t index;

	forget_after_gap(b, end, table);
	heads = map_at(&table->heads, key, NULL);
	if (*heads && (end->rule->take == TAKE_once || end->rule->take == TAKE_last)) {
		begin.next = 0;
		b->begins.items[(uint32_t)*heads] = begin;
		return;
	}
	index = begin_new(b, &begin);
	if (!*heads) {
		*heads = (uint64_t)index << 32 | index;
	} else {
		b->begins.items[*heads >> 32].next = index;
		*heads = (uint64_t)index << 32 | (*heads & UINT32_MAX);
	}
}

static void keyed_to(struct builder *b, const struct edge_end *end, const struct rule_scene *scene, const struct slot *slot,
		     uint32_t row, uint64_t ns)
{
	struct key_table *table = &b->program.tables.items[end->table];
	const struct rule *rule = end->rule;
	uint64_t *heads, key = key_of(end->end, scene);
	unsigned taken = 0;

	forget_after_gap(b, end, table);
	heads = map_find(&table->heads, key);
	if (!heads)
		return;
	for (uint32_t at = (uint32_t)*heads; at && taken < MAX_LIST; taken++) {
		const struct keyed_begin begin = b->begins.items[at];
		const struct slot *from = slot_find(b, begin.tid);

		edge_add(b, &(struct stored_edge){
			.from_ns = begin.ns, .to_ns = ns, .from_row = begin.row, .to_row = row, .from_event = begin.event,
			.to_event = b->event, .rule = end->number, .kind = (uint8_t)rule->mechanism,
			.confidence = rule->confidence ? rule->confidence : mechanism_infos[rule->mechanism].confidence },
			 from ? from : &b->nobody, slot);
		if (rule->take == TAKE_last)
			return;
		begin_free(b, at);
		at = begin.next;
		if (rule->take == TAKE_fifo && at) {
			*heads = (*heads & ~(uint64_t)UINT32_MAX) | at;
			return;
		}
		if (rule->take != TAKE_all)
			break;
	}
	map_remove(&table->heads, key);
}

void edges_of_event(struct builder *b, const struct event *e, struct slot *slot, uint32_t row)
{
	const struct event_program *program = &b->program.events[e->type];
	struct rule_scene scene = scene_of(b, e, slot);

	for (size_t i = 0; i < program->to.length; i++)
		if (condition_holds(&program->to.items[i].end->where, &scene))
			keyed_to(b, &program->to.items[i], &scene, slot, row, e->time);
	for (size_t i = 0; i < program->from.length; i++)
		if (condition_holds(&program->from.items[i].end->where, &scene))
			keyed_from(b, &program->from.items[i], &scene, row, e->time, e->tid);
}
