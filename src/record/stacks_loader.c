/* The loader: keeps the unwinder's maps right while processes come, go and map
 * code; unwinds stacks that were copied before their tables were there. */
#ifdef HAVE_BPF
#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/quiet_thread.h"
#include "record/stacks_internal.h"
#include "symbols/unwind_walk.h"

#define ENDED_KEPT_NS 3000000000ull     /* so long copies of an ended process may be on their way */
#define LAYOUTS_KEPT_NS 3000000000ull   /* and messages of a layout */
#define GATHER_US 2000                  /* a program's start is a burst of mappings */
#define GATHER_BUSY_US 8000             /* ... where one comes behind the other, several of them: each round costs */
#define GATHER_BRIEF_MS 30              /* ... and where those who begin are gone soon, nobody waits for their tables */
#define IDLE_MS 500
#define SOURCES_MAX 4096u               /* mappings noted of one process */
#define END_PATIENCE_MS 300u            /* with a helper that does nothing, when the recording ends */
#define RENEW_EVERY_NS 30000000000ull   /* where not even what is in use finds room */

/* ---- processes ---- */

static bool process_exists(pid_t pid)
{
	return kill(pid, 0) == 0 || errno != ESRCH;
}

static void look_at(struct stacks *s, pid_t pid)
{
	const struct layout *layout;
	int r = layouts_read(&s->layouts, pid, &layout);
	if (r == 0 && layout) {
		stacks_tell_layout(s, pid, layout, NULL);
		map_put(&s->to_publish, (uint64_t)pid, 1);
	}
}

static struct process_news *news_of(const struct stacks *s, pid_t pid)
{
	const uint64_t *at = map_find(&s->news, (uint64_t)pid);
	return at ? (struct process_news *)(uintptr_t)*at : NULL;
}

/* Takes in what has changed about a process since it was looked at last. */
static void look_at_one(struct stacks *s, struct process_news *n)
{
	const struct layout *old = layout_of_process(&s->layouts, n->pid), *layout = NULL;
	if (!n->changed)
		return;
	n->changed = false;
	/* a program whose start was seen is all in the events; of an older one they tell what is new */
	bool whole = n->started_ns && !n->incomplete && n->sources.length + (old ? old->count : 0) < SOURCES_MAX;
	if (!whole && layouts_read(&s->layouts, n->pid, &layout) == 0)
		n->incomplete = false;
	else
		layout = layouts_add(&s->layouts, n->pid, n->sources.items, n->sources.length);
	vec_done(&n->sources);
	if (layout)
		stacks_tell_layout(s, n->pid, layout, old);
	if (!n->ended)
		map_put(&s->to_publish, (uint64_t)n->pid, 1);
}

static struct module_file hold_file(void *data, const struct module_source *source)
{
	struct stacks *s = data;
	struct module_file file = { .fd = -1 };
	if (source->pid != s->own_pid && !modules_known(&s->modules, source))
		module_files_look(&s->held, source, 1, &file);
	return file;
}

/* While tables are made and laid programs may start, be deleted and end. */
static void hold_files(void *data)
{
	struct stacks *s = data;
	mapping_events_gather(s->events, hold_file, s);
}

/* At a round's end: what a process has by then is what it most likely has. */
static void publish(struct stacks *s)
{
	size_t at = 0;
	if (!s->to_publish.length || !s->attached)
		return;
	s->brief = false;
	for (const struct map_slot *slot; (slot = map_next(&s->to_publish, &at));) {
		layouts_publish(&s->layouts, (pid_t)slot->key);
		hold_files(s);
		map_remove(&s->doubtful, slot->key);
	}
	map_clear(&s->to_publish);
	uint64_t now = stacks_now_ns();
	if (unwind_maps_is_due(&s->maps) && now - s->renewed_ns > RENEW_EVERY_NS) {
		s->renewed_ns = now;
		layouts_renew(&s->layouts);
	}
}

static void look_at_changed(struct stacks *s)
{
	for (size_t i = 0; i < s->changed.length; i++)
		look_at_one(s, s->changed.items[i]);
	vec_clear(&s->changed);
	arena_done(&s->news_texts);
}

/* ---- what the kernel says ---- */

static struct process_news *news_about(struct stacks *s, pid_t pid)
{
	uint64_t *at = map_at(&s->news, (uint64_t)pid, NULL);
	if (!*at) {
		struct process_news *n = mem_zalloc(sizeof(*n));
		n->pid = pid;
		*at = (uint64_t)(uintptr_t)n;
	}
	return (struct process_news *)(uintptr_t)*at;
}

