#!/bin/bash
# The pack of nginx: each request that a client made has its begin, its end and the work on it, all of one worker and between the client's own
# times; those that wait for a timer are worked on again behind it.
. "$HERE/live/_lib.sh"
need_bpf
need_command nginx

chmod 755 .
mkdir slow
echo text >slow/file
chmod -R a+rX slow
cat >conf <<END
daemon off;
worker_processes 1;
pid $PWD/pid;
error_log $PWD/error.txt;
events { worker_connections 64; }
http {
	access_log $PWD/access.txt;
	client_body_temp_path $PWD/t1;
	proxy_temp_path $PWD/t2;
	fastcgi_temp_path $PWD/t3;
	uwsgi_temp_path $PWD/t4;
	scgi_temp_path $PWD/t5;
	limit_req_zone \$arg_k zone=z:1m rate=20r/s;
	server {
		listen unix:$PWD/socket;
		location / { return 200 "ok"; }
		location /slow { limit_req zone=z burst=100; root $PWD; }
	}
}
END
cat >work.py <<'END'
import http.client, os, signal, socket, subprocess, time

server = subprocess.Popen(['nginx', '-c', os.getcwd() + '/conf'], stderr=open('nginx.txt', 'w'))
for _ in range(1000):
    connection = http.client.HTTPConnection('localhost')
    connection.sock = socket.socket(socket.AF_UNIX)
    try:
        connection.sock.connect('socket')
        break
    except OSError:
        time.sleep(0.02)
for i in range(80):
    begin = time.monotonic_ns()
    connection.request('GET', '/x' if i < 60 else '/slow/file?k=1')
    assert connection.getresponse().read()
    print(i, begin, time.monotonic_ns(), flush=True)
connection.close()
server.send_signal(signal.SIGQUIT)  # what is open is worked off
server.wait()
END
argus record --pack nginx --pack-budget 0 -o nginx.trace -- python3 work.py >log.txt 2>record.txt || fail "$(cat record.txt nginx.txt)"
argus dump --json -e probe nginx.trace >probes.json
argus graph --json --list nginx.trace >graph.json
python3 - <<'END'
import collections, json

log = [list(map(int, line.split())) for line in open('log.txt')]
by, numbers = collections.defaultdict(list), {}
for e in json.load(open('probes.json'))['events']:
    by[e['probe_name']].append(e)
    numbers[e['number']] = e
begins, ends = by['nginx-begin'], by['nginx-end']
assert len(log) == len(begins) == len(ends) == 80, (len(begins), len(ends))
assert len(by['nginx-run']) == len(by['nginx-run-end']) >= 80 and len(by['nginx-timer']) == len(by['nginx-timer-end']) >= 15
edges = {}
for segment in json.load(open('graph.json'))['segments']:
    for e in segment['from']:
        if e['rule'] == 'nginx-taken':
            edges[e['to_event']] = numbers[e['from_event']]
for i, ((_, asked, answered), begin, end) in enumerate(zip(log, begins, ends)):
    assert begin['result'] == end['arg1'] and begin['tid'] == end['tid'] == begins[0]['tid'], (begin, end)
    assert asked <= begin['time_ns'] <= min(end['time_ns'], answered), (asked, answered, begin, end)
    runs = [r for r in by['nginx-run'] if begin['time_ns'] <= r['time_ns'] <= end['time_ns']]
    assert runs and all(r['arg1'] == end['arg1'] and edges[r['number']] is begin for r in runs), (begin, runs)
    assert i < 61 or len(runs) > 1, (i, runs)
END
