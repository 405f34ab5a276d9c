"""Topologies, after those of real software, filled with random mechanisms.

`plan_of(seed)` is the whole of it: the C source, and the truth, which depends on nothing
but the seed.
"""
import random
import subprocess

import bystanders
import endings
import faults
import links
import mixed
import packaged
from program import Plan, fill
from words import Names

SHAPES = {}
MESSAGES = ['pipe', 'socketpair', 'unix', 'tcp']
SERVERS = ['unix', 'tcp']


def shape(function):
    SHAPES[function.__name__.replace('_', ' ')] = function
    return function


class Chain:
    """Grows from the victim to the node of the fault."""

    def __init__(self, plan, fault):
        self.plan, self.fault = plan, fault
        self.links, self.nodes, self.relays = [], [plan.victim], set()

    @property
    def end(self):
        return self.nodes[-1]

    def may(self, kind_name, last):
        """Whether a link of this kind may come next, and lead to the fault if it is the last one."""
        kind, fault = links.KINDS[kind_name], faults.FAULTS[self.fault]
        if self.end.process.transient and not kind['by_itself']:
            return False
        if kind_name == 'signals' and self.end.process.transient:
            return False
        if last and (fault['timed'] and not kind['timed'] or fault['not_holder'] and kind['holder']):
            return False
        if last and fault['needs_process'] and kind['where'] == 'in':
            return False
        if last and kind['transient'] and (fault['needs_process'] or self.fault in ('lock order', 'person')):
            return False
        if last and fault['only'] and fault['only'] != kind_name:
            return False
        return not (last and kind_name == 'event' and fault['timed'])

    def pick(self, wanted, last):
        return self.plan.rng.choice([k for k in wanted if self.may(k, last)])

    def add(self, kind_name, last=False, style=None, limit_ms=0):
        """One link further; returns the new node. limit_ms: the caller gives up then, and comes back when all is well."""
        plan, rng = self.plan, self.plan.rng
        kind, fault = links.KINDS[kind_name], faults.FAULTS[self.fault]
        inside = kind['where'] == 'in' or kind['where'] == 'both' and rng.random() < 0.3
        if last and fault['needs_process']:
            inside = False
        node = plan.node(self.end.process if inside else plan.process())
        link = links.Link(plan, kind_name, self.end, node)
        if last and fault['timed']:
            link.timeout_ms = plan.span_ms
        if limit_ms:
            link.timeout_ms = limit_ms
        link.owner_dies = last and self.fault == 'owner died'
        link.ticker = self.end is plan.victim and kind_name in (*MESSAGES, 'queue') and rng.random() < 0.5
        if kind_name in MESSAGES:
            styles = ['serial', 'mux', 'pool'] + (['sessions'] if kind_name in SERVERS else [])
            node.style = style or rng.choice(styles)
            node.workers = rng.choice([1, 2, 4])
        node.link, link.last = link, last
        call = link.make()
        if limit_ms:
            call = f'if ({link.function}(1) < 0)\n\t\t\tgave_up = true;'
        if self.end not in self.relays:
            self.end.next.append(call)
        else:
            self.end.relay_to = link.fd
        self.links.append(link)
        if link.between and link.between not in self.nodes:
            self.nodes.append(link.between)
        self.nodes += [*link.stages, node]
        return node

    def relay(self, kind_name, last_timed):
        """A server that hands requests on and serves others meanwhile."""
        node = self.add(kind_name, style='relay')
        if last_timed:      # who asks through a relay is the one that gives up
            raise AssertionError
        self.relays.add(node)
        return node


def any_kind(chain, last):
    families = {}
    for name, kind in links.KINDS.items():
        if not kind['mixed'] and chain.may(name, last):
            families.setdefault(kind['family'], []).append(name)
    rng = chain.plan.rng
    if rng.random() < 0.6:
        return rng.choice(sum((families[name] for name in sorted(families)), []))
    return rng.choice(families[rng.choice(sorted(families))])


@shape
def line(chain):
    """One behind the other, one to four links."""
    count = chain.plan.rng.choice([1, 1, 2, 2, 3, 4])
    for i in range(count):
        chain.add(any_kind(chain, i == count - 1), i == count - 1)


@shape
def proxy(chain):
    """Clients, a relay, servers behind it; others' requests go to another server all the time."""
    plan, rng = chain.plan, chain.plan.rng
    relay = chain.relay(rng.choice(SERVERS), False)
    deeper = rng.random() < 0.5
    last = not deeper
    server = chain.add(chain.pick(['socketpair', 'unix', 'tcp'], last), last, rng.choice(['serial', 'mux', 'pool']))
    if server.process is relay.process:
        raise AssertionError
    if rng.random() < 0.6:      # the others' server
        other = plan.node(plan.process())
        other.style = rng.choice(['serial', 'mux'])
        link = links.Link(plan, rng.choice(['unix', 'tcp']), relay, other)
        link.make()
        relay.relay_cold = link.fd
    if deeper:
        chain.add(any_kind(chain, True), True)
    for _ in range(rng.choice([1, 2, 3])):
        bystanders.client(plan, relay)


