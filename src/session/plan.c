/* A plan as options of `argus record`, see plan.h. */
#include "session/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_read.h"

#define PLAN_MOST_BYTES (16u << 20)
#define PLAN_MOST_WORDS 32

/* What may be set by a file that came from elsewhere: how much is recorded, of
 * whom, for how long; not what is written where. */
static const char *const allowed[] = {
	"level", "stacks", "freq", "ring", "duration", "all", "pid", "tid", "cpu", "cgroup", "user",
};

static int read_all(const char *path, struct buf *text, struct err *err)
{
	bool input = !strcmp(path, "-");
	int fd = input ? 0 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat info;
	char part[65536];
	ssize_t n = 1;
	int r = 0;

	if (fd < 0)
		return err_sys(err, -errno, "cannot read '%s'", path);
	if (!input && (fstat(fd, &info) || !S_ISREG(info.st_mode)))
		r = err_set(err, -EINVAL, "'%s' is no regular file", path);
	while (!r && n) {
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno != EINTR)
			r = err_sys(err, -errno, "cannot read '%s'", path);
		if (n > 0)
			buf_add(text, part, (size_t)n);
		if (text->length > PLAN_MOST_BYTES)
			r = err_set(err, -EFBIG, "'%s' is too large to be a plan", path);
	}
	if (!input)
		close(fd);
	return r;
}

static int refuse(const struct json_reader *reader, const char *path, struct err *err)
{
	if (json_error(reader))
		return err_set(err, -EPROTO, "'%s', line %zu: this is not JSON", path, json_error(reader));
	return err_set(err, -EPROTO, "'%s' holds no plan: `argus why --json` writes one", path);
}

struct words {
	char *items[PLAN_MOST_WORDS];
	int count;
};

/* One step as words of a command line. */
static int read_step(struct arena *arena, struct json_reader *reader, const char *path, struct words *words, struct err *err)
{
	char key[32], option[64] = "", value[1024] = "";
	bool known = false, has_value = false;

	if (!json_enter(reader, '{'))
		return refuse(reader, path, err);
	while (json_key(reader, key, sizeof(key))) {
		if (!strcmp(key, "option"))
			json_string(reader, option, sizeof(option));
		else if (!strcmp(key, "value") && json_string(reader, value, sizeof(value)))
			has_value = true;
		else
			json_skip(reader);
		if (reader->failed)
			break;
	}
	if (reader->failed)
		return refuse(reader, path, err);
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
		known |= !strncmp(option, "--", 2) && !strcmp(option + 2, allowed[i]);
	if (!known)
		return err_set(err, -EINVAL, "'%s': a plan cannot set '%s'", path, option);
	if (words->count + 2 > PLAN_MOST_WORDS)
		return err_set(err, -E2BIG, "'%s': too many steps for a plan", path);
	words->items[words->count++] = has_value ? arena_printf(arena, "%s=%s", option, value) : arena_strdup(arena, option);
	return 0;
}

static int read_steps(struct arena *arena, struct json_reader *reader, const char *path, struct words *words, struct err *err)
{
	int r = 0;

	if (!json_enter(reader, '['))
		return refuse(reader, path, err);
	while (!r && json_item(reader))
		r = read_step(arena, reader, path, words, err);
	return r ? r : reader->failed ? refuse(reader, path, err) : 0;
}

static int read_plan(struct arena *arena, const char *path, struct json_reader *reader, struct words *words, struct err *err)
{
	char key[32];
	bool found = false;
	int r = 0;

	if (!json_enter(reader, '{')) {
		found = true;
		r = read_steps(arena, reader, path, words, err);
	} else {
		while (!r && json_key(reader, key, sizeof(key))) {
			if (strcmp(key, "plan")) {
				json_skip(reader);
			} else {
				found = true;
				r = read_steps(arena, reader, path, words, err);
			}
			if (reader->failed)
				break;
		}
	}
	if (!r && (!found || !json_end_of_text(reader)))
		r = refuse(reader, path, err);
	return r;
}

int plan_merge(struct arena *arena, const char *path, const struct option_spec *specs, const struct options *given,
	       struct options *ret_merged, struct err *err)
{
	struct words words = { 0 };
	struct json_reader reader;
	struct options planned;
	struct option_value *values;
	struct buf text;
	int r;

	buf_init(&text);
	r = read_all(path, &text, err);
	json_reader_init(&reader, buf_str(&text), text.length);
	if (!r)
		r = read_plan(arena, path, &reader, &words, err);
	if (!r)
		r = options_parse(arena, specs, false, words.count, words.items, &planned, err);
	buf_done(&text);
	if (r)
		return r;
	values = arena_array(arena, struct option_value, planned.value_count + given->value_count + 1);
	if (planned.value_count)
		memcpy(values, planned.values, planned.value_count * sizeof(*values));
	if (given->value_count)
		memcpy(values + planned.value_count, given->values, given->value_count * sizeof(*values));
	*ret_merged = *given;
	ret_merged->values = values;
	ret_merged->value_count = planned.value_count + given->value_count;
	return 0;
}
