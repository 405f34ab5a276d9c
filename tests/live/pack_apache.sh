#!/bin/bash
# The pack of Apache: each request that two clients made has its begin and end in one thread, between the client's own times.
. "$HERE/live/_lib.sh"
need_bpf
need_command apache2
modules=/usr/lib/apache2/modules
[ -e $modules/mod_mpm_event.so ] || skip "Apache's modules are not installed"

chmod 755 .
mkdir files
echo text >files/file
chmod -R a+rX files
cat >work.py <<'END'
import http.client, os, socket, subprocess, threading, time

with socket.socket() as free:
    free.bind(('127.0.0.1', 0))
    port = free.getsockname()[1]
folder, modules = os.getcwd(), '/usr/lib/apache2/modules'
with open('conf', 'w') as out:
    out.write(f'''ServerRoot {folder}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/pid
ErrorLog {folder}/error.txt
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
StartServers 1
ServerLimit 1
ThreadsPerChild 4
MaxRequestWorkers 4
KeepAliveTimeout 60
MaxKeepAliveRequests 0
DocumentRoot {folder}/files
''')
server = subprocess.Popen(['apache2', '-f', folder + '/conf', '-D', 'FOREGROUND'], stderr=subprocess.DEVNULL)
for _ in range(1000):
    try:
        socket.create_connection(('127.0.0.1', port)).close()
        break
    except OSError:
        time.sleep(0.02)

def ask():
    connection = http.client.HTTPConnection('127.0.0.1', port)
    for _ in range(40):
        begin = time.monotonic_ns()
        connection.request('GET', '/file')
        answer = connection.getresponse()
        assert answer.read() == b'text\n' and answer.status == 200
        os.write(1, f'{begin} {time.monotonic_ns()}\n'.encode())
    connection.close()

threads = [threading.Thread(target=ask) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
server.terminate()
server.wait()
END
argus record --pack apache --pack-budget 0 -o apache.trace -- python3 work.py >log.txt 2>record.txt || fail "$(cat record.txt error.txt)"
argus dump --json -e probe apache.trace >probes.json
python3 - <<'END'
import json

log = sorted(tuple(map(int, line.split())) for line in open('log.txt'))
requests, open_ = [], {}
for e in json.load(open('probes.json'))['events']:
    if e['probe_name'] == 'apache-request':
        assert e['tid'] not in open_, e
        open_[e['tid']] = e
    else:
        requests.append((open_.pop(e['tid'])['time_ns'], e['time_ns']))
assert not open_ and len(log) == len(requests) == 80, (len(log), len(requests))
# each lies within one of the clients', and no two within the same
for begin, end in sorted(requests):
    mine = [w for w in log if w[0] <= begin <= w[1]]
    assert mine, (begin, end)
    log.remove(min(mine, key=lambda w: w[1]))
END
