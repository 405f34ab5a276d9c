/* What a scene tells of how a run was carried out, see script_scene.h. */
#include "path/script_scene.h"

#include <stdlib.h>

#include "path/cpu_runs.h"

#define COST_RUNS 100u           /* from so many on they tell what a wait costs */
#define COST_QUANTILE 5u         /* per cent */
#define COST_MOST_NS 6000u

/* ---- time limits ---- */

#define LIMITS_LOOKED 64u /* waits behind one that reached its limit */

const struct wait *script_wanted(const struct scene *scene, const struct wait *w)
{
	const struct wait *end = &scene->waits[scene_waits_end(scene, w->thread)];

	if (w->end != WAIT_END_TIMEOUT || w->kind == WAIT_KIND_sleep)
		return NULL;
	for (const struct wait *at = w + 1; at < end && at - w < LIMITS_LOOKED; at++)
		if (at->site == w->site && at->end != WAIT_END_TIMEOUT)
			return at->end == WAIT_END_THREAD ? at : NULL;
	return NULL;
}

uint64_t script_slept_longer(const struct wait *w, uint64_t most)
{
	uint64_t slept = w->end_ns - w->start_ns, slack = slept > w->timeout_ns ? slept - w->timeout_ns : 0;

	return slack < most ? slack : most;
}

/* ---- processors ---- */

bool script_was_free(const struct scene *scene, uint16_t cpu, uint64_t time)
{
	const struct cpu_row *row = cpu < scene->cpu_count ? &scene->cpus[cpu] : NULL;
	uint32_t at = row ? cpu_runs_at(row, time) : 0;

	return row && at < row->count && row->runs[at].start_ns <= time && !row->runs[at].thread;
}

#define CPUS_LOOKED 64u
#define KEPT_OUT_LEAST_NS 5000000u
#define SOMEWHERE_ELSE 50u /* this part of the time at most */
#define KEPT_OUT_PART 2u /* half of the time in which its threads stood for a processor another one was idle */

static bool is_real_time(const struct op_thread *t)
{
	return t->prio && t->prio < SCRIPT_NOT_REAL_TIME;
}

/* How long the processor had nothing to do that would keep the thread out: a real-time thread takes it from any other. */
static uint64_t idle_ns(const struct script *p, const struct op_thread *waits, const struct cpu_row *row, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (uint32_t i = cpu_runs_at(row, from); i < row->count && row->runs[i].start_ns < to; i++) {
		uint64_t begin = row->runs[i].start_ns > from ? row->runs[i].start_ns : from;
		uint64_t end = i + 1 < row->count && row->runs[i + 1].start_ns < to ? row->runs[i + 1].start_ns : to;

		if (begin < end && (!row->runs[i].thread || (is_real_time(waits) && !is_real_time(&p->threads.items[row->runs[i].thread]))))
			sum += end - begin;
	}
	return sum;
}

unsigned script_processors(const struct script *p, const struct scene *scene)
{
	uint64_t had = 0, ran = 0, queued = 0, idle[CPUS_LOOKED] = { 0 }, ran_on[CPUS_LOOKED] = { 0 };
	unsigned cpus = scene->cpu_count < CPUS_LOOKED ? scene->cpu_count : CPUS_LOOKED, count = 0;
	bool kept_out = false;

	for (uint32_t i = 0; i < p->threads.length; i++)
		for (uint32_t k = 0; k < scene->threads[i].span_count && p->threads.items[i].of_run; k++) {
			const struct span *s = &scene->threads[i].spans[k];

			if (s->state == SPAN_RUNNING && span_cpu(s) < CPUS_LOOKED && s->start_ns >= p->from_ns && s->start_ns < p->to_ns) {
				ran_on[span_cpu(s)] += span_end(s) - s->start_ns;
				ran += span_end(s) - s->start_ns;
			}
		}
	/* Before a thread is told where it may run it is somewhere else. */
	for (unsigned cpu = 0; cpu < CPUS_LOOKED; cpu++)
		had |= (uint64_t)(ran_on[cpu] > ran / SOMEWHERE_ELSE) << cpu;
	for (uint32_t i = 0; i < p->threads.length; i++)
		for (uint32_t k = 0; k < scene->threads[i].span_count && p->threads.items[i].of_run; k++) {
			const struct span *s = &scene->threads[i].spans[k];

			if (s->state != SPAN_RUNNABLE || s->throttled || s->start_ns < p->from_ns || s->start_ns >= p->to_ns)
				continue;
			queued += span_end(s) - s->start_ns;
			for (unsigned cpu = 0; cpu < cpus; cpu++)
				idle[cpu] += had >> cpu & 1 ? 0 : idle_ns(p, &p->threads.items[i], &scene->cpus[cpu], s->start_ns, span_end(s));
		}
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		count += had >> cpu & 1;
		kept_out |= idle[cpu] > KEPT_OUT_LEAST_NS && idle[cpu] > queued / KEPT_OUT_PART;
	}
	return kept_out ? count : 0;
}

/* ---- what a wait costs ---- */

const struct span *script_behind_wait(const struct scene_thread *t, const struct span *s)
{
	if (s > t->spans && s[-1].state == SPAN_RUNNABLE)
		s--;
	return s > t->spans && s[-1].state == SPAN_WAITING ? s - 1 : NULL;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

uint64_t script_cost_of_wait(const struct scene *scene)
{
	struct vec(uint64_t) runs = { 0 };
	uint64_t ns = 0;

	for (uint32_t i = 1; i < scene->thread_count; i++)
		for (uint32_t k = 1; k + 1 < scene->threads[i].span_count; k++) {
			const struct span *s = &scene->threads[i].spans[k];

			if (s->state == SPAN_RUNNING && s[1].state == SPAN_WAITING && script_behind_wait(&scene->threads[i], s))
				vec_push(&runs, span_end(s) - s->start_ns);
		}
	if (runs.length >= COST_RUNS) {
		qsort(runs.items, runs.length, sizeof(*runs.items), by_value);
		ns = runs.items[runs.length * COST_QUANTILE / 100];
	}
	vec_done(&runs);
	return ns < COST_MOST_NS ? ns : COST_MOST_NS;
}

/* ---- turns ---- */

static int by_turn(const void *a, const void *b)
{
	const struct lock_turn *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

void script_number_turns(struct script *p)
{
	uint32_t turn = 0;

	if (p->turns.length)
		qsort(p->turns.items, p->turns.length, sizeof(*p->turns.items), by_turn);
	for (size_t i = 0; i < p->turns.length; i++) {
		turn = i && p->turns.items[i].lock == p->turns.items[i - 1].lock ? turn + 1 : 0;
		p->ops.items[p->turns.items[i].op].place = turn;
	}
}

/* ---- latencies ---- */

#define LATENCIES_LEAST 20u /* so many tell */

static int by_class(const void *a, const void *b)
{
	const struct latency *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

void script_find_latencies(struct script *p, struct latencies *latencies)
{
	if (latencies->length)
		qsort(latencies->items, latencies->length, sizeof(*latencies->items), by_class);
	for (size_t i = 0, end; i < latencies->length; i = end) {
		uint32_t class = latencies->items[i].class;

		for (end = i; end < latencies->length && latencies->items[end].class == class; end++)
			;
		if (end - i >= LATENCIES_LEAST)
			p->latencies[class] = latencies->items[i + (end - i) / 2].ns;
	}
}
