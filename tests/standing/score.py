#!/usr/bin/env python3
"""Programs that stand still, set up before Argus starts, and what `argus now` says of
each: those that sleep are looked at together, those that take processors one by one. The truth is the program's
own: it knows who it waits for, and where that one is.

usage: score.py [--argus PROGRAM] [--user NAME] [--unreadable] [--least N] [--show] [--keep DIR | --replay DIR] [CASE|kinds|locks...]"""
import argparse
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STANDS_S = 1.5


class Skip(Exception):
    pass


class Case:
    """A case while it stands."""

    def __init__(self, name, folder, options):
        self.name, self.folder, self.options = name, folder, options
        self.started, self.undo, self.truth = [], [], {}

    def start(self, words, **how):
        environment = dict(os.environ)
        how.setdefault('stdin', subprocess.DEVNULL)
        how.setdefault('stderr', subprocess.DEVNULL)
        if self.options.unreadable:
            environment['HANGS_UNREADABLE'] = '1'
        if self.options.user and self.name in OF_ROOT:
            environment['HANGS_USER'] = str(pwd.getpwnam(self.options.user).pw_uid)
        else:
            how.update(by_user(self.options))
        process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, start_new_session=True, **how)
        self.started.append(process)
        return process

    def program(self, source='hangs', name=None):
        process = self.start([f'{self.options.programs}/{source}', name or self.name, self.folder])
        line = process.stdout.readline().decode()
        if not line:
            raise Skip('cannot be set up here')
        self.truth = dict(word.split('=', 1) for word in line.split())
        return process

    def run(self, *words):
        if subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False).returncode:
            raise Skip('cannot be set up here: ' + ' '.join(words))

    def end(self):
        for undo in self.undo:
            undo()
        for process in self.started:
            for pid in descendants(process.pid) + [process.pid]:
                try:
                    os.kill(pid, signal.SIGTERM if self.name in WITH_SET else signal.SIGKILL)
                except ProcessLookupError:
                    pass
            process.wait()


def descendants(pid):
    found = []
    for entry in os.listdir('/proc'):
        if entry.isdigit():
            try:
                with open('/proc/%s/stat' % entry, encoding='utf-8', errors='replace') as stat:
                    if int(stat.read().rsplit(')', 1)[1].split()[1]) == pid:
                        found += [int(entry)] + descendants(int(entry))
            except (FileNotFoundError, ProcessLookupError, IndexError):
                pass
    return found


def write(path, text):
    try:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
    except OSError as error:
        raise Skip('%s: %s' % (path, error)) from error


def frozen_files(case):
    mount = case.folder + '/mount'
    os.mkdir(mount)
    case.run('truncate', '-s', '64M', case.folder + '/image')
    case.run('mkfs.ext4', '-q', case.folder + '/image')
    case.run('mount', '-o', 'loop', case.folder + '/image', mount)
    case.undo.append(lambda: subprocess.run(['umount', '-l', mount], check=False))
    write(mount + '/file', '')
    os.chmod(mount + '/file', 0o666)
    case.run('fsfreeze', '-f', mount)
    case.undo.insert(0, lambda: subprocess.run(['fsfreeze', '-u', mount], check=False))
    case.program()


def fuse(case):
    mount = case.folder + '/mount'
    case.undo.append(lambda: subprocess.run(['umount', '-l', mount], check=False, stderr=subprocess.DEVNULL))
    case.program(name='fuse')


def fuse_two(case):
    """Two servers of files owe an answer; each waiter's is its own."""
    fuse(case)
    first, folder = case.truth, case.folder
    case.folder += '/other'
    os.mkdir(case.folder)
    os.chmod(case.folder, 0o777)
    fuse(case)
    case.truth, case.folder = first, folder


def block_device(case):
    """The data of a device do not come: which device is told."""
    if case.options.user:
        raise Skip('root alone makes devices')
    case.undo.append(lambda: subprocess.run(['umount', '-l', case.folder + '/mount'], check=False, stderr=subprocess.DEVNULL))
    case.program()


