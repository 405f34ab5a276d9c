/* See tried_command.h. */
#include "diagnose/tried_command.h"

#include <string.h>
#include <sys/wait.h>

#include "diagnose/judgement.h"

/* It ended in the time, by itself, and said that it failed. */
static bool failed(const struct thread *t, uint64_t from_ns, uint64_t to_ns)
{
	return t->start_ns >= from_ns && t->end_ns <= to_ns && WIFEXITED(t->exit_code) && WEXITSTATUS(t->exit_code);
}

static const char *path_of(const char *command)
{
	const char *last = strrchr(command, ' ');

	return last && strchr(last, '/') ? last + 1 : "";
}

bool tried_command_find(const struct scene *scene, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct tried_command *ret_tried)
{
	const struct tables *tables = scene->tables;
	uint32_t pid = scene_pid(scene, thread);

	*ret_tried = (struct tried_command){ 0 };
	for (uint32_t i = 1; i < tables->thread_count && rule_holds(scene, RULE_tried_command); i++) {
		const struct thread *t = &tables->threads[i];

		if (t->parent_pid != pid || t->tid != t->pid || !failed(t, from_ns, to_ns))
			continue;
		if (!t->command[0] || (ret_tried->command && strcmp(ret_tried->command, t->command)))
			return false;
		ret_tried->command = t->command;
		ret_tried->times++;
		ret_tried->number = scene->threads[i].fork_event;
	}
	if (ret_tried->times < limit_of(scene, LIMIT_looks_least))
		return false;
	ret_tried->path = path_of(ret_tried->command);
	return true;
}
