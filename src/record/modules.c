#include "record/modules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>


#define VDSO_BYTES 8192u
#define RECENT_MS 200u              /* a file is looked at no more often, whether it was written anew in its place */
#define RECENT_MAX 4096u            /* files */
#define NUMBER_BITS 22
_Static_assert(MODULES_MAX <= 1u << NUMBER_BITS, "a number fits");

static void note_unused(struct modules *modules, struct loaded_module *m)
{
	if (m->is_unused || m->users)
		return;
	m->is_unused = true;
	vec_push(&modules->unused, m->number);
}

uint32_t modules_reserve(struct modules *modules)
{
	uint32_t number = atomic_fetch_add(&modules->count, 1);
	if (number < MODULES_MAX)
		return number;
	atomic_fetch_sub(&modules->count, 1);
	return 0;
}

static struct loaded_module *module_new(struct modules *modules, uint32_t kind, uint64_t key, const char *path)
{
	uint32_t number = modules_reserve(modules);
	if (!number)
		return NULL;
	struct loaded_module *m = mem_zalloc(sizeof(*m));
	m->number = number;
	m->kind = kind;
	m->key = key;
	m->path = mem_alloc(strlen(path) + 1);
	strcpy(m->path, path);
	m->mapping_kind = STACK_MAPPING_NO_TABLE;
	modules->list[number] = m;
	if (kind != MODULE_KIND_kernel)
		note_unused(modules, m);
	return m;
}

static void module_free(struct module_files *files, struct loaded_module *m)
{
	if (!m)
		return;
	module_files_forget(files, &m->table);
	free(m->path);
	free(m);
}

void modules_init(struct modules *modules)
{
	*modules = (struct modules){ 0 };
	atomic_store(&modules->count, 1);
	modules->list = mem_zalloc(MODULES_MAX * sizeof(*modules->list));
	module_new(modules, MODULE_KIND_kernel, 0, "[kernel]");
}

void modules_done(struct modules *modules)
{
	for (uint32_t i = 1; i < modules->count; i++)
		module_free(&modules->files, modules->list[i]);
	module_files_done(&modules->files);
	free(modules->list);
	map_done(&modules->by_file);
	map_done(&modules->recent);
	vec_done(&modules->unused);
}

#ifdef HAVE_BPF
static bool is_laid(const struct modules *modules, const struct loaded_module *m)
{
	return modules->maps && m->laid && m->era == modules->maps->era;
}

/* Its table stays where it is while there is room, but counts as nobody's. */
static void abandon(struct modules *modules, struct loaded_module *m)
{
	if (!is_laid(modules, m) || m->abandoned)
		return;
	unwind_maps_abandon(modules->maps, m->first_page, m->table.page_count);
	m->abandoned = true;
}

static void take_up(struct modules *modules, struct loaded_module *m)
{
	if (is_laid(modules, m) && m->abandoned)
		unwind_maps_use(modules->maps, m->first_page, m->table.page_count);
	m->abandoned = false;
}
#else
static void abandon(struct modules *modules, struct loaded_module *m) { (void)modules, (void)m; }
static void take_up(struct modules *modules, struct loaded_module *m) { (void)modules, (void)m; }
#endif

void modules_use(struct modules *modules, const struct loaded_module *module)
{
	struct loaded_module *m = (struct loaded_module *)module;
	if (m->users++ == 0)
		take_up(modules, m);
}

void modules_release(struct modules *modules, const struct loaded_module *module)
{
	struct loaded_module *m = (struct loaded_module *)module;
	if (--m->users > 0)
		return;
	abandon(modules, m);
	note_unused(modules, m);
}

bool module_address(const struct loaded_module *m, uint64_t offset, uint64_t *ret_address)
{
	for (uint32_t i = 0; i < m->segment_count; i++)
		if (offset >= m->segments[i].offset && offset - m->segments[i].offset < m->segments[i].bytes) {
			*ret_address = offset - m->segments[i].offset + m->segments[i].address;
			return true;
		}
	return false;
}

