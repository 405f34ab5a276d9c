#!/bin/bash
# Ruby's frames in stacks: a program that waits below calls of many kinds, in threads and fibers too, frame by frame beside its
# own caller_locations.
. "$HERE/live/_lib.sh"
need_bpf
need_command ruby
ruby -e 'exit RUBY_VERSION.start_with?("3.1.") && RbConfig::CONFIG["ENABLE_SHARED"] == "yes"' || skip "this Ruby is of another version"

. "$HERE/live/_script.sh"
same_stacks ruby "$HERE/live/stacks_ruby.rb" pselect6

# a stack of frames that is larger than there is memory, frames without code: bounded, and said to be cut
cat >hostile.rb <<'END'
require 'fiddle'
GC.disable
# as 3.1 keeps them: the thread's execution context, its stack and size in words, whose outermost frame but one is the program's
CONTEXT = Fiddle::Pointer.new(Fiddle.dlopen(nil)['ruby_current_ec']).ptr
SLEEP = Fiddle::Function.new(Fiddle.dlopen(nil)['usleep'], [Fiddle::TYPE_LONG], Fiddle::TYPE_INT)
BOTTOM = CONTEXT[0, 16].unpack('Q2').then { |stack, words| stack + words * 8 }

def outer
  code = Fiddle::Pointer.new(BOTTOM - 128 + 16)
  $stdout.syswrite("ready\n")
  case ARGV[0]
  when 'endless' then CONTEXT[8, 8] = [1 << 23].pack('Q')
  when 'gone' then code[0, 8] = [0x123456789000].pack('Q')
  when 'torn' then code[0, 8] = [0x1001].pack('Q')
  end
  SLEEP.call(5000) while true
end

outer
END
for way in endless gone torn; do
	ruby hostile.rb $way >hostile.txt & pid=$!
	trap 'kill -KILL $pid 2>/dev/null || true' EXIT
	wait_until 30 test -s hostile.txt
	told() {
		argus record -p $pid -o hostile.trace -- sleep 0.2 2>/dev/null || fail "$way: the recording failed"
		argus dump --stacks -e switch -p $pid hostile.trace >stacks.txt
		grep -q 'Object#outer (hostile.rb' stacks.txt && grep -q "\.\.\. the interpreter's list of frames" stacks.txt
	}
	try=0
	until told; do [ $((++try)) -lt 5 ] || fail "$way: not said to be cut: $(tail -n 40 stacks.txt)"; done
	kill -KILL $pid
	wait $pid 2>/dev/null || true
done
