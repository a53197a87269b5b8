# The front door. Meson and Ninja do the work; each target installs the Debian packages that it needs. `make help` prints the list
# below; a name in capitals is a variable of make: make fuzz FUZZ_SECONDS=60
#
#   make                    builds the program build/roost, the library below build/src, and the module
#                           for Redis and Valkey, build/roost.so; tests, benches and the evaluation are
#                           compiled by the targets that run them
#   make help               this list
#   make run                shows replicas over a bad network agree
#   make run-redis          three servers with the module, links between them, a partition and its
#                           healing
#   make play               the playground, served on this machine
#
#   make install            program, library, headers, man page, pkg-config file; DESTDIR and PREFIX as
#                           usual
#   make uninstall          removes what the last make install installed
#   make module             the module, where make had to leave it out for want of redismodule.h
#   make python             the Python package: a wheel and an archive of its sources, in build/python
#   make js                 the npm package for Node and browsers: build/js/roost-filter-VERSION.tgz
#   make web                the playground as one file, build/web/index.html
#   make docs               the HTML reference of the C library, in build/docs/html
#   make deb                Debian packages of what is committed, in build/deb
#   make dist               a source archive of what is committed; the same commit gives the same bytes
#   make clean              removes the build folders
#
#   make check              every test: plain, under sanitizers, the program, the short forms of the
#                           campaigns
#   make check-long         the same with all rounds of every test in both builds, deeper walks and more
#                           platforms
#   make check-redis        the long campaigns of the module and of roost link, on Redis and Valkey
#   make check-servers      the module's tests on each server that is found, or on SERVERS="PATH ...",
#                           with a table of versions (packaging/apart servers build/servers fetches and
#                           builds newer ones)
#   make check-link         regions that change behind a bad network while servers and links die, for
#                           LINK_SECONDS each way
#   make check-threads      what threads share, under ThreadSanitizer
#   make check-platforms    library and tests built for aarch64, s390x (big-endian), riscv64 and musl,
#                           and run by qemu-user
#   make check-languages    filters of C, C++, Python, JavaScript in Node and Chromium, the program,
#                           Redis and Valkey have the same bytes
#   make check-python       tests of the Python package, all rounds, in the build folder and in a wheel
#                           made from the archive
#   make check-pythons      the wheel installed and tested with each Python from 3.9 on that is found,
#                           or PYTHONS="PATH ..."
#   make check-js           tests of the npm package in Node
#   make check-browser      the npm package and the playground in Chromium (needs the npm registry)
#   make check-engines      tests of the npm package on Node 18 to 24, Bun and Deno (needs the npm
#                           registry)
#   make check-bundlers     pages of Vite, webpack, Rollup, Parcel, esbuild and Bun in Chromium (needs
#                           the npm registry)
#   make check-types        the npm package's declarations for TypeScript, and CommonJS (needs the npm
#                           registry)
#   make check-deb          installs the Debian packages in a clean system and uses them
#   make check-deb-build    builds them in a system that has nothing but the build dependencies
#
#   make lint               clang-tidy and cppcheck over all that is shipped (FILES="PATH ..." for a few
#                           files)
#   make format             clang-format over all sources
#   make prove              contracts of C functions, and decoders on any bytes, by Frama-C
#   make exhaust            every order of calls and messages among a few replicas and elements, deeper
#                           than make check goes
#   make simulate           SIMULATE_STEPS random steps of replicas and of a link, in slices; goes on
#                           where it was interrupted
#   make fuzz               the fuzzers of the C library, for FUZZ_SECONDS each
#   make fuzzers            builds these fuzzers, in build-fuzz/fuzz
#   make fuzz-module        what strangers may send to a server with the module, for FUZZ_SECONDS
#   make fuzz-python        hostile calls of the Python package under sanitizers, for FUZZ_SECONDS of
#                           processor, by FUZZ_THREADS
#   make fuzz-cpp           hostile calls of roost.hpp under sanitizers, for FUZZ_SECONDS of processor,
#                           from FUZZ_SEED if that is set
#   make fuzz-js            hostile calls of the npm package, for FUZZ_SECONDS
#
#   make bench              speed, as bench/results.csv and in the tables of docs/speed.md
#   make bench-small        the same without the filters of 10^8 keys; nothing is written
#   make bench-instructions instructions a call, in the same file and page
#   make bench-cli          the program beside others, as bench/cli.csv and in docs/speed.md
#   make bench-growth       filters while they grow to 10^8 keys, as bench/growth.csv and
#                           bench/growth.svg
#   make bench-python       the Python package beside C, as bench/python.csv
#   make bench-js           the npm package beside two others, as bindings/js/bench.csv (needs the npm
#                           registry)
#   make bench-redis        the module's commands beside GET and SET of the same server
#   make bench-link         how long a change takes to another region, as bench/link.csv
#   make repro              the papers' figures, as CSV and pictures below eval/results, and in
#                           docs/evaluation.md

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 3600
FUZZ_THREADS ?= 1
LINK_SECONDS ?= 600
SIMULATE_STEPS ?= 100000000
FUZZERS = decode operations session reconcile exchange section

