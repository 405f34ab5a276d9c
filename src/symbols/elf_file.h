/* An ELF file as untrusted input.
 *
 * Only the headers are kept; contents are copied out on request, never mapped:
 * the file may belong to anybody and be cut short at any time. Everything is
 * checked against the file's size, and what one call may copy is limited.
 * x86-64, little-endian, 64-bit only. */
#ifndef SYMBOLS_ELF_FILE_H
#define SYMBOLS_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ELF_FILE_MAX_COPY (512u << 20)  /* bytes that one elf_file_copy may take */

struct elf_file {
	int fd;                    /* -1 for an image in memory */
	const uint8_t *memory;     /* image in memory, not owned */
	uint64_t bytes;
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	uint32_t segment_count;
	Elf64_Shdr *sections;
	uint32_t section_count;
	char *section_names;       /* NUL-terminated as a whole */
	uint64_t section_names_bytes;
	uint8_t build_id[32];
	uint32_t build_id_bytes;   /* 0 when there is none */
};

struct file_opener;

int elf_file_open(const char *path, struct elf_file *ret_file, struct err *err);
/* The same by an opener (file_opener.h); NULL none. */
int elf_file_open_by(struct file_opener *opener, const char *path, struct elf_file *ret_file, struct err *err);
/* Takes the descriptor over, also on failure; `name` is for messages. */
int elf_file_open_fd(int fd, const char *name, struct elf_file *ret_file, struct err *err);
/* `memory` must stay until elf_file_close. */
int elf_file_open_memory(const void *memory, size_t bytes, const char *name, struct elf_file *ret_file,
			 struct err *err);
void elf_file_close(struct elf_file *file);

/* Copies exactly `bytes` from `offset`; -EIO when the file has become shorter. */
int elf_file_read(const struct elf_file *file, uint64_t offset, void *to, size_t bytes);
/* The same into new memory with a NUL behind it, to be given to free(). */
int elf_file_copy(const struct elf_file *file, uint64_t offset, uint64_t bytes, void **ret_data, struct err *err);
/* Contents of a section, decompressed when they are compressed with zlib or zstd. */
int elf_file_copy_section(const struct elf_file *file, const Elf64_Shdr *section, void **ret_data, size_t *ret_bytes,
			  struct err *err);

/* NULL when there is none, or it takes no place in the file. */
const Elf64_Shdr *elf_file_section(const struct elf_file *file, const char *name);
const char *elf_file_section_name(const struct elf_file *file, const Elf64_Shdr *section);

/* Between addresses as the file was linked and offsets in it; false outside of
 * all loaded segments. */
bool elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *ret_offset);
bool elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *ret_address);

/* Build-id in hexadecimal, "" when there is none. */
void elf_file_build_id_text(const struct elf_file *file, char text[65]);

#endif
