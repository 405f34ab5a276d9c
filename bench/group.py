"""Commands in a memory group of their own (control groups v1 or v2): what they took at
most, by the kernel's counters, and whether they were killed for it."""
import os
import subprocess
import sys
import time

V1, V2 = '/sys/fs/cgroup/memory', '/sys/fs/cgroup'
SAMPLE_S = 0.01


class MemoryGroup:
    def __init__(self, limit=None, name='argus-bench'):
        self.old = os.path.exists(V1 + '/memory.limit_in_bytes')
        self.path = f'{V1 if self.old else V2}/{name}-{os.getpid()}'
        os.mkdir(self.path)
        if limit:
            self.write('memory.limit_in_bytes' if self.old else 'memory.max', limit)
            if os.path.exists(f'{self.path}/memory.memsw.limit_in_bytes'):
                self.write('memory.memsw.limit_in_bytes', limit)

    def write(self, file, value):
        with open(f'{self.path}/{file}', 'w') as out:
            out.write(str(value))

    def read(self, file):
        with open(f'{self.path}/{file}') as source:
            return source.read()

    def table(self, file):
        return {words[0]: int(words[1]) for words in map(str.split, self.read(file).splitlines())}

    def anonymous(self):
        """Bytes that are no file's."""
        stat = self.table('memory.stat')
        return stat['total_rss'] if self.old else stat['anon']

    def peak(self):
        return int(self.read('memory.max_usage_in_bytes' if self.old else 'memory.peak'))

    def killed(self):
        return self.table('memory.oom_control' if self.old else 'memory.events').get('oom_kill', 0)

    def run(self, command, **options):
        """Seconds, CPU seconds, status, peaks (all of the group's memory with its page cache; without that)."""
        start = time.monotonic()
        process = subprocess.Popen(command, preexec_fn=lambda: self.write('cgroup.procs', os.getpid()), **options)
        anonymous, used = 0, None
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            anonymous = max(anonymous, self.anonymous())
            time.sleep(SAMPLE_S)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        return {'seconds': seconds, 'cpu_s': used.ru_utime + used.ru_stime, 'status': process.returncode, 'peak': self.peak(),
                'anonymous': anonymous, 'resident': used.ru_maxrss << 10, 'killed': self.killed()}

    def close(self):
        """Waits for what the command left running: an index is written behind its back."""
        for _ in range(3000):
            if not self.read('cgroup.procs').strip():
                break
            time.sleep(0.02)
        os.rmdir(self.path)


def main():
    limit = int(sys.argv[1]) << 20 if len(sys.argv) > 2 else 0
    group = MemoryGroup(limit or None)
    try:
        row = group.run(sys.argv[2:])
    finally:
        group.close()
    print('{seconds:.2f} s, {cpu_s:.2f} s of CPU, status {status}, peak {0} MiB with page cache, {1} without, resident {2}, killed {killed}'.format(
        row['peak'] >> 20, row['anonymous'] >> 20, row['resident'] >> 20, **row), file=sys.stderr)
    return row['status']


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit('usage: bench/group.py MIB (0: no limit) COMMAND...')
    sys.exit(main())
