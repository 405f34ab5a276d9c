/* See owed.h. */
#include "diagnose/owed.h"

#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "diagnose/judgement.h"
#include "diagnose/own_ends.h"
#include "diagnose/serving.h"
#include "diagnose/shared_word.h"
#include "diagnose/suspects.h"

#define SERVED_MOST 16u
#define STANDARD_MOST 2 /* of the descriptors that each program begins with */

static bool lives(const struct scene *scene, uint32_t thread)
{
	const struct thread *t = &scene->tables->threads[thread];

	return t->start_ns < scene->end_ns && t->end_ns >= scene->end_ns;
}

/* ---- what a poll listens to ---- */

/* An array is that wait's alone. */
static bool is_item_of(const struct scene *scene, const struct poll_item *item, const struct wait *w)
{
	if (w->kind == WAIT_KIND_epoll)
		return item->set && item->set == w->object;
	return !item->set && item->pid == scene_tid(scene, w->thread) && item->time >= scene->waits[scene->episodes[w->episode].first].start_ns;
}

/* Items do not always tell their object. */
static uint64_t object_of(const struct scene *scene, const struct ends *ends, const struct poll_item *item, const struct wait *w)
{
	struct row row = ends_of_process(ends, scene_pid(scene, w->thread));

	for (uint32_t i = row.count; !item->object && i-- > 0; )
		if ((int32_t)ends_at(ends, row, i)->at.fd == item->fd)
			return ends_at(ends, row, i)->at.object;
	return item->object;
}

/* The next item before *index of what the last snapshot found in the wait's set; NULL: no more. */
static const struct poll_item *item_before(const struct scene *scene, const struct wait *w, uint32_t *index, uint64_t *newest)
{
	while (*index) {
		const struct poll_item *item = &scene->poll_items[--*index];

		if (!is_item_of(scene, item, w))
			continue;
		if (!*newest)
			*newest = item->time;
		return item->time + limit_of(scene, LIMIT_one_snapshot_ns) >= *newest ? item : NULL;
	}
	return NULL;
}

/* Where nothing is known of the set it may be in it. One that is in it, but not to be read, waits for what the server has to tell. */
static bool set_has(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t object)
{
	uint32_t index = scene->poll_item_count;
	uint64_t newest = 0;

	for (const struct poll_item *item; (item = item_before(scene, w, &index, &newest)); )
		if (object_of(scene, ends, item, w) == object)
			return true;
	return !newest && (w->kind == WAIT_KIND_epoll || w->argument > 1 || w->detail == object || !w->detail);
}

/* ---- who serves ---- */

bool owed_may_listen(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t object)
{
	switch (w->kind) {
	case WAIT_KIND_read:
		return w->object == object;
	case WAIT_KIND_poll:
	case WAIT_KIND_epoll:
		return set_has(scene, ends, w, object);
	case WAIT_KIND_futex:
	case WAIT_KIND_sleep:
	case WAIT_KIND_child:
	case WAIT_KIND_write:
	case WAIT_KIND_connect:
	case WAIT_KIND_file_lock:
	case WAIT_KIND_stop:
	case WAIT_KIND_accept:
	case WAIT_KIND_signal:
	case WAIT_KIND_semaphore:
	case WAIT_KIND_throttled:
		return false;
	}
	return !wait_is_in_kernel(w);
}

/* Of how many other processes it let threads go on. */
static uint32_t count_let_go_on(const struct scene *scene, uint32_t thread, uint64_t from_ns)
{
	uint32_t count = 0;

	for (uint32_t i = scene_wakes_from(scene, thread, from_ns); i < scene_wakes_end(scene, thread); i++)
		count += !scene_is_system(scene, scene->wakes[i].target) && !scene_same_process(scene, scene->wakes[i].target, thread);
	return count;
}

/* All the time, and for nobody else: it lets no others go on. */
static bool computes(const struct scene *scene, uint32_t thread, uint64_t from_ns)
{
	struct state_times times;
	uint64_t seen;

	scene_state_times(scene, thread, from_ns, scene->end_ns, &times);
	seen = scene->end_ns - from_ns - times.ns[SPAN_UNKNOWN];
	return most_of(scene, seen, scene->end_ns - from_ns) && nearly_all(scene, times.ns[SPAN_RUNNING] + times.ns[SPAN_RUNNABLE], seen) &&
	       count_let_go_on(scene, thread, from_ns) <= limit_of(scene, LIMIT_lets_go_on);
}

