/* The interactive session: what one looks at, looked into while it still runs. `step`, `watch` and
 * `diverge` are the commands of the same names, in a process of their own, for the process where one stands. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/debug.h"

#define WORDS_MOST 40
#define LOOKED_FOR "5s"          /* unless another time is asked for */

extern char **environ;

static int read_output(int fd, struct buf *out)
{
	char text[4096];

	for (;;) {
		ssize_t got = read(fd, text, sizeof(text));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		buf_add(out, text, (size_t)got);
	}
}

/* Its results go to `out`, its notes where this process's go. */
static int run_self(const char *const *words, struct buf *out, struct err *err)
{
	posix_spawn_file_actions_t files;
	int ends[2], status = 0, r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(err, -errno, "starting argus %s", words[1]);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
	r = -posix_spawn(&pid, "/proc/self/exe", &files, NULL, (char *const *)words, environ);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	if (!r) {
		r = read_output(ends[0], out);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	if (r)
		return err_sys(err, r, "argus %s", words[1]);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : err_set(err, -ECANCELED, "argus %s did not do it", words[1]);
}

/* ---- the process ---- */

static bool same_start(const struct debug *debug)
{
	const char *then = trace_machine(debug->session.trace, "boot_id");
	char now[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file) {
		if (!fgets(now, sizeof(now), file))
			now[0] = 0;
		fclose(file);
	}
	now[strcspn(now, "\n")] = 0;
	return then && !strcmp(then, now);
}

/* The process where one stands, which must run still; and its thread. */
static int running_process(const struct debug *debug, uint32_t *ret_pid, uint32_t *ret_tid, struct err *err)
{
	const struct scene *scene = debug->session.scene;
	const struct debug_place *place = debug_place_now(debug, err);
	char path[64];

	if (!debug->live)
		return err_set(err, -EPERM, "only `argus debug` at a terminal, or with -c, looks into processes that run");
	if (!place)
		return -ENOENT;
	*ret_pid = scene_pid(scene, place->thread);
	*ret_tid = scene_tid(scene, place->thread);
	if (!same_start(debug))
		return err_set(err, -ESRCH, "the trace is of another machine, or of before it was started: what it shows does not run any more");
	snprintf(path, sizeof(path), "/proc/%u/task/%u", *ret_pid, *ret_tid);
	if (scene->tables->threads[place->thread].end_ns != UINT64_MAX || access(path, F_OK))
		return err_set(err, -ESRCH, "%s does not run any more: record it anew, `show plan` says how",
			       debug_who((struct debug *)debug, place->thread, place->time_ns));
	return 0;
}

/* "argus step PID PLACES --tid TID" of the answer, where it is about this process: PLACES. */
static const char *places_of_answer(struct debug *debug, uint32_t pid)
{
	const char *step = debug->diagnosis ? debug->diagnosis->step : NULL;
	char *text = step ? arena_strdup(&debug->arena, step) : NULL, *rest;
	const char *word = text ? strtok_r(text, " ", &rest) : NULL;

	for (int i = 0; word && i < 2; i++)
		word = strtok_r(NULL, " ", &rest);
	return word && strtoul(word, NULL, 10) == pid ? strtok_r(NULL, " ", &rest) : NULL;
}

int debug_step(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const char *places = words->count > 1 ? words->items[1] : NULL, *file = words->count > 2 ? words->items[2] : "argus.step";
	uint32_t pid, tid;
	int r = running_process(debug, &pid, &tid, err);

	if (r)
		return r;
	if (words->count > 3)
		return debug_usage(words, err);
	if (!places)
		places = places_of_answer(debug, pid);
	if (!places)
		return err_set(err, -EINVAL, "the answer names no loop of this process: say which function (step FILE:FUNCTION)");
	const char *const record[] = { "argus", "step", arena_printf(&debug->arena, "%u", pid), places, "--tid",
				       arena_printf(&debug->arena, "%u", tid), "--duration", LOOKED_FOR, "-o", file, NULL };
	const char *const show[] = { "argus", "step", "--show", file, NULL };

	r = run_self(record, out, err);
	return r ? r : run_self(show, out, err);
}

int debug_watch(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const char *line[WORDS_MOST] = { "argus", "watch" };
	uint32_t pid, tid;
	size_t count = 2;
	int r;

	if (words->count < 2)
		return debug_usage(words, err);
	r = running_process(debug, &pid, &tid, err);
	if (r)
		return r;
	line[count++] = arena_printf(&debug->arena, "%u", pid);
	line[count++] = "--duration";
	line[count++] = LOOKED_FOR;
	for (unsigned i = 1; i < words->count; i++)
		line[count++] = words->items[i];
	return run_self(line, out, err);
}

int debug_diverge(struct debug *debug, const struct debug_words *words, struct buf *out, struct err *err)
{
	const char *const line[] = { "argus", "diverge", words->items[1], words->count > 2 ? words->items[2] : "argus.step", NULL };

	if (words->count < 2 || words->count > 3)
		return debug_usage(words, err);
	return debug->live ? run_self(line, out, err) : err_set(err, -EPERM, "only `argus debug` at a terminal, or with -c, starts other commands");
}
