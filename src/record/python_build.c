#include "record/python_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "probe/instruction.h"

#define LOOP_BYTES_MOST (1u << 20)
#define RUBY_OWN_NAMES_MOST 4096u

struct python_version {
	const char *name;
	uint32_t hex;               /* the upper half of Py_Version; 0: not CPython */
	uint32_t perl;              /* the second number of its version */
	uint32_t ruby[2];           /* both */
	const char *php;            /* by what builds of PHP know each other's extensions */
	uint32_t key;               /* in the interpreter's state: the number of the key */
	uint32_t instructions;      /* in a code object; 0: places are numbers */
	uint32_t place_unit;        /* bytes of code that a number counts */
	enum python_lines_form lines;
	struct python_offsets offsets;
	struct python_task_offsets tasks;
};

/* From the number of the key to the lock of the first interpreter, by where both are in the interpreter's state. */
#define LOCK(key, lock) ((lock) - (key))

/* As the headers of each version have them (with Py_BUILD_CORE), but for builds that
 * trace references, whose objects are larger. */
static const struct python_version versions[] = {
	{ .name = "none" },
	{ .name = "3.9", .hex = 0x0309, .key = 588, .place_unit = 1, .lines = PYTHON_LINES_STEPS,
	  .offsets = { .thread_id = 176, .thread_frame = 24, .chain_frame = PYTHON_NO_CHAIN, .frame_code = 32, .frame_previous = 24,
		       .frame_place = 104, .frame_mark = 104, .place_bytes = 4, .mark = PYTHON_MARK_EACH, .code_line = 40,
		       .code_lines = 120, .code_file = 104, .code_name = 112, .text_data = 48, .text_wide = 72, .lock = LOCK(588, 352) },
	  .tasks = { .interpreter = 40, .modules = 856, .keys = PYTHON_KEYS_SIZED, .attributes = PYTHON_ATTRIBUTES_DICTIONARY,
		     .frames = PYTHON_COROUTINE_TOP, .generator_frame = 16, .stack_top = 72, .stack = 64, .task_state = 80, .task_awaits = 144,
		     .task_coroutine = 152, .task_name = 160 } },
	{ .name = "3.10", .hex = 0x030a, .key = 588, .place_unit = 2, .lines = PYTHON_LINES_RANGES,
	  .offsets = { .thread_id = 176, .thread_frame = 24, .chain_frame = PYTHON_NO_CHAIN, .frame_code = 32, .frame_previous = 24,
		       .frame_place = 96, .frame_mark = 96, .place_bytes = 4, .mark = PYTHON_MARK_EACH, .code_line = 40,
		       .code_lines = 120, .code_file = 104, .code_name = 112, .text_data = 48, .text_wide = 72, .lock = LOCK(588, 352) },
	  .tasks = { .interpreter = 40, .modules = 856, .keys = PYTHON_KEYS_SIZED, .attributes = PYTHON_ATTRIBUTES_DICTIONARY,
		     .frames = PYTHON_COROUTINE_DEPTH, .generator_frame = 16, .stack_top = 80, .stack = 64, .task_state = 88, .task_awaits = 152,
		     .task_coroutine = 160, .task_name = 168 } },
	{ .name = "3.11", .hex = 0x030b, .key = 596, .instructions = 184, .lines = PYTHON_LINES_LOCATIONS,
	  .offsets = { .thread_id = 152, .thread_frame = 56, .chain_frame = 8, .frame_code = 32, .frame_previous = 48, .frame_place = 56,
		       .frame_mark = 68, .place_bytes = 8, .mark = PYTHON_MARK_ENTRY, .code_line = 72, .code_lines = 136,
		       .code_file = 112, .code_name = 128, .text_data = 48, .text_wide = 72, .lock = LOCK(596, 360) },
	  .tasks = { .interpreter = 48, .modules = 888, .keys = PYTHON_KEYS_LOGARITHM, .attributes = PYTHON_ATTRIBUTES_TWO, .type_keys = 872,
		     .frames = PYTHON_COROUTINE_INSIDE, .generator_frame = 80, .generator_state = 75, .stack_top = 64, .stack = 72,
		     .task_state = 88, .task_awaits = 128, .task_coroutine = 136, .task_name = 144 } },
	{ .name = "3.12", .hex = 0x030c, .key = 1548, .instructions = 192, .lines = PYTHON_LINES_LOCATIONS,
	  .offsets = { .thread_id = 136, .thread_frame = 56, .chain_frame = 0, .frame_code = 0, .frame_previous = 8, .frame_place = 56,
		       .frame_mark = 70, .place_bytes = 8, .mark = PYTHON_MARK_OWNER, .code_line = 68, .code_lines = 136,
		       .code_file = 112, .code_name = 128, .text_data = 40, .text_wide = 56, .lock = LOCK(1548, 77432) },
	  .tasks = { .interpreter = 48, .modules = 944, .keys = PYTHON_KEYS_LOGARITHM, .attributes = PYTHON_ATTRIBUTES_TAGGED, .type_keys = 880,
		     .frames = PYTHON_COROUTINE_INSIDE, .generator_frame = 72, .generator_state = 67, .stack_top = 64, .stack = 72,
		     .task_state = 88, .task_awaits = 128, .task_coroutine = 136, .task_name = 144 } },
	{ .name = "3.13", .hex = 0x030d, .key = 2164, .instructions = 200, .lines = PYTHON_LINES_LOCATIONS,
	  .offsets = { .thread_id = 152, .thread_frame = 72, .chain_frame = PYTHON_NO_CHAIN, .frame_code = 0, .frame_previous = 8,
		       .frame_place = 56, .frame_mark = 70, .place_bytes = 8, .mark = PYTHON_MARK_OWNER, .code_line = 68,
		       .code_lines = 136, .code_file = 112, .code_name = 128, .text_data = 40, .text_wide = 56, .lock = LOCK(2164, 96104) },
	  .tasks = { .interpreter = 640, .modules = 7656, .keys = PYTHON_KEYS_LOGARITHM, .attributes = PYTHON_ATTRIBUTES_INLINE, .values = 8,
		     .type_keys = 880, .frames = PYTHON_COROUTINE_INSIDE, .generator_frame = 72, .generator_state = 67, .stack_top = 64,
		     .stack = 72, .task_state = 96, .task_awaits = 112, .task_coroutine = 120, .task_name = 128 } },
	/* key: in executor_globals, the newest frame */
	{ .name = "PHP 8.2", .php = "API20220829,NTS", .key = 488, .place_unit = 1, .lines = PYTHON_LINES_NONE,
	  .offsets = { .language = SCRIPT_PHP, .frame_code = 24, .frame_previous = 48, .frame_place = 0, .frame_mark = 40, .code_line = 160,
		       .code_file = 152, .code_name = 8 } },
	/* its key's number has a name of its own */
	{ .name = "Perl 5.36", .perl = 36, .lines = PYTHON_LINES_FIRST,
	  .offsets = { .language = SCRIPT_PERL, .thread_id = SCRIPT_NO_THREAD_ID } },
	/* key: where the linker keeps of which module, and where in it, the thread-local variable is */
	{ .name = "Ruby 3.1", .ruby = { 3, 1 }, .place_unit = 1, .lines = PYTHON_LINES_NONE, .offsets = { .language = SCRIPT_RUBY } },
};

