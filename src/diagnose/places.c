/* See places.h. */
#include "diagnose/places.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

#define FRAMES_MOST 3         /* functions of a stack that are stepped through */

static bool is_system(const char *path)
{
	static const char *const names[] = { "/libc.so", "/libc-", "/libpthread", "/ld-linux" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strstr(path, names[i]))
			return true;
	return path[0] != '/';
}

uint32_t places_own_frame(const struct tables *tables, uint32_t node)
{
	for (; node && node < tables->frame_count; node = tables->frames[node].parent)
		if (tables->frames[node].module < tables->module_count && !is_system(tables->modules[tables->frames[node].module].path))
			return node;
	return 0;
}

const char *places_to_step(struct arena *arena, const struct tables *tables, uint32_t node)
{
	uint32_t module;
	struct buf places;
	const char *text;

	if (!node)
		return NULL;
	module = tables->frames[node].module;
	buf_init(&places);
	buf_text(&places, tables->modules[module].path);
	for (int i = 0; i < FRAMES_MOST && node && node < tables->frame_count && tables->frames[node].module == module; i++) {
		buf_printf(&places, "%s+0x%" PRIx64, i ? "," : "", tables->frames[node].address);
		node = tables->frames[node].parent;
	}
	text = arena_strdup(arena, buf_str(&places));
	buf_done(&places);
	return text;
}
