# The commands of this project. All paths are relative, so the tree may stand anywhere.
.DEFAULT_GOAL := help
.PHONY: help study test bench build format clean packages install-packages
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
PEERS ?= yes
OUTPUT ?= tautochrone-results/loop
# Handed to `tauto study loop`; `make study STUDY=` (nothing) measures the full sweep.
STUDY ?= --quick --emulate-if-possible 1:2,1:4
export PYTHON

peer_marks := $(if $(filter yes,$(PEERS)),peer)

help: ## Show this list
	@echo 'make study    measure parallel loops on this machine, every peer beside ours, and write a report'
	@echo 'make test     build and run every test; ends with `N passed, N failed`'
	@echo 'make bench    hold the runtime against its peers (ONLY=B1,B4 for some); writes build/bench.json'
	@echo 'make build    build the library, the executables and the C++ tests into build/cpp/default'
	@echo 'make format   format C++ and Python'
	@echo 'make clean    remove build/ (results in tautochrone-results/ stay)'
	@echo 'make install-packages   install every system package of packages.txt that is missing'
	@echo
	@echo 'study, test and bench install missing system packages first (root or sudo), or name them and stop.'
	@echo 'Settings: PEERS=no (no peer packages)  OUTPUT=FOLDER (of study)  STUDY="options of tauto study loop"'
	@echo '          ONLY=stage,…  SKIP=stage,… (of test: make test ONLY=help lists the stages)  PYTHON=python3.12'

study: ## Measure and write the report
	@sh tools/packages.sh build $(peer_marks)
	@sh tools/venv.sh
	@build/venv/bin/tauto study loop $(STUDY) --output "$(OUTPUT)"
	@echo
	@echo "The report: $(OUTPUT)/report.html"

test: ## Every test
	@sh tools/packages.sh build $(peer_marks) test program browser
	@sh tools/venv.sh test
	@build/venv/bin/python tools/test.py $(if $(ONLY),--only "$(ONLY)") $(if $(SKIP),--skip "$(SKIP)")

bench: ## The runtime against its peers
	@sh tools/packages.sh build $(peer_marks)
	@sh tools/venv.sh
	@sh tools/cmake.sh default -DTAUTO_BUILD_TESTS=OFF
	@TAUTO_RUNNERS=build/cpp/default/bin build/venv/bin/python benchmarks/run.py $(if $(ONLY),--only "$(ONLY)") --output build/bench.json

build: ## Library, executables, C++ tests
	@sh tools/packages.sh build $(peer_marks) test
	@sh tools/cmake.sh default

format: ## clang-format and ruff
	@sh tools/venv.sh test
	@find include runtime kernels runners simulator command tests benchmarks \( -name '*.cpp' -o -name '*.hpp' \) -exec clang-format -i {} +
	@build/venv/bin/ruff format .
	@build/venv/bin/ruff check --fix .

clean: ## Remove everything that was built
	rm -rf build

install-packages: ## Every package of packages.txt
	@sh tools/packages.sh build peer test program browser
