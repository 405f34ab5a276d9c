"""Threads of Python that sleep in many places, below calls of many kinds; told by
faulthandler on SIGUSR1, which truth.py beside it reads. Run by stacks_python.sh."""
import asyncio
import faulthandler
import functools
import itertools
import os
import random
import select
import signal
import sys
import threading

seed, count = int(sys.argv[1]), int(sys.argv[2])
choose = random.Random(seed)
ready = threading.Semaphore(0)
never = threading.Lock()
never.acquire()
nothing = os.pipe()


def asleep(way):
    ready.release()
    if way == 0:
        never.acquire()
    elif way == 1:
        os.read(nothing[0], 1)
    elif way == 2:
        select.select([nothing[0]], [], [])
    else:
        threading.Event().wait()


class Node:
    def __init__(self, plan, way):
        self.plan, self.way = plan, way

    def go(self):
        if not self.plan:
            return asleep(self.way)
        step = getattr(Node, WAYS[self.plan[0]])
        self.plan = self.plan[1:]
        return step(self)

    def by_call(self):
        return self.go()

    def by_sort(self):
        return sorted([2, 1], key=lambda x: self.go())

    def by_map(self):
        return list(map(lambda x:
                        self.go(), [1]))

    def by_generator(self):
        def produce():
            yield 1
            yield self.go()
        return sum(x for x in produce() if x)

    def by_from(self):
        def inner():
            yield self.go()

        def outer():
            yield from inner()
        return list(outer())

    def by_property(self):
        class Thing:
            @property
            def value(thing):
                return self.go()
        return Thing().value

    def by_del(self):
        class Thing:
            def __del__(thing):
                self.go()
        thing = Thing()
        del thing

    def by_partial(self):
        return functools.partial(Node.go, self)()

    def by_exec(self):
        exec(compile('\n\nnode.go()\n', '<made at run time>', 'exec'), {'node': self})

    def by_reduce(self):
        return functools.reduce(lambda a, b: self.go(), [1, 2])

    def by_comparison(self):
        class Thing:
            def __lt__(thing, other):
                return self.go()
        return max([Thing(), Thing()])

    def by_coroutine(self):
        async def inner():
            return self.go()

        async def outer():
            return await inner()
        return asyncio.new_event_loop().run_until_complete(outer())

    def by_with(self):
        class Manager:
            def __enter__(manager):
                return manager

            def __exit__(manager, *what):
                self.go()
        with Manager():
            pass

    def by_handler(self):
        try:
            raise ValueError
        except ValueError:
            return self.go()

    def by_chain(self):
        def produce():
            yield self.go()
        return list(itertools.chain(produce(), produce()))

    def by_comprehension(self):
        return [self.go()
                for _ in range(1)]

    def größe(self):
        return self.go()


WAYS = sorted(name for name in vars(Node) if name.startswith('by_') or name == 'größe')
faulthandler.register(signal.SIGUSR1, file=open(sys.argv[3], 'w'), all_threads=True)
for number in range(count):
    plan = [choose.randrange(len(WAYS)) for _ in range(choose.randrange(1, 14))]
    loops = [i for i, way in enumerate(plan) if WAYS[way] == 'by_coroutine']
    for i in loops[1:]:  # a thread has one loop at a time
        plan[i] = WAYS.index('by_call')
    threading.Thread(target=Node(plan, choose.randrange(4)).go, daemon=True).start()
    ready.acquire()
print('ready', flush=True)
never.acquire()
