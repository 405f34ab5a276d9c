"""The tables of LAB.md: how often the culprit was right, by mechanism, by fault and by shape."""
import score

HEAD = '''# Hangs made at random

`make lab`: programs that nobody tuned for (`lab/README.md`), recorded, asked about with the victim's pid and without any
hint ("alone"), at both levels. A figure is how often the culprit was right in the first answer. Of the unseen half.

'''
COLUMNS = [(level, hint) for level in ('lean', 'full') for hint in ('pid', 'alone')]


def points_of(result, hint):
    return result['asked'].get(hint, {}).get('points') or {}


def share(results, level, hint, good):
    mine = [r for r in results if r['mode'] == 'fault' and r['level'] == level]
    return f'{sum(good(points_of(r, hint)) for r in mine)}/{len(mine)}' if mine else '-'


def rows(results, title, kinds_of):
    lines = [f'| {title} | ' + ' | '.join(f'{level} {hint}' for level, hint in COLUMNS) + ' | healthy silent |', '|---' * (len(COLUMNS) + 2) + '|']
    for kind in sorted({kind for r in results for kind in kinds_of(r['truth'])}):
        mine = [r for r in results if kind in kinds_of(r['truth'])]
        healthy = [r for r in mine if r['mode'] == 'healthy']
        cells = [share(mine, level, hint, lambda p: p.get('culprit', False)) for level, hint in COLUMNS]
        lines.append(f"| {kind} | {' | '.join(cells)} | {sum(r['silent'] for r in healthy)}/{len(healthy)} |")
    return lines + ['']


def certainty(results):
    """Answers that name somebody, by how sure they are, in ten parts as large as each other: how many are right."""
    answers = []
    for asked in (asked for r in results if r['mode'] == 'fault' for asked in r['asked'].values() if asked.get('points')):
        answer = asked.get('answer') or {}
        if answer.get('verdict') not in (None, 'none'):
            answers.append(((answer.get('culprit') or {}).get('confidence', 0), asked['points'].get('culprit', False)))
    answers.sort()
    lines = ['How sure the answers that name somebody were, in ten parts as large as each other:', '',
             '| said, per cent | answers | right, per cent |', '|---|---|---|']
    for number in range(10):
        part = answers[len(answers) * number // 10:len(answers) * (number + 1) // 10]
        if part:
            said = f'{part[0][0]}' + (f' to {part[-1][0]}' if part[-1][0] > part[0][0] else '')
            lines.append(f'| {said} | {len(part)} | {100 * sum(right for _, right in part) / len(part):.0f} |')
    return lines + ['']


def text(results, invalid):
    healthy = [r for r in results if r['mode'] == 'healthy']
    fault = [r for r in results if r['mode'] == 'fault']
    lines = [f"{len(fault)} runs with a fault and {len(healthy)} without, of {len({r['seed'] for r in results})} seeds; {invalid} more were thrown away "
             'because the fault did not bite as planned, or the machine was too busy.', '',
             '| | ' + ' | '.join(f'{level} {hint}' for level, hint in COLUMNS) + ' |', '|---' * (len(COLUMNS) + 1) + '|']
    measures = {'culprit': lambda p: p.get('culprit', False), 'culprit and verdict': lambda p: bool(p) and score.solved(p),
                'all points': lambda p: bool(p) and all(p.values())}
    for name in sorted({name for r in fault for hint in r['asked'] for name in points_of(r, hint)} - {'culprit'}):
        measures[name] = None
    for name, good in measures.items():
        cells = []
        for level, hint in COLUMNS:
            if good:
                cells.append(share(fault, level, hint, good))
            else:       # only runs whose truth asks for it
                mine = [points_of(r, hint) for r in fault if r['level'] == level and name in points_of(r, hint)]
                cells.append(f'{sum(p[name] for p in mine)}/{len(mine)}')
        lines.append(f"| {name} | {' | '.join(cells)} |")
    cells = [str(sum(bool(r['asked'].get(hint, {}).get('foreign')) for r in fault if r['level'] == level)) for level, hint in COLUMNS]
    lines += [f"| about a process that is none of the run's | {' | '.join(cells)} |", '']
    said = [len(asked['untrue']) for r in results for asked in r['asked'].values() if 'untrue' in asked]
    if said:
        lines += [f"Checked against the events (`cases/check_answer.py`): {sum(n > 0 for n in said)} of {len(said)} answers say something that these contradict.", '']
    alarms = [h for r in healthy for h in r['hangs'] or []]
    lines += [f"Healthy: {sum(r['silent'] for r in healthy)} of {len(healthy)} silent about the run's processes; "
              f"{len(alarms) - sum(r['foreign_hangs'] for r in healthy)} false alarms about them, {sum(r['foreign_hangs'] for r in healthy)} about others of the machine.", '']
    if fault:
        lines += certainty(results)
    lines += rows(results, 'mechanism in the chain', lambda t: t['mechanisms'])
    lines += rows(results, 'fault', lambda t: [t['fault']])
    lines += rows(results, 'shape', lambda t: [t['shape']])
    return '\n'.join(lines)
