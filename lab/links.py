"""How one node waits for another: each function makes a link of its kind between two
nodes and returns the statement by which the caller asks. KINDS says where each can be:
within a process ('in'), between two ('out') or both.

*Holders* are not asked: they take a lock now and then for work of their own, and the
caller needs the same lock.
"""
from program import fill

KINDS = {}


def kind(where, holder=False, timed=False, family='other', mixed=False, by_itself=False, transient=False):
    """mixed: only in arrangements of mixed.py. by_itself: needs no descriptors of the launcher's. transient: the callee
    is a process for each request."""
    def add(function):
        name = function.__name__.rstrip('_')
        KINDS[name] = {'make': function, 'where': where, 'holder': holder, 'timed': timed, 'family': family, 'mixed': mixed,
                       'by_itself': by_itself, 'transient': transient}
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
        self.between = None         # a server that it leads through
        self.stages = []            # nodes that what the callee does goes through before it is back
        self.owner_dies = False
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
    take = '\tpthread_mutex_lock(&@f@_area->lock);\n'
    if link.owner_dies:     # after a time it is taken for broken, and made anew
        take = (f'\tstruct timespec limit = deadline(CLOCK_REALTIME, {link.plan.span_ms});\n\tif (pthread_mutex_timedlock(&@f@_area->lock, &limit)) {{\n\t\tpthread_mutexattr_t a;\n'
                '\t\tpthread_mutexattr_init(&a);\n\t\tpthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);\n\t\tpthread_mutex_init(&@f@_area->lock, &a);\n\t\tpthread_mutex_lock(&@f@_area->lock);\n\t}\n')
    link.call(take + '\t@f@_area->count++;\n\tpthread_mutex_unlock(&@f@_area->lock);')
    link.hold('pthread_mutex_lock(&@f@_area->lock);', 'pthread_mutex_unlock(&@f@_area->lock);')


@kind('out', family='spin')
def shared_spin(link):
    shared(link, '\tsem_t asked;\n\t_Atomic uint32_t done;\n\tstruct message job;')
    link.plan.launcher.append(fill('sem_init(&@f@_area->asked, 1, 0);\n\tmunmap(@f@_area, sizeof(*@f@_area));', link.values()))
    spin_body(link, '@f@_area->job', '@f@_area->asked', '@f@_area->done', 'sched_yield();')


# --- files

@kind('out', holder=True, family='file lock', by_itself=True)
def flock_(link):
    file_lock(link, 'flock(@f@_file@side@, LOCK_EX);', 'flock(@f@_file@side@, LOCK_UN);')


@kind('out', holder=True, family='file lock', by_itself=True)
def fcntl_(link):
    lock = '{ struct flock range = {.l_type = %s}; while (fcntl(@f@_file@side@, F_SETLKW, &range) && errno == EINTR); }'
    file_lock(link, lock % 'F_WRLCK', lock % 'F_UNLCK')


@kind('out', holder=True, family='look', by_itself=True)
def try_flock(link):
    file_lock(link, 'while (flock(@f@_file@side@, LOCK_EX | LOCK_NB))\n\t\t\tnap_us(@look@);', 'flock(@f@_file@side@, LOCK_UN);')


def file_lock(link, take, give):
    link.globals('static int @f@_file, @f@_file_theirs;')
    for node, variable in ((link.caller, '@f@_file'), (link.callee, '@f@_file_theirs')):
        node.process.setup.append(fill('{ char path[108]; ' + variable + ' = open(path_of(path, "@id@"), O_RDWR | O_CREAT | O_CLOEXEC, 0600); }', link.values()))
    look = link.plan.rng.randrange(10, 60) * 1000
    link.call('\t' + fill(take, link.values(side='', look=look)).replace('\n\t\t\t', '\n\t\t') + '\n\tresult++;\n\t' + fill(give, link.values(side='')))
    link.hold(take, give, side='_theirs', look=5000)


