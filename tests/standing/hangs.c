/* Programs that stand still, each in its own way: `hangs CASE FOLDER`. When it is set
 * up it prints one line: the process to ask about, then what is true of it: the
 * culprit's thread or process, the function it is in, the kind of end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/loop.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HERE __attribute__((noinline, noclone))
#define STAY() __asm__ volatile("" ::: "memory")

static const char *folder;

static const char *path(const char *name)
{
	static char text[4096];
	snprintf(text, sizeof(text), "%s/%s", folder, name);
	return text;
}

static void tell(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	fflush(stdout);
	close(1);
}

/* Where /proc does not tell in which call: for a while. */
static int is_asleep(pid_t pid, pid_t tid)
{
	char file[64], line[512];

	for (int i = 0; i < 5; i++, usleep(20000)) {
		snprintf(file, sizeof(file), "/proc/%d/task/%d/stat", pid, tid);
		FILE *f = fopen(file, "r");
		char *got = f ? fgets(line, sizeof(line), f) : NULL, *end = got ? strrchr(line, ')') : NULL;
		if (f)
			fclose(f);
		if (!end || !strchr("SDTt", end[2]))
			return 0;
	}
	return 1;
}

/* Until the thread sleeps in the system call (-1: in any). */
static void until_asleep(pid_t pid, pid_t tid, long call)
{
	char file[64], line[256];
	for (;; usleep(10000)) {
		snprintf(file, sizeof(file), "/proc/%d/task/%d/syscall", pid, tid);
		FILE *f = fopen(file, "r");
		char *got = f ? fgets(line, sizeof(line), f) : NULL;
		if (f)
			fclose(f);
		if (!got && is_asleep(pid, tid))
			return;
		if (got && line[0] != 'r' && line[0] != '-' && (call < 0 || atol(line) == call))
			return;
	}
}

static void be_dumpable(void) { prctl(PR_SET_DUMPABLE, !getenv("HANGS_UNREADABLE")); }

/* Root has set something up; the rest is this user's. */
static void become(const char *user)
{
	if (user && (setresgid(atoi(user), atoi(user), atoi(user)) || setresuid(atoi(user), atoi(user), atoi(user))))
		exit(77);
	be_dumpable();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static pid_t child(void (*body)(void))
{
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		_exit(0);
	}
	return pid;
}

static pthread_t thread(void *(*body)(void *), pid_t *ret_tid)
{
	pthread_t t;
	*ret_tid = 0;
	pthread_create(&t, NULL, body, ret_tid);
	while (!*(volatile pid_t *)ret_tid)
		usleep(1000);
	return t;
}

static void begin(void *where) { *(volatile pid_t *)where = gettid(); }

HERE static void sleep_for_ever(void)
{
	for (;;)
		pause();
}

HERE static void work_elsewhere(void) { for (;;) sleep(1000); }

/* ---- mutex circle ---- */

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
HERE static void take_second(pthread_mutex_t *m) { pthread_mutex_lock(m); STAY(); }
static void *first_thread(void *w) { pthread_mutex_lock(&a); begin(w); pthread_barrier_wait(&both); take_second(&b); return NULL; }
static void *second_thread(void *w) { pthread_mutex_lock(&b); begin(w); pthread_barrier_wait(&both); take_second(&a); return NULL; }
static void mutex_circle(void)
{
	pid_t one, two;
	pthread_barrier_init(&both, NULL, 2);
	pthread_t t = thread(first_thread, &one);
	thread(second_thread, &two);
	until_asleep(getpid(), one, SYS_futex);
	until_asleep(getpid(), two, SYS_futex);
	tell("ask=%d circle=%d,%d function=take_second", getpid(), one, two);
	pthread_join(t, NULL);
}

/* ---- a signal that is missing ---- */

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int is_ready;
HERE static void produce(void) { sleep_for_ever(); STAY(); }
static void *producer(void *w)
{
	begin(w);
	produce();
	pthread_mutex_lock(&guard);
	is_ready = 1;
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&guard);
	return NULL;
}
HERE static void wait_ready(void)
{
	pthread_mutex_lock(&guard);
	while (!is_ready)
		pthread_cond_wait(&ready, &guard);
	pthread_mutex_unlock(&guard);
}
static void missing_signal(void)
{
	pid_t other;
	thread(producer, &other);
	tell("ask=%d mentions=%d waits_in=wait_ready", getpid(), other);
	wait_ready();
}

