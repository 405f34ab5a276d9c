/* The Firefox Profiler's file ("processed profile", version 46): a thread for each thread,
 * its time by state and stack as weighted samples, its waits as markers. The tables of a
 * thread (strings, functions, frames, stacks) are its own; what they hold grows with its
 * different stacks. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "export/frames.h"
#include "export/spool.h"

#define FORMAT_VERSION 46

struct stack {
	uint32_t prefix;         /* place + 1, 0 none */
	uint32_t frame;
	uint32_t category;
};

struct writing {
	const struct export_source *source;
	struct export_out *out;
	struct json json;
	struct spool *spool;
	uint64_t start_ns;
	struct frames frames;    /* of the thread */
	struct map by_stack;     /* hash of prefix, frame and category -> place + 1 */
	struct vec(struct stack) stacks;
};

static const char *const colours[THREAD_STATES] = {
	[THREAD_UNKNOWN] = "grey", [THREAD_RUNNING] = "green", [THREAD_RUNNABLE] = "orange", [THREAD_WAITING] = "blue",
	[THREAD_STOPPED] = "red",
};

static void keep(void *data, const struct state_interval *i)
{
	struct writing *w = data;

	spool_add(w->spool, i->thread, &(struct spooled){ i->from_ns, i->to_ns, i->ustack, i->kstack, export_state(i) });
}

static uint32_t stack_under(struct writing *w, uint32_t prefix, uint32_t frame, uint32_t category)
{
	struct stack stack = { prefix, frame, category };
	bool fresh;
	uint64_t *at = map_at(&w->by_stack, hash_bytes(&stack, sizeof(stack)), &fresh);

	if (fresh) {
		vec_push(&w->stacks, stack);
		*at = w->stacks.length;
	}
	return (uint32_t)*at;
}

/* Place + 1 of the interval's stack, with the state at its root. */
static uint32_t stack_of(struct writing *w, const struct spooled *item)
{
	uint32_t numbers[FRAMES_DEPTH_MOST], depth = frames_of(&w->frames, item->ustack, item->kstack, numbers);
	uint32_t category = export_state_of(item->state);
	uint32_t at = stack_under(w, 0, frames_text(&w->frames, export_state_text(&w->frames.arena, item->state)), category);

	for (uint32_t i = 0; i < depth; i++)
		at = stack_under(w, at, numbers[i], category);
	return at;
}

static double milliseconds(const struct writing *w, uint64_t time)
{
	return time > w->start_ns ? (double)(time - w->start_ns) / 1e6 : 0;
}