@shape
def database(chain):
    """A session for each client; sessions wait for a lock that another of the server's threads holds."""
    plan, rng = chain.plan, chain.plan.rng
    server = chain.add(rng.choice(SERVERS), False, 'sessions')
    last = rng.random() < 0.4 and chain.may('mutex', True)
    chain.add(rng.choice(['mutex', 'rwlock']), last)
    if not last:
        chain.add(any_kind(chain, True), True)
    for _ in range(rng.choice([1, 2])):
        bystanders.client(plan, server)


@shape
def browser(chain):
    """A window's thread, a process that draws for it, that one's worker, perhaps a third process."""
    rng = chain.plan.rng
    last = chain.may('socketpair', True) and rng.random() < 0.2
    chain.add(chain.pick(['socketpair', 'unix', 'pipe'], last), last, rng.choice(['serial', 'mux', 'pool']))
    if last:
        return
    last = chain.may('queue', True) and rng.random() < 0.5
    chain.add(chain.pick(['queue', 'semaphore', 'futex', 'spin_yield', 'look_flag', 'mutex'], last), last)
    if not last:
        chain.add(any_kind(chain, True), True)


@shape
def pool(chain):
    """Work handed to threads of the same process, which ask others."""
    rng = chain.plan.rng
    chain.add('queue', False)
    if rng.random() < 0.4:
        chain.add(chain.pick(['queue', 'mutex', 'rwlock', 'futex', 'semaphore'], False))
    chain.add(any_kind(chain, True), True)


@shape
def build(chain):
    """A program that starts others and waits for them; these need a lock or a server."""
    rng = chain.plan.rng
    chain.add('child', False)
    last = rng.random() < 0.6
    wanted = [k for k in ('flock', 'fcntl', 'try_flock', 'lock_file', 'unix', 'tcp') if not last or chain.may(k, True)]
    chain.add(rng.choice(wanted), last)
    if not last:
        chain.add(any_kind(chain, True), True)


@shape
def one_loop(chain):
    """A server of one thread for many clients: each waits for the work of all."""
    plan, rng = chain.plan, chain.plan.rng
    last = rng.random() < 0.6
    server = chain.add(chain.pick(SERVERS, last), last, 'mux')
    if not last:
        chain.add(any_kind(chain, True), True)
    for _ in range(rng.choice([1, 2, 3])):
        bystanders.client(plan, server)


@shape
def message_bus(chain):
    """Peers that call each other through one bus, perhaps twice on the way."""
    rng = chain.plan.rng
    last = chain.may('bus', True) and rng.random() < 0.4
    chain.add('bus', last)
    if not last:
        last = chain.may('bus', True) and rng.random() < 0.6
        chain.add('bus' if last else any_kind(chain, True), True)


@shape
def window_system(chain):
    """A server for all windows, which one client has grabbed."""
    plan, rng = chain.plan, chain.plan.rng
    last = chain.may('grab', True) and rng.random() < 0.5
    chain.add('grab', last)
    server = chain.links[-1].between
    if not last:
        chain.add(any_kind(chain, True), True)
    for _ in range(rng.choice([1, 2])):
        bystanders.client(plan, server)


def victim_loop(plan, victim):
    """Rounds: something to do comes, it is done, and the next is awaited."""
    rng = plan.rng
    think = rng.randrange(15, 70)
    values = dict(name=victim.name, deed=victim.deed, end=plan.end_ms - 450, think=think)
    if getattr(victim, 'asked_back', None):
        rest = fill('\t\tstruct pollfd wanted = {.fd = @fd@, .events = POLLIN};\n\t\tstruct message ask;\n\t\tif (poll(&wanted, 1, @think@) > 0 && message_read(@fd@, &ask))\n'
                    '\t\t\tmessage_write(@fd@, &ask);', dict(values, fd=victim.asked_back))
    elif rng.random() < 0.4:
        user = plan.process()
        keys, typed = plan.wire('pipe', victim.process, user)
        user.body = f'\tfor (;;) {{\n\t\tnap_us({think * 1000});\n\t\tif (write({typed}, "k", 1) < 0)\n\t\t\tbreak;\n\t}}'
        rest = f'\t\tchar key;\n\t\tif (read({keys}, &key, 1) <= 0)\n\t\t\tbreak;'
    else:
        rest = f'\t\tnap_us({think * 1000});'
    if plan.comes_back_ms:
        rest += f'\n\t\tif (gave_up)\n\t\t\tnap_us({plan.comes_back_ms} * 1000ull);\n\t\tgave_up = false;'
    victim.loop = fill('\tstruct message m = {.hot = 1};\n\tuint64_t longest = 0;\n\tunsigned rounds = 0, before = 0;\n\tfor (;;) {\n'
                       '\t\tuint64_t began = now();\n\t\t@deed@(&m);\n\t\tuint64_t ended = now();\n\t\tif (ended - began > LATE_NS) {\n'
                       '\t\t\tsay("stuck @name@ %d %d %llu %llu\\n", getpid(), own_tid(), (unsigned long long)began, (unsigned long long)ended);\n\t\t} else if (ended - began > longest) {\n'
                       '\t\t\tlongest = ended - began;\n\t\t}\n\t\trounds++;\n\t\tif (ended < start_ns + @fault@ * MS)\n\t\t\tbefore++;\n\t\tif (ended > start_ns + @end@ * MS) {\n'
                       '\t\t\tsay("rounds %u %u %llu\\n", rounds, before, (unsigned long long)longest);\n\t\t}\n', dict(values, fault=plan.fault_at_ms)) + rest + '\n\t}\n\treturn NULL;'


