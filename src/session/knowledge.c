/* What a person has added to a trace, see knowledge.h. */
#include "session/knowledge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/graph.h"
#include "rules/rules.h"
#include "session/artifact.h"

#define KNOWLEDGE_MOST (1u << 20)  /* bytes of a file that is read */

int knowledge_open(struct knowledge *knowledge, const char *trace_path, struct err *err)
{
	int r;

	*knowledge = (struct knowledge){ 0 };
	knowledge->path = mem_alloc(strlen(trace_path) + sizeof(".know"));
	sprintf(knowledge->path, "%s.know", trace_path);
	if (access(knowledge->path, F_OK))
		return 0;
	r = knowledge_read(knowledge, knowledge->path, err);
	knowledge->saved = knowledge->statements.length;
	return r;
}

void knowledge_done(struct knowledge *knowledge)
{
	for (size_t i = 0; i < knowledge->statements.length; i++)
		free(knowledge->statements.items[i]);
	vec_done(&knowledge->statements);
	free(knowledge->path);
	*knowledge = (struct knowledge){ 0 };
}

int knowledge_add(struct knowledge *knowledge, const char *statement, struct err *err)
{
	struct rules *rules = rules_new();
	int r = rules_add_text(rules, "statement", statement, strlen(statement), mechanism_find, err);

	if (!r && !rules_count(rules))
		r = err_set(err, -EINVAL, "a statement is wanted");
	rules_free(rules);
	if (r)
		return r;
	vec_push(&knowledge->statements, strcpy(mem_alloc(strlen(statement) + 1), statement));
	return 0;
}

int knowledge_undo(struct knowledge *knowledge, struct err *err)
{
	if (!knowledge->statements.length)
		return err_set(err, -ENOENT, "there is nothing to take back");
	free(knowledge->statements.items[--knowledge->statements.length]);
	return 0;
}

/* All of it, ended by a NUL; to be freed. */
static int read_whole(const char *path, char **ret_text, struct err *err)
{
	/* a pipe in its place must not keep anybody waiting */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;
	size_t length = 0;
	char *text;
	ssize_t n = 0;
	int r = 0;

	if (fd < 0)
		return err_sys(err, -errno, "cannot read '%s'", path);
	if (fstat(fd, &info) || !S_ISREG(info.st_mode))
		r = err_set(err, -EINVAL, "'%s' is no regular file", path);
	else if (info.st_size > KNOWLEDGE_MOST)
		r = err_set(err, -EFBIG, "'%s' is too large to be knowledge about a trace", path);
	if (r) {
		close(fd);
		return r;
	}
	text = mem_alloc(KNOWLEDGE_MOST + 1);
	while (length < KNOWLEDGE_MOST && ((n = read(fd, text + length, KNOWLEDGE_MOST - length)) > 0 || (n < 0 && errno == EINTR)))
		length += n > 0 ? (size_t)n : 0;
	if (n < 0)
		r = err_sys(err, -errno, "cannot read '%s'", path);
	close(fd);
	text[length] = 0;
	if (!r && memchr(text, 0, length))
		r = err_set(err, -EINVAL, "'%s' is no text", path);
	if (r)
		free(text);
	else
		*ret_text = text;
	return r;
}

int knowledge_read(struct knowledge *knowledge, const char *path, struct err *err)
{
	char *text = NULL, *next;
	int r = read_whole(path, &text, err);

	if (r)
		return r;
	for (char *line = text; !r && line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (line[strspn(line, " \t")] && line[strspn(line, " \t")] != '#')
			r = knowledge_add(knowledge, line, err);
		if (r)
			err_prefix(err, "'%s'", path);
	}
	free(text);
	return r;
}

int knowledge_save(struct knowledge *knowledge, const char *path, struct err *err)
{
	const char *to = path ? path : knowledge->path;
	struct buf buf;
	int r;

	buf_init(&buf);
	buf_text(&buf, "# What a person knows about the trace beside; statements as in docs/rules.md.\n");
	for (size_t i = 0; i < knowledge->statements.length; i++) {
		buf_text(&buf, knowledge->statements.items[i]);
		buf_char(&buf, '\n');
	}
	r = artifact_write(to, &buf, err);
	buf_done(&buf);
	if (!r && !path)
		knowledge->saved = knowledge->statements.length;
	return r;
}

int knowledge_apply(const struct knowledge *knowledge, struct scene *scene, struct err *err)
{
	struct rules *rules = rules_new();
	int r = 0;

	for (size_t i = 0; !r && i < knowledge->statements.length; i++)
		r = rules_add_text(rules, "knowledge", knowledge->statements.items[i],
				   strlen(knowledge->statements.items[i]), mechanism_find, err);
	if (!r)
		r = scene_correct(scene, rules, err);
	rules_free(rules);
	return r;
}
