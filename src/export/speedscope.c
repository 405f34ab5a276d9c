/* Speedscope's file: a profile for each thread, its time from the first moment to the last;
 * at the root of each stack stands the state, with the time as the weight. */
#include <inttypes.h>

#include "base/json.h"
#include "export/frames.h"
#include "export/spool.h"

struct writing {
	const struct export_source *source;
	struct export_out *out;
	struct json json;
	struct frames frames;
	struct spool *spool;
	uint64_t first_ns, last_ns;
};

static void keep(void *data, const struct state_interval *i)
{
	struct writing *w = data;

	spool_add(w->spool, i->thread, &(struct spooled){ i->from_ns, i->to_ns, i->ustack, i->kstack, export_state(i) });
}

static void put_stack(void *data, const struct spooled *item)
{
	struct writing *w = data;
	uint32_t numbers[FRAMES_DEPTH_MOST], depth = frames_of(&w->frames, item->ustack, item->kstack, numbers);

	if (!w->first_ns || item->from_ns < w->first_ns)
		w->first_ns = item->from_ns;
	w->last_ns = item->to_ns;
	json_array(&w->json, NULL);
	json_u64(&w->json, NULL, frames_text(&w->frames, export_state_text(&w->frames.arena, item->state)));
	for (uint32_t i = 0; i < depth; i++)
		json_u64(&w->json, NULL, numbers[i]);
	json_end(&w->json);
	export_flush(w->out, false);
}

static void put_weight(void *data, const struct spooled *item)
{
	struct writing *w = data;

	json_u64(&w->json, NULL, item->to_ns - item->from_ns);
	export_flush(w->out, false);
}

static int put_thread(struct writing *w, uint32_t thread, struct err *err)
{
	struct arena arena;
	int r;

	arena_init(&arena);
	w->first_ns = w->last_ns = 0;
	json_object(&w->json, NULL);
	json_text(&w->json, "type", "sampled");
	json_text(&w->json, "name", export_thread_text(&arena, &w->source->tables->threads[thread]));
	json_text(&w->json, "unit", "nanoseconds");
	json_array(&w->json, "samples");
	r = spool_read(w->spool, thread, put_stack, w, err);
	json_end(&w->json);
	json_array(&w->json, "weights");
	if (!r)
		r = spool_read(w->spool, thread, put_weight, w, err);
	json_end(&w->json);
	json_u64(&w->json, "startValue", w->first_ns);
	json_u64(&w->json, "endValue", w->last_ns);
	json_end(&w->json);
	arena_done(&arena);
	return r;
}

static void put_frames(struct writing *w)
{
	json_object(&w->json, "shared");
	json_array(&w->json, "frames");
	for (size_t i = 0; i < w->frames.list.length; i++) {
		json_object(&w->json, NULL);
		json_text(&w->json, "name", w->frames.list.items[i].function);
		if (w->frames.list.items[i].module[0])
			json_text(&w->json, "file", w->frames.list.items[i].module);
		json_end(&w->json);
	}
	json_end(&w->json);
	json_end(&w->json);
}

static int run(const struct export_source *source, struct export_out *out, struct err *err)
{
	struct writing w = { .source = source, .out = out };
	int r = spool_new(source->tables->thread_count, &w.spool, err);

	if (r)
		return r;
	frames_init(&w.frames, source);
	export_intervals(source, keep, &w);
	json_init(&w.json, &out->buf);
	json_object(&w.json, NULL);
	json_text(&w.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_text(&w.json, "exporter", "argus");
	json_text(&w.json, "name", trace_path(source->trace));
	json_array(&w.json, "profiles");
	for (uint32_t i = 1; !r && i < source->tables->thread_count; i++)
		if (spool_count(w.spool, i))
			r = put_thread(&w, i, err);
	json_end(&w.json);
	put_frames(&w);
	json_end(&w.json);
	buf_char(&out->buf, '\n');
	frames_done(&w.frames);
	spool_free(w.spool);
	return r;
}

const struct exporter exporter_speedscope = {
	.name = "speedscope", .summary = "for speedscope.app: a profile for each thread, its time by state and stack", .run = run,
};
