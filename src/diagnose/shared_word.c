/* See shared_word.h. */
#include "diagnose/shared_word.h"

#include <string.h>

#include "diagnose/account.h"
#include "diagnose/judgement.h"
#include "diagnose/serving.h"

const struct descriptor *word_shared(const struct ends *ends, const struct wait *w)
{
	struct row row = w->kind == WAIT_KIND_futex && w->object ? ends_of_object(ends, w->object) : (struct row){ 0 };
	uint32_t pid = ends->tables->threads[w->thread].pid;

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (d->at.kind == OBJECT_KIND_futex && d->pid == pid && d->at.channel_out)
			return d;
	}
	return NULL;
}

static bool waits_for(const struct ends *ends, const struct wait *w, uint64_t channel)
{
	const struct descriptor *d = w ? word_shared(ends, w) : NULL;

	return d && d->at.channel_out == channel;
}

/* It goes on only when the other, or who that descends from, has ended. */
static bool awaits_end_of(const struct scene *scene, const struct wait *w, uint32_t waiter)
{
	return w && w->kind == WAIT_KIND_child && scene_descends_from(scene, waiter, scene_pid(scene, w->thread));
}

static bool is_kept(const struct scene *scene, uint32_t thread, const struct wait *w, uint64_t from_ns, uint64_t to_ns)
{
	struct state_times times;

	if (w && (w->kind == WAIT_KIND_stop || wait_has_owner(w) || (wait_is_in_kernel(w) && w->kind != WAIT_KIND_vfork)))
		return true;
	scene_state_times(scene, thread, from_ns, to_ns, &times);
	return nearly_all(scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], to_ns - from_ns);
}

/* What the process's threads do; false: none of them could end the wait. */
static bool look_at(const struct scene *scene, const struct ends *ends, uint32_t process, const struct wait *w, uint64_t channel,
		    uint64_t from_ns, uint64_t to_ns, uint32_t *fellows, struct word_sharer *ret_sharer)
{
	bool rests = true;

	*ret_sharer = (struct word_sharer){ 0 };
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct thread *t = &scene->tables->threads[i];
		const struct wait *its;

		if (t->pid != scene_pid(scene, process) || t->start_ns >= to_ns || t->end_ns < to_ns || i == w->thread)
			continue;
		its = scene_stands_in(scene, i, from_ns, to_ns);
		if (waits_for(ends, its, channel)) {
			++*fellows;
			continue;
		}
		if (awaits_end_of(scene, its, w->thread))
			continue;
		rests &= its && (its->idle || wait_is_loop_rest(its) || serving_waits_for_one(ends, its));
		if (ret_sharer->thread && (ret_sharer->stands_out || !is_kept(scene, i, its, from_ns, to_ns)))
			continue;
		*ret_sharer = (struct word_sharer){ .thread = i, .stands_out = is_kept(scene, i, its, from_ns, to_ns) };
	}
	ret_sharer->rests = ret_sharer->thread && rests;
	return ret_sharer->thread != 0;
}

/* Another process has it open: it may map it. */
static bool is_open_elsewhere(const struct scene *scene, const struct descriptor *own)
{
	const struct tables *tables = scene->tables;
	size_t length = strlen(own->text);

	for (size_t i = 0; length && i < tables->descriptor_count; i++) {
		const struct descriptor *d = &tables->descriptors[i];

		if (d->pid != own->pid && d->at.kind != OBJECT_KIND_futex && !strncmp(d->text, own->text, length) &&
		    (!d->text[length] || d->text[length] == ' '))
			return true;
	}
	return false;
}

bool word_sharers_find(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns, uint64_t to_ns,
		       struct word_sharers *ret_sharers)
{
	const struct descriptor *own = word_shared(ends, w);
	struct row row = own ? ends_far(ends, own) : (struct row){ 0 };
	uint32_t seen[WORD_SHARERS_MOST * 2], count = 0;

	*ret_sharers = (struct word_sharers){ .name = own ? own->text : "" };
	for (uint32_t i = 0; i < row.count; i++) {
		uint32_t process = tables_process(scene->tables, ends_at(ends, row, i)->pid, to_ns - 1), known = 0;
		struct word_sharer sharer;

		while (known < count && seen[known] != process)
			known++;
		if (!process || known < count)
			continue;
		if (count == sizeof(seen) / sizeof(*seen) || ret_sharers->count == WORD_SHARERS_MOST) {
			ret_sharers->more = true;
			break;
		}
		seen[count++] = process;
		if (!look_at(scene, ends, process, w, own->at.channel_out, from_ns, to_ns, &ret_sharers->fellows, &sharer))
			continue;
		ret_sharers->items[ret_sharers->count++] = sharer;
		ret_sharers->standing_out += sharer.stands_out;
	}
	ret_sharers->unnamed = own && own->at.state == DESCRIPTOR_UNNAMED && !is_open_elsewhere(scene, own);
	return own != NULL;
}

bool word_lost(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns, bool *ret_named)
{
	struct word_sharers sharers;

	if (!rule_holds(scene, RULE_lost_word) || w->kind != WAIT_KIND_futex || w->hint || w->timeout_ns || w->idle || w->end != WAIT_END_OPEN ||
	    scene->episodes[w->episode].slices != 1 || !word_sharers_find(scene, ends, w, from_ns, scene->end_ns, &sharers) || sharers.count || sharers.more)
		return false;
	*ret_named = !sharers.unnamed;
	return true;
}
