#include "symbols/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/arena.h"
#include "symbols/file_opener.h"

enum {
	MAX_SECTIONS = 65536,
	MAX_SEGMENTS = 4096,
	MAX_NAMES_BYTES = 16 << 20,
	MAX_NOTE_BYTES = 1 << 20,
};

int elf_file_read(const struct elf_file *file, uint64_t offset, void *to, size_t bytes)
{
	if (offset > file->bytes || bytes > file->bytes - offset)
		return -EIO;
	if (file->memory) {
		memcpy(to, file->memory + offset, bytes);
		return 0;
	}
	for (size_t done = 0; done < bytes;) {
		ssize_t got = pread(file->fd, (char *)to + done, bytes - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		done += (size_t)got;
	}
	return 0;
}

int elf_file_copy(const struct elf_file *file, uint64_t offset, uint64_t bytes, void **ret_data, struct err *err)
{
	if (offset > file->bytes || bytes > file->bytes - offset)
		return err_set(err, -EPROTO, "a part of the file lies outside of it");
	if (bytes > ELF_FILE_MAX_COPY)
		return err_set(err, -EFBIG, "a part of the file is larger than %u MiB", ELF_FILE_MAX_COPY >> 20);
	char *data = mem_alloc((size_t)bytes + 1);
	int r = elf_file_read(file, offset, data, (size_t)bytes);
	if (r < 0) {
		free(data);
		return err_sys(err, r, "cannot read the file");
	}
	data[bytes] = 0;
	*ret_data = data;
	return 0;
}

static int decompress(uint32_t type, const uint8_t *from, size_t from_bytes, char *to, size_t to_bytes)
{
	if (type == ELFCOMPRESS_ZLIB) {
		uLongf length = to_bytes;
		return uncompress((Bytef *)to, &length, from, from_bytes) == Z_OK && length == to_bytes ? 0 : -EPROTO;
	}
	if (type == 2 /* ELFCOMPRESS_ZSTD */) {
		size_t length = ZSTD_decompress(to, to_bytes, from, from_bytes);
		return !ZSTD_isError(length) && length == to_bytes ? 0 : -EPROTO;
	}
	return -EOPNOTSUPP;
}

int elf_file_copy_section(const struct elf_file *file, const Elf64_Shdr *section, void **ret_data, size_t *ret_bytes,
			  struct err *err)
{
	void *data;
	int r = elf_file_copy(file, section->sh_offset, section->sh_size, &data, err);
	if (r < 0)
		return r;
	size_t bytes = section->sh_size;
	if (section->sh_flags & SHF_COMPRESSED) {
		Elf64_Chdr head;
		if (bytes < sizeof(head)) {
			free(data);
			return err_set(err, -EPROTO, "a compressed section is too short");
		}
		memcpy(&head, data, sizeof(head));
		if (head.ch_size > ELF_FILE_MAX_COPY) {
			free(data);
			return err_set(err, -EFBIG, "a section is larger than %u MiB", ELF_FILE_MAX_COPY >> 20);
		}
		char *plain = mem_alloc(head.ch_size + 1);
		r = decompress(head.ch_type, (uint8_t *)data + sizeof(head), bytes - sizeof(head), plain, head.ch_size);
		free(data);
		if (r < 0) {
			free(plain);
			return err_set(err, r, "a compressed section cannot be unpacked");
		}
		plain[head.ch_size] = 0;
		data = plain;
		bytes = head.ch_size;
	}
	*ret_data = data;
	*ret_bytes = bytes;
	return 0;
}

/* Looks for a GNU build-id in a stretch of notes. */
static void build_id_find(struct elf_file *file, uint64_t offset, uint64_t bytes)
{
	void *notes;
	if (bytes > MAX_NOTE_BYTES || elf_file_copy(file, offset, bytes, &notes, NULL) < 0)
		return;
	for (uint64_t at = 0; bytes - at >= sizeof(Elf64_Nhdr) && file->build_id_bytes == 0;) {
		Elf64_Nhdr note;
		memcpy(&note, (char *)notes + at, sizeof(note));
		at += sizeof(note);
		uint64_t name_bytes = ((uint64_t)note.n_namesz + 3) & ~3ull, description_bytes = ((uint64_t)note.n_descsz + 3) & ~3ull;
		if (name_bytes > bytes - at || description_bytes > bytes - at - name_bytes)
			break;
		const char *name = (char *)notes + at;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0 && note.n_descsz > 0 &&
		    note.n_descsz <= sizeof(file->build_id)) {
			memcpy(file->build_id, name + name_bytes, note.n_descsz);
			file->build_id_bytes = note.n_descsz;
		}
		at += name_bytes + description_bytes;
	}
	free(notes);
}

static int read_segments(struct elf_file *file, const char *name, struct err *err)
{
	const Elf64_Ehdr *head = &file->header;
	if (head->e_phnum == 0)
		return 0;
	void *data;
	if (head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phnum > MAX_SEGMENTS ||
	    elf_file_copy(file, head->e_phoff, head->e_phnum * sizeof(Elf64_Phdr), &data, NULL) < 0)
		return err_set(err, -EPROTO, "'%s' has malformed program headers", name);
	file->segments = data;
	file->segment_count = head->e_phnum;
	for (uint32_t i = 0; i < file->segment_count; i++)
		if (file->segments[i].p_type == PT_NOTE && file->build_id_bytes == 0)
			build_id_find(file, file->segments[i].p_offset, file->segments[i].p_filesz);
	return 0;
}