#define VERSIONS (sizeof(versions) / sizeof(*versions))
_Static_assert(VERSIONS <= PYTHON_OFFSETS_MAX, "the kernel's map has room");

const struct python_offsets *python_version_offsets(uint32_t version)
{
	return version > 0 && version < VERSIONS ? &versions[version].offsets : NULL;
}

const struct python_task_offsets *python_version_tasks(uint32_t version)
{
	return version < VERSIONS && versions[version].tasks.interpreter ? &versions[version].tasks : NULL;
}

uint64_t python_version_state(uint32_t version, uint64_t key)
{
	return version < VERSIONS ? key - versions[version].key : 0;
}

const char *python_version_name(uint32_t version)
{
	return version < VERSIONS ? versions[version].name : "none";
}

uint64_t python_version_place(uint32_t version, uint64_t code, uint64_t place)
{
	if (version >= VERSIONS)
		return 0;
	const struct python_version *v = &versions[version];
	if (!v->instructions)
		return place * v->place_unit;
	/* a frame that has not begun stands before its first instruction */
	uint64_t first = code + v->instructions;
	return place < first ? 0 : place - first;
}

enum python_lines_form python_version_lines(uint32_t version)
{
	return version < VERSIONS ? versions[version].lines : PYTHON_LINES_LOCATIONS;
}

bool python_build_runs(const struct python_build *build, uint64_t offset)
{
	for (int i = 0; i < 2; i++)
		if (offset >= build->loop[i].start && offset < build->loop[i].end)
			return true;
	return false;
}

