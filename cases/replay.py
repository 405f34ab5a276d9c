"""Who ran, waited, was runnable, woke whom and sent to whom: replayed from a trace's events.

It reads what `argus dump --json --state` prints and nothing else, and shares no code with the
diagnosis: so that an answer can be held against the events (check_answer.py). A thread is a row
of spans (state, from when); a wait ends with the first wake-up behind the switch that began it,
or, without one, with the last wake-up before it."""
import bisect
import json
import re
import subprocess

STOPPED = ('stopped', 'traced', 'frozen')
KEPT = ('call_name watch group_limit signal_pending descriptor_limit call_held switch wake fork exec exit rename signal deliver freeze throttle file_lock lock_wait fuse_send fuse_end sample mark message queue_message '
        'file_event uring_submit syscall block_issue call_end timer_arm callout_begin submit flag_read flag_write input probe task waiting descriptor lock_held fuse_asked cgroup module frame clock gap').split()


ON_FILE = ('block_io', 'open', 'fault', 'sync', 'other')   # waits that may be for a request to a file system's server


class Wait:
    def __init__(self, thread, start, event):
        self.thread, self.start, self.event = thread, start, event
        self.asked_fuse = bool(thread.fuse)
        self.end = None          # woken, or back without a wake-up; None: it lasts
        self.wake = None         # the event that ended it
        self.fields = dict(event or {})

    @property
    def kind(self):
        kind = 'stop' if self.fields.get('state') in STOPPED else self.fields.get('wait', 'none')
        on_file = kind in ON_FILE or (kind in ('read', 'write') and self.fields.get('object', '').startswith(('file:', 'directory:')))
        return 'fuse' if self.asked_fuse and on_file and (self.wake or {}).get('cause') != 'block_io' else kind

    @property
    def number(self):
        return self.event['number'] if self.event else 0

    def found(self, record):
        """What a snapshot adds to what its switch knew."""
        if self.fields.get('wait', 'none') in ('none', 'other'):
            for key in ('wait', 'syscall', 'argument', 'state'):
                if key in record:
                    self.fields[key] = record[key]
        for key in ('ustack', 'kstack', 'detail', 'object', 'timeout_ns', 'hint', 'hint_kind'):
            if key in record:
                self.fields.setdefault(key, record[key])


class Thread:
    def __init__(self, tid, born, pid=0, parent=0):
        self.tid, self.pid, self.parent, self.born = tid, pid or 0, parent, born
        self.parents = set()     # one after the other: whose parent ends gets another
        self.died = None
        self.names = []          # (time, name)
        self.exe = ''            # last program
        self.starts, self.states = [], []   # spans; a state is (name, wait or None, processor)
        self.waits, self.samples = [], []
        self.yields = []         # when it gave its processor up and could go on
        self.stacks = []         # (time, node) of all its events that have one
        self.cgroup, self.groups = None, ''     # of the processor's, and all by their paths
        self.moved = False                      # from one to another
        self.early = None        # a wake-up while it ran
        self.fuse = set()        # its requests to servers of file systems that are open
        self.kernel = False

    def state(self):
        return self.states[-1][0] if self.states else None

    def put(self, time, state, wait=None, cpu=None):
        if self.starts and self.starts[-1] == time:
            self.starts.pop()
            self.states.pop()
        self.starts.append(time)
        self.states.append((state, wait, cpu))

    def spans(self, start, end):
        """(from, to, state, wait, processor), clipped; what is not known is left out."""
        at = max(0, bisect.bisect_right(self.starts, start) - 1)
        while at < len(self.starts) and self.starts[at] < end:
            until = self.starts[at + 1] if at + 1 < len(self.starts) else end
            low, high = max(start, self.starts[at]), min(end, until)
            if high > low:
                yield (low, high) + self.states[at]
            at += 1

    def name_at(self, time):
        name = self.names[0][1] if self.names else ''
        for when, text in self.names:
            if when <= time:
                name = text
        return name

    def names_in(self, start, end):
        return {self.name_at(start)} | {text for when, text in self.names if start <= when <= end}


