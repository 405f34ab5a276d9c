#include "session/recorder_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/json_read.h"
#include "base/vec.h"
#include "session/command.h"

#define SAVED_MOST 200u

struct buf_sink {
	struct sink sink;
	struct buf *buf;             /* NULL: nobody reads it */
};

static int write_sink(struct sink *sink, const void *data, size_t size)
{
	struct buf_sink *s = (struct buf_sink *)sink;

	if (s->buf)
		buf_add(s->buf, data, size);
	return 0;
}

/* What the command says to `--json`. */
static int ask(const char *name, const char *build, struct buf *said, struct err *err)
{
	const struct command *command = command_find(name);
	char *const words[] = { (char *)(uintptr_t)"--json" };
	struct buf_sink out = { { .write = write_sink }, said }, notes = { { .write = write_sink }, NULL };
	struct options options;
	struct arena arena;
	int r;

	arena_init(&arena);
	r = options_parse(&arena, command->options, command->rest_is_command, 1, words, &options, err);
	if (!r)
		r = command->run(&(struct command_context){ &arena, &options, &out.sink, &notes.sink, build, NULL }, err);
	arena_done(&arena);
	return r;
}

/* The value of a member of the object, "" when it has no such text. */
static void find_text(const struct buf *document, const char *wanted, char *text, size_t size)
{
	struct json_reader reader;
	char key[64];

	*text = 0;
	json_reader_init(&reader, buf_str(document), document->length);
	if (!json_enter(&reader, '{'))
		return;
	while (json_key(&reader, key, sizeof(key)))
		if (strcmp(key, wanted) || !json_string(&reader, text, size))
			json_skip(&reader);
}

struct saved {
	char name[NAME_MAX + 1];
	uint64_t bytes;
	int64_t time;
};

static int newest_first(const void *a, const void *b)
{
	const struct saved *x = a, *y = b;

	return x->time != y->time ? (x->time < y->time) - (x->time > y->time) : strcmp(y->name, x->name);
}

static void put_saved(const char *folder, struct json *json)
{
	struct vec(struct saved) found = { 0 };
	char path[PATH_MAX], whole[PATH_MAX + NAME_MAX + 2];
	DIR *dir;

	json_array(json, "saved");
	snprintf(path, sizeof(path), "%s/saved", folder);
	dir = *folder ? opendir(path) : NULL;
	for (const struct dirent *entry; dir && (entry = readdir(dir)); ) {
		struct saved one = { .name = "" };
		size_t length = strlen(entry->d_name);
		struct stat at;

		if (entry->d_name[0] == '.' || (length > 6 && !strcmp(entry->d_name + length - 6, ".index")) ||
		    fstatat(dirfd(dir), entry->d_name, &at, AT_SYMLINK_NOFOLLOW) || !S_ISREG(at.st_mode))
			continue;
		memcpy(one.name, entry->d_name, length + 1);
		one.bytes = (uint64_t)at.st_size;
		one.time = (int64_t)at.st_mtime;
		vec_push(&found, one);
	}
	if (dir)
		closedir(dir);
	if (found.length)
		qsort(found.items, found.length, sizeof(*found.items), newest_first);
	for (size_t i = 0; i < found.length && i < SAVED_MOST; i++) {
		snprintf(whole, sizeof(whole), "%s/%s", path, found.items[i].name);
		json_object(json, NULL);
		json_text(json, "name", found.items[i].name);
		json_text(json, "path", whole);
		json_u64(json, "bytes", found.items[i].bytes);
		json_i64(json, "time", found.items[i].time);
		json_end(json);
	}
	json_end(json);
	vec_done(&found);
}

/* The members of an object that was written, without what encloses them. */
static void add_members(struct buf *buf, const struct buf *object)
{
	size_t length = object->length;

	while (length > 1 && object->data[length - 1] != '}')
		length--;
	if (length > 2)
		buf_add(buf, object->data + 1, length - 2);
}

/* {"KEY": what was said or null, "error": ... */
static void begin(const char *key, int r, const struct buf *said, const struct err *err, struct buf *buf)
{
	struct json json;
	struct buf error;

	buf_init(&error);
	json_init(&json, &error);
	json_object(&json, NULL);
	json_text(&json, "error", r < 0 ? err->text : NULL);
	json_end(&json);
	buf_printf(buf, "{\"%s\":%s,", key, r < 0 || !said->length ? "null" : buf_str(said));
	add_members(buf, &error);
	buf_done(&error);
}

void recorder_view_json(const char *build, struct buf *buf)
{
	struct buf said, rest;
	struct err err = { 0 };
	struct json json;
	char folder[PATH_MAX];
	int r;

	buf_init(&said);
	buf_init(&rest);
	r = ask("status", build, &said, &err);
	begin("status", r, &said, &err, buf);
	find_text(&said, "folder", folder, sizeof(folder));
	json_init(&json, &rest);
	json_object(&json, NULL);
	put_saved(r < 0 ? "" : folder, &json);
	json_end(&json);
	buf_char(buf, ',');
	add_members(buf, &rest);
	buf_char(buf, '}');
	buf_done(&rest);
	buf_done(&said);
}

void recorder_view_now(const char *build, struct buf *buf)
{
	struct err err = { 0 };
	struct buf said;
	int r;

	buf_init(&said);
	r = ask("now", build, &said, &err);
	begin("now", r, &said, &err, buf);
	buf_char(buf, '}');
	buf_done(&said);
}
