"""How one node waits for another: each function makes a link of its kind between two
nodes and returns the statement by which the caller asks. KINDS says where each can be:
within a process ('in'), between two ('out') or both.

*Holders* are not asked: they take a lock now and then for work of their own, and the
caller needs the same lock.
"""
from program import fill

KINDS = {}


def kind(where, holder=False, timed=False, family='other'):
    def add(function):
        name = function.__name__.rstrip('_')
        KINDS[name] = {'make': function, 'where': where, 'holder': holder, 'timed': timed, 'family': family}
        return function
    return add


class Link:
    """timeout_ms: the caller gives up then (0: never). ticker: it is woken by somebody else meanwhile."""

    def __init__(self, plan, kind_name, caller, callee):
        self.plan, self.kind, self.caller, self.callee = plan, kind_name, caller, callee
        self.number = len(plan.links)
        self.id = f'{kind_name}_{self.number}'
        self.function = caller.name + '_' + plan.names.deed()
        self.timeout_ms, self.ticker = 0, False
        plan.links.append(self)

    def values(self, **more):
        return dict(f=self.function, id=self.id, caller=self.caller.name, callee=self.callee.name, deed=self.callee.deed,
                    timeout=self.timeout_ms, **more)

    def make(self):
        KINDS[self.kind]['make'](self)
        return f'{self.function}(1);'

    def call(self, body, **more):
        """The caller's function: writes down when it took long."""
        self.plan.function(f'static NOINLINE int {self.function}(uint32_t hot)', fill(
            '\tuint64_t began = now();\n\tint result = 0;\n\t(void)hot;\n' + body + '\n\tLATE("@id@", "@caller@", began);\n\treturn result;',
            self.values(**more)))

    def globals(self, text, **more):
        self.plan.globals.append(fill(text, self.values(**more)))

    def loop(self, body, **more):
        self.callee.loop = fill(body, self.values(**more))

    def hold(self, take, give, period_ms=None, **more):
        """A holder's thread: takes the lock, works, gives it back, pauses."""
        rng = self.plan.rng
        self.loop('\tstruct message m = {.hot = 1};\n\tfor (;;) {\n\t\t' + take + '\n\t\t@deed@(&m);\n\t\t' + give +
                  '\n\t\tm.id++;\n\t\tnap_us(@pause@);\n\t}\n\treturn NULL;', pause=rng.randrange(15, 50) * 1000, **more)


# --- within a process

@kind('in', holder=True, family='mutex')
def mutex(link):
    link.globals('static pthread_mutex_t @f@_lock = PTHREAD_MUTEX_INITIALIZER;\nstatic unsigned long @f@_count;')
    link.call('\tpthread_mutex_lock(&@f@_lock);\n\t@f@_count++;\n\tpthread_mutex_unlock(&@f@_lock);')
    link.hold('pthread_mutex_lock(&@f@_lock);', 'pthread_mutex_unlock(&@f@_lock);')


@kind('in', holder=True, family='rwlock')
def rwlock(link):
    read = link.plan.rng.random() < 0.5
    link.globals('static pthread_rwlock_t @f@_lock = PTHREAD_RWLOCK_INITIALIZER;\nstatic unsigned long @f@_count;')
    link.call('\tpthread_rwlock_@own@(&@f@_lock);\n\t@f@_count++;\n\tpthread_rwlock_unlock(&@f@_lock);', own='wrlock' if read else 'rdlock')
    link.hold('pthread_rwlock_@theirs@(&@f@_lock);', 'pthread_rwlock_unlock(&@f@_lock);', theirs='rdlock' if read else 'wrlock')