void module_texts(const struct loaded_module *m, struct buf *to)
{
	buf_add(to, m->path, strlen(m->path) + 1);
	buf_add(to, m->build_id, strlen(m->build_id) + 1);
	for (uint32_t i = 0; i < m->segment_count; i++)
		buf_printf(to, "%s%" PRIx64 " %" PRIx64 " %" PRIx64, i ? " " : "", m->segments[i].offset, m->segments[i].bytes,
			   m->segments[i].address);
	buf_char(to, 0);
}

/* Takes over what was read. */
static void take_image(struct modules *modules, struct loaded_module *m, const struct module_image *image)
{
	if (!image->elf)
		return;
	snprintf(m->build_id, sizeof(m->build_id), "%s", image->build_id);
	m->segment_count = image->segment_count;
	memcpy(m->segments, image->segments, sizeof(m->segments));
	m->python = image->python;
	modules->tables_ns += image->table_ns;
	if (image->status < 0) {
		m->mapping_kind = image->status == -ENODATA ? STACK_MAPPING_NO_TABLE : STACK_MAPPING_BAD;
		return;
	}
	m->table = image->table;
	m->mapping_kind = STACK_MAPPING_TABLE;
}

/* Who runs the process; this user where it has ended. */
static uid_t user_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) < 0 ? geteuid() : st.st_uid;
}

/* The kernel's own; every process has the same. */
static bool read_vdso(struct module_image *image)
{
	const void *memory = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct elf_file file;
	if (!memory || elf_file_open_memory(memory, VDSO_BYTES, "vdso", &file, NULL) < 0)
		return false;
	module_image_take(image, &file);
	elf_file_close(&file);
	return true;
}

static const struct loaded_module *find_special(struct modules *modules, const struct module_source *s)
{
	bool vdso = strcmp(s->path, "[vdso]") == 0, is_new;
	char path[64];

	/* code made at run time is each process's own */
	uint64_t key = hash_u64(vdso ? 1 : (uint64_t)s->pid << 32 | 2), *number = map_at(&modules->by_file, key, &is_new);
	if (!is_new)
		return *number ? modules->list[*number] : NULL;
	if (vdso)
		snprintf(path, sizeof(path), "[vdso]");
	else
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)s->pid);
	struct loaded_module *m = module_new(modules, vdso ? MODULE_KIND_vdso : MODULE_KIND_jit, key, path);
	if (!m)
		return NULL;
	*number = m->number;
	m->mapping_kind = STACK_MAPPING_JIT;
	m->user = user_of(s->pid);
	struct module_image image = { 0 };
	if (vdso && s->end - s->start >= VDSO_BYTES && read_vdso(&image))
		take_image(modules, m, &image);
	return m;
}

static uint64_t key_of_file(const struct module_source *s)
{
	return hash_u64(hash_u64(s->device) ^ s->inode);
}

static const struct loaded_module *find_file(struct modules *modules, const struct module_source *s, const struct module_file *found)
{
	/* a file that is written anew in its place is another module */
	uint64_t any = key_of_file(s), key = hash_u64(any ^ (uint64_t)found->changed_ns ^ (uint64_t)found->bytes << 1) | 1;
	uint64_t *latest = map_find(&modules->by_file, any);
	if (found->fd < 0 && latest && *latest)
		return modules->list[*latest];
	bool is_new;
	uint64_t *number = map_at(&modules->by_file, key, &is_new);
	if (!is_new)
		return *number ? modules->list[*number] : NULL;
	struct loaded_module *m = module_new(modules, MODULE_KIND_file, key, s->path);
	if (!m)
		return NULL;
	m->device = s->device;
	m->inode = s->inode;
	m->changed_ns = found->changed_ns;
	m->bytes = found->bytes;
	*number = m->number;
	map_put(&modules->by_file, any, m->number);
	if (found->fd >= 0) {
		struct module_image image;
		module_files_read(&modules->files, s, found->fd, &image);
		take_image(modules, m, &image);
	}
	if (!m->build_id[0] && s->build_id)
		snprintf(m->build_id, sizeof(m->build_id), "%s", s->build_id);
	return m;
}