/* A thread for each whom it serves: what others of it wait for in a ring is something else. */
static bool has_a_thread_for_each(const struct scene *scene, const struct ends *ends, uint32_t pid)
{
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct wait *w = scene_pid(scene, i) == pid && lives(scene, i) ? scene_stands_until(scene, i, scene->end_ns) : NULL;

		if (w && serving_waits_for_one(ends, w))
			return true;
	}
	return false;
}

bool owed_listens(const struct scene *scene, const struct ends *ends, uint32_t pid, uint64_t connection, uint64_t from_ns)
{
	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct wait *w;

		if (scene_pid(scene, i) != pid || !lives(scene, i))
			continue;
		w = scene_stands_until(scene, i, scene->end_ns);
		if (w && w->kind == WAIT_KIND_uring && has_a_thread_for_each(scene, ends, pid))
			continue;
		if (w ? w->idle || owed_may_listen(scene, ends, w, connection) : !computes(scene, i, from_ns))
			return true;
	}
	return false;
}

/* For a lock whose owner is known, in slices, so when the first of them began is not known. */
static bool begins_with_trace(const struct scene *scene, const struct wait *w)
{
	const struct episode *e = &scene->episodes[w->episode];

	return e->slices > 1 && scene->waits[e->first].start_ns <= scene->start_ns + limit_of(scene, LIMIT_standing_slack_ns) &&
	       wait_has_owner(scene_slice_with_owner(scene, e, scene->end_ns));
}

/* The thread does something else than to listen since it was asked: one that has a round of its own may sleep. */
static bool is_at_work(const struct scene *scene, const struct ends *ends, uint32_t thread, uint32_t threads, uint64_t since_ns, uint64_t until_ns,
		       uint64_t from_ns, bool asked)
{
	const struct wait *w = scene_stands_until(scene, thread, scene->end_ns);
	uint64_t born = serving_born(scene, thread), before = limit_of(scene, LIMIT_serving_before_ns), began;
	uint64_t soon = limit_of(scene, LIMIT_turned_to_ns);

	if (!w)
		return asked && computes(scene, thread, from_ns);
	began = scene->waits[scene->episodes[w->episode].first].start_ns;
	if (w->kind == WAIT_KIND_throttled)
		return asked;
	if (began < since_ns || (began > until_ns && !begins_with_trace(scene, w)))
		return false;
	switch (w->kind) {
	case WAIT_KIND_futex:
		return wait_has_owner(scene_slice_with_owner(scene, &scene->episodes[w->episode], scene->end_ns)) ||
		       (asked && !w->idle && (began <= since_ns + before + soon || born + soon >= since_ns));
	case WAIT_KIND_epoll:
		/* of nothing but its own bells, by its own clock: it takes its time, as it was asked to */
		if (w->timeout_ns && ends_set_role(ends, w->object) == END_UNKNOWN)
			return false;
		return threads == 1 || born >= since_ns;
	case WAIT_KIND_sleep:
	case WAIT_KIND_poll:
	case WAIT_KIND_read:
		return threads == 1 || born >= since_ns;
	}
	return true;
}

/* One that only listens for news is not kept by who computes, or waits inside, for others. */
static bool may_have_asked(const struct descriptor *d)
{
	return d->at.kind != OBJECT_KIND_tcp || d->at.access & DESCRIPTOR_SPOKE_LAST;
}

/* The thread turned to a child, a file, a lock or another server as the process was asked, and has waited inside that since. */
static bool is_turned_worker(const struct scene *scene, uint32_t thread, uint64_t since_ns)
{
	const struct wait *w = scene_stands_until(scene, thread, scene->end_ns);
	uint64_t until = since_ns + limit_of(scene, LIMIT_serving_before_ns) + limit_of(scene, LIMIT_turned_to_ns), began;

	if (!w || w->idle)
		return false;
	began = scene->waits[scene->episodes[w->episode].first].start_ns;
	if (began < since_ns || began > until)
		return false;
	return w->kind == WAIT_KIND_child || w->kind == WAIT_KIND_connect || (wait_is_in_kernel(w) && w->kind != WAIT_KIND_vfork) ||
	       wait_has_owner(scene_slice_with_owner(scene, &scene->episodes[w->episode], scene->end_ns));
}