static void news_change(struct stacks *s, struct process_news *n)
{
	if (!n->changed)
		vec_push(&s->changed, n);
	n->changed = true;
}

static void on_mapped(void *data, const struct module_source *source, const struct module_file *file, uint64_t time_ns)
{
	struct stacks *s = data;
	(void)time_ns;
	if (source->pid == s->own_pid)
		return;
	struct process_news *n = news_about(s, source->pid);
	struct module_source copy = *source;
	news_change(s, n);
	/* later it may be out of reach */
	modules_take(&s->modules, source, file);
	if (n->sources.length >= SOURCES_MAX)
		return;
	copy.path = arena_strdup(&s->news_texts, source->path);
	copy.build_id = "";
	vec_push(&n->sources, copy);
}

static void on_forked(void *data, pid_t parent, pid_t child, uint64_t time_ns)
{
	struct stacks *s = data;
	struct process_news *n = news_of(s, parent);
	(void)time_ns;
	/* the parent as it is now: its own news come first, if there are any */
	if (n)
		look_at_one(s, n);
	n = news_of(s, child);
	if (n) { /* another's of the same number */
		vec_clear(&n->sources);
		n->started_ns = n->before = 0;
		n->ended = false;
	}
	if (layout_of_process(&s->layouts, parent))
		layouts_fork(&s->layouts, parent, child);
	else
		news_change(s, news_about(s, child));
	map_put(&s->to_publish, (uint64_t)child, 1);
}

static void on_started(void *data, pid_t pid, uint64_t time_ns)
{
	struct stacks *s = data;
	struct process_news *n = news_about(s, pid);
	const struct layout *layout = layout_of_process(&s->layouts, pid);
	/* perf tells of exec before it tells of the new program's mappings */
	vec_clear(&n->sources);
	news_change(s, n);
	n->incomplete = n->ended = false;
	n->started_ns = time_ns;
	n->before = layout ? layout->number : 0;
	layouts_leave(&s->layouts, pid, time_ns);
}

static void on_ended(void *data, pid_t pid, pid_t tid, uint64_t time_ns)
{
	struct stacks *s = data;
	struct ended_process ended = { .pid = pid, .time_ns = time_ns };
	struct process_news *n = news_of(s, pid);
	if (pid != tid)
		return;
	vec_push(&s->ended, ended);
	/* if copies of its stacks are still to come, or other threads live on, its first copy has them laid */
	map_remove(&s->to_publish, (uint64_t)pid);
	if (n)
		n->ended = true;
}

static void on_lost(void *data)
{
	struct stacks *s = data;
	size_t at = 0;
	for (const struct map_slot *slot; (slot = map_next(&s->news, &at));)
		((struct process_news *)(uintptr_t)slot->value)->incomplete = true;
	s->look_again = true;
}

/* ---- ended processes ---- */

static void forget_process(struct stacks *s, pid_t pid, uint64_t now)
{
	layouts_leave(&s->layouts, pid, now);
	layouts_withdraw(&s->layouts, pid);
	map_remove(&s->doubtful, (uint64_t)pid);
	struct process_news *n = news_of(s, pid);
	if (!n)
		return;
	map_remove(&s->news, (uint64_t)pid);
	vec_done(&n->sources);
	free(n);
}

static void forget_ended(struct stacks *s, uint64_t now)
{
	for (; s->ended_first < s->ended.length && now - s->ended.items[s->ended_first].time_ns >= ENDED_KEPT_NS; s->ended_first++) {
		struct ended_process e = { .pid = s->ended.items[s->ended_first].pid, .time_ns = now };
		/* its number may be another's by now, or its first thread has ended before the others */
		if (process_exists(e.pid))
			vec_push(&s->ended, e);
		else
			forget_process(s, e.pid, now);
	}
	if (s->ended_first < s->ended.length / 2 || s->ended_first == 0)
		return;
	s->ended.length -= s->ended_first;
	s->ended_told -= s->ended_first;
	memmove(s->ended.items, s->ended.items + s->ended_first, s->ended.length * sizeof(s->ended.items[0]));
	s->ended_first = 0;
}

/* What comes later of them is told with what all others have. */
static void tell_ended(struct stacks *s)
{
	for (; s->ended_told < s->ended.length; s->ended_told++)
		if (s->jit_met.length)
			stacks_tell_jit_symbols(s, s->ended.items[s->ended_told].pid);
}

/* ---- copies ---- */

/* A layout and the tables that its modules have. */
struct rules {
	const struct layout *layout;
	struct unwind_maps *maps;
};

