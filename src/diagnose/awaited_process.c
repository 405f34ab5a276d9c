/* See awaited_process.h. Of its calls only the samples tell, and not with which process: it
 * is one that was told to end, or a child, and that ended as the looking did. */
#include "diagnose/awaited_process.h"

#include "diagnose/busy.h"
#include "diagnose/judgement.h"

/* The kernel's entries, and the wrappers of the library where only user stacks are recorded. */
static const char *const looking_calls[] = { "sys_wait4", "sys_waitid", "sys_kill", "wait4", "waitpid", "waitid" };

static bool looks(const struct scene *scene, struct names *names, uint32_t thread, uint64_t from_ns, uint64_t to_ns, enum limit_id share)
{
	int least = (int)limit_of(scene, share);

	for (size_t i = 0; i < sizeof(looking_calls) / sizeof(*looking_calls); i++)
		if (busy_share_in(scene, names, thread, from_ns, to_ns, looking_calls[i]) >= least)
			return true;
	return false;
}

/* It was there for all of the time, and ended just before the looking did: or is still there, if
 * that goes on. */
static bool lasted(const struct scene *scene, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	const struct thread *t = &scene->tables->threads[process];
	uint64_t slack = part_of(scene, LIMIT_edge, to_ns - from_ns) + limit_of(scene, LIMIT_spin_end_ns);

	if (t->start_ns > from_ns + slack)
		return false;
	if (to_ns + slack >= scene->end_ns && t->end_ns >= scene->end_ns && rule_holds(scene, RULE_child_told))
		return true;
	return to_ns < scene->end_ns ? t->end_ns + slack >= to_ns && t->end_ns <= to_ns + slack : t->end_ns >= to_ns;
}

/* Since it was told to end it has been looked for. */
static bool find_told(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct awaited_process *ret_awaited)
{
	bool found = false;

	for (uint32_t i = 0; i < scene->signal_count && scene->signals[i].time < to_ns; i++) {
		const struct sent_signal *s = &scene->signals[i];
		uint64_t asked_ns = s->time > from_ns ? s->time : from_ns;

		if (!s->sender || !scene_same_process(scene, s->sender, thread) || scene_same_process(scene, s->target, thread) ||
		    !lasted(scene, s->target, asked_ns, to_ns) || (found && s->target == ret_awaited->thread))
			continue;
		*ret_awaited = (struct awaited_process){ s->target, LINK_SIGNALLED, (uint8_t)rule_infos[RULE_told_to_end].weight, s->number };
		found = true;
	}
	return found;
}

static bool is_child_of(const struct scene *scene, uint32_t child, uint32_t thread)
{
	const struct thread *c = &scene->tables->threads[child];

	return c->tid == c->pid && c->pid != scene_pid(scene, thread) &&
	       (c->parent_pid == scene_pid(scene, thread) || (c->creator && scene_same_process(scene, c->creator, thread)));
}

/* The only child that it may be. */
static bool find_child(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct awaited_process *ret_awaited)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		if (!is_child_of(scene, i, thread) || !lasted(scene, i, from_ns, to_ns))
			continue;
		if (found)
			return false;
		found = i;
	}
	*ret_awaited = (struct awaited_process){ found, LINK_AWAITED, (uint8_t)limit_of(scene, LIMIT_spin_child), 0 };
	return found != 0;
}

/* The stretch began as it told a process to end, and went on until that had ended. */
static bool lasts_from_told(const struct scene *scene, const struct awaited_process *awaited, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = 0; i < scene->signal_count; i++)
		if (scene->signals[i].number == awaited->evidence)
			return scene->signals[i].time + part_of(scene, LIMIT_edge, to_ns - from_ns) >= from_ns &&
			       scene->signals[i].time <= from_ns + part_of(scene, LIMIT_edge, to_ns - from_ns);
	return false;
}

/* It computes to the end since it told its child to end, which that has not done: few samples, or none, fall into its looks. */
static bool is_open_since_told(const struct scene *scene, uint32_t thread, const struct awaited_process *awaited, uint64_t from_ns, uint64_t to_ns)
{
	return rule_holds(scene, RULE_child_told) && to_ns + part_of(scene, LIMIT_edge, to_ns - from_ns) >= scene->end_ns &&
	       is_child_of(scene, awaited->thread, thread) && lasts_from_told(scene, awaited, from_ns, to_ns);
}

/* It listens to nothing, and its only child stands in one wait, for what is neither a time nor work: of who asks now and then whether that has ended. */
static bool stands_to_the_end(const struct scene *scene, uint32_t child, uint64_t from_ns, uint64_t to_ns)
{
	const struct episode *e = scene_episode(scene, child, scene->end_ns - 1);
	const struct wait *w = e && e->end_ns >= scene->end_ns && e->start_ns <= from_ns ? &scene->waits[e->last] : NULL;

	return w && rule_holds(scene, RULE_child_told) && to_ns + part_of(scene, LIMIT_edge, to_ns - from_ns) >= scene->end_ns && !w->idle &&
	       w->kind != WAIT_KIND_sleep && w->kind != WAIT_KIND_signal && w->kind != WAIT_KIND_futex &&
	       (!wait_is_loop_rest(w) || (w->kind == WAIT_KIND_poll && w->argument == 2 && !w->timeout_ns));
}

bool awaited_process_find(const struct scene *scene, struct names *names, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
			  struct awaited_process *ret_awaited)
{
	if (!rule_holds(scene, RULE_told_to_end))
		return false;
	if (looks(scene, names, thread, from_ns, to_ns, LIMIT_spin_looks))
		return find_told(scene, thread, from_ns, to_ns, ret_awaited) || find_child(scene, thread, from_ns, to_ns, ret_awaited);
	/* A loop that does more than to look, as one that serves meanwhile. */
	if (find_told(scene, thread, from_ns, to_ns, ret_awaited))
		return is_open_since_told(scene, thread, ret_awaited, from_ns, to_ns) ||
		       (looks(scene, names, thread, from_ns, to_ns, LIMIT_told_looks) && lasts_from_told(scene, ret_awaited, from_ns, to_ns));
	if (!looks(scene, names, thread, from_ns, to_ns, LIMIT_told_looks) || !find_child(scene, thread, from_ns, to_ns, ret_awaited) ||
	    !stands_to_the_end(scene, ret_awaited->thread, from_ns, to_ns))
		return false;
	ret_awaited->confidence = (uint8_t)limit_of(scene, LIMIT_spin_child_now);
	return true;
}