def kernel_lock(case):
    """Behind the lock of a directory, whose holder waits for a server of files."""
    if case.options.user:
        raise Skip('who holds it is told by the kernel alone')
    if tuple(int(part) for part in os.uname().release.split('.')[:2]) < (6, 14):
        raise Skip('before 6.14 the kernel keeps no note of the lock that a thread waits for')
    case.undo.append(lambda: subprocess.run(['umount', '-l', case.folder + '/mount'], check=False, stderr=subprocess.DEVNULL))
    case.program(name='fuse')
    until(lambda: 'fuse' in kernel_stack(int(case.truth['ask'])))
    second = case.start(['touch', case.folder + '/mount/second'])
    until(lambda: 'path_openat' in kernel_stack(second.pid))
    case.truth['ask'] = str(second.pid)


def kernel_stack(pid):
    try:
        with open(f'/proc/{pid}/stack', encoding='utf-8') as file:
            return file.read()
    except OSError:
        return ''


def starved(case):
    """A user's process is given its real-time priority by root."""
    case.program()
    os.sched_setscheduler(int(case.truth['culprit']), os.SCHED_FIFO, os.sched_param(10))


def computing(case):
    """It has its processor, whatever else runs: on a busy machine others would rightly be told to keep it off."""
    os.setpriority(os.PRIO_PROCESS, case.program().pid, -15)


def cgroup(case, controller, settings):
    group = '/sys/fs/cgroup/%s/argus-standing-%d' % (controller, os.getpid())
    try:
        os.mkdir(group)
    except OSError as error:
        raise Skip('%s: %s' % (group, error)) from error
    case.undo.append(lambda: leave(group, controller))
    process = case.program()
    write(group + '/cgroup.procs', str(process.pid))
    for name, value in settings:
        write(group + '/' + name, value)


def leave(group, controller):
    if controller == 'freezer':
        write(group + '/freezer.state', 'THAWED')
    with open(group + '/cgroup.procs', encoding='utf-8') as procs:
        for pid in procs.read().split():
            write(os.path.dirname(group) + '/cgroup.procs', pid)
    for _ in range(100):
        try:
            os.rmdir(group)
            return
        except OSError:
            time.sleep(0.02)


def inherited_lock(case):
    lock, shell = case.folder + '/lock', 'bash'
    if case.options.unreadable:
        # whose program's file cannot be read, nor can be its process
        shell = case.folder + '/bash'
        for name in ('bash', 'sleep', 'flock'):
            shutil.copy(shutil.which(name), f'{case.folder}/{name}')
            os.chmod(f'{case.folder}/{name}', 0o711)
    holder = case.start([shell, '-c', 'PATH="${0%/*}:$PATH"; exec 9>"$0"; flock 9; while :; do sleep 1000; done', lock])
    until(lambda: 'sleep' in ' '.join(comm(p) for p in descendants(holder.pid)))
    waiter = case.start([shell, '-c', 'PATH="${0%/*}:$PATH"; exec 9>"$0"; flock 9; true', lock])
    until(lambda: any(comm(p) == 'flock' for p in descendants(waiter.pid)))
    asked = next(p for p in descendants(waiter.pid) if comm(p) == 'flock')
    case.truth = {'ask': str(asked), 'culprit': ','.join(str(p) for p in [holder.pid] + descendants(holder.pid))}


def comm(pid):
    try:
        with open('/proc/%d/comm' % pid, encoding='utf-8', errors='replace') as file:
            return file.read().strip()
    except OSError:
        return ''


def until(condition):
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end:
            raise Skip('it never came to be')
        time.sleep(0.02)


CASES = {name: Case.program for name in (
    'mutex_circle', 'missing_signal', 'full_pipes', 'socket_peer', 'file_lock', 'stopped_child')}
CASES['fuse'] = fuse
CASES['fuse_two'] = fuse_two
CASES['block_device'] = block_device
CASES['frozen_files'] = frozen_files
CASES['kernel_lock'] = kernel_lock
CASES.update({name: computing for name in ('spin', 'yield')})
CASES['starved'] = starved
CASES['quota'] = lambda case: cgroup(case, 'cpu', [('cpu.cfs_period_us', '100000'), ('cpu.cfs_quota_us', '5000')])
CASES['inherited_lock'] = inherited_lock
CASES.update({name: Case.program for name in (
    'dead_owner', 'semaphore', 'listen_queue', 'pidfd', 'epoll_nobody', 'trace')})