.PHONY: all help module deb check-deb check-deb-build python check-python check-pythons bench-python fuzz-python fuzz-cpp run run-redis check check-long check-redis check-servers check-link check-threads check-platforms install uninstall dist prove bench bench-redis bench-link bench-small bench-instructions bench-cli bench-growth docs repro exhaust simulate fuzz fuzzers fuzz-module lint format clean js check-js check-types check-engines check-bundlers check-browser fuzz-js bench-js web play check-languages

all: build/build.ninja
	@packaging/compile build

# The list at the head of this file.
help:
	@sed -n '/^$$/q; s/^#   //p; s/^#$$//p' $(firstword $(MAKEFILE_LIST))

# The module needs a header that is fetched; without it all the rest is built.
build/build.ninja:
	@packaging/dependencies build
	@packaging/apart header build || echo "roost: redismodule.h cannot be had: the module is left out (make module tries again)"
	@echo "roost: configuring build"
	@meson setup build --prefix /usr/local --libdir lib >build/setup.log || { cat build/setup.log; exit 1; }

module: build/build.ninja
	@packaging/apart header build
	@test -f build/roost.so || meson setup --reconfigure build >/dev/null
	@packaging/compile build

run: all
	@build/roost demo

check: all
	@packaging/dependencies check
	@packaging/apart header build || true
	@packaging/dependencies cross || echo "roost: without compilers for other machines"
	@tests/run

check-long:
	@packaging/dependencies platforms || echo "roost: without compilers for other machines"
	@ROOST_LONG=1 $(MAKE) --no-print-directory check

run-redis: module
	@packaging/dependencies redis
	@tests/module/three_regions.py

python:
	@packaging/dependencies python
	@packaging/python

check-python: all
	@packaging/dependencies check-python
	@ninja -C build -t query python >/dev/null 2>&1 || meson setup --reconfigure build >/dev/null
	@packaging/compile build python
	@ROOST_LONG=1 /usr/bin/python3 bindings/python/tests/run
	@packaging/python check

check-pythons: all python
	@bindings/python/tests/versions $(PYTHONS)

bench-python: all
	@packaging/dependencies python
	@ninja -C build -t query python >/dev/null 2>&1 || meson setup --reconfigure build >/dev/null
	@packaging/compile build python
	@bench/python.py --csv bench/python.csv

# Python's own allocator would hide what the sanitizers look for.
fuzz-python:
	@packaging/dependencies python
	@test -f build-sanitize/build.ninja || meson setup build-sanitize -Dwerror=true -Dbuildtype=debugoptimized \
	    -Db_sanitize=address,undefined >/dev/null
	@packaging/compile build-sanitize python
	@LD_PRELOAD=$$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc \
	    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONPATH=$(CURDIR)/build-sanitize/bindings/python \
	    /usr/bin/python3 -X faulthandler bindings/python/tests/hostile.py --seconds $(FUZZ_SECONDS) --threads $(FUZZ_THREADS)

fuzz-cpp:
	@packaging/dependencies check
	@test -f build-sanitize/build.ninja || meson setup build-sanitize -Dwerror=true -Dbuildtype=debugoptimized \
	    -Db_sanitize=address,undefined >/dev/null
	@packaging/compile build-sanitize src/libroost-objects.a
	@ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	    bash tests/cpp.sh build/src/libroost.a build-sanitize/src/libroost-objects.a $(FUZZ_SECONDS) $(FUZZ_SEED)

check-redis: module
	@packaging/dependencies redis
	@packaging/compile build test-programs
	@tests/module/run

check-threads:
	@packaging/dependencies check
	@test -d build-thread || meson setup build-thread -Dwerror=true -Dbuildtype=debugoptimized -Db_sanitize=thread >/dev/null
	@packaging/compile build-thread tests/test-shared tests/test-sharing tests/test-executor
	@for name in shared sharing executor; do TSAN_OPTIONS=halt_on_error=1 build-thread/tests/test-$$name || exit 1; done

check-servers: module
	@packaging/dependencies redis
	@packaging/compile build test-programs
	@tests/module/check_servers

check-link: module
	@packaging/dependencies redis
	@packaging/apart valkey build/servers || echo "without Valkey"
	@tests/module/link_access.py
	@for regions in mixed pairs failover; do tests/module/link_chaos.py --seconds $(LINK_SECONDS) --regions $$regions --clocks --names || exit 1; done