/* Section headers are a convenience: a file without usable ones is still an
 * ELF file, and its unwind tables are found by its segments. */
static void read_sections(struct elf_file *file)
{
	const Elf64_Ehdr *head = &file->header;
	if (head->e_shoff == 0 || head->e_shentsize != sizeof(Elf64_Shdr))
		return;
	uint64_t count = head->e_shnum, names = head->e_shstrndx;
	Elf64_Shdr first;
	if (elf_file_read(file, head->e_shoff, &first, sizeof(first)) < 0)
		return;
	if (count == 0)
		count = first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	void *data;
	if (count == 0 || count > MAX_SECTIONS || names >= count ||
	    elf_file_copy(file, head->e_shoff, count * sizeof(Elf64_Shdr), &data, NULL) < 0)
		return;
	Elf64_Shdr *sections = data;
	if (sections[names].sh_size > MAX_NAMES_BYTES || sections[names].sh_type != SHT_STRTAB ||
	    elf_file_copy(file, sections[names].sh_offset, sections[names].sh_size, &data, NULL) < 0) {
		free(sections);
		return;
	}
	file->section_names = data;
	file->section_names_bytes = sections[names].sh_size;
	file->sections = sections;
	file->section_count = (uint32_t)count;
	for (uint32_t i = 0; i < count && file->build_id_bytes == 0; i++)
		if (sections[i].sh_type == SHT_NOTE)
			build_id_find(file, sections[i].sh_offset, sections[i].sh_size);
}

static int elf_file_parse(struct elf_file *file, const char *name, struct err *err)
{
	Elf64_Ehdr *head = &file->header;
	if (elf_file_read(file, 0, head, sizeof(*head)) < 0 || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, -ENOEXEC, "'%s' is not an ELF file", name);
	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_machine != EM_X86_64)
		return err_set(err, -EOPNOTSUPP, "'%s' is not for x86-64", name);
	int r = read_segments(file, name, err);
	if (r < 0)
		return r;
	read_sections(file);
	return 0;
}

int elf_file_open_fd(int fd, const char *name, struct elf_file *ret_file, struct err *err)
{
	struct elf_file file = { .fd = fd };
	struct stat st;
	int r;

	if ((r = file_opener_stat(fd, &st)) < 0)
		err_sys(err, r, "cannot examine '%s'", name);
	else if (!S_ISREG(st.st_mode))
		r = err_set(err, -ENOEXEC, "'%s' is not a regular file", name);
	else {
		file.bytes = (uint64_t)st.st_size;
		r = elf_file_parse(&file, name, err);
	}
	if (r < 0) {
		elf_file_close(&file);
		return r;
	}
	*ret_file = file;
	return 0;
}

int elf_file_open_by(struct file_opener *opener, const char *path, struct elf_file *ret_file, struct err *err)
{
	int fd = file_opener_open(opener, path, err);
	return fd < 0 ? fd : elf_file_open_fd(fd, path, ret_file, err);
}

int elf_file_open(const char *path, struct elf_file *ret_file, struct err *err)
{
	return elf_file_open_by(NULL, path, ret_file, err);
}

int elf_file_open_memory(const void *memory, size_t bytes, const char *name, struct elf_file *ret_file, struct err *err)
{
	struct elf_file file = { .fd = -1, .memory = memory, .bytes = bytes };
	int r = elf_file_parse(&file, name, err);
	if (r < 0) {
		elf_file_close(&file);
		return r;
	}
	*ret_file = file;
	return 0;
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->segments);
	free(file->sections);
	free(file->section_names);
	*file = (struct elf_file){ .fd = -1 };
}

const char *elf_file_section_name(const struct elf_file *file, const Elf64_Shdr *section)
{
	return section->sh_name < file->section_names_bytes ? file->section_names + section->sh_name : "";
}

const Elf64_Shdr *elf_file_section(const struct elf_file *file, const char *name)
{
	for (uint32_t i = 1; i < file->section_count; i++)
		if (file->sections[i].sh_type != SHT_NOBITS && strcmp(elf_file_section_name(file, &file->sections[i]), name) == 0)
			return &file->sections[i];
	return NULL;
}

bool elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *ret_offset)
{
	for (uint32_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *p = &file->segments[i];
		if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz) {
			*ret_offset = address - p->p_vaddr + p->p_offset;
			return true;
		}
	}
	return false;
}

bool elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *ret_address)
{
	/* Two segments can share a page of the file; the one with code is meant. */
	for (int executable = 1; executable >= 0; executable--)
		for (uint32_t i = 0; i < file->segment_count; i++) {
			const Elf64_Phdr *p = &file->segments[i];
			if (p->p_type == PT_LOAD && !!(p->p_flags & PF_X) == executable && offset >= p->p_offset &&
			    offset - p->p_offset < p->p_filesz) {
				*ret_address = offset - p->p_offset + p->p_vaddr;
				return true;
			}
		}
	return false;
}

void elf_file_build_id_text(const struct elf_file *file, char text[65])
{
	static const char digits[] = "0123456789abcdef";
	for (uint32_t i = 0; i < file->build_id_bytes; i++) {
		text[2 * i] = digits[file->build_id[i] >> 4];
		text[2 * i + 1] = digits[file->build_id[i] & 15];
	}
	text[2 * file->build_id_bytes] = 0;
}