static struct unwind_rule rule_at(void *data, uint64_t address)
{
	const struct rules *rules = data;
	const struct layout_mapping *m = layout_find(rules->layout, address);

	return m ? module_rule(m->module, rules->maps, address - m->start + m->offset) : (struct unwind_rule){ .kind = UNWIND_NO_MAPPING };
}

/* The mappings a process had when the copy was taken. */
static const struct layout *layout_then(struct stacks *s, pid_t pid, uint64_t time_ns)
{
	const struct process_news *n = news_of(s, pid);
	static const struct layout none;
	const struct layout *layout;
	if (n && time_ns < n->started_ns) {
		layout = n->before ? layout_of(&s->layouts, n->before) : NULL;
		return layout ? layout : &none;
	}
	if (!layout_of_process(&s->layouts, pid)) {
		look_at(s, pid);
		/* each moment more of these is a copy more */
		publish(s);
	} else if (layouts_lacks(&s->layouts, pid)) {
		map_put(&s->to_publish, (uint64_t)pid, 1);
		publish(s);
	}
	layout = layout_of_process(&s->layouts, pid);
	return layout ? layout : &none;
}

/* A process whose stacks do end outside of its mappings is not to be copied for ever. */
static void settle(struct stacks *s, pid_t pid)
{
	uint64_t *count = map_at(&s->doubtful, (uint64_t)pid, NULL);
	if (++*count == STACK_DOUBTS_SETTLED)
		layouts_settle(&s->layouts, pid);
}

static void unwind_copy(struct stacks *s, const struct pending_copy *c)
{
	uint64_t addresses[STACK_FRAMES_MAX];
	uint32_t count = 0;
	const struct layout *layout = layout_then(s, (pid_t)c->head.tgid, c->head.time_ns);
	struct unwind_copy copy = { .start = c->head.sp, .data = c->data, .bytes = c->head.bytes };
	struct unwind_registers registers = { .ip = c->head.ip, .sp = c->head.sp, .bp = c->head.bp, .di = c->head.di, .exact = 1 };
	int status = STACK_STATUS_narrow;

	if (c->head.narrow)
		addresses[count++] = c->head.ip;
	else
		status = unwind_walk(&copy, registers, rule_at, &(struct rules){ layout, &s->maps }, addresses, STACK_FRAMES_MAX, &count);
	if (status == STACK_STATUS_no_mapping && layout == layout_of_process(&s->layouts, (pid_t)c->head.tgid))
		settle(s, (pid_t)c->head.tgid);
	stacks_tell_modules(s);
	agent_lock(s->agent);
	pthread_mutex_lock(&s->layouts.lock);
	/* the latest record of a node holds: after what a new file says about it */
	stacks_nodes_of_copy(s, c->head.id, layout, addresses, count, status, stacks_now_ns());
	pthread_mutex_unlock(&s->layouts.lock);
	agent_unlock(s->agent);
}

/* Those taken up to a time before which all mapping events are known. */
static void unwind_copies(struct stacks *s, uint64_t until_ns)
{
	/* the agent comes rarely when events are few */
	agent_lock(s->agent);
	stacks_take_early(s);
	agent_unlock(s->agent);
	for (const struct pending_copy *c; (c = stack_copies_first(&s->copies)) && c->head.time_ns <= until_ns;) {
		unwind_copy(s, c);
		stack_copies_drop(&s->copies);
	}
	agent_lock(s->agent);
	stack_copies_release(&s->copies);
	agent_unlock(s->agent);
}

/* What was found while the programs were being loaded goes to the maps. */
static void attach(struct stacks *s)
{
	layouts_attach(&s->layouts, &s->maps, s->processes_fd);
	s->attached = true;
	stacks_tell_again(s);
}

/* Mapping events first, then the stacks that need them. */
static void take_news(struct stacks *s)
{
	static const struct mapping_events_calls calls = { .mapped = on_mapped, .forked = on_forked, .started = on_started,
							   .ended = on_ended, .lost = on_lost };
	uint64_t now = stacks_now_ns();
	s->had_news = s->brief = mapping_events_read(s->events, now, &calls, s);
	look_at_changed(s);
	if (!s->attached && atomic_load(&s->ready))
		attach(s);
	if (!s->attached)
		return;
	publish(s);
	unwind_copies(s, now);
}

static void look_at_all(struct stacks *s)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	while (folder && (entry = readdir(folder)) && !atomic_load(&s->stop))
		if (isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != s->own_pid) {
			look_at(s, (pid_t)atoi(entry->d_name));
			/* those that run just now come first */
			take_news(s);
		}
	if (folder)
		closedir(folder);
}

