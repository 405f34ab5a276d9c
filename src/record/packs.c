#include "record/packs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/call_shape.h"
#include "record/proc_maps.h"
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

static const struct shape_value *value_called(const struct call_shape *shape, const char *name, size_t length)
{
	static const char *const names[] = { "arg1", "arg2", "arg3", "target", "object" };
	const struct shape_value *values[] = { &shape->arguments[0], &shape->arguments[1], &shape->arguments[2], &shape->target, &shape->object };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == length && !memcmp(names[i], name, length))
			return values[i];
	return NULL;
}

/* "r15,[rsp+48]" for "arg1,arg2", which are what is read; NULL where not all of them can be had. */
static const char *shape_fields(struct arena *arena, const char *reads, bool behind, const struct call_shape *shape)
{
	const char *text = "";

	for (const char *at = reads; *at;) {
		size_t length = strcspn(at, ",");
		const struct shape_value *value = value_called(shape, at, length);
		const char *place = value ? shape_value_text(arena, value, behind) : NULL;

		if (!place)
			return NULL;
		text = arena_printf(arena, "%s%s%s", text, text[0] ? "," : "", place);
		at += length + (at[length] == ',');
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
		    !shape_fields(arena, other->reads, other->behind, shape))
			return false;
	}
	return true;
}

/* The function of this name; 0 for none. */
static uint64_t function_in(struct code *code, struct arena *arena, const char *name, size_t length)
{
	uint64_t start;

	return length && !code_find(code, arena_strndup(arena, name, length), &start, NULL) ? start : 0;
}

/* A probe at each place of the file that looks as the rule says; `file` as we reach it. */
static int place_shapes(struct arena *arena, const struct rules *pack, const struct rule *rule, const char *file,
			struct probe_points *points, struct err *err)
{
	const char *function = rule->target + strcspn(rule->target, ":"), *comma = strchr(rule->around, ','), *path;
	uint64_t within, first, second;
	struct call_shapes shapes = { 0 };
	struct elf_file elf;
	struct code code;
	int r = probe_points_file(arena, file, &path, err);

	function += *function == ':';
	if (!r)
		r = elf_file_open(path, &elf, err);
	if (r)
		return r;
	code_open(&code, elf, path);
	within = function_in(&code, arena, function, strlen(function));
	first = function_in(&code, arena, rule->around, comma ? (size_t)(comma - rule->around) : 0);
	second = comma ? function_in(&code, arena, comma + 1, strlen(comma + 1)) : 0;
	if (first && second && (within || !*function))
		call_shapes_find(&code, within, first, second, &shapes);
	points->same_names = true;
	for (size_t i = 0; i < shapes.length && !r; i++) {
		const struct call_shape *shape = &shapes.items[i];
		bool again = !is_meant(arena, pack, rule, shape);

		/* several ways may come together behind the call */
		for (size_t k = 0; k < i && rule->behind; k++)
			again |= shapes.items[k].behind == shape->behind && is_meant(arena, pack, rule, &shapes.items[k]);
		if (!again)
			r = probe_points_add(arena, points, arena_printf(arena, "%s=%s:0x%" PRIx64 "%%fields=%s", rule->name, path,
									 rule->behind ? shape->behind : shape->before,
									 shape_fields(arena, rule->reads, rule->behind, shape)), err);
	}
	points->same_names = false;
	vec_done(&shapes);
	code_close(&code);
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
		if (strstr(rule->target, "$FILE") && !program)
			return err_set(err, -EINVAL, "it needs the program or library that it is for: NAME=FILE");
		const char *target = target_for(arena, rule->target, program);
		build_of(arena, target, build);
		if ((rule->build[0] && strcmp(rule->build, build)) || (!strncmp(target, "usdt:", 5) && !has_mark(arena, target)))
			continue;
		r = rule->around ? place_shapes(arena, pack, rule, arena_strndup(arena, target, strcspn(target, ":")), points, err)
				 : probe_points_add(arena, points, arena_printf(arena, "%s=%s", rule->name, target), err);
	}
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

#define COPIES_MOST 32u     /* of one library */
#define SEARCH_MS 1500

