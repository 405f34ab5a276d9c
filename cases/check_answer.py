#!/usr/bin/env python3
"""Holds an answer of `argus why` against the events of its trace.

usage: cases/check_answer.py [--argus FILE] TRACE [ANSWER.json | -- WHY-OPTION...]

Every sentence of the answer's `text` is read by a grammar (GRAMMAR below) and each of its
claims compared with what replay.py finds in the events alone: durations, states, kinds of
waits, functions, names and numbers of threads, circles, timeouts, who woke and sent, sums.
So are the members of `--json`. A sentence that the grammar does not know is a finding, too,
and so is one that says less than is known. Without ANSWER.json it asks itself. One line a
finding; the status is 1 when there is any."""
import argparse
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import replay  # noqa: E402  (beside this file)
from check_links import LINKS, check_link, check_deed  # noqa: E402

MS = 1000000
WAITS = {
    'waiting on a futex': 'futex', 'waiting to read': 'read', 'waiting to write': 'write', 'waiting in poll': 'poll',
    'waiting in epoll_wait': 'epoll', 'sleeping': 'sleep', 'waiting for a child': 'child',
    'waiting for its vfork child to exec': 'vfork', 'waiting in a page fault': 'fault', 'waiting for block I/O': 'block_io',
    'waiting for a lock in the kernel': 'kernel_lock', 'waiting for a file lock': 'file_lock',
    'waiting for connections': 'accept', 'connecting': 'connect', 'waiting for a signal': 'signal',
    'waiting on a message queue': 'queue', 'waiting on a semaphore': 'semaphore',
    'waiting for a user-space file system': 'fuse', 'waiting for io_uring': 'uring', 'idle': 'worker', 'ended': 'exit',
    'waiting in splice': 'splice', 'waiting for data to reach the disk': 'sync', 'throttled': 'throttled',
    'yielding': 'yield', 'waiting in ioctl': 'ioctl', 'waiting to open a file': 'open', 'stopped': 'stop', 'waiting': 'none other',
}
OBJECTS = {'FIFO': 'fifo', 'Unix socket': 'unix_stream', 'Unix datagram socket': 'unix_dgram', 'Unix seqpacket socket': 'unix_seqpacket',
           'TCP socket': 'tcp', 'UDP socket': 'udp', 'netlink socket': 'netlink', 'epoll set': 'epoll', 'inotify group': 'inotify',
           'terminal': 'tty', 'message queue': 'queue', 'semaphore set': 'semaphore', 'io_uring': 'uring', 'FUSE connection': 'fuse'}
VERDICTS = {
    'was busy computing': 'busy', 'had work to do, on processors that it shared with too many others': 'busy', 'was waiting': 'waiting',
    'looked again and again for something that did not come': 'yield', 'could have run but was given no processor': 'starved',
    'was waiting for input or output': 'io', 'did nothing wrong': 'none',
}
SOURCES = {'its own time limit': 'timeout', 'a timer': 'timer', 'a packet from outside': 'network', 'a device': 'device',
           'block device I/O': 'block_io', "the kernel's housekeeping": 'rcu', 'a kernel worker': 'work', 'an interrupt': ''}
NO_HANG = ('No hang found:', 'This process did not hang', 'Nothing hung at that time')