static bool has_turned_worker(const struct scene *scene, uint32_t pid, uint64_t since_ns)
{
	if (!rule_holds(scene, RULE_turned_worker))
		return false;
	for (uint32_t i = 1; i < scene->thread_count; i++)
		if (scene_pid(scene, i) == pid && lives(scene, i) && is_turned_worker(scene, i, since_ns))
			return true;
	return false;
}

/* One of the process that has turned to something else since it was asked, and until then; 0 none. */
static uint32_t turned_of(const struct scene *scene, const struct ends *ends, uint32_t pid, uint64_t since_ns, uint64_t until_ns, uint64_t from_ns, bool asked)
{
	uint32_t first = tables_process(scene->tables, pid, scene->end_ns - 1), threads = 0;

	SCENE_EACH_MATE(scene, first, i)
		threads += lives(scene, i);
	SCENE_EACH_MATE(scene, first, i)
		if (lives(scene, i) && is_at_work(scene, ends, i, threads, since_ns, until_ns, from_ns, asked))
			return i;
	return 0;
}

/* All that have the other end do something else, and at least one of them since it was asked. */
static bool is_served_elsewhere(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t since_ns, uint64_t until_ns,
				uint64_t from_ns)
{
	struct row far = ends_far(ends, d);
	bool found = false, asked = may_have_asked(d);
	uint32_t last = 0;

	for (uint32_t i = 0; i < far.count; i++) {
		const struct descriptor *its = ends_at(ends, far, i);

		if (its->pid == d->pid)
			return false;
		if (its->pid == last)
			continue;
		last = its->pid;
		if (owed_listens(scene, ends, its->pid, its->at.object, from_ns)) {
			if (d->at.kind != OBJECT_KIND_tcp || !asked || !has_turned_worker(scene, its->pid, since_ns))
				return false;
			found = true;
			continue;
		}
		found = found || turned_of(scene, ends, its->pid, since_ns, until_ns, from_ns, asked);
	}
	return found;
}

static bool is_stopped(const struct scene *scene, uint32_t thread, uint64_t until_ns, uint64_t from_ns)
{
	const struct wait *w = scene_stands_until(scene, thread, scene->end_ns);
	struct state_times times;

	if (w && w->start_ns > until_ns)
		return false;
	scene_state_times(scene, thread, from_ns, scene->end_ns, &times);
	return times.ns[SPAN_STOPPED] * 2 > scene->end_ns - from_ns;
}

/* Its process began it. */
static bool is_clients(const struct scene *scene, const struct ends *ends, const struct descriptor *d)
{
	return ends_role(ends, d->at.object) == END_CLIENT ||
	       (ends_is_connected_datagram(ends, d->at.object) && ends_asks_by_datagram(scene, ends, d->at.object));
}

static bool is_owed_until(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t since_ns, uint64_t until_ns,
			  uint64_t from_ns)
{
	uint32_t other = is_clients(scene, ends, d) ? suspects_neighbour(scene, ends, d, from_ns, scene->end_ns) : 0;

	if (!other || scene_pid(scene, other) == d->pid)
		return false;
	return ends_not_accepted(ends, d) || is_stopped(scene, other, until_ns, from_ns) || suspects_leave_unread(ends, d, from_ns, scene->end_ns) ||
	       (rule_holds(scene, RULE_served_elsewhere) && is_served_elsewhere(scene, ends, d, since_ns, until_ns, from_ns));
}

uint64_t owed_upstream_since(const struct scene *scene, uint64_t asked_ns)
{
	uint64_t before = limit_of(scene, LIMIT_upstream_before_ns);

	return asked_ns > before ? asked_ns - before : 0;
}

bool owed_is_upstream(const struct ends *ends, const struct descriptor *d)
{
	return ends_role(ends, d->at.object) == END_CLIENT && !ends_lead_to_windows(ends, ends_of_object(ends, d->at.object));
}

static bool is_upstream_until(const struct scene *scene, const struct ends *ends, uint32_t pid, uint64_t since_ns, uint64_t until_ns, uint64_t from_ns)
{
	struct row row = ends_begun_by(ends, pid);

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (until_ns < UINT64_MAX && !ends_is_newest(ends, row, i))
			break;
		if (owed_is_upstream(ends, d) && d->at.spoke_ns <= until_ns && is_owed_until(scene, ends, d, since_ns, until_ns, from_ns))
			return true;
	}
	return false;
}

