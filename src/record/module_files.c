/* See module_files.h. */
#include "record/module_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "record/proc_maps.h"
#include "symbols/jit_dump.h"
#include "symbols/jit_map.h"
#include "symbols/unwind_cache.h"

#define LEFT_MAX 64u                    /* with so many left behind only what lies on disks is looked at */
#define PROCESS_KEY(pid) (1ull << 63 | (uint64_t)(pid))

enum reach {
	REACH_PATH,                /* by its path, then through the process */
	REACH_PROCESS,             /* a path to a file of this device did not answer */
	REACH_NOTHING,             /* nor does the device itself */
};

/* ---- sources ---- */

void module_sources_add(struct module_sources *sources, const struct module_source *source)
{
	struct module_source copy = *source;
	copy.path = arena_strdup(&sources->arena, source->path);
	copy.build_id = source->build_id && source->build_id[0] ? arena_strdup(&sources->arena, source->build_id) : "";
	vec_push(&sources->list, copy);
}

void module_sources_done(struct module_sources *sources)
{
	vec_done(&sources->list);
	arena_done(&sources->arena);
}

/* ---- what is out of reach ---- */

void module_files_done(struct module_files *files)
{
	aside_close(files->aside);
	map_done(&files->stuck);
	files->aside = NULL;
}

static enum reach reach_of(struct module_files *files, uint64_t device)
{
	uint32_t left = aside_left(files->aside);
	if (left == 0) {
		map_clear(&files->stuck);
		return REACH_PATH;
	}
	if (left >= LEFT_MAX && major(device) == 0)
		return REACH_NOTHING;
	const uint64_t *reach = map_find(&files->stuck, device);
	return reach ? (enum reach)*reach : REACH_PATH;
}

/* ---- looking ---- */

/* The file by its path, if the kernel knows the whole way to it without asking a file
 * system, which most often is so; else -errno. Never waits. */
static int open_known(const struct module_source *s, struct module_file *ret_file)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED };
	struct statx st;
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, s->path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) < 0 || st.stx_ino != s->inode ||
	    makedev(st.stx_dev_major, st.stx_dev_minor) != s->device || !S_ISREG(st.stx_mode)) {
		close(fd);
		return -ESTALE;
	}
	*ret_file = (struct module_file){ .fd = fd, .changed_ns = st.stx_mtime.tv_sec * 1000000000ll + st.stx_mtime.tv_nsec,
					  .bytes = (int64_t)st.stx_size };
	return 0;
}

struct look_job {
	struct aside_job job;
	struct module_sources sources;
	struct { struct module_file file; enum reach reach; } *looks;
	_Atomic size_t at;         /* the one in work */
	_Atomic int stage;         /* enum reach: how it is looked at just now */
	_Atomic size_t taken;      /* when it was left behind: files before it are the loader's */
};

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

static void look_run(struct aside_job *job)
{
	struct look_job *j = (struct look_job *)job;
	for (size_t i = 0; i < j->sources.list.length && !atomic_load(&job->left); i++) {
		const struct module_source *s = &j->sources.list.items[i];
		struct stat st = { 0 };
		int fd = -ENODEV;
		atomic_store(&j->at, i);
		atomic_store(&j->stage, REACH_PATH);
		if (j->looks[i].reach == REACH_PATH)
			fd = open_here(s, &st);
		atomic_store(&j->stage, REACH_PROCESS);
		if (fd < 0 && j->looks[i].reach != REACH_NOTHING && !atomic_load(&job->left))
			fd = open_there(s, &st);
		j->looks[i].file = (struct module_file){ .fd = fd };
		if (fd >= 0) {
			j->looks[i].file.changed_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
			j->looks[i].file.bytes = st.st_size;
		}
	}
}

static void look_free(struct look_job *j)
{
	module_sources_done(&j->sources);
	free(j->looks);
	free(j);
}