@kind('in', timed=True, family='condvar')
def queue(link):
    """Jobs to workers by a condition variable, and back by another one."""
    link.globals('static pthread_mutex_t @f@_lock = PTHREAD_MUTEX_INITIALIZER;\nstatic pthread_cond_t @f@_more = PTHREAD_COND_INITIALIZER, '
                 '@f@_done = PTHREAD_COND_INITIALIZER;\nstatic struct message *@f@_jobs[16];\nstatic unsigned @f@_head, @f@_tail;')
    wait = 'pthread_cond_wait(&@f@_done, &@f@_lock);'
    if link.timeout_ms:
        wait = 'if (pthread_cond_timedwait(&@f@_done, &@f@_lock, &limit) == ETIMEDOUT) {\n\t\t\tresult = -1;\n\t\t\tbreak;\n\t\t}'
    link.call('\tstruct message m = {.hot = hot};\n' + ('\tstruct timespec limit = deadline(CLOCK_REALTIME, @timeout@);\n' if link.timeout_ms else '') +
              '\tpthread_mutex_lock(&@f@_lock);\n\t@f@_jobs[@f@_tail++ % 16] = &m;\n\tpthread_cond_signal(&@f@_more);\n'
              '\twhile (!*(volatile uint32_t *)&m.from) {\n\t\t' + wait + '\n\t}\n\tpthread_mutex_unlock(&@f@_lock);')
    link.callee.workers = link.plan.rng.choice([1, 1, 2, 3])
    link.loop('\tfor (;;) {\n\t\tpthread_mutex_lock(&@f@_lock);\n\t\twhile (@f@_head == @f@_tail)\n\t\t\tpthread_cond_wait(&@f@_more, &@f@_lock);\n'
              '\t\tstruct message *m = @f@_jobs[@f@_head++ % 16];\n\t\tpthread_mutex_unlock(&@f@_lock);\n\t\t@deed@(m);\n\t\tif (m->drop)\n\t\t\tcontinue;\n'
              '\t\tpthread_mutex_lock(&@f@_lock);\n\t\tm->from = 1;\n\t\tpthread_cond_broadcast(&@f@_done);\n\t\tpthread_mutex_unlock(&@f@_lock);\n\t}\n\treturn NULL;')
    if link.ticker:     # progress reports: all who wait look again
        name = link.plan.names.role()
        link.plan.function(f'static void *{name}_progress(void *unused)', fill(
            '\t(void)unused;\n\trole_enter("@name@");\n\tfor (;;) {\n\t\tnap_us(@every@);\n\t\tpthread_mutex_lock(&@f@_lock);\n'
            '\t\tpthread_cond_broadcast(&@f@_done);\n\t\tpthread_mutex_unlock(&@f@_lock);\n\t}\n\treturn NULL;',
            link.values(name=name, every=link.plan.rng.randrange(12, 40) * 1000)))
        link.caller.process.threads.append(f'{name}_progress')
        link.plan.bystanders.append('progress')


@kind('in', timed=True, family='semaphore')
def semaphore(link):
    link.globals('static sem_t @f@_asked, @f@_done;\nstatic struct message @f@_job;')
    link.caller.process.setup.append(fill('sem_init(&@f@_asked, 0, 0);\n\tsem_init(&@f@_done, 0, 0);', link.values()))
    semaphore_body(link, '@f@_job', '@f@_asked', '@f@_done')


def semaphore_body(link, job, asked, done):
    wait = f'while (sem_wait(&{done}) && errno == EINTR)\n\t\t;'
    if link.timeout_ms:
        wait = (f'struct timespec limit = deadline(CLOCK_REALTIME, @timeout@);\n\twhile (sem_timedwait(&{done}, &limit)) {{\n'
                '\t\tif (errno == ETIMEDOUT) {\n\t\t\tresult = -1;\n\t\t\tbreak;\n\t\t}\n\t}')
    link.call(f'\t{job}.hot = hot;\n\t{job}.drop = 0;\n\tsem_post(&{asked});\n\t' + wait)
    link.loop(f'\tfor (;;) {{\n\t\twhile (sem_wait(&{asked}) && errno == EINTR)\n\t\t\t;\n\t\t@deed@(&{job});\n\t\tif (!{job}.drop)\n'
              f'\t\t\tsem_post(&{done});\n\t}}\n\treturn NULL;')


@kind('in', family='futex')
def futex(link):
    """Words of its own, as run-times of languages do it."""
    link.globals('static _Atomic uint32_t @f@_asked, @f@_done;\nstatic struct message @f@_job;')
    link.call('\tuint32_t old = atomic_load(&@f@_done);\n\t@f@_job.hot = hot;\n\tatomic_fetch_add(&@f@_asked, 1);\n'
              '\tsyscall(SYS_futex, &@f@_asked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);\n\twhile (atomic_load(&@f@_done) == old)\n'
              '\t\tsyscall(SYS_futex, &@f@_done, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);')
    link.loop('\tfor (uint32_t seen = 0;; seen++) {\n\t\twhile (atomic_load(&@f@_asked) == seen)\n'
              '\t\t\tsyscall(SYS_futex, &@f@_asked, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);\n\t\t@deed@(&@f@_job);\n'
              '\t\tatomic_fetch_add(&@f@_done, 1);\n\t\tsyscall(SYS_futex, &@f@_done, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);\n\t}\n\treturn NULL;')


