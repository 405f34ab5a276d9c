/* stack_events FILE COUNT: writes a trace of COUNT events with stacks, to measure
 * inference by.
 *
 * Four threads walk at random over a calling-context tree of some ten thousand
 * contexts, about twenty frames deep, and are seen at system calls (seven in ten),
 * samples and switches. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/writer.h"

#define THREADS 4
#define DEPTH 40
#define CHILDREN 3
#define MAX_NODES 20000

struct walker {
	uint32_t stack[DEPTH];
	uint32_t depth;
};

struct generator {
	struct writer *writer;
	struct walker walkers[THREADS];
	struct map child_of;       /* (parent, which) -> node */
	uint64_t random, now;
	uint32_t nodes;
	struct err err;
};

static uint64_t next_random(struct generator *g, uint64_t below)
{
	g->random = g->random * 6364136223846793005u + 1442695040888963407u;
	return hash_u64(g->random) % below;
}

static void add(struct generator *g, unsigned type, uint32_t tid, uint32_t cpu, const void *data, const char *tail,
		uint32_t tail_length)
{
	const struct event e = {
		.time = g->now, .tid = tid, .cpu = (uint16_t)cpu, .type = (uint16_t)type, .data = data, .tail = tail,
		.tail_length = tail_length,
	};

	if (writer_add_event(g->writer, &e, &g->err)) {
		fprintf(stderr, "stack_events: %s\n", g->err.text);
		exit(1);
	}
}

static uint32_t child(struct generator *g, uint32_t parent, uint32_t which)
{
	uint64_t *known = map_at(&g->child_of, (uint64_t)parent << 32 | which, NULL);
	struct event_frame frame = { .parent = parent };

	if (*known || g->nodes >= MAX_NODES)
		return *known ? (uint32_t)*known : parent;
	frame.node = ++g->nodes;
	frame.module = 1;
	/* Some 500 functions, each with a few places from which it calls. */
	frame.address = 0x1000 + (hash_u64((uint64_t)parent * 7 + which) % 500) * 0x100 + which * 8;
	*known = frame.node;
	add(g, EVENT_frame, 0, 0, &frame, "", 0);
	return frame.node;
}

static uint32_t walk(struct generator *g, struct walker *w)
{
	uint32_t pops = (uint32_t)__builtin_ctzll(next_random(g, 1 << 20) | 1 << 10);

	w->depth = w->depth > pops + 8 ? w->depth - pops : w->depth > 8 ? 8 : w->depth;
	for (uint32_t want = 16 + (uint32_t)next_random(g, 8); w->depth < want && w->depth < DEPTH; w->depth++) {
		uint32_t parent = w->depth ? w->stack[w->depth - 1] : 0;

		w->stack[w->depth] = child(g, parent, w->depth < 8 ? 0 : (uint32_t)next_random(g, CHILDREN));
		if (w->stack[w->depth] == parent)
			break;
	}
	return w->stack[w->depth - 1];
}

static void describe(struct generator *g)
{
	static const char program[] = "walker\0/opt/walker\0walker\0\0";
	static const char file[] = "/opt/walker\0\0";
	const struct event_module module = { .module = 1, .kind = MODULE_KIND_file };
	char name[32];

	for (uint32_t t = 0; t < THREADS; t++) {
		const struct event_task task = { .pid = 100, .parent = 1, .ns_tid = 100 + t, .flags = t ? 0 : TASK_FLAGS_leader };

		add(g, EVENT_task, 100 + t, 0, &task, program, sizeof(program) - 1);
	}
	add(g, EVENT_module, 0, 0, &module, file, sizeof(file) - 1);
	for (uint32_t f = 0; f < 500; f++) {
		const struct event_symbol symbol = { .address = 0x1000 + f * 0x100, .bytes = 0x100, .module = 1 };
		int length = snprintf(name, sizeof(name), "function_%u", f);

		add(g, EVENT_symbol, 0, 0, &symbol, name, (uint32_t)length + 1);
	}
}

static void one(struct generator *g)
{
	uint32_t t = (uint32_t)next_random(g, THREADS), tid = 100 + t, kind = (uint32_t)next_random(g, 10);
	uint32_t stack = walk(g, &g->walkers[t]);

	g->now += 200 + next_random(g, 2000);
	if (kind < 7) {
		const struct event_syscall call = {
			.duration_ns = 50 + next_random(g, 150), .ustack = stack,
			.number = (uint16_t)(hash_u64(stack) % 8), /* a place makes one kind of call */
		};

		add(g, EVENT_syscall, tid, t % 2, &call, "", 0);
	} else if (kind < 9) {
		const struct event_sample sample = { .ustack = stack, .period_ns = 1000000 };

		add(g, EVENT_sample, tid, t % 2, &sample, "", 0);
	} else {
		const struct event_switch out = { .ustack = stack, .syscall = SYSCALL_NONE, .next = 100 + (t + 2) % THREADS };

		add(g, EVENT_switch, tid, t % 2, &out, "", 0);
	}
}

int main(int argc, char **argv)
{
	static struct generator g = { .random = 1, .now = 1000000000 };
	const struct writer_options options = { .cpus = 2 };
	uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 0) : 0;

	if (!count) {
		fprintf(stderr, "usage: stack_events FILE COUNT\n");
		return 2;
	}
	if (writer_create(argv[1], false, &options, &g.writer, &g.err)) {
		fprintf(stderr, "stack_events: %s\n", g.err.text);
		return 1;
	}
	describe(&g);
	for (uint64_t i = 0; i < count; i++)
		one(&g);
	if (writer_close(g.writer, &g.err)) {
		fprintf(stderr, "stack_events: %s\n", g.err.text);
		return 1;
	}
	map_done(&g.child_of);
	return 0;
}
