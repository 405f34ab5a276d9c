#!/usr/bin/env python3
"""Writes SLOW.md: how right `argus path` is about programs that are slow for a known reason.
Runs the scorers of this folder, each recording once and asking once, or takes what they
wrote (`--json`) from a folder: score.json, real.json, whatif.json, tails-full.json, tails-lean.json;
from a folder also what long.py wrote of a long trace, long.json.

usage: table.py [--argus PROGRAM] [--from DIR] [--note TEXT] [--add SET FILE]"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import whatif  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SCORERS = {'score': ['score.py'], 'real': ['real.py'], 'whatif': ['whatif.py'], 'tails-full': ['tails.py'],
           'tails-lean': ['tails.py', '--level', 'lean']}
SETS = {'programs': 'of the twelve programs above, by which replay was made better', 'scored': 'of ten others (scored.c), which were looked at, too',
        'unseen': 'of seventeen others (unseen.c), looked at since, too', 'fresh': 'of thirteen others (fresh.c), looked at since, too',
        'later': 'of twelve more (later.c), looked at since, too',
        'sixth': 'of thirteen more (sixth.c), looked at since, too', 'seventh': 'of eight more (seventh.c), looked at since, too',
        'eighth': 'of twelve more (eighth.c), looked at since, too', 'ninth': 'of ten more (ninth.c), looked at since, too',
        'tenth': 'of ten more (tenth.c), looked at since, too',
        'eleventh': 'of eight more (eleventh.c), looked at since, too',
        'twelfth': 'of eight more (twelfth.c: locks that are spun for, two locks at a time, sleeps behind which no stack is known), looked at since, too',
        'thirteenth': 'of fourteen more (thirteenth.c), recorded, measured and asked about once before replay was changed for any of them'}


def lines_of(results):
    yield '| program | what makes it slow | first line |'
    yield '|---|---|---|'
    for r in results:
        wrong = r['wrong'].splitlines()[0] if r['wrong'] else ''
        yield f"| {r['program']} | {r['why']} | {'wrong: ' + wrong if wrong else 'right'} |"


def changes(results):
    yield '| program | work, % | change | run, s | measured, s | estimate, s | bounds, s | off |'
    yield '|---|---|---|---|---|---|---|---|'
    for r in results:
        head = f"| {r['program']} | {r['work']} | {r['change'].replace('_', ' ')} | {r['run_s']:.3f} | {r['truth_s']:.3f} |"
        if r['spread'] > whatif.STEADY:
            head = head[:-2] + f" ±{r['spread'] * 50:.0f} % |"
        if 'off' not in r:
            yield head + ' not told | | |'
            continue
        outside = '' if r['inside'] else ', outside'
        yield head + f" {r['estimate_s']:.3f} | {r['low_s']:.3f} to {r['high_s']:.3f} | {r['off'] * 100:.0f} %{outside} |"


def section(name, results):
    yield f'{len(results)} changes {SETS[name]}.\n'
    for steady in (True, False):
        yield '- ' + whatif.summary([r for r in results if (r['spread'] <= whatif.STEADY) == steady], steady)
    yield ''
    yield from changes(results)
    yield ''


def add_to(document_path, name, results):
    """Puts one set into what is written, in place of what was there of it."""
    with open(document_path, encoding='utf-8') as file:
        text = file.read()
    old = re.search(rf'^\d+ changes {re.escape(SETS[name])}\.\n.*?(?=^\d+ changes |^## )', text, re.M | re.S)
    at, end = old.span() if old else (text.index('## Requests\n'),) * 2
    with open(document_path, 'w', encoding='utf-8') as file:
        file.write(text[:at] + '\n'.join(section(name, results)) + '\n' + text[end:])


def long_trace(told):
    if not told:
        return
    yield '\n## A long trace\n'
    yield (f"The path of one process through {told['seconds']:.0f} s of {told['events']:,} events ({told['links']:,} links), and the graph of "
           'the same trace, each once from a cold page cache.\n')
    yield '| command | processor, s | clock, s | peak MiB |'
    yield '|---|---|---|---|'
    for row in told['rows']:
        yield f"| argus {row['title']} | {row['cpu_s']:.1f} | {row['seconds']:.1f} | {row['peak_mib']:.0f} |"


def document(found, note):
    yield '# Slow, not stuck: how right `argus path` is\n'
    yield 'Written by `tests/slow/table.py`. Every program is recorded once and asked once. ' + note + '\n'
    for title, name in (('Programs whose bottleneck is known by construction', 'score'), ('Real programs', 'real')):
        right = sum(not r['wrong'] for r in found[name])
        yield f'## {title}\n\nThe first line is right, by function, lock and holder, in {right} of {len(found[name])}.\n'
        yield from lines_of(found[name])
        yield ''
    yield '## What would help\n'
    yield ('What `--what-if` estimates of one recording, and what the changed program then takes (medians of pairs of runs, changed and unchanged, without a recorder). '
           '"Off" is of what was measured, or of a tenth of the unchanged run where that is more. '
           'Where the middle half of the pairs is further apart than 10 % the truth is not steady, and the change counts apart.\n')
    for name in SETS:
        if name in found['whatif']:
            yield from section(name, found['whatif'][name])
    yield '## Requests\n'
    yield ('Ten servers with a planted cause in one of a hundred of 1,200 requests (servers.c), whose own log is the truth: '
           'a request is right that was answered by that thread about then, each once.\n')
    yield '| level | the cause comes first | requests found | rightly |'
    yield '|---|---|---|---|'
    for name in ('tails-full', 'tails-lean'):
        t = found[name]
        yield f"| {t['level']} | {t['right']} of {t['asked']} | {t['found']} of {t['served']} | {t['correct']} ({t['correct'] * 100 / t['served']:.2f} %) |"
    yield '\nAt the lean level a request for which neither server nor client slept is not seen.'
    yield from long_trace(found.get('long'))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--argus', default='argus')
    parser.add_argument('--from', dest='folder')
    parser.add_argument('--note', default='')
    parser.add_argument('--add', nargs=2, metavar=('SET', 'FILE'), help="one set of whatif.py's, by its --json FILE, to what is written")
    options = parser.parse_args()
    written = os.path.join(HERE, '../../SLOW.md')
    if options.add:
        with open(options.add[1], encoding='utf-8') as file:
            found = json.load(file)
        add_to(written, options.add[0], found[options.add[0].split('_')[0]])
        return
    found = {}
    with tempfile.TemporaryDirectory(prefix='argus-slow.') as work:
        for name, (script, *words) in SCORERS.items():
            path = os.path.join(options.folder or work, name + '.json')
            if not options.folder:
                subprocess.run([sys.executable, os.path.join(HERE, script), '--argus', options.argus, '--json', path, *words], check=False)
            with open(path, encoding='utf-8') as file:
                found[name] = json.load(file)
    if options.folder and os.path.exists(os.path.join(options.folder, 'long.json')):
        with open(os.path.join(options.folder, 'long.json'), encoding='utf-8') as file:
            found['long'] = json.load(file)
    with open(written, 'w', encoding='utf-8') as file:
        file.write('\n'.join(document(found, options.note)) + '\n')


if __name__ == '__main__':
    main()
