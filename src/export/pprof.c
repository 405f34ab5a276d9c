/* pprof's profile: time by thread, state and stack, in a column for each state; threads and
 * kinds of waits are labels. Compressed by gzip, as its readers want it. The numbers of
 * fields are those of profile.proto. */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "export/frames.h"
#include "export/protobuf.h"

enum { PROFILE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5, PROFILE_TEXT = 6, PROFILE_TIME = 9,
	PROFILE_DURATION = 10 };
enum { TYPE_NAME = 1, TYPE_UNIT = 2, SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3, LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

#define GZIP_WINDOW (15 + 16)  /* the largest, with gzip's head */

struct sum {
	uint32_t thread, ustack, kstack, state;
	uint64_t ns;
};

struct writing {
	const struct export_source *source;
	struct export_out *out;
	struct map sums;               /* hash -> place + 1 */
	struct vec(struct sum) list;
	struct frames frames;
	struct arena arena;
	struct map texts;              /* hash -> number */
	struct vec(const char *) text_list;
	struct buf message, part, plain;
	z_stream z;
	bool failed;
};

static void compress_plain(struct writing *w, bool all)
{
	unsigned char bytes[16384];
	int r;

	if (w->failed || (!all && w->plain.length < sizeof(bytes)))
		return;
	w->z.next_in = (unsigned char *)w->plain.data;
	w->z.avail_in = (uInt)w->plain.length;
	do {
		w->z.next_out = bytes;
		w->z.avail_out = sizeof(bytes);
		r = deflate(&w->z, all ? Z_FINISH : Z_NO_FLUSH);
		w->failed |= r == Z_STREAM_ERROR;
		buf_add(&w->out->buf, bytes, sizeof(bytes) - w->z.avail_out);
		export_flush(w->out, false);
	} while (!w->failed && !w->z.avail_out);
	buf_clear(&w->plain);
}

static void put_field(struct writing *w, unsigned field)
{
	proto_message(&w->plain, field, &w->message);
	buf_clear(&w->message);
	compress_plain(w, false);
}

static uint32_t text_number(struct writing *w, const char *text)
{
	bool fresh;
	uint64_t *at = map_at(&w->texts, hash_bytes(text, strlen(text)), &fresh);

	if (fresh) {
		*at = w->text_list.length;
		vec_push(&w->text_list, arena_strdup(&w->arena, text));
	}
	return (uint32_t)*at;
}

static void add(void *data, const struct state_interval *i)
{
	struct writing *w = data;
	struct sum sum = { i->thread, i->ustack, i->kstack, export_state(i), 0 };
	bool fresh;
	uint64_t *at = map_at(&w->sums, hash_bytes(&sum, 16), &fresh);

	if (fresh) {
		vec_push(&w->list, sum);
		*at = w->list.length;
	}
	w->list.items[*at - 1].ns += i->to_ns - i->from_ns;
}

static void put_label(struct writing *w, const char *key, const char *text, uint64_t number)
{
	struct buf label;

	buf_init(&label);
	proto_u64(&label, LABEL_KEY, text_number(w, key));
	if (text)
		proto_u64(&label, LABEL_TEXT, text_number(w, text));
	else
		proto_u64(&label, LABEL_NUMBER, number);
	proto_message(&w->message, SAMPLE_LABEL, &label);
	buf_done(&label);
}

static void put_sum(struct writing *w, const struct sum *sum)
{
	const struct thread *t = &w->source->tables->threads[sum->thread];
	uint32_t numbers[FRAMES_DEPTH_MOST], depth = frames_of(&w->frames, sum->ustack, sum->kstack, numbers);

	buf_clear(&w->part);
	while (depth-- > 0)            /* the innermost first; 0 is no location */
		proto_varint(&w->part, numbers[depth] + 1u);
	if (w->part.length)
		proto_message(&w->message, SAMPLE_LOCATION, &w->part);
	buf_clear(&w->part);
	for (unsigned state = 0; state < THREAD_STATES; state++)
		proto_varint(&w->part, export_state_of(sum->state) == state ? sum->ns : 0);
	proto_message(&w->message, SAMPLE_VALUE, &w->part);
	put_label(w, "thread", t->comm, 0);
	put_label(w, "pid", NULL, t->pid);
	put_label(w, "tid", NULL, t->tid);
	put_label(w, "state", export_state_text(&w->frames.arena, sum->state), 0);
	put_field(w, PROFILE_SAMPLE);
}

static void put_functions(struct writing *w)
{
	for (uint32_t i = 0; i < w->frames.list.length; i++) {
		const struct frame_name *f = &w->frames.list.items[i];

		proto_u64(&w->message, FUNCTION_ID, i + 1);
		proto_u64(&w->message, FUNCTION_NAME, text_number(w, f->function));
		proto_u64(&w->message, FUNCTION_SYSTEM_NAME, text_number(w, f->function));
		proto_u64(&w->message, FUNCTION_FILE, text_number(w, f->module));
		put_field(w, PROFILE_FUNCTION);
		buf_clear(&w->part);
		proto_u64(&w->part, LINE_FUNCTION, i + 1);
		proto_u64(&w->message, LOCATION_ID, i + 1);
		proto_message(&w->message, LOCATION_LINE, &w->part);
		put_field(w, PROFILE_LOCATION);
	}
}

static void put_profile(struct writing *w)
{
	const struct trace_summary *summary = trace_summary(w->source->trace);

	text_number(w, "");            /* must be the first */
	for (unsigned state = 0; state < THREAD_STATES; state++) {
		proto_u64(&w->message, TYPE_NAME, text_number(w, thread_state_name((enum thread_state)state)));
		proto_u64(&w->message, TYPE_UNIT, text_number(w, "nanoseconds"));
		put_field(w, PROFILE_TYPE);
	}
	for (size_t i = 0; i < w->list.length; i++)
		put_sum(w, &w->list.items[i]);
	put_functions(w);
	for (size_t i = 0; i < w->text_list.length; i++) {
		proto_text(&w->plain, PROFILE_TEXT, w->text_list.items[i]);
		compress_plain(w, false);
	}
	proto_u64(&w->plain, PROFILE_TIME, summary->start_wall_ns);
	proto_u64(&w->plain, PROFILE_DURATION, summary->end_ns - summary->start_ns);
}

static int run(const struct export_source *source, struct export_out *out, struct err *err)
{
	struct writing w = { .source = source, .out = out };

	if (deflateInit2(&w.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(err, -ENOMEM, "zlib has no memory");
	arena_init(&w.arena);
	frames_init(&w.frames, source);
	export_intervals(source, add, &w);
	put_profile(&w);
	compress_plain(&w, true);
	deflateEnd(&w.z);
	map_done(&w.sums);
	vec_done(&w.list);
	map_done(&w.texts);
	vec_done(&w.text_list);
	buf_done(&w.message);
	buf_done(&w.part);
	buf_done(&w.plain);
	frames_done(&w.frames);
	arena_done(&w.arena);
	return w.failed ? err_set(err, -EIO, "zlib failed") : 0;
}

const struct exporter exporter_pprof = {
	.name = "pprof", .summary = "for pprof: time by thread, state and stack, compressed", .binary = true, .run = run,
};
