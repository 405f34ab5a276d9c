"""What was measured, kept in pieces: one file each in BUILD/bench, so that a long
benchmark can be measured bit by bit and put together later."""
import glob
import json
import os
import time


def folder(build):
    return build + '/bench/pieces'


def forget(build):
    for path in glob.glob(folder(build) + '/*.json'):
        os.unlink(path)


def keep(build, quick, **results):
    os.makedirs(folder(build), exist_ok=True)
    path = f'{folder(build)}/{time.time_ns()}.json'
    with open(path + '.new', 'w') as file:
        json.dump(dict(results, quick=quick), file, indent=1)
    os.rename(path + '.new', path)


def add_workload(to, piece):
    """Another piece of a workload that is known already."""
    to['alone'] += piece['alone']
    to['alone_details'] += piece['alone_details']
    to['command'] = piece['command']
    for name, found in piece['recorders'].items():
        known = to['recorders'].setdefault(name, {})
        for key, value in found.items():
            known[key] = known.get(key, []) + value if isinstance(value, list) else value


def ordered(names, known):
    return [name for name in names if name in known] + [name for name in known if name not in names]


def merged(build, workload_names, recorder_names):
    """All pieces as one result, in these orders."""
    results = {'idle': {}, 'skipped': [], 'quick': False, 'offline': [], 'own': [], 'now': [], 'scale': [], 'page': None}
    workloads = {}
    for path in sorted(glob.glob(folder(build) + '/*.json')):
        with open(path) as file:
            piece = json.load(file)
        for w in piece.get('workloads', []):
            if w['name'] in workloads:
                add_workload(workloads[w['name']], w)
            else:
                workloads[w['name']] = w
        results['idle'].update(piece.get('idle', {}))
        results['skipped'] += [text for text in piece.get('skipped', []) if text not in results['skipped']]
        results['quick'] = results['quick'] or piece['quick']
        for key in ('offline', 'own', 'now', 'scale', 'page'):
            results[key] = piece.get(key) or results[key]
    for w in workloads.values():
        w['recorders'] = {name: w['recorders'][name] for name in ordered(recorder_names, w['recorders'])}
    results['workloads'] = [workloads[name] for name in ordered(workload_names, workloads)]
    results['idle'] = {name: results['idle'][name] for name in ordered(recorder_names, results['idle'])}
    results['skipped'] = [text for text in results['skipped'] if text.split(':')[0] not in workloads]
    return results
