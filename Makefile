# make demo    install missing packages, build, run the particle simulation and print its results
# make test    the whole test suite, with both MPIs
# make fuzz [FUZZ_SECONDS=60] [FUZZ_TARGETS=...]   every fuzzer for FUZZ_SECONDS, JOBS at a time; fuzz-corpus: adopt the inputs they found
# make soak [SOAK_CASES=100000] [DATASETS=5000] [CAMPAIGN="--hours 3"] [KILL_ROUNDS=1000] [COMMIT_KILLS=300]   random MPI-IO cases
#             compared with their model, equally many of shared files on simulated hosts,
#             random datasets of HDF5 and PnetCDF, mpi4py's own file tests, the close of 256 TiB, the fault campaign over every
#             interface, then MPI programs killed at random times
# make mpi-test [MPI_TEST_OPTIONS=...]   build and test with every available MPI, those of the Python package index, and Clang
# make sanitize   the suite with ASan and UBSan, then with TSan; make asan, make tsan: one of them; make leaks: tools and programs with valgrind
# make docs-test   the examples and commands of the documents, exactly as printed, with an installation
# make cluster-test [CLUSTER="--fs gluster --case 'modes/*'"]   on three hosts made of namespaces, over several file systems; root only
# make deb       Debian packages, built in a clean root, in dist/deb; make deb-test: installs and tests them in other roots; root only
# make tarball   a relocatable archive in dist/, and a test of it
# make recipes-test   runs the recipes of Spack, EasyBuild and conda, and tests the tools flavour that they install
# make capture-test   LAMMPS, OpenFOAM, Quantum ESPRESSO, GROMACS and other programs of Debian with captured and with plain files (docs/capture.md)
# make without-streams-test   builds and tests an installation with SHEAF_STREAMS=OFF
# make slurm-test   the Slurm commands of docs/adopting.md, on a Slurm of this machine; root only
# make release-test [RELEASE_PARTS="deb deb-test"]   before a release: packages, archive, recipes, Slurm, arm64 and s390x under
#             emulation, every MPI; takes two to three hours on two cores
# make test-torch   PyTorch checkpoints; installs PyTorch in build-torch; make bench-torch   their speed compared with FileSystemWriter
# make wheel   in dist/: wheels of the Python package and its source package; make python-test   its tests with packages from PyPI
# make figures [QUICK=1] [FIGURES="sc09-3 jugene"]   the figures and tables of the papers, on this machine and on modelled machines; in figures/
# make tidy [TIDY="cli comm"] [TIDY="--changed main"]   clang-tidy over src/, some of its folders, or the changed ones
# make build | install PREFIX=... | benches (builds them) | bench (runs them) | format | clean
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
MPIS ?= mpicc.openmpi;mpicc.mpich
FUZZ_SECONDS ?= 60
SOAK_CASES ?= 100000
DATASETS ?= 5000
KILL_ROUNDS ?= 1000
COMMIT_KILLS ?= 300
FIGURES ?= all
# Debug assertions (docs/building.md): on for tests, off in what is installed or measured.
DEBUG_ASSERTIONS ?= ON
FINAL_BUILD = $(MAKE) --no-print-directory build DEBUG_ASSERTIONS=OFF

.PHONY: mpi-test soak deps configure build test demo bench sanitize leaks fuzz fuzz-corpus install format clean

# Builds the programs of the demo, with the first MPI found. A build directory that is configured with tests keeps them. `demo` and
# `test` can share a build directory in any order; each reuses the other's results.
demo:
	@scripts/install-deps.sh demo
	@scripts/configure.sh $(BUILD) $(if $(wildcard $(BUILD)/CMakeCache.txt),,-DCMAKE_INSTALL_PREFIX=$(PREFIX))
	@cmake --build $(BUILD) -j $(JOBS) --target demo
	@examples/particles/demo.sh $(BUILD)

test: build
	@cd $(BUILD) && PATH=$$PWD/mpi:$$PATH ctest --output-on-failure -j $(shell expr $(JOBS) + 4)

deps:
	@scripts/install-deps.sh

# Also reconfigures an existing build directory, to find packages installed since then.
configure: deps
	@scripts/configure.sh $(BUILD) -DSHEAF_TESTS=ON -DSHEAF_DEBUG_ASSERTIONS=$(DEBUG_ASSERTIONS) $(if $(shell grep -s SHEAF_TESTS:BOOL=ON $(BUILD)/CMakeCache.txt),,-DCMAKE_INSTALL_PREFIX=$(PREFIX) "-DSHEAF_MPIS=$(MPIS)")

