/* See recording.h. */
#include "session/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "rules/rules.h"
#include "symbols/elf_file.h"

bool recording_full(const struct options *given)
{
	return !strcmp(options_text(given, "level", "lean"), "full");
}

int recording_ring(const struct options *given, uint64_t *ret_bytes, struct err *err)
{
	uint64_t bytes = options_number(given, "ring", 0);

	if (bytes & (bytes - 1))
		return err_set(err, -EINVAL, "--ring takes 1M, 2M, 4M and so on to 64M, not '%s'", options_text(given, "ring", ""));
	*ret_bytes = bytes;
	return 0;
}

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

/* What a pack wants that no build here has: its first probe that went nowhere. */
static void tell_unfit(struct arena *arena, struct sink *notes, const char *pack, const struct rules *rules, const struct probe_points *points)
{
	for (size_t i = 0; i < rules_count(rules); i++) {
		const struct rule *rule = rules_at(rules, i);
		bool placed = rule->kind != RULE_probe || !rule->build[0];
		char build[65];

		for (size_t j = 0; j < points->count && !placed; j++)
			placed = !strcmp(points->items[j].name, rule->name);
		if (placed)
			continue;
		build_of(arena, rule->target, build);
		sink_printf(notes, "pack %s: it does not know this build of %.*s (%s): without its probe %s\n", pack,
			    (int)strcspn(rule->target, ":"), rule->target, build[0] ? build : "it has no build-id, or is not here", rule->name);
		return;
	}
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

/* "NAME", "NAME=PROGRAM" or a file's path. */
static int add_pack(struct arena *arena, const char *given, struct sink *notes, struct probe_points *points, struct err *err)
{
	const char *equals = strchr(given, '='), *program = equals ? equals + 1 : NULL;
	const char *pack = arena_strndup(arena, given, equals ? (size_t)(equals - given) : strlen(given));
	struct rules *rules = rules_new();
	bool is_file = strchr(pack, '/') || strchr(pack, '.');
	size_t before = points->count;
	int r = is_file ? rules_add_file(rules, pack, mechanism_find, err) : rules_add_pack(rules, pack, mechanism_find, err);

	for (size_t i = 0; !r && i < rules_count(rules); i++) {
		const struct rule *rule = rules_at(rules, i);
		char build[65];

		if (rule->kind != RULE_probe)
			continue;
		if (strstr(rule->target, "$FILE") && !program) {
			r = err_set(err, -EINVAL, "--pack %s=FILE: it wants the program or library that it is about", pack);
			break;
		}
		const char *target = target_for(arena, rule->target, program);
		build_of(arena, target, build);
		if (rule->build[0] && strcmp(rule->build, build))
			continue;
		if (!strncmp(target, "usdt:", 5) && !has_mark(arena, target))
			continue;
		r = probe_points_add(arena, points, arena_printf(arena, "%s=%s", rule->name, target), err);
		if (r)
			r = err_prefix(err, "--pack %s", pack);
	}
	if (!r)
		tell_unfit(arena, notes, pack, rules, points);
	if (!r && points->count == before)
		r = err_set(err, -ENOENT, "--pack %s: none of its probes has a place here", given);
	rules_free(rules);
	return r;
}

int recording_probes(struct arena *arena, const struct options *given, struct sink *notes, const struct probe_points **ret_points,
		     struct err *err)
{
	struct probe_points *points = arena_new(arena, struct probe_points);
	const char *text;
	int r;

	*points = (struct probe_points){ 0 };
	for (size_t n = 0; (text = options_nth(given, "probe", n)); n++) {
		r = probe_points_add(arena, points, text, err);
		if (r)
			return r;
	}
	for (size_t n = 0; (text = options_nth(given, "pack", n)); n++) {
		r = add_pack(arena, text, notes, points, err);
		if (r)
			return r;
	}
	*ret_points = points->count ? points : NULL;
	return 0;
}

int recording_watch_specs(struct arena *arena, const char *const *texts, size_t count, const struct options *given,
			  struct watch_wishes **ret_wishes, struct err *err)
{
	struct watch_wishes *wishes = arena_new(arena, struct watch_wishes);
	struct watch_spec *specs = arena_array(arena, struct watch_spec, count);

	for (size_t i = 0; i < count; i++) {
		int r = watch_spec_parse(arena, texts[i], &specs[i], err);

		if (r)
			return r;
	}
	*wishes = (struct watch_wishes){ .specs = specs, .spec_count = count,
					 .limit = (uint32_t)options_number(given, "limit", WATCH_LIMIT) };
	*ret_wishes = wishes;
	return 0;
}

int recording_watches(struct arena *arena, const struct options *given, struct watch_wishes **ret_wishes, struct err *err)
{
	const char **texts;
	size_t count = 0;

	while (options_nth(given, "watch", count))
		count++;
	*ret_wishes = NULL;
	if (!count)
		return 0;
	texts = arena_array(arena, const char *, count);
	for (size_t i = 0; i < count; i++)
		texts[i] = options_nth(given, "watch", i);
	return recording_watch_specs(arena, texts, count, given, ret_wishes, err);
}
