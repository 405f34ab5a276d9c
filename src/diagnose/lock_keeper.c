/* See lock_keeper.h. */
#include "diagnose/lock_keeper.h"

#include <string.h>

#include "diagnose/kernel_place.h"

/* One of whom the trace knows the number only: it had ended before. */
static bool never_seen(const struct scene *scene, uint32_t thread)
{
	return thread && !strcmp(scene->tables->threads[thread].comm, "?");
}

static bool is_kin(const struct scene *scene, uint32_t a, uint32_t b)
{
	return scene_same_process(scene, a, b) || scene->tables->threads[a].parent_pid == scene_pid(scene, b) ||
	       scene->tables->threads[b].parent_pid == scene_pid(scene, a);
}

uint32_t lock_keeper(const struct scene *scene, const struct ends *ends, uint32_t owner, uint64_t object, uint32_t waiter,
		     uint64_t time_ns)
{
	struct row row = ends_of_object(ends, object);
	const struct tables *tables = scene->tables;
	uint32_t oldest = 0;

	if (!never_seen(scene, owner))
		return owner;
	for (uint32_t i = 0; i < row.count; i++) {
		uint32_t thread = tables_process(tables, ends_at(ends, row, i)->pid, time_ns);

		if (thread && !is_kin(scene, thread, waiter) &&
		    (!oldest || tables->threads[thread].start_ns < tables->threads[oldest].start_ns))
			oldest = thread;
	}
	return oldest;
}

uint32_t fuse_server_owing(struct names *names, const struct tables *tables, uint32_t kstack, uint64_t time_ns, bool *ret_sure)
{
	uint32_t owing = 0, any = 0;
	unsigned owing_count = 0, any_count = 0;

	*ret_sure = false;
	if (kernel_place_of(names, tables, kstack) != KERNEL_PLACE_FUSE)
		return 0;
	for (size_t i = 0; i < tables->descriptor_count; i++) {
		const struct descriptor *d = &tables->descriptors[i];

		if (d->at.kind != OBJECT_KIND_fuse)
			continue;
		any_count += d->pid != any;
		any = d->pid;
		if (!d->at.queued)
			continue;
		owing_count += d->pid != owing;
		owing = d->pid;
	}
	*ret_sure = owing_count == 1;
	if (!owing_count && any_count == 1)
		owing = any;
	return tables_process(tables, owing_count > 1 ? 0 : owing, time_ns);
}
