/* See index.h. The file is a head, a list of sections and the sections, each at
 * a multiple of a page, so that it can be used where it is mapped. */
#include "graph/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define INDEX_MAGIC 0x3165676172677261ull /* "argrage1" */
#define INDEX_VERSION 5
#define INDEX_ALIGN 4096u
#define INDEX_MIN_EVENTS 100000 /* smaller traces are built as fast as read */
#define INDEX_SMALL (1u << 20)  /* bytes of sections that are always checked */
#define WRITER_NAPS 5000        /* of 2 ms: how long a writer is waited for */
#define WRITER_STILL 500        /* of these in which it wrote nothing: it is stopped, or none of ours */

enum section {
	SECTION_tables,
	SECTION_rows, SECTION_blocks, SECTION_threads, SECTION_block_list, SECTION_names, SECTION_edges, SECTION_edges_into, SECTION_edges_from,
	SECTION_unread, SECTION_long_stretches, SECTION_long_waits, SECTION_rules, SECTION_row_rules, SECTION_preemptions, SECTION_stats, SECTION_COUNT
};

struct index_head {
	uint64_t magic, version;
	uint64_t identity[12];    /* what it was made from */
	uint64_t boot;            /* hash of the boot's id */
	uint64_t written_ns;      /* the file's own time of change, set so */
	uint64_t bytes;           /* of the file */
	struct {
		uint64_t at, bytes, sum;
	} sections[SECTION_COUNT];
	uint64_t sum;             /* of the head, with this as 0 */
};

/* What does not lie in columns. */
struct index_stats {
	struct graph_stats stats;
	struct graph_contradictions contradictions;
	uint32_t row_rule_count, block_count, preemption_count;
	uint32_t table_threads; /* entries of the tables: the threads that come first */
};

struct row_rule_tables {
	uint16_t rules[256];
	uint8_t mechanisms[256], confidences[256];
};

/* Four chains, so that the multiplications overlap; 64 bits are enough against
 * decay, this is no guard against malice. */
static uint64_t sum_of(const void *data, size_t bytes)
{
	const uint64_t prime = 0x9e3779b97f4a7c15ull;
	uint64_t lanes[4] = { 1, 2, 3, 4 }, tail = 0;
	const char *at = data;
	size_t left = bytes;

	for (; left >= 32; left -= 32, at += 32)
		for (unsigned i = 0; i < 4; i++) {
			uint64_t word;

			memcpy(&word, at + 8 * i, 8);
			lanes[i] = (lanes[i] ^ word) * prime;
			lanes[i] ^= lanes[i] >> 29;
		}
	for (; left; left--, at++)
		tail = (tail ^ (unsigned char)*at) * prime;
	return hash_u64(lanes[0]) ^ hash_u64(lanes[1] + 1) ^ hash_u64(lanes[2] + 2) ^ hash_u64(lanes[3] + 3) ^ hash_u64(tail ^ bytes);
}

static void identity_of(const struct graph *graph, uint64_t rules, uint64_t identity[12])
{
	const struct trace_summary *summary = trace_summary(graph->trace);
	struct stat st;

	memset(identity, 0, 12 * sizeof(*identity));
	if (!stat(trace_path(graph->trace), &st)) {
		identity[0] = st.st_dev;
		identity[1] = st.st_ino;
		identity[2] = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	}
	identity[3] = summary->bytes;
	identity[4] = summary->events + (summary->state_events << 40);
	identity[5] = summary->start_ns;
	identity[6] = summary->end_ns;
	identity[7] = rules;
	/* Another build may do otherwise with the same trace. */
	if (!stat("/proc/self/exe", &st)) {
		identity[8] = (uint64_t)st.st_size;
		identity[9] = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	}
	identity[10] = 0;
	identity[11] = (summary->damaged_chunks + summary->unknown_chunks) << 32 | summary->files;
}

