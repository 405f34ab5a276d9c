"""What goes wrong at the end of the chain, once, at a known moment and for a known time.

Each function gives the node a function that is the fault and returns the truth about it:
who is to blame (`culprit`: any of these), and what else must be said.
"""
from program import fill

FAULTS = {}


def fault(name, needs_process=False, timed=False, not_holder=False, only=None, family=None):
    def add(function):
        FAULTS[name] = {'make': function, 'needs_process': needs_process, 'timed': timed, 'not_holder': not_holder,
                        'only': only, 'family': family or name}
        return function
    return add


def body(plan, node, text, **more):
    node.fault = node.name + '_' + plan.names.slow()
    plan.function(f'static NOINLINE void {node.fault}(struct message *m)', fill(
        '\tuint64_t began = now();\n' + text + '\n\tm->body[4]++;\n\tfault_log("@name@", began);',
        dict(name=node.name, span=plan.span_ms, at=plan.fault_at_ms, **more)))
    return {'culprit': [node.name], 'function_in_chain': node.fault}


@fault('computing')
def computing(plan, node):
    return body(plan, node, '\tm->body[3] = (char)burn_until(began + @span@ * MS, m->id);')


@fault('sleeping')
def sleeping(plan, node):
    return body(plan, node, '\tnap_us(@span@ * 1000ull);')


@fault('retrying')
def retrying(plan, node):
    """Short sleeps between tries of something that is not there yet."""
    file = node.name + '.ready'
    return body(plan, node, '\tchar path[108];\n\twhile (access(path_of(path, "@file@"), F_OK) && now() < began + @span@ * MS)\n\t\tnap_us(@pause@);',
                file=file, pause=plan.rng.randrange(5, 60) * 1000)


@fault('stopped', needs_process=True, not_holder=True)
def stopped(plan, node):
    operator = plan.process()
    plan.operators.append(operator)
    operator.body = fill(
        '\tuint64_t until = start_ns + @at@ * MS;\n\tnap_until(until);\n\tif (faulty) {\n\t\tuint64_t began = now();\n\t\tkill(pid_of("@process@"), SIGSTOP);\n'
        '\t\tnap_us(@span@ * 1000ull);\n\t\tkill(pid_of("@process@"), SIGCONT);\n\t\tsay("fault @name@ %d %llu %llu\\n", pid_of("@process@"), (unsigned long long)began, (unsigned long long)now());\n\t}\n'
        '\tfor (;;)\n\t\tpause();', dict(name=node.name, process=node.process.name, span=plan.span_ms, at=plan.fault_at_ms))
    return {'culprit': [node.name, operator.name]}


