"""Arrangements as whole machines have them: long chains of mixed kinds, and ways of waiting in which nobody stands written
down as the one to wait for. They have seeds of their own, from FIRST on, so that what other seeds make stays as it is.
"""
import links
from links import kind, shared
from program import fill

FIRST = 1000000
SHAPES = {}
MESSAGES = ['pipe', 'socketpair', 'unix', 'tcp']
POLLED = ['polled_child', 'polled_file', 'polled_memory']
TOKENS = ['token', 'sysv_token', 'jobserver']
VERDICTS = {**dict.fromkeys(POLLED, ['yield', 'waiting']), 'udp': ['waiting', 'yield'], 'stubborn': ['waiting', 'yield']}


def shape(function):
    SHAPES[function.__name__.replace('_', ' ')] = function
    return function


# --- ways to wait

@kind('out', family='inherited pipe', mixed=True, by_itself=True, transient=True)
def captured(link):
    """A command's output is read to its end; the command leaves somebody in the background, who has inherited it."""
    plan = link.plan
    output, plan.fd_next = plan.fd_next, plan.fd_next + 1
    command = plan.process()
    command.transient = link.callee.process.transient = True
    link.callee.process.fds.append(output)
    command.body = f'\trole_leave("{link.callee.process.name}", {output});'
    link.call(f'\tint f[2], status = 0;\n\tchar byte;\n\tif (pipe2(f, O_CLOEXEC))\n\t\treturn -1;\n\tdup3(f[1], {output}, O_CLOEXEC);\n\tclose(f[1]);\n'
              f'\tint pid = role_spawn("{command.name}", (const int[]){{{output}}}, 1);\n\tclose({output});\n\twhile (read(f[0], &byte, 1) > 0)\n\t\tresult++;\n'
              '\tclose(f[0]);\n\twhile (waitpid(pid, &status, 0) < 0 && errno == EINTR)\n\t\t;')
    link.loop(f'\tstruct message m = {{.hot = 1}};\n\t@deed@(&m);\n\tif (write({output}, "x", 1) < 0)\n\t\treturn NULL;\n\treturn NULL;')


@kind('out', family='socket passed on', mixed=True, by_itself=True)
def passed(link):
    """Who accepts a connection passes it on to another process, which answers."""
    plan, front, tcp = link.plan, link.plan.node(link.plan.process()), int(link.plan.rng.random() < 0.5)
    ours, theirs = plan.wire('pair', front.process, link.callee.process)
    plan.globals.append(f'static int {front.name}_socket;')
    front.process.setup.append(f'{front.name}_socket = socket_listen("{front.name}", {tcp});')
    plan.launcher.append(f'port_choose("{front.name}");')
    front.loop = (f'\tfor (;;) {{\n\t\tint fd = accept4({front.name}_socket, NULL, NULL, SOCK_CLOEXEC);\n\t\tif (fd < 0 || !descriptor_send({ours}, fd))\n'
                  '\t\t\tcontinue;\n\t\tclose(fd);\n\t}\n\treturn NULL;')
    link.call(f'\tint fd = socket_dial("{front.name}", {tcp});\n\tstruct message m = {{.hot = hot}};\n\tif (!message_write(fd, &m) || !message_read(fd, &m))\n'
              '\t\tresult = -1;\n\tclose(fd);')
    link.loop(f'\tfor (;;) {{\n\t\tint fd = descriptor_receive({theirs});\n\t\tif (fd < 0)\n\t\t\tbreak;\n\t\tstruct message m;\n\t\twhile (message_read(fd, &m)) {{\n'
              '\t\t\t@deed@(&m);\n\t\t\tif (!message_write(fd, &m))\n\t\t\t\tbreak;\n\t\t}\n\t\tclose(fd);\n\t}\n\treturn NULL;')


@kind('out', holder=True, family='token', mixed=True, by_itself=True)
def token(link):
    """A semaphore in shared memory as a lock: nothing says who has it."""
    shared(link, '\tsem_t token;')
    link.plan.launcher.append(fill('sem_init(&@f@_area->token, 1, 1);\n\tmunmap(@f@_area, sizeof(*@f@_area));', link.values()))
    take, give = (fill(text, link.values()) for text in ('while (sem_wait(&@f@_area->token) && errno == EINTR)\n\t\t;', 'sem_post(&@f@_area->token);'))
    link.call('\t' + take + '\n\tresult++;\n\t' + give)
    link.hold(take, give)


