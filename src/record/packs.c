#include "record/packs.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/call_shape.h"
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

	if (at)
		return arena_printf(arena, "%.*s%s%s", (int)(at - target), target, program, at + strlen(word));
	/* a pattern, of a program with several versions: the last one */
	const char *file = strncmp(target, "usdt:", 5) ? target : target + 5;
	size_t length = strcspn(file, ":");
	glob_t found;

	if (!memchr(file, '*', length) || glob(arena_strndup(arena, file, length), 0, NULL, &found))
		return target;
	target = arena_printf(arena, "%.*s%s%s", (int)(file - target), target, found.gl_pathv[found.gl_pathc - 1], file + length);
	globfree(&found);
	return target;
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
	char *words = arena_strndup(arena, mark + 1, strcspn(mark + 1, "%")), *colon = strchr(words, ':');
	size_t length = strlen(words) + 1;
	if (colon)
		*colon = 0;
	section = elf_file_section(&elf, ".note.stapsdt");
	bool found = section && elf_file_copy_section(&elf, section, &notes, &bytes, NULL) == 0 && memmem(notes, bytes, words, length);
	free(notes);
	elf_file_close(&elf);
	return found;
}

/* ---- calls back, found by how their code looks ---- */

#define FARTHER_MOST 8u   /* instructions */

static const struct shape_value *value_called(const struct call_shape *shape, const char *name, size_t length)
{
	static const char *const names[] = { "target", "object" };
	const struct shape_value *values[] = { &shape->target, &shape->object };

	if (length == 4 && !memcmp(name, "arg", 3) && name[3] >= '1' && name[3] < '1' + SHAPE_ARGUMENTS)
		return &shape->arguments[name[3] - '1'];
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == length && !memcmp(names[i], name, length))
			return values[i];
	return NULL;
}

/* "%fields=r15,[rsp+48]" for "arg1,arg2", which are what is read, and "%text=" for a text; NULL where not all
 * of them can be had. */
static const char *shape_fields(struct arena *arena, const struct rule *rule, const struct call_shape *shape)
{
	const char *text = "";

	for (const char *at = rule->reads; *at;) {
		size_t length = strcspn(at, ",");
		const struct shape_value *value = value_called(shape, at, length);
		const char *place = value ? shape_value_text(arena, value, rule->behind) : NULL;

		if (!place)
			return NULL;
		text = arena_printf(arena, "%s%s%s", text, text[0] ? "," : "%fields=", place);
		at += length + (at[length] == ',');
	}
	if (rule->reads_text[0]) {
		const struct shape_value *value = value_called(shape, rule->reads_text, strlen(rule->reads_text));
		const char *place = value ? shape_value_text(arena, value, rule->behind) : NULL;

		/* the object's functions, its type information before them, the name there */
		text = place ? arena_printf(arena, rule->reads_class ? "%s%%text=[[[%s]-8]+8]" : "%s%%text=%s", text, place) : NULL;
	}
	return text;
}

/* What looks alike but has not all that a probe of the same calls reads is another call back: an end is
 * placed where its beginning is, and the other way round. */
static bool is_meant(struct arena *arena, const struct rules *pack, const struct rule *rule, const struct call_shape *shape)
{
	for (size_t i = 0; i < rules_count(pack); i++) {
		const struct rule *other = rules_at(pack, i);

		if (other->kind == RULE_probe && other->around && !strcmp(other->around, rule->around) && !strcmp(other->target, rule->target) &&
		    !shape_fields(arena, other, shape))
			return false;
	}
	return true;
}

/* Where nothing is read: the next place on the way where a hit costs less. What comes there by another way meets no callback that
 * is open, which the graph counts and passes over. */
static uint64_t cheaper_behind(struct code *code, uint64_t behind)
{
	const struct instruction *in;
	uint64_t at = behind;

	for (unsigned i = 0; i < FARTHER_MOST && (in = code_at(code, at)) && !in->emulated && in->kind == INSTRUCTION_plain; i++)
		at += in->length;
	in = code_at(code, at);
	return in && in->emulated ? at : behind;
}

/* A probe at each place of the file that looks as the rule says; `file` as we reach it. */
static int place_shapes(struct arena *arena, const struct rules *pack, const struct rule *rule, const char *file, struct probe_points *points,
			struct err *err)
{
	const char *function = rule->target + strcspn(rule->target, ":"), *comma = strchr(rule->around, ','), *path;
	uint64_t within, first, second;
	struct call_shapes shapes = { 0 };
	struct code *code;
	int r = probe_points_file(arena, file, &path, err);

