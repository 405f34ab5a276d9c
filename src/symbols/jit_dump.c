#include "symbols/jit_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/map.h"

#define DUMP_MAGIC 0x4a695444u
#define RECORDS_MAX (1u << 20)
#define NAME_BYTES_MAX 1024u

enum dump_record { DUMP_LOAD, DUMP_MOVE };

struct dump_head {
	uint32_t magic, version, bytes, machine, reserved, pid;
	uint64_t time, flags;
};

struct record_head {
	uint32_t kind, bytes;
	uint64_t time;
};

struct load {
	uint32_t pid, tid;
	uint64_t vma, address, bytes, index;
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, from, to, bytes, index;
};

struct parsing {
	struct symbol_table *table;
	struct arena arena;
	struct map names;          /* number of the code -> its name */
};

static void take_load(struct parsing *p, const struct load *load, const char *name)
{
	if (!name[0] || load->bytes == 0)
		return;
	symbol_table_add_name(p->table, load->address, load->bytes, name, 0);
	map_put(&p->names, load->index, (uint64_t)(uintptr_t)arena_strdup(&p->arena, name));
}

static void take_move(struct parsing *p, const struct move *move)
{
	const uint64_t *name = map_find(&p->names, move->index);
	if (name && move->bytes)
		symbol_table_add_name(p->table, move->to, move->bytes, (const char *)(uintptr_t)*name, 0);
}

int jit_dump_parse(jit_dump_bytes *read, void *data, struct symbol_table *table)
{
	struct parsing p = { .table = table };
	struct dump_head head;
	struct record_head record;
	uint64_t at;

	if (read(data, &head, sizeof(head), 0) < sizeof(head) || head.magic != DUMP_MAGIC || head.bytes < sizeof(head))
		return -EPROTO;
	at = head.bytes;
	for (uint32_t i = 0; i < RECORDS_MAX && read(data, &record, sizeof(record), at) == sizeof(record); i++) {
		union {
			struct load load;
			struct move move;
			char bytes[sizeof(struct load) + NAME_BYTES_MAX + 1];
		} u;
		size_t body = record.bytes - sizeof(record);
		if (record.bytes < sizeof(record))
			break;
		if (body > sizeof(u) - 1)
			body = sizeof(u) - 1;
		size_t got = record.kind <= DUMP_MOVE ? read(data, &u, body, at + sizeof(record)) : 0;
		if (record.kind == DUMP_LOAD && got > sizeof(u.load)) {
			/* a longer name than is kept is cut; behind it lies the code */
			u.bytes[got] = 0;
			take_load(&p, &u.load, u.bytes + sizeof(u.load));
		} else if (record.kind == DUMP_MOVE && got >= sizeof(u.move)) {
			take_move(&p, &u.move);
		}
		at += record.bytes;
	}
	symbol_table_sort(table);
	map_done(&p.names);
	arena_done(&p.arena);
	return 0;
}

bool jit_dump_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t digits = strncmp(name, "jit-", 4) == 0 ? strspn(name + 4, "0123456789") : 0;
	return digits > 0 && strcmp(name + 4 + digits, ".dump") == 0;
}

static size_t from_file(void *data, void *to, size_t bytes, uint64_t at)
{
	ssize_t got = at > INT64_MAX ? 0 : pread(*(int *)data, to, bytes, (off_t)at);
	return got > 0 ? (size_t)got : 0;
}

int jit_dump_read(pid_t pid, uid_t user, const char *path, struct symbol_table *table, struct err *err)
{
	char through[4200];
	struct stat st;
	int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

	snprintf(through, sizeof(through), "/proc/%d/root%s", (int)pid, path);
	int fd = open(through, flags);
	if (fd < 0)
		fd = open(path, flags);
	if (fd < 0)
		return err_sys(err, -errno, "cannot open '%s'", path);
	int r = 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		r = err_set(err, -EINVAL, "'%s' is not a regular file", path);
	else if (st.st_uid != user && st.st_uid != 0)
		r = err_set(err, -EPERM, "'%s' is not of the user who runs process %d", path, (int)pid);
	else if (jit_dump_parse(from_file, &fd, table) < 0)
		r = err_set(err, -EPROTO, "'%s' is not a jitdump", path);
	close(fd);
	return r;
}
