"""A plan as one C program: processes, their threads, the links between them, the fault.

A *node* is one role: a thread, or a process of one thread. A *link* is how one node waits
for the next; the chain of links leads from the victim to the node at which the fault is.
Each piece is text with @names@, put together to functions of the role's own, so that the
stacks of a run look like those of a program that somebody wrote. links.py and faults.py
hold the pieces, shapes.py the topologies.
"""
import re


def fill(text, values):
    return re.sub(r'@(\w+)@', lambda found: str(values[found[1]]), text)


class Node:
    def __init__(self, plan, name, process):
        self.plan, self.name, self.process = plan, name, process
        self.deed = name + '_' + plan.names.deed()      # what it does for who asks
        self.run = name + '_' + plan.rng.choice(['run', 'loop', 'serve', 'work', 'main'])
        self.work_us = plan.rng.choice([40, 120, 300, 700])
        self.style = 'serial'       # of a server of messages: serial, mux, sessions, pool, relay
        self.inlets = []            # (descriptor to read, descriptor to write) made by the launcher
        self.listen = None          # (name, tcp)
        self.next = []              # calls made for each request of the faulty way
        self.fault = None           # function that is the fault
        self.relay_to = None        # of a relay: expression of the connection upstream
        self.relay_cold = None
        self.loop = None            # body of its thread
        self.workers = 1


class Process:
    def __init__(self, plan, name):
        self.name = name
        self.nodes = []             # the first one runs in the main thread
        self.setup = []             # statements before threads start
        self.threads = []           # functions of bystanders
        self.fds = []
        self.transient = False      # started by its caller, once for each request
        self.priority = None
        self.body = None            # a bystander's whole main
        plan.processes.append(self)


