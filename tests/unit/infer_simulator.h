/* A thread that never was: random functions with loops, calls and system calls
 * are run on an imagined clock. What a recorder would have seen is handed to
 * observed_*, what really happened is kept beside it. Functions are static:
 * this header is for one test each. */
#ifndef TESTS_INFER_SIMULATOR_H
#define TESTS_INFER_SIMULATOR_H

#include <stdio.h>
#include <string.h>

#include "infer/observe_thread.h"
#include "infer/tally.h"

enum { OP_work, OP_call, OP_system_call, OP_loop_end };

struct op {
	int kind;
	uint32_t argument;   /* ns of work, function, system call, op that the loop goes back to */
	uint32_t rounds;     /* of a loop */
};

#define SIM_FUNCTIONS 24
#define SIM_OPS 8
#define SIM_BYTES 0x1000     /* of a function's code */

struct sim_function {
	struct op ops[SIM_OPS];
	uint32_t op_count;
	uint32_t number;     /* in struct functions */
};

struct truth {
	uint32_t context;    /* in truth_contexts */
	uint64_t begin, end;
};

struct truth_context {
	uint32_t parent, function;
};

struct simulator {
	uint64_t random, now, next_sample, sample_ns, end;
	struct sim_function functions[SIM_FUNCTIONS];
	struct vec(struct context_frame) frames;   /* the recorder's stack tree */
	struct map frame_of;                       /* (parent, address) -> frame */
	struct vec(struct truth_context) truth_contexts;
	struct map truth_context_of;               /* (parent, function) -> context */
	struct vec(struct truth) truth;            /* by end */
	struct observed thread;
	struct latency_rules rules;
	struct functions names;
	struct contexts contexts;
	struct tree tree;
	struct tally *tally;
	struct pace pace;
	struct vec(struct latency_instance) found;
	struct arena arena;
	bool record_calls, record_switches;
	uint64_t stacks;
};

static uint64_t sim_random(struct simulator *s, uint64_t below)
{
	s->random = s->random * 6364136223846793005u + 1442695040888963407u;
	return hash_u64(s->random) % (below ? below : 1);
}

static uint64_t sim_address(uint32_t function, uint32_t op)
{
	return (uint64_t)(function + 1) * SIM_BYTES + op * 16;
}

static uint32_t sim_frame(struct simulator *s, uint32_t parent, uint32_t function, uint64_t address)
{
	uint64_t *known = map_at(&s->frame_of, (uint64_t)parent << 32 | address, NULL);
	const struct context_frame frame = {
		.parent = parent, .function = s->functions[function].number, .module = 1, .address = address,
	};

	if (!*known) {
		*known = s->frames.length;
		vec_push(&s->frames, frame);
	}
	return (uint32_t)*known;
}

static bool sim_source(void *data, uint32_t number, struct context_frame *ret_frame)
{
	struct simulator *s = data;

	if (number >= s->frames.length)
		return false;
	*ret_frame = s->frames.items[number];
	return true;
}

static void sim_instance(void *data, const struct latency_instance *instance)
{
	struct simulator *s = data;

	vec_push(&s->found, *instance);
	tally_instance(s->tally, instance);
}

static void sim_stretch(void *data, uint32_t sure, uint64_t from_ns, uint64_t to_ns, bool idle)
{
	struct simulator *s = data;

	tally_stretch(s->tally, sure, to_ns - from_ns, idle);
}

static void sim_sight(struct simulator *s, enum sight_kind kind, uint32_t user, uint16_t call, uint32_t kernel)
{
	const struct sight sight = { .time = s->now, .user = user, .kernel = kernel, .call = call, .kind = kind,
				     .sampled_ns = call == CONTEXT_NO_CALL && kind == SIGHT_stack ? s->sample_ns : 0 };

	s->stacks++;
	observed_sight(&s->thread, &s->rules, &sight, s->record_calls && call != CONTEXT_NO_CALL);
}

static void sim_work(struct simulator *s, uint64_t ns, uint32_t parent, uint32_t function, uint32_t op)
{
	uint64_t until = s->now + ns;

	while (s->sample_ns && s->next_sample <= until) {
		s->now = s->next_sample > s->now ? s->next_sample : s->now;
		s->next_sample += s->sample_ns;
		sim_sight(s, SIGHT_stack, sim_frame(s, parent, function, sim_address(function, op) + 1),
			  CONTEXT_NO_CALL, 0);
	}
	s->now = until;
}

static void sim_system_call(struct simulator *s, uint32_t frame, uint32_t number)
{
	uint64_t begin = s->now;

	s->now += 100 + sim_random(s, 400);
	if (s->record_switches && sim_random(s, 4) == 0) {
		sim_sight(s, SIGHT_out, frame, (uint16_t)number, 0);
		s->now += 1000 + sim_random(s, 200000);
		sim_sight(s, SIGHT_woken, 0, CONTEXT_NO_CALL, 0);
		s->now += sim_random(s, 2000);
		sim_sight(s, SIGHT_in, 0, CONTEXT_NO_CALL, 0);
	}
	s->now += 100 + sim_random(s, 400);
	if (s->record_calls) {
		s->stacks++;
		observed_call(&s->thread, &s->rules, begin, s->now, (uint16_t)number, frame);
	}
}