VERDICTS = {'spin_yield': ['yield'], 'shared_spin': ['yield'], 'spin_bare': ['busy', 'yield'], 'look_flag': ['yield', 'waiting'],
            'try_flock': ['yield', 'waiting'], 'lock_file': ['yield', 'waiting'], **mixed.VERDICTS}
ALSO = {'computing': ['busy'], 'starved': ['starved'], 'retrying': ['yield']}


def plan_of(seed):
    """(C source or script, truth) of a seed. A quarter are arrangements of packaged programs; seeds from mixed.FIRST on are
    all of the mixed ones; from endings.FIRST on of all, of which a part is recorded."""
    is_cut = seed >= endings.FIRST
    known = {**SHAPES, **mixed.SHAPES} if is_cut else mixed.SHAPES if seed >= mixed.FIRST else SHAPES
    if seed // 2 % 4 == 3 and (is_cut or seed < mixed.FIRST):
        return packaged.plan_of(seed)
    for attempt in range(100):
        rng = random.Random(seed * 1000 + attempt)
        plan = Plan(rng, Names(rng))
        plan.fault_at_ms = rng.randrange(1100, 1500)
        plan.span_ms = rng.randrange(1200, 2100)
        plan.is_cut = is_cut
        if is_cut:
            plan.span_ms = endings.span_ms(seed)
        plan.end_ms = plan.fault_at_ms + plan.span_ms + 700
        shape_name, fault = rng.choice(sorted(known)), rng.choice(sorted(faults.FAULTS))
        plan.victim = plan.node(plan.process())
        chain = Chain(plan, fault)
        try:
            known[shape_name](chain)
        except (IndexError, KeyError, AssertionError):
            continue        # this fault cannot be in this shape: drawn again
        last = chain.links[-1]
        # Who holds a lock works for himself: the victim may not be waiting when it is asked back.
        if fault == 'call back' and (chain.end.process is plan.victim.process or any(
                links.KINDS[l.kind]['holder'] or l.kind in ('barrier', 'exhausted') for l in chain.links)):
            continue
        if fault == 'no answer' and last.caller in chain.relays:
            continue
        truth = faults.FAULTS[fault]['make'](plan, chain.end)
        victim_loop(plan, plan.victim)
        bystanders.company(plan, chain.links)
        return plan.source(), truth_of(plan, chain, truth, seed, shape_name, fault)
    raise ValueError(f'no plan for seed {seed}')


def truth_of(plan, chain, truth, seed, shape_name, fault):
    first = chain.links[0].kind
    several = {n.name for n in plan.short_lived} | {n.name for p in plan.processes if len(p.nodes) + len([s for s in plan.short_lived if s.process is p]) > 1 for n in p.nodes}
    exact = lambda name: '=' + name if name in several else name
    inner = [n.name for n in chain.nodes[1:-1]]
    document = {
        'seed': seed, 'shape': shape_name, 'fault': fault, 'links': [l.kind for l in chain.links],
        'mechanisms': sorted({links.KINDS[l.kind]['family'] for l in chain.links} | {faults.FAULTS[fault]['family']} | ({'relay'} if chain.relays or plan.bus else set())
                             | ({'victim woken often'} if any(l.ticker for l in chain.links) else set())),
        'victim': plan.victim.name, 'as_stuck': plan.as_stuck, 'culprit': [exact(n) for n in truth['culprit']],
        'chain': [exact(n) for n in inner + truth.get('chain', [])],
        'verdict': sorted(set(VERDICTS.get(first, ['waiting']) + ALSO.get(fault, []))),
        'fault_node': chain.end.name, 'fault_at_ms': plan.fault_at_ms, 'span_ms': plan.span_ms, 'end_ms': plan.end_ms,
        'late': [[l.id, l.caller.name] for l in chain.links if l.caller not in chain.relays],
    }
    if plan.is_cut:
        document['ending'] = endings.truth_of(seed, plan.span_ms, plan.fault_at_ms)
    if truth.get('circle'):
        document['circle'] = True
    if truth.get('function_in_chain'):
        document['function_in_chain'] = truth['function_in_chain']
    if truth.get('instant'):
        document['instant'] = True
    if not document['chain']:
        del document['chain']
    return document


def prepare(source, truth, place, compiler):
    """Puts the run's program into its folder; the command that runs it."""
    if truth.get('packaged'):
        with open(place + '/script.sh', 'w') as file:
            file.write(source)
        return ['setsid', 'bash', place + '/script.sh']
    with open(place + '/program.c', 'w') as file:
        file.write(source)
    subprocess.run([*compiler, '-o', place + '/program', place + '/program.c', '-lpthread', '-lrt'], check=True)
    return [place + '/program']