LOCKS = ('mutex_normal', 'mutex_recursive', 'mutex_errorcheck', 'mutex_adaptive', 'mutex_inherit', 'mutex_ceiling', 'mutex_robust',
         'mutex_robust_recursive', 'mutex_robust_inherit', 'mutex_shared', 'mutex_shared_robust', 'mutex_shared_inherit',
         'rwlock_reader_waits', 'rwlock_writer_waits', 'rwlock_shared', 'rwlock_readers', 'semaphore_posix', 'semaphore_posix_shared',
         'semaphore_sysv', 'word_like_rust', 'word_like_go', 'lock_flock', 'lock_posix', 'lock_open_file')
CASES.update({name: lambda case: case.program('locks') for name in LOCKS})
CASES['frozen'] = lambda case: cgroup(case, 'freezer', [('freezer.state', 'FROZEN')])


WITH_SET = ('semaphore', 'semaphore_sysv') # which they remove when they are asked to end
KINDS = ('mutex_circle', 'missing_signal', 'full_pipes', 'socket_peer', 'file_lock', 'stopped_child', 'fuse', 'frozen_files', 'spin', 'yield',
         'starved', 'quota', 'inherited_lock', 'dead_owner', 'semaphore', 'listen_queue', 'pidfd', 'epoll_nobody', 'trace', 'frozen')
GROUPS = {'kinds': KINDS, 'locks': LOCKS}
OF_ROOT = ('fuse', 'fuse_two') # root mounts; then the program becomes the user's
ALONE = ('spin', 'yield', 'starved', 'quota')


def wrong(truth, document):
    """What of the truth the answer lacks; empty when it is right."""
    told = [t for t in document['threads'] if t['pid'] == int(truth['ask'])]
    if not told or not told[0]['stuck'] or not told[0]['answer']:
        return 'not seen to be stuck: %s' % (told[0]['reason'] if told else 'not told of')
    answer = told[0]['answer']
    culprit, text = answer['culprit'] or {}, answer['text']
    if 'circle' in truth and {str(a['tid']) for a in answer['circle']} != set(truth['circle'].split(',')):
        return 'circle of %s' % [a['tid'] for a in answer['circle']]
    if 'culprit' in truth and not {str(culprit.get('pid')), str(culprit.get('tid'))} & set(truth['culprit'].split(',')):
        return 'culprit %s (pid %s, tid %s)' % (culprit.get('comm'), culprit.get('pid'), culprit.get('tid'))
    if 'culprit' in truth and culprit.get('kind') == 'unknown':
        return 'culprit unknown'
    if 'kind' in truth and culprit.get('kind') != truth['kind']:
        return 'culprit is a %s' % culprit.get('kind')
    frames = ' '.join(f for link in answer['chain'] for f in link['frames']) + ' ' + text + ' ' + str(culprit.get('function'))
    for key in ('function', 'waits_in'):
        # without BPF there are no stacks
        if key in truth and truth[key] not in frames and document['seen_by'] != 'proc':
            return 'no word of %s' % truth[key]
    if 'gone' in truth and not (truth['gone'] in text and 'ended' in text):
        return 'no word of the owner that has ended'
    if 'mentions' in truth and truth['mentions'] not in text + json.dumps(answer['alternatives']):
        return 'no word of thread %s' % truth['mentions']
    if 'mentions_text' in truth and truth['mentions_text'] not in text:
        return "no word of '%s'" % truth['mentions_text']
    if 'state' in truth and truth['state'] not in text:
        return 'not told to be ' + truth['state']
    if 'alone' in truth and not ('nobody' in text or answer['circle']):
        return 'not told that nobody can end it'
    return ''


def by_user(options):
    if not options.user:
        return {}
    return {'user': options.user, 'group': pwd.getpwnam(options.user).pw_gid, 'extra_groups': []}