check-platforms: all
	@packaging/dependencies platforms
	@packaging/compile build tests/transcript
	@tests/platforms.sh all

bench-redis: module
	@packaging/dependencies redis
	@bench/module.py

bench-link: module
	@packaging/dependencies redis
	@bench/link.py --csv bench/link.csv

# build/ is set up for /usr/local; another PREFIX has a build folder of its own. The loader is told where it is its own system.
# A relative DESTDIR is one of this folder; Meson would take it from the build folder.
prefix = $(or $(PREFIX:%/=%),/)
destdir = $(if $(DESTDIR),$(if $(filter /%,$(firstword $(DESTDIR))),,$(CURDIR)/)$(DESTDIR:%/=%))
place = $(destdir)$(prefix:%/=%)
install_folder = $(if $(filter-out /usr/local,$(prefix)),build-install,build)
install: all
	@case "$(prefix)" in /*) ;; *) echo "roost: PREFIX=$(prefix): must be an absolute path"; exit 2 ;; esac
	@test -f $(install_folder)/build.ninja || meson setup $(install_folder) >/dev/null
	@test $(install_folder) = build || meson configure $(install_folder) --prefix "$(prefix)" --libdir lib >/dev/null
	@packaging/installed $(install_folder) | xargs packaging/compile $(install_folder)
	@DESTDIR="$(destdir)" meson install -C $(install_folder) --quiet --no-rebuild
	@if test -z "$(destdir)" && test "$$(id -u)" -eq 0; then ldconfig; fi

uninstall:
	@test -f $(install_folder)/meson-logs/install-log.txt || { echo "roost: nothing was installed from $(install_folder)"; exit 2; }
	@case "$$(sed -n '/^[^#]/{p;q}' $(install_folder)/meson-logs/install-log.txt)" in "$(place)"/*) ;; *) echo "roost: the last make install was not to $(place)"; exit 2 ;; esac
	@ninja -C $(install_folder) --quiet uninstall >/dev/null
	@for folder in include/roost lib/roost lib/cmake/roost; do rmdir "$(place)/$$folder" 2>/dev/null || true; done

# From what is committed; the same commit gives the same bytes.
version = $(shell sed -n "s/^ *version: '\\(.*\\)',/\\1/p" meson.build)
dist:
	@git rev-parse --verify --quiet HEAD >/dev/null 2>&1 || { echo "roost: make dist needs a clone with git: this folder has no commits"; exit 2; }
	@mkdir -p build
	@git archive --format=tar --prefix=roost-$(version)/ HEAD | gzip -9n >build/roost-$(version).tar.gz
	@sha256sum build/roost-$(version).tar.gz

deb:
	@packaging/dependencies deb
	@packaging/apart header build
	@packaging/deb

check-deb: deb
	@packaging/dependencies check-deb
	@tests/deb

check-deb-build: deb
	@packaging/dependencies check-deb
	@tests/deb --build

bench: all
	@packaging/compile build bench/roost-bench
	@build/bench/roost-bench --large --csv build/results.csv
	@bench/speed_page --take build/results.csv

bench-instructions: all
	@packaging/compile build bench/roost-bench
	@bench/instructions | tee build/instructions.csv
	@bench/speed_page --take build/instructions.csv

bench-cli: all
	@packaging/dependencies bench
	@bench/cli --csv bench/cli.csv --table docs/speed.md

bench-growth: all
	@packaging/dependencies repro
	@packaging/compile build bench/roost-bench
	@build/bench/roost-bench --curve bench/growth.csv
	@eval/draw.py bench/growth.gnuplot

bench-small: all
	@packaging/compile build bench/roost-bench
	@build/bench/roost-bench

js: all
	@packaging/dependencies js
	@bindings/js/build.sh build/js

check-js: js
	@node --test bindings/js/test/*.test.js
	@for core in core core-simd; do test $$(gzip -9c build/js/package/$$core.wasm | wc -c) -le 60000 || { echo "$$core.wasm takes more than 60 kB gzipped"; exit 1; }; done
	@for module in removal core; do ROOST_JS_MODULE=$$module node --test bindings/js/test/filter.test.js bindings/js/test/hostile.test.js bindings/js/test/vectors.test.js || exit 1; done
	@for module in index removal core; do ROOST_JS_PLAIN=1 ROOST_JS_MODULE=$$module node --test bindings/js/test/filter.test.js || exit 1; done
	@node bindings/js/test/fuzz.js 5
	@tests/pages docs/javascript.md

check-types: js
	@packaging/dependencies browser
	@bindings/js/test/types/run

# Node, Bun and Deno from the npm registry.
check-engines: js
	@packaging/dependencies browser
	@bindings/js/test/engines

check-bundlers: js
	@packaging/dependencies browser
	@bindings/js/test/bundlers

check-browser: web
	@packaging/dependencies browser
	@bindings/js/test/browser/run

# With every speaker that can be had; make check has the short form.
check-languages: module js
	@packaging/dependencies check
	@packaging/dependencies browser
	@bindings/js/test/browser/fetch
	@packaging/apart valkey build/servers || echo "without Valkey"
	@packaging/compile build all python
	@tests/languages/same_bytes.py --long

fuzz-js: js
	@node bindings/js/test/fuzz.js $(FUZZ_SECONDS)

# The packages that it is compared with are fetched into build/js/others.
bench-js: js
	@packaging/dependencies browser
	@mkdir -p build/js/others && cd build/js/others && npm install --no-save --no-audit --no-fund --loglevel=error --prefix . bloom-filters bloomfilter >/dev/null
	@node bindings/js/bench.js build/js/package build/js/others --csv bindings/js/bench.csv

web: js
	@web/build.sh build/js/package build/web

play: web
	@node web/serve.js build/web

prove:
	@packaging/dependencies prove
	@proofs/prove

docs:
	@packaging/dependencies docs
	@mkdir -p build/docs
	@doxygen docs/Doxyfile
	@echo "build/docs/html/index.html"

repro: all
	@packaging/dependencies repro
	@packaging/compile build eval/roost-eval bench/roost-quotient
	@build/eval/roost-eval --full --jobs $$(nproc) --out eval/results
	@build/bench/roost-quotient eval/results/quotient-filter.csv
	@if test -f build/roost.so; then eval/counters.py --out eval/results; fi
	@eval/draw.py
	@eval/page.py

exhaust: all
	@packaging/dependencies check
	@packaging/compile build tests/exhaust tests/exhaust-dots tests/exhaust-series tests/exhaust-prefixes tests/exhaust-stamps
	@build/tests/exhaust --deep
	@build/tests/exhaust-dots --deep
	@build/tests/exhaust-series --deep
	@build/tests/exhaust-prefixes --deep
	@build/tests/exhaust-stamps --deep

fuzzers:
	@packaging/dependencies check
	@test -f build-fuzz/build.ninja || CC=clang meson setup build-fuzz -Dfuzz=true -Dbuildtype=debugoptimized \
	    -Db_sanitize=address,undefined -Dc_args=-fsanitize=fuzzer-no-link >/dev/null 2>&1
	@ninja -C build-fuzz --quiet $(FUZZERS:%=fuzz/fuzz-%) >/dev/null

# New inputs go to build-fuzz/corpus, an input that fails to build-fuzz/finds. What an input may cost is checked by the
# fuzzers themselves (tests/cost.h); the limits here are for what they do not count. Without -entropic=0 libFuzzer spends
# three to five times as long on choosing inputs as the inputs take. Undefined behaviour, too, is a find.
fuzz: export UBSAN_OPTIONS = halt_on_error=1:print_stacktrace=1
fuzz: fuzzers
	@mkdir -p build-fuzz/finds
	@for name in $(FUZZERS); do \
	    mkdir -p build-fuzz/corpus/$$name; \
	    build-fuzz/fuzz/fuzz-$$name -max_total_time=$(FUZZ_SECONDS) -max_len=600 -entropic=0 -print_final_stats=1 \
	        -timeout=60 -malloc_limit_mb=64 -rss_limit_mb=2048 -artifact_prefix=build-fuzz/finds/$$name- \
	        build-fuzz/corpus/$$name fuzz/corpus/$$name || exit 1; done

fuzz-module: module
	@packaging/dependencies redis
	@test -f build-sanitize/build.ninja || meson setup build-sanitize -Dwerror=true -Dbuildtype=debugoptimized \
	    -Db_sanitize=address,undefined >/dev/null
	@packaging/compile build-sanitize roost.so
	@ROOST_MODULE=$(CURDIR)/build-sanitize/roost.so tests/module/hostile.py --seconds $(FUZZ_SECONDS)

simulate: all
	@packaging/dependencies check
	@meson setup --reconfigure build >/dev/null && packaging/compile build test-programs
	@tests/property/simulate_slices build $(SIMULATE_STEPS)

# A few files: make lint FILES="src/bloom/bloom.c cli/add.c". Files that passed are not read again until they change.
lint: build/build.ninja
	@packaging/dependencies lint
	@tests/lint build $(FILES)

format:
	@command -v clang-format >/dev/null || { echo "make format needs clang-format"; exit 2; }
	@git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | xargs clang-format -i

clean:
	@rm -rf build build-install build-sanitize build-clang build-thread build-fuzz
