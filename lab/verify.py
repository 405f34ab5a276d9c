"""Whether what a plan says did happen: by the log that the run's own programs wrote.

Lines (times are CLOCK_MONOTONIC):
    role NAME PID TID               a process or thread began
    late LINK NAME TID BEGIN END    a call of the chain took long
    fault NAME TID BEGIN END        the fault
    stuck NAME PID TID BEGIN END    a round of the victim took long
    rounds COUNT BEFORE LONGEST     at the end: all rounds, those before the fault, the longest of the short ones
"""

SHORT_NS = 300_000_000


def parse(log):
    said = {'role': [], 'late': [], 'fault': [], 'stuck': [], 'rounds': [], 'problem': []}
    for line in log.splitlines():
        words = line.split()
        if words and words[0] in said:
            said[words[0]].append(words[1:])
    return said


def both(a, b, c, d):
    return max(0, min(b, d) - max(a, c))


def actors_of(said, window):
    """Role -> tids: the thread that was in the fault or late if that is known, else all that took the name."""
    actors = {}
    for name, _, tid in said['role']:
        actors.setdefault(name, [])
        if tid not in actors[name]:
            actors[name].append(tid)
    if window:
        for _, name, tid, begin, end in said['late']:
            if both(int(begin), int(end), *window) > SHORT_NS // 2:
                actors[name] = [tid]
        for name, tid, _, _ in said['fault']:
            actors[name] = [tid]
    return {name: ' '.join(tids) for name, tids in actors.items()}


def run_of(log, truth, mode):
    """(what happened, '') or (None, why the run does not count)."""
    said = parse(log)
    if said['problem']:
        return None, 'problem ' + ' '.join(said['problem'][0])
    victim = [words for words in said['role'] if words[0] == truth['victim']]
    if not victim or not said['rounds']:
        return None, 'the victim did not come to its end'
    count, before, longest = map(int, said['rounds'][-1])
    if before < truth.get('rounds_before', 4):
        return None, f'only {before} rounds before the fault'
    run = {'victim_pid': int(victim[-1][1]), 'victim_comm': truth['victim'], 'pids': sorted({int(words[1]) for words in said['role']}),
           'rounds': count, 'longest_ms': longest // 1000000}
    if mode == 'healthy':
        if said['stuck'] or said['late'] or said['fault']:
            return None, 'a healthy run was late: the machine is busy'
        return dict(run, actors=actors_of(said, None)), ''
    if len(said['stuck']) != 1:
        return None, f"{len(said['stuck'])} long rounds"
    begin, end = map(int, said['stuck'][0][3:])
    if not said['fault']:
        return None, 'the fault did not happen'
    fault_begin, fault_end = map(int, said['fault'][0][2:])
    if truth.get('instant'):
        fault_end = max(fault_end, fault_begin + truth['span_ms'] * 1000000)
    share = both(begin, end, fault_begin, fault_end) / (end - begin)
    if share < 0.7:
        return None, f'the fault covers {100 * share:.0f} % of the long round'
    if not 0.6 <= (end - begin) / (truth['span_ms'] * 1e6) <= 1.8:
        return None, f'stuck for {(end - begin) // 1000000} ms, planned {truth["span_ms"]}'
    for link, caller in truth['late']:
        if not any(words[0] == link and both(int(words[3]), int(words[4]), begin, end) > 0.6 * (end - begin) for words in said['late']):
            return None, f'link {link} of {caller} was not late'
    return dict(run, start_ns=begin, end_ns=end, hang_ms=(end - begin) // 1000000, fault_ns=[fault_begin, fault_end],
                actors=actors_of(said, (begin, end))), ''
