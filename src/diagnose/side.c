/* Threads and places in terms that hold in another trace, see side.h. */
#include "diagnose/side.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define GENERATIONS 4
#define STACKS_TRIED 64
#define MAX_FRAMES 512

void side_init(struct side *side, const struct scene *scene, struct names *names)
{
	*side = (struct side){ .scene = scene, .names = names };
	map_init(&side->places);
}

void side_done(struct side *side)
{
	free(side->roles);
	flag_writes_free(side->flags);
	map_done(&side->places);
	*side = (struct side){ 0 };
}

const struct flag_writes *side_flags(struct side *side)
{
	if (!side->flags)
		side->flags = flag_writes_new(side->scene);
	return side->flags;
}

static uint64_t hash_text(const char *text)
{
	return text[0] ? hash_bytes(text, strlen(text)) | 1 : 0;
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "worker-12" and "worker-7" are of one kind. */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = 1;

	for (; *name; name++) {
		bool digit = isdigit((unsigned char)*name);

		if (!digit || !isdigit((unsigned char)name[1]))
			hash = hash_u64(hash ^ (digit ? '#' : (uint64_t)(unsigned char)*name));
	}
	return hash | 1;
}

/* ---- places ---- */

static uint64_t frame_place(struct side *side, uint32_t node)
{
	const struct frame *frame = &side->scene->tables->frames[node];

	if (side->names) {
		const struct name *name = names_frame(side->names, node);

		return hash_text(name->module) ^ hash_text(name->function[0] ? name->function : name->text);
	}
	return hash_u64(frame->address) ^
	       (frame->module < side->scene->tables->module_count ? hash_text(file_of(side->scene->tables->modules[frame->module].path))
								 : frame->module);
}

uint64_t side_stack_place(struct side *side, uint32_t stack)
{
	const struct tables *tables = side->scene->tables;
	uint32_t path[MAX_FRAMES];
	unsigned depth = 0;
	uint64_t place = 1;

	/* From the outside in, from the outermost frame that is not known yet. */
	for (uint32_t node = stack; node && node < tables->frame_count && depth < MAX_FRAMES; node = tables->frames[node].parent) {
		const uint64_t *known = map_find(&side->places, node);

		if (known) {
			place = *known;
			break;
		}
		path[depth++] = node;
	}
	if (!stack || stack >= tables->frame_count)
		return 0;
	while (depth) {
		place = hash_u64(place ^ frame_place(side, path[--depth])) | 1;
		map_put(&side->places, path[depth], place);
	}
	return place;
}

/* ---- roles ---- */

static bool is_entry(const struct name *name)
{
	return !name->function[0] ? !strncmp(name->module, "libc", 4) || !strncmp(name->module, "ld-", 3)
				  : strstr(name->function, "libc_start") || !strcmp(name->function, "_start") ||
					    !strcmp(name->function, "start_thread") || !strncmp(name->function, "clone", 5) ||
					    !strcmp(name->function, "__clone3");
}

/* The function that the thread was started with: the outermost of a stack that was
 * walked to its end, the C library's own aside. What lies inside it changes with
 * what the thread does. */
static uint64_t start_of(struct side *side, uint32_t stack)
{
	const struct tables *tables = side->scene->tables;
	uint64_t start = 0;

	for (uint32_t node = stack; node && node < tables->frame_count; node = tables->frames[node].parent) {
		if (tables->frames[node].status)
			return 0;
		if (!side->names || !is_entry(names_frame(side->names, node)))
			start = frame_place(side, node) | 1;
	}
	return start;
}

static uint64_t find_start(struct side *side, uint32_t thread)
{
	const struct scene_thread *t = &side->scene->threads[thread];
	uint64_t start = 0;

	scene_need_waits(side->scene, thread);
	for (uint32_t i = 0; !start && i < t->wait_count && i < STACKS_TRIED; i++)
		start = start_of(side, side->scene->waits[t->wait + i].ustack);
	for (uint32_t i = 0; !start && i < t->samples.count && i < STACKS_TRIED; i++)
		start = start_of(side, side->scene->samples[t->samples.items[i]].ustack);
	return start;
}

const struct role *side_role(struct side *side, uint32_t thread)
{
	const struct tables *tables = side->scene->tables;
	const struct thread *t = &tables->threads[thread];
	uint32_t creator = t->creator;
	struct role *role;

	if (!side->roles)
		side->roles = mem_zalloc(arena_array_bytes(sizeof(*side->roles), side->scene->thread_count));
	role = &side->roles[thread];
	if (role->known)
		return role;
	role->known = true;
	role->leader = t->tid == t->pid;
	role->program = t->exe[0] ? hash_text(file_of(t->exe)) : 0;
	if (!role->program) {
		uint32_t leader = tables_process(tables, t->pid, t->start_ns ? t->start_ns : side->scene->start_ns);

		role->program = hash_name(tables->threads[leader ? leader : thread].comm);
	}
	role->name = hash_name(t->comm);
	role->command = hash_text(t->command);
	role->start = find_start(side, thread);
	for (unsigned i = 0; creator && i < GENERATIONS; i++, creator = tables->threads[creator].creator)
		role->creation = hash_u64(role->creation ^ hash_name(tables->threads[creator].comm)) | 1;
	return role;
}

/* ---- counterparts ---- */

