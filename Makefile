# A thin front for meson and ninja: make help says what there is. The build itself is in meson.build.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
SEEDS ?= 20000
FIRST ?= 1
SEED ?=
REDIS_SERVER ?=
WITH_SERVER = $(if $(REDIS_SERVER),tools/with-server $(REDIS_SERVER))
INTEROP = $(WITH_SERVER) test/interop/run $(BUILD) $(if $(DOCUMENT),--document $(DOCUMENT)) $(if $(TESTS),--tests $(TESTS))
CHAOS = test/chaos-client test/chaos-relay test/clock_shim.so

all:
	@tools/setup build
	@tools/configure $(BUILD)
	@ninja -C $(BUILD)

help:
	@echo 'make                       build the library and the command into build/'
	@echo 'make test                  every check and every test; the last line is the sum'
	@echo 'make demo                  see it work on this machine'
	@echo 'make dashboard             the dashboard of redlock serve with five nodes of its own and a lively load; ADDRESS= as you like'
	@echo 'make install               install below PREFIX ($(PREFIX)), staged below DESTDIR'
	@echo 'make uninstall             remove what make install put there, with the same PREFIX and DESTDIR'
	@echo 'make dist                  the release archive of the last commit, below build/dist; the same bytes each time'
	@echo 'make docs                  guides, manual pages and the C API as one HTML site with search, below build/docs; links are checked'
	@echo 'make wheel                 the Python package with the library in it, below build/python/wheels'
	@echo 'make lint                  layout of the code, shell scripts, layers, exported symbols'
	@echo 'make sbom                  what the binaries are linked with, as CycloneDX, below build/dist'
	@echo 'make abi-report            how the C interface differs from the previous version; PREVIOUS= a revision as you like'
	@echo 'make deb                   Debian packages of the last commit, below build/deb'
	@echo 'make deb-test              install, upgrade and remove them in a bare Debian 12 and 13; as root'
	@echo 'make image                 an OCI image of the command, made and tried without a daemon, below build/image'
	@echo 'make kubernetes-check      the manifests of contrib/kubernetes against the schemas, which it fetches'
	@echo 'make builds                gcc, clang, -O3, musl, 32 bits, big-endian, cppcheck; ONLY="gcc s390x" for some of them'
	@echo 'make coverage              how many lines of src the tests run, as a table; fails below 90 %'
	@echo 'make format                lay out all C and C++ files by .clang-format'
	@echo 'make bench                 speed as ratios to a bare epoll loop; about six minutes, QUICK=1 two; ONLY=contention,waiting for these tables alone'
	@echo 'make bench-against REV=...  two versions in one table; about seven minutes. AGAINST=--markdown, --turns 3, --only "1 caller"'
	@echo 'make bench-peers           the same, and other lock libraries, each installed below build/peers; PEER=redsync,pottery for these alone'
	@echo 'make model                 prove the models of the algorithm, and see each removed rule caught; a minute'
	@echo 'make fuzz SECONDS=60       run each fuzzer that long'
	@echo 'make sim SEEDS=20000       run so many seeds through the simulator, from FIRST=1 on'
	@echo 'make interop               share locks with 19 kinds of lock of other libraries, and try 8 servers, all of which it fetches;'
	@echo '                           20 minutes; PEER=redsync for one library; DOCUMENT=docs/interop.md renews the tables there'
	@echo 'make interop-servers       only the servers; SERVER=valkey-9.1 for one, and then with all of the integration and cli tests;'
	@echo '                           TESTS=none, selection or all as you like'
	@echo 'make bench-serve           speed of redlock serve, and of the library beside it; half a minute'
	@echo 'make serve-peers           other lock libraries through the RESP port, which it fetches; some minutes'
	@echo 'make dashboard-test        the dashboard in a real Chromium, with axe; fetches a driver, and renews the picture in docs; minutes'
	@echo 'make serve-contract        try the contract of redlock serve with schemathesis, which it fetches; a minute'
	@echo 'make chaos SECONDS=60      break five real servers while processes lock, and judge their history; SEED= as you like; HANDOVERS=100000: until so many who waited had a lock'
	@echo 'make chaos-mixed           the same with clients of the previous version among them; PREVIOUS= a revision as you like'
	@echo 'make chaos-rollback        the same in four parts: clients of the previous version, both, clients of this one, and the previous ones again'
	@echo 'make soak                  the same for a million lock operations, and 100000 seeds of the simulator; 20 minutes'
	@echo 'make ... REDIS_SERVER=path  test, demo, bench, chaos, soak and interop on another server than the installed one'
	@echo 'make clean                 remove build/'

test:
	@tools/setup test
	@$(WITH_SERVER) tools/run-tests $(BUILD)

demo: all
	@tools/setup demo
	@REDLOCK=$(BUILD)/src/redlock $(WITH_SERVER) tools/demo

dashboard: all
	@tools/setup demo
	@tools/dashboard $(BUILD)/src/redlock $(ADDRESS)

install uninstall:
	@tools/setup build
	@tools/install $(if $(filter uninstall,$@),--remove) $(BUILD) '$(PREFIX)' '$(DESTDIR)'

dist:
	@tools/make-dist $(BUILD)/dist

sbom: all
	@mkdir -p $(BUILD)/dist
	@tools/make-sbom $(BUILD) >$(BUILD)/dist/redlock.cdx.json && echo $(BUILD)/dist/redlock.cdx.json

