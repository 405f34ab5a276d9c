/* See window.h. */
#include "record/window.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "symbols/file_opener.h"

#define ANSWER_MS 200            /* the server's, to one request */
#define RETRY_NS 10000000000ull  /* after a display that did not answer */
#define WINDOWS_MOST 256
#define REPLY_BYTES 65536

/* The few requests and answers of the X11 protocol that are needed. */
enum { X_CHANGE_ATTRIBUTES = 2, X_QUERY_TREE = 15, X_INTERN_ATOM = 16, X_GET_PROPERTY = 20, X_SEND_EVENT = 25 };
enum { X_ERROR = 0, X_REPLY = 1, X_CLIENT_MESSAGE = 33 };
#define X_SUBSTRUCTURE_NOTIFY 0x80000u
#define X_EVENT_MASK 0x800u
#define X_BYTES 32               /* of an event and of a reply's head */

struct ping {
	uint32_t window;
	uint64_t sent_ns;        /* 0: the last one was answered */
	bool told, listed;
};

struct windows {
	char path[108];          /* of the display's socket */
	unsigned display;
	struct file_opener *opener;
	int fd;                  /* -1 none */
	uint64_t next_ns;        /* not tried before */
	uint32_t root, protocols, ping, client_list, stamp;
	uint16_t sequence;
	struct ping pings[WINDOWS_MOST];
	size_t count;
	char reply[REPLY_BYTES];
};

