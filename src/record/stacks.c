/* See stacks.h. */
#ifdef HAVE_BPF
#include "record/stacks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "record/programs.h"
#include "record/stacks_internal.h"
#include "trace/writer.h"

#define NODES_BYTES (((1u << STACK_KNOWN_SHIFT) + 1) * sizeof(uint32_t))
#define KNOWN_BYTES (sizeof(uint64_t) << (STACK_KNOWN_SHIFT + 1))
#define PYTHON_TOLD_BYTES (sizeof(uint64_t) << PYTHON_TOLD_SHIFT)
#define OUTLINES_MOST 512u
#define STACK_KNOWN_FULL (1u << STACK_KNOWN_SHIFT >> 1) /* beyond that searches get long, and fail */

uint64_t stacks_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void stacks_emit(struct stacks *s, unsigned type, uint32_t tid, const void *data, const char *tail, size_t tail_length,
		 uint64_t time_ns)
{
	/* a stack that was met before the file began may be told in it: what is before its beginning is not read */
	struct event e = { .time = time_ns > s->file_ns ? time_ns : s->file_ns, .tid = tid, .cpu = (uint16_t)s->stream,
			   .type = (uint16_t)type, .data = data, .tail = tail, .tail_length = (uint32_t)tail_length };
	/* a full disk ends the recording by the agent's own next write */
	writer_add_event(s->agent->writer, &e, NULL);
}

static void emit_node_as(struct stacks *s, uint32_t number, uint32_t place, uint64_t time_ns)
{
	const struct stack_node *node = &s->tree.nodes[place];
	struct event_frame frame = { .address = node->address, .node = number, .parent = s->tree.numbers[node->parent],
				     .module = node->module, .status = node->status };
	stacks_emit(s, EVENT_frame, 0, &frame, "", 0, time_ns);
}

void stacks_emit_node(struct stacks *s, uint32_t place, uint64_t time_ns)
{
	emit_node_as(s, s->tree.numbers[place], place, time_ns);
}

/* Module and file offset of an address. */
static struct stack_node node_at(struct stacks *s, const struct layout *layout, uint64_t address)
{
	struct stack_node node = { .address = address };
	const struct layout_mapping *m;
	if (!layout) {
		if (s->kernel.text && address >= s->kernel.text) {
			node.module = MODULE_KERNEL;
			node.address = address - s->kernel.text;
		}
	} else if ((m = layout_find(layout, address))) {
		node.module = m->module->number;
		if (m->module->kind != MODULE_KIND_jit)
			node.address = address - m->start + m->offset;
	}
	return node;
}

static uint32_t outer_nodes(struct stacks *s, const struct layout *layout, const uint64_t *addresses, uint32_t count, uint32_t stop,
			    int status, uint64_t time_ns)
{
	uint32_t parent = 0;
	for (uint32_t i = count; i-- > stop;) {
		bool is_new;
		struct stack_node node = node_at(s, layout, addresses[i]);
		node.parent = parent;
		node.status = parent ? 0 : (uint32_t)status;
		parent = stack_tree_node(&s->tree, &node, &is_new);
		if (!parent)
			return 0;
		if (is_new)
			stacks_emit_node(s, parent, time_ns);
	}
	return parent;
}

uint32_t stacks_nodes(struct stacks *s, const struct layout *layout, const uint64_t *addresses, uint32_t count, int status,
		      uint64_t time_ns)
{
	return outer_nodes(s, layout, addresses, count, 0, status, time_ns);
}

void stacks_nodes_of_copy(struct stacks *s, uint32_t id, const struct layout *layout, const uint64_t *addresses, uint32_t count,
			  int status, uint64_t time_ns)
{
	struct once_node *once = &s->once_nodes[id & (COPY_NODES - 1)];
	struct stack_node node = { .address = count ? addresses[0] : 0 };
	/* so many came behind it that its number is another's */
	if (once->id != id || !once->place)
		return;
	if (count && layout)
		node = node_at(s, layout, addresses[0]);
	node.parent = outer_nodes(s, layout, addresses, count, 1, status, time_ns);
	node.status = node.parent ? 0 : (uint32_t)status;
	s->tree.nodes[once->place] = node;
	once->pending = 0;
	stacks_emit_node(s, once->place, time_ns);
	/* records of the file before have the number that it had then */
	if (once->number != s->tree.numbers[once->place])
		emit_node_as(s, once->number, once->place, time_ns);
}