/* How much of two command lines agrees, word by word, folders aside: 0 to 30. */
static unsigned match_commands(const char *a, const char *b)
{
	unsigned words = 0, same = 0;

	while (*a || *b) {
		size_t m = strcspn(a, " "), n = strcspn(b, " "), i = m, j = n;

		while (i && a[i - 1] != '/')
			i--;
		while (j && b[j - 1] != '/')
			j--;
		words++;
		same += m && m - i == n - j && !memcmp(a + i, b + j, m - i);
		a += m + (a[m] == ' ');
		b += n + (b[n] == ' ');
	}
	return words ? 30 * same / words : 0;
}

/* A process's first thread tells whether both run the same thing: by the command
 * line where both are known, else by what started them and how. */
static unsigned match_processes(struct side *now, uint32_t leader, struct side *base, uint32_t base_leader)
{
	const struct thread *a = &now->scene->tables->threads[leader], *b = &base->scene->tables->threads[base_leader];
	const struct role *x, *y;

	if (now == base && leader == base_leader)
		return 40;
	if (a->exe[0] && b->exe[0] ? strcmp(file_of(a->exe), file_of(b->exe)) != 0 : hash_name(a->comm) != hash_name(b->comm))
		return 0;
	x = side_role(now, leader);
	y = side_role(base, base_leader);
	/* Where its stacks begin tells nothing: now in the loader, now in the program. */
	if (x->name != y->name)
		return 0;
	if (x->command && y->command)
		return x->command == y->command ? 31 : now != base ? 1 + match_commands(a->command, b->command) : 0;
	return now != base || (x->creation && x->creation == y->creation) ? 20 : 0;
}

unsigned side_match(struct side *now, uint32_t thread, struct side *base, uint32_t base_thread)
{
	const struct thread *a = &now->scene->tables->threads[thread], *b = &base->scene->tables->threads[base_thread];
	const struct role *x, *y;
	uint32_t leader, base_leader;
	unsigned match;

	if (now == base && thread == base_thread)
		return SIDE_MATCH_SELF;
	/* What is cheap first: a start needs symbols. */
	if ((a->tid == a->pid) != (b->tid == b->pid) ||
	    (a->flags & TASK_FLAGS_kernel_thread) != (b->flags & TASK_FLAGS_kernel_thread) ||
	    (a->exe[0] && b->exe[0] && strcmp(file_of(a->exe), file_of(b->exe))))
		return 0;
	leader = a->tid == a->pid ? thread : tables_process(now->scene->tables, a->pid, a->start_ns ? a->start_ns : now->scene->start_ns);
	base_leader = b->tid == b->pid ? base_thread
		    : tables_process(base->scene->tables, b->pid, b->start_ns ? b->start_ns : base->scene->start_ns);
	match = match_processes(now, leader, base, base_leader);
	if (!match || a->tid == a->pid)
		return match;
	x = side_role(now, thread);
	y = side_role(base, base_thread);
	/* Neither the name nor the start says that they are alike, or one speaks against it. */
	if ((x->start && y->start && x->start != y->start) || (x->name != y->name && (!x->start || !y->start)))
		return 0;
	match += x->start && x->start == y->start ? 20 : 0;
	match += x->name == y->name ? 20 : 0;
	return match + (x->creation && x->creation == y->creation ? 10 : 0);
}

/* Place of the thread among those of its process with the same name. */
static unsigned place_among_like(struct side *side, uint32_t thread)
{
	const struct tables *tables = side->scene->tables;
	uint64_t name = hash_name(tables->threads[thread].comm);
	unsigned place = 0;

	for (uint32_t i = 1; i < thread; i++)
		place += tables->threads[i].pid == tables->threads[thread].pid && hash_name(tables->threads[i].comm) == name;
	return place;
}

struct ranked {
	struct counterpart counterpart;
	unsigned distance;
};

static int better(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->counterpart.match != y->counterpart.match)
		return x->counterpart.match > y->counterpart.match ? -1 : 1;
	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return x->counterpart.thread < y->counterpart.thread ? -1 : x->counterpart.thread > y->counterpart.thread;
}

#define RANKED_MAX 1024

static unsigned rank(struct side *now, uint32_t thread, struct side *base, uint64_t from, uint64_t to, struct ranked *ranked)
{
	unsigned count = 0, place = place_among_like(now, thread);

	for (uint32_t i = 1; i < base->scene->thread_count && count < RANKED_MAX; i++) {
		const struct thread *t = &base->scene->tables->threads[i];
		unsigned match, other;

		if (to && (t->start_ns >= to || t->end_ns <= from))
			continue;
		match = side_match(now, thread, base, i);
		if (!match)
			continue;
		other = place_among_like(base, i);
		ranked[count++] = (struct ranked){ { i, match }, place > other ? place - other : other - place };
	}
	qsort(ranked, count, sizeof(*ranked), better);
	return count;
}

unsigned side_counterparts(struct side *now, uint32_t thread, struct side *base, struct counterpart *counterparts, unsigned limit)
{
	struct ranked *ranked = mem_alloc(RANKED_MAX * sizeof(*ranked));
	unsigned count = rank(now, thread, base, 0, 0, ranked);

	if (count > limit)
		count = limit;
	for (unsigned i = 0; i < count; i++)
		counterparts[i] = ranked[i].counterpart;
	free(ranked);
	return count;
}

uint32_t side_counterpart(struct side *now, uint32_t thread, struct side *base, uint64_t from_ns, uint64_t to_ns)
{
	struct ranked *ranked = mem_alloc(RANKED_MAX * sizeof(*ranked));
	uint32_t found = rank(now, thread, base, from_ns, to_ns, ranked) ? ranked[0].counterpart.thread : 0;

	free(ranked);
	return found;
}

