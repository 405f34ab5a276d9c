/* Values that wander between probes: what one thread hands to a probed function and
 * another gets back from one is a hand-over that no edge tells yet. Proposed where it
 * holds of nearly all calls. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "graph/check.h"
#include "graph/store.h"
#include "trace/probe_names.h"

#define VALUES 4             /* of a probe event: three arguments, the result */
#define PROBES_COMPARED 16u  /* slots of them fit in a word */
#define SLOTS (PROBES_COMPARED * VALUES)
#define LEAST_VALUE 4096     /* smaller ones are counts and flags, not handles */
#define LEAST_CALLS 10
#define LEAST_SHARE 90       /* per cent of the calls */
#define CALLS_MOST 2000000u   /* values looked at; later ones say nothing new */

static const char *const value_names[VALUES] = { "arg1", "arg2", "arg3", "result" };

struct pair {
	uint32_t calls;
	uint64_t wait_ns;        /* from the one to the other */
	uint64_t first_event;
	uint32_t first_tid;
	uint64_t first_ns;
};

struct wandering {
	const struct graph *graph;
	struct probe_names names;
	struct map seen;         /* process and value -> slots that had it */
	struct map last;         /* the same and a slot -> index in `calls` */
	struct vec(struct call { uint64_t ns; uint32_t tid; }) calls;
	struct pair pairs[SLOTS][SLOTS];
	uint32_t totals[SLOTS];  /* calls with such a value */
};

static void take_value(struct wandering *w, const struct event *e, uint32_t pid, unsigned slot, uint64_t value)
{
	uint64_t key = hash_u64(value) ^ pid, *mask, *last;

	w->totals[slot]++;
	mask = map_at(&w->seen, key, NULL);
	for (uint64_t left = *mask; left; left &= left - 1) {
		unsigned other = (unsigned)__builtin_ctzll(left);
		struct pair *pair = &w->pairs[other][slot];
		const struct call *call = &w->calls.items[*map_find(&w->last, hash_u64(key) ^ other)];

		/* from one probe to another, between threads */
		if (other / VALUES == slot / VALUES || call->tid == e->tid)
			continue;
		if (!pair->calls++) {
			pair->first_event = e->number;
			pair->first_tid = e->tid;
			pair->first_ns = e->time;
		}
		pair->wait_ns += e->time - call->ns;
		*mask &= ~(1ull << other);
	}
	*mask |= 1ull << slot;
	last = map_at(&w->last, hash_u64(key) ^ slot, NULL);
	*last = w->calls.length;
	vec_push(&w->calls, ((struct call){ e->time, e->tid }));
}

static void take_event(struct wandering *w, struct thread_tracker *tracker, const struct event *e)
{
	const struct event_probe *p = event_as(e, probe);
	const uint64_t values[VALUES] = { p->arg1, p->arg2, p->arg3, p->result };
	uint32_t thread = thread_tracker_find(tracker, e->tid, e->time);
	uint32_t pid = w->graph->tables->threads[thread].pid;

	if (p->probe >= PROBES_COMPARED || !probe_name(&w->names, p->probe)->name[0])
		return;
	for (unsigned i = 0; i < VALUES; i++)
		if (values[i] >= LEAST_VALUE)
			take_value(w, e, pid, p->probe * VALUES + i, values[i]);
}

/* As rules name a probe; false when they cannot. */
static bool put_probe(struct buf *buf, const char *name)
{
	for (const char *at = name; *at; at++)
		if ((unsigned char)*at < ' ' || *at == '"' || *at == '\\' || *at == 127)
			return false;
	buf_printf(buf, "probe \"%s\"", name);
	return true;
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* The rule's text names the probe, in quotes or without. */
static bool names_probe(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = text; (at = strstr(at, "probe")); at++) {
		const char *word = at + strlen("probe") + strspn(at + strlen("probe"), " \t\n");
		bool quoted = *word == '"';

		word += quoted;
		if (!strncmp(word, name, length) && (quoted ? word[length] == '"' : !is_name_char(word[length])))
			return true;
	}
	return false;
}

/* A rule about edges speaks of both already. */
static bool is_told(const struct graph *graph, const char *from, const char *to)
{
	for (uint32_t i = 0; i < graph_rule_count(graph); i++) {
		const char *edge = strstr(graph_rule_text(graph, i), ": edge ");

		if (edge && names_probe(edge, from) && names_probe(edge, to))
			return true;
	}
	return false;
}