ONE = r'.{1,90}? \((?:pid \d+|thread \d+ of process \d+)\)'
TIME = r'(?:\d+\.\d{3} s|\d+\.\d ms|\d+ us)'
LINK = '|'.join(re.escape(words) for words in sorted(LINKS, key=len, reverse=True))
GRAMMAR = [(name, re.compile(text)) for name, text in (
    ('verdict', rf'(?P<who>{ONE}) was stuck for (?P<time>{TIME}): it (?P<words>{"|".join(map(re.escape, VERDICTS))})\.'),
    ('path', rf' (?P<who>It|{ONE}) was (?P<words>.+?); (?P<next>{ONE}) (?P<link>{LINK})(?: \(event (?P<event>\d+)\))?\.(?= |$)'),
    ('nobody', r' Nothing in the trace tells who should have ended this: it was (?P<words>.+?)\.(?= [A-Z]|$)'),
    ('quota', rf' The culprit is the processor quota: (?:the )?control group(?: (?P<path>\S+))?, throttled: its processor quota of '
              rf'(?P<quota>{TIME}) in each (?P<period>{TIME}) is used up\.(?: Most of the quota went to (?P<who>{ONE})\.)?'),
    ('quota_unknown', rf" The culprit is the processor quota: (?:the control group's processor quota, used up: )?throttled\."
                      rf'(?: Most of the quota went to (?P<who>{ONE})\.)?'),
    ('source', rf' The time went to (?P<source>.+?), on which (?P<who>{ONE}) was waiting\.'),
    ('itself', rf' It waits for itself: no other thread could have ended the wait of (?P<circle>{ONE})'
               rf'(?:\. Only a timeout of (?P<time>{TIME}) broke it)?\.'),
    ('circle', rf' They wait for each other in a circle: (?P<circle>{ONE}(?: -> {ONE})+)(?:\. Only a timeout of (?P<time>{TIME}) broke it)?\.'),
    ('culprit', rf' The culprit is (?P<who>{ONE})(?: in (?P<function>.+?))?(?: at (?P<file>\S+):(?P<line>\d+))?(?:, below it (?P<inner>.+?))?'
                rf'(?:, which had the processor that (?P<needs>{ONE}|it) needed'
                rf'|, (?P<words>[^;]+?) for (?P<time>{TIME})(?: and (?P<words2>[^;]+?) for (?P<time2>{TIME}))? of that time)?'
                rf'(?:, (?P<share>\d+) % of its processor time there)?; it is (?P<place>the victim itself|in the same process|in another process)\.'
                rf'(?: This is a guess \(confidence (?P<confidence>\d+) %\)\.)?'),
    ('no_stacks', r' In which function is not known: no stacks were recorded\.'),
    ('similar', rf' A similar wait, at (?P<at>\d+\.\d{{3}}) s(?: of (?P<trace>.+?))?, took (?P<time>{TIME})(?P<steps>: .+?)?\.(?= This time| What| Of the| In the|$)'),
    ('this_time', rf' This time (?P<who>{ONE}|\S+)(?P<rest> .+?) and did not do so\.'),
    ('trigger', rf' (?:What set it off|Also): (?P<who>{ONE}|\S+) (?P<words>.+?)(?: \(event (?P<event>\d+)\))?\.(?= [A-Z]|$)'),
    ('unexplained', rf' Of the window (?P<unknown>{TIME}) is unexplained and (?P<lost>{TIME}) lost\.'),
    ('losses', rf' In the window (?P<count>\d+) events were lost, at most (?P<time>{TIME}) at a time: what happened there is not in the trace\.'),
)]
ORDER = {name: place for place, name in enumerate(
    'verdict path nobody quota source itself circle culprit no_stacks similar this_time trigger unexplained losses'.split())}


def nanoseconds(text):
    number, unit = text.split()
    return round(float(number) * {'s': 1e9, 'ms': 1e6, 'us': 1e3}[unit])


