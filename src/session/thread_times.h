/* Each thread's time by state, for `argus info --threads`. */
#ifndef SESSION_THREAD_TIMES_H
#define SESSION_THREAD_TIMES_H

#include "base/json.h"
#include "trace/states.h"

void thread_times_json(struct json *json, const struct tables *tables, const struct state_totals *totals);
void thread_times_text(struct buf *buf, const struct tables *tables, const struct state_totals *totals);

#endif
