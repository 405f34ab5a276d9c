/* See pack.h. */
#include "trace/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/arena.h"
#include "trace/crc32c.h"

struct packer {
	struct encoder encoder;
	struct encode_input input;   /* of the entries packed last */
	const struct entry *order[ENCODE_COUNT_LIMIT], *scratch[ENCODE_COUNT_LIMIT];
	unsigned char head[ENCODE_HEAD_ROOM];
	unsigned char *raw, *packed; /* packed: room for a head before the payload */
	size_t raw_room, packed_room;
	ZSTD_CCtx *compressor;
};

int packer_new(uint32_t entries_bytes, int compression, struct packer **ret_packer, struct err *err)
{
	struct packer *packer = mem_zalloc(sizeof(*packer));

	packer->raw_room = ENCODE_PAYLOAD_ROOM(entries_bytes);
	packer->raw = mem_zalloc(packer->raw_room);
	packer->packed_room = ENCODE_HEAD_ROOM + ZSTD_compressBound(packer->raw_room);
	packer->packed = mem_zalloc(packer->packed_room);
	packer->compressor = ZSTD_createCCtx();
	if (!packer->compressor ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(packer->compressor, ZSTD_c_compressionLevel, compression))) {
		packer_free(packer);
		return err_set(err, -EINVAL, "compression level %d is not known", compression);
	}
	/* The compressor takes its memory at the first use: use it now. */
	ZSTD_compress2(packer->compressor, packer->packed, packer->packed_room, packer->raw, packer->raw_room);
	*ret_packer = packer;
	return 0;
}

void packer_free(struct packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->compressor);
	free(packer->raw);
	free(packer->packed);
	free(packer);
}

/* Stable: by time, equal times as they came. A merge sort from the bottom. */
static const struct entry **sort_entries(const struct entry **from, const struct entry **to, uint32_t n)
{
	for (uint32_t run = 1; run < n; run *= 2) {
		for (uint32_t start = 0; start < n; start += 2 * run) {
			uint32_t middle = start + run < n ? start + run : n, end = middle + run < n ? middle + run : n;
			uint32_t left = start, right = middle;

			for (uint32_t i = start; i < end; i++)
				to[i] = left < middle && (right == end || from[left]->time_ns <= from[right]->time_ns) ?
					from[left++] : from[right++];
		}
		const struct entry **swap = from;

		from = to;
		to = swap;
	}
	return from;
}

/* The same where a few stand some places too late, as what an interrupt wrote
 * before the thread that it came into; false when it is more than that. */
static bool insert_entries(const struct entry **entries, uint32_t n)
{
	uint32_t steps = n;

	for (uint32_t i = 1; i < n; i++) {
		const struct entry *entry = entries[i];
		uint32_t at = i;

		for (; at && entries[at - 1]->time_ns > entry->time_ns; at--) {
			if (!steps--) {
				entries[at] = entry;
				return false;
			}
			entries[at] = entries[at - 1];
		}
		entries[at] = entry;
	}
	return true;
}

static const struct entry **order_entries(struct packer *packer, const struct pack_entries *entries)
{
	for (uint32_t i = 0; i < entries->count; i++)
		packer->order[i] = (const struct entry *)(const void *)(entries->bytes + entries->places[i]);
	if (!entries->unsorted || insert_entries(packer->order, entries->count))
		return packer->order;
	return sort_entries(packer->order, packer->scratch, entries->count);
}

static void compress(struct packer *packer, size_t raw_bytes, struct chunk_head *head)
{
	unsigned char *payload = packer->packed + ENCODE_HEAD_ROOM;
	size_t bytes = ZSTD_compress2(packer->compressor, payload, packer->packed_room - ENCODE_HEAD_ROOM, packer->raw, raw_bytes);

	if (ZSTD_isError(bytes) || bytes >= raw_bytes) {
		memcpy(payload, packer->raw, raw_bytes);
		bytes = raw_bytes;
		head->flags |= CHUNK_STORED;
	}
	head->payload_bytes = (uint32_t)bytes;
	head->raw_bytes = (uint32_t)raw_bytes;
	head->payload_crc = crc32c(0, payload, bytes);
}

void packer_payload(struct packer *packer, const struct pack_entries *entries, struct chunk_head *head)
{
	packer->input = (struct encode_input){
		.entries = order_entries(packer, entries), .count = entries->count, .counts = entries->counts, .cpu = entries->cpu,
	};
	compress(packer, (size_t)(encode_payload(&packer->encoder, &packer->input, packer->raw) - packer->raw), head);
}

unsigned char *packer_head(struct packer *packer, struct thread_marks *marks, struct chunk_head *head)
{
	unsigned char *rest = packer->head, *end = encode_head_rest(marks, &packer->input, rest), *to;

	head->head_bytes = (uint32_t)(sizeof(*head) + (size_t)(end - rest));
	to = packer->packed + ENCODE_HEAD_ROOM - head->head_bytes;
	memcpy(to + sizeof(*head), rest, (size_t)(end - rest));
	return to;
}

unsigned char *packer_room(struct packer *packer, size_t *ret_bytes)
{
	*ret_bytes = packer->raw_room;
	return packer->raw;
}

unsigned char *packer_bare(struct packer *packer, size_t bytes, struct chunk_head *head)
{
	compress(packer, bytes, head);
	head->head_bytes = sizeof(*head);
	return packer->packed + ENCODE_HEAD_ROOM - sizeof(*head);
}
