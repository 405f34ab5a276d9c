#include "record/packs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf_file.h"

/* The build-id of the file that a probe's place names; "" unknown. */
static void build_of(struct arena *arena, const char *place, char text[65])
{
	const char *path;
	struct elf_file file;

	text[0] = 0;
	if (probe_points_file(arena, arena_strndup(arena, place, strcspn(place, ":")), &path, NULL) < 0 ||
	    elf_file_open(path, &file, NULL) < 0)
		return;
	elf_file_build_id_text(&file, text);
	elf_file_close(&file);
}

/* A target of a pack for the program that was given with it. */
static const char *target_for(struct arena *arena, const char *target, const char *program)
{
	static const char word[] = "$FILE";
	const char *at = strstr(target, word);

	return at ? arena_printf(arena, "%.*s%s%s", (int)(at - target), target, program, at + strlen(word)) : target;
}

/* Whether the file has the mark: a program uses those that it needs. */
static bool has_mark(struct arena *arena, const char *target)
{
	const char *file = target + strlen("usdt:"), *mark = strchr(file, ':'), *path;
	const Elf64_Shdr *section;
	struct elf_file elf;
	void *notes = NULL;
	size_t bytes = 0;

	if (!mark || probe_points_file(arena, arena_strndup(arena, file, (size_t)(mark - file)), &path, NULL) < 0 ||
	    elf_file_open(path, &elf, NULL) < 0)
		return true; /* whoever places it says what is wrong */
	char *words = arena_strdup(arena, mark + 1), *colon = strchr(words, ':');
	size_t length = strlen(words) + 1;
	if (colon)
		*colon = 0;
	section = elf_file_section(&elf, ".note.stapsdt");
	bool found = section && elf_file_copy_section(&elf, section, &notes, &bytes, NULL) == 0 && memmem(notes, bytes, words, length);
	free(notes);
	elf_file_close(&elf);
	return found;
}

static const char *find_unfit(const struct rules *pack, size_t index, const struct probe_points *points, size_t before)
{
	const struct rule *rule = rules_at(pack, index);
	bool placed = rule->kind != RULE_probe || !rule->build[0];

	for (size_t i = before; i < points->count && !placed; i++)
		placed = !strcmp(points->items[i].name, rule->name);
	return placed ? NULL : rule->target;
}

int packs_place(struct arena *arena, const struct rules *pack, const char *program, struct probe_points *points,
		struct pack_unfit *ret_unfit, struct err *err)
{
	size_t before = points->count;
	char build[65];
	int r = 0;

	*ret_unfit = (struct pack_unfit){ 0 };
	for (size_t i = 0; i < rules_count(pack) && !r; i++) {
		const struct rule *rule = rules_at(pack, i);

		if (rule->kind != RULE_probe)
			continue;
		if (strstr(rule->target, "$FILE") && !program)
			return err_set(err, -EINVAL, "it wants the program or library that it is about: NAME=FILE");
		const char *target = target_for(arena, rule->target, program);
		build_of(arena, target, build);
		if ((rule->build[0] && strcmp(rule->build, build)) || (!strncmp(target, "usdt:", 5) && !has_mark(arena, target)))
			continue;
		r = probe_points_add(arena, points, arena_printf(arena, "%s=%s", rule->name, target), err);
	}
	for (size_t i = 0; i < rules_count(pack) && !r && !ret_unfit->probe; i++) {
		const char *target = find_unfit(pack, i, points, before);

		if (!target)
			continue;
		build_of(arena, target, build);
		*ret_unfit = (struct pack_unfit){ .probe = arena_strdup(arena, rules_at(pack, i)->name), .build = arena_strdup(arena, build),
						  .file = arena_strndup(arena, target, strcspn(target, ":")) };
	}
	return r;
}
