#!/usr/bin/env python3
"""check_page.py DIR...: looks at the page of recorded cases (folders that `cases/run --keep`
writes) in a browser of 1280 x 800: the first view must hold the answer's sentences, the
victim, the culprit, its function, and what the case's truth.json wants to be told. The last
line counts; the status is 1 when any is not so.

With --picture the view is kept as page.png beside the trace."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tests'))
import browser  # noqa: E402
import score  # noqa: E402


def squeezed(text):
    return re.sub(r'\s+', '', text)


def wrong_with(page, answer, truth):
    seen = page.visible_text()
    tight = squeezed(seen)
    missing = []
    for role in ('victim', 'culprit'):
        who = answer[role]
        if who and squeezed(f"{who['comm']} {who['tid']}") not in tight:
            missing.append(f"{role} {who['comm']} {who['tid']}")
    function = (answer['culprit'] or {}).get('function')
    if function and squeezed(function)[:40] not in tight and squeezed(re.sub(r'[(<].*', '', function))[:40] not in tight:
        missing.append(f'function {function}')
    for sentence in re.split(r'(?<=\.) ', answer['text']):
        if squeezed(sentence) not in tight:
            missing.append(f'sentence "{sentence}"')
    # What the answer itself holds of the truth's words, the view must hold.
    for key, told in (('text', answer['text']), ('function_in_chain', score.frames_text(answer)), ('module', '\n'.join(score.modules(answer)))):
        if key in truth and re.search(truth[key], told) and not any(re.search(truth[key], part) for part in [seen, *re.split(r'[\s()]+', seen)]):
            missing.append(f'{key} {truth[key]}')
    return missing + page.complaints + [f'asks for {url}' for url in page.requests[1:]]


def check(argus, chromium, folder, picture):
    trace = os.path.join(folder, 'trace')
    name = re.sub(r'-(lean|full)-.*', '', os.path.basename(os.path.normpath(folder)))
    truth = json.load(open(os.path.join(HERE, name, 'truth.json'), encoding='utf-8'))
    run = json.load(open(os.path.join(folder, 'run.json'), encoding='utf-8'))
    question = ['--pid', str(run['victim_pid'])] if run.get('victim_pid') else []
    with tempfile.NamedTemporaryFile(suffix='.html') as file:
        done = subprocess.run([argus, 'report', trace, '-o', file.name, *question], capture_output=True)
        if done.returncode not in (0, 3):
            return [done.stderr.decode().strip()], 0, 0
        answer = json.loads(subprocess.run([argus, 'why', trace, '--json', *question], capture_output=True).stdout)
        page = chromium.page('file://' + file.name)
        missing = wrong_with(page, answer, truth)
        first_paint = "performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint')?.startTime"
        page.wait(first_paint)
        paint = page.run(first_paint)
        if picture:
            page.picture(os.path.join(folder, 'page.png'))
        page.close()
        return missing, os.path.getsize(file.name), paint


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--build', default=os.path.join(HERE, '..', 'build'))
    parser.add_argument('--picture', action='store_true')
    parser.add_argument('folders', nargs='+')
    options = parser.parse_args()
    folders = [folder for folder in options.folders if os.path.exists(os.path.join(folder, 'run.json'))]
    right, paints, sizes = 0, [], []
    with browser.Browser() as chromium:
        for folder in folders:
            missing, size, paint = check(os.path.join(options.build, 'argus'), chromium, folder, options.picture)
            print(f"{'ok' if not missing else 'MISSING':8}{size // 1000:6} kB {paint:6.0f} ms  {os.path.basename(folder)}", flush=True)
            for what in missing:
                print('        ' + what)
            right += not missing
            sizes.append(size)
            paints.append(paint)
    print(f'{right} of {len(folders)} pages; the largest {max(sizes) // 1000} kB, the slowest first paint {max(paints):.0f} ms')
    return right != len(folders)


if __name__ == '__main__':
    sys.exit(main())