/* What the tracing itself put on the kernel's stack. */
static bool frame_of_tracing(const struct stacks *s, uint64_t address)
{
	static const char *const prefixes[] = { "bpf_", "__bpf_", "__traceiter_", "__probestub_", "trace_call_bpf", "perf_trace_",
						"__perf_", "__SCT__tp_func" };
	struct kernel_symbol symbol;
	if (!kallsyms_find(&s->kernel, address, &symbol))
		return true; /* programs compiled at run time are not in the list */
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(symbol.name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static uint32_t take_kernel(struct stacks *s, const struct stack_message *m, uint64_t *addresses)
{
	uint32_t first = 0, named = 0;
	/* each but the innermost is a return address */
	for (uint32_t i = 1; i < m->count; i++)
		addresses[i]--;
	for (uint32_t i = 0; i < m->count && i < 8; i++)
		if (s->kernel.count && frame_of_tracing(s, addresses[i]))
			named = i + 1;
	if (named < m->count)
		first = named;
	return stacks_nodes(s, NULL, addresses + first, m->count - first, (int)m->status, m->time_ns);
}

/* Where the node of the kernel's number is kept; NULL for one of no generation in use. */
static uint32_t *known_node(const struct stacks *s, uint32_t id)
{
	uint32_t generation = id >> STACK_GENERATION_SHIFT, slot = id & STACK_SLOT_MASK;
	uint32_t back = (s->generation - generation) & STACK_GENERATION_MASK;
	return back <= 1 && slot <= 1u << STACK_KNOWN_SHIFT ? &s->nodes[generation & 1][slot] : NULL;
}

/* Room for new stacks: the table of the generation before is emptied and used from now on. */
static void begin_generation(struct stacks *s)
{
	uint32_t next = (s->generation + 1) & STACK_GENERATION_MASK;
	memset(s->known_hashes + ((size_t)(next & 1) << STACK_KNOWN_SHIFT), 0, sizeof(*s->known_hashes) << STACK_KNOWN_SHIFT);
	madvise(s->nodes[next & 1], NODES_BYTES, MADV_DONTNEED);
	s->generation = next;
	s->known = 0;
	s->file_generations++;
	__atomic_store_n(&s->now->generation, next, __ATOMIC_RELEASE);
}

/* Records with the number may still come, or a copy is to be unwound. */
static bool is_awaited(const struct stacks *s, const struct once_node *once)
{
	return once->pending || ((s->generation - once->generation) & STACK_GENERATION_MASK) <= 1;
}

/* Calls `change` for each place that is kept somewhere. */
static void each_place(struct stacks *s, void (*change)(void *data, uint32_t *place), void *data)
{
	for (unsigned half = 0; half < 2; half++)
		for (uint32_t i = 0; i <= 1u << STACK_KNOWN_SHIFT; i++)
			if (s->nodes[half][i])
				change(data, &s->nodes[half][i]);
	for (uint32_t i = 0; i < COPY_NODES; i++)
		if (s->once_nodes[i].place)
			change(data, &s->once_nodes[i].place);
}

static void mark(void *data, uint32_t *place)
{
	uint8_t *marks = data;
	marks[*place] = 1;
}

static void move(void *data, uint32_t *place)
{
	const uint32_t *moved = data;
	*place = moved[*place];
}

/* Forgets the nodes that only stacks not seen in this generation had. Those in use are told again by
 * the kernel as they come, most of them to be found here. */
static void forget_unused(struct stacks *s)
{
	uint8_t *marks = mem_zalloc(s->tree.count);
	uint32_t *moved, seen = 1;

	begin_generation(s);
	for (uint32_t i = 0; i < COPY_NODES; i++)
		if (s->once_nodes[i].place && !is_awaited(s, &s->once_nodes[i]))
			s->once_nodes[i].place = 0;
	each_place(s, mark, marks);
	moved = stack_tree_compact(&s->tree, marks);
	each_place(s, move, moved);
	for (uint32_t i = 1; i < s->nodes_seen; i++)
		seen += moved[i] != 0;
	s->nodes_seen = seen;
	s->tree_limit = s->tree.count * 2 > TREE_LIMIT ? s->tree.count * 2 : TREE_LIMIT;
	free(moved);
	free(marks);
}

void stacks_begin_file(struct stacks *s, uint64_t from_ns)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->layouts.lock);
	s->file_ns = from_ns;
	forget_unused(s);
	stack_tree_renumber(&s->tree);
	s->file_generations = 0;
	atomic_store(&s->few_numbers, false);
	atomic_fetch_add(&s->files, 1);
	pthread_mutex_unlock(&s->layouts.lock);
}

