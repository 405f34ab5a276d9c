#include "symbols/debug_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"

#define DEBUG_FOLDER "/usr/lib/debug"

enum {
	MAX_DEBUGDATA_BYTES = 256 << 20,   /* unpacked */
	MAX_LZMA_BYTES = 128 << 20,        /* of the decoder's own memory */
	MAX_DEBUGLINK_BYTES = 4096,
	MAX_CHECKED_BYTES = 1 << 30,       /* of a debug file that only a checksum tells */
};

static bool hexadecimal(const char *text)
{
	size_t length = strlen(text);
	return length >= 4 && length <= 64 && length % 2 == 0 && strspn(text, "0123456789abcdef") == length;
}

bool debug_file_remote(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	return urls && urls[0];
}

/* libdebuginfod is loaded only when the user has named servers. */
static bool debuginfod(const char *build_id, char *path, size_t path_bytes)
{
	if (!debug_file_remote())
		return false;
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	void *(*begin)(void) = (void *(*)(void))dlsym(library, "debuginfod_begin");
	void (*end)(void *) = (void (*)(void *))dlsym(library, "debuginfod_end");
	int (*find)(void *, const unsigned char *, int, char **) =
		(int (*)(void *, const unsigned char *, int, char **))dlsym(library, "debuginfod_find_debuginfo");
	bool found = false;
	void *client = begin && end && find ? begin() : NULL;
	if (client) {
		char *got = NULL;
		/* a length of 0 says that the build-id is text */
		int fd = find(client, (const unsigned char *)build_id, 0, &got);
		if (fd >= 0) {
			found = got && snprintf(path, path_bytes, "%s", got) < (int)path_bytes;
			close(fd);
		}
		free(got);
		end(client);
	}
	return found;
}