@kind('out', holder=True, family='look', by_itself=True)
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


@kind('out', timed=True, family='unix socket', by_itself=True)
def unix(link):
    named(link, False)


@kind('out', timed=True, family='tcp', by_itself=True)
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
    # From the launcher on, for one that comes before its receiver is ready would kill it.
    link.plan.launcher.insert(0, block)
    for process in (link.caller.process, link.callee.process):
        process.setup.insert(0, block)
    link.call('\tsigset_t set;\n\tsiginfo_t info;\n\tsigemptyset(&set);\n\tsigaddset(&set, SIGRTMIN + 2);\n'
              '\tsigqueue(pid_of("@process@"), SIGRTMIN + 1, (union sigval){.sival_int = (int)hot});\n\tresult = sigwaitinfo(&set, &info);',
              process=link.callee.process.name)
    link.loop('\tfor (;;) {\n\t\tsigset_t set;\n\t\tsiginfo_t info;\n\t\tsigemptyset(&set);\n\t\tsigaddset(&set, SIGRTMIN + 1);\n\t\tif (sigwaitinfo(&set, &info) < 0)\n'
              '\t\t\tcontinue;\n\t\tstruct message m = {.hot = 1};\n\t\t@deed@(&m);\n\t\tsigqueue(info.si_pid, SIGRTMIN + 2, info.si_value);\n\t}\n\treturn NULL;')


@kind('out', family='child', transient=True)
def child(link):
    """A process for each request, awaited."""
    link.callee.process.transient = True
    link.call('\tint status = 0, pid = role_spawn("@callee@", NULL, 0);\n\twhile (waitpid(pid, &status, 0) < 0 && errno == EINTR)\n\t\t;\n\tresult = status;')
    link.loop('\tstruct message m = {.hot = 1};\n\t@deed@(&m);\n\treturn NULL;')


# --- more of each

@kind('in', holder=True, family='mutex')
def priority_mutex(link):
    """The kernel keeps its owner, who inherits the waiter's priority."""
    link.globals('static pthread_mutex_t @f@_lock;\nstatic unsigned long @f@_count;')
    link.caller.process.setup.append(fill('{ pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT); '
                                          'pthread_mutex_init(&@f@_lock, &a); }', link.values()))
    link.call('\tpthread_mutex_lock(&@f@_lock);\n\t@f@_count++;\n\tpthread_mutex_unlock(&@f@_lock);')
    link.hold('pthread_mutex_lock(&@f@_lock);', 'pthread_mutex_unlock(&@f@_lock);')


@kind('in', family='join')
def join(link):
    """A thread for each request, joined."""
    link.callee.process.nodes.remove(link.callee)       # nobody starts it at the beginning
    link.callee.short_lived = True
    link.plan.short_lived.append(link.callee)
    link.plan.prototypes.append(f'static void *{link.callee.run}(void *unused);')
    link.call('\tpthread_t thread;\n\tresult = pthread_create(&thread, NULL, @run@, NULL);\n\tif (!result)\n\t\tresult = pthread_join(thread, NULL);', run=link.callee.run)
    link.loop('\tstruct message m = {.hot = 1};\n\tprctl(PR_SET_NAME, "@callee@");\n\t@deed@(&m);\n\treturn NULL;')


@kind('in', family='barrier')
def barrier(link):
    """Two that meet when each has done its part."""
    link.globals('static pthread_barrier_t @f@_meeting;')
    link.caller.process.setup.append(fill('pthread_barrier_init(&@f@_meeting, NULL, 2);', link.values()))
    link.call('\tpthread_barrier_wait(&@f@_meeting);\n\tresult++;')
    link.loop('\tstruct message m = {.hot = 1};\n\tfor (;;) {\n\t\t@deed@(&m);\n\t\tpthread_barrier_wait(&@f@_meeting);\n\t}\n\treturn NULL;')