	if (!r)
		r = probe_points_code(arena, points, path, path, &code, err);
	if (r)
		return r;
	function += *function == ':';
	within = *function && !code_find(code, function, &within, NULL) ? within : 0;
	first = call_shape_function(code, arena_strndup(arena, rule->around, strcspn(rule->around, ",")));
	second = comma ? call_shape_function(code, comma + 1) : 0;
	if (comma && (first || comma == rule->around) && (second || !comma[1]) && (within || (!*function && first)))
		call_shapes_find(code, within, first, second, &shapes);
	points->same_names = true;
	for (size_t i = 0; i < shapes.length && !r; i++) {
		const struct call_shape *shape = &shapes.items[i];
		bool again = !is_meant(arena, pack, rule, shape);

		r = probe_points_code(arena, points, path, path, &code, err);
		if (r)
			break;
		/* several ways may come together behind the call */
		for (size_t k = 0; k < i && rule->behind; k++)
			again |= shapes.items[k].behind == shape->behind && is_meant(arena, pack, rule, &shapes.items[k]);
		if (!again && rule->behind && !rule->reads[0] && !rule->reads_text[0])
			shapes.items[i].behind = cheaper_behind(code, shape->behind);
		if (!again)
			r = probe_points_add(arena, points, arena_printf(arena, "%s=%s:0x%" PRIx64 "%s", rule->name, path,
									 rule->behind ? shape->behind : shape->before,
									 shape_fields(arena, rule, shape)), err);
	}
	points->same_names = false;
	vec_done(&shapes);
	return r;
}

/* One of them is placed for each build: all that are left out are. */
static const struct rule *find_unfit(const struct rules *pack, const struct probe_points *points, size_t before, const char *only_file)
{
	for (size_t i = 0; i < rules_count(pack); i++) {
		const struct rule *rule = rules_at(pack, i);
		bool placed = rule->kind != RULE_probe || (!rule->build[0] && !rule->around);

		if (!placed && only_file && strncmp(rule->target, only_file, strlen(only_file)) != 0)
			continue;
		for (size_t k = before; k < points->count && !placed; k++)
			placed = !strcmp(points->items[k].name, rule->name);
		if (!placed)
			return rule;
	}
	return NULL;
}

/* ---- which are turned off together ---- */

static void join_named(struct probe_points *points, size_t before, uint32_t group, const char *name)
{
	for (size_t i = before; i < points->count; i++) {
		uint32_t old = points->items[i].group;

		for (size_t k = before; k < points->count && !strcmp(points->items[i].name, name); k++)
			if (points->items[k].group == old)
				points->items[k].group = group;
	}
}

/* A callback's begin without its end would tell lies: the probes of each boundary are one group. */
static void join_groups(const struct rules *pack, const char *name, struct probe_points *points, size_t before)
{
	for (size_t i = before; i < points->count; i++) {
		points->items[i].pack = name;
		points->items[i].group = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < rules_count(pack); i++) {
		const struct rule *rule = rules_at(pack, i);

		if (rule->kind != RULE_boundary || !rule->probe || !rule->end_probe)
			continue;
		/* numbers that no probe has: each boundary's own, until another one shares a probe with it */
		join_named(points, before, (uint32_t)(points->count + i) + 1, rule->probe);
		join_named(points, before, (uint32_t)(points->count + i) + 1, rule->end_probe);
	}
}

/* Several functions that do the same have one probe's name. */
static bool is_named_before(const struct rules *pack, size_t rule)
{
	for (size_t i = 0; i < rule; i++)
		if (rules_at(pack, i)->kind == RULE_probe && !strcmp(rules_at(pack, i)->name, rules_at(pack, rule)->name))
			return true;
	return false;
}

/* ---- placing ---- */

static struct pack_unfit unfit_of(struct arena *arena, const struct rule *rule, const char *file)
{
	char build[65];

	build_of(arena, arena_printf(arena, "%s:", file), build);
	return (struct pack_unfit){ .probe = arena_strdup(arena, rule->name), .build = arena_strdup(arena, build), .file = arena_strdup(arena, file) };
}

int packs_place(struct arena *arena, const struct rules *pack, const char *name, const char *program, struct probe_points *points,
		struct pack_unfit *ret_unfit, struct err *err)
{
	const struct rule *unfit;
	size_t before = points->count;
	char build[65];
	int r = 0;

