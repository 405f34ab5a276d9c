#!/bin/bash
# A trace of stripped programs, named elsewhere and later: by files below --symfs, by
# the small symbol table within the program, by debug links, by a debuginfod server,
# which is asked only when it is named; files of another build are refused.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc objcopy python3 xz readelf
export HOME=$PWD ARGUS_CACHE_DIR=$PWD/kept DEBUGINFOD_CACHE_PATH=$PWD/fetched
unset DEBUGINFOD_URLS
mkdir -m 700 kept

cat >program.c <<'END'
#include <time.h>
__attribute__((noinline)) static int hidden(int n)
{
	struct timespec t = { 0, 2000000 };
	nanosleep(&t, 0);
	return n + VERSION;
}
int main(void)
{
	int n = 0;
	for (int i = 0; i < 40; i++)
		n += hidden(i);
	return n == 1;
}
END
build() { gcc -O2 -g -DVERSION="$1" -fno-ipa-sra -fno-ipa-cp -Wl,--build-id=sha1 -o "$2" program.c; }
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
build 1 full
build 2 other
mkdir bin
strip -o bin/app full
argus record -o app.trace -- bin/app 2>/dev/null || fail "recording"
id=$(id_of full)
[ "$id" != "$(id_of other)" ] || fail "two builds have one build-id"
path=$PWD/bin/app

# SAY...: what symbolize makes of the program's frames, with nothing kept from before
say() { rm -rf kept/*; argus symbolize "$@" app.trace >said.txt 2>complaint.txt || fail "symbolize: $(cat complaint.txt)"; grep '^app+' said.txt >own.txt || fail "no frames: $(head said.txt)"; }
named() { grep -q "hidden$1" own.txt || fail "$2: hidden has no name: $(cat own.txt complaint.txt)"; }
unnamed() { ! grep -q hidden own.txt || fail "$1: hidden has a name: $(cat own.txt)"; }

say
unnamed "a stripped program"
mv bin gone
say
unnamed "a program that is gone"

# the vendor's files, as a tree of the programs with their symbols, or of debug files
mkdir -p "tree$PWD/bin" debug/.build-id/"${id:0:2}"
cp full "tree$path"
say --symfs tree
named ' .*program.c:5' "--symfs, the program with its symbols"
cp other "tree$path"
say --symfs tree
unnamed "--symfs with another build"
grep -q 'build-id' complaint.txt || fail "nothing is said of the other build: $(cat complaint.txt)"
objcopy --only-keep-debug full debug/.build-id/"${id:0:2}/${id:2}.debug"
say --symfs debug
named ' .*program.c:5' "--symfs, a debug file by its build-id"
objcopy --only-keep-debug other debug/.build-id/"${id:0:2}/${id:2}.debug"
say --symfs debug
unnamed "--symfs, a debug file of another build"

# a link to the debug file beside it
strip -o linked full
objcopy --only-keep-debug full app.debug
objcopy --add-gnu-debuglink=app.debug linked
mkdir -p "beside$PWD/bin/.debug"
cp linked "beside$path"
say --symfs beside
unnamed "a debug link that leads nowhere"
cp app.debug "beside$PWD/bin/.debug/"
say --symfs beside
named ' .*program.c:5' "a debug link"
objcopy --only-keep-debug other "beside$PWD/bin/.debug/app.debug"
say --symfs beside
unnamed "a debug link to another build's file"

# a small table of symbols within the program, packed
nm full | awk '$2 ~ /[tT]/ { print $3 }' >keep
objcopy --only-keep-debug full small
objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep small small.packed
xz -f small.packed
strip -o withdata full
objcopy --add-section .gnu_debugdata=small.packed.xz withdata
mkdir -p "data$PWD/bin"
cp withdata "data$path"
say --symfs data
named '' ".gnu_debugdata"

# a server, asked only when it is named. `watched` notes whoever asks for a connection
PATH=$PATH:/sbin ldconfig -p | matches libdebuginfod.so.1 || skip "libdebuginfod is not installed"
cat >watched.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
int socket(int domain, int type, int protocol)
{
	if (domain == AF_INET || domain == AF_INET6)
		close(open("connected", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	return ((int (*)(int, int, int))dlsym(RTLD_NEXT, "socket"))(domain, type, protocol);
}
END
gcc -shared -fPIC -o watched.so watched.c -ldl
cat >serve.py <<'END'
import http.server
import os

class Serve(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        parts = self.path.strip("/").split("/")
        with open("asked", "a") as asked:
            asked.write(self.path + "\n")
        path = "store/" + "-".join(parts[1:]) if len(parts) == 3 and parts[0] == "buildid" else ""
        if not os.path.isfile(path):
            self.send_error(404)
            return
        data = open(path, "rb").read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Serve)
print(server.server_port, flush=True)
server.serve_forever()
END
mkdir store
cp app.debug "store/$id-debuginfo"
python3 serve.py >port & server=$!
trap 'kill $server' EXIT
wait_until 20 test -s port
LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$PWD/watched.so
export LD_PRELOAD
say
unnamed "no server is named"
DEBUGINFOD_URLS='' say
unnamed "no server is named, in so many words"
if [ -e connected ] || [ -e asked ]; then fail "a server was asked that nobody named"; fi
DEBUGINFOD_URLS="http://127.0.0.1:$(cat port)/"
export DEBUGINFOD_URLS
say
named ' .*program.c:5' "debuginfod"
if [ ! -e connected ] || [ ! -e asked ]; then fail "the test does not see connections"; fi
mv gone bin
say
named ' .*program.c:5' "debuginfod, for a stripped program that is there"
mv bin gone
rm -rf fetched
objcopy --only-keep-debug other "store/$id-debuginfo"
say
unnamed "a server that gives another build's file"
rm -rf fetched store/*
say
unnamed "a server that has nothing"