def spin_body(link, job, asked, done, pause):
    link.call(f'\tuint32_t old = atomic_load(&{done});\n\t{job}.hot = hot;\n\tsem_post(&{asked});\n\twhile (atomic_load(&{done}) == old)\n\t\t' + pause)
    link.loop(f'\tfor (;;) {{\n\t\twhile (sem_wait(&{asked}) && errno == EINTR)\n\t\t\t;\n\t\t@deed@(&{job});\n\t\tatomic_fetch_add(&{done}, 1);\n\t}}\n\treturn NULL;')


@kind('in', family='spin')
def spin_yield(link):
    link.globals('static sem_t @f@_asked;\nstatic _Atomic uint32_t @f@_done;\nstatic struct message @f@_job;')
    link.caller.process.setup.append(fill('sem_init(&@f@_asked, 0, 0);', link.values()))
    spin_body(link, '@f@_job', '@f@_asked', '@f@_done', 'sched_yield();')


@kind('in', family='spin')
def spin_bare(link):
    link.globals('static sem_t @f@_asked;\nstatic _Atomic uint32_t @f@_done;\nstatic struct message @f@_job;')
    link.caller.process.setup.append(fill('sem_init(&@f@_asked, 0, 0);', link.values()))
    spin_body(link, '@f@_job', '@f@_asked', '@f@_done', '__builtin_ia32_pause();')


@kind('in', family='look')
def look_flag(link):
    """A flag looked at between short sleeps."""
    link.globals('static sem_t @f@_asked;\nstatic _Atomic uint32_t @f@_done;\nstatic struct message @f@_job;')
    link.caller.process.setup.append(fill('sem_init(&@f@_asked, 0, 0);', link.values()))
    spin_body(link, '@f@_job', '@f@_asked', '@f@_done', 'nap_us(%d);' % (link.plan.rng.randrange(2, 20) * 1000))


# --- memory shared between processes

def shared(link, fields):
    link.globals('struct @f@_shared {\n' + fields + '\n};\nstatic struct @f@_shared *@f@_area;')
    line = fill('@f@_area = shared_map("@id@", sizeof(*@f@_area));', link.values())
    for process in (link.caller.process, link.callee.process):
        process.setup.append(line)
    link.plan.launcher.append(line)


@kind('out', timed=True, family='semaphore')
def shared_semaphore(link):
    shared(link, '\tsem_t asked, done;\n\tstruct message job;')
    link.plan.launcher.append(fill('sem_init(&@f@_area->asked, 1, 0);\n\tsem_init(&@f@_area->done, 1, 0);\n\tmunmap(@f@_area, sizeof(*@f@_area));', link.values()))
    semaphore_body(link, '@f@_area->job', '@f@_area->asked', '@f@_area->done')


@kind('out', holder=True, family='mutex')
def shared_mutex(link):
    shared(link, '\tpthread_mutex_t lock;\n\tunsigned long count;')
    link.plan.launcher.append(fill(
        '{ pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);\n'
        '\tpthread_mutex_init(&@f@_area->lock, &a); munmap(@f@_area, sizeof(*@f@_area)); }', link.values()))
    link.call('\tpthread_mutex_lock(&@f@_area->lock);\n\t@f@_area->count++;\n\tpthread_mutex_unlock(&@f@_area->lock);')
    link.hold('pthread_mutex_lock(&@f@_area->lock);', 'pthread_mutex_unlock(&@f@_area->lock);')


@kind('out', family='spin')
def shared_spin(link):
    shared(link, '\tsem_t asked;\n\t_Atomic uint32_t done;\n\tstruct message job;')
    link.plan.launcher.append(fill('sem_init(&@f@_area->asked, 1, 0);\n\tmunmap(@f@_area, sizeof(*@f@_area));', link.values()))
    spin_body(link, '@f@_area->job', '@f@_area->asked', '@f@_area->done', 'sched_yield();')


# --- files

@kind('out', holder=True, family='file lock')
def flock_(link):
    file_lock(link, 'flock(@f@_file@side@, LOCK_EX);', 'flock(@f@_file@side@, LOCK_UN);')