bool stacks_few_numbers(const struct stacks *s)
{
	return s && atomic_load(&s->few_numbers);
}

uint32_t stacks_files(const struct stacks *s)
{
	return atomic_load(&s->files);
}

/* Of a number that is used once. */
static struct once_node *once_of(struct stacks *s, uint32_t id)
{
	struct once_node *once = &s->once_nodes[id & (COPY_NODES - 1)];
	*once = (struct once_node){ .id = id, .generation = s->generation };
	return once;
}

/* Where the place of the kernel's number is kept; NULL for one of no generation in use. */
static uint32_t *place_for(struct stacks *s, uint32_t id)
{
	return id & STACK_ID_COPY ? &once_of(s, id)->place : known_node(s, id);
}

static void take_copy(struct stacks *s, const struct stack_copy *c)
{
	struct once_node *once = once_of(s, c->id);

	once->place = stack_tree_reserve(&s->tree);
	if (!once->place)
		return;
	once->number = s->tree.numbers[once->place];
	bool idle = stack_copies_empty(&s->copies);
	once->pending = stack_copies_add(&s->copies, c);
	/* what a file says when the next one begins, or the recorder is killed, before it was unwound */
	s->tree.nodes[once->place] = (struct stack_node){ .address = c->ip, .status = once->pending ? STACK_STATUS_pending : STACK_STATUS_no_stack };
	stacks_emit_node(s, once->place, c->time_ns);
	/* the loader sleeps long where there are none */
	if (idle && once->pending)
		stacks_wake(s);
}

static uint32_t place_of(const struct stacks *s, uint32_t id);

/* Python's frames in a stack. The stack may be told behind it, by another processor. */
static void take_python(struct stacks *s, const struct python_message *m)
{
	uint32_t *node = place_for(s, m->id), taken;
	if (!node)
		return;
	if (!stacks_take_python(s, m, place_of(s, m->base), &taken)) {
		size_t bytes = sizeof(*m) + m->count * sizeof(struct python_frame);
		struct python_message *kept = mem_alloc(bytes);
		memcpy(kept, m, bytes);
		vec_push(&s->waiting, kept);
		return;
	}
	*node = taken;
	if (!(m->id & STACK_ID_COPY))
		s->known++;
}

/* Those whose stack was told meanwhile; of the others it was lost. */
static void take_waiting(struct stacks *s)
{
	for (size_t i = 0; i < s->waiting.length; i++) {
		struct python_message *m = s->waiting.items[i];
		uint32_t *node = place_for(s, m->id), taken;
		if (node && stacks_take_python(s, m, place_of(s, m->base), &taken))
			*node = taken;
		free(m);
	}
	vec_clear(&s->waiting);
}

