/* See killed_kin.h. */
#include "diagnose/killed_kin.h"

#include <sys/syscall.h>

#include "diagnose/broken_off.h"
#include "diagnose/judgement.h"

#define KIN_MOST 16u
#define FILES_MOST 64u

struct kin {
	uint32_t thread;
	uint64_t evidence;
	uint64_t files[FILES_MOST]; /* that it mapped, most of them libraries */
	uint32_t count;
};

struct killed {
	struct kin kin[KIN_MOST];
	uint32_t count;
};

static struct kin *kin_of(const struct scene *scene, struct killed *killed, uint32_t thread)
{
	for (uint32_t i = 0; i < killed->count; i++)
		if (scene_same_process(scene, killed->kin[i].thread, thread))
			return &killed->kin[i];
	return NULL;
}

/* False where there are more than are looked at. */
static bool gather(const struct scene *scene, const struct wait *w, uint64_t to_ns, struct killed *killed)
{
	killed->count = 0;
	for (uint32_t i = 0; i < scene->signal_count && scene->signals[i].time < to_ns; i++) {
		const struct sent_signal *s = &scene->signals[i];

		if (!broken_off_killed_by(scene, s) || scene_same_process(scene, s->target, w->thread) || !scene_is_kin(scene, w->thread, s->target) ||
		    kin_of(scene, killed, s->target))
			continue;
		if (killed->count == KIN_MOST)
			return false;
		killed->kin[killed->count].thread = s->target;
		killed->kin[killed->count].evidence = s->number;
		killed->kin[killed->count++].count = 0;
	}
	return true;
}

/* The file that the waiting process mapped where the word lies, 0 not known; and what the killed ones mapped. */
static uint64_t see_mappings(const struct scene *scene, const struct wait *w, uint64_t to_ns, struct killed *killed)
{
	uint32_t first = tables_process(scene->tables, scene_pid(scene, w->thread), w->start_ns);
	uint64_t born = scene->tables->threads[first ? first : w->thread].start_ns, gone = w->start_ns, file = 0;
	struct trace_filter filter = { .unnumbered = true };
	struct trace_cursor *cursor;

	for (uint32_t i = 0; i < killed->count; i++) {
		const struct thread *t = &scene->tables->threads[killed->kin[i].thread];

		born = t->start_ns < born ? t->start_ns : born;
		gone = t->end_ns > gone ? t->end_ns : gone;
	}
	filter.from_ns = born > scene->start_ns ? born : scene->start_ns;
	filter.to_ns = gone < to_ns ? gone : to_ns;

	trace_filter_add(&filter, EVENT_syscall);
	cursor = trace_cursor_new(scene->trace, &filter);
	for (const struct event *e; (e = trace_cursor_next(cursor)); ) {
		const struct event_syscall *s = event_as(e, syscall);
		uint32_t thread = s->number == SYS_mmap && s->object && (int64_t)s->result > 0 ? tables_thread(scene->tables, e->tid, e->time) : 0;
		struct kin *kin = thread ? kin_of(scene, killed, thread) : NULL;

		if (kin && kin->count < FILES_MOST)
			kin->files[kin->count++] = s->object;
		if (thread && e->time <= w->start_ns && scene_same_process(scene, thread, w->thread) && w->detail >= (uint64_t)s->result &&
		    w->detail - (uint64_t)s->result < s->arg1)
			file = s->object;
	}
	trace_cursor_free(cursor);
	return file;
}

static bool has_mapped(const struct kin *kin, uint64_t file)
{
	for (uint32_t i = 0; i < kin->count; i++)
		if (kin->files[i] == file)
			return true;
	return false;
}

uint32_t killed_kin_find(const struct scene *scene, const struct wait *w, uint64_t to_ns, bool *ret_mapped, uint64_t *ret_evidence)
{
	struct killed killed;
	const struct kin *found;
	uint64_t file;

	*ret_mapped = false;
	if (!wait_is_shared(w) || w->hint || !gather(scene, w, to_ns, &killed) || !killed.count)
		return 0;
	found = killed.count == 1 ? &killed.kin[0] : NULL;
	file = scene->trace && w->detail ? see_mappings(scene, w, to_ns, &killed) : 0;
	for (uint32_t i = 0; file && i < killed.count; i++) {
		if (!has_mapped(&killed.kin[i], file))
			continue;
		if (*ret_mapped) {
			*ret_mapped = false;
			return 0;
		}
		found = &killed.kin[i];
		*ret_mapped = true;
	}
	if (!found)
		return 0;
	*ret_evidence = found->evidence;
	return found->thread;
}
