"""Healthy company: it waits longer than the victim, wakes it more often, holds what looks
like the cause, computes, or is stopped, and has nothing to do with the fault."""
from program import fill


def idle_pool(plan, process):
    """Workers that nobody gives work."""
    name = plan.names.role()
    plan.globals.append(fill('static pthread_mutex_t @n@_mutex = PTHREAD_MUTEX_INITIALIZER;\nstatic pthread_cond_t @n@_work = PTHREAD_COND_INITIALIZER;\nstatic unsigned @n@_jobs;', {'n': name}))
    plan.function(f'static void *{name}_idle(void *unused)', fill(
        '\trole_enter("@n@");\n\tpthread_mutex_lock(&@n@_mutex);\n\twhile (!@n@_jobs)\n\t\tpthread_cond_wait(&@n@_work, &@n@_mutex);\n\tpthread_mutex_unlock(&@n@_mutex);\n\treturn unused;', {'n': name}))
    process.threads += [f'{name}_idle'] * plan.rng.choice([1, 2, 3])


def log_writer(plan, process):
    """A thread that wakes now and then, writes a line, and holds a lock of its own while it sleeps."""
    name = plan.names.role()
    plan.globals.append(f'static pthread_mutex_t {name}_mutex = PTHREAD_MUTEX_INITIALIZER;')
    plan.function(f'static void *{name}_flush(void *unused)', fill(
        '\t(void)unused;\n\trole_enter("@n@");\n\tchar path[108];\n\tint fd = open(path_of(path, "@n@.log"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);\n'
        '\tfor (;;) {\n\t\tpthread_mutex_lock(&@n@_mutex);\n\t\tif (write(fd, "line\\n", 5) < 0)\n\t\t\tbreak;\n\t\tnap_us(@pause@);\n\t\tpthread_mutex_unlock(&@n@_mutex);\n\t}\n\treturn NULL;',
        {'n': name, 'pause': plan.rng.randrange(60, 400) * 1000}))
    process.threads.append(f'{name}_flush')


def lock_keeper(plan):
    """Holds the lock of a file (its pid file) as long as it lives."""
    process = plan.process()
    process.body = fill('\tchar path[108];\n\tint fd = open(path_of(path, "@n@.pid"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);\n\tflock(fd, LOCK_EX);\n\tfor (;;)\n\t\tnap_us(@pause@);',
                        {'n': process.name, 'pause': plan.rng.randrange(200, 900) * 1000})


def stopped_job(plan):
    """Somebody's editor, stopped with Ctrl-Z."""
    process = plan.process()
    # in a process group of its own, for what its shell would not notice cannot be stopped from a terminal
    process.body = '\tsetpgid(0, 0);\n\tnap_us(50000);\n\traise(SIGTSTP);\n\tfor (;;)\n\t\tpause();'


def burster(plan):
    """Computes in bursts, as a build's parts do."""
    process = plan.process()
    deed = process.name + '_' + plan.names.deed()
    plan.function(f'static NOINLINE void {deed}(void)', f'\tvolatile uint64_t kept = burn_until(now() + {plan.rng.randrange(10, 50)} * MS, 3);\n\t(void)kept;')
    process.priority = 5
    process.body = fill('\tfor (;;) {\n\t\t@deed@();\n\t\tnap_us(@pause@);\n\t}', {'deed': deed, 'pause': plan.rng.randrange(120, 400) * 1000})


def shell(plan):
    """Waits for a child that waits for its time, as a shell's script does."""
    process, child = plan.process(), plan.process()
    child.transient = True
    child.body = '\tnap_us(60000000);'
    process.body = f'\tint status, pid = role_spawn("{child.name}", NULL, 0);\n\twaitpid(pid, &status, 0);'


def reader(plan):
    """Reads what seldom comes: the pair of a listener and somebody who has nothing to say."""
    listener, speaker = plan.process(), plan.process()
    ours, theirs = plan.wire(plan.rng.choice(['pipe', 'pair']), listener, speaker)
    listener.body = f'\tchar byte;\n\twhile (read({ours}, &byte, 1) == 1)\n\t\t;'
    speaker.body = f'\tstruct pollfd wanted = {{.fd = {theirs}, .events = POLLHUP}};\n\tfor (;;)\n\t\tpoll(&wanted, 1, {plan.rng.randrange(300, 1500)});'


def files_watcher(plan):
    """Watches a folder in which nothing happens."""
    process = plan.process()
    process.body = ('\tint fd = inotify_init1(IN_CLOEXEC);\n\tinotify_add_watch(fd, "/var/empty", IN_CREATE);\n\tinotify_add_watch(fd, "/srv", IN_CREATE);\n'
                    '\tchar event[512];\n\twhile (read(fd, event, sizeof(event)) > 0)\n\t\t;')


def lock_user(plan, link):
    """Takes the same lock as the victim, often and for a moment."""
    if link.kind not in ('mutex', 'rwlock'):
        return
    name = plan.names.role()
    plan.function(f'static void *{name}_touch(void *unused)', fill(
        '\t(void)unused;\n\trole_enter("@n@");\n\tfor (;;) {\n\t\t@f@(0);\n\t\tnap_us(@pause@);\n\t}\n\treturn NULL;',
        {'n': name, 'f': link.function, 'pause': plan.rng.randrange(8, 40) * 1000}))
    link.caller.process.threads.append(f'{name}_touch')


def client(plan, server):
    """Another client of a server with a socket, whose requests are none of the fault's: while the server does not answer it is as stuck."""
    process = plan.process()
    plan.as_stuck.append(process.name)
    ask = process.name + '_' + plan.names.deed()
    plan.function(f'static NOINLINE bool {ask}(int fd, uint32_t id)',
                  '\tstruct message m = {.id = id};\n\tif (!message_write(fd, &m))\n\t\treturn false;\n\tdo\n\t\tif (!message_read(fd, &m))\n\t\t\treturn false;\n\twhile (m.id != id);\n\treturn true;')
    process.body = fill('\tint fd = socket_dial("@server@", @tcp@);\n\tfor (uint32_t id = 1; @ask@(fd, id); id++)\n\t\tnap_us(@pause@);\n\tfor (;;)\n\t\tpause();',
                        {'server': server.name, 'tcp': int(server.listen[1]), 'ask': ask, 'pause': plan.rng.randrange(8, 60) * 1000})
    return process


def company(plan, links):
    """Some of each kind, always with one that waits longer than the victim."""
    rng = plan.rng
    always = rng.choice([reader, shell, files_watcher, stopped_job])
    always(plan)
    for make in rng.sample([lock_keeper, stopped_job, burster, shell, reader, files_watcher], rng.choice([1, 2, 2, 3])):
        make(plan)
    for process in [n.process for n in {id(l.caller): l.caller for l in links}.values()]:
        if not process.transient and rng.random() < 0.5:
            rng.choice([idle_pool, log_writer])(plan, process)
    for link in links:
        if rng.random() < 0.6:
            lock_user(plan, link)