class Plan:
    def __init__(self, rng, names):
        self.rng, self.names = rng, names
        self.processes, self.globals, self.functions, self.launcher = [], [], [], []
        self.prototypes = []
        self.fd_next = 60
        self.links, self.kinds = [], []
        self.victim = None
        self.comes_back_ms = 0      # how long the victim leaves it alone once it has given up
        self.as_stuck = []      # processes that wait for the same as the victim
        self.bystanders = []
        self.operators = []         # processes that must start after the others
        self.bus, self.bus_peers = None, 0
        self.cleanup = []           # statements of the launcher when all have ended
        self.short_lived = []       # nodes that are threads started for a request

    def process(self, name=None):
        return Process(self, name or self.names.role())

    def node(self, process, name=None):
        node = Node(self, name or (process.name if not process.nodes else self.names.role()), process)
        process.nodes.append(node)
        return node

    def wire(self, kind, *ends):
        """A pipe (reader, writer) or pair of sockets; ends are processes. Descriptor numbers."""
        numbers = []
        for process in ends:
            numbers.append(self.fd_next)
            if process.fds is not None:
                process.fds.append(self.fd_next)
            self.fd_next += 1
        make = {'pipe': 'pipe2(f, O_CLOEXEC)', 'pair': 'socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, f)',
                'packets': 'socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, f)'}.get(kind)
        if kind == 'eventfd':
            self.launcher.append(f'wire_move(eventfd(0, EFD_CLOEXEC), {numbers[0]});')
            if len(numbers) > 1:        # the same object in two processes
                self.launcher.append(f'dup3({numbers[0]}, {numbers[1]}, O_CLOEXEC);')
        else:
            self.launcher.append(f'{{ int f[2]; if ({make}) _exit(4); wire_move(f[0], {numbers[0]}); '
                                 f'wire_move(f[1], {numbers[1]}); }}')
        return numbers

    def function(self, head, body):
        self.prototypes.append(head + ';')
        self.functions.append(head + '\n{\n' + body.rstrip() + '\n}\n')

    # --- emission

    def emit_serve(self, node):
        body = ['\tm->body[0] = (char)burn_until(now() + %d * 1000ull, m->id);' % node.work_us]
        hot = [f'\t\t{call}' for call in node.next]
        if node.fault:
            hot.append(f'\t\tif (fault_due({self.fault_at_ms} * MS))\n\t\t\t{node.fault}(m);')
        if hot:
            body += ['\tif (m->hot) {', *hot, '\t}']
        body.append('\tm->body[1]++;')
        self.function(f'static NOINLINE void {node.deed}(struct message *m)', '\n'.join(body))

    def emit_server(self, node):
        """A node that is asked by messages, in one of the ways servers are written."""
        values = {'name': node.name, 'run': node.run, 'deed': node.deed, 'workers': node.workers,
                  'relay_to': node.relay_to, 'relay_cold': node.relay_cold or -1}
        style = node.style
        if style == 'serial':
            accept = 'accept4(socket_fd, NULL, NULL, SOCK_CLOEXEC)'
            fds = ((accept, None) if node.listen else node.inlets[0])
            text = '\tint in = %s, out = %s;\n' % (fds[0], 'in' if node.listen else fds[1])
            if node.listen:
                text = '\tint socket_fd = @name@_socket;\n' + text
            text += ('\tstruct message m;\n\twhile (message_read(in, &m)) {\n\t\t@deed@(&m);\n'
                     '\t\tif (!m.drop && !message_write(out, &m))\n\t\t\tbreak;\n\t}\n\treturn NULL;')
            self.function(f'static void *{node.run}(void *unused)', '\t(void)unused;\n' + fill(text, values))
        elif style == 'sessions':
            self.function(f'static void *{node.name}_session(void *connection)', fill(
                '\tint fd = (int)(intptr_t)connection;\n\tstruct message m;\n\twhile (message_read(fd, &m)) {\n'
                '\t\t@deed@(&m);\n\t\tif (!m.drop && !message_write(fd, &m))\n\t\t\tbreak;\n\t}\n\tclose(fd);\n\treturn NULL;', values))
            self.function(f'static void *{node.run}(void *unused)', fill(
                '\t(void)unused;\n\tfor (;;) {\n\t\tint fd = accept4(@name@_socket, NULL, NULL, SOCK_CLOEXEC);\n'
                '\t\tif (fd >= 0)\n\t\t\tthread_start(@name@_session, (void *)(intptr_t)fd);\n\t}\n\treturn NULL;', values))
        else:
            self.emit_loop(node, values)
        if node.listen:
            self.globals.append(f'static int {node.name}_socket;')
            node.process.setup.append(f'{node.name}_socket = socket_listen("{node.listen[0]}", {int(node.listen[1])});')
            if node.listen[1]:
                self.launcher.append(f'port_choose("{node.listen[0]}");')

    def emit_loop(self, node, values):
        """An epoll loop: answers itself (mux), by its workers (pool), or hands on (relay)."""
        name = node.name
        self.globals.append(f'static int {name}_out[1024];')
        if node.style == 'pool':
            self.globals.append(fill(
                'static pthread_mutex_t @name@_mutex = PTHREAD_MUTEX_INITIALIZER;\nstatic pthread_cond_t @name@_more = '
                'PTHREAD_COND_INITIALIZER;\nstatic struct message @name@_queue[64];\nstatic int @name@_to[64];\nstatic '
                'unsigned @name@_head, @name@_tail;', values))
            self.function(f'static void *{name}_worker(void *unused)', fill(
                '\t(void)unused;\n\tfor (;;) {\n\t\tpthread_mutex_lock(&@name@_mutex);\n\t\twhile (@name@_head == @name@_tail)\n'
                '\t\t\tpthread_cond_wait(&@name@_more, &@name@_mutex);\n\t\tunsigned at = @name@_head++ % 64;\n'
                '\t\tstruct message m = @name@_queue[at];\n\t\tint out = @name@_to[at];\n\t\tpthread_mutex_unlock(&@name@_mutex);\n'
                '\t\t@deed@(&m);\n\t\tif (!m.drop)\n\t\t\tmessage_write(out, &m);\n\t}\n\treturn NULL;', values))
            handle = ('pthread_mutex_lock(&@name@_mutex);\n\t\t\t@name@_queue[@name@_tail % 64] = m;\n\t\t\t@name@_to[@name@_tail++ % 64] = '
                      '@name@_out[fd];\n\t\t\tpthread_cond_signal(&@name@_more);\n\t\t\tpthread_mutex_unlock(&@name@_mutex);')
        elif node.style == 'relay':
            self.globals.append(fill('static struct { int fd; uint32_t id; } @name@_pending[4096];\nstatic uint32_t @name@_serial;', values))
            self.function(f'static NOINLINE void {name}_forward(struct message *m, int from)', fill(
                '\tuint32_t serial = ++@name@_serial;\n\t@name@_pending[serial % 4096].fd = @name@_out[from];\n'
                '\t@name@_pending[serial % 4096].id = m->id;\n\tm->id = serial;\n\tint to = m->hot ? @relay_to@ : @relay_cold@;\n'
                '\tif (to >= 0) {\n\t\tmessage_write(to, m);\n\t\treturn;\n\t}\n\tm->id = @name@_pending[serial % 4096].id;\n'
                '\t@deed@(m);\n\tmessage_write(@name@_out[from], m);', values))
            self.function(f'static NOINLINE void {name}_answer(struct message *m)', fill(
                '\tuint32_t serial = m->id;\n\tm->id = @name@_pending[serial % 4096].id;\n'
                '\tmessage_write(@name@_pending[serial % 4096].fd, m);\n\tm->body[2]++;', values))
            handle = ('if (fd == @relay_to@ || fd == @relay_cold@)\n\t\t\t\t@name@_answer(&m);\n\t\t\telse\n\t\t\t\t@name@_forward(&m, fd);')
        else:
            handle = '@deed@(&m);\n\t\t\tif (!m.drop)\n\t\t\t\tmessage_write(@name@_out[fd], &m);'
        begin = ['\t(void)unused;', '\tint ep = epoll_create1(EPOLL_CLOEXEC);', '\tstruct epoll_event event = {.events = EPOLLIN}, ready[16];']
        add = lambda fd: f'\tevent.data.fd = {fd};\n\tepoll_ctl(ep, EPOLL_CTL_ADD, {fd}, &event);'
        for fd_in, fd_out in node.inlets:
            begin += [add(fd_in), f'\t{name}_out[{fd_in}] = {fd_out};']
        if node.listen:
            begin.append(add(f'{name}_socket'))
        if node.style == 'relay':
            begin += [add(fd) for fd in (node.relay_to, node.relay_cold) if fd is not None]
        if node.style == 'pool':
            begin.append(f'\tfor (int i = 0; i < {node.workers}; i++)\n\t\tthread_start({name}_worker, NULL);')
        accept = ''
        if node.listen:
            accept = fill('\t\t\tif (fd == @name@_socket) {\n\t\t\t\tfd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);\n\t\t\t\t@name@_out[fd] = fd;\n'
                          '\t\t\t\tevent.data.fd = fd;\n\t\t\t\tepoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);\n\t\t\t\tcontinue;\n\t\t\t}\n', values)
        text = '\n'.join(begin) + ('\n\tfor (;;) {\n\t\tint count = epoll_wait(ep, ready, 16, -1);\n\t\tfor (int i = 0; i < count; i++) {\n'
                '\t\t\tint fd = ready[i].data.fd;\n\t\t\tstruct message m;\n' + accept +
                '\t\t\tif (!message_read(fd, &m)) {\n\t\t\t\tepoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);\n\t\t\t\tclose(fd);\n\t\t\t\tcontinue;\n\t\t\t}\n'
                '\t\t\t' + fill(handle, values) + '\n\t\t}\n\t}\n\treturn NULL;')
        self.function(f'static void *{node.run}(void *unused)', text)

    def emit_nodes(self):
        for nodes in [process.nodes for process in self.processes] + [self.short_lived]:
            for node in nodes:
                self.emit_serve(node)
                if node.loop is not None:
                    self.function(f'static void *{node.run}(void *unused)', '\t(void)unused;\n' + node.loop)
                else:
                    self.emit_server(node)

    def emit_process(self, process):
        lines = [f'\trole_enter("{process.name}");']
        lines += [f'\tfcntl({fd}, F_SETFD, FD_CLOEXEC);' for fd in process.fds]
        if process.priority is not None:
            lines.append(f'\tsetpriority(PRIO_PROCESS, 0, {process.priority});')
        lines += ['\t' + line for line in process.setup]
        lines += [f'\tthread_start({name}, NULL);' for name in process.threads]
        for node in process.nodes[1:]:
            copies = node.workers if node.loop is not None else 1
            lines += [f'\tthread_start({node.name}_enter, NULL);'] * copies
            self.function(f'static void *{node.name}_enter(void *unused)',
                          f'\trole_enter("{node.name}");\n\treturn {node.run}(unused);')
        lines.append(f'\t{process.nodes[0].run}(NULL);' if process.nodes else process.body)
        self.function(f'static NOINLINE void {process.name}_start(void)', '\n'.join(lines))

    def source(self):
        self.emit_nodes()
        for process in self.processes:
            self.emit_process(process)
        main = ['int main(int argc, char **argv)', '{', '\t(void)argc;', '\trun_begin();',
                "\tconst char *slash = strrchr(argv[0], '/'), *role = slash ? slash + 1 : argv[0];"]
        for process in self.processes:
            main.append(f'\tif (!strcmp(role, "{process.name}")) {{\n\t\t{process.name}_start();\n\t\t_exit(0);\n\t}}')
        main.append('\tchar self[108], path[108];\n\tpath_of(self, "program");')
        main += [f'\tif (link(self, path_of(path, "{process.name}")))\n\t\t_exit(4);' for process in self.processes]
        main += ['\t' + line for line in self.launcher]
        # Whoever is asked starts before who asks: a signal is sent to a pid. The stopper needs the last ones.
        order = [p for p in reversed(self.processes) if not p.transient and p not in self.operators] + self.operators
        main.append(f'\tint pids[{len(order)}], count = 0;')
        for process in order:
            fds = ', '.join(map(str, process.fds)) or '-1'
            main.append(f'\tpids[count++] = role_spawn("{process.name}", (const int[]){{{fds}}}, {len(process.fds)});')
        main.append(f'\tfor (int fd = 60; fd < {self.fd_next}; fd++)\n\t\tclose(fd);')
        main.append(f'\tnap_until(start_ns + {self.end_ms} * MS);')
        main.append('\tfor (int i = 0; i < count; i++)\n\t\tkill(pids[i], SIGKILL);\n\twhile (wait(NULL) > 0)\n\t\t;')
        main += ['\t' + line for line in self.cleanup] + ['\treturn 0;\n}']
        return '\n'.join(['#include "runtime.h"', '', *self.globals, '', *self.prototypes, '', *self.functions, *main, ''])
