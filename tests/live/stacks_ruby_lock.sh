#!/bin/bash
# Who has Ruby's lock (the GVL): three threads that take turns with it, in C code that notes when it has it. Each wait
# for the lock within such a time names the one that had it; a thread that sleeps, which it does at the same place, nobody.
. "$HERE/live/_lib.sh"
need_bpf
need_command ruby
ruby -e 'exit RUBY_VERSION.start_with?("3.1.") && RbConfig::CONFIG["ENABLE_SHARED"] == "yes"' || skip "this Ruby is of another version"
. "$HERE/live/_script_lock.sh"

cat >turns.rb <<'END'
require 'fiddle'
HOLD = Fiddle::Function.new(Fiddle.dlopen('./hold.so')['hold'], [Fiddle::TYPE_LONG, Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID, need_gvl: true)
TID = Fiddle::Function.new(Fiddle.dlopen(nil)['gettid'], [], Fiddle::TYPE_INT)
log = []
3.times.map do
  Thread.new do
    span = Fiddle::Pointer.malloc(16)
    40.times do |i|
      HOLD.call(2_000_000 + i % 7 * 1_000_000, span)
      log << [TID.call, *span[0, 16].unpack('q2')]
      Thread.pass
    end
  end
end.each(&:join)
Thread.new { Thread.current.name = 'asleep'; 20.times { sleep 0.003 } }.join
log.each { |entry| puts entry.join(' ') }
END
same_holders ruby turns.rb
argus dump --json -e switch turns.trace | python3 -c '
import json, sys
asleep = [e for e in json.load(sys.stdin)["events"] if e.get("comm") == "asleep" and e.get("wait") == "futex" and e.get("timeout_ns")]
assert len(asleep) >= 20 and not any(e.get("hint_kind") == "interpreter_lock" for e in asleep), asleep[:3]
' || fail "a thread that sleeps waits for the lock"