@kind('out', holder=True, family='file lock')
def fcntl_(link):
    lock = '{ struct flock range = {.l_type = %s}; while (fcntl(@f@_file@side@, F_SETLKW, &range) && errno == EINTR); }'
    file_lock(link, lock % 'F_WRLCK', lock % 'F_UNLCK')


@kind('out', holder=True, family='look')
def try_flock(link):
    file_lock(link, 'while (flock(@f@_file@side@, LOCK_EX | LOCK_NB))\n\t\t\tnap_us(@look@);', 'flock(@f@_file@side@, LOCK_UN);')


def file_lock(link, take, give):
    link.globals('static int @f@_file, @f@_file_theirs;')
    for node, variable in ((link.caller, '@f@_file'), (link.callee, '@f@_file_theirs')):
        node.process.setup.append(fill('{ char path[108]; ' + variable + ' = open(path_of(path, "@id@"), O_RDWR | O_CREAT | O_CLOEXEC, 0600); }', link.values()))
    look = link.plan.rng.randrange(10, 60) * 1000
    link.call('\t' + fill(take, link.values(side='', look=look)).replace('\n\t\t\t', '\n\t\t') + '\n\tresult++;\n\t' + fill(give, link.values(side='')))
    link.hold(take, give, side='_theirs', look=5000)


@kind('out', holder=True, family='look')
def lock_file(link):
    """A file that is there or is not, as git, dpkg's frontends and editors use it."""
    take = ('{ char path[108]; int fd; while ((fd = open(path_of(path, "@id@.lock"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)\n'
            '\t\t\tnap_us(@look@);\n\t\tclose(fd); }')
    give = '{ char path[108]; unlink(path_of(path, "@id@.lock")); }'
    look = link.plan.rng.randrange(10, 60) * 1000
    link.call('\t' + fill(take, link.values(look=look)) + '\n\tresult++;\n\t' + give)
    link.hold(take, give, look=5000)


# --- messages

def ask_body(link, out, source):
    """A request with an id and its reply, in one of the ways clients are written."""
    plan = link.plan
    wait = 'message_read(%s, &m)' % source
    extra = ''
    if link.ticker:
        reader, writer = plan.wire('pipe', link.caller.process, ticker_process(plan))
        ticker_process(plan).setup.append(f'ticks[tick_count++] = {writer};')
        extra = (f'\tstruct pollfd wanted[2] = {{{{.fd = {source}, .events = POLLIN}}, {{.fd = {reader}, .events = POLLIN}}}};\n')
        ready = ('\t\tint ready = poll(wanted, 2, @left@);\n\t\tif (ready < 0)\n\t\t\tcontinue;\n\t\tif (wanted[1].revents) {\n\t\t\tchar ticks_read[16];\n'
                 '\t\t\tif (read(%d, ticks_read, sizeof(ticks_read)) > 0 && !wanted[0].revents && ready)\n\t\t\t\tcontinue;\n\t\t}\n' % reader)
    elif link.timeout_ms or plan.rng.random() < 0.4:
        extra = f'\tstruct pollfd wanted = {{.fd = {source}, .events = POLLIN}};\n'
        ready = '\t\tint ready = poll(&wanted, 1, @left@);\n\t\tif (ready < 0)\n\t\t\tcontinue;\n'
    else:
        ready = ''
    left = '-1'
    if link.timeout_ms:
        left = '(int)((began + @timeout@ * MS - now()) / MS)' if link.ticker else '@timeout@'
        # in a ticking loop what is left may have gone by
        if link.ticker:
            ready = '\t\tif (now() >= began + @timeout@ * MS) {\n\t\t\tresult = -1;\n\t\t\tbreak;\n\t\t}\n' + ready
        ready += '\t\tif (ready == 0) {\n\t\t\tresult = -1;\n\t\t\tbreak;\n\t\t}\n'
    link.globals('static uint32_t @f@_id;')
    link.call(extra + f'\tstruct message m = {{.id = ++@f@_id, .hot = hot}};\n\tif (!message_write({out}, &m))\n\t\treturn -1;\n\tfor (;;) {{\n' +
              ready.replace('@left@', left) + f'\t\tif (!{wait})\n\t\t\treturn -1;\n\t\tif (m.id == @f@_id)\n\t\t\tbreak;\n\t}}')


