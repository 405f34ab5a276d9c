#include "record/stack_copies.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"

#define KEPT_BYTES (1u << 20)      /* not worth giving back */

static struct pending_copy *at_place(const struct stack_copies *copies, uint64_t position)
{
	return (struct pending_copy *)(void *)(copies->data + (position & (STACK_COPIES_BYTES - 1)));
}

int stack_copies_open(struct stack_copies *copies, struct err *err)
{
	*copies = (struct stack_copies){ .data = mem_reserve(STACK_COPIES_BYTES) };
	return copies->data ? 0 : err_sys(err, -ENOMEM, "reserving memory for copies of stacks");
}

void stack_copies_close(struct stack_copies *copies)
{
	if (copies->data)
		munmap(copies->data, STACK_COPIES_BYTES);
	copies->data = NULL;
}

bool stack_copies_empty(const struct stack_copies *copies)
{
	return atomic_load_explicit(&copies->head, memory_order_acquire) == atomic_load_explicit(&copies->tail, memory_order_acquire);
}

bool stack_copies_add(struct stack_copies *copies, const struct stack_copy *copy)
{
	uint64_t head = atomic_load_explicit(&copies->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&copies->tail, memory_order_acquire);
	uint32_t bytes = (uint32_t)(sizeof(struct pending_copy) + copy->bytes + 7) & ~7u;
	uint64_t rest = STACK_COPIES_BYTES - (head & (STACK_COPIES_BYTES - 1));
	bool begins_anew = bytes > rest;
	uint64_t needed = bytes + (begins_anew ? rest : 0);

	if (needed > STACK_COPIES_BYTES - (head - tail))
		return false;
	if (begins_anew) {
		at_place(copies, head)->bytes = 0;
		head += rest;
	}
	struct pending_copy *to = at_place(copies, head);
	to->bytes = bytes;
	to->head = *copy;
	memcpy(to->data, copy + 1, copy->bytes);
	head += bytes;
	if (((head - 1) & (STACK_COPIES_BYTES - 1)) >= copies->touched)
		copies->touched = ((head - 1) & (STACK_COPIES_BYTES - 1)) + 1;
	atomic_store_explicit(&copies->head, head, memory_order_release);
	return true;
}

void stack_copies_release(struct stack_copies *copies)
{
	uint64_t head = atomic_load_explicit(&copies->head, memory_order_relaxed), anew = (head + STACK_COPIES_BYTES - 1) & ~(STACK_COPIES_BYTES - 1ull);

	if (!stack_copies_empty(copies))
		return;
	atomic_store_explicit(&copies->head, anew, memory_order_relaxed);
	atomic_store_explicit(&copies->tail, anew, memory_order_release);
	if (copies->touched <= KEPT_BYTES)
		return;
	madvise(copies->data, STACK_COPIES_BYTES, MADV_DONTNEED);
	copies->touched = 0;
}

const struct pending_copy *stack_copies_first(struct stack_copies *copies)
{
	uint64_t head = atomic_load_explicit(&copies->head, memory_order_acquire);
	uint64_t tail = atomic_load_explicit(&copies->tail, memory_order_relaxed);

	if (head == tail)
		return NULL;
	if (at_place(copies, tail)->bytes == 0) {
		tail += STACK_COPIES_BYTES - (tail & (STACK_COPIES_BYTES - 1));
		atomic_store_explicit(&copies->tail, tail, memory_order_release);
	}
	return at_place(copies, tail);
}

void stack_copies_drop(struct stack_copies *copies)
{
	uint64_t tail = atomic_load_explicit(&copies->tail, memory_order_relaxed);

	atomic_store_explicit(&copies->tail, tail + at_place(copies, tail)->bytes, memory_order_release);
}