static void look_drop(struct aside_job *job)
{
	struct look_job *j = (struct look_job *)job;
	for (size_t i = atomic_load(&j->taken); i < j->sources.list.length; i++)
		if (j->looks[i].file.fd >= 0)
			close(j->looks[i].file.fd);
	look_free(j);
}

/* Returns how many are done. */
static size_t look_at_some(struct module_files *files, const struct module_source *sources, size_t count, struct module_file *ret_files)
{
	struct look_job *j = mem_zalloc(sizeof(*j));
	j->job.run = look_run;
	j->job.drop = look_drop;
	j->looks = mem_zalloc(count * sizeof(*j->looks));
	for (size_t i = 0; i < count; i++) {
		module_sources_add(&j->sources, &sources[i]);
		j->looks[i].reach = reach_of(files, sources[i].device);
		j->looks[i].file.fd = -1;
	}
	if (aside_run(files->aside, &j->job)) {
		for (size_t i = 0; i < count; i++)
			ret_files[i] = j->looks[i].file;
		look_free(j);
		return count;
	}
	size_t done = atomic_load(&j->at);
	for (size_t i = 0; i < done; i++)
		ret_files[i] = j->looks[i].file;
	map_put(&files->stuck, sources[done].device, (uint64_t)atomic_load(&j->stage) + 1);
	atomic_store(&j->taken, done);
	aside_release(&j->job);
	return done;
}

void module_files_look(struct module_files *files, const struct module_source *sources, size_t count, struct module_file *ret_files)
{
	struct module_source *rest = mem_alloc((count + 1) * sizeof(*rest));
	struct module_file *found = mem_alloc((count + 1) * sizeof(*found));
	size_t *places = mem_alloc((count + 1) * sizeof(*places)), rest_count = 0;

	for (size_t i = 0; i < count; i++)
		if (open_known(&sources[i], &ret_files[i]) < 0) {
			rest[rest_count] = sources[i];
			places[rest_count++] = i;
		}
	for (size_t done = 0; done < rest_count;)
		done += look_at_some(files, rest + done, rest_count - done, found + done);
	for (size_t i = 0; i < rest_count; i++)
		ret_files[places[i]] = found[i];
	free(places);
	free(found);
	free(rest);
}

/* ---- reading ---- */

static void add_segments(struct module_image *image, const struct elf_file *file)
{
	for (uint32_t i = 0; i < file->segment_count && image->segment_count < 8; i++) {
		const Elf64_Phdr *p = &file->segments[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
			/* mappings are of whole pages */
			uint64_t before_page = p->p_offset & 4095;
			image->segments[image->segment_count++] = (struct module_segment){
				.offset = p->p_offset - before_page, .address = p->p_vaddr - before_page, .bytes = p->p_filesz + before_page };
		}
	}
}

void module_image_take(struct module_image *image, const struct elf_file *file)
{
	struct timespec before, after;

	image->elf = true;
	elf_file_build_id_text(file, image->build_id);
	add_segments(image, file);
	clock_gettime(CLOCK_MONOTONIC, &before);
	image->status = unwind_cache_table(file, &image->table, NULL);
	clock_gettime(CLOCK_MONOTONIC, &after);
	image->table_ns = (uint64_t)(after.tv_sec - before.tv_sec) * 1000000000u + (uint64_t)(after.tv_nsec - before.tv_nsec);
}

struct read_job {
	struct aside_job job;
	int fd;                    /* O_PATH, our own */
	struct module_image image;
};

/* For reading, what was looked at. */
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

static void read_run(struct aside_job *job)
{
	struct read_job *j = (struct read_job *)job;
	struct elf_file file;
	int fd = open_again(j->fd);
	if (fd < 0)
		return;
	if (elf_file_open_fd(fd, "module", &file, NULL) == 0) {
		module_image_take(&j->image, &file);
		elf_file_close(&file);
	}
}

static void read_drop(struct aside_job *job)
{
	struct read_job *j = (struct read_job *)job;
	unwind_table_done(&j->image.table);
	close(j->fd);
	free(j);
}