bool owed_upstream(const struct scene *scene, const struct ends *ends, uint32_t pid, uint64_t since_ns, uint64_t from_ns)
{
	return is_upstream_until(scene, ends, pid, since_ns, UINT64_MAX, from_ns);
}

/* How many are connected to it, up to SERVED_MOST. */
static uint32_t count_served(const struct ends *ends, uint32_t pid)
{
	struct row row = ends_of_process(ends, pid);
	uint64_t served[SERVED_MOST];
	uint32_t count = 0;

	for (uint32_t i = 0; i < row.count && count < SERVED_MOST; i++) {
		uint64_t object = ends_at(ends, row, i)->at.object;
		uint32_t known = 0;

		while (known < count && served[known] != object)
			known++;
		if (known == count && ends_role(ends, object) == END_SERVER)
			served[count++] = object;
	}
	return count;
}

/* It serves few others, and waits in turn for one whom it asked. */
static bool is_asked_in_turn(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t since_ns, uint64_t until_ns,
			     uint64_t from_ns)
{
	struct row far = ends_far(ends, d);
	uint32_t pid = far.count ? ends_at(ends, far, far.count - 1)->pid : 0;

	return pid && pid != d->pid && count_served(ends, pid) < limit_of(scene, LIMIT_small_set) &&
	       is_upstream_until(scene, ends, pid, owed_upstream_since(scene, since_ns), until_ns, from_ns);
}

/* None of its threads began to wait in the look: who comes and goes is at work for itself. */
static bool stands(const struct scene *scene, uint32_t process, uint64_t from_ns)
{
	SCENE_EACH_MATE(scene, process, i) {
		const struct wait *w = lives(scene, i) ? scene_stands_until(scene, i, scene->end_ns) : NULL;

		if (w && scene->waits[scene->episodes[w->episode].first].start_ns > from_ns + limit_of(scene, LIMIT_standing_slack_ns))
			return false;
	}
	return true;
}

/* It reads what it is told to do: a client that waits at its prompt, or for a script's next line, has turned to nothing. */
static bool is_at_prompt(const struct scene *scene, const struct ends *ends, uint32_t process)
{
	const struct wait *w = rule_holds(scene, RULE_at_prompt) ? scene_stands_until(scene, process, scene->end_ns) : NULL;
	uint64_t object = !w ? 0 : w->kind == WAIT_KIND_read ? w->object : w->kind == WAIT_KIND_poll && w->argument == 1 ? w->detail : 0;
	struct row row = object ? ends_of_object(ends, object) : (struct row){ 0 };

	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(ends, row, i)->pid == scene_pid(scene, process) && !ends_at(ends, row, i)->at.fd)
			return true;
	return false;
}

bool owed_turned_away(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t since_ns, uint64_t from_ns)
{
	uint32_t other = d->at.kind == OBJECT_KIND_tcp && d->at.access & DESCRIPTOR_SPOKE_LAST && ends_role(ends, d->at.object) == END_SERVER ?
		suspects_neighbour(scene, ends, d, from_ns, scene->end_ns) : 0;

	return other && stands(scene, other, from_ns) && !is_at_prompt(scene, ends, other) &&
	       is_served_elsewhere(scene, ends, d, since_ns, UINT64_MAX, from_ns);
}

/* Nobody who has the pipe to read from reads there, and one of them has turned to something else since it was asked: a thread of that one's. 0 not so. */
static uint32_t turned_reader(const struct scene *scene, const struct ends *ends, const struct descriptor *writer, uint64_t since_ns, uint64_t from_ns)
{
	struct row row = ends_of_object(ends, writer->at.object);
	uint32_t found = 0;

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);

		if (d->pid == writer->pid || !(d->at.access & 1) || !tables_process(scene->tables, d->pid, scene->end_ns - 1))
			continue;
		if (owed_listens(scene, ends, d->pid, d->at.object, from_ns))
			return 0;
		found = found ? found : turned_of(scene, ends, d->pid, since_ns, UINT64_MAX, from_ns, true);
	}
	return found;
}