/* ---- two full pipes ---- */

static int down[2], up[2];
HERE static void write_all(int fd)
{
	static char block[65536];
	for (;;)
		if (write(fd, block, sizeof(block)) < 0)
			_exit(1);
}
static void full_child(void) { close(down[1]); close(up[0]); write_all(up[1]); }
static void full_pipes(void)
{
	if (pipe(down) || pipe(up))
		exit(1);
	pid_t other = child(full_child);
	close(down[0]);
	close(up[1]);
	until_asleep(other, other, SYS_write);
	tell("ask=%d circle=%d,%d function=write_all", getpid(), getpid(), other);
	write_all(down[1]);
}

/* ---- a peer that does not read ---- */

static int pair[2];
static void deaf(void) { close(pair[0]); work_elsewhere(); }
static void socket_peer(void)
{
	static char block[65536];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		exit(1);
	pid_t other = child(deaf);
	close(pair[1]);
	until_asleep(other, other, SYS_clock_nanosleep);
	tell("ask=%d culprit=%d function=work_elsewhere", getpid(), other);
	while (send(pair[0], block, sizeof(block), 0) > 0)
		;
}

/* ---- file locks ---- */

static void hold_lock(void)
{
	struct flock all = { .l_type = F_WRLCK };
	int fd = open(path("locked"), O_RDWR | O_CREAT, 0600);
	fcntl(fd, F_SETLKW, &all);
	work_elsewhere();
}
static void file_lock(void)
{
	struct flock all = { .l_type = F_WRLCK };
	int fd = open(path("locked"), O_RDWR | O_CREAT, 0600);
	pid_t other = child(hold_lock);
	until_asleep(other, other, SYS_clock_nanosleep);
	tell("ask=%d culprit=%d function=work_elsewhere", getpid(), other);
	fcntl(fd, F_SETLKW, &all);
}

/* ---- a stopped child ---- */

HERE static void stop_itself(void) { raise(SIGSTOP); }
static void stopped_child(void)
{
	int status;
	pid_t other = child(stop_itself);
	waitpid(other, &status, WUNTRACED);
	tell("ask=%d culprit=%d state=stopped", getpid(), other);
	waitpid(other, &status, 0);
}

/* ---- file systems: the script mounts them ---- */

