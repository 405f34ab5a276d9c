/* judge TRACE CALLS PROGRAM [SOURCES]: how much of a program's calls the stacks of a
 * trace saw, and how well their latencies were inferred, by the full record of calls
 * and returns in the folder CALLS. SOURCES are letters: c system calls, w switches,
 * s samples, o others (all); p: continuity as the paper has it.
 *
 * Contexts are compared by the program's own functions alone: the record knows no
 * other. Prints one JSON object. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"
#include "infer/profile.h"
#include "symbols/elf_file.h"

#define MAX_OPEN 8192

struct call {
	uint64_t begin, end;     /* end UINT64_MAX while it is not known */
	uint32_t context;
	bool seen;
};

struct truth_context {
	uint32_t parent, function;
	uint64_t calls, ns;
	bool seen;
};

struct truth_thread {
	uint32_t tid, pid;
	uint64_t start, last;            /* of the record */
	uint64_t born, died;             /* by the trace; 0 not known */
	struct vec(struct call) calls;   /* by context, then begin */
	struct vec(uint64_t) moments;    /* times of stacks, sorted */
	uint64_t covered, top, top_covered;
};

struct judge {
	struct trace *trace;
	struct tables *tables;
	struct names *names;
	struct arena arena;
	struct functions functions;
	struct elf_file program;
	uint32_t module;
	struct vec(uint32_t) pids;
	uint64_t early;                             /* calls before the first whole stack */
	struct vec(struct truth_context) contexts;  /* entry 0: the root */
	struct map context_of;                      /* (parent, function) -> context */
	struct map function_of;                     /* place in the program -> function */
	struct map known;                           /* functions that were recorded */
	struct vec(struct truth_thread) threads;
	struct profile *profile;
	uint32_t *projected;                        /* by node: truth context + 1; 0 none */
	bool *itself;                               /* by node: its function was recorded */
	struct { uint64_t count, ns; } *whole;      /* by node: instances that are surely one call */
};

struct score {
	uint64_t single, held, merged, flagged_single, flagged_merged, unmatched;
	uint64_t merged_calls, estimated_calls, by_length_calls, doubts;
	double calls_error, by_length_error;
	double truth, conservative, aggressive, better;
	struct vec(double) errors[3];
};

static void fail(const char *what, const struct err *err)
{
	fprintf(stderr, "judge: %s%s%s\n", what, err ? ": " : "", err ? err->text : "");
	exit(1);
}

static uint32_t context_child(struct judge *j, uint32_t parent, uint32_t function)
{
	uint64_t *known = map_at(&j->context_of, (uint64_t)parent << 32 | function, NULL);
	const struct truth_context added = { .parent = parent, .function = function };

	if (!*known) {
		*known = j->contexts.length;
		vec_push(&j->contexts, added);
	}
	return (uint32_t)*known;
}

/* The function, named as the trace's frames are. */
static uint32_t function_at(struct judge *j, uint64_t place)
{
	uint64_t *known = map_at(&j->function_of, place, NULL), offset;
	const struct name *name;
	char text[32];

	if (*known)
		return (uint32_t)*known;
	if (!elf_file_offset(&j->program, place, &offset))
		offset = place;
	name = names_place(j->names, j->module, offset);
	snprintf(text, sizeof(text), "+0x%" PRIx64, name->function_start);
	*known = functions_add(&j->functions, name->function[0] ? name->function : text,
			       name->path[0] ? name->path : name->module, PLACE_unknown);
	map_put(&j->known, *known, 1);
	return (uint32_t)*known;
}