static int take_one(struct stacks *s, void *message, size_t bytes)
{
	struct stack_message *m = message;

	if (m->type == STACK_MESSAGE_COPY) {
		struct stack_copy *c = message;
		if (bytes >= sizeof(*c) && c->bytes <= STACK_COPY_BYTES && bytes - sizeof(*c) >= c->bytes)
			take_copy(s, c);
		return 0;
	}
	if (m->type == STACK_MESSAGE_PYTHON) {
		const struct python_message *p = message;
		if (bytes >= sizeof(*p) && p->count <= PYTHON_FRAMES_MAX && bytes - sizeof(*p) >= p->count * sizeof(struct python_frame))
			take_python(s, p);
		return 0;
	}
	if (m->type == STACK_MESSAGE_PYTHON_CODE) {
		stacks_take_python_code(s, message, bytes);
		return 0;
	}
	uint32_t *node = bytes < sizeof(*m) ? NULL : place_for(s, m->id);
	if (!node || m->count > STACK_FRAMES_MAX || bytes - sizeof(*m) < m->count * 8)
		return 0;
	if (!(m->id & STACK_ID_COPY))
		s->known++;
	uint64_t addresses[STACK_FRAMES_MAX];
	memcpy(addresses, m + 1, m->count * 8);
	if (m->type == STACK_MESSAGE_KERNEL) {
		*node = take_kernel(s, m, addresses);
		return 0;
	}
	const struct layout *layout = layout_of(&s->layouts, m->layout);
	static const struct layout none;
	*node = stacks_nodes(s, layout ? layout : &none, addresses, m->count, (int)m->status, m->time_ns);
	return 0;
}

/* Ends behind what a full ring holds: where stacks come faster than they are taken
 * it would never be empty, and the locks never free. */
static int take_message(void *data, void *message, size_t bytes)
{
	struct stacks *s = data;
	int r = take_one(s, message, bytes);
	s->taken_bytes += (bytes + BPF_RINGBUF_HDR_SZ + 7) & ~(uint64_t)7;
	return r || s->taken_bytes < STACK_RING_BYTES ? r : -EAGAIN;
}

/* What was in use before the last two generations alone is forgotten as the next file begins. */
#define FORGETTING_GENERATIONS 2u

/* New stacks have few numbers left, and those in use took the others: it must be seen which of them are in use still. */
static bool must_forget(const struct stacks *s)
{
	return stack_tree_has_few(&s->tree) && stack_tree_began_with_few(&s->tree) && s->file_generations < FORGETTING_GENERATIONS;
}

static void take(struct stacks *s, bool records_follow)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->layouts.lock);
	s->taken_bytes = 0;
	ring_buffer__consume(s->ring);
	take_waiting(s);
	/* one generation a round of records at most, or there would be none that still knows theirs */
	if (records_follow && s->tree.count >= s->tree_limit)
		forget_unused(s);
	else if (s->known >= STACK_KNOWN_FULL || (records_follow && must_forget(s)))
		begin_generation(s);
	atomic_store(&s->few_numbers, stack_tree_has_few(&s->tree) && !must_forget(s));
	pthread_mutex_unlock(&s->layouts.lock);
}

void stacks_take(struct stacks *s)
{
	take(s, true);
}

void stacks_take_early(struct stacks *s)
{
	take(s, false);
}

static uint32_t place_of(const struct stacks *s, uint32_t id)
{
	if (id & STACK_ID_COPY) {
		const struct once_node *once = &s->once_nodes[id & (COPY_NODES - 1)];
		return once->id == id ? once->place : 0;
	}
	const uint32_t *place = known_node(s, id);
	return place ? *place : 0;
}

void stacks_resolve(struct stacks *s, uint32_t *const *ids, size_t count)
{
	if (!count)
		return;
	agent_lock(s->agent);
	stacks_take_early(s);
	for (size_t i = 0; i < count; i++)
		*ids[i] = *ids[i] ? s->tree.numbers[place_of(s, *ids[i])] : 0;
	agent_unlock(s->agent);
}

