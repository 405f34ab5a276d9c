/* The owner's side; see module_files.h. */
#include "record/module_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "record/module_requests.h"

#define LEFT_MAX 64u                    /* with so many left behind only what lies on disks is looked at */
#define PROCESS_KEY(pid) (1ull << 63 | (uint64_t)(pid))

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
	helper_close(files->helper);
	map_done(&files->stuck);
	map_done(&files->unreached);
	files->helper = NULL;
}

static enum module_reach reach_of(struct module_files *files, uint64_t key)
{
	uint32_t left = helper_left(files->helper);
	if (left == 0) {
		map_clear(&files->stuck);
		return REACH_PATH;
	}
	if (left >= LEFT_MAX && (key >> 63 || major(key) == 0))
		return REACH_NOTHING;
	const uint64_t *reach = map_find(&files->stuck, key);
	return reach ? (enum module_reach)*reach : REACH_PATH;
}

/* Asks for one answer. 0, or -errno when there is none; what did not answer is noted under `key`. */
static int ask_one(struct module_files *files, enum module_request kind, const void *data, size_t bytes, int fd, uint64_t key,
		   struct helper_message *ret_answer)
{
	struct helper_message more;
	int r = reach_of(files, key) == REACH_NOTHING ? -ETIMEDOUT : helper_ask(files->helper, kind, data, bytes, fd);

	if (!r) {
		r = helper_next(files->helper, ret_answer);
		if (r == 1) {
			/* to close a file can take as long as to read it: what was read is there */
			while (helper_next(files->helper, &more) == 1)
				helper_message_done(&more);
			return 0;
		}
		if (r == -ETIMEDOUT)
			map_put(&files->stuck, key, REACH_NOTHING);
	}
	return r ? r : -EPIPE;
}

static void note_unreached(struct module_files *files, const struct module_source *source)
{
	map_put(&files->unreached, source->device, 1);
	if (!files->example[0])
		snprintf(files->example, sizeof(files->example), "%s", source->path);
}

/* ---- looking ---- */

/* File systems without generations give 0, too. */
static bool counts_generations(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == EXT4_SUPER_MAGIC;
}

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
					  .bytes = (int64_t)st.stx_size,
					  .first_is_one = s->generation == 1 && counts_generations(fd) };
	return 0;
}

static void put_look(struct module_files *files, struct buf *request, const struct module_source *s)
{
	struct module_look wanted = {
		.line = { (uint64_t)s->pid, s->start, s->end, s->offset, s->device, s->inode },
		.reach = reach_of(files, s->device),
	};
	if (wanted.reach != REACH_PATH)
		note_unreached(files, s);
	buf_add(request, &wanted, sizeof(wanted));
	helper_put_text(request, s->path);
}