/* Which boot of the machine this is; 0 unknown. */
static uint64_t boot_of(void)
{
	char id[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, id, sizeof(id));

	if (fd >= 0)
		close(fd);
	return got > 0 ? hash_bytes(id, (size_t)got) : 0;
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static char *index_path(const struct graph *graph, const char *suffix)
{
	const char *path = trace_path(graph->trace);
	size_t length = strlen(path);
	char *result = mem_alloc(length + 32);

	while (length > 1 && path[length - 1] == '/')
		length--;
	snprintf(result, length + 32, "%.*s.graph%s", (int)length, path, suffix);
	return result;
}

/* ---- saving ---- */

struct saving {
	int fd;
	uint64_t at;
	struct index_head head;
	bool failed;
};

static void write_all(struct saving *s, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes && !s->failed) {
		ssize_t done = write(s->fd, at, bytes < (64u << 20) ? bytes : 64u << 20);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			s->failed = true;
			break;
		}
		at += done;
		bytes -= (size_t)done;
		s->at += (uint64_t)done;
	}
}

static void save_section(struct saving *s, enum section section, const void *data, size_t bytes)
{
	static const char zeros[INDEX_ALIGN];

	write_all(s, zeros, (INDEX_ALIGN - s->at % INDEX_ALIGN) % INDEX_ALIGN);
	s->head.sections[section].at = s->at;
	s->head.sections[section].bytes = bytes;
	s->head.sections[section].sum = sum_of(data, bytes);
	write_all(s, data, bytes);
}

static void save_map(struct saving *s, enum section section, const struct map *map)
{
	struct vec(struct map_slot) pairs = { 0 };
	const struct map_slot *slot;
	size_t at = 0;

	while ((slot = map_next(map, &at)))
		vec_push(&pairs, *slot);
	save_section(s, section, pairs.items, pairs.length * sizeof(*pairs.items));
	vec_done(&pairs);
}

static void save_rules(struct saving *s, const struct graph *graph)
{
	struct vec(char) bytes = { 0 };

	for (size_t i = 0; i < graph->rules.length; i++) {
		const struct graph_rule *rule = &graph->rules.items[i];
		size_t name = strlen(rule->name) + 1, text = strlen(rule->text) + 1;

		vec_reserve(&bytes, bytes.length + 8 + name + text);
		memcpy(bytes.items + bytes.length, &rule->uses, 8);
		memcpy(bytes.items + bytes.length + 8, rule->name, name);
		memcpy(bytes.items + bytes.length + 8 + name, rule->text, text);
		bytes.length += 8 + name + text;
	}
	save_section(s, SECTION_rules, bytes.items, bytes.length);
	vec_done(&bytes);
}

static void save_all(struct saving *s, const struct graph *graph)
{
	struct index_stats stats = { .stats = graph->built_stats, .contradictions = graph->contradictions,
				     .row_rule_count = graph->row_rule_count, .block_count = graph->block_count,
				     .preemption_count = graph->preemption_count,
				     .table_threads = graph->tables->thread_count };
	struct row_rule_tables tables;
	struct timespec times[2];
	const void *head = &s->head;

	s->head.magic = INDEX_MAGIC;
	s->head.version = INDEX_VERSION;
	identity_of(graph, graph->rules_hash, s->head.identity);
	write_all(s, &s->head, sizeof(s->head));
	save_section(s, SECTION_rows, graph->rows, (size_t)graph->block_count * ROW_BLOCK * sizeof(struct row));
	save_section(s, SECTION_blocks, graph->blocks, (size_t)graph->block_count * sizeof(struct block));
	save_section(s, SECTION_preemptions, graph->preemptions, (size_t)graph->preemption_count * sizeof(struct preemption));
	save_section(s, SECTION_threads, graph->threads.items, graph->threads.length * sizeof(*graph->threads.items));
	save_section(s, SECTION_block_list, graph->block_list, (size_t)graph->block_count * sizeof(uint32_t));
	save_section(s, SECTION_names, graph->names.items, graph->names.length);
	save_section(s, SECTION_edges, graph->edges.items, graph->edges.length * sizeof(*graph->edges.items));
	save_section(s, SECTION_edges_into, graph->edge_orders[0].places, graph->edge_orders[0].length * sizeof(uint32_t));
	save_section(s, SECTION_edges_from, graph->edge_orders[1].places, graph->edge_orders[1].length * sizeof(uint32_t));
	save_section(s, SECTION_tables, graph->kept_events.items, graph->kept_events.length);
	save_section(s, SECTION_unread, graph->unread.items, graph->unread.length * sizeof(*graph->unread.items));
	save_map(s, SECTION_long_stretches, &graph->long_stretches);
	save_map(s, SECTION_long_waits, &graph->long_waits);
	save_rules(s, graph);
	memcpy(tables.rules, graph->row_rules, sizeof(tables.rules));
	memcpy(tables.mechanisms, graph->row_mechanisms, sizeof(tables.mechanisms));
	memcpy(tables.confidences, graph->row_confidences, sizeof(tables.confidences));
	save_section(s, SECTION_row_rules, &tables, sizeof(tables));
	save_section(s, SECTION_stats, &stats, sizeof(stats));
	s->head.bytes = s->at;
	s->head.boot = boot_of();
	s->head.written_ns = wall_ns();
	s->head.sum = sum_of(head, sizeof(s->head));
	if (!s->failed && pwrite(s->fd, head, sizeof(s->head), 0) != (ssize_t)sizeof(s->head))
		s->failed = true;
	times[0] = times[1] = (struct timespec){ (time_t)(s->head.written_ns / 1000000000u), (long)(s->head.written_ns % 1000000000u) };
	if (futimens(s->fd, times))
		s->failed = true;
}

