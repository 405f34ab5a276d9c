"""The members of an answer's document (docs/json.md) held against the events: window, ledger,
chain, path, alternatives, plan (see check_answer.py)."""
import re

from check_facts import Facts
from check_words import MS, is_near, show

NOBODY_KNOWN = 60   # per cent, at most, where the culprit is not known


class Document(Facts):
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
        culprit = answer.get('culprit') or {}
        if culprit.get('kind') == 'unknown' and culprit.get('confidence', 0) > NOBODY_KNOWN:
            self.say(f'nobody is named, with a confidence of {culprit["confidence"]} %')
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
        if re.match(r'\w+ for \d', link['state']):
            self.mixture(thread, link, what)
            return
        if link['state'] == 'waiting' and link.get('kind') != 'thread':     # its object says for which source
            ns = self.trace.times(thread, link['start_ns'], link['end_ns'])['waiting']
        else:
            ns, _ = self.in_state(thread, link['state'], link['start_ns'], link['end_ns'], what)
        length = link['end_ns'] - link['start_ns']
        lost = self.trace.lost_ns(link['start_ns'], link['end_ns']) + self.trace.times(thread, link['start_ns'], link['end_ns'])['unknown']
        if ns is not None and link['state'] != 'unknown' and length > 25 * MS and (ns + lost) * 3 < length:
            times = self.trace.times(thread, link['start_ns'], link['end_ns'])
            self.say(f'{what}: "{link["state"]}" for {show(ns)} of {show(length)}; ' +
                     ', '.join(f'{state} {show(t)}' for state, t in times.items() if t))
        for number in link.get('evidence') or []:
            if number not in self.trace.events and number > max(self.trace.events, default=0):
                self.say(f'{what}: event {number} is not in the trace')

    def mixture(self, thread, link, what):
        """Each state for so long, and together all of the time but what is too little to tell."""
        times, told = self.trace.times(thread, link['start_ns'], link['end_ns']), 0
        for part in link['state'].split(', '):
            state, _, time = part.partition(' for ')
            ns = times.get(state, 0) + (self.trace.lost_ns(link['start_ns'], link['end_ns']) if state == 'unknown' else 0)
            told += ns
            if state not in times or not is_near(time, ns, 0.02):
                self.say(f'{what}: "{part}" of {show(link["end_ns"] - link["start_ns"])}; ' +
                         ', '.join(f'{state} {show(t)}' for state, t in times.items() if t))
        if told * 10 < 7 * (link['end_ns'] - link['start_ns']):
            self.say(f'{what}: "{link["state"]}" is {show(told)} of {show(link["end_ns"] - link["start_ns"])}')

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
        if not {'culprit', 'quota', 'quota_unknown', 'source', 'far', 'kept_out', 'lost_between', 'nobody'} & set(names):
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
