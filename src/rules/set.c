/* Rule sets: life cycle, files, built-in packs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rules/set.h"

#define MAX_FILE_BYTES (4u << 20)

struct rules *rules_new(void)
{
	struct rules *rules = mem_zalloc(sizeof(*rules));

	arena_init(&rules->arena);
	return rules;
}

void rules_free(struct rules *rules)
{
	if (!rules)
		return;
	vec_done(&rules->list);
	arena_done(&rules->arena);
	free(rules);
}

int rules_add_file(struct rules *rules, const char *path, rules_mechanism_find *mechanism_find, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code = 0;
	size_t used = 0;
	struct stat st;
	char *text;

	if (fd < 0)
		return err_sys(err, -errno, "cannot open the rules '%s'", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > MAX_FILE_BYTES) {
		close(fd);
		return err_set(err, -EINVAL, "'%s' is not a file of rules (a regular file of at most 4 MiB)", path);
	}
	text = mem_alloc((size_t)st.st_size + 1);
	while (used < (size_t)st.st_size) {
		ssize_t got = read(fd, text + used, (size_t)st.st_size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			code = err_sys(err, -errno, "cannot read '%s'", path);
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	close(fd);
	if (!code)
		code = rules_add_text(rules, path, text, used, mechanism_find, err);
	free(text);
	return code;
}

int rules_add_default(struct rules *rules, rules_mechanism_find *mechanism_find, struct err *err)
{
	for (size_t i = 0; i < rules_pack_count; i++)
		if (!strcmp(rules_packs[i].name, "default"))
			return rules_add_text(rules, "default.rules", rules_packs[i].text, rules_packs[i].length,
					      mechanism_find, err);
	return err_set(err, -ENOENT, "the default rules are not built in");
}

int rules_add_pack(struct rules *rules, const char *name, rules_mechanism_find *mechanism_find, struct err *err)
{
	for (size_t i = 0; i < rules_pack_count; i++)
		if (!strcmp(rules_packs[i].name, name))
			return rules_add_text(rules, name, rules_packs[i].text, rules_packs[i].length, mechanism_find, err);
	return err_set(err, -ENOENT, "there is no pack '%s'", name);
}

size_t rules_count(const struct rules *rules)
{
	return rules->list.length;
}

const struct rule *rules_at(const struct rules *rules, size_t index)
{
	return &rules->list.items[index];
}