@kind('out', family='message queue')
def message_queue(link):
    """POSIX queues, one there and one back."""
    names = fill('char asked[64], done[64];\n\tsnprintf(asked, sizeof(asked), "/@id@.a.%d", @pid@);\n\tsnprintf(done, sizeof(done), "/@id@.d.%d", @pid@);\n'
                 '\tstruct mq_attr form = {.mq_maxmsg = 8, .mq_msgsize = sizeof(struct message)};\n', dict(link.values(), pid='(int)(start_ns / 1000 % 1000000000)'))
    link.globals('static mqd_t @f@_asked, @f@_done, @f@_asked_theirs, @f@_done_theirs;')
    opening = '{ ' + names + '\t@A@ = mq_open(asked, O_RDWR | O_CREAT | O_CLOEXEC, 0600, &form);\n\t@B@ = mq_open(done, O_RDWR | O_CREAT | O_CLOEXEC, 0600, &form); }'
    link.caller.process.setup.append(opening.replace('@A@', link.function + '_asked').replace('@B@', link.function + '_done'))
    link.callee.process.setup.append(opening.replace('@A@', link.function + '_asked_theirs').replace('@B@', link.function + '_done_theirs'))
    link.plan.cleanup.append('{ ' + names + '\tmq_unlink(asked);\n\tmq_unlink(done); }')
    link.call('\tstruct message m = {.hot = hot};\n\tmq_send(@f@_asked, (char *)&m, sizeof(m), 0);\n\twhile (mq_receive(@f@_done, (char *)&m, sizeof(m), NULL) < 0 && errno == EINTR)\n\t\t;')
    link.loop('\tstruct message m;\n\tfor (;;) {\n\t\tif (mq_receive(@f@_asked_theirs, (char *)&m, sizeof(m), NULL) < 0)\n\t\t\tcontinue;\n\t\t@deed@(&m);\n'
              '\t\tmq_send(@f@_done_theirs, (char *)&m, sizeof(m), 0);\n\t}\n\treturn NULL;')


@kind('out', family='file watch')
def spool(link):
    """A request is a file in a folder that another watches, the answer one in a folder of one's own."""
    watch = '{ char path[128]; snprintf(path, sizeof(path), "%s/@id@.@folder@", folder); mkdir(path, 0700); @f@_@folder@ = inotify_init1(IN_CLOEXEC); inotify_add_watch(@f@_@folder@, path, IN_CLOSE_WRITE); }'
    make = 'char path[128]; snprintf(path, sizeof(path), "%s/@id@.@folder@", folder); mkdir(path, 0700);'
    link.globals('static int @f@_in, @f@_out;')
    link.plan.launcher.append('{ ' + fill(make, link.values(folder='in')) + ' }')
    link.plan.launcher.append('{ ' + fill(make, link.values(folder='out')) + ' }')
    link.caller.process.setup.append(fill(watch, link.values(folder='out')))
    link.callee.process.setup.append(fill(watch, link.values(folder='in')))
    # A request before there is a watch would never be seen.
    ready = fill('char ready[128]; snprintf(ready, sizeof(ready), "%s/@id@.ready", folder);', link.values())
    link.callee.process.setup.append('{ ' + ready + ' close(open(ready, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); }')
    link.caller.process.setup.append('{ ' + ready + ' while (access(ready, F_OK)) nap_us(10000); }')
    put = '\tsnprintf(path, sizeof(path), "%s/@id@.@folder@/%u", folder, number);\n\tfd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);\n\tif (write(fd, "x", 1) < 0)\n\t\tresult = -1;\n\tclose(fd);\n'
    link.globals('static unsigned @f@_number;')
    link.call('\tchar path[128], event[1024];\n\tint fd;\n\tunsigned number = @f@_number++ % 8;\n' + fill(put, link.values(folder='in')) + '\tif (read(@f@_out, event, sizeof(event)) < 0)\n\t\tresult = -1;')
    link.loop('\tstruct message m = {.hot = 1};\n\tchar path[128], event[1024];\n\tfor (unsigned number = 0;; number = (number + 1) % 8) {\n\tint fd, result = 0;\n'
              '\tif (read(@f@_in, event, sizeof(event)) < 0)\n\t\tbreak;\n\t@deed@(&m);\n' + fill(put, link.values(folder='out')) + '\tm.id += (uint32_t)result;\n\t}\n\treturn NULL;')


