# A thin cover over Meson and ninja: tools/setup installs what is missing,
# tools/build configures and builds. See HACKING.md.
#   make            build/argus             make demo     record a small hang and explain it
#   make check      all tests               make SAN=1 check   the same with ASan and UBSan
#   make bless      golden tests: take the output that came as expected
#   make fuzz       each fuzz target for FUZZ_SECONDS (20)
#   make bench      BENCH.md (long)         make cases    CASES.md (long)
#   make lab        LAB.md (hours)
#   make truth      stacks against another walker; damage, kills, a soak (hours)
#   make kernels    live tests on other kernels, emulated (long)
#   make deb        the Debian package, in build-deb
#   make packages   the package tried in clean systems (long)
#   make install    to PREFIX (/usr/local), below DESTDIR
#   make clean
SAN ?=
BUILD ?= $(if $(SAN),build-san,build)
PREFIX ?= /usr/local
MESON_OPTIONS ?= -Dprefix=$(PREFIX) $(if $(SAN),-Db_sanitize=address$(,)undefined -Db_lundef=false)
FUZZ_SECONDS ?= 20
TESTS ?=
, := ,

.PHONY: all setup demo check check-headers check-layers bless fuzz bench cases lab slow truth kernels deb packages install clean

all:
	@tools/setup build
	@tools/build $(BUILD) $(MESON_OPTIONS)

check:
	@tools/setup build test
	@tools/build $(BUILD) $(MESON_OPTIONS)
	@tests/run --build $(BUILD) $(TESTS)

bless: all
	@tests/run --build $(BUILD) --bless golden $(TESTS)

check-headers check-layers:
	@tools/$@

fuzz:
	@tools/setup build lint
	@tools/fuzz $(FUZZ_SECONDS)

demo: all
	@demo/run $(BUILD)

bench: all
	@tools/setup bench
	@bench/run $(BUILD)

cases: all
	@tools/setup cases
	@cases/run $(BUILD)

lab: all
	@tools/setup cases lab
	@lab/run $(BUILD) --half unseen --count 500 --table LAB.md
	@lab/run $(BUILD) --half development --from 96000 --count 160 --level alternate --mode fault --left-out --table LAB.md

slow: all
	@tools/setup bench
	@tests/slow/table.py --argus $(BUILD)/argus

truth: all
	@tools/setup test truth
	@ARGUS_TEST_ALL=1 tests/run --build $(BUILD) trace_file
	@tests/truth/run $(BUILD)
	@tests/truth/calls.py --argus $(BUILD)/argus
	@tests/truth/sleepers.py --argus $(BUILD)/argus
	@tests/standing/healthy.py --argus $(BUILD)/argus --looks 20
	@tools/build build-san -Db_sanitize=address,undefined -Db_lundef=false
	@tests/truth/damage build-san
	@tests/truth/kills $(BUILD)
	@tests/truth/kills_probe $(BUILD)
	@tests/truth/soak $(BUILD)

kernels: all
	@tools/setup test kernels
	@tests/kernels/run $(BUILD)

deb:
	@tools/setup build deb
	@tools/make-deb

packages:
	@tools/setup build deb packages
	@tests/packages/run

install: all
	@meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir $(DESTDIR))

clean:
	rm -rf build build-*
