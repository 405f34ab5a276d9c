/* See killed_before.h. Neither path nor inode of such a call is recorded: that one alone was killed before it took away what it had made is
 * all that tells. */
#include "diagnose/killed_before.h"

#include "base/search.h"
#include "diagnose/broken_off.h"
#include "diagnose/judgement.h"
#include "diagnose/loops.h"

#define ASKED_MOST 8u

struct looking {
	const struct scene *scene;
	uint32_t thread, pid;
	uint64_t from_ns, to_ns;
	uint16_t syscall;             /* by which it is refused to make something; 0 it is not */
	uint32_t asked[ASKED_MOST];   /* processes that it asks each time */
	unsigned asked_count;
};

static uint32_t calls_from(const struct scene *scene, uint64_t time)
{
	uint32_t low = 0, high = scene->call_count;

	SEARCH(low, high, middle, scene->calls[middle].time < time);
	return low;
}

/* Itself, or a command that its process began meanwhile and that failed. */
static bool is_its_own(const struct looking *l, uint32_t thread)
{
	const struct thread *t = &l->scene->tables->threads[thread];

	if (!thread || scene_pid(l->scene, thread) == l->pid)
		return thread != 0;
	return t->start_ns + limit_of(l->scene, LIMIT_look_ns) >= l->from_ns && t->exit_code && scene_descends_from(l->scene, thread, l->pid);
}

/* By the same call each time; where it is refused by several nothing is known. */
static bool is_refused(struct looking *l)
{
	uint64_t near = limit_of(l->scene, LIMIT_look_ns);
	uint32_t times = 0;

	for (uint32_t i = calls_from(l->scene, l->from_ns > near ? l->from_ns - near : 0); i < l->scene->call_count; i++) {
		const struct call_made *c = &l->scene->calls[i];

		if (c->time >= l->to_ns)
			break;
		if (c->what != CALL_REFUSED || !is_its_own(l, c->thread))
			continue;
		if (l->syscall && l->syscall != c->syscall)
			return false;
		l->syscall = c->syscall;
		times++;
	}
	return times >= limit_of(l->scene, LIMIT_loop_looks);
}

static void see_asked(struct looking *l)
{
	const struct scene *scene = l->scene;
	uint32_t times[ASKED_MOST] = { 0 }, pids[ASKED_MOST];
	unsigned count = 0;

	for (uint32_t i = scene_wakes_from(scene, l->thread, l->from_ns); i < scene_wakes_end(scene, l->thread) && scene->wakes[i].time < l->to_ns; i++) {
		uint32_t pid = scene_pid(scene, scene->wakes[i].target);
		unsigned at = 0;

		if (pid == l->pid || scene_is_system(scene, scene->wakes[i].target))
			continue;
		while (at < count && pids[at] != pid)
			at++;
		if (at == ASKED_MOST)
			continue;
		if (at == count)
			pids[count++] = pid;
		times[at]++;
	}
	for (unsigned i = 0; i < count; i++)
		if (times[i] >= limit_of(scene, LIMIT_loop_looks))
			l->asked[l->asked_count++] = pids[i];
}

static bool has_asked(const struct looking *l, uint32_t thread)
{
	SCENE_EACH_MATE(l->scene, thread, mate)
		for (uint32_t i = scene_wakes_from(l->scene, mate, 0); i < scene_wakes_end(l->scene, mate); i++)
			for (unsigned k = 0; k < l->asked_count; k++)
				if (scene_pid(l->scene, l->scene->wakes[i].target) == l->asked[k])
					return true;
	return false;
}

/* It had made such a thing, and did not take one away again. */
static bool had_made(const struct looking *l, uint32_t thread)
{
	bool made = false;

	for (uint32_t i = 0; i < l->scene->call_count && l->scene->calls[i].time < l->to_ns; i++) {
		const struct call_made *c = &l->scene->calls[i];

		if (!c->thread || !scene_same_process(l->scene, c->thread, thread))
			continue;
		if (c->what == CALL_TAKEN_AWAY)
			made = false;
		else if (c->what == CALL_MADE && c->syscall == l->syscall)
			made = true;
	}
	return made;
}

bool killed_before_find(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct killed_before *ret)
{
	struct looking l = { .scene = scene, .thread = thread, .pid = scene_pid(scene, thread), .from_ns = from_ns, .to_ns = to_ns };
	uint64_t before = limit_of(scene, LIMIT_left_behind_ns);
	bool looked = false;

	*ret = (struct killed_before){ 0 };
	for (uint32_t i = 0; i < scene->signal_count && scene->signals[i].time < from_ns && rule_holds(scene, RULE_killed_before); i++) {
		const struct sent_signal *s = &scene->signals[i];

		if (s->time + before < from_ns || !broken_off_killed_by(scene, s) || scene_pid(scene, s->target) == l.pid ||
		    scene_same_process(scene, s->sender, s->target) || !scene_is_kin(scene, thread, s->target))
			continue;
		if (!looked) {
			looked = true;
			ret->made = is_refused(&l);
			if (!l.syscall)
				see_asked(&l);
		}
		if (ret->made ? !had_made(&l, s->target) : l.syscall || !has_asked(&l, s->target))
			continue;
		if (ret->thread && !scene_same_process(scene, ret->thread, s->target)) {
			ret->thread = 0;
			return false;
		}
		ret->thread = s->target;
		ret->evidence = s->number;
	}
	return ret->thread != 0;
}

bool killed_before_refused(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct looking l = { .scene = scene, .thread = thread, .pid = scene_pid(scene, thread), .from_ns = from_ns, .to_ns = to_ns };

	return scene->call_count && is_refused(&l);
}

bool killed_before_loop(const struct scene *scene, const struct episode *episode, uint64_t to_ns, struct killed_before *ret)
{
	struct retries r;

	if (loop_is(scene, episode))
		return killed_before_find(scene, episode->thread, loop_first(scene, episode)->start_ns, to_ns, ret);
	return loop_retries(scene, episode->last, &r) && killed_before_find(scene, episode->thread, r.start_ns, to_ns, ret);
}
