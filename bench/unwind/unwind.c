/* What a stack costs: nanoseconds that the unwinder adds to a system call, for
 * several depths, recognised and walked; and what its tables cost. */
#include <bpf/bpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/config.h"
#include "unwind.skel.h"

#include "record/modules.h"
#include "record/proc_maps.h"
#include "symbols/unwind_cache.h"

#define CALLS 100000
#define ROUNDS 9

static volatile int sink;
static struct unwind_maps maps;
static struct modules modules;
static uint32_t mapping_count;

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* others on the machine do not count */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void call(void)
{
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
}

static __attribute__((noinline)) void nest(int depth)
{
	volatile int room[8];
	room[depth & 7] = depth;
	if (depth > 0)
		nest(depth - 1);
	else
		call();
	sink += room[depth & 7];
}

static void take(void *data, const struct module_source *source)
{
	const struct loaded_module *m;
	struct stack_mapping *to = &maps.mappings[mapping_count];
	uint64_t address;
	(void)data;
	modules_find(&modules, source, 1, &m);
	if (!m)
		return;
	uint32_t kind = modules_lay(m, &maps);
	*to = (struct stack_mapping){ .start = source->start, .end = source->end, .kind = kind, .page = m->first_page,
				      .pages = m->table.page_count };
	if (kind == STACK_MAPPING_TABLE && module_address(m, source->offset, &address))
		to->table = source->start - address + m->table.base;
	mapping_count++;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS / 2];
}

static int last_frames;

static int on_message(void *data, void *message, size_t bytes)
{
	const struct stack_message *m = message;
	(void)data;
	(void)bytes;
	if (m->type == STACK_MESSAGE_USER)
		last_frames = (int)m->count;
	return 0;
}

static void measure(struct unwind *bench, struct ring_buffer *ring, int depth)
{
	double cost[3][ROUNDS];
	for (int round = 0; round < ROUNDS; round++)
		for (unsigned mode = 0; mode < 3; mode++) {
			bench->bss->bench_mode = mode;
			double start = now_ns();
			nest(depth);
			cost[mode][round] = (now_ns() - start) / CALLS;
		}
	ring_buffer__consume(ring);
	double nothing = median(cost[0]);
	printf("%6d %12.0f %8.0f\n", last_frames, median(cost[1]) - nothing, median(cost[2]) - nothing);
}

struct made {
	double ms, largest_ms;
	uint64_t bytes, files, kept;
};

/* The tables of all the files, as the recorder has them made. */
static struct made make_tables(char **paths, int count, bool show)
{
	struct made sum = { 0 };
	for (int i = 0; i < count; i++) {
		struct elf_file file;
		struct unwind_table table;
		double start = now_ns();
		if (elf_file_open(paths[i], &file, NULL) < 0)
			continue;
		if (unwind_cache_table(&file, &table, NULL) == 0) {
			double ms = (now_ns() - start) / 1e6;
			sum.ms += ms;
			sum.files++;
			sum.kept += table.mapped != NULL;
			sum.bytes += unwind_table_bytes(&table);
			if (show && ms >= 20)
				printf("%8.1f ms %8.0f KiB %8u functions  %s\n", ms, (double)unwind_table_bytes(&table) / 1024,
				       table.function_count, paths[i]);
			unwind_table_done(&table);
		}
		elf_file_close(&file);
	}
	return sum;
}

static void show_made(const char *what, struct made m)
{
	printf("%8.1f ms %8.0f KiB %8" PRIu64 " files, %" PRIu64 " of them kept before: %s\n", m.ms, (double)m.bytes / 1024, m.files, m.kept, what);
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	struct unwind *bench = unwind__open_and_load();
	uint32_t pid = (uint32_t)getpid();

	if (!bench) {
		fprintf(stderr, "the kernel does not take the program; root is needed\n");
		return 1;
	}
	struct unwind_maps_fds fds = { bpf_map__fd(bench->maps.stack_mappings), bpf_map__fd(bench->maps.stack_pages),
				       bpf_map__fd(bench->maps.stack_rows), bpf_map__fd(bench->maps.stack_rules) };
	modules_init(&modules);
	if (unwind_maps_open(&maps, &fds, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	proc_maps_read((pid_t)pid, take, NULL);
	struct stack_process process = { .layout = 1, .count = mapping_count };
	bpf_map_update_elem(bpf_map__fd(bench->maps.stack_processes), &pid, &process, BPF_ANY);
	bench->bss->bench_tgid = pid;
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(bench->maps.stack_ring), on_message, NULL, NULL);
	if (!ring || unwind__attach(bench)) {
		fprintf(stderr, "the programs cannot be attached\n");
		return 1;
	}
	printf("ns that a stack adds to a system call, medians of %d times %d\nframes   recognised   walked\n", ROUNDS, CALLS);
	static const int depths[] = { 0, 3, 13, 23, 43, 93 };
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		measure(bench, ring, depths[i]);
	printf("tables: processor time, memory; those that take over 20 ms\n");
	show_made("all, from nothing", make_tables(argv + 1, argc - 1, true));
	show_made("all, from the cache", make_tables(argv + 1, argc - 1, false));
	ring_buffer__free(ring);
	unwind__destroy(bench);
	return 0;
}