@kind('both', family='pipe')
def stream(link):
    """More than a pipe holds, to one who works on it as it comes."""
    reader, writer = link.plan.wire('pipe', link.callee.process, link.caller.process)
    link.globals('static char @f@_data[160 * 1024];')
    link.call(f'\tif (!bytes_write({writer}, @f@_data, sizeof(@f@_data)))\n\t\tresult = -1;')
    link.loop(f'\tstruct message m = {{.hot = 1}};\n\tchar data[4096];\n\tfor (unsigned block = 0; bytes_read({reader}, data, sizeof(data)); block++)\n'
              '\t\tif (block % 40 == 0)\n\t\t\t@deed@(&m);\n\treturn NULL;')


def held_by_client(link, server):
    """A server between the two: one client holds what is the server's while it does something else."""
    plan, tcp = link.plan, int(link.plan.rng.random() < 0.4)
    link.between = server
    server.deed_only = True
    server.listen = (server.name, bool(tcp))
    link.globals('static int @f@_fd, @f@_fd_theirs;\nstatic uint32_t @f@_id;')
    for node, variable in ((link.caller, '@f@_fd'), (link.callee, '@f@_fd_theirs')):
        node.process.setup.append(fill(variable + ' = socket_dial("@server@", @tcp@);', link.values(server=server.name, tcp=tcp)))
    link.call('\tstruct message m = {.id = ++@f@_id};\n\tif (!message_write(@f@_fd, &m) || !message_read(@f@_fd, &m))\n\t\tresult = -1;')
    ask = '{ struct message ask = {.from = %d}; message_write(@f@_fd_theirs, &ask); message_read(@f@_fd_theirs, &ask); }'
    link.hold(ask % 1, ask % 2)
    plan.launcher.append(f'port_choose("{server.name}");')


@kind('out', holder=True, family='server lock')
def transaction(link):
    """A server's session holds a lock from its client's first statement to its last."""
    server = link.plan.node(link.plan.process())
    held_by_client(link, server)
    values = link.values(s=server.name, server_deed=server.deed)
    link.plan.globals.append(fill('static int @s@_socket;\nstatic pthread_mutex_t @s@_rows = PTHREAD_MUTEX_INITIALIZER;', values))
    link.plan.function(f'static void *{server.name}_session(void *connection)', fill(
        '\tint fd = (int)(intptr_t)connection;\n\tstruct message m;\n\twhile (message_read(fd, &m)) {\n\t\tif (m.from != 2)\n\t\t\tpthread_mutex_lock(&@s@_rows);\n\t\t@server_deed@(&m);\n'
        '\t\tif (m.from != 1)\n\t\t\tpthread_mutex_unlock(&@s@_rows);\n\t\tif (!message_write(fd, &m))\n\t\t\tbreak;\n\t}\n\tclose(fd);\n\treturn NULL;', values))
    server.loop = fill('\tfor (;;) {\n\t\tint fd = accept4(@s@_socket, NULL, NULL, SOCK_CLOEXEC);\n\t\tif (fd >= 0)\n\t\t\tthread_start(@s@_session, (void *)(intptr_t)fd);\n\t}\n\treturn NULL;', values)
    server.process.setup.append(f'{server.name}_socket = socket_listen("{server.name}", {int(server.listen[1])});')