static uint32_t get32(const char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint16_t get16(const char *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

struct windows *windows_open(const char *display)
{
	struct windows *windows;
	char *end;
	unsigned long number;

	if (!display || display[0] != ':')
		return NULL;
	number = strtoul(display + 1, &end, 10);
	if (end == display + 1 || (*end && *end != '.') || number > 65535)
		return NULL;
	windows = mem_zalloc(sizeof(*windows));
	windows->fd = -1;
	windows->display = (unsigned)number;
	windows->opener = file_opener_new();
	snprintf(windows->path, sizeof(windows->path), "/tmp/.X11-unix/X%lu", number);
	return windows;
}

static void hang_up(struct windows *windows, uint64_t now_ns)
{
	if (windows->fd >= 0)
		close(windows->fd);
	windows->fd = -1;
	windows->count = 0;
	windows->next_ns = now_ns + RETRY_NS;
}

void windows_close(struct windows *windows)
{
	if (!windows)
		return;
	hang_up(windows, 0);
	file_opener_free(windows->opener);
	free(windows);
}

static bool send_all(struct windows *windows, const void *data, size_t size)
{
	return send(windows->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

/* Exactly so many bytes, each stretch within the time limit. */
static bool read_all(struct windows *windows, char *to, size_t size)
{
	while (size) {
		struct pollfd ready = { .fd = windows->fd, .events = POLLIN };
		ssize_t n;

		if (poll(&ready, 1, ANSWER_MS) <= 0)
			return false;
		n = recv(windows->fd, to, size, MSG_DONTWAIT);
		if (n <= 0)
			return false;
		to += n;
		size -= (size_t)n;
	}
	return true;
}

/* The display's cookie out of the authority file; its length, 0 none. */
static size_t find_cookie(struct file_opener *opener, unsigned display, char *to, size_t most)
{
	const char *named = getenv("XAUTHORITY"), *home = getenv("HOME");
	char path[4096], text[4][256], number[16];
	size_t lengths[4], found = 0;
	FILE *file;
	int fd;

	if (named)
		snprintf(path, sizeof(path), "%s", named);
	else
		snprintf(path, sizeof(path), "%s/.Xauthority", home ? home : "");
	/* homes lie on servers, too */
	fd = file_opener_open(opener, path, NULL);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file)
		return 0;
	snprintf(number, sizeof(number), "%u", display);
	/* entries: family, then address, display, name and data, each with its length */
	while (!found && fgetc(file) != EOF && fgetc(file) != EOF) {
		bool whole = true;

		for (int i = 0; whole && i < 4; i++) {
			int high = fgetc(file), low = fgetc(file);

			lengths[i] = (size_t)(high & 255) << 8 | (size_t)(low & 255);
			whole = low != EOF && lengths[i] < sizeof(text[i]) &&
				fread(text[i], 1, lengths[i], file) == lengths[i];
			if (whole)
				text[i][lengths[i]] = 0;
		}
		if (!whole)
			break;
		if (!strcmp(text[2], "MIT-MAGIC-COOKIE-1") && (!lengths[1] || !strcmp(text[1], number)) && lengths[3] <= most) {
			memcpy(to, text[3], lengths[3]);
			found = lengths[3];
		}
	}
	fclose(file);
	return found;
}

static bool greet(struct windows *windows)
{
	static const char scheme[] = "MIT-MAGIC-COOKIE-1";
	char hello[12 + 20 + 64] = { 0 }, head[8];
	size_t cookie = find_cookie(windows->opener, windows->display, hello + 32, 64), size = 12, vendor, length;
	uint16_t version = 11, count;

	hello[0] = 'l'; /* numbers are little-endian */
	memcpy(hello + 2, &version, 2);
	if (cookie) {
		count = sizeof(scheme) - 1;
		memcpy(hello + 6, &count, 2);
		count = (uint16_t)cookie;
		memcpy(hello + 8, &count, 2);
		memcpy(hello + 12, scheme, sizeof(scheme) - 1);
		size = 32 + (cookie + 3) / 4 * 4;
	}
	if (!send_all(windows, hello, size) || !read_all(windows, head, sizeof(head)) || head[0] != 1)
		return false;
	length = (size_t)get16(head + 6) * 4;
	if (length > sizeof(windows->reply) || length < 32 || !read_all(windows, windows->reply, length))
		return false;
	/* behind the fixed part: the vendor, the formats, the first screen with its root */
	vendor = get16(windows->reply + 16);
	size = 32 + (vendor + 3) / 4 * 4 + (size_t)(unsigned char)windows->reply[21] * 8;
	if (size + 4 > length)
		return false;
	windows->root = get32(windows->reply + size);
	windows->sequence = 0;
	return true;
}

static void take_echo(struct windows *windows, const char *event)
{
	if ((event[0] & 0x7f) != X_CLIENT_MESSAGE || get32(event + 8) != windows->protocols || get32(event + 12) != windows->ping)
		return;
	for (size_t i = 0; i < windows->count; i++)
		if (windows->pings[i].window == get32(event + 20)) {
			windows->pings[i].sent_ns = 0;
			windows->pings[i].told = false;
		}
}

/* Sends a request, whose words begin with its number and the one byte that some
 * have behind it. */
static bool request(struct windows *windows, uint8_t opcode, uint8_t detail, const uint32_t *words, size_t count)
{
	uint32_t data[64];

	data[0] = (uint32_t)opcode | (uint32_t)detail << 8 | (uint32_t)(count + 1) << 16;
	memcpy(data + 1, words, count * 4);
	windows->sequence++;
	return send_all(windows, data, (count + 1) * 4);
}

/* Length of the reply to the last request, in windows->reply; 0 none: an error,
 * or the display does not answer (then it is hung up). Echoes on the way count. */
static size_t await(struct windows *windows, uint64_t now_ns)
{
	for (;;) {
		size_t more;

		if (!read_all(windows, windows->reply, X_BYTES))
			break;
		if (windows->reply[0] == X_REPLY) {
			more = (size_t)get32(windows->reply + 4) * 4;
			if (more > sizeof(windows->reply) - X_BYTES || !read_all(windows, windows->reply + X_BYTES, more))
				break;
			if (get16(windows->reply + 2) == windows->sequence)
				return X_BYTES + more;
		} else if (windows->reply[0] == X_ERROR) {
			if (get16(windows->reply + 2) == windows->sequence)
				return 0;
		} else {
			take_echo(windows, windows->reply);
		}
	}
	hang_up(windows, now_ns);
	return 0;
}

static uint32_t intern(struct windows *windows, const char *name, uint64_t now_ns)
{
	uint32_t words[16] = { (uint32_t)strlen(name) };

	memcpy(words + 1, name, strlen(name));
	if (!request(windows, X_INTERN_ATOM, 0, words, 1 + (strlen(name) + 3) / 4) || !await(windows, now_ns))
		return 0;
	return get32(windows->reply + 8);
}

static void connect_there(struct windows *windows, uint64_t now_ns)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uint32_t events[] = { 0, X_EVENT_MASK, X_SUBSTRUCTURE_NOTIFY };

	windows->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	memcpy(address.sun_path, windows->path, sizeof(address.sun_path));
	if (windows->fd < 0 || connect(windows->fd, (struct sockaddr *)&address, sizeof(address)) || !greet(windows)) {
		hang_up(windows, now_ns);
		return;
	}
	windows->protocols = intern(windows, "WM_PROTOCOLS", now_ns);
	if (windows->fd >= 0)
		windows->ping = intern(windows, "_NET_WM_PING", now_ns);
	if (windows->fd >= 0)
		windows->client_list = intern(windows, "_NET_CLIENT_LIST", now_ns);
	/* echoes come to whoever listens at the root */
	events[0] = windows->root;
	if (windows->fd < 0 || !request(windows, X_CHANGE_ATTRIBUTES, 0, events, 3))
		hang_up(windows, now_ns);
}

/* A property's 32-bit values; their number. */
static size_t property(struct windows *windows, uint32_t window, uint32_t name, size_t most, uint64_t now_ns)
{
	uint32_t words[] = { window, name, 0 /* any type */, 0, (uint32_t)most };
	size_t length;

	if (windows->fd < 0 || !request(windows, X_GET_PROPERTY, 0, words, 5))
		return 0;
	length = await(windows, now_ns);
	if (length < X_BYTES || windows->reply[1] != 32)
		return 0;
	length = (length - X_BYTES) / 4;
	return get32(windows->reply + 16) < length ? get32(windows->reply + 16) : length;
}

/* The windows there are: the window manager's list, else the root's children. */
static size_t list(struct windows *windows, uint32_t to[WINDOWS_MOST], uint64_t now_ns)
{
	size_t count = property(windows, windows->root, windows->client_list, WINDOWS_MOST, now_ns), length;

	if (!count && windows->fd >= 0 && request(windows, X_QUERY_TREE, 0, &windows->root, 1)) {
		length = await(windows, now_ns);
		count = length >= X_BYTES ? get16(windows->reply + 16) : 0;
		if (length < X_BYTES + count * 4)
			count = 0;
	}
	if (count > WINDOWS_MOST)
		count = WINDOWS_MOST;
	for (size_t i = 0; i < count; i++)
		to[i] = get32(windows->reply + X_BYTES + i * 4);
	return count;
}

static bool speaks_ping(struct windows *windows, uint32_t window, uint64_t now_ns)
{
	size_t count = property(windows, window, windows->protocols, 32, now_ns);

	for (size_t i = 0; i < count; i++)
		if (get32(windows->reply + X_BYTES + i * 4) == windows->ping)
			return true;
	return false;
}

static void send_ping(struct windows *windows, struct ping *ping, uint64_t now_ns)
{
	uint32_t words[] = { ping->window, 0 /* to whoever made the window */, X_CLIENT_MESSAGE | 32u << 8, ping->window,
			     windows->protocols, windows->ping, ++windows->stamp, ping->window, 0, 0 };

	if (request(windows, X_SEND_EVENT, 0, words, sizeof(words) / sizeof(words[0])))
		ping->sent_ns = now_ns;
}

static struct ping *ping_of(struct windows *windows, uint32_t window)
{
	for (size_t i = 0; i < windows->count; i++)
		if (windows->pings[i].window == window)
			return &windows->pings[i];
	if (windows->count == WINDOWS_MOST)
		return NULL;
	windows->pings[windows->count] = (struct ping){ .window = window };
	return &windows->pings[windows->count++];
}

/* Echoes that have come meanwhile. */
static void take_echoes(struct windows *windows, uint64_t now_ns)
{
	char event[X_BYTES];

	for (;;) {
		ssize_t n = recv(windows->fd, event, sizeof(event), MSG_PEEK | MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			hang_up(windows, now_ns);
		if (n < (ssize_t)sizeof(event) || recv(windows->fd, event, sizeof(event), MSG_DONTWAIT) != n)
			return;
		take_echo(windows, event);
	}
}

static void forget_gone(struct windows *windows)
{
	size_t kept = 0;

	for (size_t i = 0; i < windows->count; i++)
		if (windows->pings[i].listed)
			windows->pings[kept++] = windows->pings[i];
	windows->count = kept;
}

static void ping_all(struct windows *windows, uint64_t now_ns)
{
	uint32_t found[WINDOWS_MOST];
	size_t count = list(windows, found, now_ns);

	for (size_t i = 0; i < windows->count; i++)
		windows->pings[i].listed = false;
	for (size_t i = 0; i < count && windows->fd >= 0; i++) {
		struct ping *ping = ping_of(windows, found[i]);

		if (!ping)
			break;
		ping->listed = true;
		if (!ping->sent_ns && speaks_ping(windows, found[i], now_ns))
			send_ping(windows, ping, now_ns);
	}
	forget_gone(windows);
}

int windows_check(struct windows *windows, uint64_t now_ns, uint64_t limit_ns, char *text, size_t size)
{
	if (windows->fd < 0) {
		if (now_ns < windows->next_ns)
			return 0;
		connect_there(windows, now_ns);
	}
	if (windows->fd >= 0)
		take_echoes(windows, now_ns);
	if (windows->fd >= 0)
		ping_all(windows, now_ns);
	for (size_t i = 0; i < windows->count; i++) {
		struct ping *ping = &windows->pings[i];

		if (!ping->sent_ns || ping->told || now_ns - ping->sent_ns < limit_ns)
			continue;
		ping->told = true;
		snprintf(text, size, "window 0x%x of display :%u does not answer", ping->window, windows->display);
		return 1;
	}
	return 0;
}
