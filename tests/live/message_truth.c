/* Sends and receives over every kind of object, several writers and readers,
 * and tells which send filled which receive: every 8 bytes sent carry the
 * number of their send.
 *
 * Output, one line each: `S id tid fd n bytes` for a send, `R id bytes tid fd n`
 * for the bytes of send `id` in a receive. n counts the sends (receives) with
 * bytes of that thread on that descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SENDS 200
#define WRITERS_MOST 3
#define READERS_MOST 3
#define UNITS_MOST 700

enum kind { PIPE, FIFO, UNIX_STREAM, UNIX_SEQPACKET, UNIX_DGRAM, UNIX_NAMED, TCP, UDP, UDP_NAMED, EVENTFD, KINDS };

struct object {
	enum kind kind;
	int in, out;             /* the writers' and the readers' descriptor */
	struct sockaddr_storage to;
	socklen_t to_length;
	int writers, readers;
	int writing;             /* writers that are not done */
};

struct line {
	bool receive;
	uint32_t id, n, bytes;
	int fd, tid;
};

struct worker {
	struct object *object;
	pthread_t thread;
	struct line *lines;
	size_t count, most;
	unsigned seed;
	uint32_t n;              /* calls with bytes so far */
	int index;
};

static uint32_t next_id;
static uint32_t eventfd_ids[WRITERS_MOST][SENDS * 4], eventfd_sent[WRITERS_MOST], eventfd_taken[WRITERS_MOST];

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void note(struct worker *worker, bool receive, uint32_t id, uint32_t bytes, int fd, uint32_t n)
{
	if (worker->count == worker->most) {
		worker->most = worker->most ? worker->most * 2 : 1024;
		worker->lines = realloc(worker->lines, worker->most * sizeof(*worker->lines));
		if (!worker->lines)
			die("realloc");
	}
	worker->lines[worker->count++] = (struct line){ receive, id, n, bytes, fd, (int)gettid() };
}

static bool keeps_bounds(enum kind kind)
{
	return kind >= UNIX_SEQPACKET && kind <= UNIX_NAMED ? true : kind == UDP || kind == UDP_NAMED;
}

static bool is_socket(enum kind kind)
{
	return kind != PIPE && kind != FIFO && kind != EVENTFD;
}