static int by_context(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return x->context != y->context ? (x->context < y->context ? -1 : 1) : x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void read_records(struct judge *j, struct truth_thread *thread, const struct calls_head *head,
			 const struct calls_record *r, const struct calls_record *end)
{
	static struct call open[MAX_OPEN];
	uint32_t depth = 0, context = 0;
	uint64_t last = head->start_ns;

	thread->start = head->start_ns;
	for (; r < end && r->time_ns; r++) {
		last = r->time_ns;
		if (r->place & 1) {
			if (!depth)
				continue;
			open[--depth].end = r->time_ns;
			vec_push(&thread->calls, open[depth]);
			context = j->contexts.items[open[depth].context].parent;
			continue;
		}
		if (depth == MAX_OPEN)
			fail("too deep", NULL);
		context = context_child(j, context, function_at(j, (r->place >> 1) - head->base));
		open[depth++] = (struct call){ .begin = r->time_ns, .context = context };
	}
	while (depth) {
		open[--depth].end = UINT64_MAX;
		vec_push(&thread->calls, open[depth]);
	}
	thread->last = last;
}

static void read_file(struct judge *j, const char *folder, const char *name)
{
	struct truth_thread thread = { 0 };
	struct stat st;
	char path[4096];
	void *data;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || (size_t)st.st_size < sizeof(struct calls_head))
		fail(path, NULL);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED || ((struct calls_head *)data)->magic != CALLS_MAGIC)
		fail(path, NULL);
	thread.tid = ((struct calls_head *)data)->tid;
	thread.pid = ((struct calls_head *)data)->pid;
	vec_push(&j->pids, ((struct calls_head *)data)->pid);
	read_records(j, &thread, data, (struct calls_record *)((struct calls_head *)data + 1),
		     (struct calls_record *)((char *)data + st.st_size));
	munmap(data, (size_t)st.st_size);
	close(fd);
	vec_push(&j->threads, thread);
}

static void read_truth(struct judge *j, const char *folder)
{
	DIR *dir = opendir(folder);

	if (!dir)
		fail(folder, NULL);
	for (struct dirent *entry; (entry = readdir(dir));)
		if (strstr(entry->d_name, ".calls"))
			read_file(j, folder, entry->d_name);
	closedir(dir);
}

static void find_life(const struct judge *j, struct truth_thread *thread)
{
	uint32_t entry = tables_thread(j->tables, thread->tid, thread->start);
	const struct thread *known = entry ? &j->tables->threads[entry] : NULL;

	if (known && known->end_ns != UINT64_MAX)
		thread->died = known->end_ns;
	if (known)
		thread->born = known->start_ns;
}

/* Calls that never returned ended with their thread, and those that a forked process
 * began with began with it: a thread's life is longer than the record of its calls.
 * Those that ended before the first whole stack of their process was taken are left out: the recorder did not
 * know its modules yet. */
static void settle(struct judge *j)
{
	for (size_t t = 0; t < j->threads.length; t++) {
		struct truth_thread *thread = &j->threads.items[t];
		uint64_t last = 0, first = UINT64_MAX;
		size_t kept = 0;

		find_life(j, thread);
		for (size_t o = 0; o < j->threads.length; o++) {
			const struct truth_thread *other = &j->threads.items[o];

			if (other->pid == thread->pid && other->last > last)
				last = other->last;
		}
		for (size_t i = 0; i < j->profile->instances.list.length; i++) {
			const struct latency_instance *one = &j->profile->instances.list.items[i];

			if (j->itself[one->node] && one->first < first &&
			    j->profile->observer.threads.items[one->thread].pid == thread->pid)
				first = one->first;
		}
		for (size_t i = 0; i < thread->calls.length; i++) {
			struct call *call = &thread->calls.items[i];

			if (call->end == UINT64_MAX)
				call->end = thread->died ? thread->died : last;
			if (call->begin == thread->start && thread->born)
				call->begin = thread->born;
			if (call->end < first)
				j->early++;
			else
				thread->calls.items[kept++] = *call;
		}
		thread->calls.length = kept;
		if (kept)
			qsort(thread->calls.items, kept, sizeof(*thread->calls.items), by_context);
		for (size_t i = 0; i < kept; i++) {
			struct truth_context *c = &j->contexts.items[thread->calls.items[i].context];

			c->calls++;
			c->ns += thread->calls.items[i].end - thread->calls.items[i].begin;
		}
	}
}

