#include "session/thread_times.h"

#include <inttypes.h>
#include <string.h>

#include "trace/text.h"

static bool is_seen(const struct state_totals *t)
{
	for (unsigned i = 0; i < THREAD_STATES; i++)
		if (t->ns[i])
			return true;
	return false;
}

void thread_times_json(struct json *json, const struct tables *tables, const struct state_totals *totals)
{
	json_array(json, "thread_times");
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (!is_seen(&totals[i]))
			continue;
		json_object(json, NULL);
		json_u64(json, "tid", t->tid);
		json_u64(json, "pid", t->pid);
		json_text(json, "comm", t->comm);
		json_u64(json, "running_ns", totals[i].ns[THREAD_RUNNING]);
		json_u64(json, "runnable_ns", totals[i].ns[THREAD_RUNNABLE]);
		json_u64(json, "waiting_ns", totals[i].ns[THREAD_WAITING]);
		json_u64(json, "stopped_ns", totals[i].ns[THREAD_STOPPED]);
		json_u64(json, "unknown_ns", totals[i].ns[THREAD_UNKNOWN]);
		json_object(json, "waits");
		for (unsigned kind = 0; kind < 64; kind++)
			if (totals[i].wait_ns[kind])
				json_u64(json, kind_value_name(FIELD_WAIT_KIND, kind) ? kind_value_name(FIELD_WAIT_KIND, kind) : "other",
					 totals[i].wait_ns[kind]);
		json_end(json);
		json_end(json);
	}
	json_end(json);
}

static void put_seconds(struct buf *buf, uint64_t ns)
{
	buf_printf(buf, " %6" PRIu64 ".%03" PRIu64, ns / 1000000000, ns / 1000000 % 1000);
}

void thread_times_text(struct buf *buf, const struct tables *tables, const struct state_totals *totals)
{
	buf_text(buf, "seconds    running   runnable    waiting    stopped    unknown  thread\n");
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (!is_seen(&totals[i]))
			continue;
		buf_text(buf, "        ");
		put_seconds(buf, totals[i].ns[THREAD_RUNNING]);
		put_seconds(buf, totals[i].ns[THREAD_RUNNABLE]);
		put_seconds(buf, totals[i].ns[THREAD_WAITING]);
		put_seconds(buf, totals[i].ns[THREAD_STOPPED]);
		put_seconds(buf, totals[i].ns[THREAD_UNKNOWN]);
		buf_text(buf, "  ");
		buf_escaped(buf, t->comm, strlen(t->comm), NULL);
		buf_printf(buf, " %" PRIu32 "/%" PRIu32 "\n", t->pid, t->tid);
	}
}