/* The version that the file says it is of: since 3.11 in a variable, before in its name alone. */
static uint32_t version_of(const struct elf_file *file, const char *name, uint64_t variable)
{
	const char *at = strstr(name, "python");
	uint64_t offset, value = 0;
	unsigned major, minor;

	if (variable && elf_file_offset(file, variable, &offset) && elf_file_read(file, offset, &value, sizeof(value)) == 0)
		value >>= 16;
	else if (at && sscanf(at, "python%u.%u", &major, &minor) == 2 && major < 256 && minor < 256)
		value = major << 8 | minor;
	for (uint32_t i = 1; i < VERSIONS; i++)
		if (versions[i].hex && versions[i].hex == value)
			return i;
	return 0;
}

/* Where the file's functions begin, by the index of its call frame information, which is in order; a large file's unwind table may
 * come from the cache, which has no functions. */
struct starts {
	uint64_t base;              /* what the index counts from */
	uint8_t *index;
	uint32_t count;
};

#define INDEX_FORM "\1\x1b\3\x3b" /* version; where that information is, how many, and the pairs of words: 32 bits each */
#define INDEX_HEAD 12u
#define INDEX_PAIR 8u

static struct starts starts_read(const struct elf_file *file)
{
	const Elf64_Shdr *section = elf_file_section(file, ".eh_frame_hdr");
	struct starts s = { 0 };
	void *data = NULL;
	size_t bytes;

	if (!section || elf_file_copy_section(file, section, &data, &bytes, NULL) < 0 || bytes < INDEX_HEAD || memcmp(data, INDEX_FORM, 4)) {
		free(data);
		return s;
	}
	s.base = section->sh_addr;
	s.index = data;
	memcpy(&s.count, s.index + INDEX_HEAD - sizeof(s.count), sizeof(s.count));
	if (s.count > (bytes - INDEX_HEAD) / INDEX_PAIR)
		s.count = (uint32_t)((bytes - INDEX_HEAD) / INDEX_PAIR);
	return s;
}

static uint64_t starts_at(const struct starts *s, uint32_t i)
{
	int32_t offset;
	memcpy(&offset, s->index + INDEX_HEAD + (size_t)i * INDEX_PAIR, sizeof(offset));
	return s->base + (uint64_t)(int64_t)offset;
}