/* json_double rounds: a sum over millions of rows must not. */
static void put_ns(struct writing *w, uint64_t ns)
{
	struct json *json = &w->json;

	if (json->filled[json->depth - 1])
		buf_char(json->buf, ',');
	json->filled[json->depth - 1] = true;
	buf_printf(json->buf, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
	export_flush(w->out, false);
}

static void put_stack(void *data, const struct spooled *item)
{
	struct writing *w = data;

	json_u64(&w->json, NULL, stack_of(w, item) - 1u);
	export_flush(w->out, false);
}

static void put_time(void *data, const struct spooled *item)
{
	struct writing *w = data;

	put_ns(w, item->from_ns > w->start_ns ? item->from_ns - w->start_ns : 0);
}

static void put_weight(void *data, const struct spooled *item)
{
	put_ns(data, item->to_ns - item->from_ns);
}

static bool is_marked(const struct spooled *item)
{
	return export_state_of(item->state) == THREAD_WAITING || export_state_of(item->state) == THREAD_STOPPED;
}

static void put_marker_start(void *data, const struct spooled *item)
{
	if (is_marked(item))
		put_time(data, item);
}

static void put_marker_end(void *data, const struct spooled *item)
{
	struct writing *w = data;

	if (is_marked(item))
		put_ns(w, item->to_ns > w->start_ns ? item->to_ns - w->start_ns : 0);
}

static void put_marker_name(void *data, const struct spooled *item)
{
	struct writing *w = data;

	if (is_marked(item))
		json_u64(&w->json, NULL, frames_text(&w->frames, export_state_text(&w->frames.arena, item->state)));
}

static void put_marker_category(void *data, const struct spooled *item)
{
	struct writing *w = data;

	if (is_marked(item))
		json_u64(&w->json, NULL, export_state_of(item->state));
}

static void put_marker_data(void *data, const struct spooled *item)
{
	struct writing *w = data;

	if (is_marked(item))
		json_null(&w->json, NULL);
}

static void put_marker_phase(void *data, const struct spooled *item)
{
	struct writing *w = data;

	if (is_marked(item))
		json_u64(&w->json, NULL, 1);      /* an interval */
}

static void count_marker(void *data, const struct spooled *item)
{
	*(uint64_t *)data += is_marked(item);
}

struct column {
	const char *key;
	void (*put)(void *data, const struct spooled *item);
};

static int put_columns(struct writing *w, uint32_t thread, const struct column *columns, struct err *err)
{
	int r = 0;

	for (; columns->key && !r; columns++) {
		json_array(&w->json, columns->key);
		r = spool_read(w->spool, thread, columns->put, w, err);
		json_end(&w->json);
	}
	return r;
}

static int put_samples(struct writing *w, uint32_t thread, struct err *err)
{
	static const struct column samples[] = { { "stack", put_stack }, { "time", put_time }, { "weight", put_weight }, { 0 } };
	static const struct column markers[] = {
		{ "category", put_marker_category }, { "data", put_marker_data }, { "endTime", put_marker_end }, { "name", put_marker_name },
		{ "phase", put_marker_phase }, { "startTime", put_marker_start }, { 0 },
	};
	uint64_t marked = 0;
	int r;

	json_object(&w->json, "samples");
	json_u64(&w->json, "length", spool_count(w->spool, thread));
	json_text(&w->json, "weightType", "tracing-ms");
	r = put_columns(w, thread, samples, err);
	json_end(&w->json);
	if (!r)
		r = spool_read(w->spool, thread, count_marker, &marked, err);
	json_object(&w->json, "markers");
	json_u64(&w->json, "length", marked);
	if (!r)
		r = put_columns(w, thread, markers, err);
	json_end(&w->json);
	return r;
}

/* A column of the same value, or of the rows' own numbers. */
static void put_same(struct writing *w, const char *key, size_t count, const char *value)
{
	json_array(&w->json, key);
	for (size_t i = 0; i < count; i++) {
		if (!value)
			json_u64(&w->json, NULL, i);
		else if (!strcmp(value, "null"))
			json_null(&w->json, NULL);
		else if (!strcmp(value, "false"))
			json_bool(&w->json, NULL, false);
		else
			json_i64(&w->json, NULL, !strcmp(value, "-1") ? -1 : 0);
		export_flush(w->out, false);
	}
	json_end(&w->json);
}

static void put_stacks(struct writing *w)
{
	json_object(&w->json, "stackTable");
	json_u64(&w->json, "length", w->stacks.length);
	json_array(&w->json, "prefix");
	for (size_t i = 0; i < w->stacks.length; i++) {
		if (w->stacks.items[i].prefix)
			json_u64(&w->json, NULL, w->stacks.items[i].prefix - 1u);
		else
			json_null(&w->json, NULL);
	}
	json_end(&w->json);
	json_array(&w->json, "frame");
	for (size_t i = 0; i < w->stacks.length; i++)
		json_u64(&w->json, NULL, w->stacks.items[i].frame);
	json_end(&w->json);
	json_array(&w->json, "category");
	for (size_t i = 0; i < w->stacks.length; i++)
		json_u64(&w->json, NULL, w->stacks.items[i].category);
	json_end(&w->json);
	put_same(w, "subcategory", w->stacks.length, "0");
	json_end(&w->json);
}

/* A function, a frame and a text for each of the frames; behind the texts their modules'. */
static void put_tables(struct writing *w)
{
	size_t count = w->frames.list.length;

	json_object(&w->json, "frameTable");
	json_u64(&w->json, "length", count);
	put_same(w, "address", count, "-1");
	put_same(w, "inlineDepth", count, "0");
	put_same(w, "category", count, "null");
	put_same(w, "subcategory", count, "null");
	put_same(w, "func", count, NULL);
	put_same(w, "nativeSymbol", count, "null");
	put_same(w, "innerWindowID", count, "null");
	put_same(w, "implementation", count, "null");
	put_same(w, "line", count, "null");
	put_same(w, "column", count, "null");
	json_end(&w->json);
	json_object(&w->json, "funcTable");
	json_u64(&w->json, "length", count);
	put_same(w, "name", count, NULL);
	put_same(w, "isJS", count, "false");
	put_same(w, "relevantForJS", count, "false");
	put_same(w, "resource", count, "-1");
	json_array(&w->json, "fileName");
	for (size_t i = 0; i < count; i++) {
		if (w->frames.list.items[i].module[0])
			json_u64(&w->json, NULL, count + i);
		else
			json_null(&w->json, NULL);
	}
	json_end(&w->json);
	put_same(w, "lineNumber", count, "null");
	put_same(w, "columnNumber", count, "null");
	json_end(&w->json);
	json_array(&w->json, "stringArray");
	for (size_t i = 0; i < count; i++)
		json_text(&w->json, NULL, w->frames.list.items[i].function);
	for (size_t i = 0; i < count; i++)
		json_text(&w->json, NULL, w->frames.list.items[i].module);
	json_end(&w->json);
	json_object(&w->json, "nativeSymbols");
	json_u64(&w->json, "length", 0);
	for (const char *const *key = (const char *const[]){ "libIndex", "address", "name", "functionSize", NULL }; *key; key++)
		put_same(w, *key, 0, "0");
	json_end(&w->json);
	json_object(&w->json, "resourceTable");
	json_u64(&w->json, "length", 0);
	for (const char *const *key = (const char *const[]){ "lib", "name", "host", "type", NULL }; *key; key++)
		put_same(w, *key, 0, "0");
	json_end(&w->json);
}

static int put_thread(struct writing *w, uint32_t thread, struct err *err)
{
	const struct tables *tables = w->source->tables;
	const struct thread *t = &tables->threads[thread];
	struct arena arena;
	int r;

	arena_init(&arena);
	frames_init(&w->frames, w->source);
	map_init(&w->by_stack);
	json_object(&w->json, NULL);
	json_text(&w->json, "name", t->comm);
	json_bool(&w->json, "isMainThread", t->tid == t->pid);
	json_text(&w->json, "processType", "default");
	json_text(&w->json, "processName", tables->threads[tables_process(tables, t->pid, t->start_ns)].comm);
	json_double(&w->json, "processStartupTime", milliseconds(w, t->start_ns));
	json_null(&w->json, "processShutdownTime");
	json_double(&w->json, "registerTime", milliseconds(w, t->start_ns));
	json_null(&w->json, "unregisterTime");
	json_text(&w->json, "pid", arena_printf(&arena, "%" PRIu32, t->pid));
	json_u64(&w->json, "tid", t->tid);
	json_bool(&w->json, "showMarkersInTimeline", true);
	json_array(&w->json, "pausedRanges");
	json_end(&w->json);
	r = put_samples(w, thread, err);
	put_stacks(w);
	put_tables(w);
	json_end(&w->json);
	map_done(&w->by_stack);
	vec_done(&w->stacks);
	w->stacks.length = 0;
	frames_done(&w->frames);
	arena_done(&arena);
	return r;
}

static void put_meta(struct writing *w)
{
	const struct trace_summary *summary = trace_summary(w->source->trace);

	json_object(&w->json, "meta");
	json_u64(&w->json, "version", 29);
	json_u64(&w->json, "preprocessedProfileVersion", FORMAT_VERSION);
	json_text(&w->json, "product", "argus");
	json_u64(&w->json, "interval", 1);
	json_u64(&w->json, "processType", 0);
	json_bool(&w->json, "debug", false);
	json_bool(&w->json, "symbolicated", true);
	json_double(&w->json, "startTime", (double)summary->start_wall_ns / 1e6);
	json_bool(&w->json, "doesNotUseFrameImplementation", true);
	json_bool(&w->json, "sourceCodeIsNotOnSearchfox", true);
	json_array(&w->json, "markerSchema");
	json_end(&w->json);
	json_array(&w->json, "categories");
	for (unsigned i = 0; i < THREAD_STATES; i++) {
		json_object(&w->json, NULL);
		json_text(&w->json, "name", thread_state_name((enum thread_state)i));
		json_text(&w->json, "color", colours[i]);
		json_array(&w->json, "subcategories");
		json_text(&w->json, NULL, "Other");
		json_end(&w->json);
		json_end(&w->json);
	}
	json_end(&w->json);
	json_object(&w->json, "extensions");
	json_u64(&w->json, "length", 0);
	for (const char *const *key = (const char *const[]){ "baseURL", "id", "name", NULL }; *key; key++)
		put_same(w, *key, 0, "0");
	json_end(&w->json);
	json_end(&w->json);
}

static int run(const struct export_source *source, struct export_out *out, struct err *err)
{
	struct writing w = { .source = source, .out = out, .start_ns = trace_summary(source->trace)->start_ns };
	int r = spool_new(source->tables->thread_count, &w.spool, err);

	if (r)
		return r;
	export_intervals(source, keep, &w);
	json_init(&w.json, &out->buf);
	json_object(&w.json, NULL);
	put_meta(&w);
	for (const char *const *key = (const char *const[]){ "libs", "pages", "counters", "profilerOverhead", NULL }; *key; key++)
		put_same(&w, *key, 0, "0");
	json_array(&w.json, "threads");
	for (uint32_t i = 1; !r && i < source->tables->thread_count; i++)
		if (spool_count(w.spool, i))
			r = put_thread(&w, i, err);
	json_end(&w.json);
	json_end(&w.json);
	buf_char(&out->buf, '\n');
	spool_free(w.spool);
	return r;
}

const struct exporter exporter_firefox = {
	.name = "firefox", .summary = "for profiler.firefox.com: threads' time by state and stack, waits as markers", .run = run,
};
