/* See thread_block.h.
 *
 * Both ways are fixed by the processor's ABI for ELF thread-local storage. Which number the
 * module has, or at which distance its block lies, the dynamic linker wrote into the module
 * when it relocated it: the words that its relocations name tell. */
#include "probe/thread_block.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_ENTRY 16u           /* bytes of an entry of the table: address, and what is to be freed */
#define MODULES_MOST 65536u

static const Elf64_Phdr *tls_segment(const struct elf_file *file)
{
	for (uint32_t i = 0; i < file->segment_count; i++)
		if (file->segments[i].p_type == PT_TLS)
			return &file->segments[i];
	return NULL;
}

/* The program's block is the first below the thread pointer. */
static uint64_t program_distance(const Elf64_Phdr *tls)
{
	uint64_t align = tls->p_align ? tls->p_align : 1, first = -(tls->p_vaddr & (align - 1)) & (align - 1);

	return ((tls->p_memsz - first + align - 1) & -align) + first;
}

struct names {
	const Elf64_Sym *symbols;
	size_t count;
};

/* Takes the word that one relocation filled; false when it says nothing of this module. */
static bool take_word(struct thread_block *block, const Elf64_Rela *rela, const struct names *names, uint64_t bias)
{
	uint32_t type = ELF64_R_TYPE(rela->r_info), number = ELF64_R_SYM(rela->r_info);
	const Elf64_Sym *symbol = number && number < names->count ? &names->symbols[number] : NULL;
	uint64_t word;

	if ((type != R_X86_64_DTPMOD64 && type != R_X86_64_TPOFF64) || (number && (!symbol || symbol->st_shndx == SHN_UNDEF)))
		return false;
	/* another module may have a variable of this name, and be the one that is meant */
	if (symbol && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL && ELF64_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT &&
	    type == R_X86_64_TPOFF64)
		return false;
	if (process_read(block->pid, rela->r_offset + bias, &word, sizeof(word)))
		return false;
	if (type == R_X86_64_DTPMOD64) {
		block->module = word;
		return word && word < MODULES_MOST;
	}
	block->fixed = true;
	block->distance = (symbol ? symbol->st_value : 0) + (uint64_t)rela->r_addend - word;
	return true;
}

static bool read_relocations(struct thread_block *block, const struct elf_file *file, const Elf64_Shdr *section, uint64_t bias)
{
	size_t bytes = 0, symbol_bytes = 0;
	void *relas = NULL, *symbols = NULL;
	struct names names = { 0 };
	bool found = false;

	if (section->sh_type != SHT_RELA || section->sh_entsize != sizeof(Elf64_Rela) ||
	    elf_file_copy_section(file, section, &relas, &bytes, NULL))
		return false;
	if (section->sh_link && section->sh_link < file->section_count && file->sections[section->sh_link].sh_type == SHT_DYNSYM &&
	    !elf_file_copy_section(file, &file->sections[section->sh_link], &symbols, &symbol_bytes, NULL))
		names = (struct names){ symbols, symbol_bytes / sizeof(Elf64_Sym) };
	for (size_t i = 0; i < bytes / sizeof(Elf64_Rela) && !found; i++) {
		Elf64_Rela rela;

		memcpy(&rela, (const char *)relas + i * sizeof(rela), sizeof(rela));
		found = take_word(block, &rela, &names, bias);
	}
	free(symbols);
	free(relas);
	return found;
}

int thread_block_find(const struct process *process, const struct elf_file *file, uint64_t bias, bool program,
		      struct thread_block *ret_block, struct err *err)
{
	const Elf64_Phdr *tls = tls_segment(file);
	struct thread_block block = { .pid = process->pid };

	if (!tls)
		return err_set(err, -EINVAL, "the file has no thread-local variables");
	if (program) {
		block.fixed = true;
		block.distance = program_distance(tls);
		*ret_block = block;
		return 0;
	}
	for (uint32_t i = 0; i < file->section_count; i++)
		if (read_relocations(&block, file, &file->sections[i], bias)) {
			*ret_block = block;
			return 0;
		}
	return err_set(err, -ENOTSUP, "where this library's thread-local variables lie cannot be told: no relocation names its block; "
		       "give the address of one thread's (0xADDRESS)");
}

int thread_block_of(const struct thread_block *block, const struct watch_thread *thread, uint64_t *ret_address, struct err *err)
{
	uint64_t table, address;
	int r;

	if (!thread->pointer)
		return err_set(err, -EAGAIN, "thread %d has only begun: it has no variables yet", (int)thread->tid);
	if (block->fixed) {
		*ret_address = thread->pointer - block->distance;
		return 0;
	}
	r = process_read(block->pid, thread->pointer + sizeof(uint64_t), &table, sizeof(table));
	if (!r)
		r = process_read(block->pid, table + block->module * TABLE_ENTRY, &address, sizeof(address));
	if (r)
		return err_set(err, r, "the table of thread %d's variables cannot be read", (int)thread->tid);
	if (!address || address == UINT64_MAX)
		return err_set(err, -EAGAIN, "thread %d has not used a thread-local variable of this library yet", (int)thread->tid);
	*ret_address = address;
	return 0;
}
