#include "record/python_texts.h"

#include <string.h>

#include "base/buf.h"
#include "record/python_build.h"

#define LINE_MASK ((1u << PYTHON_LINE_BITS) - 1)

void python_texts_done(struct python_texts *t)
{
	arena_done(&t->names);
	arena_done(&t->codes);
	map_done(&t->by_path);
	map_done(&t->by_function);
	map_done(&t->by_code);
	map_done(&t->by_lines);
	vec_done(&t->files);
	vec_done(&t->functions);
	vec_done(&t->known);
}

static uint64_t hash_of_code(uint32_t layout, uint64_t code, uint64_t check)
{
	return hash_u64(hash_u64(code ^ (uint64_t)layout << 48) ^ check);
}

bool python_texts_full(const struct python_texts *t)
{
	return t->codes_bytes > PYTHON_CODES_BYTES;
}

void python_texts_forget(struct python_texts *t)
{
	arena_done(&t->codes);
	map_clear(&t->by_code);
	map_clear(&t->by_lines);
	vec_clear(&t->known);
	t->codes_bytes = 0;
}

static void add_utf8(struct buf *to, uint32_t c)
{
	if (c < 0x80) {
		buf_char(to, (char)(c ? c : '?'));
	} else if (c < 0x800) {
		buf_char(to, (char)(0xc0 | c >> 6));
		buf_char(to, (char)(0x80 | (c & 63)));
	} else if (c >= 0xd800 && c < 0xe000) {
		buf_char(to, '?'); /* half of a pair: bytes of a file's name that are no text */
	} else if (c < 0x10000) {
		buf_char(to, (char)(0xe0 | c >> 12));
		buf_char(to, (char)(0x80 | (c >> 6 & 63)));
		buf_char(to, (char)(0x80 | (c & 63)));
	} else if (c < 0x110000) {
		buf_char(to, (char)(0xf0 | c >> 18));
		buf_char(to, (char)(0x80 | (c >> 12 & 63)));
		buf_char(to, (char)(0x80 | (c >> 6 & 63)));
		buf_char(to, (char)(0x80 | (c & 63)));
	} else {
		buf_char(to, '?');
	}
}

void python_text_decode(struct buf *to, const uint8_t *from, size_t bytes, unsigned unit)
{
	size_t step = unit ? unit : 1;
	buf_clear(to);
	for (size_t i = 0; i + step <= bytes; i += step) {
		uint32_t c = 0;
		memcpy(&c, from + i, step);
		add_utf8(to, c);
	}
	buf_char(to, 0);
}

static uint32_t find_file(struct python_texts *t, const char *path, uint32_t (*reserve)(void *data), void *data)
{
	bool is_new;
	uint64_t *at = map_at(&t->by_path, hash_bytes(path, strlen(path)), &is_new);
	if (is_new) {
		uint32_t module = t->files.length < PYTHON_FILES_MOST ? reserve(data) : 0;
		if (!module) {
			map_remove(&t->by_path, hash_bytes(path, strlen(path)));
			return 0;
		}
		struct python_file file = { .path = arena_strdup(&t->names, path), .module = module };
		vec_push(&t->files, file);
		*at = t->files.length;
	}
	return (uint32_t)*at;
}

static uint32_t find_function(struct python_texts *t, struct python_file *file, const char *name, uint32_t line)
{
	bool is_new;
	uint64_t key = hash_u64(hash_bytes(name, strlen(name)) ^ (uint64_t)file->module << 32 ^ line), *at = map_at(&t->by_function, key, &is_new);
	if (is_new) {
		if (t->functions.length >= PYTHON_FUNCTIONS_MOST) {
			map_remove(&t->by_function, key);
			return 0;
		}
		struct python_function function = { .name = arena_strdup(&t->names, name), .module = file->module,
						    .number = ++file->functions, .line = line };
		vec_push(&t->functions, function);
		*at = t->functions.length;
	}
	return t->functions.items[*at - 1].number;
}

/* Each process has code objects of its own, of the same code: their tables are kept once. */
static const uint8_t *keep_lines(struct python_texts *t, const uint8_t *lines, uint32_t bytes)
{
	bool is_new;
	uint64_t *at = map_at(&t->by_lines, hash_bytes(lines, bytes), &is_new);
	const struct python_known_code *other = is_new ? NULL : &t->known.items[*at - 1];

	if (other && other->lines_bytes == bytes && !memcmp(other->lines, lines, bytes))
		return other->lines;
	*at = t->known.length + 1; /* whose it becomes */
	t->codes_bytes += bytes;
	return arena_memdup(&t->codes, lines, bytes);
}

/* Of languages whose strings are bytes. */
static void text_of_bytes(struct buf *to, const uint8_t *from, size_t bytes)
{
	buf_clear(to);
	for (size_t i = 0; i < bytes; i++)
		buf_char(to, from[i] ? (char)from[i] : '?');
	buf_char(to, 0);
}