@fault('starved', needs_process=True)
def starved(plan, node):
    """A process of much higher priority takes the processor that the node may use."""
    hog, cpu = plan.process(), plan.rng.randrange(2)
    slow = hog.name + '_' + plan.names.slow()
    fifo = plan.rng.random() < 0.3
    raise_it = 'struct sched_param p = {.sched_priority = 5}; sched_setscheduler(0, SCHED_FIFO, &p);' if fifo else ''
    plan.function(f'static NOINLINE void {slow}(void)', fill(
        '\tvolatile uint64_t kept = burn_until(start_ns + (@at@ + @span@) * MS, 1);\n\t(void)kept;', dict(at=plan.fault_at_ms, span=plan.span_ms)))
    hog.priority = -20
    hog.body = fill('\tcpu_pin(@cpu@);\n\tnap_until(start_ns + (@at@ - 10) * MS);\n\tif (faulty) {\n\t\t@raise@\n\t\t@slow@();\n\t}\n\tfor (;;)\n\t\tpause();',
                    {'cpu': cpu, 'at': plan.fault_at_ms, 'slow': slow, 'raise': raise_it})
    node.process.setup.insert(0, f'cpu_pin({cpu});')
    node.process.priority = 10
    # In 95 of 100 ms the real-time one runs; the other gets nothing at all beside -20.
    truth = body(plan, node, '\tm->body[3] = (char)burn_cpu(@cpu@ * MS, m->id);', cpu=plan.span_ms // 20 if fifo else 60)
    return dict(truth, culprit=[hog.name], chain=[node.name], span_share=0.5)


@fault('no answer', timed=True, not_holder=True)
def no_answer(plan, node):
    """It forgets the request and goes on; who asked gives up after a time."""
    truth = body(plan, node, '\tm->drop = 1;\n\tm->body[3]++;\n\tbegan += 0;')
    truth.pop('function_in_chain')
    return dict(truth, instant=True)


@fault('person')
def person(plan, node):
    """A question on a terminal, and a person who thinks."""
    terminal, user = plan.process(), plan.process()
    keys_read, keys_write = plan.wire('pipe', terminal, user)
    master, slave = plan.fd_next, plan.fd_next + 1
    plan.fd_next += 2
    terminal.fds.append(master)
    node.process.fds.append(slave)
    plan.launcher.append(f'{{ int m = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC); grantpt(m); unlockpt(m); int s = open(ptsname(m), O_RDWR | O_NOCTTY | O_CLOEXEC);\n'
                         f'\twire_move(m, {master}); wire_move(s, {slave}); }}')
    terminal.body = (f'\tstruct pollfd wanted[2] = {{{{.fd = {master}, .events = POLLIN}}, {{.fd = {keys_read}, .events = POLLIN}}}};\n\tchar text[256];\n'
                     f'\tfor (;;) {{\n\t\tif (poll(wanted, 2, -1) < 0)\n\t\t\tcontinue;\n\t\tif (wanted[0].revents && read({master}, text, sizeof(text)) <= 0)\n\t\t\tbreak;\n'
                     f'\t\tif (wanted[1].revents) {{\n\t\t\tssize_t size = read({keys_read}, text, sizeof(text));\n\t\t\tif (size <= 0 || write({master}, text, (size_t)size) < 0)\n\t\t\t\tbreak;\n\t\t}}\n\t}}\n\tfor (;;)\n\t\tpause();')
    user.body = (f'\tnap_until(start_ns + {plan.fault_at_ms + plan.span_ms} * MS);\n\tif (faulty && write({keys_write}, "yes\\n", 4) < 0)\n\t\t_exit(1);\n\tfor (;;)\n\t\tpause();')
    truth = body(plan, node, f'\tchar answer[64];\n\tif (write({slave}, "Overwrite? [y/n] ", 17) < 0 || read({slave}, answer, sizeof(answer)) < 0)\n\t\tm->body[3]++;')
    return dict(truth, culprit=[node.name, terminal.name, user.name])


@fault('helper')
def helper(plan, node):
    """A program started for the purpose, and awaited."""
    child = plan.process()
    child.transient = True
    slow = child.name + '_' + plan.names.slow()
    computes = plan.rng.random() < 0.5
    plan.function(f'static NOINLINE void {slow}(void)', fill(
        ('\tvolatile uint64_t kept = burn_until(now() + @span@ * MS, 7);\n\t(void)kept;' if computes else '\tnap_us(@span@ * 1000ull);\n\tatomic_store(&fault_done, true);'),
        dict(span=plan.span_ms)))
    child.body = f'\t{slow}();'
    truth = body(plan, node, f'\tint status, pid = role_spawn("{child.name}", NULL, 0);\n\twhile (waitpid(pid, &status, 0) < 0 && errno == EINTR)\n\t\t;')
    return dict(truth, culprit=[child.name], chain=[node.name], function_in_chain=slow)


@fault('lock order', family='circle')
def lock_order(plan, node):
    """Two threads take two locks in different orders; one gives up after a time."""
    partner = plan.node(node.process)
    a, b, v = partner.name + '_rows', partner.name + '_pages', partner.name
    plan.globals.append(f'static pthread_mutex_t {a} = PTHREAD_MUTEX_INITIALIZER, {b} = PTHREAD_MUTEX_INITIALIZER;\nstatic atomic_int {v}_turn;')
    mine = plan.rng.random() < 0.5      # which of the two gives up
    timed = 'struct timespec limit = deadline(CLOCK_REALTIME, %d);\n\t%s(pthread_mutex_timedlock(&%%s, &limit) == 0)' % (plan.span_ms, '')
    take = lambda lock, limited: (f'\tstruct timespec limit = deadline(CLOCK_REALTIME, {plan.span_ms});\n\tif (!pthread_mutex_timedlock(&{lock}, &limit))\n\t\tpthread_mutex_unlock(&{lock});'
                                  if limited else f'\tpthread_mutex_lock(&{lock});\n\tpthread_mutex_unlock(&{lock});')
    del timed
    slow = partner.name + '_' + plan.names.slow()
    plan.function(f'static NOINLINE void {slow}(struct message *m)',
                  f'\tpthread_mutex_lock(&{b});\n\tatomic_store(&{v}_turn, 2);\n' + take(a, not mine) + f'\n\tpthread_mutex_unlock(&{b});\n\tm->body[4]++;')
    partner.loop = (f'\tstruct message m = {{.hot = 0}};\n\tfor (;;) {{\n\t\tnap_us(4000);\n\t\tif (atomic_load(&{v}_turn) == 1)\n\t\t\t{slow}(&m);\n'
                    f'\t\tpthread_mutex_lock(&{a});\n\t\tpthread_mutex_lock(&{b});\n\t\t{partner.deed}(&m);\n\t\tpthread_mutex_unlock(&{b});\n\t\tpthread_mutex_unlock(&{a});\n\t}}\n\treturn NULL;')
    truth = body(plan, node, f'\tpthread_mutex_lock(&{a});\n\tatomic_store(&{v}_turn, 1);\n\twhile (atomic_load(&{v}_turn) != 2)\n\t\tnap_us(1000);\n' +
                 take(b, mine) + f'\n\tpthread_mutex_unlock(&{a});')
    return dict(truth, culprit=[node.name, partner.name], chain=[node.name], circle=True)


@fault('call back', family='circle', needs_process=True, not_holder=True)
def call_back(plan, node):
    """It asks the victim something while the victim waits for it; it gives up after a time."""
    ours, theirs = plan.wire('pair', node.process, plan.victim.process)
    plan.victim.asked_back = theirs
    truth = body(plan, node, fill(
        '\tstruct message ask = {.id = 77};\n\tstruct pollfd wanted = {.fd = @ours@, .events = POLLIN};\n\tmessage_write(@ours@, &ask);\n'
        '\tif (poll(&wanted, 1, @limit@) > 0 && message_read(@ours@, &ask))\n\t\tm->body[3]++;', dict(ours=ours, limit=plan.span_ms)))
    return dict(truth, culprit=[node.name, plan.victim.name], chain=[node.name], circle=True)


@fault('timer')
def timer(plan, node):
    """A timer of its own that was set too far away."""
    return body(plan, node, '\tint fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);\n\tuint64_t count;\n\tstruct itimerspec when = {.it_value = {@span@ / 1000, (@span@ % 1000) * 1000000}};\n'
                '\ttimerfd_settime(fd, 0, &when, NULL);\n\tif (read(fd, &count, sizeof(count)) == 8)\n\t\tm->body[3]++;\n\tclose(fd);')


@fault('quota', needs_process=True)
def quota(plan, node):
    """A group of processes may use a fifth of a processor, and others of it use that up."""
    plan.groups = True
    hogs = [plan.process() for _ in range(3)]
    slow = hogs[0].name + '_' + plan.names.slow()
    plan.function(f'static NOINLINE void {slow}(void)', f'\tvolatile uint64_t kept = burn_until(start_ns + {plan.fault_at_ms + plan.span_ms} * MS, 1);\n\t(void)kept;')
    for hog in hogs:
        hog.setup.append('group_join("cpu");')
        hog.body = f'\tnap_until(start_ns + {plan.fault_at_ms - 10} * MS);\n\tif (faulty)\n\t\t{slow}();\n\tfor (;;)\n\t\tpause();'
    node.process.setup.insert(0, 'group_join("cpu");')
    plan.launcher.append('group_make("cpu");')
    plan.cleanup.append('group_remove("cpu");')
    truth = body(plan, node, '\tm->body[3] = (char)burn_cpu(60 * MS, m->id);')
    return dict(truth, culprit=[h.name for h in hogs] + ['cgroup'], chain=[node.name])


@fault('frozen', needs_process=True, not_holder=True)
def frozen(plan, node):
    """A control group is frozen for a while."""
    operator = plan.process()
    plan.operators.append(operator)
    node.process.setup.insert(0, 'group_join("freezer");')
    plan.launcher.append('group_make("freezer");')
    plan.cleanup.append('group_remove("freezer");')
    operator.body = fill(
        '\tnap_until(start_ns + @at@ * MS);\n\tif (faulty) {\n\t\tuint64_t began = now();\n\t\tgroup_freeze(true);\n\t\tnap_us(@span@ * 1000ull);\n\t\tgroup_freeze(false);\n'
        '\t\tsay("fault @name@ %d %llu %llu\\n", pid_of("@process@"), (unsigned long long)began, (unsigned long long)now());\n\t}\n\tfor (;;)\n\t\tpause();',
        dict(name=node.name, process=node.process.name, span=plan.span_ms, at=plan.fault_at_ms))
    return {'culprit': [node.name, operator.name]}


@fault('alarm', family='circle', needs_process=True)
def alarm_(plan, node):
    """Two processes lock two files in different orders; an alarm of one interrupts it."""
    partner = plan.process()
    a, b = partner.name + '.rows', partner.name + '.index'
    mine = plan.rng.random() < 0.5
    plan.function('static void alarm_rings(int number)', '\t(void)number;')
    ring = ('\tstruct sigaction action = {.sa_handler = alarm_rings};\n\tsigaction(SIGALRM, &action, NULL);\n'
            f'\tstruct itimerval limit = {{.it_value = {{{plan.span_ms // 1000}, {plan.span_ms % 1000 * 1000}}}}};\n\tsetitimer(ITIMER_REAL, &limit, NULL);\n')
    opening = f'\tchar path[128];\n\tsnprintf(path, sizeof(path), "%s/{a}", folder);\n\tint first = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);\n' \
              f'\tsnprintf(path, sizeof(path), "%s/{b}", folder);\n\tint second = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);\n'
    slow = partner.name + '_' + plan.names.slow()
    plan.function(f'static NOINLINE void {slow}(void)', opening + '\tflock(second, LOCK_EX);\n\tnap_us(60000);\n' + ('' if mine else ring) +
                  '\tif (!flock(first, LOCK_EX))\n\t\tflock(first, LOCK_UN);\n\tflock(second, LOCK_UN);\n\tclose(first);\n\tclose(second);')
    # both begin when the node's marker is there
    partner.body = ('\tchar marker[128];\n\tsnprintf(marker, sizeof(marker), "%s/fault", folder);\n\twhile (access(marker, F_OK))\n\t\tnap_us(20000);\n'
                    f'\t{slow}();\n\tfor (;;)\n\t\tpause();')
    truth = body(plan, node, opening + '\tflock(first, LOCK_EX);\n\tnap_us(60000);\n' + (ring if mine else '') +
                 '\tif (!flock(second, LOCK_EX))\n\t\tflock(second, LOCK_UN);\n\tflock(first, LOCK_UN);\n\tclose(first);\n\tclose(second);')
    return dict(truth, culprit=[node.name, partner.name], chain=[node.name], circle=True)


@fault('disk')
def disk(plan, node):
    """Writes past the cache to a disk of which its group may use little."""
    plan.launcher.append('group_make("blkio");')
    plan.cleanup.append('group_remove("blkio");')
    node.process.setup.insert(0, 'group_join("blkio");')
    truth = body(plan, node, '\tchar path[128];\n\tsnprintf(path, sizeof(path), "%s/data", folder);\n\tint fd = open(path, O_WRONLY | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);\n'
                 '\tvoid *block = NULL;\n\tif (posix_memalign(&block, 4096, 65536))\n\t\t_exit(5);\n\tmemset(block, 1, 65536);\n\tfor (int i = 0; i < 1000 && now() < began + @span@ * MS; i++)\n'
                 '\t\tif (write(fd, block, 65536) < 0)\n\t\t\tbreak;\n\tclose(fd);\n\tfree(block);')
    return dict(truth, culprit=[node.name, 'device'], disk=True)


@fault('owner died', needs_process=True, only='shared_mutex')
def owner_died(plan, node):
    """The process that holds a lock in shared memory ends without giving it back; the waiter gives up after a time."""
    truth = body(plan, node, '\tfault_log("@name@", began);\n\t_exit(0);')
    truth.pop('function_in_chain')
    return dict(truth, instant=True)