@kind('out', holder=True, family='server lock')
def grab(link):
    """A server of one thread that leaves all but one client's requests unread while that one has grabbed it."""
    server = link.plan.node(link.plan.process())
    held_by_client(link, server)
    values = link.values(s=server.name, server_deed=server.deed)
    link.plan.globals.append(fill('static int @s@_socket;', values))
    server.loop = fill(
        '\tstruct pollfd all[64] = {{.fd = @s@_socket, .events = POLLIN}};\n\tint count = 1, grabber = -1;\n\tfor (;;) {\n\t\tstruct pollfd one = {.fd = grabber, .events = POLLIN};\n'
        '\t\tif (poll(grabber >= 0 ? &one : all, grabber >= 0 ? 1 : (nfds_t)count, -1) < 0)\n\t\t\tcontinue;\n\t\tif (grabber < 0 && all[0].revents && count < 64)\n'
        '\t\t\tall[count++] = (struct pollfd){.fd = accept4(@s@_socket, NULL, NULL, SOCK_CLOEXEC), .events = POLLIN};\n\t\tfor (int i = 1; i < count; i++) {\n\t\t\tstruct message m;\n'
        '\t\t\tif (grabber >= 0 ? all[i].fd != grabber || !one.revents : !all[i].revents)\n\t\t\t\tcontinue;\n\t\t\tif (!message_read(all[i].fd, &m)) {\n\t\t\t\tall[i].fd = -1;\n\t\t\t\tcontinue;\n\t\t\t}\n'
        '\t\t\t@server_deed@(&m);\n\t\t\tif (m.from == 1)\n\t\t\t\tgrabber = all[i].fd;\n\t\t\tif (m.from == 2)\n\t\t\t\tgrabber = -1;\n\t\t\tmessage_write(all[i].fd, &m);\n\t\t\tif (m.from == 1)\n\t\t\t\tbreak;\n\t\t}\n\t}\n\treturn NULL;', values)
    server.process.setup.append(f'{server.name}_socket = socket_listen("{server.name}", {int(server.listen[1])});')


# --- a bus: everybody is connected to one, who hands on by name

def bus_of(plan):
    """The bus of the plan, with some who talk to each other through it all the time."""
    if plan.bus:
        return plan.bus
    bus = plan.bus = plan.node(plan.process())
    values = {'s': bus.name, 'deed': bus.deed}
    plan.globals.append(fill('enum { BUS_HELLO, BUS_CALL, BUS_REPLY };\nstatic int @s@_socket, @s@_peers[256];', values))
    bus.process.setup.append(f'{bus.name}_socket = socket_listen("{bus.name}", 0);')
    plan.function(f'static NOINLINE void {bus.name}_route(struct message *m, int fd)', fill(
        '\tif (m->body[17] == BUS_HELLO)\n\t\t@s@_peers[m->from % 256] = fd;\n\telse if (@s@_peers[(uint8_t)m->body[16]])\n\t\tmessage_write(@s@_peers[(uint8_t)m->body[16]], m);\n\t@s@_socket += 0;', values))
    bus.loop = fill('\tint ep = epoll_create1(EPOLL_CLOEXEC);\n\tstruct epoll_event event = {.events = EPOLLIN, .data.fd = @s@_socket}, ready[16];\n\tepoll_ctl(ep, EPOLL_CTL_ADD, @s@_socket, &event);\n'
                    '\tfor (;;) {\n\t\tint count = epoll_wait(ep, ready, 16, -1);\n\t\tfor (int i = 0; i < count; i++) {\n\t\t\tint fd = ready[i].data.fd;\n\t\t\tstruct message m;\n'
                    '\t\t\tif (fd == @s@_socket) {\n\t\t\t\tfd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);\n\t\t\t\tevent.data.fd = fd;\n\t\t\t\tepoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);\n\t\t\t\tcontinue;\n\t\t\t}\n'
                    '\t\t\tif (!message_read(fd, &m)) {\n\t\t\t\tepoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);\n\t\t\t\tclose(fd);\n\t\t\t\tcontinue;\n\t\t\t}\n\t\t\t@s@_route(&m, fd);\n\t\t}\n\t}\n\treturn NULL;', values)
    for _ in range(plan.rng.choice([1, 2])):
        asker, answerer = plan.process(), plan.process()
        a, b = bus_peer(plan), bus_peer(plan)
        hello = '\tint fd = socket_dial("%s", 0);\n\tstruct message m = {.from = %d};\n\tm.body[17] = BUS_HELLO;\n\tmessage_write(fd, &m);\n'
        answerer.body = hello % (bus.name, b) + '\twhile (message_read(fd, &m)) {\n\t\tm.body[16] = (char)m.from;\n\t\tm.body[17] = BUS_REPLY;\n\t\tmessage_write(fd, &m);\n\t}'
        asker.body = hello % (bus.name, a) + f'\tnap_us(300000);\n\tfor (;;) {{\n\t\tm = (struct message){{.from = {a}}};\n\t\tm.body[16] = {b};\n\t\tm.body[17] = BUS_CALL;\n\t\tmessage_write(fd, &m);\n' \
            f'\t\tif (!message_read(fd, &m))\n\t\t\tbreak;\n\t\tnap_us({plan.rng.randrange(8, 40) * 1000});\n\t}}'
    return bus