def step_of(text):
    """How exactly a printed time is told."""
    return {'s': MS, 'ms': MS // 10, 'us': 1000}[text.split()[1]]


def is_near(text, truth, share=0.005):
    """A printed time is cut, not rounded."""
    return abs(nanoseconds(text) - truth) <= step_of(text) + max(20000, truth * share)


def show(ns):
    return f'{ns / 1e9:.3f} s'


class Checker:
    def __init__(self, trace, answer):
        self.trace, self.answer = trace, answer
        self.found = []
        window = answer.get('window') or {}
        self.start, self.end = window.get('start_ns', 0), window.get('end_ns', 0)
        self.length = self.end - self.start
        self.lost = trace.lost_ns(self.start, self.end)

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
        if actor.get('ppid') and thread.parent and actor['ppid'] != thread.parent:
            self.say(f'{what}: the parent of {actor["tid"]} is {thread.parent}, not {actor["ppid"]}')
        self.called(thread, actor.get('comm'), what, when)
        return thread

    def called(self, thread, name, what, when=None, shown=str):
        names = thread.names_in(self.start, self.end) | ({thread.name_at(when)} if when else set())
        names = {shown(n) for n in names if n}
        if name is not None and names and name not in names:
            self.say(f'{what}: {thread.tid} is called {" or ".join(sorted(names))}, not {name}')

    def who(self, text, what, when=None):
        """The thread that words name."""
        found = re.fullmatch(r'(.*) \((?:pid (\d+)|thread (\d+) of process (\d+))\)', text)
        if not found:
            return None
        tid = int(found[2] or found[3])
        thread = self.actor({'tid': tid, 'pid': int(found[4]) if found[4] else 0, 'comm': None}, what)
        if not thread:
            return None
        self.called(thread, found[1], what, when, escaped)
        if found[2] and thread.pid not in (0, tid):
            self.say(f'{what}: {tid} is a thread of process {thread.pid}, no process')
        return thread

    # ---- states and places ----

    def waits(self, words):
        """(kinds, object's kind or None, object's name or None, function or None, repeats or None, rest)"""
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
        if wait.kind not in kinds:
            return False
        thing = wait.fields.get('object', '')
        if kind and thing.split(':')[0] != kind:
            return False
        if name:
            called = {escaped((d.get('text') or '')) for d in self.trace.descriptors if d.get('object') == thing}
            return name in called or not called
        return True

    def on_stack(self, name, nodes):
        """The function, as texts call it, stands on one of the stacks."""
        wanted = replay.brief(re.sub(r' \([^()]*\)$', '', name))
        for node in nodes:
            for function, module in self.trace.stack(node):
                if escaped(replay.brief(function)) == wanted or function == name or escaped(function) == wanted or replay.brief(function) == wanted:
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
        if words == 'unknown':
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
        ns, waits = self.in_state(thread, words, self.start, self.end, what)
        known = self.waits(words)
        if ns is None or not known:
            return
        kinds, kind, name, function, times = known
        if times:               # between the waits of a loop it only looks again
            ns = times[0] * nanoseconds(times[1])
        if ns + max(25 * MS, least * 0.02) + self.lost < least or not ns:
            self.say(f'{what}: "{words}", which it was for {show(ns)} of the window, and {show(least)} are charged through it')
        if function and waits and not self.on_stack(function, {w.fields.get('ustack') for _, _, w in waits}):
            self.say(f'{what}: "{function}" is on no stack of those waits')
        if times and waits:
            self.repeats(thread, kinds, times, what)

    def repeats(self, thread, kinds, times, what):
        count, every = times
        for first in range(len(thread.waits) - count + 1):
            row = thread.waits[first:first + count]
            last = row[-1].end or self.trace.end
            if row[0].start < self.end and last > self.start and all(w.kind in kinds for w in (row[0], row[-1])):
                for start in (row[0].start, max(row[0].start, self.trace.start)):
                    if is_near(every, (last - start) / count, 0.02):
                        return
        self.say(f'{what}: it did not wait so {count} times, every {every}')

    # ---- sentences ----

    def read_text(self):
        text, at, seen, before = self.answer.get('text') or '', 0, [], 0
        if self.answer.get('verdict') == 'none':
            if not text.startswith(NO_HANG):
                self.say(f'not understood: "{text[:120]}"')
            return seen
        while at < len(text):
            best = None
            for name, pattern in GRAMMAR:
                match = pattern.match(text, at)
                if match and (not best or ORDER.get(name.replace('_unknown', ''), 0) >= before):
                    best = best or (name, match)
            if not best:
                end = re.compile(r'\. (?=[A-Z])').search(text, at + 1)
                end = end.start() + 1 if end else len(text)
                self.say(f'not understood: "{text[at:end].strip()}"')
                at = max(end, at + 1)
                continue
            seen.append(best)
            before = ORDER.get(best[0].replace('_unknown', ''), 0)
            at = best[1].end()
        for name, match in seen:
            getattr(self, 'say_' + name)(match)
        return seen

    def say_verdict(self, m):
        victim = self.who(m['who'], 'the victim')
        if (self.answer.get('victim') or {}).get('tid') != (victim.tid if victim else None):
            self.say('the victim of the text is not that of the document')
        if not is_near(m['time'], self.length, 0):
            self.say(f'stuck for {m["time"]}: the window has {show(self.length)}')
        if VERDICTS[m['words']] != self.answer.get('verdict'):
            self.say(f'it {m["words"]}: the verdict is {self.answer.get("verdict")}')
        if victim:
            self.verdict(victim, m['words'])

    def verdict(self, victim, words):
        times = self.trace.times(victim, self.start, self.end)
        kind = VERDICTS[words]
        asleep = times['waiting'] + times['stopped'] + times['unknown']
        most = {'busy': times['running'] + times['runnable'], 'starved': times['runnable'], 'waiting': asleep,
                'io': asleep}.get(kind, self.length)
        if most * 20 < self.length * 9 - self.lost * 20 and most < max(times['running'], times['runnable'], asleep):
            self.say(f'it {words}: that was {show(most)} of {show(self.length)}')
        if words.startswith('had work') and times['runnable'] <= times['running']:
            self.say(f'it {words}: it ran for {show(times["running"])} and waited for a processor for {show(times["runnable"])}')
        if kind == 'io':
            io = sum(high - low for low, high, w in self.trace.waits_in(victim, self.start, self.end)
                     if w.kind in ('block_io', 'sync') or (w.wake or {}).get('cause') == 'block_io' or 'io_wait' in replay.flags(w.fields))
            if io * 20 < asleep * 9:
                self.say(f'it {words}: that was {show(io)} of {show(self.length)}')
        if kind == 'yield' and times['running'] * 2 < self.length:
            waits = [w for _, _, w in self.trace.waits_in(victim, self.start, self.end)]
            if len(waits) < 3:
                self.say(f'it {words}: it waited only {len(waits)} times')

    def say_path(self, m):
        path = self.answer.get('path') or []
        if not hasattr(self, 'at_step'):
            self.at_step = 0
        at = self.at_step
        self.at_step += 1
        if at + 1 >= len(path):
            self.say('the text has more steps than the path of the document')
            return
        if m['who'] == 'It':
            thread = self.actor(path[0], 'the victim')
            if at:
                self.say('"It" is not the victim here')
        else:
            thread = self.who(m['who'], f'step {at + 1}')
        following = self.who(m['next'], f'step {at + 2}')
        if not thread or not following:
            return
        for shown, step in ((thread, path[at]), (following, path[at + 1])):
            if shown.tid != step.get('tid'):
                self.say(f'the text names {shown.tid}, the path of the document {step.get("tid")}')
        event = int(m['event']) if m['event'] else 0
        if event != path[at + 1].get('event', 0):
            self.say(f'event {event} in the text, {path[at + 1].get("event")} in the path of the document')
        words, what = m['words'], f'{m["who"]} was {m["words"]}'
        charged = path[at + 1].get('charged_ns', 0)
        if words not in ('passing it on',) and not words.startswith('spinning'):
            self.wait_words(thread, words, charged, what) if words != 'not born yet' else self.unborn(thread, what)
        elif words.startswith('spinning') and ' in ' in words:
            function = re.match(r'spinning in (.+?), looking', words)
            if function and not self.on_stack(function[1], self.sampled(thread)):
                self.say(f'{what}: "{function[1]}" is in no sample')
        check_link(self, thread, following, m['link'], event, words)

    def unborn(self, thread, what):
        if thread.born <= self.start:
            self.say(f'{what}: it lived since {show(thread.born - self.trace.start)}')

    def say_nobody(self, m):
        if (self.answer.get('culprit') or {}).get('kind') != 'unknown':
            self.say('nobody is named, but the document has a culprit')
        path = self.answer.get('path') or []
        thread = self.actor(path[-1] if path else self.answer.get('victim') or {}, 'the last of the path')
        if thread and m['words'] != 'waiting' and not m['words'].startswith(('computing', 'spinning', 'runnable')):
            self.wait_words(thread, m['words'], (path[-1].get('charged_ns', 0) if path else 0) / 2, f'it was {m["words"]}')

    def say_quota(self, m):
        quotas = [e for e in list(self.trace.cgroups.values()) + self.trace.throttles if e.get('quota_ns')]
        if not any(is_near(m['quota'], e['quota_ns']) and is_near(m['period'], e.get('period_ns', 0)) for e in quotas):
            self.say(f'no control group has a quota of {m["quota"]} in each {m["period"]}')
        if m['path'] and not any(escaped(e.get('text') or '') == m['path'] for e in self.trace.cgroups.values()):
            self.say(f'no control group is called {m["path"]}')
        self.say_quota_unknown(m)

    def say_quota_unknown(self, m):
        if not self.trace.throttles and not any(t.states for ts in self.trace.by_tid.values() for t in ts
                                               if any(s[0] == 'throttled' for s in t.states)):
            self.say('nothing was throttled')
        if not m['who']:
            return
        hog = self.who(m['who'], 'most of the quota')
        if not hog:
            return
        mine = [t for ts in self.trace.by_tid.values() for t in ts if t.cgroup == hog.cgroup]
        ran = {t: self.trace.times(t, self.start, self.end)['running'] for t in mine}
        if ran and ran[hog] < max(ran.values()) * 0.7:
            most = max(ran, key=ran.get)
            self.say(f'most of the quota went to {most.tid} ({show(ran[most])}), not to {hog.tid} ({show(ran[hog])})')

    def say_source(self, m):
        thread = self.who(m['who'], 'who waited for the source')
        if m['source'] not in SOURCES:
            self.say(f'"{m["source"]}" is no source')
        elif thread and SOURCES[m['source']]:
            causes = [(w.wake or {}).get('cause') for _, _, w in self.trace.waits_in(thread, self.start, self.end)]
            if SOURCES[m['source']] not in causes:
                self.say(f'no wait of {thread.tid} in the window was ended by {m["source"]}')

    def say_itself(self, m):
        self.circle([self.who(m['circle'], 'who waits for itself')], m['time'])

    def say_circle(self, m):
        words = m['circle'].split(' -> ')
        if words[0] != words[-1] or len(words) < 3:
            self.say('the circle is not closed')
        self.circle([self.who(word, 'the circle') for word in words[:-1]], m['time'])

    def circle(self, members, timeout):
        if [t.tid for t in members if t] != [a.get('tid') for a in self.answer.get('circle') or []]:
            self.say('the circle of the text is not that of the document')
        if not all(members):
            return
        if len({t.tid for t in members}) != len(members):
            self.say('a thread stands twice in the circle')
        # All wait at the same time: the longest stretch in which they do.
        stretches = [(self.start, self.end, ())]
        for thread in members:
            own = self.trace.waits_in(thread, self.start, self.end)
            stretches = [(max(low, a), min(high, b), waits + (w,)) for low, high, waits in stretches for a, b, w in own
                         if min(high, b) > max(low, a)]
        if not stretches:
            self.say('a circle: at no time of the window did all of its members wait')
            return
        longest = max(stretches, key=lambda s: s[1] - s[0])
        if (longest[1] - longest[0]) * 20 < self.length:
            self.say(f'a circle: all of its members waited at once for {show(longest[1] - longest[0])} at most')
        for thread, wait, following in zip(members, longest[2], members[1:] + members[:1]):
            by = (wait.wake or {})
            if by.get('cause', 'thread') in ('thread', 'unknown', 'own_send') and by.get('tid') and not by.get('context') and len(members) > 1 and \
                    by['tid'] not in {t.tid for t in members} and (wait.end or self.end) < self.end - 5 * MS:
                waker = self.trace.thread(by['tid'], by['time_ns'])
                if waker and not waker.kernel and waker.pid not in {t.pid for t in members}:
                    self.say(f'a circle: {thread.tid} waits for {following.tid}, but {by["tid"]} ended its wait (event {by["number"]})')
        if timeout:
            self.timeout(stretches, timeout)

    def timeout(self, stretches, text):
        """What ended a stretch in which all waited was a wait of such a length that ran out."""
        for low, high, waits in stretches:
            first = min(waits, key=lambda w: w.end or self.trace.end)
            if (high - low) * 20 >= self.length and first.end and (first.wake or {}).get('cause') in ('timeout', 'timer') and \
                    is_near(text, first.end - first.start, 0.02):
                return
            # Slices of one timed wait, and loops that look again.
            if (high - low) * 20 >= self.length and any(is_near(text, (w.end or 0) - w.start, 0.02) and (w.wake or {}).get('cause') == 'timeout'
                                                       for w in waits if w.end and w.end <= (first.end or 0) + 50 * MS):
                return
        longest = max(stretches, key=lambda s: s[1] - s[0])
        first = min(longest[2], key=lambda w: w.end or self.trace.end)
        cause = (first.wake or {}).get('cause') or ('nothing' if not first.wake else 'a thread')
        self.say(f'"Only a timeout of {text} broke it": it ended with the wait of {first.thread.tid}, '
                 f'of {show((first.end or self.trace.end) - first.start)}, by {cause}')

    def sampled(self, thread):
        return {node for s in thread.samples if self.start <= s['time_ns'] <= self.end for node in (s.get('ustack'), s.get('kstack'))}

    def say_culprit(self, m):
        culprit, victim = self.who(m['who'], 'the culprit'), self.actor(self.answer.get('victim') or {}, 'the victim')
        document = self.answer.get('culprit') or {}
        if not culprit or not victim:
            return
        if culprit.tid != document.get('tid'):
            self.say(f'the culprit of the text is {culprit.tid}, that of the document {document.get("tid")}')
        place = 'the victim itself' if culprit is victim else 'in the same process' if culprit.pid == victim.pid else 'in another process'
        if m['place'] != place:
            self.say(f'the culprit is {place}, not {m["place"]}')
        if m['confidence'] and int(m['confidence']) != document.get('confidence'):
            self.say(f'confidence {m["confidence"]} % in the text, {document.get("confidence")} % in the document')
        if (document.get('confidence', 100) < 60) != bool(m['confidence']):
            self.say(f'with a confidence of {document.get("confidence")} % it is {"" if not m["confidence"] else "no "}guess')
        if m['words'] and m['time']:
            self.charged(culprit, m['words'], m['time'], m['function'])
            if m['words2']:
                self.charged(culprit, m['words2'], m['time2'], None)
            elif not m['words'].startswith('computing ('):
                self.left_out(culprit, nanoseconds(m['time']))
        if m['needs'] and m['needs'] != 'it':
            self.processor(culprit, self.who(m['needs'], 'who needed the processor'))
        self.function(culprit, m, document)

    def own_links(self, culprit):
        return [(max(l['start_ns'], self.start), min(l['end_ns'], self.end)) for l in self.answer.get('chain') or []
                if l.get('tid') == culprit.tid]

    def charged(self, culprit, words, text, function):
        """"for X of that time": the sum of what it was charged with, in that state."""
        what = f'the culprit, "{words} for {text}"'
        bare = re.sub(r' \(it ran .*\)$', '', words)
        links, waits, ns = self.own_links(culprit), [], 0
        for low, high in links:
            part, some = self.in_state(culprit, bare, low, high, what)
            if part is None:
                return
            ns, waits = ns + part, waits + some
        if not links:
            return
        if not is_near(text, ns, 0.01) and abs(nanoseconds(text) - ns) > self.lost + 2 * MS:
            self.say(f'{what}: it was charged with {show(ns)} of that')
        ran = re.search(rf'\(it ran ({TIME}) and waited for a processor ({TIME})\)', words)
        if ran:
            times = [self.trace.times(culprit, low, high) for low, high in links]
            for shown, state in ((ran[1], 'running'), (ran[2], 'runnable')):
                if not is_near(shown, sum(t[state] for t in times), 0.02):
                    self.say(f'{what}: it was {state} for {show(sum(t[state] for t in times))}')
        if function and waits and not self.on_stack(function, {w.fields.get('ustack') for _, _, w in waits}):
            self.say(f'{what}: "{function}" is on no stack of those waits')
        known = self.waits(bare)
        if known and known[3] and waits and not self.on_stack(known[3], {w.fields.get('ustack') for _, _, w in waits}):
            self.say(f'{what}: "{known[3]}" is on no stack of those waits')
        if known and known[4]:
            self.repeats(culprit, known[0], known[4], what)

    def left_out(self, culprit, told_ns):
        """Half of what it was charged with must not go untold."""
        links = self.own_links(culprit)
        total = sum(high - low for low, high in links)
        if told_ns * 2 < total - self.lost:
            self.say(f'the culprit is charged with {show(total)}, and only {show(told_ns)} of that are told')

    def processor(self, hog, starved):
        """While the one could have run, the other had its processor."""
        if not starved:
            return
        queued = had = 0
        for low, high, state, _, _ in starved.spans(self.start, self.end):
            if state not in ('runnable', 'throttled'):
                continue
            queued += high - low
            had += sum(b - a for a, b, s, _, _ in hog.spans(low, high) if s == 'running')
        if not queued:
            self.say(f'{starved.tid} never stood in the queue for a processor')
        elif had * 4 < queued:
            self.say(f'{hog.tid} had a processor for {show(had)} of the {show(queued)} in which {starved.tid} could have run')

    def function(self, culprit, m, document):
        """Named where it is known; and it was there."""
        text, name, module = m['function'], document.get('function'), document.get('module')
        nodes = {w.fields.get(k) for low, high in self.own_links(culprit) or [(self.start, self.end)]
                 for _, _, w in self.trace.waits_in(culprit, low, high) for k in ('ustack', 'kstack')}
        nodes |= self.sampled(culprit)
        nodes = {n for n in nodes if n}
        if name and not text:
            self.say(f'vague: the culprit was in {name}, which the text does not say')
        elif text and not name:
            self.say(f'the text names a function, {text}; the document none')
        elif text:
            bare = re.sub(r' \([^()]*\)$', '', text)
            if replay.brief(bare) != escaped(replay.brief(name)) and bare != name:
                self.say(f'function {bare} in the text, {name} in the document')
            said = re.search(r' \(([^()]*)\)$', text)
            if said and module and said[1] != escaped(module):
                self.say(f'module {said[1]} in the text, {module} in the document')
            if not self.on_stack(name, nodes):
                self.say(f'the culprit was never seen in {name}')
            elif module and not any(mod == module for n in nodes for f, mod in self.trace.stack(n) if replay.brief(f) == replay.brief(name)):
                self.say(f'{name} is not of {module}')
        elif nodes and not m['needs'] and any(mod and '+0x' not in f for n in nodes for f, mod in self.trace.stack(n)):
            self.say('vague: no function is named, though stacks of the culprit are there')
        if m['inner'] and not self.on_stack(m['inner'], nodes):
            self.say(f'the culprit was never seen in {m["inner"]}')
        if m['share'] and name:
            samples = [s for s in culprit.samples if self.start <= s['time_ns'] <= self.end]
            inside = [s for s in samples if self.on_stack(name, [s.get('ustack'), s.get('kstack')])]
            if len(samples) >= 10 and abs(100 * len(inside) / len(samples) - int(m['share'])) > 12:
                self.say(f'{m["share"]} % of its processor time in {name}: {100 * len(inside) // len(samples)} % of its samples are')
        if m['line'] and (document.get('line') != int(m['line']) or os.path.basename(document.get('file') or '') != m['file']):
            self.say(f'{m["file"]}:{m["line"]} in the text, {document.get("file")}:{document.get("line")} in the document')

    def say_no_stacks(self, _):
        if len(self.trace.frames) > 1:
            self.say('stacks were recorded')

    def say_similar(self, m):
        baseline = self.answer.get('baseline') or {}
        took = baseline.get('end_ns', 0) - baseline.get('start_ns', 0)
        if not is_near(m['time'], took):
            self.say(f'a similar wait took {m["time"]}: the document says {show(took)}')
        if m['trace']:
            return
        if abs(float(m['at']) * 1e9 - (baseline.get('start_ns', 0) - self.trace.start)) > 1.1 * MS:
            self.say(f'a similar wait at {m["at"]} s: the document says {show(baseline.get("start_ns", 0) - self.trace.start)}')
        waiter = self.actor(baseline.get('waiter') or {}, 'who waited before', baseline.get('end_ns'))
        if waiter:
            asleep = sum(h - l for l, h, _ in self.trace.waits_in(waiter, baseline['start_ns'], baseline['end_ns']))
            if asleep * 2 < took:
                self.say(f'{waiter.tid} did not wait from {show(baseline["start_ns"] - self.trace.start)} on for {m["time"]}')
        told = {step.get('event') for step in self.answer.get('path') or []} - {0, None}
        if baseline.get('end_event') in told:
            self.say(f'a similar wait: event {baseline["end_event"]} ended the wait that the path tells of, not one of another time')
        for who, event in re.findall(rf'({ONE})[^:]*?(?: \(event (\d+)\))?(?=, after|$)', m['steps'] or ''):
            thread = self.who(re.sub(r'^.*?(?:: |, after )', '', who), 'who ended a similar wait', baseline.get('end_ns'))
            if thread and event:
                self.done_by(thread, int(event), 'a similar wait')

    def done_by(self, thread, number, what):
        event = self.trace.events.get(number)
        if not event:
            self.say(f'{what}: event {number} is not in the trace')
        elif thread.pid not in {(self.trace.thread(event[k], event['time_ns']) or thread).pid if event.get(k) else None for k in ('tid', 'target')}:
            self.say(f'{what}: event {number} is not of {thread.tid}')

    def say_this_time(self, m):
        thread = self.who(m['who'], 'this time')
        for number in re.findall(r'\(event (\d+)\)', m['rest']):
            if thread:
                self.done_by(thread, int(number), 'this time')

    def say_trigger(self, m):
        event = self.trace.events.get(int(m['event'] or 0)) or {}
        thread = self.who(m['who'], 'what set it off', event.get('time_ns'))
        culprit = self.actor(self.answer.get('culprit') or {}, 'the culprit')
        if not thread or not culprit:
            return
        deed = next((d for d in self.answer.get('trigger') or [] if d.get('tid') == thread.tid and d.get('what') == m['words']), None)
        if not deed:
            self.say(f'what set it off: the document does not know that {m["who"]} {m["words"]}')
        elif int(m['event'] or 0) != deed.get('event'):
            self.say(f'what set it off: event {m["event"]} in the text, {deed.get("event")} in the document')
        check_deed(self, culprit, thread, m['words'], int(m['event'] or 0))

    def say_unexplained(self, m):
        ledger = self.answer.get('ledger') or {}
        for key in ('unknown', 'lost'):
            if not is_near(m[key], ledger.get(key + '_ns', 0), 0):
                self.say(f'{m[key]} {key} in the text, {show(ledger.get(key + "_ns", 0))} in the ledger')

    def say_losses(self, m):
        gaps = [g for g in self.trace.gaps if g[0] < self.end and g[1] > self.start]
        if int(m['count']) != sum(g[2] for g in gaps):
            self.say(f'{m["count"]} events lost in the window: the gaps say {sum(g[2] for g in gaps)}')
        if gaps and not is_near(m['time'], max(g[1] - g[0] for g in gaps)):
            self.say(f'lost at most {m["time"]} at a time: the longest gap has {show(max(g[1] - g[0] for g in gaps))}')

    # ---- the document ----

    def check_document(self):
        answer = self.answer
        if answer.get('verdict') == 'none':
            return
        if not self.trace.start - MS <= self.start < self.end <= self.trace.end + MS:
            self.say('the window does not lie in the trace')
        ledger = answer.get('ledger') or {}
        if sum(ledger.values()) != self.length:
            self.say(f'the ledger sums up to {show(sum(ledger.values()))}, the window has {show(self.length)}')
        if ledger.get('lost_ns', 0) > self.lost + MS:
            self.say(f'{show(ledger["lost_ns"])} lost in the ledger, {show(self.lost)} in the trace')
        for name in ('circle', 'trigger', 'alternatives'):
            for actor in answer.get(name) or []:
                self.actor(actor, name, actor.get('time_ns'))
        self.check_chain(answer.get('chain') or [])
        path = answer.get('path') or []
        for step, following in zip(path, path[1:]):
            if following.get('charged_ns', 0) > step.get('charged_ns', 0) + MS and step.get('tid') != following.get('tid'):
                self.say(f'{following.get("tid")} is charged with more ({show(following["charged_ns"])}) than {step.get("tid")}, which led to it')
        for step in path:
            self.actor(step, 'path')
            if step.get('charged_ns', 0) > self.length:
                self.say(f'{step.get("tid")} is charged with more than the window')
        for deed in answer.get('alternatives') or []:
            self.alternative(deed)
        for item in answer.get('plan') or []:
            if 'still stuck at the end' in item.get('why', ''):
                self.still_stuck()

    def check_chain(self, chain):
        at = self.start
        for link in chain:
            if link['start_ns'] != at:
                self.say(f'the chain has a gap or overlap at {show(at - self.trace.start)}')
            at = link['end_ns']
            self.link(link)
        if chain and at != self.end:
            self.say('the chain does not end with the window')

    def link(self, link):
        what = f'chain, {link.get("comm")} ({link.get("tid")}) from {show(link["start_ns"] - self.trace.start)}'
        thread = self.actor(link, what)
        if not thread:
            return
        ns, _ = self.in_state(thread, link['state'], link['start_ns'], link['end_ns'], what)
        length = link['end_ns'] - link['start_ns']
        lost = self.trace.lost_ns(link['start_ns'], link['end_ns'])
        if ns is not None and length > 25 * MS and (ns + lost) * 3 < length:
            times = self.trace.times(thread, link['start_ns'], link['end_ns'])
            self.say(f'{what}: "{link["state"]}" for {show(ns)} of {show(length)}; ' +
                     ', '.join(f'{state} {show(t)}' for state, t in times.items() if t))
        for number in link.get('evidence') or []:
            if number not in self.trace.events and number > max(self.trace.events, default=0):
                self.say(f'{what}: event {number} is not in the trace')

    def alternative(self, deed):
        share = re.fullmatch(r'(\w+) for (\d+) % of the window', deed.get('what', ''))
        thread = self.actor(deed, 'alternatives') if share else None
        if thread:
            ns, _ = (self.trace.times(thread, self.start, self.end)['waiting'], None) if share[1] == 'waiting' else \
                self.in_state(thread, share[1], self.start, self.end, 'alternatives')
            if ns is not None and ns * 100 < (int(share[2]) - 2) * self.length - 100 * self.lost:
                self.say(f'alternatives: {thread.tid} was {share[1]} for {100 * ns // self.length} % of the window, not {share[2]} %')
        if deed.get('event') and deed['event'] not in self.trace.events:
            self.say(f'alternatives: event {deed["event"]} is not in the trace')

    def still_stuck(self):
        victim = self.actor(self.answer.get('victim') or {}, 'the victim')
        if victim and victim.died is not None and victim.died >= self.trace.end:
            return
        if not victim or victim.died is not None:
            self.say('"still stuck at the end": it had ended')
            return
        last = list(victim.spans(self.end - 1, self.trace.end + 1))
        if not last or self.answer.get('verdict') in ('busy', 'starved', 'yield'):
            return
        if last[-1][2] not in ('waiting', 'stopped') or last[-1][0] > self.end:
            self.say(f'"still stuck at the end": at the end it was {last[-1][2]}')
        elif last[0][3] is not last[-1][3]:
            self.say('"still stuck at the end": it had gone on before the end')

    def check_whole(self, seen):
        """Time, state, culprit and function are told."""
        if self.answer.get('verdict') == 'none':
            return
        names = [name for name, _ in seen]
        if 'verdict' not in names:
            self.say('vague: no sentence says who was stuck for how long')
        if not {'culprit', 'quota', 'quota_unknown', 'source', 'nobody'} & set(names):
            self.say('vague: no sentence names the culprit')
        shown = min(max(0, len(self.answer.get('path') or []) - 1), 12)
        if names.count('path') != shown:
            self.say(f'vague: the path has {shown} steps, the text tells {names.count("path")}')
        for name, m in seen:
            if name == 'culprit' and not m['words'] and not m['needs'] and any(
                    l.get('tid') == (self.answer.get('culprit') or {}).get('tid') for l in self.answer.get('chain') or []):
                self.say('vague: what the culprit did is not told')

    def check(self):
        for name in ('victim', 'culprit'):
            self.actor(self.answer.get(name) or {}, 'the ' + name)
        self.check_whole(self.read_text())
        self.check_document()
        return self.found


def escaped(text):
    return ''.join(c if c.isprintable() and c != '\\' else c.encode('unicode_escape').decode() for c in text)


def check(argus, path, answer, trace=None):
    """Findings: texts, none when all is as the events say."""
    return Checker(trace or replay.Replay(argus, path), answer).check()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('usage: ')[1])
    parser.add_argument('--argus', default=os.path.join(HERE, '../build/argus'))
    parser.add_argument('trace')
    parser.add_argument('rest', nargs='*')
    options = parser.parse_args()
    if len(options.rest) == 1 and options.rest[0].endswith('.json'):
        answer = json.load(open(options.rest[0]))
    else:
        done = subprocess.run([options.argus, 'why', '--json', *options.rest, options.trace], capture_output=True, stdin=subprocess.DEVNULL)
        answer = json.loads(done.stdout)
    found = check(options.argus, options.trace, answer)
    for text in found:
        print(text)
    return bool(found)


if __name__ == '__main__':
    sys.exit(main())
