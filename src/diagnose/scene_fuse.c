/* Waits for file systems in user space: a thread in a call on a file, while a request of its own to one is open. */
#include "base/search.h"
#include "diagnose/scene_build.h"

/* A wait in a call on a file, of which the recorder tells the call, or that it is for its pages. */
static bool is_on_file(const struct wait *w)
{
	switch (w->kind) {
	case WAIT_KIND_block_io:
	case WAIT_KIND_open:
	case WAIT_KIND_fault:
	case WAIT_KIND_sync:
	case WAIT_KIND_other:
		return w->cause != WAKE_CAUSE_block_io;
	case WAIT_KIND_read:
	case WAIT_KIND_write:
		return object_kind(w->object) == OBJECT_KIND_file || object_kind(w->object) == OBJECT_KIND_directory;
	default:
		return false;
	}
}

void scene_lay_fuse_wait(struct scene *scene, const struct fuse_request *request)
{
	const struct scene_thread *t = &scene->threads[request->thread];
	uint64_t end_ns = request->end_ns ? request->end_ns : scene->end_ns;
	uint32_t at = t->wait, end = t->wait + t->wait_count, high = end;

	SEARCH(at, high, middle, scene->waits[middle].start_ns < request->time);
	/* one that was found open is told behind the wait's beginning */
	at -= at > t->wait && scene->waits[at - 1].end_ns > request->time;
	for (; at < end && scene->waits[at].start_ns < end_ns; at++)
		if (is_on_file(&scene->waits[at]))
			scene->waits[at].kind = WAIT_KIND_fuse;
}