/* ---- the thread ---- */

static void one_round(struct stacks *s)
{
	uint64_t now = stacks_now_ns();

	take_news(s);
	if (s->attached && mapping_events_renew(s->events, s->agent->rings))
		on_lost(s);
	if (s->look_again) {
		s->look_again = false;
		look_at_all(s);
	}
	if (!s->attached)
		return;
	atomic_store(&s->laid, true);
	if (atomic_exchange(&s->retell, false))
		stacks_tell_again(s);
	stacks_tell_names(s, now);
	tell_ended(s);
	forget_ended(s, now);
	layouts_collect(&s->layouts, now - LAYOUTS_KEPT_NS);
	modules_collect(&s->modules);
	atomic_store(&s->processes, s->layouts.by_process.length);
}

static void take_wakes(struct stacks *s, int timeout_ms)
{
	struct epoll_event woken[2];
	uint64_t count;
	int n = epoll_wait(s->poll_fd, woken, 2, timeout_ms);
	for (int i = 0; i < n; i++) {
		if (woken[i].data.fd == s->wake_fd && read(s->wake_fd, &count, sizeof(count)) >= 0)
			continue;
		/* a ring that fills cannot wait until what is before the stacks is done */
		agent_lock(s->agent);
		stacks_take_early(s);
		agent_unlock(s->agent);
	}
}

void stacks_wake(struct stacks *s)
{
	uint64_t one = 1;
	ssize_t n = write(s->wake_fd, &one, sizeof(one));
	(void)n;
}

static void *run(void *data)
{
	struct stacks *s = data;
	/* stacks wait for it: before what merely computes */
	if (s->hurry)
		setpriority(PRIO_PROCESS, (id_t)gettid(), -10);
	look_at_all(s);
	atomic_store(&s->first_look_ns, stacks_now_ns() - s->start_ns);
	while (!atomic_load(&s->stop)) {
		bool copies = !stack_copies_empty(&s->copies);
		/* where much begins and ends there is something soon again: no need to be woken for it */
		if (!s->had_news)
			mapping_events_wait(s->events, s->poll_fd, copies ? 5 : IDLE_MS);
		take_wakes(s, 0);
		if (s->brief)
			take_wakes(s, GATHER_BRIEF_MS);
		else
			usleep(s->had_news ? GATHER_BUSY_US : GATHER_US);
		one_round(s);
	}
	s->functions_told_ns = 0; /* no other round comes */
	one_round(s);
	stacks_tell_modules(s);
	if (s->attached)
		stacks_tell_jit_symbols(s, 0);
	return NULL;
}

int stacks_loader_start(struct stacks *s, struct err *err)
{
	int r = mapping_events_open(&s->events, err);
	if (r < 0)
		return r;
	helper_meanwhile(s->modules.files.helper, hold_files, s);
	s->modules_told = 1;
	s->nodes_seen = 1;
	struct epoll_event event = { .events = EPOLLIN };
	s->wake_fd = event.data.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->wake_fd < 0 || s->poll_fd < 0 || epoll_ctl(s->poll_fd, EPOLL_CTL_ADD, s->wake_fd, &event) < 0)
		return err_sys(err, -errno, "starting the loader of unwind tables");
	r = quiet_thread(&s->thread, run, s);
	if (r)
		return err_sys(err, -r, "starting the loader of unwind tables");
	s->started = true;
	return 0;
}

/* Those who wait for the end do not wait long for file systems that do not answer. */
void stacks_loader_end(struct stacks *s)
{
	if (!s->started)
		return;
	helper_patience(s->modules.files.helper, END_PATIENCE_MS);
	helper_patience(s->held.helper, END_PATIENCE_MS);
	atomic_store(&s->stop, true);
	stacks_wake(s);
	pthread_join(s->thread, NULL);
	s->started = false;
}

void stacks_loader_free(struct stacks *s)
{
	size_t at = 0;
	for (const struct map_slot *slot; (slot = map_next(&s->news, &at));) {
		struct process_news *n = (struct process_news *)(uintptr_t)slot->value;
		vec_done(&n->sources);
		free(n);
	}
	vec_done(&s->changed);
	arena_done(&s->news_texts);
	map_done(&s->news);
	map_done(&s->symbols_told);
	map_done(&s->to_publish);
	map_done(&s->doubtful);
	map_done(&s->jit_wanted);
	map_done(&s->jit_met);
	vec_done(&s->ended);
	mapping_events_close(s->events);
	module_files_done(&s->held);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	if (s->poll_fd >= 0)
		close(s->poll_fd);
}
#endif