abi-report: all
	@tools/setup builds
	@tools/report-abi $(BUILD) $(PREVIOUS)

docs:
	@tools/setup docs
	@tools/make-docs $(BUILD)/docs

wheel: all
	@tools/setup wheel
	@tools/make-wheel $(BUILD)

deb:
	@tools/setup deb
	@tools/make-deb $(BUILD)/deb

deb-test: deb
	@tools/try-deb $(BUILD)/deb $(BUILD)/roots $(SUITES)

image:
	@tools/setup image
	@tools/try-image $(BUILD)

kubernetes-check:
	@tools/setup peers
	@tools/check-kubernetes $(BUILD)/kubernetes

builds:
	@tools/setup builds
	@tools/try-builds $(BUILD) $(ONLY)

coverage:
	@tools/setup builds
	@tools/measure-coverage $(BUILD)/coverage

lint:
	@tools/setup test
	@tools/configure $(BUILD)
	@ninja -C $(BUILD)
	@meson test -C $(BUILD) --no-rebuild --suite structure --print-errorlogs

format:
	@tools/setup test
	@tools/check-format --fix

bench:
	@tools/setup test
	@tools/configure $(BUILD)/release -Dbuildtype=release
	@ninja -C $(BUILD)/release bench-programs test/clock_shim.so
	@$(WITH_SERVER) bench/run $(BUILD)/release/bench --results $(BUILD)/bench/results.json $(if $(QUICK),--quick) $(if $(ONLY),--only '$(ONLY)') $(PEERS)

# What the library was before src/engine, unless another revision is named.
REV ?= fb26b8f
bench-against:
	@tools/setup test
	@tools/configure $(BUILD)/release -Dbuildtype=release
	@ninja -C $(BUILD)/release bench-programs
	@before=$$(tools/build-previous $(BUILD)/previous $(REV) bench) && \
	    $(WITH_SERVER) bench/against $(BUILD)/release/bench $$before $(AGAINST)

bench-peers:
	@$(MAKE) --no-print-directory bench PEERS='--peers $(BUILD)/peers $(if $(PEER),--peer $(PEER) --only none)'

fuzz:
	@tools/setup test
	@CC=clang tools/configure $(BUILD)/fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
	@ninja -C $(BUILD)/fuzz
	@FUZZ_SECONDS=$(SECONDS) meson test -C $(BUILD)/fuzz --no-rebuild --suite fuzz --print-errorlogs

sim:
	@tools/setup test
	@tools/configure $(BUILD)
	@ninja -C $(BUILD) test/redlock-sim
	@$(BUILD)/test/redlock-sim -n $(SEEDS) -f $(FIRST)

chaos:
	@tools/setup test
	@tools/configure $(BUILD)
	@ninja -C $(BUILD) $(CHAOS)
	@$(WITH_SERVER) test/chaos/run $(BUILD)/test --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(HANDOVERS),--hand-overs $(HANDOVERS))

chaos-mixed chaos-rollback:
	@tools/setup test
	@tools/configure $(BUILD)
	@ninja -C $(BUILD) $(CHAOS)
	@previous=$$(tools/build-previous $(BUILD)/previous $(PREVIOUS)) && \
		$(WITH_SERVER) test/chaos/run $(BUILD)/test --previous $$previous --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) \
		$(if $(filter chaos-rollback,$@),--roll-back --episode-seconds 30)

soak:
	@tools/setup test
	@tools/configure $(BUILD)
	@ninja -C $(BUILD) $(CHAOS) test/redlock-sim
	@$(WITH_SERVER) nice test/chaos/run $(BUILD)/test --seconds 900 --most-seconds 1500 --episode-seconds 30 \
		--operations 1000000 --faults 1000 --simulator-seeds 100000 $(if $(SEED),--seed $(SEED))

model:
	@tools/setup test
	@model/run

interop: all-for-interop
	@$(INTEROP) --peers $(PEER) $(if $(PEER),,--servers)

interop-servers: all-for-interop
	@$(INTEROP) --servers $(SERVER)

all-for-interop:
	@tools/setup test
	@tools/setup peers || echo 'make: libraries that need these are skipped' >&2
	@tools/configure $(BUILD)
	@ninja -C $(BUILD)

bench-serve:
	@tools/setup test
	@tools/configure $(BUILD)/release -Dbuildtype=release
	@ninja -C $(BUILD)/release src/redlock bench/serve-load
	@bench/serve $(BUILD)/release

serve-peers: all
	@tools/setup demo
	@tools/setup wheel
	@REDLOCK=$(abspath $(BUILD))/src/redlock test/serve/peers/run $(BUILD)/peers/serve

serve-contract: all
	@tools/setup demo
	@tools/setup wheel
	@REDLOCK=$(abspath $(BUILD))/src/redlock test/serve/contract $(BUILD)/peers/schemathesis

dashboard-test: all
	@tools/setup dashboard
	@tools/try-dashboard $(abspath $(BUILD))/src/redlock $(BUILD)/dashboard docs/dashboard.png

clean:
	@rm -rf $(BUILD)

.PHONY: all help test demo dashboard dashboard-test install uninstall dist docs wheel sbom abi-report deb deb-test image kubernetes-check builds coverage lint format bench bench-peers fuzz sim chaos chaos-mixed chaos-rollback soak model interop interop-servers serve-contract serve-peers bench-serve all-for-interop bench-against clean
