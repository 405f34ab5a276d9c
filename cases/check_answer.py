#!/usr/bin/env python3
"""Holds an answer of `argus why` against the events of its trace.

usage: cases/check_answer.py [--argus FILE] TRACE [ANSWER.json | -- WHY-OPTION...]

Every sentence of the answer's `text` is read by a grammar (check_words.py) and each of its
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
from check_document import Document  # noqa: E402
from check_links import check_deed, check_link  # noqa: E402
from check_words import MS, VERDICTS, SOURCES, NO_HANG, ONE, TIME, GRAMMAR, ORDER, PACKET, nanoseconds, at_most, is_near, show, escaped  # noqa: E402


ESTABLISHED = 1
SYN_SENT = 2


class Checker(Document):
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
        looked_at, whole = m['how'] == 'were looked at', self.answer.get('ended_ns', self.end) - self.answer.get('began_ns', self.start)
        if looked_at and self.answer.get('since_ns'):  # before what was looked at, by what the trace tells besides
            whole = self.end - self.answer['since_ns']
        if m['end'] and (m['end'] == 'first') != ('ended_ns' in self.answer):
            self.say(f'the {m["end"]} of it: the document tells of the other end')
        if looked_at != (whole > self.length) or (looked_at and not is_near(m['whole'], whole, 0)):
            self.say(f'stuck for {m["whole"]}: the hang lasted for {show(whole)}, the window has {show(self.length)}')
        if VERDICTS[m['words']] != self.answer.get('verdict'):
            self.say(f'it {m["words"]}: the verdict is {self.answer.get("verdict")}')
        if victim:
            self.verdict(victim, m['words'])
        if victim and m['whole'] and not looked_at:
            self.whole(victim, m['whole'], m['since'])

    def whole(self, victim, text, since):
        """It had waited for some of that already, by the snapshot's word, when the recording began."""
        began = [w.start for low, _, w in self.trace.waits_in(victim, self.start, self.end) if low == self.start]
        if not began or not is_near(text, self.end - began[0]):
            self.say(f'stuck for {text}: it waited since {show(self.start - began[0]) + " before the recording began" if began else "later"}')
        clock = next((e for e in self.trace.events.values() if e['type'] == 'clock' and e.get('realtime_ns')), None)
        if since and began and clock:
            wall = (clock['realtime_ns'] - clock['time_ns'] + began[0]) // 10 ** 9
            hours, minutes, seconds = map(int, since.split(':'))
            # The hour is of the reader's zone.
            if abs((minutes * 60 + seconds - wall + 60) % 1800 - 60) > 1:
                self.say(f'since {since}: by the clock it was {wall % 3600 // 60:02}:{wall % 60:02} past the hour')

    def say_perhaps(self, m):
        """One that looked again and again may have done so since it began itself, or since the culprit did what it still does."""
        victim = self.actor(self.answer.get('victim') or {}, 'the victim')
        others = [self.actor(a, 'who is on the way') for a in self.answer.get('path') or []]
        began = [w.start for t in others if t for low, _, w in self.trace.waits_in(t, self.start, self.end) if low == self.start]
        if victim and not any(is_near(m['time'], self.end - at) for at in [victim.born] + began):
            self.say(f'perhaps for {m["time"]}: nothing began then')

    def say_certain(self, m):
        """Each of them waited all the time, for who was read to hold what it waits for."""
        path = self.answer.get('circle' if m['of'] == 'of the circle' else 'path') or []
        members = [self.actor(a, 'who waits') for a in path]
        if m['of'] == 'of the circle':
            members.append(members[0] if members else None)
        slack = min(self.length // 10, 60 * MS) + MS
        for thread, following in zip(members, members[1:]):
            if not thread or not following:
                continue
            waits = self.trace.waits_in(thread, self.start, self.end)
            asleep = sum(high - low for low, high, _ in waits)
            if asleep + 2 * slack < self.length and self.trace.times(thread, self.start, self.end)['waiting'] * 10 < self.length * 9:
                self.say(f'"no guess": {thread.tid} waited for {show(asleep)} of the window only')
            hints = {w.fields.get('hint') for _, _, w in waits} - {None, 0}
            if not hints and thread.pid not in following.parents:
                self.say(f'"no guess": nothing tells that {thread.tid} waits for {following.tid}')
            if hints and not hints & {following.tid, following.pid} and not any(
                    l.get('blocker') in (following.tid, following.pid, following.parent) or l.get('owner') in hints for l in self.trace.locks):
                self.say(f'"no guess": {thread.tid} waits for {sorted(hints)}, not for {following.tid}')

    def say_in_turn(self, m):
        """So many threads of the culprit's process are charged with the same for so long."""
        culprit, victim, chain = self.answer.get('culprit') or {}, self.answer.get('victim') or {}, self.answer.get('chain') or []
        states = {l['state'] for l in chain if l.get('tid') == culprit.get('tid')}
        links = [l for l in chain if l.get('pid') == culprit.get('pid') and l.get('tid') not in (culprit.get('tid'), victim.get('tid')) and l['state'] in states]
        ns, threads = sum(l['end_ns'] - l['start_ns'] for l in links), {l['tid'] for l in links}
        if not is_near(m['time'], ns, 0.05) or len(threads) < int(m['count']):
            self.say(f'{m["count"]} threads did the same for {m["time"]}: {len(threads)} are charged with {show(ns)}')

    def queued(self, thread):
        return [(low, high, cpu) for low, high, state, _, cpu in thread.spans(self.start, self.end) if state == 'runnable']

    def say_keepers(self, m):
        """While the culprit could have run, each of them did, for so long."""
        culprit = self.actor(self.answer.get('culprit') or {}, 'the culprit')
        told = re.findall(rf'({ONE}) (?:had its processor )?for ({TIME})', m.group(0).removeprefix(' Meanwhile '))
        for words, time in told if culprit else ():
            keeper = self.who(re.sub(r'^(?:, | and )', '', words).removeprefix('and '), 'who had the processor')
            had = sum(b - a for low, high, _ in self.queued(culprit) for a, b, s, _, _ in (keeper.spans(low, high) if keeper else ()) if s == 'running')
            doubt = 2 * MS + self.lost + self.trace.times(culprit, self.start, self.end)['unknown']
            if keeper and (nanoseconds(time) > had * 1.01 + doubt or at_most(time) * 20 < had * 9):
                self.say(f'{keeper.tid} had a processor for {show(had)} while {culprit.tid} could have run, not for {time}')

    def say_bound(self, m):
        """It stood at that processor, and at no other; nobody is seen on the other one for so long."""
        culprit = self.actor(self.answer.get('culprit') or {}, 'the culprit')
        queued = self.queued(culprit) if culprit else []
        if any(cpu not in (None, int(m['cpu'])) for _, _, cpu in queued):
            self.say(f'it stood at processors {sorted({cpu for _, _, cpu in queued})}')
        busy = sum(b - a for low, high, _ in queued for lives in self.trace.by_tid.values() for t in lives
                   for a, b, s, _, cpu in t.spans(low, high)
                   if s == 'running' and cpu == int(m['other']))
        if queued and nanoseconds(m['time']) > sum(high - low for low, high, _ in queued) - busy + 20 * MS + self.lost:
            self.say(f'processor {m["other"]} was not idle for {m["time"]}: threads ran there for {show(busy)}')

    def say_limit(self, m):
        """A wait of the victim of that length ended by its timeout."""
        victim = self.who(m['who'], 'whose time limit ran out')
        waits = [w for _, _, w in self.trace.waits_in(victim, self.start, self.end)] if victim else []
        if victim and not any(w.end and is_near(m['time'], w.end - w.start) and (w.wake or {}).get('cause') in ('timeout', 'timer') for w in waits):
            self.say(f'no wait of the victim was ended by its time limit of {m["time"]}')

    def say_covers(self, m):
        """What the culprit's process is charged with is a small part of the window."""
        pid, chain = (self.answer.get('culprit') or {}).get('pid'), self.answer.get('chain') or []
        charged = [sum(l['end_ns'] - l['start_ns'] for l in chain if pid in (l.get('pid'), l.get(key))) for key in ('pid', 'ppid')]
        if not any(is_near(m['time'], ns) for ns in charged):
            self.say(f'the process of the culprit is charged with {show(charged[0])}, not with {m["time"]}')
        if charged[0] * 4 > self.length:
            self.say(f'{show(charged[0])} is no small part of {show(self.length)}')

    def verdict(self, victim, words):
        times = self.trace.times(victim, self.start, self.end)
        kind = VERDICTS[words]
        asleep = times['waiting'] + times['stopped'] + times['unknown']
        most = {'busy': times['running'] + times['runnable'], 'starved': times['runnable'], 'waiting': asleep,
                'io': asleep}.get(kind, self.length)
        if most * 20 < self.length * 9 - self.lost * 20 and most < max(times['running'], times['runnable'], asleep):
            self.say(f'it {words}: that was {show(most)} of {show(self.length)}')
        if words in ('was stopped', 'was frozen') and times['stopped'] * 20 < self.length * 9:
            self.say(f'it {words}: that was {show(times["stopped"])} of {show(self.length)}')
        if words.startswith('had work') and times['runnable'] <= times['running']:
            self.say(f'it {words}: it ran for {show(times["running"])} and waited for a processor for {show(times["runnable"])}')
        if kind == 'io':
            io = sum(high - low for low, high, w in self.trace.waits_in(victim, self.start, self.end)
                     if w.kind in ('block_io', 'sync') or (w.wake or {}).get('cause') == 'block_io' or 'io_wait' in replay.flags(w.fields))
            if io * 20 < asleep * 9:
                self.say(f'it {words}: that was {show(io)} of {show(self.length)}')
        if kind == 'yield' and times['running'] * 2 < self.length:
            times = len(list(self.trace.waits_in(victim, self.start, self.end))) + sum(self.start <= at < self.end for at in victim.yields)
            if times < 2:
                self.say(f'it {words}: it waited or yielded only {times} times')

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
        if words == 'looking again and again' and not self.looked_twice(thread):
            self.say(f'{what}: it did one thing all the time')
        if words not in ('passing it on', 'looking again and again') and not words.startswith('spinning'):
            self.wait_words(thread, words, charged, what) if words != 'not born yet' else self.unborn(thread, what)
        elif words.startswith('spinning') and ' in ' in words:
            function = re.match(r'spinning in (.+?), looking', words)
            if function and not self.on_stack(function[1], self.sampled(thread)):
                self.say(f'{what}: "{function[1]}" is in no sample')
        check_link(self, thread, following, m['link'], event, words)

    def looked_twice(self, thread):
        """It waited more than once, or did not wait for most of the time, as one that spins."""
        waits = list(self.trace.waits_in(thread, self.start, self.end))
        return len(waits) > 1 or sum(high - low for low, high, _ in waits) * 2 < self.length

    def unborn(self, thread, what):
        if thread.born <= self.start:
            self.say(f'{what}: it lived since {show(thread.born - self.trace.start)}')

    def say_nobody(self, m):
        if (self.answer.get('culprit') or {}).get('kind') != 'unknown':
            self.say('nobody is named, but the document has a culprit')
        path = self.answer.get('path') or []
        thread = self.actor(path[-1] if path else self.answer.get('victim') or {}, 'the last of the path')
        if thread and m['words'] != 'waiting' and not m['words'].startswith(('computing', 'spinning', 'runnable')):
            self.wait_words(thread, m['words'], 0, f'it was {m["words"]}')

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
        stopped = {}
        for event in self.trace.throttles:
            stopped.setdefault(event.get('target'), set()).add(event.get('cgroup'))
        threads = [t for ts in self.trace.by_tid.values() for t in ts]
        groups = {e.get('cgroup') for e in self.trace.throttles} | {t.cgroup for t in threads if t.tid in stopped and not t.moved}
        groups |= {number for number, group in self.trace.cgroups.items() if group.get('quota_ns')}
        if hog.tid not in stopped and hog.cgroup not in groups:
            self.say(f'{hog.tid} is of no group with a quota, so most of the quota did not go to it')
        mine = [t for t in threads if t is hog or stopped.get(t.tid, set()) & stopped.get(hog.tid, set()) or
                (t.cgroup == hog.cgroup and not hog.moved and not t.moved)]
        ran = {t: self.trace.times(t, self.start, self.end)['running'] for t in mine}
        if ran and ran[hog] < max(ran.values()) * 0.7:
            most = max(ran, key=ran.get)
            self.say(f'most of the quota went to {most.tid} ({show(ran[most])}), not to {hog.tid} ({show(ran[hog])})')

    def say_source(self, m):
        thread = self.who(m['who'], 'who waited for the source')
        packet = PACKET.fullmatch(m['source'])
        if packet:
            sender = self.who(packet['sender'], 'who sent the packet')
            if sender and not self.trace.waits_in(sender, self.start, self.end):
                self.say(f'{sender.tid} did not wait while its packet is said to have been on its way')
        source = re.sub(r'^(block device I/O) for .*', r'\1', m['source'])
        if not packet and source not in SOURCES:
            self.say(f'"{m["source"]}" is no source')
        cause = 'network' if packet else SOURCES.get(source)
        if thread and cause:
            waits = [w for _, _, w in self.trace.waits_in(thread, self.start, self.end)]
            # who stands there still waits for it
            if cause not in [(w.wake or {}).get('cause') for w in waits] and not (cause == 'block_io' and any(not w.end for w in waits)):
                self.say(f'no wait of {thread.tid} in the window was ended by {m["source"]}')

    def say_far(self, m):
        thread = self.who(m['who'], 'who waited for the far end')
        kind = m['protocol'].lower()
        known = [d for d in self.trace.descriptors if d.get('object', '').startswith(kind + ':')]
        own = [d for d in known if escaped(d.get('text') or '').endswith(f'-> {m["address"]}')]
        if thread and thread.pid not in {(self.trace.thread(d['tid'], d['time_ns']) or thread).pid for d in own}:
            self.say(f'process {thread.pid} has no {m["protocol"]} socket that leads to {m["address"]}')
        if any(escaped(d.get('text') or '').startswith(f'{m["address"]} ->') for d in known):
            self.say(f'a process has the end {m["address"]}')

    def say_kept_out(self, m):
        """Its connecting was not answered."""
        thread = self.who(m['who'], 'whose connecting was not answered')
        if thread and not any(d.get('state') == SYN_SENT and escaped(d.get('text') or '').endswith(f'-> {m["address"]}') and
                              (self.trace.thread(d['tid'], d['time_ns']) or thread).pid == thread.pid for d in self.trace.descriptors):
            self.say(f'process {thread.pid} was not found connecting to {m["address"]}')

    def say_lost_between(self, m):
        """Its connection stood, nobody had the far end, and nothing had come over it; who took what it sent is known."""
        thread = self.who(m['who'], 'whose connection was closed')
        mine = [d for d in self.trace.descriptors if escaped(d.get('text') or '').endswith(f'-> {m["address"]}') and thread and
                (self.trace.thread(d['tid'], d['time_ns']) or thread).pid == thread.pid]
        if thread and not any(d.get('state') == ESTABLISHED and not d.get('queued') for d in mine):
            self.say(f'process {thread.pid} was not found connected to {m["address"]}, with nothing come')
        if any(f['channel_in'] == d.get('channel_out') for d in mine for f in self.trace.descriptors if f.get('channel_in')):
            self.say(f'a process has the other end of the connection to {m["address"]}')

    def say_uncertain(self, _):
        """What a hang is only the diagnosis knows."""

    def say_meant(self, m):
        """What is meant nobody can tell from events; but who worked, or was let go on by its own limit, can be."""
        text = self.answer.get('text') or ''
        if m['says'] == 'the program itself worked' and not re.search(r'computing|waiting for a processor', text):
            self.say('nobody on the way worked')
        if m['says'] == 'its own time limit ended it' and (self.answer.get('victim') or {}).get('pid') != (self.answer.get('culprit') or {}).get('pid'):
            self.say('the time limit is another one\'s')

    def say_on_the_way(self, m):
        other = self.who(m['who'], 'who hung because of it')
        if other and other.pid == (self.answer.get('victim') or {}).get('pid'):
            self.say(f'{other.pid} is the victim itself')

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
        # All wait at the same time: the longest stretch in which they do. Who serves others, too, waits in pieces that those end.
        steady = [t for t in members if t.tid not in self.served and not self.looks(t)]
        stretches = [(self.start, self.end, ())]
        for thread in steady:
            own = self.trace.waits_in(thread, self.start, self.end)
            stretches = [(max(low, a), min(high, b), waits + (w,)) for low, high, waits in stretches for a, b, w in own
                         if min(high, b) > max(low, a)]
        if not stretches:
            self.say('a circle: at no time of the window did all of its members wait')
            return
        longest = max(stretches, key=lambda s: s[1] - s[0])
        if (longest[1] - longest[0]) * 20 < self.length:
            self.say(f'a circle: all of its members waited at once for {show(longest[1] - longest[0])} at most')
        for thread, wait in zip(steady, longest[2]):
            following = members[(members.index(thread) + 1) % len(members)]
            by = (wait.wake or {})
            if by.get('cause', 'thread') in ('thread', 'unknown', 'own_send') and by.get('tid') and not by.get('context') and len(members) > 1 and \
                    by['tid'] not in {t.tid for t in members} and (wait.end or self.end) < self.end - 5 * MS:
                waker = self.trace.thread(by['tid'], by['time_ns'])
                if waker and not waker.kernel and waker.pid not in {t.pid for t in members}:
                    self.say(f'a circle: {thread.tid} waits for {following.tid}, but {by["tid"]} ended its wait (event {by["number"]})')
        if timeout and steady:
            self.timeout(stretches, timeout)

    def looks(self, thread):
        """The text says that it spun, and it gave up the processor again and again, or ran, all that time, without another wait."""
        text = ' '.join((self.answer.get('text') or '').split())
        if not re.search(rf'\((?:pid|thread) {thread.tid}\b[^()]*\) was spinning', text):
            return False
        times = self.trace.times(thread, self.start, self.end)
        return (times['running'] + times['runnable']) * 20 >= self.length * 17

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
        return {node for time, node in thread.stacks if self.start <= time <= self.end}

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
                self.left_out(culprit, at_most(m['time']))
        if m['needs'] and m['needs'] != 'it':
            self.processor(culprit, self.who(m['needs'], 'who needed the processor'), m['had'], m['queued'])
        if bool(m['person']) != bool(document.get('waits_for_user')):
            self.say('text and document do not agree whether it waits for its user')
        if m['person']:
            self.person(culprit)
        self.function(culprit, m, document)

    def person(self, culprit):
        """It has windows, or waited at a terminal."""
        mine = [d for d in self.trace.descriptors if (self.trace.thread(d['tid'], d['time_ns']) or culprit).pid == culprit.pid]
        ttys = any('tty:' in str(wait.fields.get(key, '')) for _, _, wait in self.trace.waits_in(culprit, self.start, self.end) for key in ('object', 'detail'))
        if not ttys and not any(re.search(r'/\.X11-unix/X|/wayland-|^/dev/(pts/|tty)', d.get('text') or '') for d in mine):
            self.say(f'{culprit.tid} has no windows, and waited at no terminal')

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
        unknown = sum(self.trace.times(culprit, low, high)['unknown'] for low, high in links)
        if not is_near(text, ns, 0.01) and abs(nanoseconds(text) - ns) > self.lost + unknown + 2 * MS:
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

    def processor(self, hog, starved, shown, shown_queued):
        """While the one could have run, the other had its processor."""
        if not starved:
            return
        queued = had = 0
        for low, high, state, _, _ in starved.spans(self.start, self.end):
            if state not in ('runnable', 'throttled'):
                continue
            queued += high - low
            had += sum(b - a for a, b, s, _, _ in hog.spans(low, high) if s == 'running')
        doubt = 2 * MS + self.lost + self.trace.times(starved, self.start, self.end)['unknown']
        if not queued:
            self.say(f'{starved.tid} never stood in the queue for a processor')
        elif nanoseconds(shown) > had * 1.01 + doubt or nanoseconds(shown_queued) > queued * 1.01 + doubt or \
                at_most(shown) * 20 < had * 9:
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
        elif not m['needs'] and m['words'] and self.could_be_named(culprit, m['words']):
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

    def could_be_named(self, culprit, words):
        """A function stands on the stack of most of what is told of it."""
        ns = named = 0
        for low, high in self.own_links(culprit):
            for a, b, wait in (self.in_state(culprit, re.sub(r' \(it ran .*\)$', '', words), low, high, 'the culprit') or (0, []))[1] or []:
                ns += b - a
                if any(mod and '+0x' not in f and 'libc_start' not in f and f != '_start' for f, mod in self.trace.stack(wait.fields.get('ustack'))):
                    named += b - a
        return named * 2 > ns > 0

    def say_other_end(self, m):
        """The newcomer was born while the culprit opened, or read, and that event is its wake-up."""
        culprit, came = self.actor(self.answer.get('culprit') or {}, 'the culprit'), self.who(m['who'], 'who came to the other end')
        kind = 'open' if 'opened' in m['how'] else 'read'
        waits = [w for _, _, w in self.trace.waits_in(culprit, self.start, self.end) if w.kind == kind] if culprit else []
        wait = next((w for w in waits if w.wake and w.wake['number'] == int(m['event'])), None)
        if not wait or wait.wake.get('tid') != (came.tid if came else 0):
            self.say(f'the culprit waited for no other end that event {m["event"]} of {m["who"]} opened')
        elif came.born <= wait.start:
            self.say(f'{m["who"]} was there before the culprit waited for the other end')

    def say_owner_ended(self, match):
        hints = [event.get('hint') for event in self.trace.events.values() if event.get('hint_kind') == 'owner_gone']
        if hints and int(match['number']) not in hints:
            self.say(f'no record tells that {match["number"]} held it and has ended')

    def say_in_kernel(self, _):
        if len(self.trace.frames) <= 1:
            self.say('no stack tells where in the kernel it waits')

    def say_group_memory(self, _):
        """The culprit stood where the kernel waits for memory of a control group."""
        who = self.actor(self.answer.get('culprit') or {}, 'the culprit')
        waits = [w for _, _, w in self.trace.waits_in(who, self.start, self.end)] if who else []
        if who and not any(f.startswith('mem_cgroup_oom') for w in waits for f, _ in self.trace.stack(w.fields.get('kstack'))):
            self.say(f'{who.tid} did not wait for memory of its control group')

    def say_group_device(self, m):
        if not any(e['type'] == 'group_limit' and escaped(e.get('text') or '') == m['path'] for e in self.trace.events.values()):
            self.say(f'no limit of a control group {m["path"]} was found')

    def say_device_beside(self, m):
        """It waited for input or output of a file for so long, and so did one of another process, for a file on that device, as their numbers say."""
        other = self.who(m['who'], 'who waited for the device, too')

        def files(thread):
            return [(low, high, int(w.fields['object'].split(':')[1], 16)) for low, high, w in self.trace.waits_in(thread, self.start, self.end)
                    if w.kind in ('block_io', 'sync') and w.fields.get('object', '').startswith('file:')]
        waited = sum(high - low for low, high, _ in files(other)) if other else 0
        if other and (nanoseconds(m['time']) > waited * 1.01 + 2 * MS or not any(
                (mine ^ its) >> 40 == 0 for t in (t for lives in self.trace.by_tid.values() for t in lives) if t.pid != other.pid
                for _, _, mine in files(t) for _, _, its in files(other))):
            self.say(f'{other.tid} did not wait for the device of a file that another waits for, for {m["time"]}')

    def say_group_processes(self, m):
        kind = 'processes' if m['path'] else 'user_processes'
        if not any(e['type'] == 'group_limit' and e.get('kind') == kind and escaped(e.get('text') or '') == (m['path'] or m['user'])
                   for e in self.trace.events.values()):
            self.say(f'control group or user {m["path"] or m["user"]} was not found at its limit of processes')

    def say_frozen_files(self, m):
        """The one stood on a frozen file system's lock, the other was within freezing it before that wait ended."""
        victim, by = self.who(m['who'], 'who writes to what was frozen'), self.who(m['by'], 'who froze it') if m['by'] else None
        waits = [w for _, _, w in self.trace.waits_in(victim, self.start, self.end)] if victim else []

        def within(wait, names):
            return any(f.startswith(names) for f, _ in self.trace.stack(wait.fields.get('kstack')))
        if victim and not any(within(w, ('percpu_rwsem_wait', '__sb_start_write')) for w in waits):
            self.say(f'{victim.tid} did not wait for a file system to be thawed')
        if by and not any(w.start < self.end and within(w, ('freeze_super',)) for w in by.waits):
            self.say(f'{by.tid} was never seen freezing a file system')

    def say_frozen(self, m):
        culprit = self.actor(self.answer.get('culprit') or {}, 'who was frozen')
        if m['path'] and culprit and not re.search(rf':{re.escape(m["path"])}( |$)', escaped(culprit.groups)):
            self.say(f'{culprit.tid} is in no control group {m["path"]}')
        states = [event.get('state') for event in self.trace.events.values()]
        if any(states) and 'frozen' not in states:
            self.say('nothing was frozen')

    def say_looks(self, m):
        """So often a call that was recorded with what it names, or one that asks for a process, said so."""
        calls = [e for e in self.trace.events.values() if e['type'] in ('call_name', 'syscall', 'message') and self.start <= e['time_ns'] <= self.end]
        if len(calls) < int(m['times'] or 1):
            self.say(f'it looks {m["times"] or 1} times: {len(calls)} calls were recorded')

    def say_runs(self, m):
        """So many programs of that command line ended with a failure in the window, and had one parent."""
        began = {e['tid']: e for e in self.trace.events.values() if e['type'] == 'task' and escaped((e.get('texts') or [''])[-1]) == m['command']}
        failed = [e['tid'] for e in self.trace.events.values() if e['type'] == 'exit' and e['tid'] in began and e.get('code') and
                  self.start <= e['time_ns'] <= self.end]
        if len(failed) != int(m['times']) or len({began[tid].get('parent') for tid in failed}) > 1:
            self.say(f'{m["command"]} failed {len(failed)} times in the window')

    def say_session(self, m):
        self.who(m['who'], 'whose session it is')

    def say_watches(self, m):
        paths = {escaped(e.get('text') or '') for e in self.trace.events.values() if e['type'] == 'watch'}
        if m['path'] != 'a file' and m['path'] not in paths:
            self.say(f'nothing tells that {m["path"]} is watched')

    def say_suspended(self, _):
        """The culprit stood stopped, and its state tells the signal."""
        culprit = self.actor(self.answer.get('culprit') or {}, 'who was stopped by a signal')
        waits = [w for _, _, w in self.trace.waits_in(culprit, self.start, self.end)] if culprit else []
        if culprit and not any(w.kind == 'stop' and w.fields.get('argument') in (19, 20) for w in waits):
            self.say(f'{culprit.tid} was not stopped by a signal that is known')

    def say_background(self, m):
        culprit = self.actor(self.answer.get('culprit') or {}, 'who was stopped in the background')
        sent = [e for e in self.trace.events.values() if e['type'] == 'signal' and e.get('signal_number') == m['signal'] and e['time_ns'] <= self.end]
        stood = [w for _, _, w in self.trace.waits_in(culprit, self.start, self.end)] if culprit else []
        if culprit and not any((self.trace.thread(e['target'], e['time_ns']) or culprit).pid == culprit.pid for e in sent) and not any(
                w.fields.get('argument') == {'SIGTTIN': 21, 'SIGTTOU': 22}[m['signal']] for w in stood):
            self.say(f'{culprit.pid} was sent no {m["signal"]}')
        paths = {escaped(d.get('text') or '') for d in self.trace.descriptors if d.get('object', '').startswith('tty:')}
        if m['path'] and m['path'] not in paths:
            self.say(f'{m["path"]} is no terminal')

    def say_stopped_output(self, m):
        way = [self.actor(a, 'who writes to a terminal') for a in [self.answer.get('victim') or {}, *(self.answer.get('path') or [])]]
        if not any(w.kind == 'write' and str(w.fields.get('object', '')).startswith('tty:') and (w.end or self.end) > self.start
                   for thread in way if thread for w in thread.waits):
            self.say('nobody on the way waited to write to a terminal')
        if m['shows']:
            self.who(m['shows'], "who has the terminal's other side")
        by = self.who(m['by'], 'who let the output go on') if m['by'] else None
        wake = self.trace.events.get(int(m['event'])) if m['event'] else None
        if by and (not wake or wake['type'] != 'wake' or wake['tid'] != by.tid):
            self.say(f'{by.tid} did not let the output go on in event {m["event"]}')

    def say_only_threads(self, match):
        pid = (self.answer.get('culprit') or {}).get('pid') or self.answer['victim']['pid']
        for thread, process, alone in re.findall(r'\((?:thread (\d+) of process (\d+)(?:, .*?)?|pid (\d+))\)', match['threads']):
            if int(process or alone) != pid:
                self.say(f'thread {thread or alone} is not of the process {pid}')

    def futexes_of(self, tid):
        """(object, operation) of the waits on futexes that the trace tells of the thread."""
        return {(e.get('object'), e.get('argument', 0)) for e in self.trace.events.values() if e.get('tid') == tid and e.get('wait') == 'futex'}

    def say_sharers(self, _):
        if not any(operation and not operation & 128 for _, operation in self.futexes_of(self.answer['victim']['tid'])):
            self.say('the victim waited for no word that processes share')

    def mapped_by(self, tid):
        """Of the memory in which the words lie that the thread waits for: all processes that have it mapped."""
        words = {word for word, _ in self.futexes_of(tid)}
        ways = {d.get('channel_out') for d in self.trace.descriptors if d.get('object') in words} - {None}
        return {d['tid'] for d in self.trace.descriptors if d.get('channel_out') in ways}

    def say_mapped(self, match):
        pids, victim = self.mapped_by(self.answer['victim']['tid']), self.answer['victim']['pid']
        if victim not in pids:
            self.say('the victim waited for no word in memory that is known')
        threads = match.groupdict().get('threads')
        for process, alone in re.findall(r'\((?:thread \d+ of process (\d+)(?:, .*?)?|pid (\d+))\)', threads or ''):
            if int(process or alone) not in pids:
                self.say(f'process {process or alone} has other memory mapped')
        if not threads and not match['fellows'] and pids - {victim}:
            self.say(f'{sorted(pids - {victim})} have that memory mapped')
        words = {word for word, _ in self.futexes_of(self.answer['victim']['tid'])}
        own = [d for d in self.trace.descriptors if d.get('object') in words and d['tid'] == victim]
        if not threads and match.groupdict().get('unnamed') and not any(str(d.get('state')) == '1' for d in own):
            self.say('a name leads to that memory')
        if not threads and match.groupdict().get('named') and not any(d.get('text') for d in own):
            self.say('that memory has no name')

    def say_unconnected(self, _):
        victim = self.actor(self.answer.get('victim') or {}, 'who asks')
        things = {w.fields.get(key) for w in victim.waits for key in ('object', 'detail')} if victim else set()
        if any(d.get('channel_out') for d in self.trace.descriptors if d.get('object') in things):
            self.say('the socket is connected')

    def say_fifo(self, m):
        other = 2 if m['way'] == 'writing' else 1
        things = {d.get('object') for d in self.trace.descriptors if escaped(d.get('text') or '') == m['path']}
        if not things:
            self.say(f'no FIFO is called {m["path"]}')
        if any(d.get('access', 0) & other for d in self.trace.descriptors if d.get('object') in things):
            self.say(f'{m["path"]} is open for {m["way"]}')

    def say_other_fifo(self, m):
        self.say_fifo(m)
        thread = self.who(m['who'], 'who opens another FIFO')
        victim = self.trace.thread(self.answer['victim']['tid'], self.start)
        if thread and victim and not thread.parents & victim.parents and thread.parent != victim.parent:
            self.say(f'{thread.pid} and {victim.pid} were not started by one process')

    def say_past(self, match):
        thread = self.who(match['who'], 'who is past the call')
        if thread and match['function'] not in {name for _, node in thread.stacks for name, _ in self.trace.stack(node)}:
            self.say(f'{thread.tid} stands nowhere in {match["function"]}')

    def say_made_to_end(self, m):
        """Sent to its process just before it was born."""
        victim = self.actor(self.answer['victim'], 'who was made to end its process')
        sent = [s for s in self.trace.signals if s['number'] == int(m['event']) and s.get('signal_number') == m['signal']]
        if victim and (not sent or (self.trace.thread(sent[0]['target'], sent[0]['time_ns']) or victim).pid != victim.pid or
                       not sent[0]['time_ns'] <= victim.born <= sent[0]['time_ns'] + 500_000_000):
            self.say(f'{victim.tid} was not born behind {m["signal"]} of event {m["event"]}')

    def say_untaken(self, m):
        """Sent to one of its threads, and no thread of its process handled it before the end of the window."""
        thread = self.who(m['who'], 'who was sent a signal')
        sent = [s for s in self.trace.signals if s['number'] == int(m['event'])]
        if not sent or sent[0].get('signal_number') != m['signal']:
            self.say(f'event {m["event"]} sends no {m["signal"]}')
        elif thread:
            if (self.trace.thread(sent[0]['target'], sent[0]['time_ns']) or thread).pid != thread.pid:
                self.say(f'{m["signal"]} was sent to another process than {thread.pid}')
            if any(d.get('signal_number') == m['signal'] and sent[0]['time_ns'] <= d['time_ns'] < self.end and
                   (self.trace.thread(d['tid'], d['time_ns']) or d).pid == thread.pid for d in self.trace.delivered):
                self.say(f'process {thread.pid} handled {m["signal"]}')

    def say_kept_signal(self, m):
        """A snapshot found it so, and the thread stands as it says."""
        thread, found = self.who(m['who'], 'who has not taken a signal'), self.trace.events.get(int(m['event']))
        if not found or found['type'] != 'signal_pending' or found.get('signal_pending_number') != m['signal']:
            self.say(f'event {m["event"]} tells of no {m["signal"]} that was not taken')
            return
        if thread and found['tid'] != thread.tid:
            self.say(f'{m["signal"]} is one of {found["tid"]}, not of {thread.tid}')
        if m['by'] and (sender := self.who(m['by'], 'who sent a signal')) and found.get('sender') != sender.pid:
            self.say(f'{m["signal"]} came from {found.get("sender")}')
        states = {'it is stopped': ('stopped', 'traced'), 'it is frozen': ('frozen',), 'no signal ends its wait inside the kernel': ('blocked',)}
        stood = [w.fields.get('state') for _, _, w in self.trace.waits_in(thread, self.start, self.end)] if thread else []
        if thread and not (found.get('blocked') if m['why'] == 'it blocks that signal' else set(states[m['why']]) & set(stood)):
            self.say(f'{thread.tid} does not stand so that {m["why"]}')

    def say_kept_descriptors(self, m):
        who, found = self.who(m['who'], 'whose descriptors are used up'), self.trace.events.get(int(m['event']))
        if not found or found['type'] != 'descriptor_limit' or found.get('limit') != int(m['limit']):
            self.say(f'event {m["event"]} tells of no limit of {m["limit"]} descriptors')
        elif who and found['tid'] != who.pid:
            self.say(f'the limit is one of {found["tid"]}')
        other = self.who(m['other'], 'to whom descriptors lead') if m['other'] else None
        own = [d for d in self.trace.descriptors if who and (self.trace.thread(d['tid'], d['time_ns']) or who).pid == who.pid]
        sends = {d['object']: d.get('channel_out') for d in own}
        taken = {d.get('channel_in') for d in self.trace.descriptors if other and (self.trace.thread(d['tid'], d['time_ns']) or other).pid == other.pid}
        if other and sum(c in taken for c in sends.values() if c) < int(m['count']):
            self.say(f'fewer than {m["count"]} of its descriptors lead to {other.pid}')

    def say_fellows(self, match):
        objects = {word for word, _ in self.futexes_of(self.answer['victim']['tid'])}
        fellows = {e['tid'] for e in self.trace.events.values() if e.get('wait') == 'futex' and e.get('object') in objects}
        if len(fellows - {self.answer['victim']['tid']}) < int(match['count']):
            self.say(f'{match["count"]} threads wait for the same: the trace has {len(fellows) - 1}')

    def say_no_stacks(self, _):
        if len(self.trace.frames) > 1:
            self.say('stacks were recorded')

    def say_callback(self, m):
        """The thread's events say that it began, and did not end before the time that counts; who asked for it did."""
        thread = self.who(m['who'], 'who was in a callback')
        told = [c for s in self.answer.get('path') or [] if thread and s.get('tid') == thread.tid for c in s.get('callbacks') or []]
        inner = [c for c in told if c.get('event') == int(m['event'])]
        if thread and not inner:
            self.say(f'a callback from event {m["event"]} on: the document knows none of {thread.tid}')
        if not thread or not inner:
            return
        if escaped(inner[0].get('what') or '') != m['what']:
            self.say(f'a callback "{m["what"]}" in the text, "{inner[0].get("what")}" in the document')
        begins = [(int(m['event']), m['at'])] + [(int(e), at) for at, e in re.findall(r'begun at (\d+\.\d{3}) s \(event (\d+)\)', m['around'] or '')]
        before = None
        for number, at in begins:
            self.at_event(thread, number, at, 'a callback begins')
            if before and number > before:
                self.say(f'a callback of event {before} within one that began later, at event {number}')
            before = number
        submitted = inner[0].get('submitted') or {}
        if not m['by']:
            if submitted:
                self.say('who submitted the callback is in the document and not in the text')
            return
        other = self.who(m['by'], 'who submitted it')
        if other and (submitted.get('tid') != other.tid or submitted.get('event') != int(m['ask']) or submitted.get('what') != m['deed']):
            self.say(f'{m["by"]} {m["deed"]} (event {m["ask"]}): the document says otherwise')
        if other:
            self.at_event(other, int(m['ask']), m['asked'], 'a submission')
        if int(m['ask']) > int(m['event']):
            self.say(f'the callback of event {m["event"]} was asked for only by event {m["ask"]}')

    def at_event(self, thread, number, at, what):
        event = self.trace.events.get(number)
        if not event or event.get('tid') != thread.tid:
            self.say(f'{what}: event {number} is not of {thread.tid}')
        elif abs(float(at) * 1e9 - (event['time_ns'] - self.trace.start)) > 1.1 * MS:
            self.say(f'{what} at {at} s: event {number} was at {show(event["time_ns"] - self.trace.start)}')

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
            self.say(f'lost in stretches of up to {m["time"]}: the longest gap has {show(max(g[1] - g[0] for g in gaps))}')

    def say_silence(self, m):
        gaps = [g for g in self.trace.gaps if g[0] < self.end and g[1] > self.start]
        if any(g[2] for g in gaps):
            self.say(f'nothing was written: the gaps say that {sum(g[2] for g in gaps)} events were lost')
        if not gaps or not is_near(m['time'], max(g[1] - g[0] for g in gaps)):
            self.say(f'nothing was written for up to {m["time"]}: the longest gap has {show(max([g[1] - g[0] for g in gaps] or [0]))}')


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
        if not done.stdout.startswith(b'{'):
            sys.exit(done.stderr.decode(errors='replace').strip())
        answer = json.loads(done.stdout)
    found = check(options.argus, options.trace, answer)
    for text in found:
        print(text)
    return bool(found)


if __name__ == '__main__':
    sys.exit(main())
