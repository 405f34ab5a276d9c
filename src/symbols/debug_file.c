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

bool debug_file_by_build_id(const char *build_id, const char *symfs, bool remote, char *path, size_t path_bytes)
{
	if (!hexadecimal(build_id))
		return false;
	for (int own = symfs ? 0 : 1; own < 2; own++) {
		snprintf(path, path_bytes, "%s" DEBUG_FOLDER "/.build-id/%.2s/%s.debug", own ? "" : symfs, build_id, build_id + 2);
		if (access(path, R_OK) == 0)
			return true;
	}
	if (symfs) {
		snprintf(path, path_bytes, "%s/.build-id/%.2s/%s.debug", symfs, build_id, build_id + 2);
		if (access(path, R_OK) == 0)
			return true;
	}
	return remote && debuginfod(build_id, path, path_bytes);
}

static bool checksum_fits(const char *path, uint32_t want)
{
	char buffer[65536];
	uLong sum = crc32(0, NULL, 0);
	FILE *f = fopen(path, "re");
	size_t got;
	if (!f)
		return false;
	while ((got = fread(buffer, 1, sizeof(buffer), f)) > 0)
		sum = crc32(sum, (const Bytef *)buffer, (uInt)got);
	fclose(f);
	return (uint32_t)sum == want;
}

static bool build_id_fits(const struct elf_file *file, const char *path)
{
	struct elf_file other;
	if (elf_file_open(path, &other, NULL) < 0)
		return false;
	bool same = other.build_id_bytes == file->build_id_bytes && memcmp(other.build_id, file->build_id, file->build_id_bytes) == 0;
	elf_file_close(&other);
	return same;
}

static bool by_debuglink(const struct elf_file *file, const char *file_path, const char *symfs, char *path, size_t path_bytes)
{
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
			found = access(path, R_OK) == 0 &&
				(file->build_id_bytes ? build_id_fits(file, path) : checksum_fits(path, checksum));
		}
	}
	free(data);
	return found;
}

bool debug_file_find(const struct elf_file *file, const char *file_path, const char *symfs, bool remote, char *path, size_t path_bytes)
{
	char build_id[65];
	elf_file_build_id_text(file, build_id);
	return (debug_file_by_build_id(build_id, symfs, false, path, path_bytes) && build_id_fits(file, path)) ||
	       by_debuglink(file, file_path, symfs, path, path_bytes) ||
	       (remote && file->build_id_bytes && debuginfod(build_id, path, path_bytes) && build_id_fits(file, path));
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

void debug_file_add_symbols(const struct elf_file *file, const char *file_path, const char *symfs, struct symbol_table *symbols)
{
	char path[4096];
	struct elf_file debug;
	if (debug_file_find(file, file_path, symfs, true, path, sizeof(path)) && elf_file_open(path, &debug, NULL) == 0) {
		symbol_table_add(symbols, &debug);
		elf_file_close(&debug);
		return;
	}
	add_debugdata(file, symbols);
}