/* Creates the file under its passing name, locked; -1 when somebody else is at
 * work on it, or it cannot be. */
static int create_temporary(const char *temporary)
{
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST) {
		/* Left behind by one that was killed, unless its lock is held. */
		int old = open(temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

		if (old >= 0 && !flock(old, LOCK_EX | LOCK_NB) && !unlink(temporary))
			fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (old >= 0)
			close(old);
	}
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void save_file(struct saving *s, const struct graph *graph, const char *temporary, const char *path)
{
	save_all(s, graph);
	if (s->failed || rename(temporary, path))
		unlink(temporary);
}

/* The process that asked need not wait: a grandchild writes. Who comes meanwhile
 * waits for the lock. */
static bool save_in_background(struct saving *s, const struct graph *graph, const char *temporary, const char *path)
{
	pid_t child = fork();
	int null;

	if (child < 0)
		return false;
	if (child > 0) {
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		return true;
	}
	if (fork())
		_exit(0);
	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	save_file(s, graph, temporary, path);
	_exit(0);
}

/* What does not stay in memory is not read faster than it is built. */
static bool is_worth_it(const struct graph *graph)
{
	const struct trace_summary *summary = trace_summary(graph->trace);
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return summary->events >= INDEX_MIN_EVENTS && summary->complete &&
	       (pages <= 0 || page <= 0 || store_bytes(graph) <= (uint64_t)pages * (uint64_t)page / 8);
}

void index_save(struct graph *graph, bool background)
{
	if (is_worth_it(graph)) {
		struct saving *s = mem_zalloc(sizeof(*s));
		char *path = index_path(graph, ""), *temporary = index_path(graph, ".tmp");

		s->fd = create_temporary(temporary);
		if (s->fd >= 0) {
			if (!background || !save_in_background(s, graph, temporary, path))
				save_file(s, graph, temporary, path);
			close(s->fd);
		}
		free(temporary);
		free(path);
		free(s);
	}
	graph->unsaved = false;
	vec_done(&graph->kept_events);
}

/* ---- loading ---- */

static const void *section(const struct graph *graph, enum section which, size_t *ret_bytes)
{
	const struct index_head *head = graph->mapped;

	*ret_bytes = head->sections[which].bytes;
	return (const char *)graph->mapped + head->sections[which].at;
}

static bool head_fits(const struct graph *graph, uint64_t rules, size_t file_bytes)
{
	struct index_head head = *(const struct index_head *)graph->mapped;
	uint64_t identity[12], sum = head.sum;

	head.sum = 0;
	if (head.magic != INDEX_MAGIC || head.version != INDEX_VERSION || head.bytes != file_bytes ||
	    sum_of(&head, sizeof(head)) != sum)
		return false;
	identity_of(graph, rules, identity);
	if (memcmp(identity, head.identity, sizeof(identity)))
		return false;
	for (unsigned i = 0; i < SECTION_COUNT; i++)
		if (head.sections[i].at > file_bytes || head.sections[i].bytes > file_bytes - head.sections[i].at ||
		    head.sections[i].at % INDEX_ALIGN)
			return false;
	return true;
}

static void load_map(const struct graph *graph, enum section which, struct map *map)
{
	size_t bytes;
	const struct map_slot *pairs = section(graph, which, &bytes);

	for (size_t i = 0; i < bytes / sizeof(*pairs); i++)
		map_put(map, pairs[i].key, pairs[i].value);
}

static bool load_rules(struct graph *graph)
{
	size_t bytes;
	const char *at = section(graph, SECTION_rules, &bytes), *end = at + bytes;

	vec_clear(&graph->rules);
	while (at < end) {
		struct graph_rule rule;
		size_t name, text;

		if (end - at < 10)
			return false;
		memcpy(&rule.uses, at, 8);
		rule.name = at + 8;
		name = strnlen(rule.name, (size_t)(end - rule.name)) + 1;
		if (name > (size_t)(end - rule.name))
			return false;
		rule.text = rule.name + name;
		text = strnlen(rule.text, (size_t)(end - rule.text)) + 1;
		if (text > (size_t)(end - rule.text))
			return false;
		at = rule.text + text;
		vec_push(&graph->rules, rule);
	}
	return true;
}

#define TAKE(vector, which) \
	do { \
		size_t take_bytes; \
		(vector)->items = (void *)(uintptr_t)section(graph, (which), &take_bytes); \
		(vector)->length = (vector)->capacity = take_bytes / sizeof(*(vector)->items); \
	} while (0)

/* The tables again, from the events that tell them. */
static struct tables *load_tables(const struct graph *graph)
{
	struct tables_gathering *gathering = tables_gather(graph->trace);
	size_t bytes;
	const char *at = section(graph, SECTION_tables, &bytes), *end = at + bytes;

	while ((size_t)(end - at) >= sizeof(struct kept_event)) {
		const struct kept_event *kept = (const void *)at;
		size_t left = (size_t)(end - at) - sizeof(*kept), size = (size_t)kept->bytes + kept->tail_length + 1;
		struct event e = { .time = kept->time, .number = kept->number, .tid = kept->tid, .cpu = kept->cpu, .type = kept->type };

		if (kept->type >= EVENT_MAX || event_infos[kept->type].bytes != kept->bytes || size > left)
			break;
		e.data = at + sizeof(*kept);
		e.tail = at + sizeof(*kept) + kept->bytes;
		e.tail_length = kept->tail_length;
		if (e.tail[e.tail_length])
			break;
		tables_gather_take(gathering, &e);
		at += sizeof(*kept) + (size + 7) / 8 * 8;
	}
	return tables_gather_finish(gathering);
}

/* Threads are named by their entries in the tables, so those must be the same. */
static bool tables_fit(struct graph *graph, uint32_t threads)
{
	size_t bytes;

	section(graph, SECTION_tables, &bytes);
	if (!graph->tables && bytes)
		graph->tables = graph->owned_tables = load_tables(graph);
	else if (!graph->tables && !tables_build(graph->trace, &graph->owned_tables, NULL))
		graph->tables = graph->owned_tables;
	section(graph, SECTION_threads, &bytes);
	return graph->tables && graph->tables->thread_count == threads && threads <= bytes / sizeof(struct stored_thread);
}

static bool load_edge_orders(struct graph *graph)
{
	for (unsigned i = 0; i < 2; i++) {
		size_t bytes;
		const uint32_t *places = section(graph, i ? SECTION_edges_from : SECTION_edges_into, &bytes);

		if (!edge_order_load(&graph->edge_orders[i], places, bytes / sizeof(*places), graph->edges.length))
			return false;
	}
	return true;
}

static bool load_all(struct graph *graph)
{
	size_t bytes, rows_bytes;
	const struct index_stats *stats = section(graph, SECTION_stats, &bytes);
	const struct row_rule_tables *tables;

	if (bytes != sizeof(*stats) || !tables_fit(graph, stats->table_threads))
		return false;
	tables = section(graph, SECTION_row_rules, &bytes);
	if (bytes != sizeof(*tables))
		return false;
	graph->block_count = stats->block_count;
	graph->blocks = (struct block *)(uintptr_t)section(graph, SECTION_blocks, &bytes);
	graph->rows = (struct row *)(uintptr_t)section(graph, SECTION_rows, &rows_bytes);
	if (bytes != graph->block_count * sizeof(struct block) || rows_bytes != (size_t)graph->block_count * ROW_BLOCK * sizeof(struct row))
		return false;
	graph->preemption_count = stats->preemption_count;
	graph->preemptions = (struct preemption *)(uintptr_t)section(graph, SECTION_preemptions, &bytes);
	if (bytes != graph->preemption_count * sizeof(struct preemption))
		return false;
	graph->block_list = (uint32_t *)(uintptr_t)section(graph, SECTION_block_list, &bytes);
	graph->edges.items = (struct packed_edge *)(uintptr_t)section(graph, SECTION_edges, &bytes);
	graph->edges.length = bytes / sizeof(*graph->edges.items);
	if (!load_edge_orders(graph) || !load_rules(graph))
		return false;
	vec_done(&graph->names);
	vec_done(&graph->threads);
	TAKE(&graph->threads, SECTION_threads);
	TAKE(&graph->names, SECTION_names);
	TAKE(&graph->unread, SECTION_unread);
	load_map(graph, SECTION_long_stretches, &graph->long_stretches);
	load_map(graph, SECTION_long_waits, &graph->long_waits);
	memcpy(graph->row_rules, tables->rules, sizeof(tables->rules));
	memcpy(graph->row_mechanisms, tables->mechanisms, sizeof(tables->mechanisms));
	memcpy(graph->row_confidences, tables->confidences, sizeof(tables->confidences));
	graph->row_rule_count = stats->row_rule_count;
	graph->stats = stats->stats;
	graph->contradictions = stats->contradictions;
	return true;
}

/* What this boot wrote and nobody touched since is what was written; only after
 * a restart, or a change, is all of it read and summed up. Small sections always. */
static bool sums_match(const struct graph *graph, const struct stat *st)
{
	const struct index_head *head = graph->mapped;
	uint64_t changed_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
	bool trusted = head->boot && head->boot == boot_of() && head->written_ns == changed_ns;

	for (unsigned i = 0; i < SECTION_COUNT; i++) {
		size_t bytes;
		const void *data = section(graph, (enum section)i, &bytes);

		if ((!trusted || bytes < INDEX_SMALL) && sum_of(data, bytes) != head->sections[i].sum)
			return false;
	}
	return true;
}

static int load_file(struct graph *graph, uint64_t rules, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	/* Only what this user wrote is believed. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH) ||
	    (size_t)st.st_size < sizeof(struct index_head)) {
		close(fd);
		return -EINVAL;
	}
	graph->mapped_bytes = (size_t)st.st_size;
	graph->mapped = mmap(NULL, graph->mapped_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (graph->mapped == MAP_FAILED) {
		graph->mapped = NULL;
		return -ENOMEM;
	}
	if (head_fits(graph, rules, graph->mapped_bytes) && sums_match(graph, &st) && load_all(graph))
		return 0;
	/* Nothing was taken yet but what a build sets anew. */
	munmap(graph->mapped, graph->mapped_bytes);
	graph->mapped = NULL;
	graph->rows = NULL;
	graph->blocks = NULL;
	graph->block_list = NULL;
	graph->block_count = 0;
	graph->preemptions = NULL;
	graph->preemption_count = 0;
	graph->edges = (struct edge_list){ 0 };
	edge_order_done(&graph->edge_orders[0]);
	edge_order_done(&graph->edge_orders[1]);
	vec_clear(&graph->rules);
	return -EINVAL;
}

/* False when nobody is writing an index, gets on with it, or is done in time. */
static bool wait_for_writer(const char *temporary)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	int fd = open(temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	unsigned still = 0;
	bool waited = false;
	off_t size = -1;
	struct stat st;

	if (fd < 0)
		return false;
	for (unsigned i = 0; i < WRITER_NAPS && still < WRITER_STILL && flock(fd, LOCK_SH | LOCK_NB); i++) {
		still = !fstat(fd, &st) && st.st_size == size ? still + 1 : 0;
		size = st.st_size;
		waited = true;
		nanosleep(&nap, NULL);
	}
	waited = waited && still < WRITER_STILL;
	close(fd);
	return waited;
}

int index_load(struct graph *graph, const struct rules *rules)
{
	char *path = index_path(graph, ""), *temporary = index_path(graph, ".tmp");
	uint64_t hash = rules_hash(rules);
	int code = load_file(graph, hash, path);

	if (code && wait_for_writer(temporary))
		code = load_file(graph, hash, path);
	free(temporary);
	free(path);
	return code;
}
