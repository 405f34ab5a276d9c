/* Who answers in the kernel's place: the server of a file system in user space, the supervisor of a seccomp filter (see suspects.h). */
#include <stdlib.h>
#include <string.h>

#include "diagnose/judgement.h"
#include "diagnose/lock_keeper.h"
#include "diagnose/owed.h"
#include "diagnose/question.h"
#include "diagnose/serving.h"
#include "diagnose/side.h"

void ask_fuse(struct question *q)
{
	const struct fuse_request *mine = NULL;
	struct request_asked asked;
	uint32_t server = 0, at_work;
	bool sure;

	if (only_looks(q))
		return;
	for (uint32_t i = 0; i < q->scene->fuse_count; i++) {
		const struct fuse_request *f = &q->scene->fuse[i];

		if (f->thread == q->episode->thread && f->time <= q->to && (!f->end_ns || f->end_ns >= q->from))
			mine = f;
	}
	if (!mine) { /* one from before the trace that no snapshot tells: only the kernel's stack does */
		server = fuse_server_owing(q->inquiry->now ? q->inquiry->now->names : NULL, q->scene->tables, q->wait->kstack, q->from, &sure);
		suspect_thread(q, server, LINK_SERVER, sure ? weight_of(q) : limit(q, LIMIT_fuse_guess), 0);
		return;
	}
	for (uint32_t i = 0; i < q->scene->fuse_count; i++)
		if (q->scene->fuse[i].connection == mine->connection && q->scene->fuse[i].server)
			server = q->scene->fuse[i].server;
	if (!server) {
		struct row ends = ends_of_object(q->inquiry->ends, (uint64_t)OBJECT_KIND_fuse << OBJECT_KIND_SHIFT | mine->connection);

		if (ends.count)
			server = tables_process(q->scene->tables, ends_at(q->inquiry->ends, ends, 0)->pid, q->from);
	}
	asked = (struct request_asked){ .thread = q->episode->thread, .since_ns = serving_asked_since(q->scene, q->episode),
					.from_ns = q->from, .to_ns = q->to };
	at_work = server && q->wait->end == WAIT_END_OPEN ? serving_thread(q->scene, q->inquiry->ends, server, &asked) : 0;
	suspect_thread(q, at_work ? at_work : server, LINK_SERVER, weight_of(q), mine->number);
}

/* None of its threads takes the next request: it is stopped, or at work, or kept. */
static uint32_t server_away(const struct question *q, uint32_t connection)
{
	uint64_t object = (uint64_t)OBJECT_KIND_fuse << OBJECT_KIND_SHIFT | connection;
	struct row ends = ends_of_object(q->inquiry->ends, object);
	uint32_t pid = ends.count ? ends_at(q->inquiry->ends, ends, 0)->pid : 0, server = pid ? tables_process(q->scene->tables, pid, q->from) : 0;

	return server && !owed_listens(q->scene, q->inquiry->ends, pid, object, q->from) ? server : 0;
}

/* Whose disk may be a loop device, of which the file lies on a user-space file system. */
void ask_loop_device(struct question *q)
{
	const char *devices = q->scene->trace ? trace_machine(q->scene->trace, "loop_devices") : NULL;
	uint32_t found = 0;

	if (!devices || q->wait->kind != WAIT_KIND_block_io || q->wait->end != WAIT_END_OPEN ||
	    q->to - q->scene->waits[q->episode->first].start_ns < limit_of(q->scene, LIMIT_wait_ns))
		return;
	for (const char *at = devices; (at = strchr(at, '=')); ) {
		uint32_t server = server_away(q, (uint32_t)strtoul(++at, NULL, 10));

		if (server && found && server != found)
			return;
		found = server ? server : found;
	}
	suspect_thread(q, found, LINK_BACKING, weight_of(q), q->wait->begin_event);
}

/* Of a supervisor with several threads the one that is at it. */
void ask_supervisor(struct question *q)
{
	struct row row = q->wait->kind == WAIT_KIND_supervised && q->wait->object ? ends_of_object(q->inquiry->ends, q->wait->object) : (struct row){ 0 };
	struct request_asked asked = { .thread = q->episode->thread, .since_ns = serving_asked_since(q->scene, q->episode),
				       .from_ns = q->from, .to_ns = q->to };
	uint32_t pid = scene_pid(q->scene, q->episode->thread), other = 0;

	for (uint32_t i = 0; i < row.count && !other; i++)
		if (ends_at(q->inquiry->ends, row, i)->pid != pid)
			other = tables_process(q->scene->tables, ends_at(q->inquiry->ends, row, i)->pid, q->from);
	if (other) {
		uint32_t at_work = serving_thread(q->scene, q->inquiry->ends, other, &asked);

		suspect_thread(q, at_work ? at_work : other, LINK_SUPERVISOR, weight_of(q), q->wait->begin_event);
	}
}
