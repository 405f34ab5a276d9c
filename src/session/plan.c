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
	"level", "stacks", "freq", "ring", "duration", "all", "pid", "tid", "cpu", "cgroup", "user", "probe", "step", "depth", "into", "watch",
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
		return err_sys(err, -errno, "cannot be read");
	if (!input && (fstat(fd, &info) || !S_ISREG(info.st_mode)))
		r = err_set(err, -EINVAL, "this is not a regular file");
	while (!r && n) {
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno != EINTR)
			r = err_sys(err, -errno, "cannot be read");
		if (n > 0)
			buf_add(text, part, (size_t)n);
		if (text->length > PLAN_MOST_BYTES)
			r = err_set(err, -EFBIG, "too large to be a plan");
	}
	if (!input)
		close(fd);
	return r;
}

static int refuse(const struct json_reader *reader, struct err *err)
{
	if (json_error(reader))
		return err_set(err, -EPROTO, "line %zu is not JSON", json_error(reader));
	return err_set(err, -EPROTO, "there is no plan in it: `argus why --json` writes one");
}

struct words {
	char *items[PLAN_MOST_WORDS];
	int count;
};

/* One step as words of a command line. */
static int read_step(struct arena *arena, struct json_reader *reader, struct words *words, struct err *err)
{
	char key[32], option[64] = "", value[1024] = "";
	bool known = false, has_value = false;

	if (!json_enter(reader, '{'))
		return refuse(reader, err);
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
		return refuse(reader, err);
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
		known |= !strncmp(option, "--", 2) && !strcmp(option + 2, allowed[i]);
	if (!known)
		return err_set(err, -EINVAL, "a plan cannot set '%s'", option);
	if (words->count + 2 > PLAN_MOST_WORDS)
		return err_set(err, -E2BIG, "too many steps for a plan");
	words->items[words->count++] = has_value ? arena_printf(arena, "%s=%s", option, value) : arena_strdup(arena, option);
	return 0;
}

static int read_steps(struct arena *arena, struct json_reader *reader, struct words *words, struct err *err)
{
	int r = 0;

	if (!json_enter(reader, '['))
		return refuse(reader, err);
	while (!r && json_item(reader))
		r = read_step(arena, reader, words, err);
	return r ? r : reader->failed ? refuse(reader, err) : 0;
}

static int read_plan(struct arena *arena, struct json_reader *reader, struct words *words, struct err *err)
{
	char key[32];
	bool found = false;
	int r = 0;

	if (!json_enter(reader, '{')) {
		found = true;
		r = read_steps(arena, reader, words, err);
	} else {
		while (!r && json_key(reader, key, sizeof(key))) {
			if (strcmp(key, "plan")) {
				json_skip(reader);
			} else {
				found = true;
				r = read_steps(arena, reader, words, err);
			}
			if (reader->failed)
				break;
		}
	}
	if (!r && (!found || !json_end_of_text(reader)))
		r = refuse(reader, err);
	return r;
}

static bool says_whom(const char *option)
{
	static const char *const whom[] = { "all", "pid", "tid", "cpu", "cgroup", "user" };

	for (size_t i = 0; i < sizeof(whom) / sizeof(*whom); i++)
		if (!strcmp(option, whom[i]))
			return true;
	return false;
}

static void merge(struct arena *arena, const struct options *planned, const struct options *given, struct options *ret_merged)
{
	struct option_value *values = arena_array(arena, struct option_value, planned->value_count + given->value_count + 1);
	/* a command says whom, and for how long; the planned processes were another run's */
	bool whom = given->argument_count > 0;
	size_t count = 0;

	for (size_t i = 0; i < given->value_count; i++)
		whom |= says_whom(given->values[i].spec->name);
	for (size_t i = 0; i < planned->value_count; i++) {
		const char *name = planned->values[i].spec->name;
		bool of_run = given->argument_count && !strcmp(name, "duration");

		if (!options_has(given, name) && !of_run && (!(whom && says_whom(name)) || !strcmp(name, "all")))
			values[count++] = planned->values[i];
	}
	for (size_t i = 0; i < given->value_count; i++)
		values[count++] = given->values[i];
	*ret_merged = *given;
	ret_merged->values = values;
	ret_merged->value_count = count;
}

int plan_merge(struct arena *arena, const char *path, const struct option_spec *specs, const struct option_rule *rules,
	       const struct options *given, struct options *ret_merged, struct err *err)
{
	struct words words = { 0 };
	struct json_reader reader;
	struct options planned, merged;
	struct buf text;
	int r;

	buf_init(&text);
	r = read_all(path, &text, err);
	json_reader_init(&reader, buf_str(&text), text.length);
	if (!r)
		r = read_plan(arena, &reader, &words, err);
	if (!r)
		r = options_parse(arena, specs, false, words.count, words.items, &planned, err);
	buf_done(&text);
	if (r)
		return err_prefix(err, "'%s'", path);
	r = options_check(&planned, rules, err);
	if (r)
		return r;
	merge(arena, &planned, given, &merged);
	r = options_check(&merged, rules, err);
	if (!r)
		*ret_merged = merged;
	return r;
}