static ssize_t send_somehow(struct object *object, unsigned way, void *data, size_t bytes)
{
	struct iovec parts[2] = { { data, bytes / 16 * 8 }, { (char *)data + bytes / 16 * 8, bytes - bytes / 16 * 8 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	if (object->to_length) {
		message.msg_name = &object->to;
		message.msg_namelen = object->to_length;
		return way & 1 ? sendto(object->in, data, bytes, 0, (struct sockaddr *)&object->to, object->to_length)
			       : sendmsg(object->in, &message, 0);
	}
	if (!is_socket(object->kind))
		return way & 1 ? write(object->in, data, bytes) : writev(object->in, parts, 2);
	switch (way % 4) {
	case 0:
		return write(object->in, data, bytes);
	case 1:
		return send(object->in, data, bytes, 0);
	case 2:
		return sendmsg(object->in, &message, 0);
	default:
		return writev(object->in, parts, 2);
	}
}

static ssize_t receive_somehow(struct object *object, unsigned way, void *data, size_t bytes)
{
	struct iovec part = { data, bytes };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (!is_socket(object->kind))
		return way & 1 ? read(object->out, data, bytes) : readv(object->out, &part, 1);
	switch (way % 5) {
	case 0:
		return read(object->out, data, bytes);
	case 1:
		return recv(object->out, data, bytes, 0);
	case 2:
		return recvmsg(object->out, &message, 0);
	case 3:
		n = recv(object->out, data, bytes, MSG_DONTWAIT);
		return n < 0 && errno == EAGAIN ? recv(object->out, data, bytes, 0) : n;
	default:
		recv(object->out, data, 8, MSG_PEEK | MSG_DONTWAIT);
		return recv(object->out, data, bytes, 0);
	}
}

static void write_eventfd(struct worker *worker)
{
	struct object *object = worker->object;

	for (int i = 0; i < SENDS; i++) {
		uint64_t value = 1ull << worker->index * 16;
		uint32_t id = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);

		eventfd_ids[worker->index][eventfd_sent[worker->index]] = id;
		__atomic_store_n(&eventfd_sent[worker->index], eventfd_sent[worker->index] + 1, __ATOMIC_RELEASE);
		if (write(object->in, &value, 8) != 8)
			die("write");
		note(worker, false, id, 8, object->in, worker->n++);
		if (rand_r(&worker->seed) % 4 == 0)
			usleep(rand_r(&worker->seed) % 200);
	}
}

static void read_eventfd(struct worker *worker)
{
	struct object *object = worker->object;
	int left = object->writers * SENDS;

	while (left > 0) {
		uint64_t value;

		if (read(object->out, &value, 8) != 8)
			die("read");
		for (int w = 0; w < object->writers; w++)
			for (uint64_t k = value >> w * 16 & 0xffff; k; k--, left--)
				note(worker, true, eventfd_ids[w][eventfd_taken[w]++], 8, object->out, worker->n);
		worker->n++;
		usleep(rand_r(&worker->seed) % 300);
	}
}

static void *writer(void *data)
{
	static _Thread_local uint64_t units[UNITS_MOST];
	struct worker *worker = data;
	struct object *object = worker->object;

	if (object->kind == EVENTFD) {
		write_eventfd(worker);
		return NULL;
	}
	for (int i = 0; i < SENDS; i++) {
		uint32_t id = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
		unsigned most = keeps_bounds(object->kind) ? 60 : i % 10 ? 60 : UNITS_MOST - 2;
		size_t count = 2 + (unsigned)rand_r(&worker->seed) % most;
		ssize_t n;

		for (size_t k = 0; k < count; k++)
			units[k] = (uint64_t)id << 32 | k;
		n = send_somehow(object, (unsigned)rand_r(&worker->seed), units, count * 8);
		if (n != (ssize_t)(count * 8))
			die("send");
		note(worker, false, id, (uint32_t)n, object->in, worker->n++);
		/* datagrams over the network are lost when nobody reads in time */
		if (object->kind == UDP || object->kind == UDP_NAMED)
			usleep(300);
		else if (rand_r(&worker->seed) % 3 == 0)
			usleep((unsigned)rand_r(&worker->seed) % 300);
	}
	if (__atomic_sub_fetch(&object->writing, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	/* the last one tells the readers, of whom each takes one such message */
	if (keeps_bounds(object->kind)) {
		usleep(20000);
		for (int i = 0; i < object->readers; i++) {
			uint64_t end = UINT64_MAX;

			send_somehow(object, 1, &end, 8);
		}
	} else if (object->kind == PIPE || object->kind == FIFO) {
		close(object->in);
	} else {
		shutdown(object->in, SHUT_WR);
	}
	return NULL;
}

static void *reader(void *data)
{
	static _Thread_local uint64_t units[UNITS_MOST];
	struct worker *worker = data;
	struct object *object = worker->object;

	if (object->kind == EVENTFD) {
		read_eventfd(worker);
		return NULL;
	}
	for (;;) {
		size_t want = keeps_bounds(object->kind) ? UNITS_MOST : 1 + (unsigned)rand_r(&worker->seed) % 100;
		ssize_t n = receive_somehow(object, (unsigned)rand_r(&worker->seed), units, want * 8);
		size_t count;

		if (n < 0)
			die("receive");
		if (!n || units[0] == UINT64_MAX)
			return NULL;
		if (n % 8) {
			fprintf(stderr, "a receive of %zd bytes\n", n);
			exit(2);
		}
		count = (size_t)n / 8;
		for (size_t k = 0; k < count; ) {
			size_t from = k;

			while (k < count && units[k] >> 32 == units[from] >> 32)
				k++;
			note(worker, true, (uint32_t)(units[from] >> 32), (uint32_t)(k - from) * 8, object->out, worker->n);
		}
		worker->n++;
		if (rand_r(&worker->seed) % 4 == 0)
			usleep((unsigned)rand_r(&worker->seed) % 200);
	}
}

static void make_pair(struct object *object, int type)
{
	int ends[2];

	if (socketpair(AF_UNIX, type, 0, ends))
		die("socketpair");
	object->in = ends[0];
	object->out = ends[1];
}

static void make_tcp(struct object *object)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		die("listen");
	object->in = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(object->in, (struct sockaddr *)&address, length))
		die("connect");
	object->out = accept(listener, NULL, NULL);
	if (object->out < 0)
		die("accept");
	close(listener);
}

static void make_udp(struct object *object, bool named)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	int room = 4 << 20;

	object->out = socket(AF_INET, SOCK_DGRAM, 0);
	setsockopt(object->out, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (bind(object->out, (struct sockaddr *)&address, length) || getsockname(object->out, (struct sockaddr *)&address, &length))
		die("bind");
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	object->in = socket(AF_INET, SOCK_DGRAM, 0);
	if (named) {
		memcpy(&object->to, &address, length);
		object->to_length = length;
	} else if (connect(object->in, (struct sockaddr *)&address, length)) {
		die("connect");
	}
}

static void make_named(struct object *object)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "named-%d", (int)getpid());
	unlink(address.sun_path);
	object->out = socket(AF_UNIX, SOCK_DGRAM, 0);
	object->in = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (bind(object->out, (struct sockaddr *)&address, sizeof(address)))
		die("bind");
	memcpy(&object->to, &address, sizeof(address));
	object->to_length = sizeof(address);
}