build: configure
	@cmake --build $(BUILD) -j $(JOBS)

.PHONY: benches
benches:
	@$(FINAL_BUILD)
	@cmake --build $(BUILD) -j $(JOBS) --target benches

bench: benches
	@bench/run.sh $(BUILD)

sanitize:
	@$(MAKE) --no-print-directory asan
	@$(MAKE) --no-print-directory tsan

.PHONY: asan tsan
asan tsan: deps
	@cmake --preset $@ "-DSHEAF_MPIS=$(MPIS)" >/dev/null
	@cmake --build --preset $@ -j $(JOBS)
	@JOBS=$(JOBS) scripts/sanitize.sh build-$@

# The examples and commands of the documents, exactly as printed, with an installation.
.PHONY: docs-test
docs-test: build
	@cd $(BUILD) && PATH=$$PWD/mpi:$$PATH ctest --output-on-failure -R '^test_(docs|readme|first_hour)$$'

leaks: build
	@scripts/leaks.sh $(BUILD)

fuzz: deps
	@JOBS=$(JOBS) scripts/fuzz.sh $(FUZZ_SECONDS) $(FUZZ_TARGETS)

fuzz-corpus:
	@scripts/fuzz-corpus.sh $(FUZZ_TARGETS)

soak: build
	@SHEAF_BIN=$(BUILD)/bin SHEAF_CASES=$(SOAK_CASES) python3 -B tests/mpiio/test_differential.py
	@SHEAF_BIN=$(BUILD)/bin SHEAF_DATASETS=$(DATASETS) python3 -B tests/mpiio/test_datasets.py
	@SHEAF_BIN=$(BUILD)/bin python3 -B tests/mpiio/mpi4py_suite.py
	@SHEAF_HOSTS_CASES=$(SOAK_CASES) $(BUILD)/bin/test_mpiio --gtest_brief=1 --gtest_filter='HostsModel.*'
	@cd $(BUILD) && PATH=$$PWD/mpi:$$PATH ctest -C soak -R '^soak_' --output-on-failure
	@SHEAF_FLIP_STEP=1 $(BUILD)/bin/test_fuzz --gtest_brief=1 --gtest_filter='Flips.*'
	@SHEAF_COMMIT_READERS_RUNS=200 SHEAF_MODEL_RUNS=10000 SHEAF_RANKS_RUNS=400 SHEAF_KEYVAL_RUNS=2000 \
		$(BUILD)/bin/test_multifile --gtest_brief=1 --gtest_filter='CommitReaders.*:Model.*:SimulatedRanks.*:KeyvalRecords.*'
	@SHEAF_BIN=$(CURDIR)/$(BUILD)/bin SHEAF_MANY_FILES=5000 python3 -B tests/cli/test_many_files.py
	@SHEAF_CLOSE_GIB=16 $(BUILD)/bin/test_scale --gtest_brief=1 --gtest_filter='CloseMemory.*'
	@SHEAF_FAULT_STEP=1 $(BUILD)/bin/test_multifile --gtest_brief=1 --gtest_filter='CollectiveFaults.*'
	@SHEAF_ACCEPTED_RUNS=10000 $(BUILD)/bin/test_multifile --gtest_brief=1 --gtest_filter='Accepted.*'
	@SHEAF_BIN=$(CURDIR)/$(BUILD)/bin PATH=$(CURDIR)/$(BUILD)/mpi:$$PATH python3 -B tests/campaign/campaign.py --state $(BUILD)/campaign.json $(CAMPAIGN)
	@SHEAF_BIN=$(CURDIR)/$(BUILD)/bin KILL_ROUNDS=$(KILL_ROUNDS) python3 -B tests/crash/test_kill_loop.py
	@SHEAF_BIN=$(CURDIR)/$(BUILD)/bin COMMIT_KILLS=$(COMMIT_KILLS) python3 -B tests/crash/test_commit_kills.py

mpi-test: deps
	@python3 -B tests/mpis/run.py --jobs $(JOBS) $(MPI_TEST_OPTIONS)

.PHONY: cluster-test
cluster-test: build
	@scripts/install-deps.sh cluster
	@SHEAF_BIN=$(CURDIR)/$(BUILD)/bin python3 -B tests/cluster/cluster_test.py $(CLUSTER)

