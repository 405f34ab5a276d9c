"""Scores an answer of `argus why --json` against a case's truth.json.

truth.json: verdict (accepted ones), culprit (any of these), chain (all of these must
appear), trigger (any of these), circle (true: one must be found), function_in_chain,
module, text (regular expressions), as_stuck (who waits for the same as the victim: where
nobody says which is meant it may be named as well). Names are actors of the run (shell patterns), or
`victim`; a thread of an actor, or a child of it, counts as the actor, but of `=NAME` that thread
alone; so does a kind of culprit ("cgroup")."""
import fnmatch
import json
import re


def actor_ids(truth_run, pattern):
    actors = dict(truth_run['actors'], victim=str(truth_run['victim_pid']))
    return {int(word) for name, value in actors.items() if fnmatch.fnmatchcase(name, pattern)
            for word in str(value).split() if word.isdigit()}


def is_actor(who, truth_run, patterns):
    who = who or {}
    own = {who.get(key) for key in ('pid', 'tid', 'ppid')} - {None, 0}
    return any(who.get('tid') in actor_ids(truth_run, pattern[1:]) if pattern.startswith('=') else
               own & actor_ids(truth_run, pattern) or who.get('kind') == pattern for pattern in patterns)


def frames_text(answer):
    parts = [json.dumps(step.get('frames') or []) for step in answer.get('chain') or []]
    parts.append(str((answer.get('culprit') or {}).get('function') or ''))
    return '\n'.join(parts)


def modules(answer):
    culprit = answer.get('culprit') or {}
    found = [culprit.get('module') or '']
    for step in answer.get('chain') or []:
        found += [f.get('module') or '' for f in step.get('frames') or [] if isinstance(f, dict)]
    return found


def overlap(answer, truth_run):
    """Share of the shorter of the two windows that both cover."""
    window = answer.get('window') or {}
    start, end = window.get('start_ns', 0), window.get('end_ns', 0)
    both = min(end, truth_run['end_ns']) - max(start, truth_run['start_ns'])
    return max(0, both) / max(1, min(end - start, truth_run['end_ns'] - truth_run['start_ns']))


def answer(answer, truth, truth_run):
    """{point: bool}; only the points that the truth asks for."""
    chain = answer.get('chain') or []
    points = {
        'verdict': answer.get('verdict') in truth['verdict'],
        'culprit': is_actor(answer.get('culprit'), truth_run, truth['culprit']),
        'victim': is_actor(answer.get('victim'), truth_run, ['victim', *truth.get('as_stuck', [])]),
        'time': overlap(answer, truth_run) >= 0.5,
        'ledger': ledger_ok(answer),
    }
    if 'chain' in truth:
        points['chain'] = all(any(is_actor(step, truth_run, [name]) for step in chain) for name in truth['chain'])
    if 'trigger' in truth:
        points['trigger'] = any(is_actor(who, truth_run, truth['trigger'])
                                for who in answer.get('trigger') or [] if isinstance(who, dict))
    if truth.get('circle'):
        points['circle'] = bool(answer.get('circle'))
    if 'function_in_chain' in truth:
        points['function'] = bool(re.search(truth['function_in_chain'], frames_text(answer)))
    if 'module' in truth:
        points['module'] = any(re.search(truth['module'], module) for module in modules(answer))
    if 'text' in truth:
        points['text'] = bool(re.search(truth['text'], answer.get('text') or ''))
    return points


def ledger_ok(answer):
    """The chain covers the window without gap or overlap, and the ledger adds up to it."""
    window, ledger, chain = answer.get('window') or {}, answer.get('ledger') or {}, answer.get('chain') or []
    length = window.get('end_ns', 0) - window.get('start_ns', 0)
    if not chain or length <= 0:
        return False
    gapless = chain[0]['start_ns'] == window['start_ns'] and chain[-1]['end_ns'] == window['end_ns'] and all(
        one['end_ns'] == next_one['start_ns'] for one, next_one in zip(chain, chain[1:]))
    return gapless and sum(ledger.get(k, 0) for k in ('explained_ns', 'unknown_ns', 'lost_ns')) == length


def unknown_share(answer):
    ledger = answer.get('ledger') or {}
    total = sum(ledger.get(key, 0) for key in ('explained_ns', 'unknown_ns', 'lost_ns'))
    return ledger.get('unknown_ns', 0) / total if total else 1.0


def solved(points):
    return points['verdict'] and points['culprit']