/* The function at an address, which goes to the next one's begin; false where none is known. */
static bool starts_find(const struct starts *s, uint64_t address, struct python_range *ret_range)
{
	uint32_t low = 0, high = s->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (starts_at(s, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || low == s->count || starts_at(s, low) - starts_at(s, low - 1) > LOOP_BYTES_MOST)
		return false;
	*ret_range = (struct python_range){ starts_at(s, low - 1), starts_at(s, low) };
	return true;
}

/* The compiler lays what a function does rarely elsewhere, where no symbol tells whose it
 * is: conditional branches that leave the function lead there. */
static struct python_range find_rare(const struct elf_file *file, const struct starts *starts, uint64_t start, uint64_t bytes,
				     const uint8_t *code)
{
	struct map hits = { 0 };
	struct python_range best = { 0 };
	uint64_t most = 0;
	struct instruction i;

	for (uint64_t at = 0; at < bytes; at += i.length) {
		if (!instruction_decode(code + at, bytes - at, start + at, &i)) {
			i.length = 1;
			continue;
		}
		if (i.kind != INSTRUCTION_branch || !i.direct || i.target - start < bytes)
			continue;
		struct python_range f;
		if (!starts_find(starts, i.target, &f))
			continue;
		uint64_t offset, *count = map_at(&hits, f.start, NULL);
		if (++*count > most && elf_file_offset(file, f.start, &offset)) {
			most = *count;
			best = (struct python_range){ offset, offset + f.end - f.start };
		}
	}
	map_done(&hits);
	return best;
}

/* What is asked of the file's symbols. */
#define SYMBOLS 4
struct python_symbols {
	Elf64_Sym state, loop, version, options;
};

static const char *const python_names[SYMBOLS] = { "_PyRuntime", "_PyEval_EvalFrameDefault", "Py_Version", "" };
static const char *const php_names[SYMBOLS] = { "executor_globals", "execute_ex", "", "" };
static const char *const perl_names[SYMBOLS] = { "PL_thr_key", "Perl_runops_standard", "PL_version", "PL_bincompat_options" };

static const char *const ruby_names[SYMBOLS] = { "rb_sym_all_symbols", "rb_vm_exec", "ruby_api_version", "" };

static void find_in(const struct elf_file *file, const char *symbols_name, const char *texts_name, const char *const names[SYMBOLS],
		    struct python_symbols *found)
{
	const Elf64_Shdr *section = elf_file_section(file, symbols_name), *texts_section = elf_file_section(file, texts_name);
	Elf64_Sym *const to[SYMBOLS] = { &found->state, &found->loop, &found->version, &found->options };
	void *symbols = NULL, *texts = NULL;
	size_t bytes, texts_bytes;

	if (section && texts_section && elf_file_copy_section(file, section, &symbols, &bytes, NULL) == 0 &&
	    elf_file_copy_section(file, texts_section, &texts, &texts_bytes, NULL) == 0) {
		for (size_t at = 0; at + sizeof(Elf64_Sym) <= bytes; at += sizeof(Elf64_Sym)) {
			Elf64_Sym symbol;
			memcpy(&symbol, (const char *)symbols + at, sizeof(symbol));
			if (!symbol.st_value || symbol.st_name >= texts_bytes)
				continue;
			/* a NUL follows what was copied */
			for (size_t i = 0; i < SYMBOLS; i++)
				if (!strcmp((const char *)texts + symbol.st_name, names[i]))
					*to[i] = symbol;
		}
	}
	free(symbols);
	free(texts);
}

/* The version of PHP, which stands as a text among its constants. */
static uint32_t php_version_of(const struct elf_file *file)
{
	const Elf64_Shdr *section = elf_file_section(file, ".rodata");
	uint32_t version = 0;
	void *constants = NULL;
	size_t bytes;

	if (!section || elf_file_copy_section(file, section, &constants, &bytes, NULL) < 0)
		return 0;
	for (uint32_t i = 1; i < VERSIONS && !version; i++)
		if (versions[i].php && memmem(constants, bytes, versions[i].php, strlen(versions[i].php) + 1))
			version = i;
	free(constants);
	return version;
}

static uint32_t find_python(const struct elf_file *file, const char *name, struct python_symbols *found)
{
	find_in(file, ".symtab", ".strtab", python_names, found);
	find_in(file, ".dynsym", ".dynstr", python_names, found);
	return found->state.st_value ? version_of(file, name, found->version.st_value) : 0;
}

static uint32_t find_php(const struct elf_file *file, struct python_symbols *found)
{
	find_in(file, ".dynsym", ".dynstr", php_names, found);
	return found->state.st_value && found->loop.st_value ? php_version_of(file) : 0;
}

/* Threads change where everything is. */
#define PERL_THREADS " USE_ITHREADS"

static uint32_t find_perl(const struct elf_file *file, struct python_symbols *found)
{
	char options[1024] = "";
	uint8_t number = 0;
	uint64_t offset;

	find_in(file, ".dynsym", ".dynstr", perl_names, found);
	if (!found->state.st_value || !found->loop.st_value || !elf_file_offset(file, found->version.st_value, &offset) ||
	    elf_file_read(file, offset, &number, 1) < 0 || !elf_file_offset(file, found->options.st_value, &offset) ||
	    elf_file_read(file, offset, options, found->options.st_size < sizeof(options) ? found->options.st_size : sizeof(options) - 1) < 0 ||
	    !strstr(options, PERL_THREADS))
		return 0;
	for (uint32_t i = 1; i < VERSIONS; i++)
		if (versions[i].perl == number && number)
			return i;
	return 0;
}

/* Where the linker keeps the place of a thread-local variable that the file offers: module, then offset in it. */
static uint64_t find_thread_local(const struct elf_file *file, const char *name)
{
	static const char *const sections[] = { ".rela.dyn", ".dynsym", ".dynstr" };
	void *data[3] = { NULL, NULL, NULL };
	size_t bytes[3] = { 0, 0, 0 };
	uint64_t place = 0;

	for (int i = 0; i < 3; i++) {
		const Elf64_Shdr *section = elf_file_section(file, sections[i]);
		if (!section || elf_file_copy_section(file, section, &data[i], &bytes[i], NULL) < 0)
			goto out;
	}
	for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes[0] && !place; at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;
		Elf64_Sym symbol;
		memcpy(&r, (const char *)data[0] + at, sizeof(r));
		if (ELF64_R_TYPE(r.r_info) != R_X86_64_DTPMOD64 || ELF64_R_SYM(r.r_info) >= bytes[1] / sizeof(symbol))
			continue;
		memcpy(&symbol, (const char *)data[1] + ELF64_R_SYM(r.r_info) * sizeof(symbol), sizeof(symbol));
		/* a NUL follows what was copied */
		if (symbol.st_name < bytes[2] && !strcmp((const char *)data[2] + symbol.st_name, name))
			place = r.r_offset;
	}
out:
	for (int i = 0; i < 3; i++)
		free(data[i]);
	return place;
}