@kind('out', holder=True, family='token', mixed=True, by_itself=True)
def sysv_token(link):
    link.globals('static int @f@_token, @f@_token_theirs;')
    opened = f'semaphore_of({link.number}, %s);'
    link.plan.launcher.append(opened % 'true')
    link.plan.cleanup.append(f'semctl(semaphore_of({link.number}, false), 0, IPC_RMID);')
    link.caller.process.setup.append(f'{link.function}_token = ' + opened % 'false')
    link.callee.process.setup.append(f'{link.function}_token_theirs = ' + opened % 'false')
    link.call('\tsemaphore_add(@f@_token, -1);\n\tresult++;\n\tsemaphore_add(@f@_token, 1);')
    link.hold(f'semaphore_add({link.function}_token_theirs, -1);', f'semaphore_add({link.function}_token_theirs, 1);')


@kind('out', holder=True, family='token', mixed=True)
def jobserver(link):
    """A pipe with one byte in it, as make's: who has read it may work, and puts it back."""
    plan, a, b = link.plan, link.caller.process, link.callee.process
    read_a, write_a = plan.wire('pipe', a, a)
    read_b, write_b = plan.fd_next, plan.fd_next + 1
    plan.fd_next += 2
    b.fds += [read_b, write_b]
    plan.launcher.append(f'dup3({read_a}, {read_b}, O_CLOEXEC);\n\tdup3({write_a}, {write_b}, O_CLOEXEC);\n\tif (write({write_a}, "+", 1) < 0)\n\t\t_exit(4);')
    link.call(f'\tchar byte;\n\tif (!bytes_read({read_a}, &byte, 1))\n\t\treturn -1;\n\tresult++;\n\tbytes_write({write_a}, &byte, 1);')
    link.hold(f'bytes_read({read_b}, &m.body[9], 1);', f'bytes_write({write_b}, &m.body[9], 1);')


@kind('out', family='udp', mixed=True, by_itself=True)
def udp(link):
    """Datagrams; who gets no answer may ask again."""
    again = link.plan.rng.choice([-1, -1, 110, 230, 390])
    link.plan.launcher.append(f'port_choose("{link.callee.name}");')
    link.globals('static int @f@_fd, @f@_fd_theirs;\nstatic uint32_t @f@_id;')
    link.caller.process.setup.append(fill('@f@_fd = datagram_socket("@callee@", false);', link.values()))
    link.callee.process.setup.append(fill('@f@_fd_theirs = datagram_socket("@callee@", true);', link.values()))
    link.call(f'\tuint32_t id = ++@f@_id ^ (uint32_t)getpid() << 12;\n\tfor (;;) {{\n\t\tstruct message m = {{.id = id, .hot = hot}};\n\t\tstruct pollfd wanted = {{.fd = @f@_fd, .events = POLLIN}};\n'
              f'\t\tsend(@f@_fd, &m, sizeof(m), 0);\n\t\tif (poll(&wanted, 1, {again}) > 0 && recv(@f@_fd, &m, sizeof(m), 0) == sizeof(m) && m.id == id)\n\t\t\tbreak;\n'
              '\t\tif (wanted.revents & POLLERR)\n\t\t\tnap_us(10000);\n\t}')
    link.loop('\tfor (;;) {\n\t\tstruct message m;\n\t\tstruct sockaddr_in from;\n\t\tsocklen_t size = sizeof(from);\n\t\tif (recvfrom(@f@_fd_theirs, &m, sizeof(m), 0, (struct sockaddr *)&from, &size) != sizeof(m))\n'
              '\t\t\tcontinue;\n\t\t@deed@(&m);\n\t\tsendto(@f@_fd_theirs, &m, sizeof(m), 0, (struct sockaddr *)&from, size);\n\t}\n\treturn NULL;')