void stacks_interpreter(struct stacks *s, uint32_t pid, uint32_t *ret_version, uint64_t *ret_key)
{
	struct stack_process process = { 0 };

	if (bpf_map_lookup_elem(s->processes_fd, &pid, &process) < 0)
		process.python = 0;
	*ret_version = process.python;
	*ret_key = process.python_key;
}

void stacks_replace(struct stacks *s, void *records, uint64_t bytes)
{
	if (!s)
		return;
	for (uint64_t at = 0; at + sizeof(struct record) <= bytes;) {
		struct record *record = (struct record *)((char *)records + at);
		const uint8_t *fields = record->type < EVENT_MAX ? s->stack_fields[record->type] : (const uint8_t[4]){ 0 };
		for (int i = 0; i < 4 && fields[i]; i++) {
			uint32_t *field = (uint32_t *)((char *)(record + 1) + fields[i] - 1);
			if (*field)
				*field = s->tree.numbers[place_of(s, *field)];
		}
		if (record->size < sizeof(*record))
			return;
		at += record->size;
	}
}

static void find_fields(struct stacks *s)
{
	for (unsigned type = 0; type < EVENT_MAX; type++) {
		const struct event_info *info = &event_infos[type];
		if (!info->name || (info->categories & STATE))
			continue;
		for (unsigned i = 0, n = 0; i < info->field_count && n < 4; i++)
			if (info->fields[i].kind == FIELD_STACK)
				s->stack_fields[type][n++] = (uint8_t)(info->fields[i].offset + 1);
	}
}

static void *map_shared(int fd, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* Lets the kernel's part find where all memory is mapped; what it does not find
 * it reads the slow way. */
static void find_memory(const struct programs *programs)
{
	struct bpf_program *program = programs_find(programs, "stacks_find_memory");
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct stack_cookie cookie = { .address = (uint64_t)(uintptr_t)memory };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &cookie, .ctx_size_in = sizeof(cookie));

	if (memory == MAP_FAILED)
		return;
	if (program && getrandom(cookie.words, sizeof(cookie.words), 0) == sizeof(cookie.words)) {
		memcpy(memory, cookie.words, sizeof(cookie.words));
		bpf_prog_test_run_opts(bpf_program__fd(program), &run);
	}
	munmap(memory, page);
}

static int open_maps(struct stacks *s, const struct programs *programs, struct err *err)
{
	struct unwind_maps_fds fds = {
		.mappings = programs_map(programs, "stack_mappings"),
		.pages = programs_map(programs, "stack_pages"),
		.rows = programs_map(programs, "stack_rows"),
		.rules = programs_map(programs, "stack_rules"),
	};
	int ring = programs_map(programs, "stack_ring"), r;

	s->functions_fd = programs_map(programs, "kernel_functions");
	s->processes_fd = programs_map(programs, "stack_processes");
	if (fds.mappings < 0 || fds.pages < 0 || fds.rows < 0 || fds.rules < 0 || s->processes_fd < 0 || ring < 0)
		return err_set(err, -ENOENT, "the unwinder's maps are not there");
	s->counts_fd = programs_map(programs, "stack_counts");
	s->known_hashes = map_shared(programs_map(programs, "stack_known"), KNOWN_BYTES);
	s->now = map_shared(programs_map(programs, "stack_now"), sizeof(*s->now));
	s->python_told = map_shared(programs_map(programs, "python_told"), PYTHON_TOLD_BYTES);
	struct python_offsets *offsets = map_shared(programs_map(programs, "python_offsets"), PYTHON_OFFSETS_MAX * sizeof(*offsets));
	for (uint32_t i = 1; offsets && python_version_offsets(i); i++)
		offsets[i] = *python_version_offsets(i);
	if (offsets)
		munmap(offsets, PYTHON_OFFSETS_MAX * sizeof(*offsets));
	if (!s->known_hashes || !s->now || !s->python_told || !offsets)
		return err_sys(err, -errno, "mapping the table of known stacks");
	r = unwind_maps_open(&s->maps, &fds, err);
	if (r < 0)
		return r;
	s->ring = ring_buffer__new(ring, take_message, s, NULL);
	if (!s->ring)
		return err_sys(err, -errno, "mapping the ring of stacks");
	/* by its edge: there is nearly always something in it, but it wakes only when it fills */
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.fd = ring };
	return epoll_ctl(s->poll_fd, EPOLL_CTL_ADD, ring, &event) == 0 ? 0 : err_sys(err, -errno, "waiting for the ring of stacks");
}

