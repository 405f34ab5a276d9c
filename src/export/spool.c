#include "export/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"

#define BLOCK_ITEMS 126u

struct block {
	uint64_t next;           /* place of the thread's next block + 1, 0 none */
	uint32_t count, unused;
	struct spooled items[BLOCK_ITEMS];
};

struct chain {
	struct block *filling;   /* NULL while there is nothing */
	uint64_t first, last;    /* places of its blocks in the file + 1; 0 none written yet */
	uint64_t count;
};

struct spool {
	FILE *file;
	struct chain *chains;
	uint32_t threads;
	uint64_t blocks;         /* in the file */
	int failed;              /* errno of the first write that failed */
};

int spool_new(uint32_t threads, struct spool **ret_spool, struct err *err)
{
	FILE *file = tmpfile();
	struct spool *spool;

	if (!file)
		return err_set(err, -errno, "making a temporary file: %s", strerror(errno));
	spool = mem_zalloc(sizeof(*spool));
	spool->file = file;
	spool->threads = threads;
	spool->chains = mem_zalloc(arena_array_bytes(sizeof(*spool->chains), threads + 1));
	*ret_spool = spool;
	return 0;
}

void spool_free(struct spool *spool)
{
	if (!spool)
		return;
	for (uint32_t i = 0; i < spool->threads; i++)
		free(spool->chains[i].filling);
	fclose(spool->file);
	free(spool->chains);
	free(spool);
}

static void write_at(struct spool *spool, uint64_t offset, const void *bytes, size_t count)
{
	if (!spool->failed && pwrite(fileno(spool->file), bytes, count, (off_t)offset) != (ssize_t)count)
		spool->failed = errno ? errno : ENOSPC;
}

static void put_block(struct spool *spool, struct chain *chain)
{
	uint64_t place = ++spool->blocks;

	chain->filling->next = 0;
	write_at(spool, (place - 1) * sizeof(struct block), chain->filling, sizeof(struct block));
	if (chain->last)
		write_at(spool, (chain->last - 1) * sizeof(struct block), &place, sizeof(place));
	else
		chain->first = place;
	chain->last = place;
	chain->filling->count = 0;
}

void spool_add(struct spool *spool, uint32_t thread, const struct spooled *item)
{
	struct chain *chain = &spool->chains[thread];

	if (!chain->filling)
		chain->filling = mem_zalloc(sizeof(*chain->filling));
	chain->filling->items[chain->filling->count++] = *item;
	chain->count++;
	if (chain->filling->count == BLOCK_ITEMS)
		put_block(spool, chain);
}

uint64_t spool_count(const struct spool *spool, uint32_t thread)
{
	return spool->chains[thread].count;
}

static void hand_out(const struct block *block, void (*item)(void *data, const struct spooled *item), void *data)
{
	for (uint32_t i = 0; i < block->count && i < BLOCK_ITEMS; i++)
		item(data, &block->items[i]);
}

int spool_read(struct spool *spool, uint32_t thread, void (*item)(void *data, const struct spooled *item), void *data, struct err *err)
{
	const struct chain *chain = &spool->chains[thread];
	struct block *block = mem_alloc(sizeof(*block));

	for (uint64_t place = chain->first; place && !spool->failed; place = block->next) {
		if (pread(fileno(spool->file), block, sizeof(*block), (off_t)((place - 1) * sizeof(*block))) != (ssize_t)sizeof(*block)) {
			spool->failed = errno ? errno : EIO;
			break;
		}
		hand_out(block, item, data);
	}
	if (chain->filling && !spool->failed)
		hand_out(chain->filling, item, data);
	free(block);
	return spool->failed ? err_set(err, -spool->failed, "the temporary file: %s", strerror(spool->failed)) : 0;
}
