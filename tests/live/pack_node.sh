#!/bin/bash
# The pack of Node with a libuv of its own: what the program says it did in timers and with sockets lies in callbacks that
# were seen; each task of its thread pool is there, with edges from its submission and to its end.
. "$HERE/live/_lib.sh"
need_bpf
need_command node

nm "$(readlink -f "$(command -v node)")" 2>/dev/null | matches ' uv__work_submit$' || skip "node has no libuv of its own, or no symbols"
cat >tasks.js <<'END'
const crypto = require('crypto'), net = require('net');
const now = () => process.hrtime.bigint();
const log = [];
let left = 200, ticks = 0, bytes = 0;
function give() {
	for (let i = 0; i < 4; i++)
		crypto.pbkdf2('a', 'b', 300, 16, 'sha256', () => {
			log.push(`done ${now()}`);
			if (!--left)
				finish();
		});
}
function tick() {
	log.push(`tick ${now()}`);
	if (++ticks <= 50)
		give();
	if (ticks < 60)
		setTimeout(tick, 3);
}
const server = net.createServer(socket => socket.on('data', data => {
	log.push(`data ${now()}`);
	socket.write(data);
}));
let client;
server.listen(0, () => {
	client = net.connect(server.address().port, () => client.write('x'));
	client.on('data', data => {
		log.push(`data ${now()}`);
		if (++bytes < 100)
			client.write('x');
	});
	setTimeout(tick, 3);
});
function finish() {
	setTimeout(() => {
		console.log(`pid ${process.pid}`);
		console.log(log.join('\n'));
		process.exit(0);
	}, 100);
}
END
record_pack node --pack-budget 0 -o node.trace -- node tasks.js >log.txt
argus dump --json -e probe node.trace >probes.json
argus graph --json --list node.trace >graph.json
python3 - <<'END'
import bisect, collections, json

log = collections.defaultdict(list)
for line in open('log.txt'):
    what, number = line.split()
    log[what].append(int(number))
main = log['pid'][0]
by, probes = collections.defaultdict(list), {}
for e in json.load(open('probes.json'))['events']:
    by[e['probe_name']].append(e)
    probes[e['number']] = e

def value(e, field):
    return int(e.get(field, '0'), 0)

def inside(moments, begin, end):
    """How many of the moments lie in a callback of the first thread"""
    begins = [e['time_ns'] for e in by[begin] if e['tid'] == main]
    ends = [e['time_ns'] for e in by[end] if e['tid'] == main]
    count = 0
    for moment in moments:
        at = bisect.bisect(begins, moment)
        count += at > 0 and ends[bisect.bisect_left(ends, begins[at - 1])] >= moment
    return count

assert len(log['tick']) == 60 and len(log['done']) == 200 and len(log['data']) >= 199, {w: len(l) for w, l in log.items()}
assert inside(log['tick'], 'node-timer', 'node-timer-end') == 60, inside(log['tick'], 'node-timer', 'node-timer-end')
assert inside(log['data'], 'node-io', 'node-io-end') == len(log['data']), (inside(log['data'], 'node-io', 'node-io-end'), len(log['data']))
assert inside(log['done'], 'node-done', 'node-done-end') == 200, inside(log['done'], 'node-done', 'node-done-end')
# the tasks of the one function that were given from the ticks; Node has others of its own
kinds = collections.Counter(value(e, 'arg2') for e in by['node-submit'] if e['tid'] == main)
kind = max(kinds, key=kinds.get)
edges = collections.defaultdict(dict)
for segment in json.load(open('graph.json'))['segments']:
    for e in segment['from']:
        edges[e['rule']][e['to_event']] = probes.get(e['from_event'])
tasks = [e for e in by['node-task'] if e['number'] in edges['node-work'] and value(edges['node-work'][e['number']], 'arg2') == kind]
assert len(tasks) == kinds[kind] >= 200, (len(tasks), kinds)
for e in tasks:
    given = edges['node-work'][e['number']]
    assert given['tid'] == main and given['time_ns'] < e['time_ns'] and value(given, 'arg1') == value(e, 'arg1') and e['tid'] != main, (given, e)
done = [(e, edges['node-ran'].get(e['number'])) for e in by['node-done'] if e['tid'] == main]
assert len(done) >= 200 and all(r and value(r, 'arg1') == value(e, 'arg1') and r['tid'] != main for e, r in done), len(done)
END