static void make(struct object *object)
{
	char name[64];
	int ends[2];

	switch (object->kind) {
	case PIPE:
		if (pipe(ends))
			die("pipe");
		object->in = ends[1];
		object->out = ends[0];
		break;
	case FIFO:
		snprintf(name, sizeof(name), "fifo-%d", (int)getpid());
		unlink(name);
		if (mkfifo(name, 0600))
			die("mkfifo");
		object->out = open(name, O_RDONLY | O_NONBLOCK);
		object->in = open(name, O_WRONLY);
		fcntl(object->out, F_SETFL, 0);
		unlink(name);
		break;
	case UNIX_STREAM:
		make_pair(object, SOCK_STREAM);
		break;
	case UNIX_SEQPACKET:
		make_pair(object, SOCK_SEQPACKET);
		break;
	case UNIX_DGRAM:
		make_pair(object, SOCK_DGRAM);
		break;
	case UNIX_NAMED:
		make_named(object);
		break;
	case TCP:
		make_tcp(object);
		break;
	case UDP:
	case UDP_NAMED:
		make_udp(object, object->kind == UDP_NAMED);
		break;
	case EVENTFD:
		object->in = object->out = eventfd(0, 0);
		break;
	case KINDS:
		break;
	}
}

static void print(const struct worker *worker)
{
	for (size_t i = 0; i < worker->count; i++) {
		const struct line *line = &worker->lines[i];

		if (line->receive)
			printf("R %u %u %d %d %u\n", line->id, line->bytes, line->tid, line->fd, line->n);
		else
			printf("S %u %d %d %u %u\n", line->id, line->tid, line->fd, line->n, line->bytes);
	}
}

static void run(enum kind kind, int writers, int readers)
{
	struct worker workers[WRITERS_MOST + READERS_MOST] = { 0 };
	struct object object = { .kind = kind, .in = -1, .out = -1, .writers = writers, .readers = readers, .writing = writers };
	int count = writers + readers;

	if (kind == EVENTFD) {
		memset(eventfd_sent, 0, sizeof(eventfd_sent));
		memset(eventfd_taken, 0, sizeof(eventfd_taken));
	}
	make(&object);
	for (int i = 0; i < count; i++) {
		workers[i].object = &object;
		workers[i].seed = (unsigned)(kind * 100 + writers * 10 + readers + i * 1000);
		workers[i].index = i;
		if (pthread_create(&workers[i].thread, NULL, i < writers ? writer : reader, &workers[i]))
			die("pthread_create");
	}
	for (int i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		print(&workers[i]);
		free(workers[i].lines);
	}
	if (object.in != object.out && kind != PIPE && kind != FIFO)
		close(object.in);
	close(object.out);
}

int main(void)
{
	static const int counts[][2] = { { 1, 1 }, { 3, 1 }, { 1, 3 }, { 3, 2 } };

	for (int kind = 0; kind < KINDS; kind++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			if (kind != EVENTFD || counts[i][1] == 1)
				run((enum kind)kind, counts[i][0], counts[i][1]);
	return 0;
}