.PHONY: deb deb-test tarball
deb:
	@scripts/install-deps.sh deb
	@JOBS=$(JOBS) packaging/deb/build.sh build-deb dist/deb

# Tests the packages in dist/deb; builds them if there are none.
deb-test:
	@[ -n "$$(ls dist/deb/*.deb 2>/dev/null)" ] || $(MAKE) --no-print-directory deb
	@scripts/install-deps.sh deb
	@tests/packaging/deb_clean_root.sh build-deb dist/deb

tarball: deps
	@JOBS=$(JOBS) packaging/tarball.sh build-tarball dist

.PHONY: recipes-test foreign-test slurm-test release-test without-streams-test
without-streams-test: deps
	@JOBS=$(JOBS) python3 -B tests/packaging/build_without_streams.py

# The Slurm commands of docs/adopting.md, on a Slurm of this machine; root only.
slurm-test: build
	@scripts/install-deps.sh slurm
	@SHEAF_BIN=$(CURDIR)/$(BUILD)/bin SHEAF_SECONDS=250 SHEAF_FRAMES=adopt-slurm PATH=$(CURDIR)/$(BUILD)/mpi:$$PATH \
	  python3 -B tests/packaging/slurm_cluster.py python3 -B tests/packaging/test_docs.py Documentation.test_blocks

recipes-test: build
	@scripts/install-deps.sh recipes
	@SHEAF_BIN=$(CURDIR)/$(BUILD)/bin JOBS=$(JOBS) python3 -B tests/packaging/build_recipes.py

foreign-test: build
	@code=0; for arch in arm64 s390x; do JOBS=$(JOBS) scripts/foreign.sh $$arch $(BUILD) || code=1; done; exit $$code

# Continues after a failed part, and fails at the end. `deb` builds the packages that `deb-test` tests.
RELEASE_PARTS ?= deb deb-test tarball recipes-test without-streams-test slurm-test foreign-test mpi-test
release-test: build
	@failed=""; for part in $(RELEASE_PARTS); do \
	  $(MAKE) --no-print-directory $$part && echo "release-test: $$part passed" || failed="$$failed $$part"; done; \
	[ -z "$$failed" ] || { echo "release-test: failed:$$failed"; exit 1; }

.PHONY: wheel python-test
wheel:
	@scripts/install-deps.sh
	@scripts/wheel.sh dist

python-test: build
	@SHEAF_BIN=$(CURDIR)/$(BUILD)/bin scripts/python-test.sh

# The experiments of the papers (docs/experiments.md): FIGURES="sc09-3 jugene" selects some of them, QUICK=1 reduces each.
.PHONY: figures
figures:
	@$(FINAL_BUILD)
	@bench/paper.py $(FIGURES) $(if $(QUICK),--quick) --build $(BUILD) --dir $(BUILD)/figures.tmp --out figures $(FIGURES_OPTIONS)

.PHONY: capture-test
# Unmodified programs of Debian, captured.
capture-test: build
	@scripts/install-deps.sh capture
	@SHEAF_BIN=$(CURDIR)/$(BUILD)/bin python3 -B tests/streams/preload/capture_programs.py
	@SHEAF_BIN=$(CURDIR)/$(BUILD)/bin python3 -B tests/streams/preload/capture_simulations.py

.PHONY: test-torch bench-torch
test-torch: build
	@SHEAF_BIN=$(CURDIR)/$(BUILD)/bin scripts/test-torch.sh

bench-torch:
	@$(FINAL_BUILD)
	@python3 -B scripts/torch_env.py build-torch
	@SHEAF_LIBRARY=$(CURDIR)/$(BUILD)/lib build-torch/bin/python -B bench/torch_checkpoints.py

install:
	@$(FINAL_BUILD)
	@cmake --install $(BUILD) --prefix $(PREFIX) >/dev/null && cmake --install $(BUILD) --prefix $(PREFIX) --component figures >/dev/null && echo "installed in $(PREFIX)"

.PHONY: tidy
tidy: configure
	@scripts/tidy.py $(BUILD) --jobs $(JOBS) $(TIDY)

format:
	@git ls-files '*.cpp' '*.hpp' '*.h' '*.c' ':!*frozen*' ':!tests/packaging/snippets' | xargs clang-format-16 -i

clean:
	@rm -rf build build-dev build-openmpi build-mpich build-asan build-tsan build-release build-fuzz build-mpis build-deb build-tarball build-foreign build-recipes build-without-streams build-wheel build-python build-torch build-lizard dist compile_commands.json
