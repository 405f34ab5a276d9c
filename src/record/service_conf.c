/* See service_conf.h. */
#include "record/service_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/options.h"

#define SECOND_NS 1000000000ull
#define LINE_BYTES 1200
#define BYTES_LEAST (1u << 20)

static int read_words(const char *value, struct service_conf *conf, struct err *err)
{
	char *to = conf->see_all;

	if (strlen(value) + 3 > sizeof(conf->see_all))
		return err_set(err, -EBADMSG, "the list is too long");
	*to++ = ' ';
	for (const char *at = value; *at; at++) {
		if (*at != ' ' && *at != '\t' && *at != ',')
			*to++ = *at;
		else if (to[-1] != ' ')
			*to++ = ' ';
	}
	if (to[-1] != ' ')
		*to++ = ' ';
	*to = 0;
	return 0;
}

static int read_key(const char *key, const char *value, struct service_conf *conf, struct err *err)
{
	uint64_t number;

	if (!strcmp(key, "members-see")) {
		if (strcmp(value, "own") != 0 && strcmp(value, "all") != 0)
			return err_set(err, -EBADMSG, "members-see is 'own' or 'all', not '%.64s'", value);
		conf->members_see_all = value[0] == 'a';
	} else if (!strcmp(key, "see-all")) {
		return read_words(value, conf, err);
	} else if (!strcmp(key, "recordings")) {
		if (parse_number(value, &number) || number > SERVICE_RECORDINGS_MOST)
			return err_set(err, -EBADMSG, "recordings is a number of at most %u, not '%.64s'", SERVICE_RECORDINGS_MOST, value);
		conf->recordings = (uint32_t)number;
	} else if (!strcmp(key, "recording-size")) {
		if (parse_bytes(value, &number) || number < BYTES_LEAST)
			return err_set(err, -EBADMSG, "recording-size is a size of at least 1M, like 500M or 2G, not '%.64s'", value);
		conf->recording_bytes = number;
	} else if (!strcmp(key, "recording-time")) {
		if (parse_duration(value, &number) || number < SECOND_NS)
			return err_set(err, -EBADMSG, "recording-time is a time of at least 1s, like 90s or 10m, not '%.64s'", value);
		conf->recording_ns = number;
	} else {
		return err_set(err, -EBADMSG, "there is no setting '%.64s'", key);
	}
	return 0;
}

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t\r");
	length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = 0;
	return text;
}

static int read_line(char *line, struct service_conf *conf, struct err *err)
{
	char *equals;

	line[strcspn(line, "#")] = 0;
	line = trim(line);
	if (!*line)
		return 0;
	equals = strchr(line, '=');
	if (!equals)
		return err_set(err, -EBADMSG, "'%.64s' is no KEY = VALUE", line);
	*equals = 0;
	return read_key(trim(line), trim(equals + 1), conf, err);
}

int service_conf_parse(const char *text, size_t length, struct service_conf *ret_conf, struct err *err)
{
	struct service_conf conf = { .recordings = 2, .recording_bytes = 1u << 30, .recording_ns = 3600 * SECOND_NS };
	unsigned number = 0;

	while (length) {
		const char *end = memchr(text, '\n', length);
		size_t size = end ? (size_t)(end - text) : length;
		char line[LINE_BYTES];
		int r = 0;

		number++;
		if (size >= sizeof(line) || memchr(text, 0, size))
			return err_set(err, -EBADMSG, "line %u: it is too long, or no text", number);
		memcpy(line, text, size);
		line[size] = 0;
		r = read_line(line, &conf, err);
		if (r)
			return err_prefix(err, "line %u", number);
		text += size + (end != NULL);
		length -= size + (end != NULL);
	}
	*ret_conf = conf;
	return 0;
}

int service_conf_read(const char *path, struct service_conf *ret_conf, struct err *err)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), r;
	struct stat info;
	char *text;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? service_conf_parse("", 0, ret_conf, err) : err_sys(err, -errno, "opening '%s'", path);
	if (fstat(fd, &info) || !S_ISREG(info.st_mode) || (info.st_uid && info.st_uid != geteuid()) || info.st_mode & (S_IWGRP | S_IWOTH)) {
		close(fd);
		return err_set(err, -EPERM, "'%s' must be a file of root's that nobody else may write", path);
	}
	text = mem_alloc(SERVICE_CONF_BYTES);
	n = read(fd, text, SERVICE_CONF_BYTES);
	close(fd);
	if (n < 0)
		r = err_sys(err, -errno, "reading '%s'", path);
	else if (n == SERVICE_CONF_BYTES)
		r = err_set(err, -E2BIG, "'%s' is too long", path);
	else if ((r = service_conf_parse(text, (size_t)n, ret_conf, err)))
		err_prefix(err, "%s", path);
	free(text);
	return r;
}

static bool lists(const struct service_conf *conf, const char *mark, const char *name)
{
	char word[128];

	return (size_t)snprintf(word, sizeof(word), " %s%s ", mark, name) < sizeof(word) && strstr(conf->see_all, word);
}

bool service_conf_sees_all(const struct service_conf *conf, uint32_t uid, const uint32_t *groups, uint32_t group_count)
{
	struct passwd *user;

	if (conf->members_see_all || !uid)
		return true;
	if (!conf->see_all[0])
		return false;
	user = getpwuid(uid);
	if (user && lists(conf, "", user->pw_name))
		return true;
	for (uint32_t i = 0; i < group_count; i++) {
		struct group *group = getgrgid(groups[i]);

		if (group && lists(conf, "@", group->gr_name))
			return true;
	}
	return false;
}
