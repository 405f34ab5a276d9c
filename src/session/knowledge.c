/* What a person has added to a trace, see knowledge.h. */
#include "session/knowledge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diagnose/judgement.h"
#include "graph/graph.h"
#include "rules/rules.h"
#include "session/artifact.h"

#define KNOWLEDGE_MOST (1u << 20)  /* bytes of a file that is read */
#define RULE_TEXT 128u             /* of a name with its value */

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

/* What a statement by that word says, without spaces around it and the `;`; NULL when it is
 * another one. */
static const char *said(const char *statement, const char *word, char text[RULE_TEXT])
{
	size_t length = strlen(word);
	const char *end;

	statement += strspn(statement, " \t");
	if (strncmp(statement, word, length) || !strchr(" \t", statement[length]))
		return NULL;
	statement += length + strspn(statement + length, " \t");
	end = statement + strcspn(statement, ";");
	if (end[0] && end[1 + strspn(end + 1, " \t")])
		return NULL;
	while (end > statement && strchr(" \t", end[-1]))
		end--;
	snprintf(text, RULE_TEXT, "%.*s", (int)(end - statement), statement);
	return text;
}

/* Of a statement about a rule of the diagnosis; 1 when it is another one. */
static int judge(struct judgement *judgement, const char *statement, struct err *err)
{
	char text[RULE_TEXT];

	if (said(statement, "without", text))
		return judgement_without(judgement, text, err);
	if (said(statement, "limit", text))
		return judgement_adjust(judgement, text, err);
	return 1;
}

static int check(const char *statement, struct err *err)
{
	struct judgement judgement;
	struct rules *rules;
	int r;

	judgement_init(&judgement);
	r = judge(&judgement, statement, err);
	judgement_done(&judgement);
	if (r <= 0)
		return r;
	rules = rules_new();
	r = rules_add_text(rules, "statement", statement, strlen(statement), mechanism_find, err);
	if (!r && !rules_count(rules))
		r = err_set(err, -EINVAL, "a statement is wanted");
	rules_free(rules);
	return r;
}

int knowledge_add(struct knowledge *knowledge, const char *statement, struct err *err)
{
	int r = check(statement, err);

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
	if (knowledge->saved > knowledge->statements.length) {
		knowledge->saved--;
		knowledge->taken_back++;
	}
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
		r = err_set(err, -EINVAL, "'%s' is not a regular file", path);
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
		r = err_set(err, -EINVAL, "'%s' is not text", path);
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
	if (!r && !path) {
		knowledge->saved = knowledge->statements.length;
		knowledge->taken_back = 0;
	}
	return r;
}

bool knowledge_judges(const struct knowledge *knowledge)
{
	char text[RULE_TEXT];

	for (size_t i = 0; i < knowledge->statements.length; i++)
		if (said(knowledge->statements.items[i], "without", text) || said(knowledge->statements.items[i], "limit", text))
			return true;
	return false;
}

int knowledge_apply(const struct knowledge *knowledge, struct scene *scene, struct err *err)
{
	struct rules *rules = rules_new();
	int r = 0;

	if (scene->judgement)
		judgement_reset(scene->judgement);
	for (size_t i = 0; r >= 0 && i < knowledge->statements.length; i++) {
		const char *statement = knowledge->statements.items[i];

		r = scene->judgement ? judge(scene->judgement, statement, err) : 1;
		if (r > 0)
			r = rules_add_text(rules, "knowledge", statement, strlen(statement), mechanism_find, err);
	}
	if (!r)
		r = scene_correct(scene, rules, err);
	rules_free(rules);
	return r;
}