def events_of(argus, path):
    """The events, one after the other; the document is never in memory as a whole."""
    command = [argus, 'dump', '--json', '--state', path]
    for kind in KEPT:
        command[2:2] = ['-e', kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        yield from split_events(process.stdout)
    if process.returncode != 0:
        raise ValueError(f'argus dump of {path} failed')


def split_events(file):
    rest, begun = b'', False
    while True:
        block = file.read(1 << 20)
        rest += block
        if not begun:
            at = rest.find(b'[')
            if at < 0 and block:
                continue
            rest, begun = rest[at + 1:], True
        # An unescaped quote ends a text, so this stands only between two events.
        parts = rest.split(b'},{"number":')
        for i, part in enumerate(parts[:-1]):
            yield decode(part if part.startswith(b'{') else b'{"number":' + part, b'}')
        rest = parts[-1] if parts[-1].startswith(b'{') else b'{"number":' + parts[-1]
        if not block:
            break
    rest = rest.rstrip()
    if rest.endswith(b']}') and len(rest) > 12:
        yield decode(rest[:-2], b'')


def decode(text, end):
    return json.loads(text + end)


def flags(event, name='flags'):
    value = event.get(name, '')
    return value.split('|') if isinstance(value, str) else [str(value)]


class Replay:
    def __init__(self, argus, path):
        self.argus, self.path = argus, path
        self.by_tid = {}         # tid -> threads, by birth
        self.events = {}         # number -> event, of the kinds that answers cite
        self.ended = {}          # number of a wake-up -> the wait that it ended
        self.fuse = {}           # open request to a file system's server -> thread
        self.messages, self.descriptors, self.signals, self.delivered, self.locks, self.gaps, self.throttles = [], [], [], [], [], [], []
        self.cgroups, self.frames, self.modules = {}, {}, {}
        self.start, self.end = None, 0
        self.running = {}        # processor -> thread
        self.switched = {}       # processor -> time of its last switch
        self.names = None
        self.inner = {}          # tid -> process, number inside its pid namespace
        for event in events_of(argus, path):
            self.take(event)
        self.start = self.start or 0
        for threads in self.by_tid.values():
            for thread in threads:
                self.close(thread)
        for tid, waits in [(e['tid'], [e]) for e in self.events.values()] + [(t.tid, [w.fields for w in t.waits]) for ts in self.by_tid.values() for t in ts]:
            self.number_hints(tid, waits)

    def number_hints(self, tid, waits):
        """What was read in a program's memory is a number of its own pid namespace's."""
        pid, inner = self.inner.get(tid, (0, tid))
        if inner in (0, tid):
            return
        for fields in waits:
            if fields.get('hint_kind') in ('mutex_owner', 'pi_owner', 'thread_exit', 'rwlock_writer', 'interpreter_lock'):
                fields['hint'] = next((t for t, (p, number) in self.inner.items() if p == pid and number == fields.get('hint')), 0)

    # ---- threads ----

    def thread(self, tid, time):
        """The one that has the number then; a number is used again after an end."""
        found = None
        for thread in self.by_tid.get(tid, ()):
            if not found or thread.born <= time:
                found = thread
        return found

    def known(self, tid, event):
        threads = self.by_tid.setdefault(tid, [])
        again = threads and threads[-1].died is not None and threads[-1].died < event['time_ns']
        if not threads or (again and (event['type'] == 'fork' or event.get('start_ns', 0) > threads[-1].died)):
            threads.append(Thread(tid, event['time_ns'] if threads else 0))
            threads[-1].fresh = True
        return threads[-1]

    def process(self, pid):
        return [t for threads in self.by_tid.values() for t in threads if t.pid == pid]

    def close(self, thread):
        if thread.pid == 0:
            thread.pid = thread.tid
        if thread.died is not None and thread.state() not in ('absent', None):
            thread.put(thread.died, 'absent')

    # ---- events ----

    def take(self, event):
        kind, time = event['type'], event['time_ns']
        if kind not in ('frame', 'module', 'task', 'descriptor', 'waiting', 'cgroup', 'clock', 'lock_held', 'fuse_asked', 'gap', 'watch', 'group_limit', 'signal_pending', 'descriptor_limit', 'call_held'):
            self.start = time if self.start is None else self.start
        self.start = min(self.start, time) if self.start is not None else time
        self.end = max(self.end, time)
        if kind not in ('frame', 'module'):
            self.events[event['number']] = event
            for key in ('ustack', 'kstack'):
                if event.get(key) and event['tid']:
                    self.known(event['tid'], event).stacks.append((time, event[key]))
        method = getattr(self, 'on_' + kind, None)
        if method:
            method(event, time)

    def on_frame(self, event, time):
        self.frames[event['node']] = (event.get('module', 0), event.get('address', '0x0'), event.get('parent', 0), event.get('status', 'whole'))

    def on_module(self, event, time):
        # Two files may have one name, as a container's library and the machine's have.
        self.modules[event['module']] = tuple(((event.get('texts') or []) + ['', ''])[:2])

    def on_task(self, event, time):
        thread = self.known(event['tid'], event)
        thread.pid = event.get('pid', thread.pid)
        self.inner[thread.tid] = thread.pid, event.get('ns_tid', 0)
        thread.parent = event.get('parent', thread.parent)
        thread.parents.add(thread.parent)
        thread.moved |= thread.cgroup is not None and event.get('cgroup', thread.cgroup) != thread.cgroup
        thread.cgroup = event.get('cgroup', thread.cgroup)
        thread.groups = (event.get('texts') or [''])[-1] if len(event.get('texts') or []) > 3 else thread.groups
        thread.kernel = thread.kernel or 'kernel_thread' in flags(event)
        name = (event.get('texts') or [''])[0]
        thread.exe = (event.get('texts') or [])[1] if len(event.get('texts') or []) > 1 else thread.exe
        if name and (not thread.names or thread.names[-1][1] != name):
            thread.names.append((time, name))

    def on_fork(self, event, time):
        parent = self.thread(event['tid'], time)
        threads = self.by_tid.setdefault(event['child'], [])
        if threads and threads[-1].died is None and not threads[-1].starts:
            child = threads[-1]     # a task record told of it before
            child.born = time
        else:
            child = Thread(event['child'], time)
            threads.append(child)
        child.pid = event.get('child_pid', 0) or event['child']
        child.parent = (parent.parent if child.pid == parent.pid else parent.pid) if parent else 0
        child.parents.add(child.parent)
        child.cgroup = child.cgroup or (parent.cgroup if parent else None)
        if event.get('text') or parent:
            child.names.append((time, event.get('text') or parent.name_at(time)))
        child.put(time, 'runnable')

    def on_exec(self, event, time):
        thread = self.known(event['tid'], event)
        if event.get('old_tid') and event['old_tid'] != event['tid']:
            old = self.thread(event['old_tid'], time)
            if old:
                old.died = time
                old.put(time, 'absent')
        if event.get('text'):
            thread.names.append((time, event['text'].rsplit('/', 1)[-1][:15]))

    def on_rename(self, event, time):
        thread = self.thread(event.get('target', 0), time)
        if thread and event.get('text'):
            thread.names.append((time, event['text']))

    def on_exit(self, event, time):
        self.known(event['tid'], event).exited = time

    def on_waiting(self, event, time):
        thread = self.known(event['tid'], event)
        if thread.state() in ('waiting', 'stopped'):
            thread.states[-1][1].found(event)
            if thread.states[-1][1].kind == 'stop':
                thread.states[-1] = ('stopped',) + thread.states[-1][1:]
        elif not thread.states:
            since = event.get('since_ns') or 0
            wait = Wait(thread, min(since, time) or self.start, event)
            thread.waits.append(wait)
            thread.put(wait.start, 'stopped' if wait.kind == 'stop' else 'waiting', wait)

    def on_switch(self, event, time):
        cpu = event['cpu']
        self.left_unseen(cpu, event['tid'])
        if event['tid']:
            self.leave(self.known(event['tid'], event), event, time, cpu)
        if event.get('next'):
            self.arrive(self.known(event['next'], event), time, cpu)
        self.running[cpu] = self.known(event['next'], event) if event.get('next') else None
        self.switched[cpu] = time

    def left_unseen(self, cpu, tid):
        """Who had the processor has left it, and no event says when: it may be outside of the recording."""
        thread = self.running.get(cpu)
        if thread and thread.tid != tid and thread.state() == 'running' and thread.states[-1][2] == cpu:
            thread.states[-1] = ('unknown',) + thread.states[-1][1:]

    def leave(self, thread, event, time, cpu):
        if thread.state() != 'running':
            # It had the processor from the start, or came to it unseen.
            if not thread.states:
                thread.put(max(self.start, thread.born), 'unknown' if cpu in self.switched else 'running', None, cpu)
            elif thread.state() in ('waiting', 'stopped'):
                self.wake_up(thread, time, None)
            else:
                thread.states[-1] = ('unknown',) + thread.states[-1][1:]
        if event.get('state') == 'dead' or event.get('wait') == 'exit':
            thread.died = time
            thread.put(time, 'absent')
        elif event.get('state', 'running') == 'running':
            throttled = 'throttled' in flags(event) or event.get('wait') == 'throttled'
            if event.get('wait') == 'yield':
                thread.yields.append(time)
            thread.put(time, 'throttled' if throttled else 'runnable', None, cpu)
        else:
            wait = Wait(thread, time, event)
            thread.waits.append(wait)
            thread.put(time, 'stopped' if wait.kind == 'stop' else 'waiting', wait, cpu)

    def arrive(self, thread, time, cpu):
        if thread.state() in ('waiting', 'stopped'):
            wait = thread.states[-1][1]
            early = thread.early
            if early and wait.event and wait.event['type'] == 'switch':
                # Woken before it had left the processor.
                wait.end, wait.wake = wait.start, early
                self.ended[early['number']] = wait
                thread.put(wait.start, 'runnable', None, cpu)
            else:
                wait.end = time
        thread.early = None
        thread.put(time, 'running', None, cpu)

    def wake_up(self, thread, time, event):
        wait = thread.states[-1][1]
        wait.end, wait.wake = time, event
        if event:
            self.ended[event['number']] = wait
        thread.early = None
        thread.put(time, 'runnable')

    def on_wake(self, event, time):
        thread = self.known(event.get('target', 0), event)
        if not thread.states:
            wait = Wait(thread, max(self.start, thread.born), None)
            thread.waits.append(wait)
            thread.put(wait.start, 'waiting', wait)
        if thread.state() in ('waiting', 'stopped'):
            self.wake_up(thread, time, event)
        elif thread.state() == 'running':
            thread.early = event

    def on_fuse_send(self, event, time):
        thread = self.known(event['tid'], event)
        self.fuse[event['unique'], event.get('connection')] = thread
        thread.fuse.add((event['unique'], event.get('connection')))

    def on_fuse_asked(self, event, time):
        """Found open while the thread waits for it."""
        self.on_fuse_send(event, time)
        if self.known(event['tid'], event).waits:
            self.known(event['tid'], event).waits[-1].asked_fuse = True

    def on_call_held(self, event, time):
        waits = self.known(event['tid'], event).waits
        if waits:
            waits[-1].fields.update(wait='supervised', object=event.get('object'))

    def on_fuse_end(self, event, time):
        key = event.get('unique'), event.get('connection')
        thread = self.fuse.pop(key, None)
        if thread:
            thread.fuse.discard(key)

    def on_throttle(self, event, time):
        self.throttles.append(event)
        thread = self.thread(event.get('target', 0), time)
        if thread and thread.state() in ('runnable', 'throttled'):
            thread.put(time, 'throttled' if event.get('throttled') else 'runnable')

    def on_cgroup(self, event, time):
        self.cgroups[event.get('cgroup')] = event

    def on_sample(self, event, time):
        if event['tid']:
            self.known(event['tid'], event).samples.append(event)

    def on_message(self, event, time):
        self.messages.append(event)

    on_queue_message = on_message

    def on_descriptor(self, event, time):
        self.descriptors.append(event)

    def on_signal(self, event, time):
        self.signals.append(event)

    def on_deliver(self, event, time):
        self.delivered.append(event)

    def on_file_lock(self, event, time):
        self.locks.append(event)

    on_lock_held = on_file_lock

    def on_gap(self, event, time):
        self.gaps.append((event.get('from_ns', time), event.get('to_ns', time), event.get('lost', 0)))

    # ---- questions ----

    def times(self, thread, start, end):
        """ns by state; a wait counts as 'waiting'."""
        result = dict.fromkeys(('running', 'runnable', 'throttled', 'waiting', 'stopped', 'absent', 'unknown'), 0)
        for low, high, state, _, _ in thread.spans(start, end):
            result[state] += high - low
        result['runnable'] += result['throttled']
        result['unknown'] = end - start - sum(result[s] for s in ('running', 'runnable', 'waiting', 'stopped', 'absent'))
        return result

    def waits_in(self, thread, start, end):
        """(from, to, wait) of its waits in the window, by the spans."""
        return [(low, high, wait) for low, high, state, wait, _ in thread.spans(start, end) if state in ('waiting', 'stopped')]

    def lost_ns(self, start, end):
        covered, lost = start, 0
        for low, high, _ in sorted(self.gaps):
            low, high = max(low, covered), min(high, end)
            if high > low:
                lost, covered = lost + high - low, high
        return lost

    def stack(self, node):
        """(function or place, module's file name) from the innermost frame on."""
        if self.names is None:
            self.names = self.read_names()
        found = []
        while node in self.frames and len(found) < 512:
            module, address, node_up, _ = self.frames[node]
            path, build_id = self.modules.get(module, ('', ''))
            short = path.rsplit('/', 1)[-1] if path else ''
            name, begin = self.names.get((path, build_id, int(address, 16)), ('', None))
            found.append((name or f'{short or "?"}+0x{int(address, 16):x}', short))
            if not name and begin is not None:      # a function without a name is called by its begin
                found.append((f'{short}+0x{begin:x}', short))
            node = node_up
        return found

    def read_names(self):
        done = subprocess.run([self.argus, 'symbolize', '--json', '--no-lines', self.path], capture_output=True, stdin=subprocess.DEVNULL)
        try:
            frames = json.loads(done.stdout)['frames']
        except (ValueError, KeyError):
            return {}
        return {(f['module'], f['build_id'], f['address']): (f['function'] + ('~' if f['guessed'] and f['function'] else ''), f['function_start'])
                for f in frames}


def brief(name):
    """A demangled name without parameters and template arguments, for comparisons."""
    name = re.sub(r'\[clone[^]]*\]|~$', '', name)
    before = None
    while before != name:
        before, name = name, re.sub(r'\([^()]*\)(?!::)| const\b|<[^<>]*>', '', name)
    return name.strip().rsplit(' ', 1)[-1] if '::' in name else name.strip()
