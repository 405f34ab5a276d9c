/*
 * What every program of the laboratory shares: time, the log by which a run proves what happened in it,
 * messages, and starting processes. All of it is inlined into the functions that the generator writes,
 * so that a stack shows those (and libc) as it would in a program that somebody wrote.
 *
 * The log is a file opened for appending; nothing is shared in memory, for that would put a mapping
 * between the actors that has nothing to do with the plan.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define INLINE static inline __attribute__((always_inline, unused))
#define MS 1000000ull
#define LATE_NS (300 * MS) /* a call that took longer is written down */

static uint64_t start_ns;    /* of the run */
static const char *folder;   /* of the run */
static bool faulty;          /* the fault is to happen */
static int log_fd = -1;
static atomic_bool fault_done;

struct message {
	uint32_t id;
	uint32_t hot; /* of the way that the fault is on */
	uint32_t from;
	uint32_t drop; /* never answer */
	char body[48];
};

INLINE uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

INLINE int own_tid(void)
{
	return (int)syscall(SYS_gettid);
}

static void __attribute__((unused)) say_line(const char *line, size_t size)
{
	if (write(log_fd, line, size) < 0)
		_exit(3);
}

#define say(...)                                                                                                       \
	do {                                                                                                           \
		char say_text[256];                                                                                    \
		say_line(say_text, (size_t)snprintf(say_text, sizeof(say_text), __VA_ARGS__));                         \
	} while (0)

/* A call of the chain that took long is written down: who, in which link, from when to when. */
#define LATE(what, role, began)                                                                                        \
	do {                                                                                                           \
		uint64_t late_end = now();                                                                             \
		if (late_end - (began) > LATE_NS)                                                                      \
			say("late %s %s %d %llu %llu\n", what, role, own_tid(), (unsigned long long)(began),           \
			    (unsigned long long)late_end);                                                             \
	} while (0)

INLINE void nap_us(uint64_t us)
{
	struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

INLINE void nap_until(uint64_t at)
{
	struct timespec t = {(time_t)(at / 1000000000ull), (long)(at % 1000000000ull)};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Arithmetic until that moment. */
INLINE uint64_t burn_until(uint64_t at, uint64_t x)
{
	do
		for (int i = 0; i < 2000; i++)
			x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull + (uint64_t)i;
	while (now() < at);
	return x;
}

/* Arithmetic of that much processor time, however long it takes. */
INLINE uint64_t burn_cpu(uint64_t ns, uint64_t x)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	uint64_t end = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec + ns, at;
	do {
		for (int i = 0; i < 2000; i++)
			x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull + (uint64_t)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		at = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
	} while (at < end);
	return x;
}

/* True once in the run, in one thread, when the fault's moment has come. A file says so: who is started anew
 * for each request does not know what its predecessors did. */
INLINE bool fault_due(uint64_t after_ns)
{
	if (!faulty || now() < start_ns + after_ns || atomic_exchange(&fault_done, true))
		return false;
	char path[128];
	snprintf(path, sizeof(path), "%s/fault", folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

INLINE void fault_log(const char *role, uint64_t began)
{
	say("fault %s %d %llu %llu\n", role, own_tid(), (unsigned long long)began, (unsigned long long)now());
}

INLINE void role_enter(const char *role)
{
	prctl(PR_SET_NAME, role);
	say("role %s %d %d\n", role, getpid(), own_tid());
}

INLINE bool bytes_read(int fd, void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = read(fd, (char *)to + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

INLINE bool bytes_write(int fd, const void *from, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)from + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

#define message_read(fd, m) bytes_read(fd, m, sizeof(struct message))
#define message_write(fd, m) bytes_write(fd, m, sizeof(struct message))

INLINE const char *path_of(char *to, const char *name)
{
	snprintf(to, 108, "%s/%s", folder, name);
	return to;
}

INLINE int socket_of(const char *name, bool tcp, struct sockaddr_storage *ret_address, socklen_t *ret_size)
{
	memset(ret_address, 0, sizeof(*ret_address));
	if (tcp) {
		struct sockaddr_in *in = (struct sockaddr_in *)ret_address;
		char variable[64];
		snprintf(variable, sizeof(variable), "LAB_PORT_%s", name);
		const char *port = getenv(variable);
		*in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port ? port : "0"))};
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		*ret_size = sizeof(*in);
	} else {
		struct sockaddr_un *un = (struct sockaddr_un *)ret_address;
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s/%s.sock", folder, name);
		*ret_size = sizeof(*un);
	}
	return socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

INLINE int socket_listen(const char *name, bool tcp)
{
	struct sockaddr_storage address;
	socklen_t size;
	int fd = socket_of(name, tcp, &address, &size), on = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, size) || listen(fd, 64)) {
		say("problem listen %s %d\n", name, errno);
		_exit(4);
	}
	return fd;
}

/* Servers start at the same time as their clients: tried again for 2 s. */
INLINE int socket_dial(const char *name, bool tcp)
{
	for (int i = 0; i < 200; i++) {
		struct sockaddr_storage address;
		socklen_t size;
		int fd = socket_of(name, tcp, &address, &size);
		if (!connect(fd, (struct sockaddr *)&address, size))
			return fd;
		close(fd);
		nap_us(10000);
	}
	say("problem dial %s %d\n", name, errno);
	_exit(4);
}

INLINE void thread_start(void *(*run)(void *), void *argument)
{
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 * 1024);
	if (pthread_create(&thread, &attributes, run, argument))
		say("problem thread\n");
}