void module_files_read(struct module_files *files, const struct module_source *source, int fd, struct module_image *ret_image)
{
	*ret_image = (struct module_image){ 0 };
	if (reach_of(files, source->device) == REACH_NOTHING)
		return;
	struct read_job *j = mem_zalloc(sizeof(*j));
	j->job.run = read_run;
	j->job.drop = read_drop;
	j->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (!aside_run(files->aside, &j->job)) {
		map_put(&files->stuck, source->device, REACH_NOTHING);
		aside_release(&j->job);
		return;
	}
	*ret_image = j->image;
	if (j->fd >= 0)
		close(j->fd);
	free(j);
}

/* ---- what a process maps ---- */

struct maps_job {
	struct aside_job job;
	pid_t pid;
	struct module_sources sources;
	int status;
};

static void take_source(void *data, const struct module_source *source)
{
	module_sources_add(data, source);
}

static void maps_run(struct aside_job *job)
{
	struct maps_job *j = (struct maps_job *)job;
	j->status = proc_maps_read(j->pid, take_source, &j->sources);
}

static void maps_drop(struct aside_job *job)
{
	struct maps_job *j = (struct maps_job *)job;
	module_sources_done(&j->sources);
	free(j);
}

int module_files_maps(struct module_files *files, pid_t pid, struct module_sources *ret_sources)
{
	*ret_sources = (struct module_sources){ 0 };
	if (reach_of(files, PROCESS_KEY(pid)) == REACH_NOTHING)
		return -ETIMEDOUT;
	struct maps_job *j = mem_zalloc(sizeof(*j));
	j->job.run = maps_run;
	j->job.drop = maps_drop;
	j->pid = pid;
	if (!aside_run(files->aside, &j->job)) {
		map_put(&files->stuck, PROCESS_KEY(pid), REACH_NOTHING);
		aside_release(&j->job);
		return -ETIMEDOUT;
	}
	int status = j->status;
	*ret_sources = j->sources;
	free(j);
	return status;
}

/* ---- names of code made at run time ---- */

struct jit_job {
	struct aside_job job;
	struct arena arena;
	pid_t pid;
	uid_t user;
	char **dumps;
	size_t dump_count;
	struct symbol_table names;
};

static void jit_run(struct aside_job *job)
{
	struct jit_job *j = (struct jit_job *)job;
	jit_map_read(j->pid, j->user, &j->names, NULL);
	for (size_t i = 0; i < j->dump_count && !atomic_load(&job->left); i++)
		jit_dump_read(j->pid, j->user, j->dumps[i], &j->names, NULL);
}

static void jit_free(struct jit_job *j)
{
	arena_done(&j->arena);
	free(j);
}

static void jit_drop(struct aside_job *job)
{
	struct jit_job *j = (struct jit_job *)job;
	symbol_table_done(&j->names);
	jit_free(j);
}

void module_files_jit_names(struct module_files *files, pid_t pid, uid_t user, const char *const *dumps, size_t dump_count,
			    struct symbol_table *ret_names)
{
	*ret_names = (struct symbol_table){ 0 };
	if (reach_of(files, PROCESS_KEY(pid)) == REACH_NOTHING)
		return;
	struct jit_job *j = mem_zalloc(sizeof(*j));
	j->job.run = jit_run;
	j->job.drop = jit_drop;
	j->pid = pid;
	j->user = user;
	j->dump_count = dump_count;
	j->dumps = arena_array(&j->arena, char *, dump_count);
	for (size_t i = 0; i < dump_count; i++)
		j->dumps[i] = arena_strdup(&j->arena, dumps[i]);
	if (!aside_run(files->aside, &j->job)) {
		map_put(&files->stuck, PROCESS_KEY(pid), REACH_NOTHING);
		aside_release(&j->job);
		return;
	}
	*ret_names = j->names;
	jit_free(j);
}
