/* See looked_at.h. */
#include "diagnose/looked_at.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "diagnose/account.h"
#include "diagnose/judgement.h"

#define KEPT_MOST 64u

struct finding {
	struct looked_at items[KEPT_MOST];
	unsigned count;
	const struct scene *scene;
	uint32_t thread;
	uint64_t from_ns, to_ns;
};

const char *looked_at_path(const struct looked_at *looked)
{
	return looked->call && looked->call->family <= AF_UNIX ? looked->call->path : "";
}

bool looked_at_known(const struct scene *scene)
{
	const char *names = scene->trace ? trace_machine(scene->trace, "names") : NULL;

	return scene->named_call_count || (names && !strcmp(names, "yes"));
}

/* What the C library and the loader look for by themselves, in each program that is started. */
static bool is_of_library(const struct named_call *c)
{
	static const char *const begins[] = {
		"/etc/ld.so.", "/usr/share/locale/", "/usr/lib/locale/", "/usr/lib/x86_64-linux-gnu/gconv/", "/etc/nsswitch", "/var/run/nscd", "/proc/self/"
	};

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(c->path, begins[i], strlen(begins[i])))
			return true;
	return c->syscall == SYS_execve || strstr(c->path, "/glibc-hwcaps/");
}

static enum looked_what what_of(const struct named_call *c)
{
	if (c->family && c->family != AF_UNIX)
		return LOOKED_ADDRESS;
	if (!c->path[0] || is_of_library(c))
		return LOOKED_NOTHING;
	switch (-c->result) {
	case 0:
		return LOOKED_THERE;
	case ECONNREFUSED:
		return LOOKED_ADDRESS;
	case ENOENT:
		return LOOKED_ABSENT;
	case EEXIST:
	case ENOTEMPTY:
		return LOOKED_PRESENT;
	case EACCES:
	case EPERM:
	case EBUSY:
	case ETXTBSY:
	case EAGAIN:
	case ENXIO:
		return LOOKED_DENIED;
	}
	return LOOKED_NOTHING;
}

static bool is_same(const struct looked_at *a, const struct looked_at *b)
{
	if (a->what != b->what || a->target != b->target || a->object != b->object || !a->call != !b->call)
		return false;
	return !a->call || (a->call->family == b->call->family && a->call->port == b->call->port && a->call->address[0] == b->call->address[0] &&
			    a->call->address[1] == b->call->address[1] && !strcmp(a->call->path, b->call->path));
}

/* Its process's own call, or that of one that its process started meanwhile, as a script does. */
static bool is_its(const struct finding *f, uint32_t thread)
{
	const struct thread *t = &f->scene->tables->threads[thread];

	return thread && (scene_same_process(f->scene, thread, f->thread) ||
			  (t->start_ns >= f->from_ns && scene_descends_from(f->scene, thread, scene_pid(f->scene, f->thread))));
}

static void add(struct finding *f, const struct looked_at *one, uint32_t thread)
{
	unsigned i = 0;

	if (one->what == LOOKED_NOTHING || one->time < f->from_ns || one->time > f->to_ns || !is_its(f, thread))
		return;
	while (i < f->count && !is_same(&f->items[i], one))
		i++;
	if (i == KEPT_MOST)
		return;
	if (i == f->count)
		f->items[f->count++] = (struct looked_at){ 0 };
	uint32_t times = f->items[i].times + 1;
	f->items[i] = *one;
	f->items[i].times = times;
}

static void add_messages(struct finding *f)
{
	for (uint32_t i = f->scene->message_count; i-- > 0; ) {
		struct message m = scene_message(f->scene, i);

		if (m.time < f->from_ns)
			break;
		if (m.flags & MESSAGE_FLAGS_would_block && m.flags & MESSAGE_FLAGS_receive)
			add(f, &(struct looked_at){ .what = LOOKED_DATA, .time = m.time, .number = m.number, .object = m.object }, m.thread);
	}
}

bool looked_at_find(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct looked_at *ret)
{
	struct finding f = { .scene = scene, .thread = thread, .from_ns = from_ns, .to_ns = to_ns };

	*ret = (struct looked_at){ 0 };
	if (!looked_at_known(scene))
		return false;
	for (uint32_t i = 0; i < scene->named_call_count; i++) {
		const struct named_call *c = &scene->named_calls[i];

		add(&f, &(struct looked_at){ .what = what_of(c), .time = c->time, .number = c->number, .call = c }, c->thread);
	}
	for (uint32_t i = 0; i < scene->call_count; i++) {
		const struct call_made *c = &scene->calls[i];

		if (c->what == CALL_ALIVE || c->what == CALL_CHILD_LIVES)
			add(&f, &(struct looked_at){ .what = c->what == CALL_ALIVE ? LOOKED_PROCESS : LOOKED_CHILD, .time = c->time,
						     .number = c->number, .target = c->target }, c->thread);
	}
	/* how they come is of no account: they are but counted */
	add_messages(&f);
	for (unsigned i = 0; i < f.count; i++) {
		const struct looked_at *one = &f.items[i];

		if (one->times < limit_of(scene, LIMIT_looked_times) || (ret->what && one->what < ret->what))
			continue;
		if (!ret->what || one->what > ret->what || one->times > ret->times + 1 || (one->times + 1 >= ret->times && one->time > ret->time))
			*ret = *one;
	}
	return ret->what != LOOKED_NOTHING;
}

bool looked_at_may(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t i = scene_waits_from(scene, thread, from_ns);
	uint64_t slept = 0;

	for (i -= i > scene->threads[thread].wait; i < scene_waits_end(scene, thread) && scene->waits[i].start_ns < to_ns; i++) {
		const struct wait *w = &scene->waits[i];
		uint64_t from = w->start_ns > from_ns ? w->start_ns : from_ns, to = w->end_ns < to_ns ? w->end_ns : to_ns;

		if (w->kind == WAIT_KIND_sleep || w->kind == WAIT_KIND_child || w->kind == WAIT_KIND_yield ||
		    ((w->kind == WAIT_KIND_poll || w->kind == WAIT_KIND_epoll || w->kind == WAIT_KIND_futex) && w->timeout_ns))
			slept += to > from ? to - from : 0;
	}
	return most_of(scene, slept, to_ns - from_ns);
}
