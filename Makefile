# `make help` says what there is. A line of it stands behind each target.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:

PYTHON ?= python3
PREFIX ?= /opt/mpiimport
BUILD := build
VENV := $(BUILD)/venv
# Its Python lays out what is installed.
LAYOUT := $(VENV)
MPI4PY := mpi4py==4.1.2
# Python minors for which an installed prefix brings an mpi4py; those with a t are free-threaded builds.
MINORS := 10 11 12 13 13t 14 14t 15
# Those that everything which the host commands need has a wheel for.
HOST_MINORS := 10 11 12 13 14
WHEELS := $(BUILD)/wheels

# Trees without pycs are compiled at every start, which is not what users have.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH

PACKAGE := $(shell find mpiimport -name '*.py' -o -name '*.yaml' -o -name '*.json' -o -path '*/page/*.*')
GO_SOURCES := $(shell find hooks -name '*.go' -o -name '*.s' -o -name '*.txt' -o -name 'go.*')
HOOKS := $(wildcard hooks/hooks.d/*/*.json)
BINARIES := $(addprefix $(BUILD)/bin/,mpiimport mpiimport-shim mpiimport-entry mpiimport-plan mpiimport-hook mpiimport-keeper python-mpi)

# Snapshots need a C compiler, for a processor that has a file in restorer: without, all else is installed.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
PROCESSOR := restorer/processor_$(MACHINE).h
ifneq ($(wildcard $(PROCESSOR)),)
RESTORER := $(addprefix $(BUILD)/restorer/,mpiimport-restore snapshot-recorder freeze.so variables.so)
endif
RESTORER_FLAGS := -O2 -std=gnu11 -Wall -Wextra -Werror -DPROCESSOR='"$(notdir $(PROCESSOR))"'
RESTORER_HEADERS := $(wildcard restorer/*.h)
STARTER_FLAGS = -Wl,-Ttext-segment=$(shell sed -n 's/^.define OWN_BEGIN \(.*\)UL$$/\1/p' $(PROCESSOR))
# A program without a C library. Neither does it check where it jumps: it stops the checks of addresses meanwhile.
ALONE := -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables -mgeneral-regs-only \
	$(if $(findstring aarch64,$(PROCESSOR)),-mbranch-protection=none,-fcf-protection=none) \
	-fpie -nostdlib -static -no-pie -Wl,-z,noexecstack,-z,norelro,--build-id=none
# A library that takes what the process has of the C library, however old: linked with none, it asks for no versions.
LOADED := -fPIC -shared -nostdlib
STARTER := $(addprefix restorer/,start.c command.c fresh.c process.c image.c key.c launch_validation.c sent.c tables.c replace.c machine.c regular.c text.c)

.PHONY: help check demo docs provision test test-mpi test-snapshots test-full test-aarch64 bench lint install uninstall tarball packages wheel go-test cross restorer plugin spank clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | column -t -s @

check: $(BUILD)/lint-venv/ready $(BINARIES) $(RESTORER) ## what needs no root, no containers and, once set up, no network: in about a minute
	@began=$$SECONDS; $(MAKE) --no-print-directory lint go-test cross; $(BUILD)/lint-venv/bin/python -m pytest -q tests/unit; \
	echo "make check: all is well, in $$((SECONDS - began)) s"

demo: ## the main job on four nodes of a simulated cluster, plainly and served (8 minutes, then 1)
	@$(MAKE) --no-print-directory -j2 LAYOUT=$(BUILD)/demo-venv $(BUILD)/demo-venv/ready $(BUILD)/prefix/ready
	@$(BUILD)/demo-venv/bin/python -m benchmarks.demonstrations.demo --prefix $(BUILD)/prefix --picture $(BUILD)/demo.png

test: $(VENV)/ready $(BINARIES) ## all tests but those that take long (half an hour)
	@$(MAKE) --no-print-directory -j4 $(BEFORE_TESTS)
	lab/tools.sh
	tests/run.sh $(VENV)/bin/python -m "not full" $(PYTEST)

# Files of tests/$(1), chosen by the processor time that they take: five minutes for each target, on all cores together.
PART = lab/tools.sh && $(VENV)/bin/python -m pytest -q -m "not full" $(patsubst %,tests/$(1)/test_%.py,$(2)) $(PYTEST)
test-mpi: $(VENV)/ready $(BUILD)/prefix/ready ## a part of the rank path's tests: jobs served, plain, failing; no root, no containers (8 minutes)
	@$(call PART,mpi,broadcast damaged_store divergent_imports freshness late_imports learned_manifests \
	    mpi_ownership one_copy_per_node other_ranks_leave_the_tree_alone programs rank_path_is_thin steps_aside uncaught_exceptions)

test-snapshots: $(VENV)/ready $(BUILD)/prefix/ready ## a part of the tests of snapshots: made, started from, refused, after edits; no containers (8 minutes)
	@$(call PART,snapshots,damaged_images prepare ranks same_outcome start_faster_page starts_from_a_library the_key two_cuts_start)

test-full: $(VENV)/ready $(BINARIES) ## all tests (hours)
	@$(MAKE) --no-print-directory -j4 $(BEFORE_TESTS)
	lab/tools.sh
	tests/run.sh $(VENV)/bin/python $(PYTEST)

# Debian for it, its kernels and qemu come from lab/provision. The tarball is as `make tarball` makes it there, for Debian's Python alone.
test-aarch64: $(VENV)/ready ## what counts most on aarch64, by qemu, with pages of 4 and 64 KiB (15 minutes; root on Debian)
	@lab/tools.sh
	GOARCH=arm64 PIP_PLATFORM="$$(cat lab/provision/aarch64.platforms)" $(MAKE) --no-print-directory CC=$(ELSEWHERE) \
	    BUILD=$(BUILD)/aarch64 LAYOUT=$(VENV) MINORS=11 HOST_MINORS=11 tarball
	tests/aarch64/run.sh $(BUILD)/aarch64/dist/*.tar.gz $(BUILD)/aarch64/machines $(PYTEST)

# Made at the same time, for some wait for the network, and some keep one core busy. What may install Debian's packages
# without provision's lock, venv.sh and go.sh, has run before.
BEFORE_TESTS := $(BUILD)/prefix/ready $(BUILD)/dist/ready $(BUILD)/dist/tarball go-test provision
provision:
	lab/provision/everyday.sh $(VENV)/bin/python $(CURDIR)/$(BUILD)/prefix

# Each benchmark is done once: `make bench` goes on where it was interrupted, and begins anew when the directory of its
# marks, build/bench or build/bench-quick, is gone. One that this machine cannot run says so and ends with status 3.
BENCHMARKS := lab_scale lab_images lab_broadcast never_slower import_cpu binding container_start one_container_per_node \
	workflow_tasks lab_session lab_own_code cached_jobs farm_under_kills warm_starts
ifdef QUICK
MARKS := $(BUILD)/bench-quick
RESULTS := $(MARKS)
PAGE := --results $(RESULTS) --page $(MARKS)/benchmarks.md
lab_scale := --workloads scipy --sizes 2x1 2x2 4x2 --ways plain first later tar squashfs
lab_images := --sizes 2x2
lab_broadcast := --nodes 2 --repeats 1
never_slower := --ranks 1 2 --rounds 3
import_cpu := --workloads scipy --rounds 3
lab_session := --sizes 2x2 --jobs 3 --others 1
lab_own_code := --sizes 2x2 --programs package
cached_jobs := --ranks 1 2 --rounds 3
farm_under_kills := --tasks 60
warm_starts := --ranks 1 4 --rounds 1
binding := --rounds 3
container_start := --rounds 3
one_container_per_node := --ranks 4 --rounds 1
workflow_tasks := --managers xargs --tasks 4 --rounds 2 --ranks 1
else
MARKS := $(BUILD)/bench
RESULTS := benchmarks/results
lab_scale := --resume
workflow_tasks := --resume
endif

# One after another, whatever -j says. In make before 4.4 .NOTPARALLEL would have all other targets wait, too.
bench: ## all benchmarks, and the page that shows them; QUICK=1: a small part (hours; minutes)
	@$(MAKE) --no-print-directory -j1 $(BENCHMARKS:%=$(MARKS)/%.done)
	$(BUILD)/bench-venv/bin/python -m benchmarks.page.write $(PAGE)

$(MARKS)/%.done: benchmarks/programs/%.py | $(BUILD)/bench-venv/ready $(BUILD)/prefix/ready
	mkdir -p $(MARKS)
	$(BUILD)/bench-venv/bin/python -m benchmarks.programs.$* --prefix $(BUILD)/prefix --output $(RESULTS)/$*.json $($*) || [ $$? = 3 ]
	touch $@

lint: $(BUILD)/lint-venv/ready ## ruff, mypy, shellcheck, actionlint, gofmt, go vet, staticcheck, the length of sentences
	$(BUILD)/lint-venv/bin/ruff check
	$(BUILD)/lint-venv/bin/ruff format --check
	$(BUILD)/lint-venv/bin/mypy
	$(BUILD)/lint-venv/bin/python tests/sentences.py
	$(BUILD)/lint-venv/bin/shellcheck .ci/run $$(git ls-files '*.sh')
	go=$$(hooks/go.sh); for module in hooks plugin; do (cd $$module; test -z "$$(gofmt -l . | tee /dev/stderr)"; \
	"$$go" vet ./...; "$$go" run honnef.co/go/tools/cmd/staticcheck@v0.6.1 ./...); done; \
	"$$go" run github.com/rhysd/actionlint/cmd/actionlint@v1.7.7 .github/workflows/*.yml

# A page that no entrance lists, a link or an anchor that leads nowhere: each is a warning, and so an error.
docs: $(BUILD)/docs-venv/ready ## the documentation as a site with a search, in build/site
	rm -rf $(BUILD)/site
	$(BUILD)/docs-venv/bin/python -m sphinx --quiet --fail-on-warning --keep-going -c docs/site . $(BUILD)/site
	@echo "open $(BUILD)/site/docs/README.html"

go-test: ## the tests in Go
	go=$$(hooks/go.sh); for module in hooks plugin; do (cd $$module; "$$go" test ./...); done

# Where there is no compiler for it, as lab/tools.sh installs, C is passed over, and a line says so.
ELSEWHERE := aarch64-linux-gnu-gcc
cross: ## Go and C are right for aarch64, too
	go=$$(hooks/go.sh); for module in hooks plugin; do (cd $$module; GOARCH=arm64 CGO_ENABLED=0 "$$go" vet ./...); done
	if command -v $(ELSEWHERE) >/dev/null; then $(MAKE) --no-print-directory CC=$(ELSEWHERE) BUILD=$(BUILD)/aarch64 restorer; \
	else echo "make cross: $(ELSEWHERE) is not installed: C is not compiled for aarch64"; fi

restorer: $(RESTORER)

# The plugin for one build of Apptainer or SingularityCE: see docs/plugin.md.
plugin: ## the plugin: APPTAINER=PROGRAM APPTAINER_SOURCE=DIR PREFIX=DIR
	PATH=$$(dirname "$$(hooks/go.sh)"):$$PATH plugin/build.sh "$(APPTAINER)" "$(APPTAINER_SOURCE)" "$(PREFIX)" $(BUILD)/plugin.sif

# For one release of Slurm: see docs/slurm.md.
spank: ## Slurm's plugin, build/mpiimport-spank.so: PREFIX=DIR, CPPFLAGS=-I/opt/slurm/include
	mkdir -p $(BUILD)
	$(CC) -O2 -std=gnu11 -Wall -Wextra -Werror $(CPPFLAGS) -fPIC -shared -DPREFIX='"$(PREFIX)"' -o $(BUILD)/mpiimport-spank.so spank/mpiimport.c

install: $(BINARIES) $(RESTORER) $(WHEELS)/.here.fetched ## one relocatable directory: PREFIX=DIR
	PARTS=$(BUILD) PYTHON=$(LAYOUT)/bin/python ./install.sh "$(PREFIX)"

uninstall: ## take it away: PREFIX=DIR
	./install.sh --uninstall "$(PREFIX)"

tarball: $(BUILD)/dist/tarball ## what a site installs without network, in build/dist
	@ls $(BUILD)/dist/*.tar.gz

packages: $(BUILD)/dist/tarball ## a .deb and a .rpm in build/dist
	packaging/packages.sh $(BUILD)/dist/*.tar.gz $(BUILD)/dist

wheel: $(BUILD)/dist/ready ## a wheel in build/dist
	@ls $(BUILD)/dist/*.whl

$(BINARIES) &: $(GO_SOURCES) mpiimport/__init__.py
	mkdir -p $(BUILD)/bin
	out=$$PWD/$(BUILD)/bin; version=$$(sed -n 's/^__version__ = "\(.*\)"$$/\1/p' mpiimport/__init__.py); cd hooks; go=$$(./go.sh); \
	flags="-s -w -X mpiimport.org/hooks/internal/leaves/version.number=$$version"; \
	if [ -e internal/leaves/ignored/start_$$("$$go" env GOARCH).s ]; then flags+=' -E mpiimport.org/hooks/internal/leaves/ignored.start'; fi; \
	CGO_ENABLED=0 "$$go" build -trimpath -ldflags="$$flags" -o "$$out" ./cmd/...

$(BUILD)/restorer/mpiimport-restore: $(STARTER) $(RESTORER_HEADERS)
	mkdir -p $(@D)
	$(CC) $(RESTORER_FLAGS) $(ALONE) $(STARTER_FLAGS) -o $@ $(STARTER) -lgcc

RECORDER := $(addprefix restorer/,recorder.c filter.c log.c text.c)
$(BUILD)/restorer/snapshot-recorder: $(RECORDER) $(RESTORER_HEADERS)
	mkdir -p $(@D)
	$(CC) $(RESTORER_FLAGS) $(ALONE) -o $@ $(RECORDER)

$(BUILD)/restorer/freeze.so: restorer/freeze.c restorer/machine.c $(RESTORER_HEADERS)
	mkdir -p $(@D)
	$(CC) $(RESTORER_FLAGS) $(LOADED) -fvisibility=hidden -o $@ restorer/freeze.c restorer/machine.c

# Before glibc 2.34 dlsym(3) is in a library of its own, which a program need not have. It is named by an empty one.
$(BUILD)/restorer/variables.so: restorer/variables.c
	mkdir -p $(@D)
	$(CC) $(LOADED) -Wl,-soname,libdl.so.2 -o $(@D)/libdl.so -x c /dev/null
	$(CC) $(RESTORER_FLAGS) $(LOADED) -Wl,--no-as-needed -o $@ $^ $(@D)/libdl.so
	rm $(@D)/libdl.so

$(BUILD)/prefix/ready: $(BINARIES) $(RESTORER) $(PACKAGE) $(HOOKS) install.sh $(WHEELS)/.here.fetched
	rm -f $@
	PARTS=$(BUILD) PYTHON=$(LAYOUT)/bin/python ./install.sh $(BUILD)/prefix
	touch $@

# What this machine's Pythons need, and what any machine's need.
$(WHEELS)/.here.fetched: pyproject.toml wheels.sh Makefile $(LAYOUT)/ready
	./wheels.sh $(LAYOUT)/bin/python $(WHEELS) "$(MPI4PY)" "$(MINORS)" "$$(for python in $(LAYOUT)/bin/python /usr/bin/python3; do \
	    "$$python" -c 'import sys; print(sys.version_info[1])' || true; done | sort -u | xargs)"
	touch $@

$(WHEELS)/.all.fetched: $(WHEELS)/.here.fetched
	./wheels.sh $(LAYOUT)/bin/python $(WHEELS) "$(MPI4PY)" "$(MINORS)" "$(HOST_MINORS)"
	touch $@

$(BUILD)/dist/tarball: $(BINARIES) $(RESTORER) $(PACKAGE) $(HOOKS) install.sh tarball.sh $(wildcard docs/*.md docs/*/*.md) README.md CHANGELOG.md $(WHEELS)/.all.fetched
	rm -f $(BUILD)/dist/*.tar.gz
	MACHINE=$(MACHINE) ./tarball.sh $(BUILD) $(BUILD)/dist
	touch $@

$(BUILD)/dist/ready: $(BINARIES) $(RESTORER) $(PACKAGE) install.sh hatch_build.py pyproject.toml README.md $(VENV)/ready
	rm -rf $(BUILD)/wheel $(BUILD)/dist/*.whl
	PARTS=$(BUILD) PYTHON=$(VENV)/bin/python PATH="$$PWD/$(VENV)/bin:$$PATH" ./install.sh --wheel $(BUILD)/wheel/mpiimport.prefix
	echo mpiimport.prefix/lib > $(BUILD)/wheel/mpiimport.pth
	$(VENV)/bin/python -m pip wheel --quiet --no-deps --wheel-dir $(BUILD)/dist .
	touch $@

$(VENV)/ready: pyproject.toml
	./venv.sh "$(PYTHON)" $(VENV) --group test $(MPI4PY)
	touch $@

$(BUILD)/lint-venv/ready: pyproject.toml
	./venv.sh "$(PYTHON)" $(BUILD)/lint-venv --group lint --group test
	touch $@

$(BUILD)/docs-venv/ready: pyproject.toml
	./venv.sh "$(PYTHON)" $(BUILD)/docs-venv --group docs
	touch $@

$(BUILD)/bench-venv/ready: pyproject.toml
	./venv.sh "$(PYTHON)" $(BUILD)/bench-venv $(MPI4PY) numpy==2.4.6 scipy==1.17.1 matplotlib shiv
	touch $@

$(BUILD)/demo-venv/ready: pyproject.toml
	./venv.sh "$(PYTHON)" $(BUILD)/demo-venv $(MPI4PY) mpich==5.0.2 numpy==2.4.6 scipy==1.17.1 matplotlib rich
	touch $@

clean: ## remove the directory build
	rm -rf $(BUILD)