static int device;
static void reply(const struct fuse_in_header *in, int error, const void *data, unsigned bytes)
{
	struct { struct fuse_out_header head; char data[512]; } out = { { sizeof(out.head) + bytes, error, in->unique }, "" };
	memcpy(out.data, data, bytes);
	if (write(device, &out, out.head.len) < 0)
		_exit(1);
}
HERE static void never_answers(void) { work_elsewhere(); STAY(); }
static void serve_files(void)
{
	static union { struct fuse_in_header head; char bytes[1 << 18]; } in;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096 };
	struct fuse_attr_out root = { .attr_valid = 60, .attr = { .ino = 1, .mode = S_IFDIR | 0755, .nlink = 2 } };
	while (read(device, &in, sizeof(in)) > 0)
		switch (in.head.opcode) {
		case FUSE_INIT:
			reply(&in.head, 0, &init, sizeof(init));
			break;
		case FUSE_GETATTR:
			reply(&in.head, 0, &root, sizeof(root));
			break;
		case FUSE_LOOKUP:
			never_answers();
			break;
		default:
			reply(&in.head, -ENOSYS, "", 0);
		}
}
static void fuse(void)
{
	char options[128];
	device = open("/dev/fuse", O_RDWR);
	const char *user = getenv("HANGS_USER");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%s,group_id=%s", device, user ? user : "0", user ? user : "0");
	mkdir(path("mount"), 0700);
	if (device < 0 || mount("hangs", path("mount"), "fuse", 0, options))
		exit(77);
	become(user);
	pid_t other = child(serve_files);
	close(device);
	tell("ask=%d culprit=%d function=never_answers", getpid(), other);
	open(path("mount/file"), O_RDONLY);
}
/* A block device whose data do not come: they lie in a file of such a server, which answers at first, then no more. */
#define IMAGE_BYTES (1u << 20)
static void serve_image(void)
{
	static union { struct fuse_in_header head; char bytes[1 << 18]; } in;
	static struct { struct fuse_out_header head; char data[IMAGE_BYTES]; } page;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096 };
	struct fuse_attr folder_attr = { .ino = 1, .mode = S_IFDIR | 0755, .nlink = 2 };
	struct fuse_attr image = { .ino = 2, .mode = S_IFREG | 0644, .nlink = 1, .size = IMAGE_BYTES };
	struct fuse_entry_out entry = { .nodeid = 2, .attr_valid = 60, .entry_valid = 60, .attr = image };
	struct fuse_open_out opened = { .fh = 1 };
	while (read(device, &in, sizeof(in)) > 0) {
		struct fuse_attr_out attributes = { .attr_valid = 60, .attr = in.head.nodeid == 2 ? image : folder_attr };
		const struct fuse_read_in *wanted = (const void *)(in.bytes + sizeof(in.head));
		switch (in.head.opcode) {
		case FUSE_INIT: reply(&in.head, 0, &init, sizeof(init)); break;
		case FUSE_GETATTR: reply(&in.head, 0, &attributes, sizeof(attributes)); break;
		case FUSE_LOOKUP: reply(&in.head, 0, &entry, sizeof(entry)); break;
		case FUSE_OPEN: reply(&in.head, 0, &opened, sizeof(opened)); break;
		case FUSE_FORGET: break;
		case FUSE_READ:
			if (wanted->offset + wanted->size > IMAGE_BYTES / 2)
				never_answers();
			page.head = (struct fuse_out_header){ sizeof(page.head) + wanted->size, 0, in.head.unique };
			if (write(device, &page, page.head.len) < 0)
				_exit(1);
			break;
		default: reply(&in.head, -ENOSYS, "", 0);
		}
	}
	_exit(0);
}
/* Its holder lets go of it when it ends. */
static int loop_over(const char *file, char name[64])
{
	struct loop_config config = { .info = { .lo_flags = LO_FLAGS_AUTOCLEAR } };
	int control = open("/dev/loop-control", O_RDWR), number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
	snprintf(name, 64, "/dev/loop%d", number);
	int loop = number < 0 ? -1 : open(name, O_RDWR | O_DIRECT), image = open(file, O_RDWR);
	config.fd = (unsigned)image;
	if (loop < 0 || image < 0 || ioctl(loop, LOOP_CONFIGURE, &config))
		exit(77);
	close(image);
	return loop;
}
HERE static void read_device(int loop, void *to) { if (pread(loop, to, 4096, IMAGE_BYTES * 3 / 4) != 4096) _exit(1); STAY(); }
static void block_device(void)
{
	char options[128], name[64];
	void *block = aligned_alloc(4096, 4096);
	device = open("/dev/fuse", O_RDWR);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	mkdir(path("mount"), 0700);
	if (device < 0 || mount("hangs", path("mount"), "fuse", 0, options))
		exit(77);
	child(serve_image);
	close(device);
	int loop = loop_over(path("mount/image"), name);
	tell("ask=%d mentions_text=%s function=read_device", getpid(), name);
	read_device(loop, block);
}
/* The file system is frozen by the one who started this. */
static void frozen_files(void)
{
	int fd = open(path("mount/file"), O_WRONLY);
	tell("ask=%d mentions_text=thawed", getpid());
	if (write(fd, "x", 1) < 0)
		exit(1);
}

/* ---- processors ---- */

static volatile int flag;
HERE static void spin_here(void) { while (!flag) ; }
HERE static void yield_here(void) { while (!flag) sched_yield(); }
static void spin(void) { tell("ask=%d culprit=%d function=spin_here", getpid(), getpid()); spin_here(); }
static void yield(void) { tell("ask=%d culprit=%d function=yield_here", getpid(), getpid()); yield_here(); }
static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}
HERE static void hog_here(void) { for (;;) STAY(); }
static void hog(void)
{
	struct sched_param real = { .sched_priority = 10 };
	pin(1);
	sched_setscheduler(0, SCHED_FIFO, &real);
	hog_here();
}
static void starved(void)
{
	pid_t other = child(hog);
	tell("ask=%d culprit=%d function=hog_here", getpid(), other);
	pin(1);
	spin_here();
}
static void quota(void) { tell("ask=%d kind=cgroup", getpid()); spin_here(); }

