# The commands of this project. All paths are relative, so the tree may stand anywhere.
.DEFAULT_GOAL := help
# The stages of `make test`, each with its time limit. Those of IN_TURN have threads, or look at a clock: one runs after
# the other, because threads that spin waste what they share with others. Those of BESIDE, which only compute or
# wait for a browser, and the builds of the sanitizers get what is left of the CPUs meanwhile, two at a time.
IN_TURN := cpp python machine docs tsan asan
BESIDE := models browser consumers style
STAGES := $(IN_TURN) $(BESIDE)
.PHONY: help docs study tools table schemas screenshots pictures vega wheel hashes deb release install uninstall test test-platforms test-repeat soak bench recipes race honesty build format clean install-packages remove-packages \
	$(STAGES:%=test-%) test-tools in-turn build-default build-tsan build-asan
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
PEERS ?= yes
PREFIX ?= /usr/local
OUTPUT ?= tautochrone-results/loop
# Handed to `tauto study loop`; `make study STUDY=` (nothing) measures the full sweep.
STUDY ?= --quick --emulate-if-possible 1:2,1:4
# How often `make test-repeat` runs each test.
TIMES ?= 50
export PYTHON

loop_marks := $(if $(filter yes,$(PEERS)),loop)
peer_marks := $(if $(filter yes,$(PEERS)),loop peer)

help: ## Show this list
	@echo 'make study    measure parallel loops on this machine, every peer beside ours, and write a report'
	@echo 'make tools    add what no study needs: balance, simulate, and the library for C and NumPy'
	@echo 'make test     build and run every test; ends with `N passed, N failed`'
	@echo 'make test-platforms   the C++ tests for 64-bit ARM (with qemu), with libc++, and with -O3 -march=native'
	@echo 'make test-repeat   run the tests that touch time or processes 50 times (TIMES=50)'
	@echo 'make soak     programs drawn at random, protocols, damaged inputs, faults, kills'
	@echo '              (SECONDS=600 each, EXECUTIONS=1000000 each, KILLS=84 of each command)'
	@echo 'make bench    hold the runtime against its peers (ONLY=B1,B4 for some); writes build/bench.json'
	@echo 'make recipes  well-known programs, tuned for a minute each (ONLY=xz,zstd); writes docs/recipes.md'
	@echo 'make race     loops drawn at random against every peer (SEED= CELLS= EMULATE=4 CPUS= CELL=one again PEERS_FROM=folder)'
	@echo 'make honesty  identical programs: how often tune, study and compare call them different (TUNE= STUDY= COMPARE=)'
	@echo 'make build    build the library, the executables and the C++ tests into build/cpp/default'
	@echo 'make format   format C++ and Python'
	@echo 'make install  install headers, library and tools (PREFIX=/usr/local)'
	@echo 'make uninstall   remove what make install has installed'
	@echo 'make wheel    the package for pip, into build/dist'
	@echo 'make deb      the package for Debian and Ubuntu, into build/dist'
	@echo 'make hashes   new versions of what pip installs, with their checksums, into packaging/hashes.txt'
	@echo 'make release  wheel, sources, .deb and notes of the tag of this version, into build/dist'
	@echo 'make table    after a change of the commands: what their help is made from'
	@echo 'make schemas  write docs/schemas.md, after a change of what is printed as JSON'
	@echo 'make screenshots   draw the first screens of docs/reports.md again'
	@echo 'make pictures   measure and draw the recording in the README again'
	@echo 'make vega     pack the script of the charts again'
	@echo 'make docs     the pages and the reference of the headers as a site, which opens without a server'
	@echo 'make clean    remove build/ (results in tautochrone-results/ stay)'
	@echo 'make install-packages   install every system package of packages.txt that is missing'
	@echo 'make remove-packages   remove the system packages that make has installed from here'
	@echo
	@echo 'study, test and bench install missing system packages first (root or sudo), or name them and stop.'
	@echo 'Settings: PEERS=no (no peer packages)  OUTPUT=FOLDER (of study)  STUDY="options of tauto study loop"'
	@echo '          ONLY=stage,…  SKIP=stage,… (of test: $(STAGES))  PYTHON=python3.12'

study: ## Measure and write the report
	@sh tools/packages.sh build $(loop_marks)
	@sh tools/venv.sh --runners loop
	@build/venv/bin/tauto study loop $(STUDY) --output "$(OUTPUT)"
	@echo
	@echo "The report: $(OUTPUT)/report.html"

tools: ## All tools in build/venv, also those that no study needs
	@sh tools/packages.sh build
	@sh tools/venv.sh

comma := ,
only := $(subst $(comma), ,$(ONLY))
skip := $(subst $(comma), ,$(SKIP))
stages = $(filter-out $(skip),$(or $(only),$(STAGES)))
unknown = $(filter-out $(STAGES),$(only) $(skip))
built_runners = TAUTO_RUNNERS=$(CURDIR)/build/cpp/default/bin
stage = @sh tools/stage.sh $(@:test-%=%)
pytest = build/venv/bin/python -m pytest -q -p no:cacheprovider --durations=5 --junitxml=build/test/$(@:test-%=%).xml
ctest = ctest --output-junit $(CURDIR)/build/test/$(@:test-%=%).xml --preset

