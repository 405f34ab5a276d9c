/* See writer.h. Each processor has a buffer of entries; a full or due buffer is
 * packed and written in one piece, so that a file always ends with a whole chunk
 * or a torn one that a reader recognises. Only what the file as a whole knows is
 * shared by those who add: its end, and of which threads it has told. */
#include "trace/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "trace/crc32c.h"
#include "trace/describe.h"
#include "trace/format.h"
#include "trace/output.h"
#include "trace/pack.h"
#include "trace/varint.h"

#define DEFAULT_FLUSH_MS 500
#define DEFAULT_COMPRESSION (-1) /* a twentieth of the time less than 1, for a fiftieth of the bytes */

struct stream {
	unsigned char *entries;    /* buffer_bytes of it */
	uint32_t used, count;
	uint64_t written;          /* events in chunks */
	uint64_t events;           /* that are no state, all so far */
	uint64_t first_ns, last_ns, added_ns;
	bool unsorted;
	uint32_t counts[EVENT_MAX];
	uint32_t places[ENCODE_COUNT_LIMIT]; /* of entries in the buffer */
};

/* What a record of a type must look like. */
struct shape {
	uint16_t least;            /* bytes; above all sizes when there is no such type */
	bool has_tail, is_state;
};

struct writer {
	struct output out;
	struct writer_options options;
	struct stream *streams;
	struct shape shapes[EVENT_MAX];
	unsigned char *buffers;      /* of all streams, untouched pages take no memory */
	uint32_t buffer_bytes;       /* of one stream */
	struct packer **packers;     /* options.packers */
	pthread_mutex_t end;         /* of the file: held while a chunk's head is made and the chunk written */
	struct thread_marks *marks;
	uint32_t sequence;
	_Atomic int failed;          /* nothing more is packed or written; why: `failure`, set before */
	struct err failure;
};

/* ---- creation ---- */

static void writer_free(struct writer *writer)
{
	if (!writer)
		return;
	output_close(&writer->out);
	if (writer->buffers)
		munmap(writer->buffers, (size_t)writer->options.cpus * writer->buffer_bytes);
	for (uint32_t i = 0; writer->packers && i < writer->options.packers; i++)
		packer_free(writer->packers[i]);
	free(writer->packers);
	free(writer->marks);
	free(writer->streams);
	pthread_mutex_destroy(&writer->end);
	free(writer);
}

/* Many processors get smaller buffers: all of them together stay below 100 MiB
 * up to 256 processors. */
static uint32_t buffer_bytes_for(uint32_t cpus)
{
	return cpus <= 64 ? 768u << 10 : cpus <= 256 ? 384u << 10 : 128u << 10;
}

static void find_shapes(struct shape shapes[EVENT_MAX])
{
	for (unsigned type = 0; type < EVENT_MAX; type++) {
		const struct event_info *info = &event_infos[type];

		shapes[type].least = info->name ? (uint16_t)(sizeof(struct record) + info->bytes) : UINT16_MAX;
		shapes[type].has_tail = info->tail != FIELD_KINDS;
		shapes[type].is_state = info->categories & (STATE | META);
	}
}