/* "Class::method", "Package::sub" in place of the name alone; a file's own code has no name. */
static void add_class(struct buf *name, const uint8_t *class, size_t bytes)
{
	struct buf whole = { 0 };

	if (bytes) {
		text_of_bytes(&whole, class, bytes);
		whole.length--;
		buf_printf(&whole, "::%s", name->data);
	} else {
		buf_printf(&whole, "%s", name->data[0] ? name->data : "{main}");
	}
	buf_char(&whole, 0);
	buf_done(name);
	*name = whole;
}

/* "block in Class#method", "Class.method" where it is the class's own, in place of the name alone. */
static void add_class_of_ruby(struct buf *name, const struct python_code_message *m, const uint8_t *class)
{
	struct buf whole = { 0 };
	uint32_t prefix = m->prefix_bytes < name->length ? m->prefix_bytes : 0;

	if (m->lines_bytes) {
		struct buf text = { 0 };
		text_of_bytes(&text, class, m->lines_bytes);
		buf_printf(&whole, "%.*s%s%s%s", (int)prefix, name->data, text.data, m->singleton ? "." : "#", name->data + prefix);
		buf_done(&text);
	} else {
		buf_printf(&whole, "%s", name->data[0] ? name->data : "?");
	}
	buf_char(&whole, 0);
	buf_done(name);
	*name = whole;
}

bool python_texts_take(struct python_texts *t, const struct python_code_message *m, size_t bytes, uint32_t (*reserve)(void *data), void *data)
{
	struct buf name = { 0 }, path = { 0 };
	bool taken = false;

	if (bytes < sizeof(*m) || m->name_bytes > PYTHON_NAME_BYTES || m->file_bytes > PYTHON_FILE_BYTES ||
	    m->lines_bytes > PYTHON_LINES_BYTES || bytes - sizeof(*m) < (size_t)m->name_bytes + m->file_bytes + m->lines_bytes ||
	    m->name_unit > 4 || m->file_unit > 4 || (!m->name_bytes && m->language == SCRIPT_PYTHON) ||
	    (!m->file_bytes && m->language != SCRIPT_RUBY))
		return false;
	const uint8_t *texts = (const uint8_t *)(m + 1);
	if (m->language == SCRIPT_PYTHON) {
		python_text_decode(&name, texts, m->name_bytes, m->name_unit);
		python_text_decode(&path, texts + m->name_bytes, m->file_bytes, m->file_unit);
	} else {
		const char *file = (const char *)texts + m->name_bytes;
		text_of_bytes(&name, texts, m->name_bytes);
		text_of_bytes(&path, (const uint8_t *)file, m->language == SCRIPT_PERL ? strnlen(file, m->file_bytes) : m->file_bytes);
	}
	/* of a method that is written in C */
	if (!m->file_bytes)
		text_of_bytes(&path, (const uint8_t *)"<cfunc>", strlen("<cfunc>"));
	if (m->language == SCRIPT_RUBY)
		add_class_of_ruby(&name, m, texts + m->name_bytes + m->file_bytes);
	else if (m->language != SCRIPT_PYTHON)
		add_class(&name, texts + m->name_bytes + m->file_bytes, m->lines_bytes);
	uint32_t file = find_file(t, path.data, reserve, data), number = 0;
	if (file)
		number = find_function(t, &t->files.items[file - 1], name.data, m->language == SCRIPT_PERL ? 0 : m->line);
	if (number) {
		struct python_known_code known = { .code = m->code, .check = m->check, .layout = m->layout, .line = m->line,
						   .module = t->files.items[file - 1].module, .number = number,
						   .lines_bytes = m->lines_bytes };
		known.lines = keep_lines(t, texts + m->name_bytes + m->file_bytes, m->lines_bytes);
		vec_push(&t->known, known);
		map_put(&t->by_code, hash_of_code(m->layout, m->code, m->check), t->known.length);
		t->codes_bytes += PYTHON_CODE_BYTES;
		taken = true;
	}
	buf_done(&name);
	buf_done(&path);
	return taken;
}

bool python_texts_frame(const struct python_texts *t, uint32_t version, uint32_t layout, const struct python_frame *frame,
			uint32_t *ret_module, uint64_t *ret_address)
{
	uint64_t code = frame->code & ~PYTHON_ENTRY;
	const uint64_t *at = map_find(&t->by_code, hash_of_code(layout, code, frame->check));
	const struct python_known_code *known = at ? &t->known.items[*at - 1] : NULL;

	if (!known || known->code != code || known->check != frame->check || known->layout != layout)
		return false;
	uint32_t line = python_lines_find(python_version_lines(version), known->lines, known->lines_bytes, known->line,
					  python_version_place(version, code, frame->place));
	*ret_module = known->module;
	*ret_address = (uint64_t)known->number << PYTHON_LINE_BITS | (line & ~LINE_MASK ? 0 : line);
	return true;
}