/* The table of names has no symbol; a function that lists them reads its second word, and the file has its first: how many
 * names there are before any program's. */
static uint64_t find_ruby_names(const struct elf_file *file, const Elf64_Sym *lists)
{
	uint64_t offset, names = 0;
	struct instruction i;
	void *code;

	if (lists->st_size > LOOP_BYTES_MOST || !elf_file_offset(file, lists->st_value, &offset) ||
	    elf_file_copy(file, offset, lists->st_size, &code, NULL) < 0)
		return 0;
	for (uint64_t at = 0; at < lists->st_size && !names; at += i.length) {
		uint64_t words[4], place;
		if (!instruction_decode((const uint8_t *)code + at, lists->st_size - at, lists->st_value + at, &i)) {
			i.length = 1;
			continue;
		}
		if (!i.memory_count || i.memory[0].base != REGISTER_ip || i.memory[0].index != REGISTER_none)
			continue;
		place = lists->st_value + at + i.length + (uint64_t)i.memory[0].displacement - sizeof(words[0]);
		if (elf_file_offset(file, place, &offset) && elf_file_read(file, offset, words, sizeof(words)) == 0 && words[0] > 0 &&
		    words[0] < RUBY_OWN_NAMES_MOST && !words[1] && !words[2] && !words[3])
			names = place;
	}
	free(code);
	return names;
}

/* The largest function that another calls: the loop over instructions, of which the other is the frame. */
static struct python_range find_inner(const struct elf_file *file, const struct starts *starts, const Elf64_Sym *outer, const uint8_t *code)
{
	/* procedure linkage tables are one stretch each, too */
	const Elf64_Shdr *text = elf_file_section(file, ".text");
	struct python_range found = { 0 }, f;
	struct instruction i;

	for (uint64_t at = 0; at < outer->st_size; at += i.length) {
		uint64_t from;
		if (!instruction_decode(code + at, outer->st_size - at, outer->st_value + at, &i)) {
			i.length = 1;
			continue;
		}
		if (text && i.kind == INSTRUCTION_call && i.direct && i.target - text->sh_addr < text->sh_size &&
		    starts_find(starts, i.target, &f) &&
		    f.end - f.start > found.end - found.start && elf_file_offset(file, f.start, &from))
			found = (struct python_range){ from, from + f.end - f.start };
	}
	return found;
}

static uint32_t find_ruby(const struct elf_file *file, struct python_symbols *found)
{
	uint32_t number[2];
	uint64_t offset;

	find_in(file, ".dynsym", ".dynstr", ruby_names, found);
	if (!found->loop.st_value || !elf_file_offset(file, found->version.st_value, &offset) ||
	    elf_file_read(file, offset, number, sizeof(number)) < 0)
		return 0;
	for (uint32_t i = 1; i < VERSIONS; i++)
		if (versions[i].ruby[0] && versions[i].ruby[0] == number[0] && versions[i].ruby[1] == number[1])
			return i;
	return 0;
}

void python_build_find(const struct elf_file *file, const char *name, struct python_build *ret_build)
{
	struct python_symbols found = { 0 };
	uint32_t version = 0;
	uint64_t offset;
	void *code;

	*ret_build = (struct python_build){ 0 };
	if (elf_file_section(file, ".PyRuntime") || strstr(name, "python"))
		version = find_python(file, name, &found);
	else if (strstr(name, "php"))
		version = find_php(file, &found);
	else if (strstr(name, "perl"))
		version = find_perl(file, &found);
	else if (strstr(name, "ruby"))
		version = find_ruby(file, &found);
	if (!version || found.loop.st_size > LOOP_BYTES_MOST || !elf_file_offset(file, found.loop.st_value, &offset))
		return;
	ret_build->key = found.state.st_value + versions[version].key;
	if (versions[version].offsets.language == SCRIPT_RUBY) {
		ret_build->key = find_thread_local(file, "ruby_current_ec");
		if (!ret_build->key)
			return;
		ret_build->names = find_ruby_names(file, &found.state);
	}
	ret_build->version = version;
	ret_build->loop[0] = (struct python_range){ offset, offset + found.loop.st_size };
	if (elf_file_copy(file, offset, found.loop.st_size, &code, NULL) == 0) {
		struct starts starts = starts_read(file);
		ret_build->loop[1] = find_rare(file, &starts, found.loop.st_value, found.loop.st_size, code);
		if (versions[version].offsets.language == SCRIPT_RUBY)
			ret_build->inner = find_inner(file, &starts, &found.loop, code);
		free(starts.index);
		free(code);
	}
}
