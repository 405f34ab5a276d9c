#include "record/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "symbols/unwind_cache.h"

#define VDSO_BYTES 8192u

static struct loaded_module *module_new(struct modules *modules, uint32_t kind, const char *path)
{
	if (modules->count == MODULES_MAX)
		return NULL;
	struct loaded_module *m = arena_new(&modules->arena, struct loaded_module);
	m->number = modules->count;
	m->kind = kind;
	m->path = arena_strdup(&modules->arena, path);
	m->mapping_kind = STACK_MAPPING_NO_TABLE;
	modules->list[modules->count++] = m;
	if (kind == MODULE_KIND_jit)
		modules->jit[modules->jit_count++] = m->number;
	return m;
}

void modules_init(struct modules *modules)
{
	*modules = (struct modules){ .count = 1 };
	modules->list = mem_zalloc(MODULES_MAX * sizeof(*modules->list));
	modules->jit = mem_zalloc(MODULES_MAX * sizeof(*modules->jit));
	module_new(modules, MODULE_KIND_kernel, "[kernel]");
}

void modules_done(struct modules *modules)
{
	for (uint32_t i = 1; i < modules->count; i++)
		unwind_table_done(&modules->list[i]->table);
	free(modules->list);
	free(modules->jit);
	map_done(&modules->by_file);
	arena_done(&modules->arena);
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

uint32_t modules_lay(const struct loaded_module *module, struct unwind_maps *maps)
{
	struct loaded_module *m = (struct loaded_module *)module;
	if (m->mapping_kind != STACK_MAPPING_TABLE)
		return m->mapping_kind;
#ifdef HAVE_BPF
	if (m->era != maps->era) {
		m->era = maps->era;
		m->laid = unwind_maps_add(maps, &m->table, &m->first_page, NULL) == 0;
	}
#else
	(void)maps;
#endif
	return m->laid ? STACK_MAPPING_TABLE : STACK_MAPPING_BAD;
}

static void read_elf(struct modules *modules, struct loaded_module *m, const struct elf_file *file)
{
	struct timespec before, after;

	elf_file_build_id_text(file, m->build_id);
	for (uint32_t i = 0; i < file->segment_count && m->segment_count < 8; i++) {
		const Elf64_Phdr *p = &file->segments[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
			/* mappings are of whole pages */
			uint64_t before_page = p->p_offset & 4095;
			m->segments[m->segment_count].offset = p->p_offset - before_page;
			m->segments[m->segment_count].address = p->p_vaddr - before_page;
			m->segments[m->segment_count++].bytes = p->p_filesz + before_page;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &before);
	int r = unwind_cache_table(file, &m->table, NULL);
	clock_gettime(CLOCK_MONOTONIC, &after);
	modules->tables_ns += (uint64_t)(after.tv_sec - before.tv_sec) * 1000000000u + (uint64_t)(after.tv_nsec - before.tv_nsec);
	if (r < 0) {
		m->mapping_kind = r == -ENODATA ? STACK_MAPPING_NO_TABLE : STACK_MAPPING_BAD;
		return;
	}
	modules->table_bytes += unwind_table_bytes(&m->table);
	m->mapping_kind = STACK_MAPPING_TABLE;
}

/* The file by its path here, if that is the one that is mapped. What goes
 * through the process waits for its memory's lock, which a busy machine's
 * short-lived processes hold for long. */
static int open_here(const struct module_source *s, struct stat *ret_stat)
{
	int fd = open(s->path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_stat) < 0 || ret_stat->st_ino != s->inode || ret_stat->st_dev != s->device || !S_ISREG(ret_stat->st_mode)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* Through the process, so that deleted files and other mount namespaces do not
 * matter; where it has ended, by the path below its root. */
static int open_there(const struct module_source *s, struct stat *ret_stat)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)s->pid, s->start, s->end);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, ret_stat) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)s->pid, s->path);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, ret_stat) < 0 || ret_stat->st_ino != s->inode)) {
		close(fd);
		return -ESTALE;
	}
	return fd < 0 ? -errno : fd;
}

/* For reading, what open_here or open_there has found. */
static int open_again(int found)
{
	char path[64];
	struct stat st;
	/* to open a device would do something */
	if (fstat(found, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Who runs the process; this user where it has ended. */
static uid_t user_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) < 0 ? geteuid() : st.st_uid;
}

static const struct loaded_module *find_special(struct modules *modules, const struct module_source *s)
{
	bool vdso = strcmp(s->path, "[vdso]") == 0, is_new;
	char path[64];

	/* code made at run time is each process's own */
	uint64_t *number = map_at(&modules->by_file, hash_u64(vdso ? 1 : (uint64_t)s->pid << 32 | 2), &is_new);
	if (!is_new)
		return *number ? modules->list[*number] : NULL;
	if (vdso)
		snprintf(path, sizeof(path), "[vdso]");
	else
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)s->pid);
	struct loaded_module *m = module_new(modules, vdso ? MODULE_KIND_vdso : MODULE_KIND_jit, path);
	if (!m)
		return NULL;
	*number = m->number;
	m->mapping_kind = STACK_MAPPING_JIT;
	m->user = user_of(s->pid);
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct elf_file file;
	if (vdso && image && s->end - s->start >= VDSO_BYTES && elf_file_open_memory(image, VDSO_BYTES, "vdso", &file, NULL) == 0) {
		read_elf(modules, m, &file);
		elf_file_close(&file);
	}
	return m;
}

/* `found`: the file, negative when it is out of reach. */
static const struct loaded_module *find_file(struct modules *modules, const struct module_source *s, int found, int64_t changed,
					     int64_t bytes)
{
	uint64_t any = hash_u64(hash_u64(s->device) ^ s->inode), key = hash_u64(any ^ (uint64_t)changed ^ (uint64_t)bytes << 1) | 1;
	uint64_t *latest = map_find(&modules->by_file, any);
	if (found < 0 && latest && *latest)
		return modules->list[*latest];
	bool is_new;
	uint64_t *number = map_at(&modules->by_file, key, &is_new);
	if (!is_new)
		return *number ? modules->list[*number] : NULL;
	struct loaded_module *m = module_new(modules, MODULE_KIND_file, s->path);
	if (!m)
		return NULL;
	m->device = s->device;
	m->inode = s->inode;
	m->changed_ns = changed;
	m->bytes = bytes;
	*number = m->number;
	map_put(&modules->by_file, any, m->number);
	int fd = found >= 0 ? open_again(found) : -1;
	struct elf_file file;
	if (fd >= 0 && elf_file_open_fd(fd, s->path, &file, NULL) == 0) {
		read_elf(modules, m, &file);
		elf_file_close(&file);
	}
	if (!m->build_id[0] && s->build_id)
		snprintf(m->build_id, sizeof(m->build_id), "%s", s->build_id);
	return m;
}

const struct loaded_module *modules_find(struct modules *modules, const struct module_source *s)
{
	if (s->inode == 0 || s->path[0] != '/')
		return find_special(modules, s);

	/* a file that is written anew in its place is another module */
	struct stat st = { 0 };
	int64_t changed = 0, bytes = 0;
	int found = open_here(s, &st);
	if (found < 0)
		found = open_there(s, &st);
	if (found >= 0) {
		changed = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
		bytes = st.st_size;
	}
	const struct loaded_module *m = find_file(modules, s, found, changed, bytes);
	if (found >= 0)
		close(found);
	return m;
}
