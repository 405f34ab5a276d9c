/* See proc_busy.h. */
#include "record/proc_busy.h"

#include <stdlib.h>

#define TURNS 8u

struct lane {
	struct proc_busy_sink *sink;
	uint32_t processor, on;    /* who is on it */
	uint64_t now_ns;
};

static int by_processor_then_time(const void *a, const void *b)
{
	const struct proc_busy *x = a, *y = b;

	if (x->processor != y->processor)
		return x->processor < y->processor ? -1 : 1;
	return x->ran_ns < y->ran_ns ? -1 : x->ran_ns > y->ran_ns;
}

static int change_to(struct lane *lane, uint32_t tid, struct err *err)
{
	struct event_switch to = { .next = tid, .state = TASK_STATE_running, .syscall = SYSCALL_NONE,
				   .flags = lane->on ? SWITCH_FLAGS_preempted : 0 };
	int r = lane->on == tid ? 0 : lane->sink->leaves(lane->sink, lane->now_ns, lane->processor, lane->on, &to, err);

	lane->on = tid;
	return r;
}

/* Those of one processor, who ran longest last: he stays on it. */
static int lay_out_lane(const struct proc_busy *list, size_t count, uint64_t from_ns, uint64_t to_ns, struct proc_busy_sink *sink, struct err *err)
{
	struct lane lane = { .sink = sink, .processor = list[0].processor, .now_ns = from_ns };
	uint64_t length = to_ns - from_ns, sum = 0, all;
	int r = 0;

	for (size_t i = 0; i < count; i++)
		sum += list[i].ran_ns;
	all = sum > length ? sum : length;
	/* each of them could run from the beginning on */
	for (size_t i = 0; !r && i < count; i++)
		r = change_to(&lane, list[i].tid, err);
	for (unsigned turn = 0; !r && turn < TURNS; turn++) {
		for (size_t i = 0; !r && i < count; i++) {
			uint64_t share = (uint64_t)((double)list[i].ran_ns * (double)length / (double)all / TURNS);

			if (share)
				r = change_to(&lane, list[i].tid, err);
			lane.now_ns += share;
		}
		if (!r && sum < length && (length - sum) / TURNS) {
			r = change_to(&lane, 0, err);
			lane.now_ns += (length - sum) / TURNS;
		}
	}
	return r;
}

int proc_busy_lay_out(struct proc_busy *list, size_t count, uint64_t from_ns, uint64_t to_ns, struct proc_busy_sink *sink, struct err *err)
{
	int r = 0;

	if (count && to_ns > from_ns)
		qsort(list, count, sizeof(*list), by_processor_then_time);
	for (size_t i = 0, next; !r && i < count && to_ns > from_ns; i = next) {
		for (next = i + 1; next < count && list[next].processor == list[i].processor; next++)
			;
		r = lay_out_lane(list + i, next - i, from_ns, to_ns, sink, err);
	}
	return r;
}