/* A share of the descriptors that may be open. */
static uint32_t outlines_most(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return 0;
	return files.rlim_cur / 4 < OUTLINES_MOST ? (uint32_t)files.rlim_cur / 4 : OUTLINES_MOST;
}

static int prepare(struct stacks *s, struct helpers *helpers, bool hurry, struct err *err)
{
	int r = stack_tree_open(&s->tree, err);
	if (r < 0)
		return r;
	s->tree_limit = TREE_LIMIT;
	s->nodes[0] = mem_reserve(NODES_BYTES);
	s->nodes[1] = mem_reserve(NODES_BYTES);
	s->once_nodes = mem_reserve(COPY_NODES * sizeof(*s->once_nodes));
	if (!s->nodes[0] || !s->nodes[1] || !s->once_nodes)
		return err_sys(err, -ENOMEM, "reserving memory for stacks");
	r = stack_copies_open(&s->copies, err);
	if (r < 0)
		return r;
	s->own_pid = getpid();
	modules_init(&s->modules);
	s->modules.is_brief = !hurry;
	s->modules.files.helper = helper_open(helpers);
	s->modules.files.outlines_most = outlines_most();
	s->held.helper = helper_open(helpers);
	layouts_init(&s->layouts, &s->modules);
	find_fields(s);
	/* without names kernel frames stay numbers, which is no reason to stop */
	kallsyms_read(&s->kernel, NULL);
	return stacks_loader_start(s, err);
}

static void stacks_free(struct stacks *s)
{
	ring_buffer__free(s->ring);
	stacks_loader_free(s);
	if (s->modules.list) {
		layouts_done(&s->layouts);
		modules_done(&s->modules);
	}
	unwind_maps_close(&s->maps);
	stack_tree_close(&s->tree);
	kallsyms_done(&s->kernel);
	for (int i = 0; i < 2; i++)
		if (s->nodes[i])
			munmap(s->nodes[i], NODES_BYTES);
	if (s->known_hashes)
		munmap(s->known_hashes, KNOWN_BYTES);
	if (s->python_told)
		munmap(s->python_told, PYTHON_TOLD_BYTES);
	for (size_t i = 0; i < s->waiting.length; i++)
		free(s->waiting.items[i]);
	vec_done(&s->waiting);
	python_texts_done(&s->python);
	if (s->now)
		munmap(s->now, sizeof(*s->now));
	if (s->once_nodes)
		munmap(s->once_nodes, COPY_NODES * sizeof(*s->once_nodes));
	stack_copies_close(&s->copies);
	free(s);
}

int stacks_prepare(struct helpers *helpers, bool hurry, struct stacks **ret_stacks, struct err *err)
{
	struct stacks *s = mem_zalloc(sizeof(*s));
	s->wake_fd = s->poll_fd = -1;
	s->start_ns = stacks_now_ns();
	s->hurry = hurry;
	int r = prepare(s, helpers, hurry, err);
	if (r < 0) {
		stacks_loader_end(s);
		stacks_free(s);
		return r;
	}
	*ret_stacks = s;
	return 0;
}

int stacks_start(struct stacks *s, const struct programs *programs, struct agent *agent, uint32_t stream, struct err *err)
{
	int r = open_maps(s, programs, err);
	if (r < 0)
		return r;
	find_memory(programs);
	s->agent = agent;
	s->stream = stream;
	atomic_store(&s->ready, true);
	stacks_wake(s);
	return 0;
}