static void sim_execute(struct simulator *s, uint32_t function, uint32_t parent, uint32_t parent_context)
{
	const struct sim_function *f = &s->functions[function];
	uint64_t *context = map_at(&s->truth_context_of, (uint64_t)parent_context << 32 | f->number, NULL);
	const struct truth_context added = { parent_context, f->number };
	struct truth truth = { .begin = s->now };
	uint32_t rounds[SIM_OPS] = { 0 };

	if (!*context) {
		*context = s->truth_contexts.length;
		vec_push(&s->truth_contexts, added);
	}
	truth.context = (uint32_t)*context;
	for (uint32_t i = 0; i < f->op_count && (s->now < s->end || function); i++) {
		const struct op *op = &f->ops[i];
		uint32_t frame = sim_frame(s, parent, function, sim_address(function, i));

		sim_work(s, 5 + sim_random(s, 20), parent, function, i);
		switch (op->kind) {
		case OP_work:
			sim_work(s, op->argument / 2 + sim_random(s, op->argument), parent, function, i);
			break;
		case OP_call:
			if (s->now < s->end)
				sim_execute(s, op->argument, frame, truth.context);
			break;
		case OP_system_call:
			sim_system_call(s, frame, op->argument);
			break;
		case OP_loop_end:
			if (rounds[i]++ < op->rounds && s->now < s->end)
				i = op->argument - 1;
			else
				rounds[i] = 0;
			break;
		}
	}
	sim_work(s, 5, parent, function, f->op_count);
	truth.end = s->now;
	vec_push(&s->truth, truth);
}

/* Function 0 is main, a loop over the first few; the last few are wrappers of
 * system calls; calls go to higher numbers only. */
static void sim_invent(struct simulator *s)
{
	for (uint32_t i = 0; i < SIM_FUNCTIONS; i++) {
		struct sim_function *f = &s->functions[i];
		bool wrapper = i >= SIM_FUNCTIONS - 4;
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		f->number = functions_add(&s->names, name, "/sim/program", PLACE_unknown);
		f->op_count = wrapper ? 2 : 3 + sim_random(s, SIM_OPS - 3);
		for (uint32_t o = 0; o < f->op_count; o++) {
			struct op *op = &f->ops[o];
			uint64_t die = sim_random(s, 10);

			if (wrapper) {
				*op = o ? (struct op){ OP_system_call, i - (SIM_FUNCTIONS - 4), 0 } :
					  (struct op){ OP_work, 10, 0 };
			} else if (die < 6 || !i) {
				uint32_t low = i + 1, high = i + 7 < SIM_FUNCTIONS ? i + 7 : SIM_FUNCTIONS;

				*op = (struct op){ OP_call, low + (uint32_t)sim_random(s, high - low), 0 };
			} else if (die < 8) {
				*op = (struct op){ OP_work, 1u << sim_random(s, 18), 0 };
			} else if (o) {
				*op = (struct op){ OP_loop_end, (uint32_t)sim_random(s, o), 1 + (uint32_t)sim_random(s, 4) };
			}
		}
		if (!i)
			f->ops[f->op_count - 1] = (struct op){ OP_loop_end, 0, UINT32_MAX };
	}
}

static void sim_init(struct simulator *s, uint64_t seed)
{
	const struct context_frame none = { 0 };
	const struct truth_context root = { 0 };

	memset(s, 0, sizeof(*s));
	arena_init(&s->arena);
	s->random = seed;
	s->now = 1000000;
	functions_init(&s->names, &s->arena);
	contexts_init(&s->contexts, &s->names,
		      (struct context_source){ .data = s, .frame = sim_source });
	tree_init(&s->tree, &s->contexts);
	s->tally = tally_new(&s->tree);
	vec_push(&s->frames, none);
	vec_push(&s->truth_contexts, root);
	s->rules = (struct latency_rules){
		.contexts = &s->contexts, .hooks = { s, sim_instance, sim_stretch }, .pace = &s->pace,
	};
	s->thread.program = contexts_program(&s->contexts, "/sim/program");
	s->thread.latency.start = s->now;
	sim_invent(s);
}

static void sim_run(struct simulator *s, uint64_t ns)
{
	s->end = s->now + ns;
	s->next_sample = s->now + s->sample_ns;
	sim_execute(s, 0, 0, 0);
	observed_close(&s->thread, &s->rules, s->now, true);
	tally_finish(s->tally);
	tree_finish(&s->tree);
}

/* The node of a truth context; 0 when it was never seen. */
static uint32_t sim_node(const struct simulator *s, uint32_t context)
{
	const struct truth_context *c = &s->truth_contexts.items[context];

	if (!context)
		return s->contexts.programs.items[s->thread.program].node;
	return contexts_child(&s->contexts, sim_node(s, c->parent), c->function);
}

static void sim_done(struct simulator *s)
{
	observed_done(&s->thread);
	vec_done(&s->frames);
	vec_done(&s->truth);
	vec_done(&s->truth_contexts);
	vec_done(&s->found);
	map_done(&s->frame_of);
	map_done(&s->truth_context_of);
	tree_done(&s->tree);
	vec_done(&s->pace.functions);
	contexts_done(&s->contexts);
	functions_done(&s->names);
	arena_done(&s->arena);
}

#endif
