/* See looked_at.h. */
#include "diagnose/looked_at.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "diagnose/account.h"
#include "diagnose/judgement.h"
#include "diagnose/loops.h"

#define KEPT_MOST 64u

struct finding {
	struct looked_at items[KEPT_MOST];
	bool by_child[KEPT_MOST];
	unsigned count;
	uint64_t peer;             /* who answered last, ... */
	bool several;              /* ... and others did, too */
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
	return c->syscall == SYS_execve || !strcmp(c->path, "/") || !strcmp(c->path, ".") || strstr(c->path, "/glibc-hwcaps/");
}

/* A connect that goes on behind the call, as it does where nobody waits in it, or that has long been made, tells of no failure. */
static bool was_refused(const struct named_call *c)
{
	return c->result != -EINPROGRESS && c->result != -EALREADY && c->result != -EISCONN && c->result != -EINTR;
}

static enum looked_what what_of(const struct named_call *c)
{
	/* only asked how that goes on */
	if (c->family && c->family != AF_UNIX && c->result != -EINPROGRESS && !was_refused(c))
		return LOOKED_NOTHING;
	if (c->family && c->family != AF_UNIX)
		return was_refused(c) && c->result ? LOOKED_ADDRESS : c->family == AF_INET && c->port ? LOOKED_ANSWERED : LOOKED_NOTHING;
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
	if (a->what != b->what || a->target != b->target || a->object != b->object || a->channel != b->channel || !a->call != !b->call)
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

/* Who asks and is answered is one thread, or what its process started meanwhile: what its others ask is none of its business. */
static bool is_of_mate(const struct finding *f, const struct looked_at *one, uint32_t thread)
{
	return one->what == LOOKED_ANSWERED && thread != f->thread && scene_same_process(f->scene, thread, f->thread);
}

/* The shell looks along its path for the program that it is about to run. */
static bool is_program_itself(const struct finding *f, const struct looked_at *one, uint32_t thread)
{
	const struct thread *t = &f->scene->tables->threads[thread];
	const char *name = one->call ? strrchr(one->call->path, '/') : NULL;
	const char *program = strrchr(t->exe, '/');

	return name && program && (one->what == LOOKED_THERE || one->what == LOOKED_ABSENT) && !scene_same_process(f->scene, thread, f->thread) &&
	       !strcmp(name, program);
}

static void add(struct finding *f, const struct looked_at *one, uint32_t thread)
{
	unsigned i = 0;

	if (one->what == LOOKED_NOTHING || is_program_itself(f, one, thread) || one->time < f->from_ns || one->time > f->to_ns || !is_its(f, thread) ||
	    is_of_mate(f, one, thread))
		return;
	while (i < f->count && !is_same(&f->items[i], one))
		i++;
	if (i == KEPT_MOST)
		return;
	if (i == f->count)
		f->items[f->count++] = (struct looked_at){ 0 };
	uint32_t times = f->items[i].times + 1;
	f->items[i] = *one;
	f->by_child[i] = !scene_same_process(f->scene, thread, f->thread);
	f->items[i].times = times;
}

/* Who looks whether something has come before he waits for it finds nothing, too, though each answer comes. */
static bool has_come(const struct finding *f, uint64_t object)
{
	for (uint32_t i = f->scene->message_count; i-- > 0; ) {
		struct message m = scene_message(f->scene, i);

		if (m.time < f->from_ns)
			break;
		if (m.object == object && m.flags & MESSAGE_FLAGS_receive && m.result > 0 && m.time <= f->to_ns && is_its(f, m.thread))
			return true;
	}
	return false;
}

/* Nothing has come over them all the time, or they are no such finding. */
static void drop_answered(struct finding *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->items[i].what == LOOKED_DATA && has_come(f, f->items[i].object))
			f->items[i].what = LOOKED_NOTHING;
}

static bool is_looked_for_by_child(const struct finding *f, unsigned i)
{
	return (f->items[i].what == LOOKED_ABSENT || f->items[i].what == LOOKED_THERE) && f->by_child[i] &&
	       f->items[i].times >= limit_of(f->scene, LIMIT_looked_times);
}

/* Of several files that a program looks for each time it is started none is what is awaited: so it looks for its settings, and where it
 * is. */
