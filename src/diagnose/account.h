/* Adding up a walk's pieces: who was charged with how much, and what is known. */
#ifndef DIAGNOSE_ACCOUNT_H
#define DIAGNOSE_ACCOUNT_H

#include "diagnose/walk.h"

struct account {
	uint32_t thread;
	uint8_t charge;            /* enum piece_charge of the most of it */
	uint8_t state;             /* enum span_state of the most of it */
	uint64_t ns;
	uint64_t state_ns[SPAN_ABSENT + 1];
	uint64_t source_ns, missing_ns, circle_ns;
	uint64_t first_ns, last_ns;/* window that its pieces span */
	uint32_t biggest;          /* index of its longest piece */
};

struct accounts vec(struct account);

/* Per thread, biggest first. */
void account_threads(const struct scene *scene, const struct pieces *pieces, struct accounts *accounts);
/* What the process's threads were charged with; `with_children`: and the processes it started. */
uint64_t account_process_ns(const struct scene *scene, const struct accounts *accounts, uint32_t pid, bool with_children);
/* The account of the thread that is to blame: the biggest, unless a process, or a
 * parent with its short-lived children, has clearly more together. */
const struct account *account_culprit(const struct scene *scene, const struct accounts *accounts, uint64_t window_ns);

/* Whether the trace tells what happened in a piece. */
bool piece_explained(const struct scene *scene, const struct piece *piece, uint32_t victim);

#endif
