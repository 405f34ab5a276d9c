"""What an answer says of how one thread leads to another, held against the events: who woke
whom, sent to whom, held what (see check_answer.py)."""
import re

import replay

DEADLY = {'stopped it by a signal': ('SIGSTOP', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU'),
          'killed it by a signal': ('SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGTERM')}


def same_process(a, b):
    return a and b and a.pid == b.pid


def thread_of(check, event, key='tid'):
    return check.trace.thread(event.get(key, 0), event['time_ns']) if event.get(key) else None


def woke(check, waiter, other, event, words):
    if event['type'] != 'wake':
        return f'event {event["number"]} is no wake-up but a {event["type"]}'
    if not same_process(thread_of(check, event, 'target'), waiter) or event.get('target') != waiter.tid:
        return f'event {event["number"]} woke {event.get("target")}, not {waiter.tid}'
    # A process ends with its last thread, whichever that is.
    if event['tid'] != other.tid and not (event.get('cause') == 'exit' and same_process(thread_of(check, event), other)):
        return f'event {event["number"]} is of {event["tid"]}, not of {other.tid}'
    if event.get('context') and event.get('cause') not in ('own_send', 'thread', 'unknown', None):
        return f'event {event["number"]} is of an interrupt ({event.get("cause")}), not of the thread'
    wait = check.trace.ended.get(event['number'])
    known = check.waits(words) if words not in ('passing it on', 'not born yet') and not words.startswith('spinning') else None
    if wait and known and not check.is_such(wait, known[0], known[1], known[2]) and wait.event:
        return f'event {event["number"]} ended a wait of kind {wait.kind}, not one "{words}"'
    if event['time_ns'] < check.start:
        return f'event {event["number"]} was before the window'
    return ''


def created(check, waiter, other, event, words):
    if event['type'] != 'fork':
        return f'event {event["number"]} creates nobody'
    if event['tid'] != other.tid or event.get('child') != waiter.tid:
        return f'event {event["number"]}: {event["tid"]} created {event.get("child")}'
    return ''


def sent_to(check, waiter, other, event, words):
    """A message of the one, or of who passed it on, to the other."""
    if event['type'] == 'wake':
        return '' if same_process(thread_of(check, event, 'target'), other) else f'event {event["number"]} is not for {other.tid}'
    if event['type'] not in ('message', 'queue_message', 'switch', 'file_event', 'fork', 'signal'):
        return f'event {event["number"]} is a {event["type"]}, no message'
    if event['type'] in ('message', 'queue_message') and 'receive' in replay.flags(event):
        return f'event {event["number"]} is a receipt'
    if not same_process(thread_of(check, event), waiter):
        return f'event {event["number"]} is of {event["tid"]}, not of {waiter.tid}'
    if event['type'] != 'message' or not event.get('channel') or event.get('kind') in ('connect', 'accept'):
        return ''
    channel, readers = event['channel'], set()
    for m in check.trace.messages:
        if m.get('channel') == channel and 'receive' in replay.flags(m):
            readers.add((thread_of(check, m) or other).pid)
    readers |= {(check.trace.thread(d['tid'], d['time_ns']) or other).pid for d in check.trace.descriptors if d.get('channel_in') == channel}
    readers |= {event['peer']} if event.get('peer') else set()
    if readers and other.pid not in readers:
        return f'what event {event["number"]} sent is read by {sorted(readers)}, not by {other.pid}'
    return ''


def sent(check, waiter, other, event, words):
    if event['type'] == 'message' and not same_process(thread_of(check, event), waiter):
        return f'event {event["number"]} is of {event["tid"]}, not of {waiter.tid}'
    return sent_to(check, waiter, other, event, words)


def sent_by(check, waiter, other, event, words):
    return sent(check, other, waiter, event, words)


def was_killed(check, waiter, other, event, words):
    if event['type'] != 'signal' or event.get('target') != other.tid:
        return f'event {event["number"]} is no signal to {other.tid}'
    return '' if other.died is not None and other.died < check.end else f'{other.tid} had not ended'


def set_to_work(check, waiter, other, event, words):
    if event['type'] == 'wake':
        if event.get('target') != other.tid:
            return f'event {event["number"]} woke {event.get("target")}, not {other.tid}'
        if not same_process(thread_of(check, event), waiter):
            return f'event {event["number"]} is of {event["tid"]}, not of {waiter.tid}'
        return ''
    return sent_to(check, waiter, other, event, words)


def set_to_work_then(check, waiter, other, event, words):
    if event['type'] != 'wake' or thread_of(check, event) is not waiter:
        return f'event {event["number"]} is no wake-up by {waiter.tid}'
    return '' if event.get('target') == other.tid else f'event {event["number"]} woke {event.get("target")}, not {other.tid}'


def hinted(check, waiter, other, event, words):
    hint = event.get('hint')
    wait = next((w for w in waiter.waits if w.number == event['number']), None)
    hint = hint or (wait and wait.fields.get('hint'))
    if event['type'] not in ('switch', 'waiting'):
        return f'event {event["number"]} begins no wait'
    if event['tid'] != waiter.tid:
        return f'event {event["number"]} is of {event["tid"]}, not of {waiter.tid}'
    if hint not in (other.tid, other.pid):
        return f'the hint of event {event["number"]} is {hint}, not {other.tid}'
    return ''


def had_ended(check, waiter, other, event, words):
    if other.died is None or other.died > event['time_ns']:
        return f'{other.tid} had not ended at event {event["number"]}'
    return hinted(check, waiter, other, event, words)


def ended_kin(check, waiter, other, event, words):
    if not same_process(waiter, other) or other.died is None:
        return f'{other.tid} is no thread of its process that ended'
    ended = [t.tid for threads in check.trace.by_tid.values() for t in threads if t.pid == waiter.pid and t.tid != t.pid and t.died is not None]
    return '' if ended == [other.tid] else f'of its process {ended} ended'


def ended_taker(check, waiter, other, event, words):
    if other.died is None or other.died > event['time_ns']:
        return f'{other.tid} had not ended at event {event["number"]}'
    ended = [t.tid for threads in check.trace.by_tid.values() for t in threads
             if t.tid == t.pid and t.exe == waiter.exe and t.died is not None and other.died <= t.died <= event['time_ns']]
    return '' if other.exe == waiter.exe and ended == [other.tid] else f'of {waiter.exe} {ended} ended'


LATE_NS = 500 * 10 ** 6


def are_kin(one, other):
    return other.parent == one.parent > 1 or one.parent == other.pid or other.parent == one.pid


def gone(check, waiter, other, event, words):
    if other.died is None or other.tid != other.pid or same_process(waiter, other):
        return f'{other.tid} is no other process that ended'
    if not are_kin(waiter, other):
        return f'{other.tid} is no kin of {waiter.tid}'
    waits = [low for low, high, _ in check.trace.waits_in(waiter, check.start, check.end)]
    if not waits or other.died < min(waits) - LATE_NS or other.died > check.end:
        return f'{other.tid} ended neither just before {waiter.tid} waited, nor meanwhile'
    others = [t.tid for threads in check.trace.by_tid.values() for t in threads
              if t.tid == t.pid and t.pid not in (waiter.pid, other.pid, waiter.parent) and t.parent != waiter.pid and are_kin(waiter, t) and
              t.died is not None and min(waits) <= t.died <= check.end - LATE_NS and t.died - max(t.born, check.trace.start) >= 2 * LATE_NS]
    return f'{others} of its kin ended meanwhile, too' if others else ''


def locks(check, waiter, other, event, words):
    if event['type'] not in ('file_lock', 'lock_held', 'switch', 'waiting'):
        return f'event {event["number"]} is about no lock'
    blocker = event.get('blocker') or event.get('hint')
    thing = event.get('object')
    # Who took it may have ended and left it to who started it.
    held = [l for l in check.trace.locks if l.get('object') == thing and 'unlock' not in (l.get('file_lock_type'), l.get('lock_held_type'))]
    owners = {l.get('owner') or (thread_of(check, l) or other).pid for l in held} | ({blocker} if blocker else set())
    parents = {t.parent for o in owners for t in check.trace.by_tid.get(o, ())}
    if owners and other.pid not in owners | parents and other.tid not in owners:
        return f'the lock is held by {sorted(owners)}, not by {other.pid}'
    return ''


def has_lease(check, waiter, other, event, words):
    if event['type'] != 'lock_held' or event.get('family') != 'lease':
        return f'event {event["number"]} is about no lease'
    return '' if (thread_of(check, event) or other).pid == other.pid else f'the lease is held by {event["tid"]}, not by {other.pid}'


def to_come(check, waiter, other, event, words):
    if event['type'] != 'probe':
        return f'event {event["number"]} is of no probe'
    if thread_of(check, event) is not other:
        return f'event {event["number"]} is of {event["tid"]}'
    return '' if same_process(waiter, other) else f'{waiter.tid} and {other.tid} are of two processes'


def is_child(check, waiter, other, event, words):
    return '' if waiter.pid in other.parents or not other.parent else f'the parent of {other.pid} is {other.parent}, not {waiter.pid}'


def started(check, waiter, other, event, words):
    return created(check, other, waiter, event, words)


def at_other_end(check, waiter, other, event, words):
    if event and event.get('hint') in (other.pid, other.tid):
        return ''
    mine = [d for d in check.trace.descriptors if (check.trace.thread(d['tid'], d['time_ns']) or waiter).pid == waiter.pid]
    theirs = [d for d in check.trace.descriptors if (check.trace.thread(d['tid'], d['time_ns']) or waiter).pid == other.pid]
    ways = {d.get(k) for d in theirs for k in ('object', 'channel_in', 'channel_out')} - {None}
    if any(d.get('peer') == other.pid or {d.get(k) for k in ('object', 'channel_in', 'channel_out')} & ways for d in mine) or \
            any(d.get('peer') == waiter.pid for d in theirs):
        return ''
    return f'{waiter.pid} and {other.pid} share no pipe or socket that is known'


def not_accepted(check, waiter, other, event, words):
    listens = [d for d in check.trace.descriptors if d.get('state') == 10 and (check.trace.thread(d['tid'], d['time_ns']) or waiter).pid == other.pid]
    return '' if listens else f'{other.pid} listens nowhere'


def served_alone(check, waiter, other, event, words):
    """All that others sent and it does not listen to lies in one set, and what it listens to there is the other's."""
    pid = lambda item: (check.trace.thread(item['tid'], item['time_ns']) or waiter).pid
    theirs = {d['object'] for d in check.trace.descriptors if pid(d) == waiter.pid and d.get('peer') == other.pid and 'object' in d}
    unread = {d['object'] for d in check.trace.descriptors if pid(d) == waiter.pid and d.get('queued') and 'object' in d}
    return '' if theirs and unread - theirs else f'{waiter.pid} left nothing unread but what {other.pid} sent'


def serves(check, waiter, other, event, words):
    return '' if event['type'] in ('fuse_send', 'fuse_asked', 'switch', 'waiting') else f'event {event["number"]} is no request'


def serves_disk(check, waiter, other, event, words):
    return '' if any(w.kind == 'block_io' for w in waiter.waits) else f'{waiter.tid} does not wait for a disk'


def supervises(check, waiter, other, event, words):
    """It has the filter's other end open."""
    held = {w.fields.get('object') for w in waiter.waits if w.kind == 'supervised'}
    theirs = {d.get('object') for d in check.trace.descriptors if (check.trace.thread(d['tid'], d['time_ns']) or waiter).pid == other.pid}
    return '' if held & theirs - {None} else f'{other.pid} has nothing open over which calls of {waiter.tid} are answered'


def told(check, waiter, other, event, words):
    if event['type'] != 'wake' or event.get('target') != other.tid:
        return f'event {event["number"]} did not wake {other.tid}'
    wait = check.trace.ended.get(event['number'])
    things = {w.fields.get('object') for w in waiter.waits if w.start <= event['time_ns'] and (w.end or check.trace.end) >= event['time_ns']}
    if wait and wait.fields.get('object') not in things:
        return f'event {event["number"]} ended a wait for another object'
    return ''


def signalled(check, waiter, other, event, words):
    if event['type'] != 'signal':
        return f'event {event["number"]} is no signal'
    if not same_process(thread_of(check, event), waiter) or not same_process(thread_of(check, event, 'target'), other):
        return f'event {event["number"]}: {event["tid"]} sent a signal to {event.get("target")}'
    return ''


def traces(check, waiter, other, event, words):
    return hinted(check, waiter, other, event, words)


def lockstep(check, waiter, other, event, words):
    kinds = {w.kind for _, _, w in check.trace.waits_in(waiter, check.start, check.end)}
    theirs = {w.kind for _, _, w in check.trace.waits_in(other, check.start, check.end)}
    return '' if kinds & theirs else f'{other.tid} did not wait as {waiter.tid} did'


def of_process(check, waiter, other, event, words):
    return '' if same_process(waiter, other) else f'{other.tid} is of another process'


def serves_alike(check, waiter, other, event, words):
    alike = same_process(waiter, other) or waiter.fields.get('parent') == other.fields.get('parent')
    return '' if alike else f'{other.tid} is of another process, which somebody else started'


def similar(check, waiter, other, event, words):
    involved = {(thread_of(check, event, key) or other).pid for key in ('tid', 'target') if event.get(key)} if event else set()
    return f'event {event["number"]} has nothing to do with {other.tid}' if involved and other.pid not in involved else ''


def wrote(check, waiter, other, event, words):
    if event['type'] not in ('flag_write', 'flag_access'):
        return f'event {event["number"]} is no write of a flag'
    if event.get('value') == event.get('old') and event.get('watch'):
        return f'event {event["number"]} did not change the value'
    if thread_of(check, event) is not other:
        return f'event {event["number"]} is of {event["tid"]}'
    return ''


def awaited(check, waiter, other, event, words):
    return f'{other.tid} had ended before the window' if other.died is not None and other.died < check.start else ''


def is_parent(check, waiter, other, event, words):
    if event['type'] != 'syscall' or event.get('syscall_number') != 'kill':
        return f'event {event["number"]} is no look whether a process lives'
    asked = event.get('arg0', 0)
    asked = asked if isinstance(asked, int) else int(asked, 0)
    ended = [t for t in check.trace.by_tid.get(asked, ()) if other.pid in t.parents or other.pid == t.parent]
    return '' if any(t.died is not None for t in ended) else f'{other.pid} is not the parent of a process {asked} that has ended'


def took_away(check, waiter, other, event, words):
    if event['type'] != 'syscall' or not re.match('unlink|rmdir|rename', event.get('syscall_number', '')):
        return f'event {event["number"]} takes away nothing'
    return '' if thread_of(check, event) is other else f'event {event["number"]} is of {event["tid"]}'


def closed(check, waiter, other, event, words):
    if not same_process(waiter, other) or waiter is other:
        return f'{other.tid} is not of its process'
    for thread in (t for threads in check.trace.by_tid.values() for t in threads):
        if thread.pid != waiter.pid or thread.died is not None:
            continue
        wait = thread.waits[-1] if thread.waits else None
        if not wait or wait.kind != 'futex' or wait.fields.get('timeout_ns') or (wait.end is not None and wait.end < check.end):
            return f'{thread.tid} waits for something else'
        if thread is not waiter and thread is not other and wait.start > other.waits[-1].start and \
                wait.fields.get('object') != waiter.waits[-1].fields.get('object'):
            return f'{thread.tid} began to wait after {other.tid}'
    return ''


def most_likely(check, waiter, other, event, words):
    return ''


def has_open(check, waiter, other, event, words):
    """A file of the other's has the path that a call named which failed."""
    paths = {d.get('text') for d in check.trace.descriptors if (check.trace.thread(d['tid'], d['time_ns']) or waiter).pid == other.pid}
    if any(e['type'] == 'call_name' and e.get('text') in paths for e in check.trace.events.values()):
        return ''
    return f'{other.pid} has nothing open that a call named'


def fills_group(check, waiter, other, event, words):
    """A limit of processes was found used up, most of it by the other or what is called so."""
    found = [e for e in check.trace.events.values() if e['type'] == 'group_limit' and e.get('kind') == 'processes' and check.start <= e['time_ns'] <= check.end]
    return '' if any(e.get('most') == other.pid for e in found) else f'no limit of processes was found of which {other.pid} has most'


def writes(check, waiter, other, event, words):
    """A file of the other's is open for writing: which of them are watched only a snapshot tells."""
    if any((check.trace.thread(d['tid'], d['time_ns']) or waiter).pid == other.pid and d.get('access', 0) & 2 for d in check.trace.descriptors):
        return ''
    return f'{other.pid} has nothing open for writing'


def closed_but(check, waiter, other, event, words):
    """One of its process that waits to the end for a word, without a limit."""
    wait = other.waits[-1] if other.waits else None
    if not same_process(waiter, other) or waiter is other:
        return f'{other.tid} is not of its process'
    if not wait or wait.kind != 'futex' or wait.fields.get('timeout_ns') or (wait.end is not None and wait.end < check.end):
        return f'{other.tid} waits for something else'
    return ''


def began_last(check, waiter, other, event, words):
    """As closed_but, and it began behind the waiter."""
    return closed_but(check, waiter, other, event, words) or ('' if other.waits[-1].start > waiter.waits[-1].start else f'{other.tid} waited before')


def inherited(check, waiter, other, event, words):
    """The other is of the process that forked the waiter's off."""
    forks = [e for e in check.trace.events.values() if e['type'] == 'fork' and e.get('child_pid') == waiter.pid]
    by = [check.trace.thread(e['tid'], e['time_ns']) for e in forks]
    return '' if any(t and t.pid == other.pid for t in by) else f'{other.pid} did not fork {waiter.pid} off'


def keeps_open(check, waiter, other, event, words):
    """Both have one pipe, the other to write, and a child that the waiter's process started has ended."""
    def pipes(pid, access):
        return {d['object'] for d in check.trace.descriptors if d.get('object', '').startswith('pipe:') and d.get('access', 0) & access and
                (check.trace.thread(d['tid'], d['time_ns']) or waiter).pid == pid}
    if not pipes(waiter.pid, 1) & pipes(other.pid, 2):
        return f'{other.pid} and {waiter.pid} have no pipe in common'
    for e in check.trace.events.values():
        if e['type'] == 'fork' and (check.trace.thread(e['tid'], e['time_ns']) or other).pid == waiter.pid:
            child = check.trace.thread(e['child'], e['time_ns'])
            if child and child.died is not None and child.pid != other.pid:
                return ''
    return f'no child of {waiter.pid} has ended'


# words -> (what checks them, an event must be told)
LINKS = {
    'woke it': (woke, True),
    'created the thread that woke it': (created, True),
    'was sent its message': (sent, False),
    'sent it what set it to work': (sent_by, True),
    'was set to work on its behalf': (set_to_work, True),
    'was set to work by it just before, and was not done while it looked': (set_to_work_then, True),
    'owns what it waits for (a hint)': (hinted, True),
    'is the thread whose end it awaits (a hint)': (hinted, True),
    'had ended with the lock that it waits for': (had_ended, True),
    'was killed, and may have had what it waits for': (was_killed, True),
    'is of its process, and the only thread of it that ended': (ended_kin, True),
    'is the only one of its program that came and ended just before, and may have what it waits for': (ended_taker, False),
    'is the only one of its kin that ended just before, or meanwhile, and may have been to end that': (gone, True),
    'is at the other end': (at_other_end, False),
    'has not accepted its connection': (not_accepted, False),
    'is the only one that it listens to, and leaves what others sent unread': (served_alone, False),
    'holds the file lock': (locks, False),
    'holds a lease on a file, and has not given it up': (has_lease, True),
    'has not come to where it waits': (to_come, True),
    'came last to where it waited': (to_come, True),
    'is its child': (is_child, False),
    'is a thread that it started': (started, True),
    'is of its process, in which all threads wait for nothing but each other, and began to wait last': (closed, True),
    'is of its process, in which all threads wait for each other, or only sleep, and began to wait last': (closed_but, True),
    'is of its process, and was the last there to begin a wait without a limit, behind it': (began_last, True),
    'had the lock when the one that waits was forked off, whose copy of it nobody can give back': (inherited, False),
    'has the pipe open still that it had from one that has ended': (keeps_open, False),
    'serves the file system': (serves, True),
    "serves the file system on which a loop device's file lies": (serves_disk, False),
    'is the one that is to let it go on': (supervises, True),
    'waits at the same place until this gives up, as if each had what the other needs': (lockstep, False),
    'is the one that most likely changes what it looks at': (most_likely, False),
    'wrote what it looks at, which ended the loop': (wrote, True),
    'traces it, and had not let it go on': (traces, True),
    'was told, in its place, what it waits for': (told, True),
    'was told to end, by a signal, and did not at once': (signalled, True),
    'should have ended it, as it did another time': (similar, False),
    'is the process whose end it awaits': (awaited, False),
    'is the parent of the process that it looks for, which has ended, and did not take note of that': (is_parent, True),
    'took away what it tried to make, and most likely had it': (took_away, True),
    'is of the same process': (of_process, False),
    'does what is done once only, for whose end it waits': (of_process, False),
    'has that memory mapped, and is the only one that could end the wait': (at_other_end, False),
    'has that memory mapped, too, as others do': (at_other_end, False),
    'is of the program that has most of the processes that its control group may have': (fills_group, False),
    'has what it watches open for writing': (writes, False),
    'has what it looks for open': (has_open, False),
    'is at work for another that asked its server, and may have what it waits for': (serves_alike, False),
    'serves another session, which is open, and may have what it waits for': (serves_alike, False),
}


def check_link(check, waiter, other, link, number, words):
    function, needs_event = LINKS[link]
    event = check.trace.events.get(number) if number else None
    if number and not event:
        check.say(f'{other.tid} {link}: event {number} is not in the trace')
    elif needs_event and not number:
        check.say(f'vague: {other.tid} {link}, and no event says so')
    elif event or function in (sent, at_other_end, not_accepted, served_alone, is_child, lockstep, most_likely, writes, has_open, awaited, similar, of_process,
                                inherited, keeps_open):
        wrong = function(check, waiter, other, event, words) if event or function is not sent else ''
        if wrong:
            check.say(f'{other.tid} {link}: {wrong}')


# ---- what set the culprit off ----

def check_deed(check, culprit, actor, words, number):
    event = check.trace.events.get(number)
    if not event:
        check.say(f'what set it off: event {number} is not in the trace')
        return
    by, target, wrong = thread_of(check, event), thread_of(check, event, 'target'), ''
    kind = {'woke it': 'wake', 'set off the one that woke it': 'wake', 'started it': 'fork', 'stopped it by a signal': 'signal', 'killed it by a signal': 'signal',
            'froze its control group': 'freeze',
            'sent it the message that it read before': 'message', 'changed a file it watches': 'file_event',
            'wrote to a file it watches': 'wake', 'is at the other end of the connection it read before': 'message'}.get(words)
    if not kind:
        wrong = 'not understood'
    elif event['type'] != kind and not (words == 'froze its control group' and event['type'] == 'wake' and target is culprit):
        wrong = f'event {number} is a {event["type"]}'
    elif words.startswith('is at the other end'):
        wrong = '' if event.get('peer') in (actor.pid, None) else f'the peer of event {number} is {event["peer"]}'
    elif not by or by.tid != actor.tid:
        wrong = f'event {number} is of {event["tid"]}'
    elif words in ('woke it', 'wrote to a file it watches') and target is not culprit:
        wrong = f'event {number} woke {event.get("target")}'
    elif words == 'started it' and event.get('child') not in (culprit.tid, culprit.pid):
        wrong = f'event {number} started {event.get("child")}'
    elif words in DEADLY and (not same_process(target, culprit) or event.get('signal_number') not in DEADLY[words]):
        wrong = f'event {number} sends {event.get("signal_number")} to {event.get("target")}'
    elif words.startswith('sent it') and 'receive' in replay.flags(event):
        wrong = f'event {number} is a receipt'
    if wrong:
        check.say(f'what set it off, {actor.tid} {words}: {wrong}')