def bus_peer(plan):
    plan.bus_peers += 1
    return plan.bus_peers


@kind('out', timed=True, family='bus')
def bus(link):
    plan, server = link.plan, bus_of(link.plan)
    link.between = server
    a, b = bus_peer(plan), bus_peer(plan)
    hello = '{ struct message m = {.from = %d}; m.body[17] = BUS_HELLO; @v@ = socket_dial("@s@", 0); message_write(@v@, &m); }'
    ready = fill('char ready[128]; snprintf(ready, sizeof(ready), "%s/@id@.ready", folder);', link.values())
    link.globals('static int @f@_fd, @f@_fd_theirs;\nstatic uint32_t @f@_id;')
    link.caller.process.setup.append(fill(hello % a, {'v': link.function + '_fd', 's': server.name}))
    link.callee.process.setup.append(fill(hello % b, {'v': link.function + '_fd_theirs', 's': server.name}))
    link.callee.process.setup.append('{ ' + ready + ' close(open(ready, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); }')
    link.caller.process.setup.append('{ ' + ready + ' while (access(ready, F_OK)) nap_us(10000); nap_us(20000); }')
    ready = ('\t\tstruct pollfd wanted = {.fd = @f@_fd, .events = POLLIN};\n\t\tint count = poll(&wanted, 1, @limit@);\n\t\tif (count < 0)\n\t\t\tcontinue;\n\t\tif (!count) {\n'
             '\t\t\tresult = -1;\n\t\t\tbreak;\n\t\t}\n')
    link.call('\tstruct message m = {.id = ++@f@_id, .hot = hot, .from = @a@};\n\tm.body[16] = @b@;\n\tm.body[17] = BUS_CALL;\n\tif (!message_write(@f@_fd, &m))\n\t\treturn -1;\n\tfor (;;) {\n' + ready +
              '\t\tif (!message_read(@f@_fd, &m))\n\t\t\treturn -1;\n\t\tif (m.id == @f@_id)\n\t\t\tbreak;\n\t}', a=a, b=b, limit=link.timeout_ms or 25000)
    link.loop('\tstruct message m;\n\twhile (message_read(@f@_fd_theirs, &m)) {\n\t\t@deed@(&m);\n\t\tif (m.drop)\n\t\t\tcontinue;\n\t\tm.body[16] = (char)m.from;\n\t\tm.body[17] = BUS_REPLY;\n'
              '\t\tmessage_write(@f@_fd_theirs, &m);\n\t}\n\treturn NULL;')
