/* Takes out of a view what may tell more than the hang, see view.h. It goes over the
 * finished document, every text of every member, so that a member that is added later
 * cannot be forgotten: what the trace names (descriptors, command lines, control groups,
 * the host, marks) is taken out wherever it stands, and whatever looks like a path or an
 * address besides. The same text gets the same stand-in, so that two pipes stay two. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "session/view.h"

#define SECRET_LEAST 3u
#define PREFIX 3u

enum secret_kind { SECRET_PATH, SECRET_ADDRESS, SECRET_NAME, SECRET_HOST, SECRET_COMMAND, SECRET_GROUP, SECRET_MARK };

static const char *const stand_ins[] = {
	[SECRET_PATH] = "path", [SECRET_ADDRESS] = "address", [SECRET_NAME] = "name", [SECRET_HOST] = "host",
	[SECRET_COMMAND] = "command", [SECRET_GROUP] = "group", [SECRET_MARK] = "mark",
};

struct secret {
	const char *text;
	size_t length;
	size_t next;             /* of the same prefix, + 1 */
	enum secret_kind kind;
};

struct redaction {
	struct arena arena;
	struct vec(struct secret) secrets;
	struct map known;        /* hash of a secret */
	struct map by_prefix;    /* first bytes -> secret + 1 */
	struct map numbers;      /* hash of what was replaced -> its number */
	uint64_t counts[SECRET_MARK + 1];
};

static uint64_t prefix_of(const char *text)
{
	return (uint64_t)(unsigned char)text[0] << 16 | (uint64_t)(unsigned char)text[1] << 8 | (unsigned char)text[2];
}

static void hide_length(struct redaction *r, const char *text, size_t length, enum secret_kind kind)
{
	struct secret secret = { .text = text, .length = length, .kind = kind };
	uint64_t *first;
	bool fresh;

	if (length < SECRET_LEAST)
		return;
	map_at(&r->known, hash_bytes(text, length), &fresh);
	if (!fresh)
		return;
	first = map_at(&r->by_prefix, prefix_of(text), NULL);
	secret.next = *first;
	vec_push(&r->secrets, secret);
	*first = r->secrets.length;
}

/* As it is, and as sentences escape it. */
static void hide(struct redaction *r, const char *text, enum secret_kind kind)
{
	struct buf buf;

	if (!text || !*text)
		return;
	hide_length(r, text, strlen(text), kind);
	buf_init(&buf);
	buf_escaped(&buf, text, strlen(text), NULL);
	if (strcmp(buf_str(&buf), text))
		hide_length(r, arena_strdup(&r->arena, buf_str(&buf)), buf.length, kind);
	buf_done(&buf);
}

/* A command line that is a program's name alone tells no more than that. */
static void hide_command(struct redaction *r, const char *text)
{
	if (text && strpbrk(text, " /"))
		hide(r, text, SECRET_COMMAND);
}

static void find_secrets(struct redaction *r, const struct session *session)
{
	const struct tables *tables = session->tables;

	hide(r, trace_path(session->trace), SECRET_PATH);
	hide(r, trace_machine(session->trace, "hostname"), SECRET_HOST);
	hide_command(r, trace_machine(session->trace, "command"));
	for (uint32_t i = 1; tables && i < tables->thread_count; i++) {
		const struct thread *t = &tables->threads[i];

		hide(r, t->exe, SECRET_PATH);
		hide_command(r, t->command);
		hide(r, t->cgroups, SECRET_GROUP);
	}
	for (size_t i = 0; tables && i < tables->descriptor_count; i++) {
		const char *text = tables->descriptors[i].text;

		hide(r, text, text[0] == '/' ? SECRET_PATH : SECRET_ADDRESS);
	}
	for (uint32_t i = 0; session->scene && i < session->scene->mark_count; i++)
		hide(r, session->scene->marks[i].text, SECRET_MARK);
	for (uint32_t i = 0; session->scene && i < session->scene->quota_count; i++)
		hide(r, session->scene->quotas[i].path, SECRET_GROUP);
}