static int allocate(struct writer *writer, struct err *err)
{
	uint32_t cpus = writer->options.cpus;

	find_shapes(writer->shapes);
	writer->buffer_bytes = buffer_bytes_for(cpus);
	writer->buffers = mmap(NULL, (size_t)cpus * writer->buffer_bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (writer->buffers == MAP_FAILED) {
		writer->buffers = NULL;
		return err_sys(err, -ENOMEM, "buffers for %" PRIu32 " processors", cpus);
	}
	writer->streams = mem_zalloc(arena_array_bytes(sizeof(*writer->streams), cpus));
	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		writer->streams[cpu].entries = writer->buffers + (size_t)cpu * writer->buffer_bytes;
	writer->marks = mem_zalloc(sizeof(*writer->marks));
	writer->packers = mem_zalloc(arena_array_bytes(sizeof(*writer->packers), writer->options.packers));
	for (uint32_t i = 0; i < writer->options.packers; i++) {
		int status = packer_new(writer->buffer_bytes, writer->options.compression, &writer->packers[i], err);

		if (status)
			return status;
	}
	return 0;
}

static int write_file_head(struct writer *writer, struct err *err)
{
	struct file_head head = { .magic = FORMAT_MAGIC, .version = FORMAT_VERSION };
	struct timespec now;
	unsigned char *bytes, *end;
	size_t room;

	bytes = packer_room(writer->packers[0], &room);
	_Static_assert(DESCRIBE_ROOM + sizeof(head) <= ENCODE_PAYLOAD_ROOM(0), "a payload's room holds a file's head");
	clock_gettime(CLOCK_REALTIME, &now);
	end = describe_put(bytes + sizeof(head));
	head.head_bytes = (uint32_t)(end - bytes);
	head.recording = writer->options.recording;
	if (!head.recording && getrandom(&head.recording, sizeof(head.recording), 0) != sizeof(head.recording))
		head.recording = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	head.sequence = writer->options.sequence;
	head.created_wall_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	head.floor_ns = writer->options.floor_ns;
	head.processors = writer->options.processors;
	memcpy(bytes, &head, sizeof(head));
	head.crc = crc32c(0, bytes, head.head_bytes);
	memcpy(bytes, &head, sizeof(head));
	return output_write(&writer->out, bytes, head.head_bytes, err);
}

static int writer_start(struct writer *writer, struct err *err)
{
	int status = 0;

	if (!writer->options.cpus || writer->options.cpus > UINT16_MAX + 1)
		status = err_set(err, -EINVAL, "a trace of %" PRIu32 " processors", writer->options.cpus);
	if (!status)
		status = allocate(writer, err);
	if (!status)
		status = write_file_head(writer, err);
	return status;
}

static struct writer *writer_new(const struct writer_options *options)
{
	struct writer *writer = mem_zalloc(sizeof(*writer));

	writer->out.fd = -1;
	pthread_mutex_init(&writer->end, NULL);
	writer->options = *options;
	if (!writer->options.compression)
		writer->options.compression = DEFAULT_COMPRESSION;
	if (!writer->options.packers)
		writer->options.packers = 1;
	if (!writer->options.flush_ms)
		writer->options.flush_ms = DEFAULT_FLUSH_MS;
	return writer;
}

int writer_create(const char *path, bool keep_old, const struct writer_options *options, struct writer **ret_writer,
		  struct err *err)
{
	struct writer *writer = writer_new(options);
	int status = output_create(&writer->out, path, keep_old, options->whole ? OUTPUT_WHOLE : OUTPUT_AT_ONCE, err);

	writer->out.room = options->room;
	if (!status)
		status = writer_start(writer, err);
	if (status) {
		output_remove_empty(&writer->out);
		writer_free(writer);
		return status;
	}
	*ret_writer = writer;
	return 0;
}

/* ---- chunks ---- */

static uint32_t entry_bytes(const struct entry *entry)
{
	return (uint32_t)(sizeof(*entry) + event_infos[entry->type].bytes + entry->tail_length + 7) & ~7u;
}

static uint32_t state_count(const struct writer *writer, const struct stream *stream)
{
	uint32_t count = 0;

	for (unsigned type = 0; type < EVENT_MAX; type++)
		count += writer->shapes[type].is_state ? stream->counts[type] : 0;
	return count;
}

/* Writes the chunk that lies there, behind room for its fixed head. Of those that
 * add in parallel, one at a time. */
static int put_chunk(struct writer *writer, struct chunk_head *head, unsigned char *bytes, struct err *err)
{
	size_t size = (size_t)head->head_bytes + head->payload_bytes;

	head->sequence = writer->sequence;
	memcpy(bytes, head, sizeof(*head));
	head->head_crc = crc32c(0, bytes + 12, head->head_bytes - 12);
	memcpy(bytes, head, sizeof(*head));
	if (writer->options.max_bytes && !(head->flags & CHUNK_INDEX) && writer->out.bytes + size > writer->options.max_bytes)
		return err_set(err, -EFBIG, "'%s' has reached its limit of %" PRIu64 " bytes", writer->out.path,
			       writer->options.max_bytes);
	if (output_write(&writer->out, bytes, size, err))
		return err ? err->code : -EIO;
	writer->sequence++;
	return 0;
}

/* What comes after a failure is not even packed: that takes milliseconds, for nothing. */
static int failed_before(const struct writer *writer, struct err *err)
{
	int status = atomic_load_explicit(&writer->failed, memory_order_acquire);

	if (status && err)
		*err = writer->failure;
	return status;
}

static int put_stream(struct writer *writer, struct stream *stream, struct packer *packer, struct chunk_head *head, struct err *err)
{
	int status;

	pthread_mutex_lock(&writer->end);
	if (!writer->failed)
		writer->failed = put_chunk(writer, head, packer_head(packer, writer->marks, head), &writer->failure);
	status = failed_before(writer, err);
	pthread_mutex_unlock(&writer->end);
	if (status)
		return status;
	stream->written += stream->count;
	stream->used = stream->count = 0;
	stream->unsorted = false;
	memset(stream->counts, 0, sizeof(stream->counts));
	return 0;
}

static int flush_stream(struct writer *writer, uint32_t cpu, struct err *err)
{
	struct stream *stream = &writer->streams[cpu];
	struct packer *packer = writer->packers[cpu % writer->options.packers];
	struct pack_entries entries = {
		.bytes = stream->entries, .places = stream->places, .counts = stream->counts,
		.count = stream->count, .cpu = (uint16_t)cpu, .unsorted = stream->unsorted,
	};
	struct chunk_head head = { .marker = FORMAT_MARKER, .cpu = (uint16_t)cpu };
	int status = failed_before(writer, err);

	if (status || !stream->count)
		return status;
	head.count = stream->count;
	head.state_count = state_count(writer, stream);
	head.first_ns = stream->first_ns;
	head.last_ns = stream->last_ns;
	head.stream_before = stream->written;
	packer_payload(packer, &entries, &head);
	return put_stream(writer, stream, packer, &head, err);
}

/* ---- events in ---- */

/* An entry more, which lies at the end of the buffer already. */
static inline void take(struct writer *writer, struct stream *stream, const struct entry *entry, uint32_t bytes)
{
	uint64_t time_ns = entry->time_ns;

	if (!stream->count) {
		stream->first_ns = stream->last_ns = stream->added_ns = time_ns;
	} else if (time_ns >= stream->added_ns) {
		stream->last_ns = time_ns > stream->last_ns ? time_ns : stream->last_ns;
	} else {
		stream->unsorted = true;
		stream->first_ns = time_ns < stream->first_ns ? time_ns : stream->first_ns;
	}
	stream->added_ns = time_ns;
	stream->places[stream->count++] = stream->used;
	stream->counts[entry->type]++;
	stream->used += bytes;
	stream->events += !writer->shapes[entry->type].is_state;
}

static int add(struct writer *writer, uint32_t cpu, const struct entry *from, const void *data, const char *tail,
	       struct err *err)
{
	struct stream *stream = &writer->streams[cpu];
	uint32_t bytes = entry_bytes(from), payload = event_infos[from->type].bytes;
	struct entry *entry;

	if (stream->count == ENCODE_COUNT_LIMIT || stream->used + bytes > writer->buffer_bytes) {
		int status = flush_stream(writer, cpu, err);

		if (status)
			return status;
	}
	entry = (struct entry *)(void *)(stream->entries + stream->used);
	*entry = *from;
	if (payload)
		memcpy(entry + 1, data, payload);
	memcpy((char *)(entry + 1) + payload, tail, entry->tail_length);
	take(writer, stream, entry, bytes);
	return 0;
}

static int check_cpu(const struct writer *writer, uint32_t cpu, struct err *err)
{
	if (cpu < writer->options.cpus)
		return 0;
	return err_set(err, -EINVAL, "an event of processor %" PRIu32 ", in a trace of %" PRIu32, cpu, writer->options.cpus);
}

/* Of the bytes behind a record's payload, those that are its tail and no padding. */
static uint16_t tail_bytes(enum field_kind kind, const char *tail, uint32_t room)
{
	if (kind == FIELD_KINDS)
		return 0;
	while (room && !tail[room - 1])
		room--;
	return (uint16_t)(room && kind == FIELD_TEXTS ? room + 1 : room);
}

_Static_assert(sizeof(struct record) == sizeof(struct entry) && offsetof(struct record, size) == offsetof(struct entry, tail_length),
	       "a record becomes an entry where it lies");

/* Of records that lie at the end of the buffer, takes those that are whole and
 * for which the chunk has room; the bytes of them. Ends before a malformed one. */
static uint32_t take_records(struct writer *writer, struct stream *stream, uint32_t bytes)
{
	unsigned char *const from = stream->entries + stream->used, *at = from, *const end = from + bytes;

	while ((size_t)(end - at) >= sizeof(struct entry) && stream->count < ENCODE_COUNT_LIMIT) {
		struct entry *entry = (struct entry *)(void *)at;
		uint32_t size = entry->tail_length, type = entry->type;

		if (type >= EVENT_MAX || size < writer->shapes[type].least || size % 8 || size > (size_t)(end - at))
			break;
		entry->tail_length = 0;
		if (writer->shapes[type].has_tail) {
			uint32_t room = size - writer->shapes[type].least;
			uint16_t tail = tail_bytes(event_infos[type].tail, entry_tail(entry), room);

			if (tail > room) { /* a text without end */
				entry->tail_length = (uint16_t)size;
				break;
			}
			entry->tail_length = tail;
		}
		take(writer, stream, entry, size);
		at += size;
	}
	return (uint32_t)(at - from);
}

#define PIECE_BYTES 16384u /* taken at once: it stays in the nearest cache */

/* Copies what lies there into the stream's buffer; the bytes of records taken, 0 when
 * the buffer has to be emptied first or the record is malformed. */
static uint32_t add_piece(struct writer *writer, struct stream *stream, const unsigned char *at, uint64_t bytes)
{
	uint32_t piece = PIECE_BYTES, room = writer->buffer_bytes - stream->used;
	struct record first;

	if (bytes < sizeof(first) || room < sizeof(first) || stream->count == ENCODE_COUNT_LIMIT)
		return 0;
	memcpy(&first, at, sizeof(first));
	piece = first.size > piece ? first.size : piece;
	piece = piece > room ? room : piece;
	piece = piece > bytes ? (uint32_t)bytes : piece;
	memcpy(stream->entries + stream->used, at, piece);
	return take_records(writer, stream, piece);
}

static int malformed(const unsigned char *at, uint64_t bytes, struct err *err)
{
	struct record record = { 0 };
	const struct event_info *info;

	memcpy(&record, at, bytes < sizeof(record) ? 0 : sizeof(record));
	info = record.type < EVENT_MAX ? &event_infos[record.type] : NULL;
	if (info && info->tail == FIELD_TEXTS && record.size <= bytes && record.size % 8 == 0 && record.size >= sizeof(record) + info->bytes)
		return err_set(err, -EBADMSG, "a record of event '%s' has a text without end", info->name);
	return err_set(err, -EBADMSG, "a record of type %u and %u bytes is malformed", record.type, record.size);
}

int writer_add(struct writer *writer, uint32_t cpu, const void *records, uint64_t bytes, struct err *err)
{
	const unsigned char *at = records, *end = at + bytes;
	int status = check_cpu(writer, cpu, err);

	while (!status && at < end) {
		struct stream *stream = &writer->streams[cpu];
		uint32_t taken = add_piece(writer, stream, at, (uint64_t)(end - at));

		if (!taken && stream->count) {
			/* there may have been no room */
			status = flush_stream(writer, cpu, err);
			taken = status ? 0 : add_piece(writer, stream, at, (uint64_t)(end - at));
		}
		if (!status && !taken)
			return malformed(at, (uint64_t)(end - at), err);
		at += taken;
	}
	return status;
}

int writer_add_event(struct writer *writer, const struct event *e, struct err *err)
{
	struct entry entry = { e->time, e->tid, e->type, (uint16_t)e->tail_length };
	int status = check_cpu(writer, e->cpu, err);

	if (status)
		return status;
	if (e->type >= EVENT_MAX || !event_infos[e->type].name)
		return err_set(err, -EINVAL, "event number %u is not known", e->type);
	if (e->tail_length > UINT16_MAX)
		return err_set(err, -E2BIG, "an event's text of %" PRIu32 " bytes; at most 65535 fit", e->tail_length);
	return add(writer, e->cpu, &entry, e->data, e->tail ? e->tail : "", err);
}

int writer_add_gap(struct writer *writer, uint32_t cpu, uint64_t from_ns, uint64_t to_ns, uint64_t lost, uint32_t reason,
		   struct err *err)
{
	struct event_gap gap = { .from_ns = from_ns, .to_ns = to_ns, .lost = lost, .cpu = cpu, .reason = reason };
	struct event e = { .time = from_ns, .cpu = (uint16_t)cpu, .type = EVENT_gap, .data = &gap };

	return writer_add_event(writer, &e, err);
}

int writer_add_chunk(struct writer *writer, unsigned char *bytes, struct err *err)
{
	struct chunk_head head;
	int status;

	memcpy(&head, bytes, sizeof(head));
	status = check_cpu(writer, head.cpu, err);
	if (!status)
		status = flush_stream(writer, head.cpu, err);
	if (status)
		return status;
	head.stream_before = writer->streams[head.cpu].written;
	status = put_chunk(writer, &head, bytes, &writer->failure);
	if (status) {
		writer->failed = status;
		if (err)
			*err = writer->failure;
		return status;
	}
	writer->streams[head.cpu].written += head.count;
	writer->streams[head.cpu].events += head.count - head.state_count;
	return 0;
}

int writer_flush(struct writer *writer, uint64_t now_ns, struct err *err)
{
	uint64_t age = (uint64_t)writer->options.flush_ms * 1000000;

	for (uint32_t cpu = 0; cpu < writer->options.cpus; cpu++) {
		const struct stream *stream = &writer->streams[cpu];
		int status;

		if (!stream->count || (now_ns != UINT64_MAX && (now_ns < stream->first_ns || now_ns - stream->first_ns < age)))
			continue;
		status = flush_stream(writer, cpu, err);
		if (status)
			return status;
	}
	return 0;
}

uint64_t writer_bytes(const struct writer *writer)
{
	return writer->out.bytes;
}

uint64_t writer_events(const struct writer *writer)
{
	uint64_t events = 0;

	for (uint32_t cpu = 0; cpu < writer->options.cpus; cpu++)
		events += writer->streams[cpu].events;
	return events;
}

/* ---- the index ---- */

/* One chunk's head from the file, behind its place; advances *at_file behind the chunk. */
static int index_one(struct writer *writer, unsigned char *room, uint64_t *at_file, size_t *used, struct err *err)
{
	struct chunk_head head;
	unsigned char *to = room + *used;

	if (output_read(&writer->out, *at_file, &head, sizeof(head), err))
		return err ? err->code : -EIO;
	/* somebody may have cut the file meanwhile, and what follows a cut is a hole */
	if (memcmp(head.marker, FORMAT_MARKER, sizeof(head.marker)) || head.head_bytes < sizeof(head) ||
	    head.head_bytes > ENCODE_HEAD_ROOM || head.payload_bytes > FORMAT_CHUNK_LIMIT)
		return err_set(err, -EIO, "'%s' was changed by another program while it was written; it has no index", writer->out.path);
	if (output_read(&writer->out, *at_file, to + 8, head.head_bytes, err))
		return err ? err->code : -EIO;
	memcpy(to, at_file, 8);
	*used += 8 + head.head_bytes;
	*at_file += (uint64_t)head.head_bytes + head.payload_bytes;
	return 0;
}

/* The heads of all chunks once more, together: read back from the file, so
 * that memory does not grow with it. */
static int write_index(struct writer *writer, struct err *err)
{
	struct packer *packer = writer->packers[0];
	uint64_t at, end = writer->out.bytes;
	struct file_trailer trailer = { .magic = FORMAT_TRAILER, .index_at = end };
	struct file_head file_head;
	size_t used = 0, most;
	unsigned char *room = packer_room(packer, &most);
	int status = output_read(&writer->out, 0, &file_head, sizeof(file_head), err);

	for (at = file_head.head_bytes; !status && at < end;) {
		status = index_one(writer, room, &at, &used, err);
		if (!status && (at >= end || most - used < ENCODE_HEAD_ROOM + 8)) {
			struct chunk_head head = { .marker = FORMAT_MARKER, .flags = CHUNK_INDEX };

			status = put_chunk(writer, &head, packer_bare(packer, used, &head), err);
			trailer.index_chunks++;
			used = 0;
		}
	}
	if (status)
		return status;
	trailer.crc = crc32c(0, &trailer, offsetof(struct file_trailer, crc));
	return output_write(&writer->out, &trailer, sizeof(trailer), err);
}

void writer_drop(struct writer *writer)
{
	writer_free(writer);
}

int writer_close(struct writer *writer, struct err *err)
{
	int status;

	if (!writer)
		return 0;
	status = writer_flush(writer, UINT64_MAX, err);
	/* A full file still gets its index: all that is in it was written whole. */
	if (!status || status == -EFBIG) {
		int index_status = write_index(writer, err);

		status = status ? status : index_status;
	}
	if (!status)
		status = output_publish(&writer->out, err);
	writer_free(writer);
	return status;
}
