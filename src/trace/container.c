/* See container.h. */
#include "trace/container.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ID_LEAST 12u
#define ID_SHOWN 12

enum place_kind { PLACE_container, PLACE_pod, PLACE_unit };
enum place_name { NAME_id, NAME_uid, NAME_any };

static const struct place {
	const char *manager, *parent, *prefix, *suffix;
	enum place_kind kind;
	enum place_name name;
} places[] = {
#define PLACE(manager, kind, parent, prefix, name, suffix) { #manager, parent, prefix, suffix, PLACE_##kind, NAME_##name },
#include "trace/containers.def"
#undef PLACE
};

struct piece {
	const char *text;
	size_t length;
};

static bool is_name(const struct piece *piece, enum place_name kind)
{
	size_t hex = 0, others = 0;

	for (size_t i = 0; i < piece->length; i++) {
		char c = piece->text[i];

		if (isdigit((unsigned char)c) || (c >= 'a' && c <= 'f'))
			hex++;
		else if (kind != NAME_uid || (c != '-' && c != '_'))
			others++;
	}
	switch (kind) {
	case NAME_id: return hex >= ID_LEAST && !others;
	case NAME_uid: return hex >= ID_LEAST && !others;
	case NAME_any: return piece->length > 0;
	}
	return false;
}

/* "docker", or "pod*" for all that begin so; "" any */
static bool fits_parent(const char *wanted, const struct piece *parent)
{
	size_t length = strcspn(wanted, "*");

	if (!*wanted)
		return true;
	return parent->length >= length && !strncmp(parent->text, wanted, length) && (wanted[length] || parent->length == length);
}

static bool fits(const struct place *place, const struct piece *parent, const struct piece *piece, struct piece *ret_name)
{
	size_t prefix = strlen(place->prefix), suffix = strlen(place->suffix);

	if (piece->length < prefix + suffix || strncmp(piece->text, place->prefix, prefix) ||
	    strncmp(piece->text + piece->length - suffix, place->suffix, suffix))
		return false;
	if (!fits_parent(place->parent, parent))
		return false;
	*ret_name = (struct piece){ piece->text + prefix, piece->length - prefix - suffix };
	return is_name(ret_name, place->name);
}

static void take(struct container *c, const struct place *place, const struct piece *piece, const struct piece *name)
{
	const struct piece *kept = place->kind == PLACE_unit ? piece : name;
	char *to = place->kind == PLACE_container ? c->container : place->kind == PLACE_pod ? c->pod : c->unit;

	snprintf(to, CONTAINER_NAME_BYTES, "%.*s", (int)kept->length, kept->text);
	if (place->kind == PLACE_container)
		c->manager = place->manager;
	for (; place->kind == PLACE_pod && *to; to++)
		if (*to == '_')
			*to = '-';
}

static void read_path(struct container *c, const char *path, size_t length)
{
	struct piece parent = { "", 0 };

	for (const char *end = path + length; path < end;) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		struct piece piece = { path, (size_t)((slash ? slash : end) - path) }, name;

		for (size_t i = 0; piece.length && i < sizeof(places) / sizeof(*places); i++)
			if (fits(&places[i], &parent, &piece, &name))
				take(c, &places[i], &piece, &name);
		if (piece.length)
			parent = piece;
		path += piece.length + 1;
	}
}

bool container_of(const char *cgroups, struct container *ret_container)
{
	*ret_container = (struct container){ .manager = "" };
	for (const char *line = cgroups; *line;) {
		size_t length = strcspn(line, "\n");
		const char *path = memchr(line, '/', length);

		if (path)
			read_path(ret_container, path, length - (size_t)(path - line));
		line += length + (line[length] == '\n');
	}
	return *ret_container->container || *ret_container->pod || *ret_container->unit;
}

void container_describe(const struct container *c, struct buf *buf)
{
	const char *comma = "";

	if (*c->container) {
		struct piece name = { c->container, strlen(c->container) };

		buf_printf(buf, "%s container ", c->manager);
		buf_escaped(buf, c->container, is_name(&name, NAME_id) ? ID_SHOWN : name.length, NULL);
		comma = ", ";
	}
	if (*c->pod) {
		buf_printf(buf, "%spod ", comma);
		buf_escaped(buf, c->pod, strlen(c->pod), NULL);
		comma = ", ";
	}
	if (*c->unit) {
		buf_printf(buf, "%sunit ", comma);
		buf_escaped(buf, c->unit, strlen(c->unit), NULL);
	}
}