void stacks_await(struct stacks *s, uint32_t ms)
{
	for (uint64_t end = stacks_now_ns() + ms * 1000000ull; s && !atomic_load(&s->laid) && stacks_now_ns() < end;)
		usleep(2000);
}

void stacks_count(struct stacks *s, struct stacks_counts *ret_counts)
{
	struct stacks_counts c = { 0 };
	uint64_t *to[] = { &c.recognised, &c.walked, &c.told, &c.copied, &c.lost, &c.python, &c.python_cut };
	int cpus = libbpf_num_possible_cpus();
	uint64_t *values = mem_zalloc((size_t)(cpus > 0 ? cpus : 1) * sizeof(*values));
	for (uint32_t i = 0; i < sizeof(to) / sizeof(to[0]) && cpus > 0; i++)
		if (bpf_map_lookup_elem(s->counts_fd, &i, values) == 0)
			for (int cpu = 0; cpu < cpus; cpu++)
				*to[i] += values[cpu];
	free(values);
	pthread_mutex_lock(&s->layouts.lock);
	c.nodes = s->tree.count - 1;
	pthread_mutex_unlock(&s->layouts.lock);
	c.modules = s->modules.count - 1;
	c.processes = atomic_load(&s->processes);
	c.table_bytes = unwind_maps_bytes(&s->maps);
	c.tables_ns = s->modules.tables_ns;
	c.first_look_ns = atomic_load(&s->first_look_ns);
	*ret_counts = c;
}

static void find_unreached(struct stacks *s, struct stacks_unreached *ret)
{
	struct module_files *both[] = { &s->modules.files, &s->held };
	struct map devices = { 0 };

	*ret = (struct stacks_unreached){ 0 };
	for (int i = 0; i < 2; i++) {
		size_t at = 0;
		for (const struct map_slot *slot; (slot = map_next(&both[i]->unreached, &at));)
			map_put(&devices, slot->key, 1);
		if (!ret->example[0])
			memcpy(ret->example, both[i]->example, sizeof(ret->example));
	}
	ret->devices = (uint32_t)devices.length;
	map_done(&devices);
}

/* What the unwinder did, beside the machine's other facts. */
static void tell_counts(struct stacks *s, const struct stacks_unreached *unreached)
{
	struct stacks_counts c;
	struct buf text = { 0 };
	if (!s->attached)
		return;
	stacks_count(s, &c);
	buf_printf(&text, "stacks=%" PRIu64 " recognised, %" PRIu64 " walked, %" PRIu64 " new, %" PRIu64 " copied, %" PRIu64 " lost",
		   c.recognised, c.walked, c.told, c.copied, c.lost);
	buf_char(&text, 0);
	if (c.python || c.python_cut) {
		buf_printf(&text, "stacks_python=%" PRIu64 " walked, %" PRIu64 " cut", c.python, c.python_cut);
		buf_char(&text, 0);
	}
	buf_printf(&text, "stack_tables=%" PRIu64 " modules, %" PRIu64 " KiB, made in %" PRIu64 " ms; first look %" PRIu64 " ms", c.modules,
		   c.table_bytes >> 10, c.tables_ns / 1000000, c.first_look_ns / 1000000);
	buf_char(&text, 0);
	if (unreached->devices) {
		buf_printf(&text, "unreached=%" PRIu32 " file systems, %s", unreached->devices, unreached->example);
		buf_char(&text, 0);
	}
	agent_lock(s->agent);
	stacks_emit(s, EVENT_machine, 0, NULL, text.data, text.length, stacks_now_ns());
	agent_unlock(s->agent);
	buf_done(&text);
}

void stacks_stop(struct stacks *s, struct stacks_unreached *ret_unreached)
{
	*ret_unreached = (struct stacks_unreached){ 0 };
	if (!s)
		return;
	stacks_loader_end(s);
	find_unreached(s, ret_unreached);
	tell_counts(s, ret_unreached);
	stacks_free(s);
}
#endif
