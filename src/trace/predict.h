/* Columns told by others: a field that another field of the same event all but
 * determines, given the event before with the same value there. A socket's
 * channel, descriptor and peer follow from its number; its position is the last
 * one and the bytes moved then.
 *
 * Of each event the keys' values choose a slot; the slot's number is the guess,
 * and then becomes the value (and the step). Only what differs from the guess is
 * coded. Two keys that share a slot make guesses worse, never wrong. */
#ifndef TRACE_PREDICT_H
#define TRACE_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/varint.h"

#define PREDICT_SLOTS 8192u
#define PREDICT_KEYS_MOST 3u

/* One key's values into the slots; of the first key they need not be set before. */
static inline void predict_key(uint32_t *hashes, const uint64_t *values, uint32_t n, bool first)
{
	for (uint32_t i = 0; i < n; i++)
		hashes[i] = (uint32_t)(((first ? 0 : hashes[i]) ^ values[i]) * 0x9e3779b97f4a7c15u >> 32);
}

/* `guesses`: PREDICT_SLOTS zeros at first. */
static inline uint64_t *predict_slot(uint64_t *guesses, uint32_t hash)
{
	return &guesses[hash >> 19];
}
_Static_assert(1u << (32 - 19) == PREDICT_SLOTS, "the hash's upper bits are the slot");

#endif
