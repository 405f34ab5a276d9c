#include "export/frames.h"

#include <string.h>

void frames_init(struct frames *frames, const struct export_source *source)
{
	*frames = (struct frames){ .source = source };
	arena_init(&frames->arena);
	map_init(&frames->by_text);
	map_init(&frames->by_node);
}

void frames_done(struct frames *frames)
{
	map_done(&frames->by_text);
	map_done(&frames->by_node);
	vec_done(&frames->list);
	arena_done(&frames->arena);
}

static uint32_t number_of(struct frames *frames, const char *function, const char *module)
{
	bool fresh;
	uint64_t *at = map_at(&frames->by_text, hash_bytes(function, strlen(function)) ^ hash_u64(hash_bytes(module, strlen(module))), &fresh);

	if (fresh) {
		vec_push(&frames->list, ((struct frame_name){ arena_strdup(&frames->arena, function), arena_strdup(&frames->arena, module) }));
		*at = frames->list.length;
	}
	return (uint32_t)*at - 1;
}

uint32_t frames_text(struct frames *frames, const char *text)
{
	return number_of(frames, text, "");
}

static uint32_t add_stack(struct frames *frames, uint32_t node, uint32_t depth, uint32_t numbers[FRAMES_DEPTH_MOST])
{
	const struct tables *tables = frames->source->tables;
	uint32_t begin = depth;

	for (; node && node < tables->frame_count && depth < FRAMES_DEPTH_MOST; node = tables->frames[node].parent) {
		bool fresh;
		uint64_t *at = map_at(&frames->by_node, node, &fresh);

		if (fresh) {
			const struct name *name = names_frame(frames->source->names, node);

			*at = number_of(frames, name->text, name->module) + 1u;
		}
		numbers[depth++] = (uint32_t)*at - 1;
	}
	for (uint32_t i = begin, j = depth; i + 1 < j; i++, j--) {
		uint32_t swapped = numbers[i];

		numbers[i] = numbers[j - 1];
		numbers[j - 1] = swapped;
	}
	return depth;
}

uint32_t frames_of(struct frames *frames, uint32_t ustack, uint32_t kstack, uint32_t numbers[FRAMES_DEPTH_MOST])
{
	return add_stack(frames, kstack, add_stack(frames, ustack, 0, numbers), numbers);
}
