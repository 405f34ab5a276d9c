#include "session/stack_health.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/text.h"

struct stack_fields {
	const struct field_info *user, *kernel;
};

/* The outermost node of each node, found once: a parent's number is below its
 * child's, or it is unwound later and stands alone. */
static uint32_t outermost(const struct tables *t, uint32_t node)
{
	for (uint32_t steps = 0; steps < t->frame_count && t->frames[node].parent && t->frames[node].parent < t->frame_count; steps++)
		node = t->frames[node].parent;
	return node;
}

static void find_fields(struct stack_fields fields[EVENT_MAX], struct trace_filter *filter)
{
	for (unsigned type = 1; type < EVENT_MAX; type++) {
		const struct event_info *info = &event_infos[type];
		if (!info->name || (info->categories & (STATE | META)))
			continue;
		fields[type].user = field_info_find(info, "ustack");
		fields[type].kernel = field_info_find(info, "kstack");
		if (fields[type].user || fields[type].kernel)
			trace_filter_add(filter, type);
	}
}

void stack_health_count(const struct trace *trace, const struct tables *tables, struct stack_health *ret_health)
{
	struct stack_health h = { .nodes = tables->node_count };
	struct stack_fields fields[EVENT_MAX] = { 0 };
	struct trace_filter filter = { 0 };
	struct sparse uses_memory = { 0 };
	uint64_t *uses, *broken;

	sparse_reach(&uses_memory, ((size_t)tables->frame_count + 1) * sizeof(*uses));
	uses = uses_memory.memory;
	find_fields(fields, &filter);
	struct trace_cursor *cursor = trace_cursor_new(trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor));) {
		const struct stack_fields *f = &fields[e->type];
		uint64_t user = f->user && e->data ? field_value(f->user, e->data) : 0;
		if (user && user < tables->frame_count) {
			h.user++;
			uses[user]++;
		} else if (f->user) {
			h.without++;
		}
		if (f->kernel && e->data && field_value(f->kernel, e->data))
			h.kernel++;
	}
	trace_cursor_free(cursor);
	broken = mem_zalloc((tables->module_count + 1) * sizeof(*broken));
	for (uint32_t node = 0; tables_next_node(tables, &node); ) {
		if (tables->frames[node].depth > h.depth)
			h.depth = tables->frames[node].depth;
		if (!uses[node])
			continue;
		const struct frame *end = &tables->frames[outermost(tables, node)];
		h.by_status[end->status < STACK_STATUSES ? end->status : 0] += uses[node];
		if (end->status && end->module < tables->module_count) {
			broken[end->module] += uses[node];
			if (broken[end->module] > h.worst_count) {
				h.worst_count = broken[end->module];
				h.worst_module = end->module;
			}
		}
	}
	sparse_done(&uses_memory);
	free(broken);
	*ret_health = h;
}

void stack_health_text(const struct stack_health *h, const struct tables *tables, struct buf *buf)
{
	if (!h->user && !h->kernel)
		return;
	buf_printf(buf, "stacks     %" PRIu64 " of users, %" PRIu64 " of the kernel, in %" PRIu32 " nodes, up to %" PRIu32 " deep\n",
		   h->user, h->kernel, h->nodes, h->depth);
	for (unsigned s = 0; s < STACK_STATUSES; s++) {
		const char *doc = kind_value_doc(FIELD_STACK_STATUS, s);
		if (h->by_status[s])
			buf_printf(buf, "  %12" PRIu64 "  %6.2f %% %s\n", h->by_status[s],
				   100.0 * (double)h->by_status[s] / (double)h->user, doc ? doc : "?");
	}
	if (h->worst_module) {
		const char *path = tables->modules[h->worst_module].path;
		buf_printf(buf, "  most of those that are not whole end in ");
		buf_escaped(buf, path, strlen(path), NULL);
		buf_printf(buf, " (%" PRIu64 ")\n", h->worst_count);
	}
}

void stack_health_json(const struct stack_health *h, const struct tables *tables, struct json *json)
{
	json_object(json, "stacks");
	json_u64(json, "user", h->user);
	json_u64(json, "kernel", h->kernel);
	json_u64(json, "without", h->without);
	json_u64(json, "nodes", h->nodes);
	json_u64(json, "depth", h->depth);
	for (unsigned s = 0; s < STACK_STATUSES; s++) {
		const char *name = kind_value_name(FIELD_STACK_STATUS, s);
		if (name)
			json_u64(json, name, h->by_status[s]);
	}
	json_text(json, "worst_module", h->worst_module ? tables->modules[h->worst_module].path : "");
	json_u64(json, "worst_count", h->worst_count);
	json_end(json);
}
