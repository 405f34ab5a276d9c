#!/bin/bash
# The pack of OpenSSL: each call of a handshake that a program logged, of both ends of several connections, is
# there, with its connection, its thread and its times.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc
need_command openssl

library=/usr/lib/x86_64-linux-gnu/libssl.so.3
[ -e $library ] || skip "OpenSSL 3 is not installed"
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=localhost -days 2 2>openssl.txt || fail "$(cat openssl.txt)"
cat >shake.c <<'END'
/* OpenSSL's headers are not needed for this. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

extern void *TLS_client_method(void), *TLS_server_method(void), *SSL_CTX_new(void *), *SSL_new(void *);
extern int SSL_CTX_use_certificate_file(void *, const char *, int), SSL_CTX_use_PrivateKey_file(void *, const char *, int);
extern void SSL_set_connect_state(void *), SSL_set_accept_state(void *), SSL_set_bio(void *, void *, void *), SSL_free(void *);
extern int SSL_do_handshake(void *), BIO_new_bio_pair(void **, unsigned long, void **, unsigned long);

static void *client_context, *server_context;

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int step(void *end)
{
	long long begin = now();
	int r = SSL_do_handshake(end);
	printf("%lld %lld %d %ju %d\n", begin, now(), (int)gettid(), (uintmax_t)(uintptr_t)end, r);
	return r == 1;
}

static void *connect_some(void *data)
{
	for (int i = 0; i < 10; i++) {
		void *client = SSL_new(client_context), *server = SSL_new(server_context), *a, *b;
		BIO_new_bio_pair(&a, 0, &b, 0);
		SSL_set_bio(client, a, a);
		SSL_set_bio(server, b, b);
		SSL_set_connect_state(client);
		SSL_set_accept_state(server);
		for (int steps = 0; steps < 20; steps++)
			if (step(client) & step(server))
				break;
		SSL_free(client);
		SSL_free(server);
	}
	return data;
}

int main(void)
{
	pthread_t threads[2];
	client_context = SSL_CTX_new(TLS_client_method());
	server_context = SSL_CTX_new(TLS_server_method());
	if (SSL_CTX_use_certificate_file(server_context, "cert.pem", 1) != 1 || SSL_CTX_use_PrivateKey_file(server_context, "key.pem", 1) != 1)
		return 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], 0, connect_some, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], 0);
	return 0;
}
END
gcc -O1 -pthread -o shake shake.c $library /usr/lib/x86_64-linux-gnu/libcrypto.so.3
argus record --pack openssl -o tls.trace -- ./shake >log.txt 2>record.txt || fail "$(cat record.txt)"
argus dump --json -e probe tls.trace >probes.json
python3 - <<'END'
import json

log, begins, ends = {}, {}, {}
for line in open('log.txt'):
    begin, end, tid, connection, result = map(int, line.split())
    log.setdefault(tid, []).append((begin, end, connection, result))
for e in json.load(open('probes.json'))['events']:
    if e['probe_name'] == 'openssl-handshake':
        begins.setdefault(e['tid'], []).append((e['time_ns'], int(e['arg1'], 0)))
    if e['probe_name'] == 'openssl-handshake-end':
        ends.setdefault(e['tid'], []).append(e['time_ns'])
calls = [call for calls in log.values() for call in calls]
assert len(log) == 2 and len(calls) >= 80 and any(c[3] != 1 for c in calls) and sum(c[3] == 1 for c in calls) >= 40, calls
assert set(begins) == set(ends) == set(log), (set(begins), set(log))
for tid, calls in log.items():
    assert len(begins[tid]) == len(ends[tid]) == len(calls), (len(begins[tid]), len(ends[tid]), len(calls))
    for (begin, end, connection, _), (a, which), b in zip(calls, begins[tid], ends[tid]):
        assert begin <= a <= b <= end and which == connection, (begin, a, b, end, which, connection)
print(sum(map(len, log.values())), 'calls')
END