test: ## Every test
	$(if $(unknown),$(error no stage $(unknown): stages are $(STAGES)))
	@sh tools/packages.sh build $(peer_marks) test program browser
	@sh tools/venv.sh
	@rm -rf build/test
	@$(MAKE) --keep-going --jobs=2 test-tools $(if $(filter cpp python machine docs browser,$(stages)),build-default) || echo 'Some stages failed.'
	@$(MAKE) --keep-going --jobs=3 in-turn $(beside:%=beside-%) || echo 'Some stages failed.'
	@build/venv/bin/python tools/summary.py $(stages)

test-tools: # an extra of pyproject.toml
	@sh tools/venv.sh test
in_turn = $(patsubst %,test-%,$(filter $(IN_TURN),$(stages)))
in-turn:
	@failed=; for one in $(in_turn); do $(MAKE) $$one || failed=yes; done; test -z "$$failed"
beside = $(patsubst %,build-%,$(filter tsan asan,$(stages))) $(patsubst %,test-%,$(filter $(BESIDE),$(stages)))
# Builds, models and style run only on a CPU that has nothing else to do. The tests of the browser and of consumers have
# limits of time, so they get a little of a busy one, too.
with_limits := test-browser test-consumers
idle := $(shell chrt --idle 0 true 2>/dev/null && echo 'chrt --idle 0')
beside-%:
	@$(if $(filter $*,$(with_limits)),,$(idle)) nice -n 19 $(MAKE) $*
build-default build-tsan build-asan:
	@sh tools/stage.sh $@ 60m sh tools/cmake.sh $(@:build-%=%) -DTAUTO_FEWER_TESTS=ON
test-style:
	$(stage) 20m $(pytest) tests/checks/test_style.py
test-cpp:
	$(stage) 8m $(ctest) default
test-tsan:
	@$(MAKE) build-tsan
	$(stage) 12m $(ctest) tsan
test-asan:
	@$(MAKE) build-asan
	$(stage) 12m $(ctest) asan
test-python:
	$(stage) 20m env $(built_runners) $(pytest) -n $$(nproc) -m 'not machine' tests/python
test-machine:
	$(stage) 20m env $(built_runners) $(pytest) -m machine tests/python
test-docs:
	$(stage) 20m env $(built_runners) $(pytest) tests/docs
test-models:
	$(stage) 20m $(pytest) tests/checks/test_models.py
test-consumers:
	$(stage) 20m $(pytest) tests/consumers
test-browser:
	$(stage) 12m env $(built_runners) $(pytest) tests/browser

test-repeat: ## What touches time or processes, often
	@sh tools/packages.sh build $(peer_marks) test program
	@sh tools/venv.sh test
	@sh tools/cmake.sh default -DTAUTO_FEWER_TESTS=OFF
	ctest --preset default --label-regex timed --repeat until-fail:$(TIMES)
	$(built_runners) build/venv/bin/python -m pytest -q -p no:cacheprovider -m timed --times $(TIMES) tests/python

test-platforms: ## The C++ tests on another processor and another library, and with every instruction of this one
	@sh tools/packages.sh build test platform
	@sh tools/sysroot.sh
	@for preset in native libcxx aarch64; do sh tools/cmake.sh $$preset && ctest --preset $$preset || exit 1; done

soak: ## Programs drawn at random, protocols explored, damaged inputs, faults, kills (SECONDS= EXECUTIONS= KILLS= SEED=; goes on from build/soak)
	@sh tools/packages.sh build test
	@for preset in default tsan asan; do \
	    sh tools/cmake.sh $$preset && echo "$$preset:" && \
	    build/cpp/$$preset/bin/tauto-fuzz --seconds $(or $(SECONDS),600) --seed $(or $(SEED),$$(date +%s)) || exit 1; \
	done
	@bash verify/run.sh
	@build/cpp/default/bin/tauto-explorer --executions $(or $(EXECUTIONS),1000000) --seed $(or $(SEED),$$(date +%s))
	@sh tools/venv.sh test
	$(built_runners) build/venv/bin/python tests/python/fuzzing.py --seconds $(or $(SECONDS),600) --seed $(or $(SEED),$$(date +%s)) --keep build/soak/fuzzing.json
	$(built_runners) build/venv/bin/python tests/python/faults.py --most 0 --kills $(or $(KILLS),84) --seed $(or $(SEED),1) --keep build/soak/faults.json

bench: ## The runtime against its peers
	@sh tools/packages.sh build $(peer_marks)
	@sh tools/venv.sh bench
	@sh tools/cmake.sh default -DTAUTO_BUILD_TESTS=OFF
	@TAUTO_RUNNERS=build/cpp/default/bin build/venv/bin/python benchmarks/run.py $(if $(ONLY),--only "$(ONLY)") --output build/bench.json

