/* Traces of any size from one recording, for tests of scale:
 *
 *	compose [--ring] [--events N | --seconds N] [--rate N] [--storms N]
 *		[--truth FILE] RECORDING OUT
 *
 * The recording's parts (recording.h) are played one behind the other, each as often
 * as it takes. Threads that last go on from part to part, as the same processes with
 * the same files, sockets and locks; what begins or ends within a part is another
 * process in each playing, and so are its objects. Between two parts each thread is
 * brought, by a wake-up and a switch, from what it did at the end of one to what it
 * does at the begin of the next, so that every processor's switches follow from each
 * other; processes of the part that still live are ended as by a signal. Nothing else
 * is made up.
 *
 * Load is even: of the even parts and the idle ones that is played next which keeps to
 * --rate events a second. Hangs come at equal distances; storms too, of half a minute
 * each, and none in the last ten minutes; the truth file tells, a line of JSON each, when and in which threads
 * hangs were. With --ring files begin as the flight recorder's do, with the state at
 * that moment. Memory does not grow with what is made. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "composition.h"

#define RATE 42000u
#define RING_FILE_BYTES (128u << 20)
#define QUIET_END_NS 600000000000u  /* without storms */
#define HANG_EVERY_NS 300000000000u
#define STORM_NS 30000000000u

static const struct part *next_part(struct composition *c, enum part_kind kind)
{
	const struct parts *parts = &c->recording.parts;

	for (size_t i = 0; i < parts->length; i++) {
		const struct part *part = &parts->items[(c->next_of[kind] + i) % parts->length];

		if (part->kind != kind)
			continue;
		c->next_of[kind] = (size_t)(part - parts->items) + 1;
		return part;
	}
	return NULL;
}

static uint64_t total_ns(const struct composition *c)
{
	return c->seconds ? c->seconds * 1000000000u : c->events * 1000 / c->rate * 1000000;
}

static bool is_done(const struct composition *c)
{
	return c->seconds ? c->now_ns - c->start_ns >= c->seconds * 1000000000u : c->written >= c->events;
}

/* Hangs at least as often as there are kinds of them, the last one well before the end. */
static bool is_hang_due(const struct composition *c)
{
	uint64_t every = total_ns(c), kinds = 0;

	for (size_t i = 0; i < c->recording.parts.length; i++)
		kinds += c->recording.parts.items[i].kind == PART_HANG;
	every /= kinds + 1;
	if (every > HANG_EVERY_NS)
		every = HANG_EVERY_NS;
	return c->now_ns - c->start_ns >= (c->hangs_played + 1) * every - every / 2;
}

static bool is_storm_due(const struct composition *c)
{
	uint64_t total = total_ns(c), until = total > 2 * QUIET_END_NS ? total - QUIET_END_NS : total;

	return c->storms_played < c->storms && c->now_ns - c->start_ns >= until * (c->storms_played + 1) / (c->storms + 1);
}

/* Storms come on top of the rate. */
static const struct part *choose(struct composition *c, uint64_t *storm_events)
{
	const struct part *part = NULL;

	if (is_storm_due(c)) {
		c->storms_played++;
		c->storm_end_ns = c->now_ns + STORM_NS;
	}
	if (c->now_ns < c->storm_end_ns) {
		part = next_part(c, PART_STORM);
		*storm_events += part ? part->events : 0;
	} else if (is_hang_due(c)) {
		c->hangs_played++;
		part = next_part(c, PART_HANG);
	}
	if (!part && (double)(c->written - *storm_events) > (double)(c->now_ns - c->start_ns) / 1e9 * (double)c->rate)
		part = next_part(c, PART_IDLE);
	return part ? part : next_part(c, PART_EVEN);
}

