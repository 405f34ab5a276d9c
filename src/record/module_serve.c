/* The helper's side of module_files.h: may hang at any step. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record/module_requests.h"
#include "record/proc_maps.h"
#include "symbols/jit_dump.h"
#include "symbols/jit_map.h"
#include "symbols/unwind_cache.h"

/* ---- looking ---- */

/* The file by its path here, if that is the one that is mapped. What goes
 * through the process waits for its memory's lock, which a busy machine's
 * short-lived processes hold for long. */
static int open_here(const struct module_line *l, const char *path, struct stat *ret_stat)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_stat) < 0 || ret_stat->st_ino != l->inode || ret_stat->st_dev != l->device || !S_ISREG(ret_stat->st_mode)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* Through the process, so that deleted files and other mount namespaces do not
 * matter; where it has ended, by the path below its root. */
static int open_there(const struct module_line *l, const char *file, struct stat *ret_stat)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/map_files/%" PRIx64 "-%" PRIx64, l->pid, l->start, l->end);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, ret_stat) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/root%s", l->pid, file);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, ret_stat) < 0 || ret_stat->st_ino != l->inode)) {
		close(fd);
		return -ESTALE;
	}
	return fd < 0 ? -errno : fd;
}

static void look(struct helper_port *port, struct helper_reader *request)
{
	struct module_look wanted;
	uint64_t count;

	helper_read_bytes(request, &count, sizeof(count));
	for (uint32_t i = 0; i < count && !request->failed; i++) {
		struct stat st = { 0 };
		int fd = -ENODEV;

		helper_read_bytes(request, &wanted, sizeof(wanted));
		const char *path = helper_read_text(request);
		if (wanted.reach == REACH_PATH)
			fd = open_here(&wanted.line, path, &st);
		if (fd < 0 && wanted.reach != REACH_NOTHING) {
			helper_answer(port, MODULE_STAGE, &i, sizeof(i), -1);
			fd = open_there(&wanted.line, path, &st);
		}
		/* another file at the path here may have the same time and length: that is not this one */
		if (fd < 0)
			st = (struct stat){ 0 };
		struct module_found found = { .status = fd < 0 ? fd : 0, .bytes = st.st_size,
					      .changed_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec };
		helper_answer(port, MODULE_FOUND, &found, sizeof(found), fd < 0 ? -1 : fd);
		if (fd >= 0)
			close(fd);
	}
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

static void find_python(struct module_image *image, const struct elf_file *file, int fd)
{
	char link[64], path[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = 0;
	const char *slash = strrchr(path, '/');
	python_build_find(file, slash ? slash + 1 : path, &image->python);
}

/* For reading, what was looked at. */
static int open_again(int found)
{
	char path[64];
	struct stat st;
	/* to open a device would do something */
	if (found < 0 || fstat(found, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static void answer_image(struct helper_port *port, const struct module_image *image, const struct unwind_table *table, bool outline)
{
	size_t bytes = sizeof(*image);
	char *answer;

	if (image->elf && image->status == 0)
		bytes += outline ? unwind_outline_packed_bytes(table) : unwind_table_packed_bytes(table);
	answer = mem_alloc(bytes);
	memcpy(answer, image, sizeof(*image));
	if (bytes > sizeof(*image) && outline)
		unwind_outline_pack(table, answer + sizeof(*image));
	else if (bytes > sizeof(*image))
		unwind_table_pack(table, answer + sizeof(*image));
	helper_answer(port, MODULE_IMAGE, answer, bytes, outline ? table->file - 1 : -1);
	free(answer);
}

static void read_file(struct helper_port *port, struct helper_reader *request, int found)
{
	struct module_image image = { 0 };
	struct unwind_table table = { 0 };
	struct elf_file file;
	uint8_t outline_will_do;
	int fd = open_again(found);

	helper_read_bytes(request, &outline_will_do, sizeof(outline_will_do));
	if (fd >= 0 && elf_file_open_fd(fd, "module", &file, NULL) == 0) {
		module_image_take(&image, &file);
		find_python(&image, &file, fd);
		table = image.table;
		if (outline_will_do && image.status == 0)
			unwind_cache_take(&file, &table);
		image.table = (struct unwind_table){ .rows_at = table.rows_at };
		answer_image(port, &image, &table, outline_will_do && table.file);
		unwind_table_done(&table);
		elf_file_close(&file);
	} else {
		helper_answer(port, MODULE_IMAGE, &image, sizeof(image), -1);
	}
}

/* ---- what a process maps ---- */

static void add_source(void *data, const struct module_source *source)
{
	struct buf *lines = data;
	struct module_line line = { (uint64_t)source->pid, source->start, source->end, source->offset, source->device, source->inode };
	buf_add(lines, &line, sizeof(line));
	helper_put_text(lines, source->path);
}

static void read_maps(struct helper_port *port, struct helper_reader *request)
{
	struct buf lines = { 0 };
	int64_t status = 0;
	pid_t pid;

	helper_read_bytes(request, &pid, sizeof(pid));
	buf_add(&lines, &status, sizeof(status));
	status = proc_maps_read(pid, add_source, &lines);
	memcpy(lines.data, &status, sizeof(status));
	helper_answer(port, MODULE_SOURCES, lines.data, lines.length, -1);
	buf_done(&lines);
}

/* ---- names of code made at run time ---- */

static void find_names(struct helper_port *port, struct helper_reader *request)
{
	struct symbol_table names = { 0 };
	struct buf answer = { 0 };
	struct jit_head head;
	bool guessed;

	helper_read_bytes(request, &head, sizeof(head));
	jit_map_read((pid_t)head.pid, (uid_t)head.user, &names, NULL);
	for (uint64_t i = 0; i < head.dumps && !request->failed; i++)
		jit_dump_read((pid_t)head.pid, (uid_t)head.user, helper_read_text(request), &names, NULL);
	for (uint64_t i = 0; i < head.addresses && !request->failed; i++) {
		uint64_t address;
		helper_read_bytes(request, &address, sizeof(address));
		const struct symbol *symbol = symbol_table_find(&names, NULL, address, &guessed);
		if (!symbol || guessed)
			continue;
		struct module_name name = { symbol->start, symbol->bytes };
		buf_add(&answer, &name, sizeof(name));
		helper_put_text(&answer, symbol->name);
	}
	helper_answer(port, MODULE_NAMES, buf_str(&answer), answer.length, -1);
	buf_done(&answer);
	symbol_table_done(&names);
}

void module_files_serve(struct helper_port *port, const struct helper_message *request)
{
	struct helper_reader reader = helper_read(request);

	switch ((enum module_request)request->kind) {
	case MODULE_LOOK:
		look(port, &reader);
		break;
	case MODULE_READ:
		read_file(port, &reader, request->fd);
		break;
	case MODULE_MAPS:
		read_maps(port, &reader);
		break;
	case MODULE_JIT:
		find_names(port, &reader);
		break;
	}
}
