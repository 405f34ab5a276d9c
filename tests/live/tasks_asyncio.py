# Tasks of many kinds, each below calls of many kinds, that await what never comes; a callback of the loop then writes what the
# program itself says of them: each one's name, what it awaits, and its functions by cr_await, innermost first.
import asyncio
import json
import random
import socket
import sys
import types

seed, count, path, way = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
choose = random.Random(seed)
new = sys.version_info >= (3, 11)
kept = []


class Custom:
    def __init__(self, inner):
        self.inner = inner

    def __await__(self):
        return (yield from self.inner.__await__())


@types.coroutine
def old_style(inner):
    return (yield from inner)


async def items(inner):
    yield 1
    await inner
    yield 2


class Context:
    def __init__(self, inner):
        self.inner = inner

    async def __aenter__(self):
        await self.inner

    async def __aexit__(self, *_):
        pass


class Locals:
    async def method(self, inner):
        text = 'ü€𝄞' * 40
        numbers = [[i] for i in range(9)]
        for number in numbers:
            async def closure():
                return await inner, text, number
            await closure()


async def ends_future():
    await asyncio.get_running_loop().create_future()


async def ends_sleep():
    await asyncio.sleep(100000)


async def ends_queue():
    await asyncio.Queue().get()


async def ends_event():
    await asyncio.Event().wait()


async def ends_lock():
    lock = asyncio.Lock()
    await lock.acquire()
    async with lock:
        pass


async def ends_stream():
    ours, theirs = socket.socketpair()
    kept.append(theirs)
    reader, writer = await asyncio.open_connection(sock=ours)
    kept.append(writer)
    await reader.readline()


async def ends_task():
    other = asyncio.create_task(ends_event())
    kept.append(other)
    await other


async def ends_gather():
    await asyncio.gather(ends_event(), ends_queue(), asyncio.sleep(0))


async def ends_wait():
    await asyncio.wait([asyncio.ensure_future(ends_event())])


async def ends_shield():
    await asyncio.shield(ends_event())


async def ends_wait_for():
    await asyncio.wait_for(ends_event(), 100000)


async def ends_group():
    if not new:
        return await ends_event()
    async with asyncio.TaskGroup() as group:
        group.create_task(ends_queue())


async def ends_asend():
    async def gen():
        await ends_event()
        yield 1
    await gen().__anext__()


async def through_custom(depth):
    await Custom(below(depth))


async def through_old(depth):
    await old_style(below(depth))


async def through_for(depth):
    async for _ in items(below(depth)):
        pass


async def through_with(depth):
    async with Context(below(depth)):
        pass


async def through_method(depth):
    await Locals().method(below(depth))


async def through_try(depth):
    try:
        raise KeyError
    except KeyError:
        return await below(depth)


async def through_comprehension(depth):
    return [x async for x in items(below(depth))]

ends = [f for n, f in sorted(globals().items()) if n.startswith('ends_')]
through = [f for n, f in sorted(globals().items()) if n.startswith('through_')]


async def below(depth):
    await (choose.choice(through)(depth - 1) if depth else choose.choice(ends)())


def name_of(code):
    return code.co_qualname if new else code.co_name


def inside(thing):
    """What a suspended coroutine awaits, as far as the interpreter shows it; of wrappers what they are of."""
    for way in ('cr_await', 'gi_yieldfrom', 'ag_await'):
        if hasattr(thing, way):
            return getattr(thing, way)
    return None


def frames_of(task):
    import gc
    frames, thing = [], task.get_coro()
    while thing is not None:
        for way in ('cr_frame', 'gi_frame', 'ag_frame'):
            frame = getattr(thing, way, None)
            if frame:
                frames.append([name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
        following = inside(thing)
        if type(thing).__name__ in ('coroutine_wrapper', 'async_generator_asend', 'async_generator_athrow'):
            following = next((x for x in gc.get_referents(thing) if hasattr(x, 'cr_frame') or hasattr(x, 'ag_frame')), None)
        thing = following
    return frames[::-1]


def told(task):
    waiter = task._fut_waiter
    awaited = [waiter] if isinstance(waiter, asyncio.Task) else [c for c in getattr(waiter, '_children', []) if isinstance(c, asyncio.Task)]
    return {'name': task.get_name(), 'state': 'waiting' if waiter else 'ready', 'frames': frames_of(task),
            'awaits': sorted(t.get_name() for t in awaited if not t.done())}


def write(loop):
    tasks = [told(t) for t in asyncio.all_tasks(loop)]
    for t in asyncio.all_tasks(loop) - {asyncio.current_task(loop) if way == 'blocks' else None}:
        # the outermost of them is what the task's own get_stack() says
        own = [[name_of(f.f_code), f.f_code.co_filename, f.f_lineno] for f in t.get_stack()]
        assert own == frames_of(t)[-1:], (own, frames_of(t))
    with open(path, 'w') as file:
        json.dump(tasks, file)


async def blocks(loop):
    # the others that are made just now have not begun
    import time
    for i in range(5):
        kept.append(asyncio.create_task(ends_event(), name=f'new-{i}'))
    write(loop)
    time.sleep(100000)


async def main():
    loop = asyncio.get_running_loop()
    for i in range(count):
        kept.append(asyncio.create_task(below(choose.randrange(5)), name=choose.choice([None, f'wörker-{i}', f'task {i}'])))
    await asyncio.sleep(0.3)
    if way == 'blocks':
        kept.append(asyncio.create_task(blocks(loop), name='the blocker'))
    else:
        loop.call_later(0.2, write, loop)
    await asyncio.Event().wait()

asyncio.run(main())