static void put_stand_in(struct redaction *r, enum secret_kind kind, const char *text, size_t length, struct buf *out)
{
	bool fresh;
	uint64_t *number = map_at(&r->numbers, hash_bytes(text, length) + kind, &fresh);

	if (fresh)
		*number = ++r->counts[kind];
	buf_printf(out, "[%s %llu]", stand_ins[kind], (unsigned long long)*number);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The longest secret that stands here as a whole. */
static const struct secret *secret_at(const struct redaction *r, const char *text, size_t left)
{
	const struct secret *best = NULL;
	const uint64_t *first = left >= PREFIX ? map_find(&r->by_prefix, prefix_of(text)) : NULL;

	for (size_t i = first ? *first : 0; i; i = r->secrets.items[i - 1].next) {
		const struct secret *s = &r->secrets.items[i - 1];

		if (s->length > left || memcmp(s->text, text, s->length) || (best && best->length >= s->length))
			continue;
		if (s->length < left && is_word(text[s->length]) && is_word(text[s->length - 1]))
			continue;
		best = s;
	}
	return best;
}

/* "/a/b", up to what cannot be told to be of it; not the slash in "read/write". */
static size_t path_at(const char *text, size_t left)
{
	size_t n = 0;

	if (text[0] != '/')
		return 0;
	while (n < left && !isspace((unsigned char)text[n]) && !strchr(",;()\"'<>|", text[n]))
		n++;
	return n > 1 ? n : 0;
}

/* "10.0.0.1", "10.0.0.1:80", "[::1]:80": digits, at least two dots or colons, nothing else. */
static size_t address_at(const char *text, size_t left)
{
	size_t n = 0, parts = 0, digits = 0;

	if (!isxdigit((unsigned char)text[0]) && text[0] != '[')
		return 0;
	for (; n < left && (isxdigit((unsigned char)text[n]) || strchr(".:[]", text[n])); n++) {
		parts += text[n] == '.' || text[n] == ':';
		digits += isdigit((unsigned char)text[n]) != 0;
	}
	while (n && (text[n - 1] == '.' || text[n - 1] == ':')) {
		n--;
		parts--;
	}
	return n && parts >= 3 && digits >= 3 && (n == left || !is_word(text[n])) ? n : 0;
}

static void redact_text(struct redaction *r, const char *text, size_t length, struct buf *out)
{
	for (size_t at = 0; at < length; ) {
		bool begins = !at || !is_word(text[at - 1]);
		const struct secret *secret = begins ? secret_at(r, text + at, length - at) : NULL;
		enum secret_kind kind = SECRET_PATH;
		size_t n = secret ? secret->length : 0;

		if (secret)
			kind = secret->kind;
		else if (begins && (n = path_at(text + at, length - at)))
			kind = SECRET_PATH;
		else if (begins && (n = address_at(text + at, length - at)))
			kind = SECRET_ADDRESS;
		if (n) {
			put_stand_in(r, kind, text + at, n, out);
			at += n;
		} else {
			buf_char(out, text[at++]);
		}
	}
}

/* Members that are such a text as a whole. */
static const struct {
	const char *key;
	enum secret_kind kind;
} whole[] = {
	{ "command", SECRET_COMMAND }, { "host", SECRET_HOST }, { "path", SECRET_PATH }, { "trace", SECRET_PATH },
	{ "file", SECRET_PATH }, { "container", SECRET_NAME }, { "pod", SECRET_NAME }, { "unit", SECRET_NAME },
	{ "value", SECRET_COMMAND },
};

static void redact_value(struct redaction *r, const char *key, const struct buf *text, struct buf *out)
{
	for (size_t i = 0; text->length && i < sizeof(whole) / sizeof(*whole); i++)
		if (!strcmp(whole[i].key, key)) {
			put_stand_in(r, whole[i].kind, text->data, text->length, out);
			return;
		}
	redact_text(r, text->data, text->length, out);
}

/* ---- the document, as json.h writes it ---- */

static void put_utf8(struct buf *buf, unsigned point)
{
	char bytes[4];
	size_t n = 0;

	if (point < 0x80) {
		bytes[n++] = (char)point;
	} else if (point < 0x800) {
		bytes[n++] = (char)(0xc0 | point >> 6);
		bytes[n++] = (char)(0x80 | (point & 0x3f));
	} else {
		bytes[n++] = (char)(0xe0 | point >> 12);
		bytes[n++] = (char)(0x80 | (point >> 6 & 0x3f));
		bytes[n++] = (char)(0x80 | (point & 0x3f));
	}
	buf_add(buf, bytes, n);
}

/* The text between the quotes, the first of them before `at`; returns the place behind the closing one. */
static size_t read_text(const char *document, size_t at, size_t length, struct buf *text)
{
	buf_clear(text);
	while (at < length && document[at] != '"') {
		char hex[5] = { 0 };

		if (document[at] != '\\') {
			buf_char(text, document[at++]);
			continue;
		}
		at++;
		if (document[at] == 'u' && at + 4 < length) {
			memcpy(hex, document + at + 1, 4);
			put_utf8(text, (unsigned)strtoul(hex, NULL, 16));
			at += 5;
		} else {
			buf_char(text, document[at] == 'n' ? '\n' : document[at]);
			at++;
		}
	}
	return at < length ? at + 1 : at;
}

void view_redact(const struct session *session, const struct buf *document, struct buf *ret_buf)
{
	struct redaction r = { 0 };
	struct buf text, redacted;
	char key[64] = "";

	arena_init(&r.arena);
	buf_init(&text);
	buf_init(&redacted);
	find_secrets(&r, session);
	for (size_t at = 0; at < document->length; ) {
		struct json json;
		size_t from = at;

		if (document->data[at] != '"') {
			if (strchr("{}[]", document->data[at]))
				key[0] = 0;
			buf_char(ret_buf, document->data[at++]);
			continue;
		}
		at = read_text(document->data, at + 1, document->length, &text);
		if (at < document->length && document->data[at] == ':') {
			snprintf(key, sizeof(key), "%s", buf_str(&text));
			buf_add(ret_buf, document->data + from, at - from);
			continue;
		}
		buf_clear(&redacted);
		if (text.length)
			redact_value(&r, key, &text, &redacted);
		json_init(&json, ret_buf);
		json_text_length(&json, NULL, buf_str(&redacted), redacted.length);
	}
	buf_done(&text);
	buf_done(&redacted);
	vec_done(&r.secrets);
	map_done(&r.known);
	map_done(&r.by_prefix);
	map_done(&r.numbers);
	arena_done(&r.arena);
}