uint32_t owed_passed_on(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t since_ns, uint64_t from_ns)
{
	uint32_t other = d->at.kind == OBJECT_KIND_tcp && d->at.access & DESCRIPTOR_SPOKE_LAST && ends_role(ends, d->at.object) == END_SERVER &&
		rule_holds(scene, RULE_passed_on) ? suspects_neighbour(scene, ends, d, from_ns, scene->end_ns) : 0;
	struct row row = other ? ends_of_process(ends, scene_pid(scene, other)) : (struct row){ 0 };

	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *its = ends_at(ends, row, i);
		uint32_t reader = its->at.kind == OBJECT_KIND_pipe && its->at.access & 2 ? turned_reader(scene, ends, its, since_ns, from_ns) : 0;

		if (reader)
			return reader;
	}
	return 0;
}

/* One of its standard descriptors is a terminal. */
static bool is_at_terminal(const struct scene *scene, uint32_t process)
{
	const struct tables *tables = scene->tables;
	uint32_t pid = scene_pid(scene, process);

	for (size_t i = tables->descriptor_count; i-- > 0; ) {
		const struct descriptor *d = &tables->descriptors[i];

		if (d->pid == pid && d->at.kind == OBJECT_KIND_tty && (int32_t)d->at.fd >= 0 && (int32_t)d->at.fd <= STANDARD_MOST)
			return true;
	}
	return false;
}

/* A young program whose end another waits for, or one at a terminal. */
bool owed_command(const struct scene *scene, uint32_t thread)
{
	const struct tables *tables = scene->tables;
	const struct thread *t = &tables->threads[thread];
	uint32_t parent = t->tid == t->pid && t->parent_pid ? tables_process(tables, t->parent_pid, scene->end_ns - 1) : 0;
	const struct wait *w = parent && lives(scene, parent) ? scene_stands_until(scene, parent, scene->end_ns) : NULL;
	uint64_t born = serving_born(scene, thread);

	if (!rule_holds(scene, RULE_awaited_command) || !w || w->kind != WAIT_KIND_child || !born)
		return false;
	return born + limit_of(scene, LIMIT_young_ns) >= scene->end_ns ||
	       (rule_holds(scene, RULE_at_terminal) && is_at_terminal(scene, thread) && is_at_terminal(scene, parent));
}

static bool runs_the_same(const struct scene *scene, uint32_t a, uint32_t b)
{
	const struct thread *x = &scene->tables->threads[a], *y = &scene->tables->threads[b];

	return !strcmp(x->exe, y->exe) && !strcmp(x->command, y->command);
}

/* Of its own kind it would be one of the workers, of which one is at work and the other waits for some. */
bool owed_told_last(const struct scene *scene, const struct ends *ends, uint32_t server, uint32_t asks, uint64_t since_ns, uint64_t from_ns)
{
	struct row row = ends_of_process(ends, server);

	for (uint32_t i = row.count; i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint32_t other = suspects_neighbour(scene, ends, d, from_ns, scene->end_ns);

		if (other && !scene_same_process(scene, other, asks) && !runs_the_same(scene, other, asks) &&
		    owed_turned_away(scene, ends, d, since_ns, from_ns))
			return true;
	}
	return false;
}

/* A command asked a server that rests, and another program has what that gave it last. */
static bool is_kept_by_session(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint32_t thread, uint64_t since_ns,
			       uint64_t from_ns)
{
	struct row far = ends_far(ends, d);
	uint32_t pid = far.count ? ends_at(ends, far, far.count - 1)->pid : 0;

	return pid && pid != d->pid && d->at.kind == OBJECT_KIND_tcp && may_have_asked(d) && rule_holds(scene, RULE_told_last) &&
	       owed_command(scene, thread) &&
	       owed_told_last(scene, ends, pid, thread, owed_upstream_since(scene, since_ns), from_ns);
}

static bool is_owed_in_turn(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t since_ns, uint64_t until_ns,
			    uint64_t from_ns)
{
	return rule_holds(scene, RULE_upstream) && ends_role(ends, d->at.object) == END_CLIENT && may_have_asked(d) &&
	       is_asked_in_turn(scene, ends, d, since_ns, until_ns, from_ns);
}

bool owed_on(const struct scene *scene, const struct ends *ends, const struct descriptor *d, uint64_t since_ns, uint64_t from_ns)
{
	return is_owed_until(scene, ends, d, since_ns, UINT64_MAX, from_ns) || is_owed_in_turn(scene, ends, d, since_ns, UINT64_MAX, from_ns);
}

/* Until when who serves turned to something for the one that waits, where nothing tells that it asked at all: as it began to wait, if it stands in
 * that one wait since. */