/* Returns how many are done. */
static size_t look_at_some(struct module_files *files, const struct module_source *sources, size_t count, struct module_file *ret_files)
{
	struct helper_message answer;
	struct buf request = { 0 };
	uint64_t number = count;
	uint32_t through = UINT32_MAX; /* which one is looked at through its process */
	size_t done = 0;

	buf_add(&request, &number, sizeof(number));
	for (size_t i = 0; i < count; i++)
		put_look(files, &request, &sources[i]);
	int r = helper_ask(files->helper, MODULE_LOOK, request.data, request.length, -1);
	buf_done(&request);
	while (!r && (r = helper_next(files->helper, &answer)) == 1) {
		struct helper_reader reader = helper_read(&answer);
		struct module_found found;

		r = 0;
		if (answer.kind == MODULE_STAGE) {
			helper_read_bytes(&reader, &through, sizeof(through));
		} else if (done < count) {
			helper_read_bytes(&reader, &found, sizeof(found));
			ret_files[done++] = (struct module_file){ .fd = found.status < 0 ? -1 : answer.fd, .changed_ns = found.changed_ns,
								  .bytes = found.bytes };
			answer.fd = found.status < 0 ? answer.fd : -1;
		}
		helper_message_done(&answer);
	}
	if (r == -ETIMEDOUT && done < count) {
		map_put(&files->stuck, sources[done].device, through == done ? REACH_NOTHING : REACH_PROCESS);
		note_unreached(files, &sources[done]);
	} else if (done < count) {
		/* it has ended of itself: not again with what it ended at */
		ret_files[done++] = (struct module_file){ .fd = -1 };
	}
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

/* The table behind the image in the answer, which holds its memory then; or its outline, and the file that comes along. */
static bool take_table(struct module_files *files, struct helper_message *answer, const struct helper_reader *reader, uint64_t rows_at,
		       struct unwind_table *ret_table)
{
	size_t bytes = (size_t)(reader->end - reader->at);

	if (answer->fd < 0) {
		if (!unwind_table_unpack(reader->at, bytes, ret_table))
			return false;
	} else {
		if (!unwind_outline_unpack(reader->at, bytes, ret_table))
			return false;
		ret_table->file = answer->fd + 1;
		ret_table->rows_at = rows_at;
		files->outlines++;
		answer->fd = -1;
	}
	ret_table->memory = answer->data;
	answer->data = NULL;
	return true;
}

void module_files_read(struct module_files *files, const struct module_source *source, int fd, struct module_image *ret_image)
{
	uint8_t outline_will_do = files->outlines < files->outlines_most;
	struct helper_message answer;
	struct helper_reader reader;
	uint64_t rows_at;

	*ret_image = (struct module_image){ 0 };
	if (ask_one(files, MODULE_READ, &outline_will_do, sizeof(outline_will_do), fd, source->device, &answer) < 0) {
		note_unreached(files, source);
		return;
	}
	reader = helper_read(&answer);
	helper_read_bytes(&reader, ret_image, sizeof(*ret_image));
	rows_at = ret_image->table.rows_at;
	ret_image->table = (struct unwind_table){ 0 };
	ret_image->build_id[sizeof(ret_image->build_id) - 1] = 0;
	if (reader.failed || ret_image->segment_count > sizeof(ret_image->segments) / sizeof(*ret_image->segments))
		*ret_image = (struct module_image){ 0 };
	else if (ret_image->elf && ret_image->status == 0 && !take_table(files, &answer, &reader, rows_at, &ret_image->table))
		ret_image->status = -EBADMSG;
	helper_message_done(&answer);
}

void module_files_forget(struct module_files *files, struct unwind_table *table)
{
	files->outlines -= table->file != 0;
	unwind_table_done(table);
}

int module_files_maps(struct module_files *files, pid_t pid, struct module_sources *ret_sources)
{
	struct helper_message answer;
	struct module_line line;
	int64_t status;

	*ret_sources = (struct module_sources){ 0 };
	int r = ask_one(files, MODULE_MAPS, &pid, sizeof(pid), -1, PROCESS_KEY(pid), &answer);
	if (r)
		return r;
	struct helper_reader reader = helper_read(&answer);
	helper_read_bytes(&reader, &status, sizeof(status));
	while (reader.at < reader.end) {
		helper_read_bytes(&reader, &line, sizeof(line));
		struct module_source source = { .pid = pid, .start = line.start, .end = line.end, .offset = line.offset, .device = line.device,
						.inode = line.inode, .path = helper_read_text(&reader) };
		if (!reader.failed)
			module_sources_add(ret_sources, &source);
	}
	helper_message_done(&answer);
	return (int)status;
}

void module_files_jit_names(struct module_files *files, const struct jit_question *q, struct symbol_table *ret_names)
{
	struct jit_head head = { (uint64_t)q->pid, q->user, q->dump_count, q->address_count };
	struct helper_message answer;
	struct buf request = { 0 };

	*ret_names = (struct symbol_table){ 0 };
	buf_add(&request, &head, sizeof(head));
	for (size_t i = 0; i < q->dump_count; i++)
		helper_put_text(&request, q->dumps[i]);
	buf_add(&request, q->addresses, q->address_count * sizeof(*q->addresses));
	int r = ask_one(files, MODULE_JIT, request.data, request.length, -1, PROCESS_KEY(q->pid), &answer);
	buf_done(&request);
	if (r)
		return;
	struct helper_reader reader = helper_read(&answer);
	while (reader.at < reader.end) {
		struct module_name name;
		helper_read_bytes(&reader, &name, sizeof(name));
		const char *text = helper_read_text(&reader);
		if (!reader.failed)
			symbol_table_add_name(ret_names, name.start, name.bytes, text, 0);
	}
	helper_message_done(&answer);
	symbol_table_sort(ret_names);
}
