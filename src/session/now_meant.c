/* See now_meant.h. */
#include "session/now_meant.h"

#include <errno.h>
#include <string.h>

#include "base/suggest.h"

static bool is_name_of(const struct thread *t, const char *name)
{
	const char *slash = strrchr(t->exe, '/');

	return t->tid == t->pid && (!strcmp(t->comm, name) || (slash && !strcmp(slash + 1, name)));
}

/* What its program was given to run: the first argument that is no option, with its folder or without. */
static bool runs_script(const struct thread *t, const char *name)
{
	const char *at = t->tid == t->pid ? strchr(t->command, ' ') : NULL;

	while (at && at[1] == '-')
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	size_t length = strcspn(++at, " "), wanted = strlen(name);

	return wanted && length >= wanted && !strncmp(at + length - wanted, name, wanted) && (length == wanted || at[length - wanted - 1] == '/');
}

static void add_pid(struct now_meant *meant, uint32_t pid)
{
	for (size_t i = 0; i < meant->count; i++)
		if (meant->pids[i] == pid)
			return;
	meant->pids[meant->count++] = pid;
}

static void add_processes(struct now_meant *meant, const struct session *session, const char *word, bool (*is_meant)(const struct thread *, const char *))
{
	const struct tables *tables = session->tables;

	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (!(t->flags & TASK_FLAGS_argus) && t->end_ns >= session->scene->end_ns && t->pid && is_meant(t, word))
			add_pid(meant, t->pid);
	}
}

static bool is_number_of(const struct thread *t, const char *word)
{
	uint64_t number;

	return !parse_number(word, &number) && (t->pid == number || t->tid == number);
}

/* Of the names of processes, the one that may have been meant. */
static const char *near_name(const struct session *session, const char *word)
{
	struct suggestion near = suggest_begin(word, strlen(word));
	const struct tables *tables = session->tables;

	for (uint32_t i = 1; i < tables->thread_count; i++)
		if (tables->threads[i].tid == tables->threads[i].pid && !(tables->threads[i].flags & TASK_FLAGS_argus))
			suggest_offer(&near, tables->threads[i].comm);
	return near.nearest;
}

/* A number is a process's or a thread's; a name, a program's or a process's, or else of the script that one runs. */
static int add_word(struct now_meant *meant, const struct session *session, const char *word, const struct now_asked *asked, struct err *err)
{
	const struct now_asked_one *ended = asked ? now_asked_find(asked, word) : NULL;
	size_t before = meant->count;
	uint64_t number;
	bool is_number = !parse_number(word, &number);
	const char *near;

	add_processes(meant, session, word, is_number ? is_number_of : is_name_of);
	if (!is_number && meant->count == before)
		add_processes(meant, session, word, runs_script);
	if (meant->count > before)
		return 0;
	if (ended) {
		meant->ended[meant->ended_count++] = ended;
		return 0;
	}
	near = is_number ? NULL : near_name(session, word);
	if (near)
		return err_set(err, -ENOENT, "no process is called '%s'; did you mean '%s'?", word, near);
	return err_set(err, -ENOENT, is_number ? "there is no process or thread %s" : "no process is called '%s'", word);
}

int now_meant_find(struct arena *arena, const struct session *session, const struct options *given, const struct now_asked *asked, struct now_meant *ret,
		   struct err *err)
{
	int r = 0;

	*ret = (struct now_meant){ .pids = arena_array(arena, uint32_t, session->tables->thread_count + 1),
				   .ended = arena_array(arena, const struct now_asked_one *, given->argument_count + 1) };
	for (size_t i = 0; !r && i < given->argument_count; i++)
		r = add_word(ret, session, given->arguments[i], asked, err);
	return r;
}

/* Of such a number, or made by one of them. */
static bool descends_from(const struct scene *scene, uint32_t thread, const struct now_meant *meant)
{
	for (size_t i = 0; i < meant->count; i++)
		if (scene_pid(scene, thread) == meant->pids[i] || scene_descends_from(scene, thread, meant->pids[i]))
			return true;
	return false;
}

void now_meant_filter(const struct session *session, const struct now_meant *meant, struct filter *ret_filter)
{
	const struct tables *tables = session->tables;

	ret_filter->kinds[FILTER_PID] = ret_filter->follow_forks = ret_filter->may_be_gone = true;
	for (uint32_t i = 1; i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		if (t->tid == t->pid && t->end_ns >= session->scene->end_ns && !(t->flags & TASK_FLAGS_argus) && descends_from(session->scene, i, meant))
			filter_add(ret_filter, FILTER_PID, t->pid);
	}
}