static void drop_settings(struct finding *f)
{
	const char *first = NULL;
	bool several = false;

	for (unsigned i = 0; i < f->count; i++) {
		const char *path = f->items[i].call ? f->items[i].call->path : "", *name = strrchr(path, '/');

		name = name ? name + 1 : path;
		several |= is_looked_for_by_child(f, i) && first && strcmp(first, name) != 0;
		first = is_looked_for_by_child(f, i) && !first ? name : first;
	}
	for (unsigned i = 0; i < f->count; i++)
		if (several && is_looked_for_by_child(f, i))
			f->items[i].what = LOOKED_NOTHING;
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

/* In the time that is looked at. */
struct connected {
	uint64_t object, channel;  /* over that, to that one */
	bool answered;
};

/* The last such; NULL: it was there before. */
static struct connected *connected_over(struct connected *made, unsigned count, uint64_t object)
{
	for (unsigned i = count; i-- > 0 && i + KEPT_MOST >= count; )
		if (made[i % KEPT_MOST].object == object)
			return &made[i % KEPT_MOST];
	return NULL;
}

/* Who is asked by datagrams for the server's address is none of those. */
static void note_peer(struct finding *f, uint64_t object, uint64_t peer)
{
	if (object_kind(object) == OBJECT_KIND_udp || object_kind(object) == OBJECT_KIND_unix_dgram)
		return;
	f->several |= f->peer && f->peer != peer;
	f->peer = peer;
}

/* Who asks, is answered, and asks again, over one connection, or over a new one to the same server each time: what it asks for may not be there. Whatever else
 * is known of it tells more. */
static void add_turns(struct finding *f)
{
	struct connected made[KEPT_MOST] = { 0 };
	uint64_t asked[KEPT_MOST];
	uint32_t i = f->scene->message_count;
	unsigned count = 0, at, connects = 0;

	while (i && scene_message(f->scene, i - 1).time >= f->from_ns)
		i--;
	for (; i < f->scene->message_count; i++) {
		struct message m = scene_message(f->scene, i);
		bool taken = m.flags & MESSAGE_FLAGS_receive && m.result > 0 && !(m.flags & MESSAGE_FLAGS_peek);
		struct connected *to;

		if (m.time > f->to_ns || scene_is_pipe(m.object) || m.thread != f->thread)
			continue;
		if (m.kind == MESSAGE_KIND_connect && m.channel)
			made[connects++ % KEPT_MOST] = (struct connected){ .object = m.object, .channel = m.channel };
		if ((!taken && !message_sent(&m)) || m.kind == MESSAGE_KIND_connect)
			continue;
		for (at = 0; at < count && asked[at] != m.object; at++)
			;
		if (!taken && at == count && count < KEPT_MOST)
			asked[count++] = m.object;
		if (!taken || at == count)
			continue;
		asked[at] = asked[--count];
		add(f, &(struct looked_at){ .what = LOOKED_ANSWERED, .time = m.time, .number = m.number, .object = m.object }, m.thread);
		to = connected_over(made, connects, m.object);
		note_peer(f, m.object, to ? to->channel : m.object);
		if (!to || to->answered)
			continue;
		to->answered = true;
		add(f, &(struct looked_at){ .what = LOOKED_ANSWERED, .time = m.time, .number = m.number, .channel = to->channel }, m.thread);
	}
}

/* Where no message tells: who it connected to. */
static bool answer_several(const struct finding *f)
{
	unsigned calls = 0;

	for (unsigned i = 0; i < f->count; i++)
		calls += f->items[i].what == LOOKED_ANSWERED && f->items[i].call;
	return f->several || (!f->peer && calls > 1);
}

/* What names one thing that keeps it from going on. */
static bool tells_by_once(enum looked_what what)
{
	return what == LOOKED_PRESENT || what == LOOKED_CHILD || what == LOOKED_PROCESS;
}

/* It looked once in the time, between two long sleeps. */
static bool looks_once(const struct scene *scene, uint32_t thread, uint64_t to_ns)
{
	const struct wait *w = rule_holds(scene, RULE_one_look) ? scene_stands_until(scene, thread, to_ns) : NULL;

	return w && loop_is_short(scene, &scene->episodes[w->episode]);
}

bool looked_at_once(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct looked_at looked;

	return looks_once(scene, thread, to_ns) && looked_at_find(scene, thread, from_ns, to_ns, &looked) && tells_by_once(looked.what);
}

bool looked_at_find(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct looked_at *ret)
{
	struct finding f = { .scene = scene, .thread = thread, .from_ns = from_ns, .to_ns = to_ns };
	bool once = looks_once(scene, thread, to_ns);

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
	if (rule_holds(scene, RULE_nothing_came))
		drop_answered(&f);
	if (rule_holds(scene, RULE_own_settings))
		drop_settings(&f);
	add_turns(&f);
	for (unsigned i = 0; i < f.count; i++) {
		const struct looked_at *one = &f.items[i];

		if (one->what == LOOKED_NOTHING || (ret->what && one->what < ret->what) ||
		    (one->times < limit_of(scene, LIMIT_looked_times) && !(once && tells_by_once(one->what))))
			continue;
		if (!ret->what || one->what > ret->what || one->times > ret->times + 1 || (one->times + 1 >= ret->times && one->time > ret->time))
			*ret = *one;
	}
	ret->several = ret->what == LOOKED_ANSWERED && answer_several(&f);
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
