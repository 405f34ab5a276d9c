#include "diagnose/callbacks_open.h"

#include <string.h>

#define SEGMENTS_MOST 100000u /* of one callback, with others between them, that are looked at */

unsigned callbacks_open(const struct graph *graph, uint32_t segment, struct graph_segment begun[CALLBACKS_OPEN_MOST])
{
	struct graph_segment s;
	unsigned count = 0;

	if (segment == GRAPH_NONE || !graph_segment(graph, segment, &s))
		return 0;
	for (uint32_t looked = 0, level = s.level; level && count < CALLBACKS_OPEN_MOST && looked < SEGMENTS_MOST; looked++) {
		uint32_t before = graph_segment_previous(graph, s.segment);

		if (s.level == level && s.begins_callout) {
			begun[count++] = s;
			level--;
		}
		if (before == GRAPH_NONE || !graph_segment(graph, before, &s))
			break;
	}
	return count;
}

bool event_field(const struct event *e, const char *name, size_t length, uint64_t *ret_value)
{
	const struct event_info *info = e->type < EVENT_MAX ? &event_infos[e->type] : NULL;

	for (unsigned i = 0; info && e->data && i < info->field_count; i++) {
		const struct field_info *f = &info->fields[i];

		if (strlen(f->name) == length && !memcmp(f->name, name, length)) {
			*ret_value = 0;
			memcpy(ret_value, (const char *)e->data + f->offset, f->bytes);
			return true;
		}
	}
	return false;
}