static uint64_t turned_until(const struct scene *scene, const struct descriptor *d, const struct wait *w, uint64_t since_ns)
{
	const struct episode *e = &scene->episodes[w->episode];

	if ((d->at.kind == OBJECT_KIND_tcp && d->at.access & DESCRIPTOR_SPOKE_LAST) || e->slices > 1 || w->timeout_ns || w->kind == WAIT_KIND_epoll ||
	    !rule_holds(scene, RULE_turned_soon))
		return UINT64_MAX;
	return since_ns + limit_of(scene, LIMIT_serving_before_ns) + limit_of(scene, LIMIT_turned_to_ns);
}

/* A loop is woken for this and that before its answer comes, and a wait with a time limit may be one of a row: that of a young program
 * may have asked since that began. */
uint64_t owed_asked_since(const struct scene *scene, const struct wait *w)
{
	uint64_t since = serving_asked_since(scene, &scene->episodes[w->episode]), born = serving_born(scene, w->thread);

	if (!rule_holds(scene, RULE_one_thing) || !born || born >= since || born + limit_of(scene, LIMIT_young_ns) < scene->end_ns)
		return since;
	return w->kind == WAIT_KIND_epoll || (w->timeout_ns && w->timeout_ns < scene->end_ns - born) ? born : since;
}

static bool owes_answer_on(const struct scene *scene, const struct ends *ends, uint64_t object, const struct wait *w, uint64_t from_ns)
{
	struct row row = ends_of_process(ends, scene_pid(scene, w->thread));

	/* the last snapshot's */
	for (uint32_t i = row.count; object && i-- > 0; ) {
		const struct descriptor *d = ends_at(ends, row, i);
		uint64_t since = owed_asked_since(scene, w), until = turned_until(scene, d, w, since);

		if (d->at.object == object)
			return is_owed_until(scene, ends, d, since, until, from_ns) || is_owed_in_turn(scene, ends, d, since, until, from_ns) ||
			       is_kept_by_session(scene, ends, d, w->thread, since, from_ns);
	}
	return false;
}

/* Nobody has answered to the connecting itself. */
static bool is_connecting(const struct scene *scene, const struct ends *ends, uint64_t object, uint32_t pid)
{
	struct row row = object_kind(object) == OBJECT_KIND_tcp && rule_holds(scene, RULE_connects_in_poll) ? ends_of_object(ends, object) : (struct row){ 0 };

	/* as the last snapshot found it */
	for (uint32_t i = row.count; i-- > 0; )
		if (ends_at(ends, row, i)->pid == pid)
			return ends_at(ends, row, i)->at.state == TCP_SYN_SENT;
	return false;
}

/* One of a few connections that are all it waits for, but for its own bells. */
static bool owes_answer_in_set(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns, bool asked)
{
	uint32_t index = scene->poll_item_count, clients = 0;
	uint64_t newest = 0;
	bool owed = false;

	if (!asked && w->kind == WAIT_KIND_poll && is_connecting(scene, ends, own_ends_only_client(scene, ends, w), scene_pid(scene, w->thread)))
		return true;
	for (const struct poll_item *item; (item = item_before(scene, w, &index, &newest)); ) {
		uint64_t object = object_of(scene, ends, item, w);
		unsigned kind = object_kind(object);
		enum end_role role = ends_role(ends, object);

		if (kind == OBJECT_KIND_tty || kind == OBJECT_KIND_inotify || role >= END_SERVER)
			return false;
		if (role != END_CLIENT || !(item->events & EPOLLIN))
			continue;
		clients++;
		owed |= (!asked || own_ends_spoke_last(ends, object, scene_pid(scene, w->thread))) && owes_answer_on(scene, ends, object, w, from_ns);
	}
	if (!newest && !asked && w->kind == WAIT_KIND_poll && w->argument == 1)
		return owes_answer_on(scene, ends, w->detail, w, from_ns);
	return owed && clients < limit_of(scene, LIMIT_small_set);
}

/* Who took last from the queue that is full is to take again. */
static bool writes_to_queue(const struct wait *w)
{
	return w->kind == WAIT_KIND_queue && (w->syscall == SYS_msgsnd || w->syscall == SYS_mq_timedsend);
}

