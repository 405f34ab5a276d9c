#!/bin/bash
# What the trace says of messages, against a program that knows every byte it sent and received.
. "$HERE/live/_lib.sh"
need_bpf
argus record --level full --stacks none -o messages.trace -- sh -c '"$0" >truth.txt' "$BUILD/tests/message_truth" 2>record.txt ||
	fail "recording: $(cat record.txt)"
"$BUILD/tests/message_check" messages.trace truth.txt >verdict.txt 2>wrong.txt ||
	fail "$(cat verdict.txt; head -20 wrong.txt)"
for kind in pipe unix_stream unix_dgram unix_seqpacket tcp udp eventfd; do
	grep -q "^$kind .*right [1-9]" verdict.txt || fail "nothing joined of $kind: $(cat verdict.txt)"
done
