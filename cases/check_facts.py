"""Who a thread is, in which state it was for how long, what stood on its stacks: what an answer
claims of threads, held against the events (see check_answer.py)."""
import re

import replay
from check_words import MS, WAITS, OBJECTS, TIME, at_most, is_near, show, escaped


BETWEEN = ', with other work in between'


SOCKETS = {5: 'unix_stream', 6: 'unix_dgram', 7: 'unix_seqpacket', 8: 'tcp', 9: 'udp', 10: 'netlink', 11: 'socket'}


def polled(wait):
    """The first thing that a poll waits on, as other events call it: its kind stands in the highest byte."""
    detail = wait.fields.get('detail')
    number = int(detail, 16) if wait.kind == 'poll' and isinstance(detail, str) else 0
    return f'{SOCKETS[number >> 56]}:{number & (1 << 56) - 1:x}' if number >> 56 in SOCKETS else ''


class Facts:
    """An answer and its trace; what is wrong is said once."""
    def __init__(self, trace, answer):
        self.trace, self.answer = trace, answer
        self.found = []
        window = answer.get('window') or {}
        self.start, self.end = window.get('start_ns', 0), window.get('end_ns', 0)
        self.length = self.end - self.start
        self.lost = trace.lost_ns(self.start, self.end)
        self.served = set()      # threads told to have had other work in between

    def say(self, text):
        if text not in self.found:
            self.found.append(text)

    # ---- who ----

    def actor(self, actor, what, when=None):
        """The thread of an actor of the document, and whether the trace calls it so in the
        window, or at the time of its deed."""
        if not actor.get('tid'):
            return None
        thread = None
        for one in self.trace.by_tid.get(actor['tid'], ()):
            if one.born <= max(self.end, self.start) and (one.died is None or one.died + 1000 * MS >= self.start or not thread):
                thread = one
        if not thread:
            self.say(f'{what}: no thread {actor["tid"]} in the trace')
            return None
        if actor.get('pid') and thread.pid != actor['pid']:
            self.say(f'{what}: thread {actor["tid"]} is of process {thread.pid}, not {actor["pid"]}')
        if actor.get('ppid') and thread.parent and actor['ppid'] not in thread.parents:
            self.say(f'{what}: the parent of {actor["tid"]} is {thread.parent}, not {actor["ppid"]}')
        self.called(thread, actor.get('comm'), what, when)
        return thread

    def called(self, thread, name, what, when=None, shown=str):
        names = thread.names_in(self.start, self.end) | ({thread.name_at(when)} if when else set())
        names = {shown(n) for n in names if n}
        if name == '?' and thread.names and thread.names[0][0] > self.start:
            return              # nobody had told yet
        if name is not None and names and name not in names:
            self.say(f'{what}: {thread.tid} is called {" or ".join(sorted(names))}, not {name}')

    def who(self, text, what, when=None):
        """The thread that words name."""
        found = re.fullmatch(r'(.*) \((?:pid (\d+)|thread (\d+) of process (\d+)(?:, (.*))?)\)', text)
        if not found:
            return None
        tid = int(found[2] or found[3])
        thread = self.actor({'tid': tid, 'pid': int(found[4]) if found[4] else 0, 'comm': None}, what)
        if not thread:
            return None
        self.called(thread, found[1], what, when, escaped)
        leader = found[5] is not None and self.actor({'tid': thread.pid, 'pid': thread.pid, 'comm': None}, what)
        if leader:
            self.called(leader, found[5], what, when, escaped)
        if found[2] and thread.pid not in (0, tid):
            self.say(f'{what}: {tid} is a thread of process {thread.pid}, no process')
        return thread

    # ---- states and places ----

    def waits(self, words):
        """(kinds, object's kind or None, object's name or None, function or None, repeats or None, rest)"""
        words = words.removesuffix(BETWEEN)
        function = times = None
        repeats = re.search(rf' again and again, (\d+) times, every ({TIME})', words)
        tail = words[repeats.end():] if repeats else words
        place = re.match(r'^(.*?), in (.+)$', tail)
        if place:
            function = place[2]
        if repeats:
            times = (int(repeats[1]), repeats[2])
            words = words[:repeats.start()]
        elif place:
            words = place[1]
        # of memory that processes share its name is told
        words = re.sub(r'^waiting on a futex in (?:shared memory without a name$)?', 'waiting on a futex on futex ', words).strip()
        for prefix in sorted(WAITS, key=len, reverse=True):
            if words == prefix or words.startswith(prefix + ' on '):
                thing = words[len(prefix) + 4:]
                kind, name = None, None
                for text in sorted(list(OBJECTS) + sorted({o.split(':')[0] for o in self.objects()}), key=len, reverse=True):
                    if thing == text or thing.startswith(text + ' '):
                        kind, name = OBJECTS.get(text, text), thing[len(text) + 1:]
                        break
                if thing and not kind:
                    self.say(f'"{words}": no object of the trace is so called')
                return WAITS[prefix].split(), kind, name or None, function, times
        return None

    def objects(self):
        return [d.get('object', '') for d in self.trace.descriptors] + ['pipe:', 'eventfd:', 'futex:', 'file:', 'socket:', 'device:',
                                                                       'directory:', 'timerfd:', 'signalfd:', 'pidfd:']

    def is_such(self, wait, kinds, kind, name):
        if kinds == ['gil']:
            return wait.kind == 'futex' and wait.fields.get('hint_kind') == 'interpreter_lock'
        if wait.kind not in kinds:
            return False
        thing = wait.fields.get('object', '') or polled(wait)
        if kind and thing.split(':')[0] != kind:
            return False
        if name:
            called = {escaped((d.get('text') or '')) for d in self.trace.descriptors if d.get('object') == thing}
            return name in called or not called
        return True

    def on_stack(self, name, nodes):
        """The function, as texts call it, stands on one of the stacks."""
        wanted = replay.brief(re.sub(r' \([^()]*\)$', '', name))
        alias = wanted.lstrip('_').removesuffix('64')       # one function of the C library by several names
        for node in nodes:
            for function, module in self.trace.stack(node):
                if escaped(replay.brief(function)) == wanted or function == name or escaped(function) == wanted or replay.brief(function) == wanted or \
                        replay.brief(function).lstrip('_').removesuffix('64') == alias:
                    return True
        return False

    def in_state(self, thread, words, start, end, what):
        """ns that the thread was in the state in words, and the waits; None: words not known."""
        if words.startswith('computing') or words in ('running', 'spinning') or words.startswith('spinning'):
            return self.trace.times(thread, start, end)['running'], []
        if words in ('runnable', 'waiting for a processor') or words.startswith('runnable, '):
            times = self.trace.times(thread, start, end)
            return times['throttled' if 'throttled' in words else 'runnable'], []
        if words in ('absent', 'not born yet', 'ended'):
            times = self.trace.times(thread, start, end)
            return times['absent'] + times['unknown'], []
        if words in ('unknown', 'not seen'):
            return self.trace.times(thread, start, end)['unknown'] + self.trace.lost_ns(start, end), []
        if words == 'throttled':
            return self.trace.times(thread, start, end)['throttled'], []
        known = self.waits(words)
        if not known:
            self.say(f'{what}: "{words}" says no state that is known')
            return None, []
        kinds, kind, name, _, _ = known
        waits = [(low, high, w) for low, high, w in self.trace.waits_in(thread, start, end) if self.is_such(w, kinds, kind, name)]
        return sum(high - low for low, high, _ in waits), waits

    def wait_words(self, thread, words, least, what):
        """The thread did so, for so long; at that place; so many times."""
        if words.endswith(BETWEEN):     # it served others too: not all of the time
            words, least = words.removesuffix(BETWEEN), least / 2
            self.served.add(thread.tid)
        ns, waits = self.in_state(thread, words, self.start, self.end, what)
        known = self.waits(words)
        if ns is None or not known:
            return
        kinds, kind, name, function, times = known
        if times:               # between the waits of a loop it only looks again
            ns = times[0] * at_most(times[1]) * 1.05    # told with two digits
        if ns + max(25 * MS, least * 0.02) + self.lost < least or not ns:
            self.say(f'{what}: "{words}", which it was for {show(ns)} of the window, and {show(least)} are charged through it')
        if function and waits and not self.on_stack(function, {w.fields.get('ustack') for _, _, w in waits}):
            self.say(f'{what}: "{function}" is on no stack of those waits')
        if times and waits:
            self.repeats(thread, kinds, times, what)

    def repeats(self, thread, kinds, times, what):
        count, every = times
        # until the child by which it sleeps is another program: a part of its look
        waits = [w for w in thread.waits if w.kind in kinds or w.kind != 'vfork']
        # and so are the children by which it looks, where it sleeps by others
        slept = [w for w in waits if w.kind in kinds and (w.end or self.trace.end) - w.start > at_most(every) / 2]
        for row in [row[first:first + count] for row in (waits, slept) for first in range(len(row) - count + 1)]:
            last = row[-1].end or self.trace.end
            if row[0].start < self.end and last > self.start and all(self.is_such(w, kinds, None, None) for w in (row[0], row[-1])):
                for start in (row[0].start, max(row[0].start, self.trace.start)):
                    if is_near(every, (last - start) / count, 0.02):
                        return
        self.say(f'{what}: it did not wait so {count} times, every {every}')