/* Of those that have the memory of its word mapped one is stopped, at work or kept. */
static bool is_kept_by_sharer(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns)
{
	struct word_sharers sharers;

	return rule_holds(scene, RULE_shares_word) && !w->hint && word_sharers_find(scene, ends, w, from_ns, scene->end_ns, &sharers) &&
	       !sharers.more && sharers.standing_out == 1;
}

/* A thread of the process came and went since the write began to wait, for longer than who sets it off takes for that. */
static bool moved_since(const struct scene *scene, uint32_t pid, uint64_t since_ns)
{
	uint64_t slack = limit_of(scene, LIMIT_settles_ns);

	for (uint32_t i = 1; i < scene->thread_count; i++) {
		const struct wait *w = scene_pid(scene, i) == pid && lives(scene, i) ? scene_stands_until(scene, i, scene->end_ns) : NULL;

		if (w && w->kind != WAIT_KIND_futex && w->kind != WAIT_KIND_stop && !wait_is_in_kernel(w) &&
		    scene->waits[scene->episodes[w->episode].first].start_ns > since_ns + slack)
			return true;
	}
	return false;
}

/* It shows terminals, and listens there: it comes and goes for others, or it would take what is written to this one. */
static bool only_listens_there(const struct scene *scene, const struct ends *ends, uint32_t pid, uint64_t terminal)
{
	bool asked = object_kind(terminal) == OBJECT_KIND_tty && rule_holds(scene, RULE_stopped_output);
	uint32_t process = asked ? tables_process(scene->tables, pid, scene->end_ns - 1) : 0;
	const struct wait *w = process ? scene_stands_until(scene, process, scene->end_ns) : NULL;

	return w && ends_listens_at_terminals(ends, pid, w);
}

/* Who is to take what it writes is not stuck: it goes on, at its own pace, and takes little at a time. */
static bool reads_on(const struct scene *scene, const struct ends *ends, const struct wait *w)
{
	struct row row = ends_of_object(ends, w->object);
	uint32_t pid = scene_pid(scene, w->thread), known = 0;
	uint64_t began = scene->waits[scene->episodes[w->episode].first].start_ns, channel = 0;

	if (!rule_holds(scene, RULE_reads_on))
		return false;
	for (uint32_t i = 0; i < row.count; i++) {
		const struct descriptor *d = ends_at(ends, row, i);

		channel = d->pid == pid && d->at.channel_out ? d->at.channel_out : channel;
		if (d->pid == pid || d->pid == known || !(d->at.access & 1) || (d->at.kind == OBJECT_KIND_tty && rule_holds(scene, RULE_same_side)))
			continue;
		known = d->pid;
		if (moved_since(scene, known, began))
			return true;
	}
	row = channel && !scene_is_pipe(w->object) ? ends_receiving(ends, channel) : (struct row){ 0 };
	for (uint32_t i = 0; i < row.count; i++)
		if (ends_at(ends, row, i)->pid != pid && moved_since(scene, ends_at(ends, row, i)->pid, began) &&
		    !only_listens_there(scene, ends, ends_at(ends, row, i)->pid, w->object))
			return true;
	return false;
}

bool owed_by_now(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns)
{
	if (w->idle)
		return false;
	switch (w->kind) {
	case WAIT_KIND_connect:
		return true;
	case WAIT_KIND_write:
		/* it would have been woken for what is taken */
		return scene->episodes[w->episode].slices == 1 && !reads_on(scene, ends, w);
	case WAIT_KIND_queue:
		return writes_to_queue(w) && scene->episodes[w->episode].slices == 1;
	case WAIT_KIND_futex:
		return owed_command(scene, w->thread) && is_kept_by_sharer(scene, ends, w, from_ns);
	case WAIT_KIND_semaphore:
		return w->hint && owed_command(scene, w->thread);
	case WAIT_KIND_read:
		return owes_answer_on(scene, ends, w->object, w, from_ns);
	case WAIT_KIND_poll:
	case WAIT_KIND_epoll:
		return owes_answer_in_set(scene, ends, w, from_ns, false);
	}
	return false;
}

bool owed_to_loop(const struct scene *scene, const struct ends *ends, const struct wait *w, uint64_t from_ns)
{
	return !w->idle && (w->kind == WAIT_KIND_poll || w->kind == WAIT_KIND_epoll) && rule_holds(scene, RULE_loop_asks) &&
	       owes_answer_in_set(scene, ends, w, from_ns, true);
}