@kind('out', family='asked again', mixed=True, by_itself=True)
def stubborn(link):
    """Who gets no answer in time closes the connection and asks on a new one."""
    server = link.callee
    server.style, server.listen = 'mux', (server.name, link.plan.rng.random() < 0.5)
    link.globals('static uint32_t @f@_id;')
    link.call('\tfor (;;) {\n\t\tint fd = socket_dial("@callee@", @tcp@), good = 0;\n\t\tstruct message m = {.id = ++@f@_id, .hot = hot};\n\t\tstruct pollfd wanted = {.fd = fd, .events = POLLIN};\n'
              '\t\tif (message_write(fd, &m) && poll(&wanted, 1, @again@) > 0)\n\t\t\tgood = message_read(fd, &m);\n\t\tclose(fd);\n\t\tif (good)\n\t\t\tbreak;\n\t}',
              tcp=int(server.listen[1]), again=link.plan.rng.choice([130, 250, 420]))


@kind('out', family='polled', mixed=True, by_itself=True, transient=True)
def polled_child(link):
    """A process for each request, looked at between sleeps."""
    link.callee.process.transient = True
    link.call(f'\tint status = 0, pid = role_spawn("@callee@", NULL, 0);\n\twhile (!waitpid(pid, &status, WNOHANG))\n\t\tnap_us({link.plan.rng.randrange(2, 20) * 1000});')
    link.loop('\tstruct message m = {.hot = 1};\n\t@deed@(&m);\n\treturn NULL;')


@kind('out', family='polled', mixed=True, by_itself=True)
def polled_file(link):
    """A request is a file, and so is its answer; both look whether it is there."""
    def wait(name, look):
        return f'{{ char path[128]; snprintf(path, sizeof(path), "%s/@id@.{name}", folder); while (unlink(path)) nap_us({look}); }}'

    def put(name):
        return f'{{ char path[128]; snprintf(path, sizeof(path), "%s/@id@.{name}", folder); close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); }}'
    link.call('\t' + fill(put('ask'), link.values()) + '\n\t' + fill(wait('done', link.plan.rng.randrange(5, 30) * 1000), link.values()))
    link.loop('\tstruct message m = {.hot = 1};\n\tfor (;;) {\n\t\t' + wait('ask', 5000) + '\n\t\t@deed@(&m);\n\t\t' + put('done') + '\n\t}\n\treturn NULL;')


@kind('out', family='polled', mixed=True, by_itself=True)
def polled_memory(link):
    """A number in shared memory that another process raises; both look at it between sleeps."""
    shared(link, '\t_Atomic uint32_t asked, done;')
    link.call(f'\tuint32_t old = atomic_load(&@f@_area->done);\n\tatomic_fetch_add(&@f@_area->asked, 1);\n\twhile (atomic_load(&@f@_area->done) == old)\n\t\tnap_us({link.plan.rng.randrange(2, 20) * 1000});')
    link.loop('\tstruct message m = {.hot = 1};\n\tfor (uint32_t seen = 0;; seen++) {\n\t\twhile (atomic_load(&@f@_area->asked) == seen)\n\t\t\tnap_us(3000);\n\t\t@deed@(&m);\n'
              '\t\tatomic_fetch_add(&@f@_area->done, 1);\n\t}\n\treturn NULL;')


@kind('out', family='pipeline', mixed=True)
def pipeline(link):
    """Programs one behind the other, as a shell's; what goes in at one end comes out at the other."""
    plan, rng = link.plan, link.plan.rng
    before, after = rng.choice([(0, 1), (1, 1), (0, 2), (1, 2), (2, 1)])
    others = [plan.node(plan.process()) for _ in range(before + after)]
    stages = others[:before] + [link.callee] + others[before:]
    link.stages = list(reversed(others[before:]))
    ways = [plan.wire('pipe', reader.process, writer.process) for writer, reader in zip([link.caller, *stages], [*stages, link.caller])]
    for stage, come, go in zip(stages, ways, ways[1:]):
        stage.inlets.append((come[0], go[1]))
    link.call(f'\tstruct message m = {{.hot = hot}};\n\tif (!message_write({ways[0][1]}, &m) || !message_read({ways[-1][0]}, &m))\n\t\tresult = -1;')


