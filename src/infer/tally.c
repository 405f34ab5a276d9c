/* See tally.h. A ring of batches: the caller fills one, the helper empties those before it. */
#include "infer/tally.h"
#include "base/quiet_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define BATCHES 4u
#define BATCH 4096u   /* some 200 KiB: stays in a cache on its way */

#define STRETCH_IDLE (1u << 31)

struct batch {
	uint32_t instances, stretches, samples;
	uint32_t nodes;             /* that were known when it was handed over */
	uint32_t node[BATCH], calls[BATCH];
	uint8_t flags[BATCH];
	uint64_t conservative_ns[BATCH], aggressive_ns[BATCH], estimate_ns[BATCH];
	uint64_t off_ns[BATCH], queued_ns[BATCH];
	uint32_t stretch_node[BATCH];  /* STRETCH_IDLE or'ed in */
	uint64_t stretch_ns[BATCH];
	uint32_t sample_node[BATCH];
};

struct tally {
	struct tree *tree;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool started, alone;        /* has a helper; can have none */
	bool ending;
	uint64_t filled, emptied;   /* batches, ever */
	struct batch *batches;      /* BATCHES of them */
};

static void add(struct tree *tree, const struct batch *b)
{
	tree_grow(tree, b->nodes);
	for (uint32_t i = 0; i < b->instances; i++) {
		const struct tree_entry entry = {
			.node = b->node[i], .calls = b->calls[i], .flags = b->flags[i],
			.conservative_ns = b->conservative_ns[i], .aggressive_ns = b->aggressive_ns[i],
			.estimate_ns = b->estimate_ns[i], .off_ns = b->off_ns[i], .queued_ns = b->queued_ns[i],
		};

		tree_add(tree, &entry);
	}
	for (uint32_t i = 0; i < b->stretches; i++)
		tree_add_stretch(tree, b->stretch_node[i] & ~STRETCH_IDLE, b->stretch_ns[i], b->stretch_node[i] & STRETCH_IDLE);
	for (uint32_t i = 0; i < b->samples; i++)
		tree_add_sample(tree, b->sample_node[i]);
}

static void *empty_batches(void *argument)
{
	struct tally *tally = argument;

	pthread_mutex_lock(&tally->lock);
	for (;;) {
		if (tally->emptied < tally->filled) {
			pthread_mutex_unlock(&tally->lock);
			add(tally->tree, &tally->batches[tally->emptied % BATCHES]);
			pthread_mutex_lock(&tally->lock);
			tally->emptied++;
			pthread_cond_broadcast(&tally->changed);
		} else if (tally->ending) {
			break;
		} else {
			pthread_cond_wait(&tally->changed, &tally->lock);
		}
	}
	pthread_mutex_unlock(&tally->lock);
	return NULL;
}

struct tally *tally_new(struct tree *tree)
{
	struct tally *tally = mem_zalloc(sizeof(*tally));

	tally->tree = tree;
	tally->batches = mem_zalloc(sizeof(*tally->batches) * BATCHES);
	pthread_mutex_init(&tally->lock, NULL);
	pthread_cond_init(&tally->changed, NULL);
	return tally;
}

/* With the first full batch: small traces need no helper. */
static void start(struct tally *tally)
{
	tally->started = sysconf(_SC_NPROCESSORS_ONLN) > 1 && !quiet_thread(&tally->thread, empty_batches, tally);
	tally->alone = !tally->started;
}

static struct batch *current(struct tally *tally)
{
	return &tally->batches[tally->filled % BATCHES];
}

static void hand_over(struct tally *tally)
{
	struct batch *b = current(tally);

	b->nodes = (uint32_t)tally->tree->contexts->nodes.length;
	if (!tally->started && !tally->alone)
		start(tally);
	if (tally->alone) {
		add(tally->tree, b);
	} else {
		pthread_mutex_lock(&tally->lock);
		tally->filled++;
		pthread_cond_broadcast(&tally->changed);
		while (tally->filled - tally->emptied >= BATCHES)
			pthread_cond_wait(&tally->changed, &tally->lock);
		pthread_mutex_unlock(&tally->lock);
		b = current(tally);
	}
	b->instances = b->stretches = b->samples = 0;
}

void tally_instance(struct tally *tally, const struct latency_instance *instance)
{
	struct batch *b = current(tally);
	uint32_t i = b->instances++;

	b->node[i] = instance->node;
	b->calls[i] = instance->calls;
	b->flags[i] = instance->flags;
	b->conservative_ns[i] = latency_conservative(instance);
	b->aggressive_ns[i] = latency_aggressive(instance);
	b->estimate_ns[i] = instance->end - instance->begin;
	b->off_ns[i] = instance->off_ns;
	b->queued_ns[i] = instance->queued_ns;
	if (b->instances == BATCH)
		hand_over(tally);
}

void tally_stretch(struct tally *tally, uint32_t sure, uint64_t ns, bool idle)
{
	struct batch *b = current(tally);

	b->stretch_node[b->stretches] = sure | (idle ? STRETCH_IDLE : 0);
	b->stretch_ns[b->stretches++] = ns;
	if (b->stretches == BATCH)
		hand_over(tally);
}

void tally_sample(struct tally *tally, uint32_t node)
{
	struct batch *b = current(tally);

	b->sample_node[b->samples++] = node;
	if (b->samples == BATCH)
		hand_over(tally);
}

void tally_finish(struct tally *tally)
{
	if (!tally)
		return;
	if (tally->started) {
		pthread_mutex_lock(&tally->lock);
		tally->ending = true;
		pthread_cond_broadcast(&tally->changed);
		pthread_mutex_unlock(&tally->lock);
		pthread_join(tally->thread, NULL);
	}
	current(tally)->nodes = (uint32_t)tally->tree->contexts->nodes.length;
	add(tally->tree, current(tally));
	pthread_cond_destroy(&tally->changed);
	pthread_mutex_destroy(&tally->lock);
	free(tally->batches);
	free(tally);
}