static bool lies_in_file(const struct module_source *s)
{
	return s->inode != 0 && s->path[0] == '/';
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Mappings that are there are read without the generation: in a look of a moment the file of that number and path is another process's, for it
 * stays as long as one maps it. */
static uint64_t key_of_recent(const struct module_source *s)
{
	return hash_u64(key_of_file(s) ^ (s->generation ? s->generation : hash_bytes(s->path, strlen(s->path)) | 1ull << 63));
}

/* Many processes that start at once, or are looked at one after the other, map the same few files. */
static const struct loaded_module *find_recent(const struct modules *modules, const struct module_source *s, uint64_t ms)
{
	const uint64_t *at = s->generation || modules->is_brief ? map_find(&modules->recent, key_of_recent(s)) : NULL;
	return at && ms - (*at >> NUMBER_BITS) < RECENT_MS ? modules->list[*at & (MODULES_MAX - 1)] : NULL;
}

static void note_recent(struct modules *modules, const struct module_source *s, const struct module_file *file,
			const struct loaded_module *m, uint64_t ms)
{
	if ((!s->generation && !modules->is_brief) || (s->generation == 1 && !file->first_is_one) || !m)
		return;
	if (modules->recent.length >= RECENT_MAX)
		map_clear(&modules->recent);
	map_put(&modules->recent, key_of_recent(s), ms << NUMBER_BITS | m->number);
}

void modules_find(struct modules *modules, const struct module_source *sources, size_t count, const struct loaded_module **ret_modules)
{
	struct module_source *in_files = mem_zalloc((count + 1) * sizeof(*in_files));
	struct module_file *found = mem_zalloc((count + 1) * sizeof(*found));
	size_t looked = 0, at = 0;
	uint64_t ms = now_ms();

	for (size_t i = 0; i < count; i++) {
		ret_modules[i] = lies_in_file(&sources[i]) ? find_recent(modules, &sources[i], ms) : find_special(modules, &sources[i]);
		if (!ret_modules[i] && lies_in_file(&sources[i]))
			in_files[looked++] = sources[i];
	}
	module_files_look(&modules->files, in_files, looked, found);
	for (size_t i = 0; i < count; i++) {
		if (ret_modules[i] || !lies_in_file(&sources[i]))
			continue;
		ret_modules[i] = find_file(modules, &sources[i], &found[at]);
		if (found[at].fd >= 0)
			note_recent(modules, &sources[i], &found[at], ret_modules[i], ms);
		if (found[at].fd >= 0)
			close(found[at].fd);
		at++;
	}
	free(found);
	free(in_files);
}

bool modules_known(struct modules *modules, const struct module_source *s)
{
	return !lies_in_file(s) || map_find(&modules->by_file, key_of_file(s));
}

void modules_take(struct modules *modules, const struct module_source *s, const struct module_file *file)
{
	if (file->fd >= 0 && lies_in_file(s))
		find_file(modules, s, file);
}

#ifdef HAVE_BPF
static struct unwind_rule rule_laid(const struct loaded_module *m, struct unwind_maps *maps, uint64_t offset)
{
	struct unwind_rule rule = unwind_maps_rule(maps, m->first_page, m->table.page_count, offset);

	if (rule.kind != UNWIND_PENDING)
		return rule;
	if (!unwind_maps_fill(maps, &m->table, m->first_page, (uint32_t)(offset >> UNWIND_PAGE_SHIFT)))
		return (struct unwind_rule){ .kind = UNWIND_BAD };
	return unwind_maps_rule(maps, m->first_page, m->table.page_count, offset);
}
#endif

struct unwind_rule module_rule(const struct loaded_module *m, struct unwind_maps *maps, uint64_t offset)
{
	static const uint8_t kinds[] = {
		[STACK_MAPPING_NO_TABLE] = UNWIND_FRAME_POINTER,
		[STACK_MAPPING_JIT] = UNWIND_JIT,
		[STACK_MAPPING_PENDING] = UNWIND_PENDING,
		[STACK_MAPPING_BAD] = UNWIND_BAD,
	};
	uint64_t address;

	if (m->mapping_kind != STACK_MAPPING_TABLE)
		return (struct unwind_rule){ .kind = kinds[m->mapping_kind] };
	if (!module_address(m, offset, &address))
		return (struct unwind_rule){ .kind = UNWIND_NONE };
	if (m->table.rows)
		return unwind_table_rule(&m->table, address);
#ifdef HAVE_BPF
	if (maps && m->laid && m->era == maps->era)
		return rule_laid(m, maps, address - m->table.base);
#else
	(void)maps;
#endif
	return (struct unwind_rule){ .kind = UNWIND_BAD };
}

/* ---- in the unwinder's maps ---- */

#ifdef HAVE_BPF
/* The table once more, which is only in maps that are gone. */
static void read_again(struct modules *modules, struct loaded_module *m, const struct module_source *where)
{
	struct module_source s = *where;
	struct module_image image = { 0 };
	struct module_file file = { .fd = -1 };

	s.device = m->device;
	s.inode = m->inode;
	s.path = m->path;
	if (m->kind == MODULE_KIND_vdso)
		read_vdso(&image);
	else
		module_files_look(&modules->files, &s, 1, &file);
	if (file.fd >= 0) {
		if (file.changed_ns == m->changed_ns && file.bytes == m->bytes)
			module_files_read(&modules->files, &s, file.fd, &image);
		close(file.fd);
	}
	if (image.elf && image.status == 0)
		m->table = image.table;
}

uint32_t modules_lay(struct modules *modules, const struct loaded_module *module, const struct module_source *where,
		     struct unwind_maps *maps)
{
	struct loaded_module *m = (struct loaded_module *)module;
	if (m->mapping_kind != STACK_MAPPING_TABLE)
		return m->mapping_kind;
	if (m->era != maps->era) {
		m->era = maps->era;
		if (!m->table.rows && !m->table.file)
			read_again(modules, m, where);
		m->abandoned = false;
		m->laid = (m->table.rows || m->table.file) && unwind_maps_add(maps, &m->table, &m->first_page, NULL) == 0;
		if (!m->table.file) {
			struct unwind_table rest = { .base = m->table.base, .page_count = m->table.page_count };
			unwind_table_done(&m->table);
			m->table = rest;
		}
	}
	return m->laid ? STACK_MAPPING_TABLE : STACK_MAPPING_BAD;
}

void modules_lay_rest(const struct loaded_module *m, struct unwind_maps *maps)
{
	if (m->mapping_kind == STACK_MAPPING_TABLE && m->laid && m->era == maps->era && m->table.file)
		unwind_maps_fill_all(maps, &m->table, m->first_page);
}

static void forget(struct modules *modules, struct loaded_module *m)
{
	struct module_source source = { .device = m->device, .inode = m->inode };
	const uint64_t *latest = m->kind == MODULE_KIND_file ? map_find(&modules->by_file, key_of_file(&source)) : NULL;

	if (latest && *latest == m->number)
		map_remove(&modules->by_file, key_of_file(&source));
	map_remove(&modules->by_file, m->key);
	abandon(modules, m);
	modules->list[m->number] = NULL;
	module_free(&modules->files, m);
}

void modules_collect(struct modules *modules)
{
	for (; modules->unused.length - modules->unused_first > MODULES_UNUSED_MAX; modules->unused_first++) {
		struct loaded_module *m = modules->list[modules->unused.items[modules->unused_first]];
		m->is_unused = false;
		if (m->users == 0)
			forget(modules, m);
	}
	if (modules->unused_first < MODULES_UNUSED_MAX)
		return;
	modules->unused.length -= modules->unused_first;
	memmove(modules->unused.items, modules->unused.items + modules->unused_first,
		modules->unused.length * sizeof(modules->unused.items[0]));
	modules->unused_first = 0;
}
#endif