/* ---- owners that have ended ---- */

static pthread_mutex_t *shared;
static void lock_and_end(void) { pthread_mutex_lock(shared); }
static void dead_owner(void)
{
	pthread_mutexattr_t attributes;
	int status;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(shared, &attributes);
	pid_t other = child(lock_and_end);
	waitpid(other, &status, 0);
	tell("ask=%d gone=%d waits_in=take_second", getpid(), other);
	take_second(shared);
}
static int set;
HERE static void take_semaphore(void) { struct sembuf take = { 0, -1, 0 }; semop(set, &take, 1); STAY(); }
static void killed_with_semaphore(void) { take_semaphore(); raise(SIGKILL); }
static void remove_set(int number) { (void)number; semctl(set, 0, IPC_RMID); _exit(0); }
static void semaphore(void)
{
	struct sembuf give = { 0, 1, 0 };
	int status;
	set = semget(IPC_PRIVATE, 1, 0600);
	signal(SIGTERM, remove_set);
	semop(set, &give, 1);
	pid_t other = child(killed_with_semaphore);
	waitpid(other, &status, 0);
	tell("ask=%d gone=%d waits_in=take_semaphore", getpid(), other);
	take_semaphore();
}

/* ---- connections ---- */

static int listener;
static void never_accepts(void) { work_elsewhere(); }
static void listen_queue(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path("socket"));
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 1))
		exit(1);
	pid_t other = child(never_accepts);
	close(listener);
	until_asleep(other, other, SYS_clock_nanosleep);
	tell("ask=%d culprit=%d function=work_elsewhere", getpid(), other);
	for (;;)
		connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof(at));
}
static void await_pidfd(void)
{
	pid_t other = child(work_elsewhere);
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, other, 0), .events = POLLIN };
	until_asleep(other, other, SYS_clock_nanosleep);
	tell("ask=%d culprit=%d function=work_elsewhere", getpid(), other);
	poll(&end, 1, -1);
}
static void epoll_nobody(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ends[2], poll_set = epoll_create1(0);
	if (pipe(ends))
		exit(1);
	epoll_ctl(poll_set, EPOLL_CTL_ADD, ends[0], &event);
	tell("ask=%d culprit=%d alone=1", getpid(), getpid());
	epoll_wait(poll_set, &event, 1, -1);
}

/* ---- stops ---- */

static void traced_body(void) { for (;;) usleep(1000); }
static void stopped_body(void) { ptrace(PTRACE_TRACEME, 0, 0, 0); stop_itself(); }
HERE static void think(void) { work_elsewhere(); STAY(); }
static void trace(void)
{
	int status;
	pid_t other = child(stopped_body);
	waitpid(other, &status, __WALL);
	tell("ask=%d culprit=%d function=think", other, getpid());
	think();
}
static void frozen(void) { tell("ask=%d culprit=%d state=frozen", getpid(), getpid()); traced_body(); }

int main(int count, char **words)
{
	static const struct { const char *name; void (*body)(void); } cases[] = {
		{ "mutex_circle", mutex_circle }, { "missing_signal", missing_signal }, { "full_pipes", full_pipes },
		{ "socket_peer", socket_peer }, { "file_lock", file_lock }, { "stopped_child", stopped_child },
		{ "fuse", fuse }, { "block_device", block_device }, { "frozen_files", frozen_files }, { "spin", spin }, { "yield", yield },
		{ "starved", starved }, { "quota", quota }, { "dead_owner", dead_owner }, { "semaphore", semaphore },
		{ "listen_queue", listen_queue }, { "pidfd", await_pidfd }, { "epoll_nobody", epoll_nobody },
		{ "trace", trace }, { "frozen", frozen },
	};
	if (count < 3)
		return 2;
	folder = words[2];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	be_dumpable();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(cases[i].name, words[1]) == 0) {
			cases[i].body();
			return 0;
		}
	return 2;
}
