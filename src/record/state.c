/* Runs the state iterators and turns what they find into events. */
#include "record/mount_path.h"
#include "record/state.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/quiet_thread.h"

#ifdef HAVE_BPF
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "record/bpf/state.h"
#include "record/kernel.h"
#include "descriptors.skel.h"
#include "descriptors_copies.skel.h"

#define STATE_BUFFER_BYTES (64 * 1024)
#define LOCKS_BUFFER_BYTES (1024 * 1024)

struct state {
	struct descriptors *bpf;
	struct bpf_link *link, *blocked_link; /* the second NULL: this kernel cannot */
	char buffer[STATE_BUFFER_BYTES];
	char locks[LOCKS_BUFFER_BYTES];
};

static int load_with(struct state *state, const struct kernel *kernel, bool sleeps, bool casts, int types)
{
	LIBBPF_OPTS(bpf_object_open_opts, open);
	char path[KERNEL_TYPES_PATH];
	struct bpf_object_skeleton *skeleton;
	int code;

	state->bpf = calloc(1, sizeof(*state->bpf));
	code = state->bpf ? descriptors__create_skeleton(state->bpf) : -ENOMEM;
	if (code)
		return code;
	skeleton = state->bpf->skeleton;
	if (!casts)
		skeleton->data = (void *)descriptors_copies__elf_bytes(&skeleton->data_sz);
	if (types >= 0)
		open.btf_custom_path = kernel_types_path(types, path);
	code = bpf_object__open_skeleton(skeleton, &open);
	if (!code && types >= 0)
		code = kernel_types_write(kernel, bpf_object__btf(*skeleton->obj), types);
	if (code)
		return code;
	if (!sleeps)
		bpf_program__set_autoload(state->bpf->progs.state_blocked, false);
	return descriptors__load(state->bpf);
}

static int load(struct state *state, const struct kernel *kernel, bool sleeps, bool casts)
{
	int types = kernel ? kernel_types_file() : -1, code = load_with(state, kernel, sleeps, casts, types);

	if (types >= 0)
		close(types);
	return code;
}

int state_open(const struct kernel *kernel, bool sleeps, struct state **ret_state, struct err *err)
{
	struct state *state = mem_zalloc(sizeof(*state));
	int code = load(state, kernel, sleeps, !kernel || kernel_has_casts(kernel));

	if (code && code != -EPERM) {
		descriptors__destroy(state->bpf);
		code = load(state, kernel, sleeps, false);
	}
	if (code) {
		state_close(state);
		return err_sys(err, code == -EPERM ? -EPERM : -ENOTSUP,
			       "the open descriptors cannot be listed by BPF (kernel 5.17 or later is needed)");
	}
	state->bpf->bss->state_skip = (uint32_t)getpid();
	state->link = bpf_program__attach_iter(state->bpf->progs.state_descriptors, NULL);
	if (!state->link) {
		code = -errno;
		state_close(state);
		return err_sys(err, code, "the iterator over open descriptors cannot be attached");
	}
	if (sleeps)
		state->blocked_link = bpf_program__attach_iter(state->bpf->progs.state_blocked, NULL);
	*ret_state = state;
	return 0;
}

struct state_opening {
	const struct kernel *kernel;
	pthread_t thread;
	bool started;
	int code;
	struct state *state;
	struct err err;
};

static void *open_aside(void *data)
{
	struct state_opening *opening = data;

	opening->code = state_open(opening->kernel, false, &opening->state, &opening->err);
	return NULL;
}

struct state_opening *state_open_begin(const struct kernel *kernel)
{
	struct state_opening *opening = mem_zalloc(sizeof(*opening));

	opening->kernel = kernel;

	opening->started = !quiet_thread(&opening->thread, open_aside, opening);
	return opening;
}

int state_open_end(struct state_opening *opening, struct state **ret_state, struct err *err)
{
	int code;

	if (opening->started)
		pthread_join(opening->thread, NULL);
	else
		open_aside(opening);
	code = opening->code;
	if (code && err)
		*err = opening->err;
	*ret_state = opening->state;
	free(opening);
	return code;
}

void state_close(struct state *state)
{
	if (!state)
		return;
	bpf_link__destroy(state->link);
	bpf_link__destroy(state->blocked_link);
	descriptors__destroy(state->bpf);
	free(state);
}