	*ret_unfit = (struct pack_unfit){ 0 };
	for (size_t i = 0; i < rules_count(pack) && !r; i++) {
		const struct rule *rule = rules_at(pack, i);

		if (rule->kind != RULE_probe)
			continue;
		if (strstr(rule->target, "$FILE") && !program) {
			r = err_set(err, -EINVAL, "it needs the program or library that it is for: NAME=FILE");
			break;
		}
		const char *target = target_for(arena, rule->target, program);
		build_of(arena, target, build);
		if ((rule->build[0] && strcmp(rule->build, build)) || (!strncmp(target, "usdt:", 5) && !has_mark(arena, target)))
			continue;
		points->same_names = is_named_before(pack, i);
		r = rule->around ? place_shapes(arena, pack, rule, arena_strndup(arena, target, strcspn(target, ":")), points, err)
				 : probe_points_add(arena, points, arena_printf(arena, "%s=%s", rule->name, target), err);
	}
	points->same_names = false;
	unfit = r ? NULL : find_unfit(pack, points, before, NULL);
	if (unfit)
		*ret_unfit = unfit_of(arena, unfit, arena_strndup(arena, unfit->target, strcspn(unfit->target, ":")));
	join_groups(pack, arena_strdup(arena, name), points, before);
	return r;
}

const char *pack_unfit_words(struct arena *arena, const struct pack_unfit *unfit)
{
	return arena_printf(arena, "it does not know this build of %s (%s): without its probe %s", unfit->file,
			    unfit->build[0] ? unfit->build : "it is not here, or has no build-id", unfit->probe);
}

/* ---- copies that processes have mapped ---- */

/* The name is that of another file's, too. */
static void add_again(struct arena *arena, struct probe_points *points, const char *text)
{
	points->same_names = true;
	probe_points_add(arena, points, text, NULL);
	points->same_names = false;
}

static void place_copy(struct arena *arena, const struct rules *pack, const char *name, const char *library, const char *path,
		       struct probe_points *points, struct buf *unfit)
{
	size_t before = points->count;
	const struct rule *left_out;
	char build[65];

	build_of(arena, arena_printf(arena, "%s:", path), build);
	for (size_t i = 0; i < rules_count(pack); i++) {
		const struct rule *rule = rules_at(pack, i);
		size_t length = strlen(library);

		if (rule->kind != RULE_probe || strncmp(rule->target, library, length) != 0 || rule->target[length] != ':' ||
		    (rule->build[0] && strcmp(rule->build, build) != 0))
			continue;
		if (rule->around)
			place_shapes(arena, pack, rule, path, points, NULL);
		else
			add_again(arena, points, arena_printf(arena, "%s=%s%s", rule->name, path, rule->target + length));
	}
	for (size_t i = before; i < points->count; i++)
		points->items[i].optional = true; /* its process may end before it is placed */
	join_groups(pack, name, points, before);
	left_out = find_unfit(pack, points, before, library);
	if (left_out) {
		struct pack_unfit words = unfit_of(arena, left_out, path);

		buf_printf(unfit, "%spack %s: %s", unfit->length ? "\n" : "", name, pack_unfit_words(arena, &words));
	}
}

/* The library that a probe is in, NULL where its name is not that of one. */
static const char *library_of(struct arena *arena, const struct rule *rule)
{
	const char *library;

	if (rule->kind != RULE_probe || strchr(rule->target, '$') || !strncmp(rule->target, "usdt:", 5) ||
	    !strncmp(rule->target, "tracepoint:", 11))
		return NULL;
	library = arena_strndup(arena, rule->target, strcspn(rule->target, ":"));
	return strchr(library, '/') ? NULL : library;
}

void packs_libraries(struct arena *arena, const struct rules *pack, struct mapped_libraries *libraries)
{
	for (size_t i = 0; i < rules_count(pack); i++) {
		const char *library = library_of(arena, rules_at(pack, i));

		if (library)
			mapped_libraries_add(libraries, library);
	}
}

void packs_place_mapped(struct arena *arena, const struct rules *pack, const char *name, const struct mapped_libraries *libraries,
			struct probe_points *points, struct buf *unfit)
{
	struct mapped_libraries own = { 0 };

	name = arena_strdup(arena, name);
	packs_libraries(arena, pack, &own);
	for (size_t i = 0; i < own.names.length; i++) {
		size_t number = mapped_libraries_name(libraries, own.names.items[i]);

		for (size_t k = 0; k < libraries->copies.length; k++) {
			const struct mapped_copy *copy = &libraries->copies.items[k];

			if (copy->library == number && copy->path[0])
				place_copy(arena, pack, name, own.names.items[i], arena_strdup(arena, copy->path), points, unfit);
		}
	}
	mapped_libraries_done(&own);
}