INLINE struct timespec deadline(clockid_t clock, uint64_t ms)
{
	struct timespec t;
	clock_gettime(clock, &t);
	uint64_t ns = (uint64_t)t.tv_nsec + ms * MS;
	return (struct timespec){t.tv_sec + (time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull)};
}

/* Memory that processes share, as a file of the run's folder. */
INLINE void *shared_map(const char *name, size_t size)
{
	char path[108];
	int fd = open(path_of(path, name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		_exit(4);
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at;
}

INLINE int pid_of(const char *role)
{
	char variable[64];
	snprintf(variable, sizeof(variable), "LAB_PID_%s", role);
	const char *text = getenv(variable);
	return text ? atoi(text) : 0;
}

INLINE void cpu_pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Starts this program again under a role's name, with these of its descriptors. */
INLINE int role_spawn(const char *role, const int *fds, int count)
{
	char path[108];
	int pid = fork();
	if (!pid) {
		for (int i = 0; i < count; i++)
			fcntl(fds[i], F_SETFD, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		path_of(path, role);
		execl(path, role, (char *)NULL);
		_exit(127);
	}
	char variable[64], value[16];
	snprintf(variable, sizeof(variable), "LAB_PID_%s", role);
	snprintf(value, sizeof(value), "%d", pid);
	setenv(variable, value, 1);
	return pid;
}

/* The same, but it lives on when who started it has ended. */
INLINE void role_leave(const char *role, int fd)
{
	char path[108];
	if (fork())
		return;
	fcntl(fd, F_SETFD, 0);
	path_of(path, role);
	execl(path, role, (char *)NULL);
	_exit(127);
}

/* A descriptor, passed on through a socket. */
INLINE bool descriptor_send(int through, int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {&byte, 1};
	struct msghdr letter = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&letter);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(int));
	return sendmsg(through, &letter, 0) == 1;
}

INLINE int descriptor_receive(int through)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec part = {&byte, 1};
	struct msghdr letter = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	int fd = -1;
	if (recvmsg(through, &letter, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&letter))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&letter)), sizeof(int));
	return fd;
}

/* A socket for datagrams: at a server's port, or to it. */
INLINE int datagram_socket(const char *server, bool serve)
{
	struct sockaddr_storage address;
	socklen_t size;
	close(socket_of(server, true, &address, &size));
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (serve ? bind(fd, (struct sockaddr *)&address, size) : connect(fd, (struct sockaddr *)&address, size)) {
		say("problem datagrams %s %d\n", server, errno);
		_exit(4);
	}
	return fd;
}