def ticker_process(plan):
    """One process that tells others the time, often."""
    if not hasattr(plan, 'ticker'):
        process = plan.ticker = plan.process()
        plan.globals.append('static int ticks[16], tick_count;')
        name = process.name
        plan.function(f'static NOINLINE void {name}_tick(void)', '\tfor (int i = 0; i < tick_count; i++)\n\t\tif (write(ticks[i], "t", 1) < 0)\n\t\t\tcontinue;')
        process.body = f'\tfor (;;) {{\n\t\tnap_us({plan.rng.randrange(9, 30) * 1000});\n\t\t{name}_tick();\n\t}}'
        plan.bystanders.append('ticker')
    return plan.ticker


@kind('both', timed=True, family='pipe')
def pipe(link):
    plan, a, b = link.plan, link.caller.process, link.callee.process
    read_asked, write_asked = plan.wire('pipe', b, a)
    read_done, write_done = plan.wire('pipe', a, b)
    link.callee.inlets.append((read_asked, write_done))
    link.out = link.source = None
    ask_body(link, write_asked, read_done)


@kind('both', timed=True, family='unix socket')
def socketpair(link):
    ours, theirs = link.plan.wire(link.plan.rng.choice(['pair', 'packets']), link.caller.process, link.callee.process)
    link.callee.inlets.append((theirs, theirs))
    link.fd = ours
    ask_body(link, ours, ours)


def named(link, tcp):
    server = link.callee
    if not server.listen:
        server.listen = (server.name, tcp)
    link.globals('static int @f@_fd;')
    link.caller.process.setup.append(fill('@f@_fd = socket_dial("@callee@", @tcp@);', link.values(tcp=int(server.listen[1]))))
    link.fd = link.function + '_fd'
    ask_body(link, link.fd, link.fd)


@kind('out', timed=True, family='unix socket')
def unix(link):
    named(link, False)


@kind('out', timed=True, family='tcp')
def tcp(link):
    named(link, True)


@kind('both', family='eventfd')
def event(link):
    plan, a, b = link.plan, link.caller.process, link.callee.process
    asked_b, asked_a = plan.wire('eventfd', b, a)
    done_a, done_b = plan.wire('eventfd', a, b)
    link.call(f'\tuint64_t count = 1;\n\tbytes_write({asked_a}, &count, 8);\n\tif (!bytes_read({done_a}, &count, 8))\n\t\tresult = -1;')
    link.loop(f'\tfor (;;) {{\n\t\tstruct message m = {{.hot = 1}};\n\t\tuint64_t count;\n\t\tif (!bytes_read({asked_b}, &count, 8))\n\t\t\tbreak;\n'
              f'\t\t@deed@(&m);\n\t\tcount = 1;\n\t\tbytes_write({done_b}, &count, 8);\n\t}}\n\treturn NULL;')


@kind('out', family='signal')
def signals(link):
    block = ('{ sigset_t set; sigemptyset(&set); sigaddset(&set, SIGRTMIN + 1); sigaddset(&set, SIGRTMIN + 2); '
             'pthread_sigmask(SIG_BLOCK, &set, NULL); }')
    for process in (link.caller.process, link.callee.process):
        process.setup.insert(0, block)
    link.call('\tsigset_t set;\n\tsiginfo_t info;\n\tsigemptyset(&set);\n\tsigaddset(&set, SIGRTMIN + 2);\n'
              '\tsigqueue(pid_of("@process@"), SIGRTMIN + 1, (union sigval){.sival_int = (int)hot});\n\tresult = sigwaitinfo(&set, &info);',
              process=link.callee.process.name)
    link.loop('\tfor (;;) {\n\t\tsigset_t set;\n\t\tsiginfo_t info;\n\t\tsigemptyset(&set);\n\t\tsigaddset(&set, SIGRTMIN + 1);\n\t\tif (sigwaitinfo(&set, &info) < 0)\n'
              '\t\t\tcontinue;\n\t\tstruct message m = {.hot = 1};\n\t\t@deed@(&m);\n\t\tsigqueue(info.si_pid, SIGRTMIN + 2, info.si_value);\n\t}\n\treturn NULL;')


@kind('out', family='child')
def child(link):
    """A process for each request, awaited."""
    link.callee.process.transient = True
    link.call('\tint status = 0, pid = role_spawn("@callee@", NULL, 0);\n\twhile (waitpid(pid, &status, 0) < 0 && errno == EINTR)\n\t\t;\n\tresult = status;')
    link.loop('\tstruct message m = {.hot = 1};\n\t@deed@(&m);\n\treturn NULL;')