@kind('out', family='exhausted pool', mixed=True)
def exhausted(link):
    """A pool of connections, counted by a semaphore: all of them are out, and nothing says with whom."""
    plan, rng, server = link.plan, link.plan.rng, link.callee
    server.style, server.listen = 'mux', (server.name, rng.random() < 0.5)
    places = rng.choice([2, 3])
    link.globals('static sem_t @f@_places;')
    link.caller.process.setup.append(fill(f'sem_init(&@f@_places, 0, {places});', link.values()))
    for _ in range(places + 1):
        name = plan.names.role()
        plan.function(f'static void *{name}_borrow(void *unused)', fill(
            '\t(void)unused;\n\trole_enter("@n@");\n\tint fd = socket_dial("@callee@", @tcp@);\n\tfor (uint32_t id = 1;; id++) {\n\t\tstruct message m = {.id = id, .hot = 1};\n'
            '\t\twhile (sem_wait(&@f@_places) && errno == EINTR)\n\t\t\t;\n\t\tif (!message_write(fd, &m) || !message_read(fd, &m))\n\t\t\tbreak;\n\t\tsem_post(&@f@_places);\n\t\tnap_us(@pause@);\n\t}\n\treturn NULL;',
            link.values(n=name, tcp=int(server.listen[1]), pause=rng.randrange(5, 20) * 1000)))
        link.caller.process.threads.append(f'{name}_borrow')
    link.call('\twhile (sem_wait(&@f@_places) && errno == EINTR)\n\t\t;\n\tresult++;\n\tsem_post(&@f@_places);')


# --- where they are

def any_kind(chain, last, but=()):
    """Of a family that is not in the chain yet."""
    used = {links.KINDS[link.kind]['family'] for link in chain.links} | set(but)
    families = {}
    for name, kind_ in links.KINDS.items():
        if kind_['family'] not in used and chain.may(name, last):
            families.setdefault(kind_['family'], []).append(name)
    rng = chain.plan.rng
    return rng.choice(families[rng.choice(sorted(families))])


def with_hops(chain, kinds):
    """Perhaps something before it, perhaps something behind it."""
    rng = chain.plan.rng
    before, after = rng.choice([(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2)])
    for _ in range(before):
        chain.add(chain.pick([*MESSAGES, 'queue', 'child'], False))
    chain.add(chain.pick(kinds, not after), not after)
    for i in range(after):
        chain.add(any_kind(chain, i == after - 1), i == after - 1)


@shape
def mixed_chain(chain):
    """Three to six links, each of another family."""
    count = chain.plan.rng.choice([3, 3, 4, 4, 5, 6])
    for i in range(count):
        chain.add(any_kind(chain, i == count - 1), i == count - 1)


@shape
def captured_output(chain):
    with_hops(chain, ['captured'])


@shape
def passed_connection(chain):
    with_hops(chain, ['passed'])


@shape
def tokens(chain):
    with_hops(chain, TOKENS)


@shape
def datagrams(chain):
    with_hops(chain, ['udp'])


@shape
def pipeline_of_programs(chain):
    with_hops(chain, ['pipeline'])


@shape
def exhausted_pool(chain):
    with_hops(chain, ['exhausted'])


@shape
def asked_again(chain):
    """Somebody in the middle asks again and again, on connections of their own."""
    chain.add(chain.pick(MESSAGES, False))
    more = chain.plan.rng.choice([0, 1, 2])
    chain.add(chain.pick(['stubborn'], not more), not more)
    for i in range(more):
        chain.add(any_kind(chain, i == more - 1), i == more - 1)


@shape
def polled_middle(chain):
    """Somebody in the middle sleeps and looks."""
    chain.add(chain.pick([*MESSAGES, 'queue', 'child'], False))
    more = chain.plan.rng.choice([0, 1, 2])
    chain.add(chain.pick(POLLED, not more), not more)
    for i in range(more):
        chain.add(any_kind(chain, i == more - 1), i == more - 1)


@shape
def broken_off(chain):
    """The victim gives up by a limit of its own while those behind are stuck for longer."""
    plan, rng = chain.plan, chain.plan.rng
    if plan.is_cut or chain.fault in ('no answer', 'call back', 'owner died'):
        raise AssertionError
    plan.span_ms = rng.randrange(1800, 2500)
    plan.end_ms = plan.fault_at_ms + plan.span_ms + 700
    limit_ms = plan.span_ms * 7 // 10
    plan.comes_back_ms = plan.span_ms - limit_ms + 400
    plan.globals.append('static bool gave_up;')
    more = rng.choice([0, 1, 2, 3])
    chain.add(chain.pick(['unix', 'tcp', 'socketpair', 'pipe', 'bus', 'semaphore', 'shared_semaphore'], not more), not more, limit_ms=limit_ms)
    for i in range(more):
        chain.add(any_kind(chain, i == more - 1), i == more - 1)