struct copy {
	uint64_t device, inode;
	char path[80];             /* as we reach it */
};

struct search {
	struct arena *arena;
	const char *library;       /* "libx.so.0" */
	struct copy copies[COPIES_MOST];
	size_t count;
	pid_t pid;
	int told_to;               /* a pipe that gets each copy as it is found */
};

/* "libx.so.0" is also called "libx.so.0.7.1"; one that was replaced has gone from its folder. */
static bool is_called(const char *path, const char *library)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	size_t length = strlen(library);

	return !strncmp(file, library, length) && (!file[length] || file[length] == '.' || file[length] == ' ');
}

static void see_mapping(void *data, const struct module_source *source)
{
	struct search *s = data;

	struct copy copy = { source->device, source->inode, "" };
	struct stat st;

	if (s->count == COPIES_MOST || !source->path || !is_called(source->path, s->library))
		return;
	snprintf(copy.path, sizeof(copy.path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)s->pid, source->start, source->end);
	/* what maps say of the device differs from stat's on some file systems */
	if (!stat(copy.path, &st))
		copy.device = st.st_dev, copy.inode = st.st_ino;
	for (size_t i = 0; i < s->count; i++)
		if (s->copies[i].inode == copy.inode && s->copies[i].device == copy.device)
			return;
	s->copies[s->count++] = copy;
	if (write(s->told_to, &copy, sizeof(copy)) < 0)
		_exit(1); /* nobody listens any more */
}

static void search_processes(struct search *s)
{
	DIR *folder = opendir("/proc");

	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		s->pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (s->pid > 0)
			proc_maps_read(s->pid, see_mapping, s);
	}
	if (folder)
		closedir(folder);
}

/* In a child: reading the mappings of a process whose memory is locked up can last for ever. What
 * it found until then is had. */
static void search_in_child(struct search *s)
{
	size_t bytes = 0;
	struct copy found[COPIES_MOST];
	struct pollfd ready = { .events = POLLIN };
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return;
	child = fork();
	if (child == 0) {
		s->told_to = ends[1];
		search_processes(s);
		_exit(0);
	}
	close(ends[1]);
	ready.fd = ends[0];
	bool ended = child < 0;
	while (!ended && poll(&ready, 1, SEARCH_MS) > 0) {
		ssize_t got = read(ends[0], (char *)found + bytes, sizeof(found) - bytes);

		ended = got <= 0;
		bytes += ended ? 0 : (size_t)got;
	}
	close(ends[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, ended ? 0 : WNOHANG); /* one that hangs is left behind */
	}
	for (size_t i = 0; i < bytes / sizeof(found[0]) && s->count < COPIES_MOST; i++)
		s->copies[s->count++] = found[i];
}

/* The file that is placed already is the first of the copies. */
static void note_placed(struct search *s)
{
	const char *path;
	struct stat st;

	if (probe_points_file(s->arena, s->library, &path, NULL) == 0 && stat(path, &st) == 0)
		s->copies[s->count++] = (struct copy){ st.st_dev, st.st_ino, "" };
}

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

void packs_place_mapped(struct arena *arena, const struct rules *pack, const char *name, struct probe_points *points, struct buf *unfit)
{
	name = arena_strdup(arena, name);
	for (size_t i = 0; i < rules_count(pack); i++) {
		const struct rule *rule = rules_at(pack, i);
		struct search search = { .arena = arena };
		bool seen = rule->kind != RULE_probe || strchr(rule->target, '$') || !strncmp(rule->target, "usdt:", 5) ||
			    !strncmp(rule->target, "tracepoint:", 11);

		if (!seen)
			search.library = arena_strndup(arena, rule->target, strcspn(rule->target, ":"));
		for (size_t k = 0; k < i && !seen; k++)
			seen = rules_at(pack, k)->kind == RULE_probe && !strncmp(rules_at(pack, k)->target, search.library, strlen(search.library));
		if (seen || strchr(search.library, '/'))
			continue;
		note_placed(&search);
		size_t placed = search.count;
		search_in_child(&search);
		for (size_t k = placed; k < search.count; k++)
			place_copy(arena, pack, name, search.library, arena_strdup(arena, search.copies[k].path), points, unfit);
	}
}