/* The pair of values that most of the calls agree on; false when they do not. */
static bool best_pair(const struct wandering *w, unsigned from, unsigned to, unsigned *ret_from, unsigned *ret_to)
{
	uint32_t most = 0;

	for (unsigned i = from * VALUES; i < (from + 1) * VALUES; i++)
		for (unsigned j = to * VALUES; j < (to + 1) * VALUES; j++) {
			uint32_t calls = w->pairs[i][j].calls;

			if (calls < LEAST_CALLS || calls <= most || (uint64_t)calls * 100 < (uint64_t)w->totals[j] * LEAST_SHARE ||
			    (uint64_t)calls * 100 < (uint64_t)w->totals[i] * LEAST_SHARE)
				continue;
			most = calls;
			*ret_from = i;
			*ret_to = j;
		}
	return most > 0;
}

static bool make_flaw(struct arena *arena, const struct wandering *w, unsigned from, unsigned to, struct graph_flaw *ret_flaw)
{
	const struct pair *pair = &w->pairs[from][to];
	const char *from_name = probe_name(&w->names, from / VALUES)->name, *to_name = probe_name(&w->names, to / VALUES)->name;
	uint32_t thread = graph_thread_find(w->graph, pair->first_tid, pair->first_ns);
	struct buf words;

	if (thread == GRAPH_NONE || is_told(w->graph, from_name, to_name))
		return false;
	*ret_flaw = (struct graph_flaw){ .kind = FLAW_handed_over, .thread = thread, .segment = graph_stretch_of_event(w->graph, pair->first_event),
					 .first_event = pair->first_event, .count = pair->calls, .harm_ns = pair->wait_ns,
					 .syscall = SYSCALL_NONE, .proposal = "" };
	buf_init(&words);
	buf_printf(&words, "%s of probe ", value_names[from % VALUES]);
	buf_escaped(&words, from_name, strlen(from_name), NULL);
	buf_printf(&words, " comes again as %s of probe ", value_names[to % VALUES]);
	buf_escaped(&words, to_name, strlen(to_name), NULL);
	ret_flaw->words = arena_strdup(arena, buf_str(&words));
	buf_clear(&words);
	buf_text(&words, "edge handed-over as submit from ");
	if (put_probe(&words, from_name)) {
		buf_printf(&words, " key %s, thread.pid to ", value_names[from % VALUES]);
		if (put_probe(&words, to_name)) {
			buf_printf(&words, " key %s, thread.pid;", value_names[to % VALUES]);
			ret_flaw->proposal = arena_strdup(arena, buf_str(&words));
		}
	}
	buf_done(&words);
	return true;
}

static void read_events(struct wandering *w)
{
	struct trace_filter filter = { 0 };
	struct thread_tracker tracker;
	struct trace_cursor *cursor;
	const struct event *e;

	trace_filter_add(&filter, EVENT_probe);
	cursor = trace_cursor_new(w->graph->trace, &filter);
	thread_tracker_init(&tracker, w->graph->tables);
	while (w->calls.length < CALLS_MOST && (e = trace_cursor_next(cursor)))
		take_event(w, &tracker, e);
	thread_tracker_done(&tracker);
	trace_cursor_free(cursor);
}

size_t graph_check_probes(struct arena *arena, const struct graph *graph, struct graph_flaw *flaws, size_t most)
{
	struct wandering *w;
	size_t count = 0;

	if (!trace_summary(graph->trace)->counts[EVENT_probe] || !trace_summary(graph->trace)->counts[EVENT_probe_point])
		return 0;
	w = mem_zalloc(sizeof(*w));
	w->graph = graph;
	probe_names_read(arena, graph->trace, &w->names);
	read_events(w);
	for (unsigned from = 1; from < PROBES_COMPARED; from++)
		for (unsigned to = 1; to < PROBES_COMPARED; to++) {
			unsigned from_slot, to_slot;

			if (count < most && best_pair(w, from, to, &from_slot, &to_slot) &&
			    make_flaw(arena, w, from_slot, to_slot, &flaws[count]))
				count++;
		}
	map_done(&w->seen);
	map_done(&w->last);
	vec_done(&w->calls);
	free(w);
	return count;
}
