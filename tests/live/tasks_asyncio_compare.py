# The tasks that a trace's last snapshot has beside what the program itself said of them.
import json
import sys

events = json.load(open(sys.argv[1]))['events']
own = json.load(open(sys.argv[2]))
way = sys.argv[3]
by_number = {}
for e in events:
    number = e['task']
    if e['type'] == 'async_task':
        # each snapshot tells all of them
        if number in by_number:
            by_number = {}
        by_number[number] = {'name': e['text'], 'state': e.get('state', 'waiting'), 'awaits': e.get('awaits'), 'others': e.get('others', 0),
                             'frames': []}
        assert e['all'] == len(own), (e['all'], len(own))
        assert not e.get('cut'), e
    else:
        assert e.get('depth', 0) == len(by_number[number]['frames']), e
        by_number[number]['frames'].append([*e['texts'], e['line']])
tasks = list(by_number.values())
left = {t['name']: t for t in tasks}
equal = 0
for t in own:
    found = left.pop(t['name'], None)
    if found is None:
        print('not told:', t)
        continue
    if t['name'] == 'the blocker' and way == 'blocks':
        assert found['state'] == 'running', found
        t['state'] = 'running'
        # where it was when it wrote
        t['frames'][0][2] = found['frames'][0][2] = 0
    awaits = by_number[found['awaits']]['name'] if found['awaits'] in by_number else None
    same_awaited = awaits in t['awaits'] and found['others'] == len(t['awaits']) - 1 if t['awaits'] else awaits is None
    if found['state'] == t['state'] and found['frames'] == t['frames'] and same_awaited:
        equal += 1
    else:
        print('own:', t, 'found:', found, awaits, sep='\n  ')
print(f'{equal} equal of {len(own)}; {len(left)} more')
assert equal == len(own) > 40 and not left, 'tasks differ'