static void format_address(char *to, size_t size, const uint64_t address[2], uint16_t port)
{
	char text[INET6_ADDRSTRLEN] = "?";
	const unsigned char *bytes = (const unsigned char *)address;
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	if (!memcmp(bytes, mapped, sizeof(mapped))) {
		inet_ntop(AF_INET, bytes + 12, text, sizeof(text));
		snprintf(to, size, "%s:%u", text, port);
	} else {
		inet_ntop(AF_INET6, bytes, text, sizeof(text));
		snprintf(to, size, "[%s]:%u", text, port);
	}
}

/* The tail's text: a path, "own -> peer" addresses, a Unix socket's name with
 * '@' for abstract ones. Returns its length. */
static uint32_t describe(const struct state_descriptor *found, char *to, size_t size)
{
	if (found->family == AF_INET || found->family == AF_INET6) {
		char own[64], peer[64];
		format_address(own, sizeof(own), found->own, found->own_port);
		if (!found->peer_port)
			return (uint32_t)snprintf(to, size, "%s", own);
		format_address(peer, sizeof(peer), found->peer, found->peer_port);
		return (uint32_t)snprintf(to, size, "%s -> %s", own, peer);
	}
	uint32_t length = found->text_bytes;
	uint32_t at = 0;
	if (length > STATE_TEXT_BYTES)
		length = STATE_TEXT_BYTES;
	if (length && found->family == AF_UNIX && found->text_is_peer) {
		memcpy(to, "-> ", 3);
		at = 3;
	}
	memcpy(to + at, found->text, length);
	if (found->family == AF_UNIX && length) {
		if (!to[at])
			to[at] = '@';
		while (length && !to[at + length - 1])
			length--;
	}
	return at + length;
}

/* Of the names, the last of which is the outermost; what is known of it. Returns its length. */
static uint32_t watch_path(const struct state_watch *found, char *to, size_t size)
{
	const char *names[STATE_NAMES];
	char within[sizeof(found->names) + STATE_NAMES + 1] = "";
	unsigned count = 0;
	size_t at = 0, bytes = found->names_bytes < sizeof(found->names) ? found->names_bytes : sizeof(found->names);
	FILE *table = found->whole ? fopen("/proc/self/mountinfo", "re") : NULL;
	bool is_seen;

	for (size_t name = 0; name < bytes && count < STATE_NAMES; name += strnlen(found->names + name, bytes - name) + 1)
		names[count++] = found->names + name;
	for (unsigned i = count; i-- > 0 && at < sizeof(within); )
		at += (size_t)snprintf(within + at, sizeof(within) - at, "/%s", names[i]);
	is_seen = table && mount_path(table, found->device, within, to, size);
	if (table)
		fclose(table);
	if (!is_seen)
		snprintf(to, size, "%s%s", count ? "..." : "", within);
	return (uint32_t)strlen(to);
}

static int hand_over(const struct state_record *record, struct state_sink *sink, struct err *err)
{
	switch ((enum state_record_type)record->type) {
	case STATE_RECORD_DESCRIPTOR: {
		const struct state_descriptor *found = (const void *)record;
		char text[STATE_TEXT_BYTES + 160];
		uint32_t length = describe(found, text, sizeof(text));
		return sink->event(sink, record->pid, EVENT_descriptor, &found->descriptor, text, length, err);
	}
	case STATE_RECORD_POLL_ITEM:
		return sink->event(sink, record->pid, EVENT_poll_item, &((const struct state_poll_item *)record)->item,
				   NULL, 0, err);
	case STATE_RECORD_WATCH: {
		const struct state_watch *found = (const void *)record;
		char text[PATH_MAX + sizeof(found->names)];
		uint32_t length = watch_path(found, text, sizeof(text));

		return sink->event(sink, record->pid, EVENT_watch, &found->watch, text, length, err);
	}
	case STATE_RECORD_FUSE_ASKED:
		return sink->event(sink, record->pid, EVENT_fuse_asked, &((const struct state_fuse_asked *)record)->asked, NULL, 0,
				   err);
	case STATE_RECORD_CALL_HELD:
		return sink->event(sink, record->pid, EVENT_call_held, &((const struct state_call_held *)record)->held, NULL, 0, err);
	case STATE_RECORD_BLOCKED:
		break;
	}
	return 0;
}