/* Whether there is a file that can be read. */
static bool is_there(const struct debug_places *places, const char *path)
{
	int fd = file_opener_open(places->opener, path, NULL);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool debug_file_by_build_id(const struct debug_places *places, const char *build_id, bool remote, char *path, size_t path_bytes)
{
	const char *symfs = places->symfs;

	if (!hexadecimal(build_id))
		return false;
	for (int own = symfs ? 0 : 1; own < 2; own++) {
		snprintf(path, path_bytes, "%s" DEBUG_FOLDER "/.build-id/%.2s/%s.debug", own ? "" : symfs, build_id, build_id + 2);
		if (is_there(places, path))
			return true;
	}
	if (symfs) {
		snprintf(path, path_bytes, "%s/.build-id/%.2s/%s.debug", symfs, build_id, build_id + 2);
		if (is_there(places, path))
			return true;
	}
	return remote && debuginfod(build_id, path, path_bytes);
}

/* A program's file can name any other beside it: one that would take minutes to read is none. */
static bool checksum_fits(const struct debug_places *places, const char *path, uint32_t want)
{
	char buffer[65536];
	uLong sum = crc32(0, NULL, 0);
	struct stat st;
	uint64_t done = 0;
	ssize_t got = -1;
	int fd = file_opener_open(places->opener, path, NULL);

	if (fd < 0)
		return false;
	if (file_opener_stat(fd, &st) == 0 && (uint64_t)st.st_size <= MAX_CHECKED_BYTES)
		while ((got = read(fd, buffer, sizeof(buffer))) > 0 && (done += (uint64_t)got) <= MAX_CHECKED_BYTES)
			sum = crc32(sum, (const Bytef *)buffer, (uInt)got);
	close(fd);
	return got == 0 && (uint32_t)sum == want;
}

static bool build_id_fits(const struct debug_places *places, const struct elf_file *file, const char *path)
{
	struct elf_file other;
	if (elf_file_open_by(places->opener, path, &other, NULL) < 0)
		return false;
	bool same = other.build_id_bytes == file->build_id_bytes && memcmp(other.build_id, file->build_id, file->build_id_bytes) == 0;
	elf_file_close(&other);
	return same;
}

static bool by_debuglink(const struct debug_places *places, const struct elf_file *file, const char *file_path, char *path,
			 size_t path_bytes)
{
	const char *symfs = places->symfs;
	const Elf64_Shdr *section = elf_file_section(file, ".gnu_debuglink");
	void *data;
	uint32_t checksum;
	bool found = false;

	if (!section || section->sh_size > MAX_DEBUGLINK_BYTES || section->sh_size < 8 ||
	    elf_file_copy(file, section->sh_offset, section->sh_size, &data, NULL) < 0)
		return false;
	const char *name = data, *slash = strrchr(file_path, '/');
	int folder = slash ? (int)(slash - file_path) : 0;
	size_t name_bytes = strnlen(name, section->sh_size - 4);
	/* the name ends, and behind it, at a multiple of 4, is the checksum */
	size_t at = (name_bytes + 4) & ~3ul;
	if (at + 4 > section->sh_size) {
		free(data);
		return false;
	}
	memcpy(&checksum, (char *)data + at, 4);
	const char *formats[] = { "%s%.*s/%s", "%s%.*s/.debug/%s", "%s" DEBUG_FOLDER "%.*s/%s" };
	for (size_t i = 0; i < 3 && !found && name[0] && !strchr(name, '/'); i++) {
		for (int own = symfs ? 0 : 1; own < 2 && !found; own++) {
			snprintf(path, path_bytes, formats[i], own ? "" : symfs, folder, file_path, name);
			found = file->build_id_bytes ? build_id_fits(places, file, path) : checksum_fits(places, path, checksum);
		}
	}
	free(data);
	return found;
}

bool debug_file_find(const struct debug_places *places, const struct elf_file *file, const char *file_path, bool remote, char *path,
		     size_t path_bytes)
{
	char build_id[65];
	elf_file_build_id_text(file, build_id);
	return (debug_file_by_build_id(places, build_id, false, path, path_bytes) && build_id_fits(places, file, path)) ||
	       by_debuglink(places, file, file_path, path, path_bytes) ||
	       (remote && file->build_id_bytes && debuginfod(build_id, path, path_bytes) && build_id_fits(places, file, path));
}

/* .gnu_debugdata is an ELF file of its own, packed with xz. */
static bool unpack(const uint8_t *from, size_t from_bytes, char **ret_data, size_t *ret_bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t capacity = from_bytes * 4 + 65536;
	char *data;
	lzma_ret r;

	if (lzma_stream_decoder(&stream, MAX_LZMA_BYTES, 0) != LZMA_OK)
		return false;
	data = mem_alloc(capacity);
	stream.next_in = from;
	stream.avail_in = from_bytes;
	do {
		if (stream.total_out == capacity && capacity < MAX_DEBUGDATA_BYTES) {
			capacity *= 2;
			data = mem_realloc(data, capacity);
		}
		stream.next_out = (uint8_t *)data + stream.total_out;
		stream.avail_out = capacity - stream.total_out;
		r = lzma_code(&stream, LZMA_FINISH);
	} while (r == LZMA_OK && stream.total_out == capacity && capacity < MAX_DEBUGDATA_BYTES);
	*ret_bytes = stream.total_out;
	lzma_end(&stream);
	if (r != LZMA_STREAM_END) {
		free(data);
		return false;
	}
	*ret_data = data;
	return true;
}

static void add_debugdata(const struct elf_file *file, struct symbol_table *symbols)
{
	const Elf64_Shdr *section = elf_file_section(file, ".gnu_debugdata");
	struct elf_file inner;
	void *packed;
	char *plain;
	size_t packed_bytes, plain_bytes;

	if (!section || elf_file_copy_section(file, section, &packed, &packed_bytes, NULL) < 0)
		return;
	if (unpack(packed, packed_bytes, &plain, &plain_bytes)) {
		if (elf_file_open_memory(plain, plain_bytes, ".gnu_debugdata", &inner, NULL) == 0) {
			symbol_table_add(symbols, &inner);
			elf_file_close(&inner);
		}
		free(plain);
	}
	free(packed);
}

void debug_file_add_symbols(const struct debug_places *places, const struct elf_file *file, const char *file_path,
			    struct symbol_table *symbols)
{
	char path[4096];
	struct elf_file debug;
	if (debug_file_find(places, file, file_path, true, path, sizeof(path)) && elf_file_open_by(places->opener, path, &debug, NULL) == 0) {
		symbol_table_add(symbols, &debug);
		elf_file_close(&debug);
		return;
	}
	add_debugdata(file, symbols);
}