recipes: ## Programs of other people, tuned for a minute each, and the table of the results
	@sh tools/packages.sh build
	@sh tools/venv.sh bench
	@TAUTO_ONLY_PACKAGES="$$(build/venv/bin/python -m benchmarks.recipes --packages --only "$(ONLY)")" \
	    sh tools/packages.sh program recipe
	@build/venv/bin/python -m benchmarks.recipes --only "$(ONLY)"

race: ## Loops drawn at random, against every peer's best
	@sh tools/packages.sh build $(peer_marks)
	@sh tools/venv.sh
	@sh tools/cmake.sh default -DTAUTO_BUILD_TESTS=OFF $(if $(PEERS_FROM),-DTAUTO_PEERS_FROM="$(abspath $(PEERS_FROM))")
	@TAUTO_RUNNERS=build/cpp/default/bin build/venv/bin/python benchmarks/race.py $(if $(SEED),--seed "$(SEED)") $(if $(CELLS),--cells "$(CELLS)") $(if $(CELL),--cell "$(CELL)") $(if $(EMULATE),--emulate "$(EMULATE)") $(if $(CPUS),--cpus "$(CPUS)")

honesty: ## Identical programs, and how often they are called different (TUNE= STUDY= COMPARE= trials each; SECONDS=)
	@sh tools/packages.sh build
	@sh tools/venv.sh bench
	@sh tools/cmake.sh default -DTAUTO_BUILD_TESTS=OFF
	@TAUTO_RUNNERS=build/cpp/default/bin build/venv/bin/python benchmarks/honesty.py $(if $(TUNE),--tune "$(TUNE)") $(if $(STUDY),--study "$(STUDY)") $(if $(COMPARE),--compare "$(COMPARE)") $(if $(SECONDS),--seconds "$(SECONDS)")

build: ## Library, executables, C++ tests
	@sh tools/packages.sh build $(peer_marks) test
	@sh tools/cmake.sh default -DTAUTO_FEWER_TESTS=OFF

table: ## Help, completion and manual pages, after a change of the commands
	@sh tools/venv.sh test
	@PYTHONPATH=lab build/venv/bin/python -m tautochrone.cli.table

schemas: ## The page of all forms of JSON, after a change of their types
	@sh tools/venv.sh test
	@PYTHONPATH=lab build/venv/bin/python -m tautochrone.schemas.page

screenshots: ## The pictures of docs/reports.md, after a change of a page; wants chromium
	@sh tools/venv.sh test
	@PYTHONPATH=lab:tests/python:tests/browser TAUTO_RUNNERS=$${TAUTO_RUNNERS:-build/cpp/default/bin} \
	    build/venv/bin/python tools/screenshots.py

pictures: ## The recording in the README, measured anew; wants a quiet machine for a minute
	@sh tools/packages.sh build
	@sh tools/venv.sh test
	@rm -rf build/pictures && mkdir -p build/pictures && cp docs/pictures/small.py build/pictures
	@cd build/pictures && PATH="$(CURDIR)/build/venv/bin:$$PATH" COLUMNS=84 \
	    python ../../tools/recording.py ../../docs/pictures/tune.svg 14 tauto tune --budget 60s -- python3 small.py

docs: ## The site: pages with a search, and the reference of include/tauto
	@sh tools/packages.sh build docs
	@sh tools/venv.sh docs
	@NO_MKDOCS_2_WARNING=1 build/venv/bin/mkdocs build --quiet --strict
	@doxygen tools/Doxyfile
	@echo 'The site: build/docs/site/index.html'

vega: ## The charts' script, packed into the package again (after a new vl-convert)
	@sh tools/venv.sh test
	@build/venv/bin/python tools/vega.py

wheel: ## The package for pip, of any Linux with a C library as new as here
	@sh tools/packages.sh build
	@sh tools/venv.sh
	@sh tools/dist.sh wheel

hashes: ## The checksums of what pip installs, for packaging/hashes.txt
	@sh tools/venv.sh
	@sh tools/dist.sh hashes

deb: ## The package for Debian and Ubuntu
	@sh tools/packages.sh build
	@sh tools/dist.sh deb

release: ## Everything that is given out of the tag of this version: wheel, sources, .deb, notes
	@sh tools/packages.sh build
	@sh tools/venv.sh
	@sh tools/dist.sh release

install: ## Headers, library and tools into PREFIX
	@sh tools/packages.sh build
	@sh tools/dist.sh install "$(PREFIX)"

uninstall: ## Remove what `make install` has put there
	@sh tools/dist.sh uninstall

format: ## clang-format and ruff
	@sh tools/venv.sh test
	@find include runtime bindings kernels options probe launch emulator balance runners simulator command timer tests benchmarks verify \( -name '*.[ch]pp' -o -name tauto.h -o -path '*/consumers/c/*.c' -o -path '*/kernel/*.[ch]' \) -exec clang-format -i {} +
	@build/venv/bin/ruff format .
	@build/venv/bin/ruff check --fix .

clean: ## Remove everything that was built; which packages were installed stays known
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name installed-packages -exec rm -rf {} +

install-packages: ## Every package of packages.txt
	@sh tools/packages.sh build loop peer test program recipe platform browser docs

remove-packages: ## The packages that make has installed
	@sh tools/packages.sh --remove
