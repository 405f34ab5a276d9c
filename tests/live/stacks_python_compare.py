"""usage: stacks_python_compare.py STATE.json FAULTHANDLER.txt: the Python frames of stacks in
a snapshot beside those of faulthandler, which names threads by another number: so as sets."""
import collections
import json
import re
import sys


def truth(path):
    threads, frames = [], None
    for line in open(path, encoding='utf-8', errors='replace'):
        if re.match(r'(Thread|Current thread) 0x', line):
            frames = []
            threads.append(frames)
        found = re.match(r'  File "(.*)", line (\d+) in (.*)', line)
        if found:
            # its escapes of what is not ASCII
            name = re.sub(r'\\x(..)', lambda c: chr(int(c[1], 16)), found[3])
            frames.append((found[1], int(found[2]), name))
    return collections.Counter(tuple(t) for t in threads)


def recorded(path):
    stacks = {}
    for event in json.load(open(path))['events']:
        if event['type'] == 'waiting' and event.get('stack'):
            stacks[event['tid']] = tuple((f['file'], f['line'], f['function'].split('.')[-1]) for f in event['stack']
                                         if f.get('line') and (f['module'].endswith('.py') or f['module'].startswith('<')))
    return collections.Counter(stacks.values())


wanted, found = truth(sys.argv[2]), recorded(sys.argv[1])
missing, more = wanted - found, found - wanted
for stack in missing:
    print('truth:', *stack, sep='\n  ')
for stack in more:
    print('recorded:', *stack, sep='\n  ')
print(sum(wanted.values()), 'threads,', sum((wanted & found).values()), 'equal')
sys.exit(bool(missing or more) or sum(wanted.values()) < 30)