/* A semaphore of System V as a lock, which is free at first. */
INLINE int semaphore_of(int number, bool make)
{
	int id = semget((key_t)(start_ns / 1000 % 1000000000) + number, 1, 0600 | (make ? IPC_CREAT : 0));
	if (id < 0 || (make && semctl(id, 0, SETVAL, 1)))
		say("problem semaphore %d\n", errno);
	return id;
}

INLINE void semaphore_add(int id, short by)
{
	struct sembuf change = {.sem_num = 0, .sem_op = by, .sem_flg = 0};
	while (semop(id, &change, 1) && errno == EINTR)
		;
}

INLINE void wire_move(int from, int to)
{
	if (dup3(from, to, O_CLOEXEC) < 0)
		_exit(4);
	close(from);
}

INLINE void run_begin(void)
{
	char path[108];
	folder = getenv("LAB_DIR");
	if (!folder)
		_exit(2);
	log_fd = open(path_of(path, "log"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	faulty = getenv("LAB_FAULT") != NULL;
	const char *at = getenv("LAB_START");
	start_ns = at ? strtoull(at, NULL, 10) : now();
	if (!at) {
		char value[32];
		snprintf(value, sizeof(value), "%llu", (unsigned long long)start_ns);
		setenv("LAB_START", value, 1);
	}
	signal(SIGPIPE, SIG_IGN);
}

INLINE void port_choose(const char *name)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	socklen_t size = sizeof(in);
	char variable[64], value[16];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&in, size) || getsockname(fd, (struct sockaddr *)&in, &size))
		_exit(4);
	close(fd);
	snprintf(variable, sizeof(variable), "LAB_PORT_%s", name);
	snprintf(value, sizeof(value), "%d", ntohs(in.sin_port));
	setenv(variable, value, 1);
}

/* Control groups of the run, one a controller: version 1 where it is mounted, else 2. */
INLINE bool group_path(char *to, size_t size, const char *controller, const char *file)
{
	char mounted[64];
	snprintf(mounted, sizeof(mounted), "/sys/fs/cgroup/%s", controller);
	bool first = access(mounted, F_OK) == 0;
	snprintf(to, size, "/sys/fs/cgroup/%s%sargus-lab-%s-%llu%s%s", first ? controller : "", first ? "/" : "", controller,
		 (unsigned long long)(start_ns % 1000000000000ull), *file ? "/" : "", file);
	return first;
}

INLINE void group_put(const char *controller, const char *file, const char *text)
{
	char path[160];
	group_path(path, sizeof(path), controller, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		say("problem group %s %s %d\n", controller, file, errno);
	close(fd);
}

/* A fifth of a processor, or 256 KiB a second to the disk that the run's folder is on. */
INLINE void group_make(const char *controller)
{
	char path[160], text[64];
	bool first = group_path(path, sizeof(path), controller, "");
	mkdir(path, 0755);
	if (!strcmp(controller, "cpu")) {
		if (first)
			group_put("cpu", "cpu.cfs_period_us", "100000");
		group_put("cpu", first ? "cpu.cfs_quota_us" : "cpu.max", first ? "20000" : "20000 100000");
	} else if (!strcmp(controller, "blkio")) {
		struct stat found;
		stat(folder, &found);
		unsigned minor_number = minor(found.st_dev) & ~15u; /* the disk, not its partition */
		snprintf(text, sizeof(text), "%u:%u %s262144", major(found.st_dev), minor_number, first ? "" : "wbps=");
		group_put("blkio", first ? "blkio.throttle.write_bps_device" : "io.max", text);
	}
}

INLINE void group_join(const char *controller)
{
	group_put(controller, "cgroup.procs", "0");
}

INLINE void group_freeze(bool on)
{
	char path[160];
	bool first = group_path(path, sizeof(path), "freezer", "");
	group_put("freezer", first ? "freezer.state" : "cgroup.freeze", first ? on ? "FROZEN" : "THAWED" : on ? "1" : "0");
}

INLINE void group_remove(const char *controller)
{
	char path[160];
	group_path(path, sizeof(path), controller, "");
	for (int i = 0; rmdir(path) && errno == EBUSY && i < 50; i++)
		nap_us(10000);
}