/* Whole records in the buffer; returns the bytes used or a negative errno. */
static ssize_t hand_over_all(const char *buffer, size_t bytes, struct state_sink *sink, struct err *err)
{
	size_t at = 0;
	while (bytes - at >= sizeof(struct state_record)) {
		const struct state_record *record = (const void *)(buffer + at);
		if (record->size < sizeof(*record) || record->size % 8)
			return err_set(err, -EPROTO, "the descriptor iterator handed over a malformed record");
		if (record->size > bytes - at)
			break;
		int code = hand_over(record, sink, err);
		if (code < 0)
			return code;
		at += record->size;
	}
	return (ssize_t)at;
}

/* What is done with the whole records at the buffer's begin: hand_over_all, or
 * the like for its own kind. Returns the bytes used or a negative errno. */
struct reader {
	ssize_t (*take)(struct reader *reader, const char *buffer, size_t bytes, struct err *err);
};

static int read_iterator(struct state *state, struct bpf_link *link, struct reader *reader, struct err *err)
{
	int fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return err_sys(err, -errno, "the kernel's iterator cannot be started");
	size_t held = 0;
	int code = 0;
	for (;;) {
		ssize_t got = read(fd, state->buffer + held, sizeof(state->buffer) - held);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			break;
		held += (size_t)got;
		ssize_t used = reader->take(reader, state->buffer, held, err);
		if (used < 0) {
			code = (int)used;
			break;
		}
		memmove(state->buffer, state->buffer + used, held - (size_t)used);
		held -= (size_t)used;
	}
	close(fd);
	return code;
}

struct sink_reader {
	struct reader reader;
	struct state_sink *sink;
};

static ssize_t take_for_sink(struct reader *reader, const char *buffer, size_t bytes, struct err *err)
{
	return hand_over_all(buffer, bytes, ((struct sink_reader *)reader)->sink, err);
}

struct blocked_reader {
	struct reader reader;
	struct state_blocked *blocked;
	unsigned count, most;
};

static ssize_t take_blocked(struct reader *reader, const char *buffer, size_t bytes, struct err *err)
{
	struct blocked_reader *to = (struct blocked_reader *)reader;
	size_t at = 0;

	(void)err;
	for (; bytes - at >= sizeof(struct state_sleeper); at += sizeof(struct state_sleeper)) {
		const struct state_sleeper *found = (const void *)(buffer + at);
		if (to->count == to->most)
			continue;
		struct state_blocked *blocked = &to->blocked[to->count++];
		*blocked = (struct state_blocked){ .tid = found->tid, .pid = found->head.pid, .switches = found->switches };
		memcpy(blocked->comm, found->comm, sizeof(blocked->comm));
	}
	return (ssize_t)at;
}

int state_find_blocked(struct state *state, struct state_blocked *blocked, unsigned most, struct err *err)
{
	struct blocked_reader to = { { take_blocked }, blocked, 0, most };
	int code = state->blocked_link ? read_iterator(state, state->blocked_link, &to.reader, err) : 0;

	return code ? code : (int)to.count;
}

static int record_locks(struct state *state, pid_t only, struct state_sink *sink, struct err *err)
{
	int fd = open("/proc/locks", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size_t length = 0;
	for (;;) {
		ssize_t got = read(fd, state->locks + length, sizeof(state->locks) - 1 - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	close(fd);
	state->locks[length] = 0;
	return state_parse_locks(state->locks, only, sink, err);
}

int state_record(struct state *state, unsigned what, pid_t only, struct state_sink *sink, struct err *err)
{
	int code = 0;
	if (what & STATE_DESCRIPTORS) {
		state->bpf->bss->state_only = (uint32_t)only;
		state->bpf->bss->state_details = (what & STATE_SETS) != 0;
		struct sink_reader to = { { take_for_sink }, sink };
		code = read_iterator(state, state->link, &to.reader, err);
	}
	if (code == 0 && what & STATE_LOCKS)
		code = record_locks(state, only, sink, err);
	return code;
}
#endif