static int compose(struct composition *c, struct err *err)
{
	uint64_t storm_events = 0;
	int code = composed_begin(&c->out, c->now_ns, err);

	for (size_t i = 0; i < c->recording.first_count; i++) {
		const struct part_state *first = &c->recording.first[i];

		if (!life_of(c, first->tid))
			life_add(c, first->tid, first->tid, c->start_ns)->state = first->state;
	}
	if (!code)
		code = put_head(c, SNAPSHOT_REASON_start, err);
	while (!code && !is_done(c)) {
		const struct part *part = choose(c, &storm_events);

		code = part ? part_play(c, part, err) : err_set(err, -EINVAL, "the recording has no even part");
	}
	if (!code)
		code = put_end(c, err);
	return code ? code : composed_end(&c->out, err);
}

/* ---- the command ---- */

static int prepare(struct composition *c, const char *from, const char *to, bool ring, struct err *err)
{
	int code = recording_open(from, &c->recording, err);

	if (code)
		return code;
	if (ring && mkdir(to, 0700) && errno != EEXIST)
		return err_sys(err, -errno, "making '%s'", to);
	c->cpus = trace_summary(c->recording.trace)->cpus - 1;
	c->out.path = to;
	c->out.file_bytes = ring ? RING_FILE_BYTES : 0;
	c->out.options.cpus = c->cpus + 1;
	if (getrandom(&c->out.options.recording, sizeof(c->out.options.recording), 0) < 0)
		c->out.options.recording = 1;
	c->start_ns = c->now_ns = trace_summary(c->recording.trace)->start_ns;
	c->life_of = mem_zalloc(TID_LIMIT * sizeof(*c->life_of));
	c->tid_of = mem_zalloc(TID_LIMIT * sizeof(*c->tid_of));
	c->current = mem_zalloc((c->cpus + 1) * sizeof(*c->current));
	part_find_changes(c);
	return 0;
}

static void done(struct composition *c)
{
	for (unsigned type = 0; type < EVENT_MAX; type++)
		vec_done(&c->changes[type]);
	vec_done(&c->lives);
	vec_done(&c->named);
	free(c->life_of);
	free(c->tid_of);
	free(c->current);
	if (c->truth)
		fclose(c->truth);
	recording_close(&c->recording);
}

static int usage(void)
{
	fprintf(stderr, "usage: compose [--ring] [--events N | --seconds N] [--rate N] [--storms N] [--truth FILE] RECORDING OUT\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct composition c = { .rate = RATE, .next_tid = FIRST_TID };
	struct err err = { 0 };
	bool ring = false;
	int at = 1, code;

	for (; at < argc && !strncmp(argv[at], "--", 2); at++) {
		const char *value = at + 1 < argc ? argv[at + 1] : "";

		if (!strcmp(argv[at], "--ring")) {
			ring = true;
			continue;
		}
		if (!strcmp(argv[at], "--events"))
			c.events = strtoull(value, NULL, 10);
		else if (!strcmp(argv[at], "--seconds"))
			c.seconds = strtoull(value, NULL, 10);
		else if (!strcmp(argv[at], "--rate"))
			c.rate = strtoull(value, NULL, 10);
		else if (!strcmp(argv[at], "--storms"))
			c.storms = (unsigned)strtoul(value, NULL, 10);
		else if (!strcmp(argv[at], "--truth"))
			c.truth = fopen(value, "w");
		else
			return usage();
		at++;
	}
	if (argc - at != 2 || !c.rate || (!c.events && !c.seconds))
		return usage();
	code = prepare(&c, argv[at], argv[at + 1], ring, &err);
	if (!code) {
		code = compose(&c, &err);
		printf("%" PRIu64 " events, %.1f s, %" PRIu64 " MiB in %" PRIu64 " files, %" PRIu64 " parts, %u hangs, %u storms\n", c.written,
		       (double)(c.now_ns - c.start_ns) / 1e9, c.out.bytes >> 20, c.out.files, c.playing, c.hangs_played, c.storms_played);
		done(&c);
	}
	if (code)
		fprintf(stderr, "compose: %s\n", err.text);
	return code ? 1 : 0;
}