def look(options, trace, names):
    """One look at all that stands; seconds, what went wrong. The kernel gives who is starved a slice of each second:
    in which half of it a shorter look falls is chance, and without a slice nothing tells in which queue it stands."""
    longer = ['--for', '1500ms'] if 'starved' in names else []
    began = time.monotonic()
    done = subprocess.run([options.argus, 'now', '--json', '-o', trace, *longer], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, check=False, **by_user(options))
    return time.monotonic() - began, '' if done.returncode in (0, 1) else 'status %d: %s' % (done.returncode, done.stderr.decode())


def ask(options, truth, trace):
    done = subprocess.run([options.argus, 'now', '--json', '--read', trace, truth['ask']], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    document = json.loads(done.stdout) if done.stdout else None
    if done.returncode != 1:
        reason = document['threads'][0]['reason'] if document and document['threads'] else done.stderr.decode()[:200].strip()
        return 'status %d: %s' % (done.returncode, reason), document
    return wrong(truth, document), document


def stand(names, options, keep):
    """Sets the cases up, looks once, and ends them; their truths, by name."""
    cases, skipped, truths = [], {}, {}
    try:
        for name in names:
            folder = tempfile.mkdtemp(prefix='standing-')
            os.chmod(folder, 0o777)
            case = Case(name, folder, options)
            cases.append(case)
            try:
                CASES[name](case)
                truths[name] = case.truth
            except Skip as why:
                skipped[name] = str(why)
        time.sleep(STANDS_S)
        trace = '%s/%s.trace' % (keep, names[0])
        seconds, fault = look(options, trace, names)
        print('%d cases looked at in %.2f s%s' % (len(truths), seconds, ': ' + fault if fault else ''), flush=True)
    finally:
        for case in cases:
            case.end()
            shutil.rmtree(case.folder, ignore_errors=True)
    for name, why in skipped.items():
        print('%-16s skipped: %s' % (name, why), flush=True)
    return {name: {'trace': trace, 'truth': truth} for name, truth in truths.items()}


def judge(options, truths):
    right = 0
    for name, case in truths.items():
        fault, document = ask(options, case['truth'], case['trace'])
        right += not fault
        print('%-16s %s%s' % (name, 'wrong' if fault else 'right', '  ' + fault if fault else ''), flush=True)
        if options.show and document:
            print('    %s\n    ' % case['truth'] + '\n    '.join((t['answer'] or {}).get('text', t['reason']) for t in document['threads']),
                  flush=True)
    print('%d of %d right' % (right, len(truths)))
    return right >= (len(truths) if options.least is None else options.least)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('usage: ')[1])
    parser.add_argument('--argus', default='argus')
    parser.add_argument('--user')
    parser.add_argument('--unreadable', action='store_true')
    parser.add_argument('--least', type=int, help='so many are to be right (all)')
    parser.add_argument('--show', action='store_true', help='the answers, too')
    parser.add_argument('--keep', help='folder for the traces and what is true of them')
    parser.add_argument('--replay', help='such a folder: ask again, without setting up anything')
    parser.add_argument('cases', nargs='*')
    options = parser.parse_args()
    if options.replay:
        with open(options.replay + '/truths.json', encoding='utf-8') as file:
            truths = json.load(file)
        return 0 if judge(options, {n: t for n, t in truths.items() if not options.cases or n in options.cases}) else 1
    build = tempfile.mkdtemp(prefix='standing-')
    keep = options.keep or build
    os.makedirs(keep, exist_ok=True)
    os.chmod(keep, 0o777)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit('ended'))
    options.programs = keep # which their functions' names are read from
    chosen = [name for word in options.cases for name in GROUPS.get(word, [word])] or list(CASES)
    truths = {}
    try:
        for source in ('hangs', 'locks'):
            subprocess.run(['gcc', '-g', '-O1', '-fno-optimize-sibling-calls', '-pthread', '-o', f'{keep}/{source}', f'{HERE}/{source}.c'],
                           check=True)
        for names in [[n for n in chosen if n not in ALONE]] + [[n] for n in chosen if n in ALONE]:
            if names:
                truths.update(stand(names, options, keep))
        with open(keep + '/truths.json', 'w', encoding='utf-8') as file:
            json.dump(truths, file)
        return 0 if judge(options, truths) else 1
    finally:
        shutil.rmtree(build)


if __name__ == '__main__':
    sys.exit(main())