static struct truth_thread *thread_of(struct judge *j, uint32_t tid)
{
	for (size_t i = 0; i < j->threads.length; i++)
		if (j->threads.items[i].tid == tid)
			return &j->threads.items[i];
	return NULL;
}

/* Each node's context among the recorded functions. */
static void project(struct judge *j)
{
	const struct contexts *contexts = &j->profile->contexts;

	j->projected = calloc(contexts->nodes.length, sizeof(*j->projected));
	j->itself = calloc(contexts->nodes.length, sizeof(*j->itself));
	for (uint32_t i = 1; i < contexts->nodes.length; i++) {
		const struct node *node = &contexts->nodes.items[i];
		const uint64_t *found;

		if (!node->function) {
			j->projected[i] = 1;
			continue;
		}
		j->projected[i] = j->projected[node->parent];
		if (!j->projected[i] || !map_find(&j->known, node->function))
			continue;
		found = map_find(&j->context_of, (uint64_t)(j->projected[i] - 1) << 32 | node->function);
		j->projected[i] = found ? (uint32_t)*found + 1 : 0;
		j->itself[i] = found != NULL;
	}
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static bool any_moment(const struct truth_thread *thread, uint64_t from, uint64_t to)
{
	size_t low = 0, high = thread->moments.length;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (thread->moments.items[middle] < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low < thread->moments.length && thread->moments.items[low] <= to;
}

/* First call of the context that ends at or after the time. */
static size_t find_call(const struct truth_thread *thread, uint32_t context, uint64_t time)
{
	size_t low = 0, high = thread->calls.length;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct call *c = &thread->calls.items[middle];

		if (c->context < context || (c->context == context && c->end < time))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static double distance(uint64_t a, uint64_t b)
{
	return a > b ? (double)(a - b) : (double)(b - a);
}

/* A begin or end that was not seen has no bound. */
static bool is_held(const struct call *call, const struct latency_instance *i)
{
	return ((i->flags & LATENCY_open_begin) || call->begin >= i->before) &&
	       ((i->flags & LATENCY_open_end) || call->end <= i->after);
}

/* How many calls a merged instance was, by how long one takes elsewhere. */
static uint64_t calls_by_length(const struct judge *j, const struct latency_instance *i)
{
	uint64_t count = j->whole[i->node].count, ns = j->whole[i->node].ns, calls;

	if (count < 5 || !ns || !(i->flags & LATENCY_merged))
		return i->calls;
	calls = (uint64_t)((double)(i->end - i->begin) * (double)count / (double)ns + .5);
	return calls < 1 ? 1 : calls > i->doubts + 1 ? i->doubts + 1 : calls;
}

static void judge_instance(struct judge *j, struct score *score, struct truth_thread *thread,
			   const struct latency_instance *i)
{
	uint32_t context = j->projected[i->node] - 1;
	size_t first = find_call(thread, context, i->first);
	struct call *one = first < thread->calls.length ? &thread->calls.items[first] : NULL;
	uint64_t length, count = 0;
	double errors[3];

	for (size_t c = first; c < thread->calls.length && thread->calls.items[c].context == context &&
			       thread->calls.items[c].begin <= i->last; c++) {
		struct call *call = &thread->calls.items[c];
		uint64_t from = call->begin > i->first ? call->begin : i->first, to = call->end < i->last ? call->end : i->last;

		count++;
		if (any_moment(thread, from, to))
			call->seen = true;
	}
	if (!count) {
		score->unmatched++;   /* a stack taken between entry and the record of it */
		return;
	}
	if (one->begin > i->first || one->end < i->last || count > 1) {
		score->merged++;
		score->flagged_merged += (i->flags & LATENCY_merged) != 0;
		score->merged_calls += count;
		score->estimated_calls += i->calls;
		score->by_length_calls += calls_by_length(j, i);
		score->calls_error += distance(count, i->calls);
		score->by_length_error += distance(count, calls_by_length(j, i));
		score->doubts += i->doubts + 1;
		return;
	}
	if (getenv("VERBOSE") && !is_held(one, i))
		fprintf(stderr, "not held: %s of %u: true %" PRIu64 " to %" PRIu64 ", seen %" PRIu64 " to %" PRIu64
			", bounds %" PRIu64 " to %" PRIu64 ", flags %u\n", profile_function(j->profile, i->node)->name, thread->tid,
			one->begin, one->end, i->first, i->last, i->before, i->after, i->flags);
	length = one->end - one->begin;
	score->single++;
	score->flagged_single += (i->flags & LATENCY_merged) != 0;
	score->held += is_held(one, i);
	errors[0] = distance(length, latency_conservative(i));
	errors[1] = distance(length, latency_aggressive(i));
	errors[2] = distance(length, i->end - i->begin);
	score->truth += (double)length;
	score->conservative += errors[0];
	score->aggressive += errors[1];
	score->better += errors[2];
	for (int e = 0; e < 3 && length; e++)
		vec_push(&score->errors[e], errors[e] / (double)length);
}

static double median(struct score *score, int which)
{
	size_t n = score->errors[which].length;

	if (!n)
		return 0;
	qsort(score->errors[which].items, n, sizeof(double), by_double);
	return score->errors[which].items[n / 2];
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 1;
}

static void tell_unseen(const struct judge *j, uint32_t context)
{
	const struct truth_context *c = &j->contexts.items[context];

	for (size_t t = 0; t < j->threads.length; t++) {
		size_t at = find_call(&j->threads.items[t], context, 0);
		const struct call *one = &j->threads.items[t].calls.items[at];

		if (at < j->threads.items[t].calls.length && one->context == context)
			fprintf(stderr, "not seen: %s, %" PRIu64 " calls, %" PRIu64 " ns in all; in %u from %" PRIu64 " to %" PRIu64 "\n",
				functions_get(&j->functions, c->function)->name, c->calls, c->ns, j->threads.items[t].tid,
				one->begin, one->end);
	}
}

static void cover(struct judge *j)
{
	struct vec(uint64_t) lengths = { 0 };
	struct vec(uint64_t) means = { 0 };
	uint64_t calls = 0, seen = 0, top = 0, top_seen = 0, limit, contexts = 0, contexts_seen = 0, top_contexts = 0,
		 top_contexts_seen = 0;
	double least = 1, most = 0, top_least = 1, top_most = 0;

	for (size_t t = 0; t < j->threads.length; t++)
		for (size_t i = 0; i < j->threads.items[t].calls.length; i++) {
			const struct call *c = &j->threads.items[t].calls.items[i];

			vec_push(&lengths, c->end - c->begin);
			j->contexts.items[c->context].seen |= c->seen;
		}
	if (!lengths.length)
		fail("no calls were recorded", NULL);
	qsort(lengths.items, lengths.length, sizeof(uint64_t), by_number);
	limit = lengths.items[lengths.length - 1 - lengths.length / 100];
	for (size_t t = 0; t < j->threads.length; t++) {
		struct truth_thread *thread = &j->threads.items[t];

		for (size_t i = 0; i < thread->calls.length; i++) {
			const struct call *c = &thread->calls.items[i];
			bool is_top = c->end - c->begin >= limit;

			thread->covered += c->seen;
			thread->top += is_top;
			thread->top_covered += is_top && c->seen;
		}
		calls += thread->calls.length;
		seen += thread->covered;
		top += thread->top;
		top_seen += thread->top_covered;
		if (thread->calls.length < 100)
			continue;
		least = share(thread->covered, thread->calls.length) < least ? share(thread->covered, thread->calls.length) : least;
		most = share(thread->covered, thread->calls.length) > most ? share(thread->covered, thread->calls.length) : most;
		if (thread->top) {
			double covered = share(thread->top_covered, thread->top);

			top_least = covered < top_least ? covered : top_least;
			top_most = covered > top_most ? covered : top_most;
		}
	}
	for (uint32_t c = 1; c < j->contexts.length; c++)
		if (j->contexts.items[c].calls)
			vec_push(&means, j->contexts.items[c].ns / j->contexts.items[c].calls);
	qsort(means.items, means.length, sizeof(uint64_t), by_number);
	limit = means.items[means.length - 1 - means.length / 100];
	for (uint32_t c = 1; c < j->contexts.length; c++) {
		bool is_top;

		if (!j->contexts.items[c].calls)
			continue;
		is_top = j->contexts.items[c].ns / j->contexts.items[c].calls >= limit;
		contexts++;
		contexts_seen += j->contexts.items[c].seen;
		top_contexts += is_top;
		top_contexts_seen += is_top && j->contexts.items[c].seen;
		if (getenv("VERBOSE") && is_top && !j->contexts.items[c].seen)
			tell_unseen(j, c);
	}
	printf("\"threads\": %zu, \"early_calls\": %" PRIu64 ", \"calls\": %" PRIu64 ", \"contexts\": %" PRIu64 ",\n"
	       " \"contexts_covered\": %.4f, \"top_contexts_covered\": %.4f, \"instances_covered\": %.4f, "
	       "\"top_instances_covered\": %.4f,\n \"instances_covered_by_thread\": [%.4f, %.4f], "
	       "\"top_instances_covered_by_thread\": [%.4f, %.4f],\n",
	       j->threads.length, j->early, calls, contexts, share(contexts_seen, contexts), share(top_contexts_seen, top_contexts),
	       share(seen, calls), share(top_seen, top), least, most, top_least, top_most);
}

/* Totals of contexts: those seen whose truth lies within the tree's bounds. */
static void totals(struct judge *j)
{
	const struct tree *tree = &j->profile->tree;
	uint64_t *lower = calloc(j->contexts.length, 8), *upper = calloc(j->contexts.length, 8);
	uint64_t held = 0, low = 0, high = 0, count = 0;
	uint64_t *better = calloc(j->contexts.length, 8);
	double error = 0, truth = 0;

	for (uint32_t i = 1; i < tree->costs.length; i++) {
		if (!j->itself[i])
			continue;
		lower[j->projected[i] - 1] += tree->costs.items[i].lower_ns;
		upper[j->projected[i] - 1] += tree->costs.items[i].upper_ns;
		better[j->projected[i] - 1] += tree->costs.items[i].total_ns;
	}
	for (uint32_t c = 1; c < j->contexts.length; c++) {
		uint64_t ns = j->contexts.items[c].ns;

		if (!upper[c] || !j->contexts.items[c].calls)
			continue;
		count++;
		held += lower[c] <= ns && ns <= upper[c];
		if (getenv("VERBOSE") && (ns < lower[c] || ns > upper[c]))
			fprintf(stderr, "total not held: %s: %" PRIu64 " calls, %" PRIu64 " ns, bounds %" PRIu64 " to %" PRIu64 "\n",
				functions_get(&j->functions, j->contexts.items[c].function)->name, j->contexts.items[c].calls, ns,
				lower[c], upper[c]);
		low += ns < lower[c];
		high += ns > upper[c];
		truth += (double)ns;
		error += distance(ns, better[c]);
	}
	printf(" \"totals\": %" PRIu64 ", \"totals_held\": %.4f, \"totals_below\": %" PRIu64 ", \"totals_above\": %" PRIu64
	       ", \"totals_error\": %.4f,\n", count, share(held, count), low, high, truth > 0 ? error / truth : 0);
	free(lower);
	free(upper);
	free(better);
}

static void accuracy(struct judge *j)
{
	struct profile *profile = j->profile;
	struct score score = { 0 };

	j->whole = calloc(profile->contexts.nodes.length, sizeof(*j->whole));
	for (size_t i = 0; i < profile->instances.list.length; i++) {
		const struct latency_instance *one = &profile->instances.list.items[i];
		struct truth_thread *thread = thread_of(j, profile->observer.threads.items[one->thread].tid);

		if (!(one->flags & (LATENCY_merged | LATENCY_open_begin | LATENCY_open_end))) {
			j->whole[one->node].count++;
			j->whole[one->node].ns += one->end - one->begin;
		}
		if (!thread)
			continue;
		vec_push(&thread->moments, one->first);
		vec_push(&thread->moments, one->last);
	}
	for (size_t t = 0; t < j->threads.length; t++)
		if (j->threads.items[t].moments.length)
			qsort(j->threads.items[t].moments.items, j->threads.items[t].moments.length, 8, by_number);
	for (size_t i = 0; i < profile->instances.list.length; i++) {
		const struct latency_instance *one = &profile->instances.list.items[i];
		struct truth_thread *thread = thread_of(j, profile->observer.threads.items[one->thread].tid);

		if (thread && j->itself[one->node])
			judge_instance(j, &score, thread, one);
	}
	cover(j);
	totals(j);
	printf(" \"inferred\": %" PRIu64 ", \"unmatched\": %" PRIu64 ", \"merge_rate\": %.4f, \"merged_flagged\": %.4f, "
	       "\"single_flagged\": %.4f,\n \"bounds_held\": %.4f, \"error_conservative\": %.4f, \"error_aggressive\": %.4f, "
	       "\"error_better\": %.4f,\n \"median_error_conservative\": %.4f, \"median_error_aggressive\": %.4f, "
	       "\"median_error_better\": %.4f,\n \"merged_calls\": %" PRIu64 ", \"estimated_calls\": %" PRIu64 ", \"doubts\": %" PRIu64
	       ",\n \"by_length_calls\": %" PRIu64 ", \"calls_error\": %.3f, \"by_length_error\": %.3f",
	       score.single + score.merged, score.unmatched, share(score.merged, score.merged + score.single),
	       share(score.flagged_merged, score.merged), share(score.flagged_single, score.single),
	       share(score.held, score.single), score.conservative / score.truth, score.aggressive / score.truth,
	       score.better / score.truth, median(&score, 0), median(&score, 1), median(&score, 2), score.merged_calls,
	       score.estimated_calls, score.doubts, score.by_length_calls, score.calls_error / (double)score.merged_calls,
	       score.by_length_error / (double)score.merged_calls);
}

int main(int argc, char **argv)
{
	static struct judge j;
	struct profile_options options = { .all_instances = true };
	const char *sources = argc > 4 ? argv[4] : "";
	struct err err = { 0 };

	if (argc < 4) {
		fprintf(stderr, "usage: judge TRACE CALLS PROGRAM [SOURCES]\n");
		return 2;
	}
	if (trace_open(argv[1], &j.trace, &err) || tables_build(j.trace, &j.tables, &err) ||
	    names_open(j.trace, j.tables, NULL, &j.names, &err) || elf_file_open(argv[3], &j.program, &err))
		fail(argv[1], &err);
	functions_init(&j.functions, &j.arena);
	vec_push(&j.contexts, (struct truth_context){ 0 });
	for (uint32_t m = 1; m < j.tables->module_count; m++)
		if (!strcmp(path_file_name(j.tables->modules[m].path), path_file_name(argv[3])))
			j.module = m;
	if (!j.module)
		fail("the trace does not know the program", NULL);
	read_truth(&j, argv[2]);
	options.scope.pids = j.pids.items;
	options.scope.pid_count = j.pids.length;
	options.by_function = strchr(sources, 'p') != NULL;
	options.scope.sources = (strchr(sources, 'c') ? OBSERVE_calls : 0) | (strchr(sources, 'w') ? OBSERVE_switches : 0) |
				(strchr(sources, 's') ? OBSERVE_samples : 0) | (strchr(sources, 'o') ? OBSERVE_others : 0);
	if (profile_build(j.trace, j.tables, j.names, &options, &j.functions, &j.profile, &err))
		fail(argv[1], &err);
	project(&j);
	settle(&j);
	printf("{\"program\": \"%s\", \"sources\": \"%s\", \"stacks\": %" PRIu64 ", \"broken\": %" PRIu64 ", \"cut\": %" PRIu64 ",\n ",
	       path_file_name(argv[3]), sources, j.profile->observer.counts.stacks, j.profile->observer.counts.broken,
	       j.profile->observer.counts.cut);
	accuracy(&j);
	printf("}\n");
	return 0;
}
