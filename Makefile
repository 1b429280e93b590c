# One Makefile. SPDX-License-Identifier: BSD-3-Clause. Targets, most used first:
#   make                 libtutti.so, libtutti.a and the command `tutti`, under build/
#   make demo            train on Fashion-MNIST on 4 ranks (installs what is missing)
#   make demo-hosts      the same training on three hosts (network namespaces), without MPI; as root
#   make demo-faults     the same training on 5 ranks, one of which is killed; 4 go on, or 5 again
#   make check           the tests, under 10 minutes (installs what is missing)
#   make check-all       the full product of the covering table and the long proofs
#   make prove           every parameter of every algorithm, with a bar
#   make prove-fuzz TIME=60   the prover beside a second judge, on schedules made at random (docs/reliability.md)
#   make check-dropin    programs that nobody here wrote, without and with the drop-in (docs/dropin.md)
#   make fuzz TIME=600   texts from outside, made up by the fuzzers of fuzz/ (ONLY=profile; docs/reliability.md)
#   make soak TIME=1h    anything at random while ranks are killed, stopped and late (SEED=n; docs/reliability.md)
#   make mutants          one line of the sources changed at a time: does a test notice? (ONLY=WORD SAMPLE=8 SEED=n)
#   make models          hand-overs between ranks, on a machine that keeps no order (docs/reliability.md)
#   make check-asan | check-ubsan | check-tsan | check-arm | coverage | laws
#   make bench-peers     tutti beside Open MPI, MPICH and gloo (an hour; see bench/peers.py)
#   make bench-hosts     tutti beside an MPI's own on several hosts (as root; see bench/hosts.py)
#   make bench-meeting   how long ranks on 2 to 32 hosts take to find each other (as root)
#   make bench-dropin    what the drop-in adds to a call that it hands on, and to one that it serves
#   make bench-faults    500 deaths, 100 over UCX, 200 mismatches, 100 stops: named, and how soon (part of make bars)
#   make bars [ONLY=shm] every bar that tutti has set itself: wanted, measured, holds or not
#   make bench-engine | bench-kernels | bench-wait | bench-many | bench-buckets | bench-exact | bench-price | bench-schedules
#   make sim             hundreds of ranks under SimGrid, beside all that is built in there (docs/simulation.md)
#   make figures         the papers' figures again, from prices, SimGrid and this machine (docs/papers.md)
#   make mpi             the same over MPI, per MPI that is there (MPICC_ompi=mpicc where it is so called)
#   make ucx             libtutti_ucx.so, for ranks on several hosts without MPI (docs/hosts.md)
#   make check-python    all tests of the Python package (installs what is missing; docs/python.md)
#   make torch           the backend "tutti" of PyTorch (docs/torch.md); check-torch[-asan], demo-torch, bench-torch
#   make install | uninstall     PREFIX=/usr/local DESTDIR= PYDIR=
#   make examples | format | clean
# CC, CFLAGS, BUILD, PREFIX, DESTDIR may be set.
MAKEFLAGS += --no-builtin-rules
BUILD   ?= build
PREFIX  ?= /usr/local
CC       = gcc
CXX      = g++
AR       = ar
VERSION := $(shell awk '/define TUTTI_VERSION_(MAJOR|MINOR|PATCH)/{printf s $$3; s="."}' include/tutti.h)
SOMAJOR := $(firstword $(subst ., ,$(VERSION)))

CFLAGS  ?= -O3 -g
WARN     = -Wall -Wextra -Wvla -Wshadow -Wstrict-prototypes -Wmissing-prototypes
ROOMS   := core sched topo kernel algo prove draw price choose wire engine meet api
# -ffp-contract=off: the same bits on every machine (docs: kernel.h)
BASE     = -std=c17 -D_GNU_SOURCE $(WARN) -ffp-contract=off -fno-math-errno -fvisibility=hidden -fPIC -pthread \
           -Iinclude -MMD -MP $(SAN)
TTFLAGS  = $(BASE) $(ROOMS:%=-Isrc/%)
LDLIBS   = -pthread
CMOCKA   = -lcmocka

LIBSRC  := $(foreach r,$(ROOMS),$(sort $(wildcard src/$(r)/*.c)))
LIBOBJ  := $(LIBSRC:%.c=$(BUILD)/%.o)
CLISRC  := $(filter-out cli/meet_mpi.c,$(sort $(wildcard cli/*.c)))
CLIOBJ  := $(CLISRC:%.c=$(BUILD)/%.o) $(BUILD)/cli/style.o

all: $(BUILD)/libtutti.so $(BUILD)/libtutti.a $(BUILD)/tutti

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(TTFLAGS) $(CFLAGS) $(CPPFLAGS) $(PLAIN) -c $< -o $@

# The style of pictures, as strings.
$(BUILD)/cli/style.o: $(BUILD)/cli/style.c
	$(CC) $(BASE) $(CFLAGS) $(CPPFLAGS) -include cli/cli.h -c $< -o $@
$(BUILD)/cli/style.c: cli/style.gp cli/style.css Makefile
	@mkdir -p $(@D)
	for f in gp css; do echo "const char style_$$f[] ="; sed 's/[\\"]/\\&/g; s/.*/  "&\\n"/' cli/style.$$f; echo ';'; done >$@

# Plain C stays plain: what the other sets of kernels are compared with.
$(BUILD)/src/kernel/kernel_c.o: PLAIN = -fno-tree-vectorize -fno-tree-slp-vectorize

# A page as the lines of a string.
$(BUILD)/src/draw/page.inc: src/draw/page.html Makefile
	@mkdir -p $(@D)
	sed 's/\\/&&/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $< > $@
$(BUILD)/src/draw/draw_html.o: PLAIN = -I$(BUILD)/src/draw
$(BUILD)/src/draw/draw_html.o: $(BUILD)/src/draw/page.inc

$(BUILD)/libtutti.a: $(LIBOBJ)
	rm -f $@ && $(AR) rcs $@ $(LIBOBJ)

SHARED  := $(BUILD)/libtutti.so.$(VERSION)
$(SHARED): $(LIBOBJ) src/tutti.map
	$(CC) -shared -Wl,-soname,libtutti.so.$(SOMAJOR) -Wl,--version-script=src/tutti.map -Wl,--no-undefined \
	  $(SAN) $(LDFLAGS) $(LIBOBJ) $(LDLIBS) -o $@
$(BUILD)/libtutti.so: $(SHARED)
	ln -sf libtutti.so.$(VERSION) $(BUILD)/libtutti.so.$(SOMAJOR) && ln -sf libtutti.so.$(VERSION) $@

# The command and the examples see public headers only.
$(BUILD)/cli/%.o $(BUILD)/examples/%.o: TTFLAGS = $(BASE)
$(BUILD)/tutti: $(CLIOBJ) $(BUILD)/libtutti.a
	$(CC) $(SAN) $(LDFLAGS) $(CLIOBJ) $(BUILD)/libtutti.a -lm $(LDLIBS) -o $@

# ---- over MPI: a library per MPI that is there, of mpi/*.c, which sees public headers only ----
MPICC_ompi  = mpicc.openmpi
MPICC_mpich = mpicc.mpich
MPICC_smpi  = smpicc
MPIS    := $(foreach m,ompi mpich,$(if $(shell command -v $(MPICC_$(m))),$(m)))
MPILIBS  = $(MPIS:%=$(BUILD)/libtutti_mpi_%.so) $(MPIS:%=$(BUILD)/libtutti_mpi_%.a)
MPISRC  := $(sort $(wildcard mpi/*.c))
# What stands between unmodified programs and their MPI (LD_PRELOAD); it holds all of tutti.
SHIMSRC := $(sort $(wildcard shim/*.c))
SHIMS    = $(MPIS:%=$(BUILD)/libtutti_pmpi_%.so)
# The command again, whose ranks an MPI starts.
RANKED   = $(MPIS:%=$(BUILD)/tutti-%)
MPICC    = OMPI_CC=$(CC) MPICH_CC=$(CC) $(MPICC_$(1))
# Open MPI's headers use what C17 calls old.
MPIFLAGS = $(BASE) -Impi
MPILINK := $(if $(wildcard /usr/include/hwloc.h),-lhwloc)
mpi: all $(MPILIBS) $(SHIMS) $(RANKED) $(MPIS:%=$(BUILD)/examples/hello_mpi_%)

define MPI_RULES
$(BUILD)/mpi_$(1)/%.o: %.c Makefile
	@mkdir -p $$(@D)
	$(call MPICC,$(1)) $$(MPIFLAGS) -Itests $(CFLAGS) $(CPPFLAGS) -c $$< -o $$@
# MPI_STATUS_IGNORE is a number that gcc takes for a place without room.
$(BUILD)/mpi_$(1)/tests/dropin/%.o: MPIFLAGS += -Wno-stringop-overflow -Wno-stringop-overread
$(BUILD)/libtutti_mpi_$(1).a: $(MPISRC:%.c=$(BUILD)/mpi_$(1)/%.o)
	rm -f $$@ && $(AR) rcs $$@ $$^
$(BUILD)/libtutti_mpi_$(1).so.$(VERSION): $(MPISRC:%.c=$(BUILD)/mpi_$(1)/%.o) $(BUILD)/libtutti.so
	$(call MPICC,$(1)) -shared -Wl,-soname,libtutti_mpi_$(1).so.$(SOMAJOR) -Wl,--version-script=src/tutti.map \
	  -Wl,--no-undefined $(SAN) $(LDFLAGS) $$(filter %.o,$$^) -L$(BUILD) -ltutti $(MPILINK) $(LDLIBS) -o $$@
$(BUILD)/libtutti_mpi_$(1).so: $(BUILD)/libtutti_mpi_$(1).so.$(VERSION)
	ln -sf $$(<F) $(BUILD)/libtutti_mpi_$(1).so.$(SOMAJOR) && ln -sf $$(<F) $$@
$(BUILD)/libtutti_pmpi_$(1).so: $(patsubst %.c,$(BUILD)/mpi_$(1)/%.o,$(SHIMSRC) $(MPISRC)) $(BUILD)/libtutti.a shim/shim.map
	$(call MPICC,$(1)) -shared -Wl,-soname,libtutti_pmpi_$(1).so -Wl,--version-script=shim/shim.map \
	  -Wl,--no-undefined $(SAN) $(LDFLAGS) $$(filter %.o %.a,$$^) $(MPILINK) -ldl $(LDLIBS) -o $$@
$(BUILD)/tutti-$(1): $(filter-out %/meet.o,$(CLIOBJ)) $(BUILD)/mpi_$(1)/cli/meet_mpi.o $(BUILD)/libtutti_mpi_$(1).a $(BUILD)/libtutti.a
	$(call MPICC,$(1)) $(SAN) $(LDFLAGS) $$^ $(MPILINK) -lm $(LDLIBS) -o $$@
$(BUILD)/examples/hello_mpi_$(1): $(BUILD)/mpi_$(1)/examples/hello_mpi.o $(BUILD)/libtutti_mpi_$(1).a $(BUILD)/libtutti.a
	@mkdir -p $$(@D)
	$(call MPICC,$(1)) $(SAN) $(LDFLAGS) $$^ $(MPILINK) $(LDLIBS) -o $$@
endef

# ---- over UCX, which needs no MPI: a library that libtutti loads, of ucx/*.c, which sees public
#      headers only; where UCX is ----
UCXSRC  := $(sort $(wildcard ucx/*.c))
HAS_UCX := $(wildcard /usr/include/ucp/api/ucp.h)
UCXLIB   = $(if $(HAS_UCX),$(BUILD)/libtutti_ucx.so)
$(BUILD)/ucx/%.o: TTFLAGS = $(BASE)
$(BUILD)/libtutti_ucx.so.$(VERSION): $(UCXSRC:%.c=$(BUILD)/%.o)
	$(CC) -shared -Wl,-soname,libtutti_ucx.so.$(SOMAJOR) -Wl,--version-script=src/tutti.map -Wl,--no-undefined \
	  $(SAN) $(LDFLAGS) $^ -lucp -lucs $(LDLIBS) -o $@
$(BUILD)/libtutti_ucx.so: $(BUILD)/libtutti_ucx.so.$(VERSION)
	ln -sf $(<F) $(BUILD)/libtutti_ucx.so.$(SOMAJOR) && ln -sf $(<F) $@
ucx: all $(UCXLIB) $(PMIXLIB)

# ---- ranks that a launcher with PMIx has started: a library that libtutti loads; where PMIx is ----
HAS_PMIX := $(shell pkg-config --exists pmix 2>/dev/null && echo yes)
PMIXLIB   = $(if $(HAS_PMIX),$(BUILD)/libtutti_pmix.so)
$(BUILD)/pmix/%.o: TTFLAGS = $(BASE) $(shell pkg-config --cflags pmix)
$(BUILD)/libtutti_pmix.so.$(VERSION): $(BUILD)/pmix/launcher.o
	$(CC) -shared -Wl,-soname,libtutti_pmix.so.$(SOMAJOR) -Wl,--version-script=src/tutti.map -Wl,--no-undefined \
	  $(SAN) $(LDFLAGS) $^ $(shell pkg-config --libs pmix) $(LDLIBS) -o $@
$(BUILD)/libtutti_pmix.so: $(BUILD)/libtutti_pmix.so.$(VERSION)
	ln -sf $(<F) $(BUILD)/libtutti_pmix.so.$(SOMAJOR) && ln -sf $(<F) $@

# ---- PyTorch's process groups: an extension of Python, of c10d/*.cpp, which see public headers
#      only; where PyTorch's headers are. It is of this Python and this PyTorch. ----
C10DSRC  := $(sort $(wildcard c10d/*.cpp))
HAS_TORCH:= $(wildcard /usr/include/torch/csrc/distributed/c10d/ProcessGroup.hpp)
PYSUFFIX := $(if $(HAS_TORCH),$(shell /usr/bin/python3 -c 'import sysconfig as s; print(s.get_config_var("EXT_SUFFIX"))'))
C10DLIB   = $(if $(HAS_TORCH),$(BUILD)/c10d/_c10d$(PYSUFFIX))
NOTHING   = $(if $(HAS_TORCH),$(BUILD)/bench/nothing.so)
C10DFLAGS = -std=c++17 -O2 -g1 -fPIC -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter -Iinclude -MMD -MP \
            $(shell /usr/bin/python3-config --includes 2>/dev/null)
TORCHLIBS = -ltorch_python -ltorch -ltorch_cpu -lc10
$(BUILD)/c10d/%.o: c10d/%.cpp Makefile
	@mkdir -p $(@D)
	$(CXX) $(C10DFLAGS) -DTORCH_EXTENSION_NAME=_c10d $(SAN) -c $< -o $@
$(BUILD)/c10d/_c10d%: $(C10DSRC:%.cpp=$(BUILD)/%.o) $(BUILD)/libtutti.so
	$(CXX) -shared $(SAN) $(LDFLAGS) $(filter %.o,$^) -L$(BUILD) -ltutti $(TORCHLIBS) -o $@
$(BUILD)/bench/nothing.so: bench/nothing.cpp Makefile
	@mkdir -p $(@D)
	$(CXX) $(C10DFLAGS) -DTORCH_EXTENSION_NAME=nothing -shared $< $(TORCHLIBS) -o $@
torch:
	@tools/deps.sh build torch
	@$(MAKE) $(JOBS) --no-print-directory all with-ucx with-torch
.SECONDARY: $(C10DSRC:%.cpp=$(BUILD)/%.o)
with-torch: $(C10DLIB)
with-ucx: $(UCXLIB) $(PMIXLIB)
-include $(wildcard $(BUILD)/c10d/*.d)

# ---- examples: hello, and fashion, which is all of examples/fashion*.c ----
FASHION := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard examples/fashion*.c)))
$(BUILD)/examples/hello: $(BUILD)/examples/hello.o $(BUILD)/libtutti.a
	$(CC) $(SAN) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(BUILD)/examples/fashion: $(FASHION) $(BUILD)/libtutti.a
	$(CC) $(SAN) $(LDFLAGS) $^ -lopenblas -lz -lm $(LDLIBS) -o $@
examples: $(BUILD)/examples/hello

# In three steps, for the first may install what the second needs.
demo:
	@tools/deps.sh demo
	@$(MAKE) $(JOBS) --no-print-directory all $(BUILD)/examples/fashion
	@BUILD=$(BUILD) examples/demo.sh
demo-hosts:
	@tools/deps.sh demo hosts
	@$(MAKE) $(JOBS) --no-print-directory all ucx $(BUILD)/examples/fashion
	@BUILD=$(BUILD) examples/demo_hosts.sh
demo-torch: torch
	@tools/deps.sh demo
	@BUILD=$(BUILD) PYTHON="$(PYTHON)" examples/demo_torch.sh
demo-faults:
	@tools/deps.sh demo
	@$(MAKE) $(JOBS) --no-print-directory all $(BUILD)/examples/fashion
	@BUILD=$(BUILD) examples/demo_faults.sh

# ---- tests: tests/test_*.c (cmocka), tests/mp_*.c (several ranks), tests/*.sh;
#      any other tests/*.c is linked into all of them ----
TESTSRC := $(sort $(wildcard tests/test_*.c))
MPSRC   := $(sort $(wildcard tests/mp_*.c))
HELPOBJ := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(TESTSRC) $(MPSRC),$(sort $(wildcard tests/*.c))))
TESTBIN := $(TESTSRC:%.c=$(BUILD)/%)
MPBIN   := $(MPSRC:%.c=$(BUILD)/%)
TESTOBJ := $(TESTBIN:%=%.o) $(MPBIN:%=%.o) $(HELPOBJ)
SHTESTS := $(filter-out tests/programs.sh,$(sort $(wildcard tests/*.sh)))
$(TESTOBJ): TTFLAGS += -Itests
.SECONDARY: $(TESTOBJ)
$(BUILD)/tests/test_tune: $(patsubst %,$(BUILD)/cli/%.o,tune_far tune_fit tune_file bounce cli)
$(BUILD)/tests/test_proven: LDFLAGS += -Wl,--wrap=tt_prove
$(BUILD)/tests/test_measure: LDFLAGS += -Wl,--wrap=tt_plan_make
$(BUILD)/tests/test_starved: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(TESTBIN): %: %.o $(HELPOBJ) $(BUILD)/libtutti.a
	$(CC) $(SAN) $(LDFLAGS) $(filter %.o,$^) $(BUILD)/libtutti.a $(CMOCKA) -lm $(LDLIBS) -o $@
$(MPBIN): %: %.o $(HELPOBJ) $(BUILD)/libtutti.a
	$(CC) $(SAN) $(LDFLAGS) $< $(HELPOBJ) $(BUILD)/libtutti.a -lm $(LDLIBS) -o $@

# Texts from outside: what fuzz/fuzz_NAME.c does with each file of fuzz/corpus/NAME; with a
# fuzzer (make fuzz) also with what nobody thought of.
FUZZSRC := $(sort $(wildcard fuzz/fuzz_*.c))
REPLAYS := $(FUZZSRC:fuzz/fuzz_%.c=$(BUILD)/fuzz/replay_%)
FUZZERS := $(FUZZSRC:%.c=$(BUILD)/%)
FUZZMORE = $(BUILD)/fuzz/more.a $(BUILD)/libtutti.a
$(BUILD)/fuzz/more.a: $(BUILD)/tests/simulate.o $(patsubst %,$(BUILD)/cli/trace_%.o,read sum path show draw)
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/fuzz/%.o: TTFLAGS += -Itests -Icli
$(REPLAYS): $(BUILD)/fuzz/replay_%: $(BUILD)/fuzz/fuzz_%.o $(BUILD)/fuzz/replay.o $(FUZZMORE)
	$(CC) $(SAN) $(LDFLAGS) $^ -lm $(LDLIBS) -o $@
$(FUZZERS): %: %.o $(FUZZMORE)
	$(CC) -fsanitize=fuzzer $(SAN) $(LDFLAGS) $^ -lm $(LDLIBS) -o $@
.SECONDARY: $(FUZZERS:%=%.o) $(BUILD)/fuzz/replay.o
# The prover's verdicts on many texts.
VERDICTS = $(BUILD)/fuzz/verdicts
$(VERDICTS): $(BUILD)/fuzz/verdicts.o $(BUILD)/libtutti.a
	$(CC) $(SAN) $(LDFLAGS) $^ -lm $(LDLIBS) -o $@

# The same programs of several ranks, started by an MPI.
OVEROBJ  = $(filter-out %/start.o,$(HELPOBJ))
define OVER_RULES
$(BUILD)/tests/$(1)/mp_%: $(BUILD)/tests/mp_%.o $(OVEROBJ) $(BUILD)/mpi_$(1)/tests/over/start_mpi.o $(BUILD)/libtutti_mpi_$(1).a $(BUILD)/libtutti.a
	@mkdir -p $$(@D)
	$(call MPICC,$(1)) $(SAN) $(LDFLAGS) $$^ $(MPILINK) -lm $(LDLIBS) -o $$@
$(BUILD)/tests/$(1)/mpi_%: $(BUILD)/mpi_$(1)/tests/over/mpi_%.o $(OVEROBJ) $(BUILD)/mpi_$(1)/tests/over/start_mpi.o $(BUILD)/libtutti_mpi_$(1).a $(BUILD)/libtutti.a
	@mkdir -p $$(@D)
	$(call MPICC,$(1)) $(SAN) $(LDFLAGS) $$^ $(MPILINK) -lm $(LDLIBS) -o $$@
# Programs that know MPI only, for the drop-in: C, and Fortran where its compiler is.
$(BUILD)/tests/$(1)/drop_%: $(BUILD)/mpi_$(1)/tests/dropin/drop_%.o $(BUILD)/mpi_$(1)/tests/dropin/drop.o $(BUILD)/mpi_$(1)/tests/dropin/drop_kinds.o
	@mkdir -p $$(@D)
	$(call MPICC,$(1)) $(SAN) $(LDFLAGS) $$(sort $$^) $(LDLIBS) -o $$@
$(DROPFORT:%=$(BUILD)/tests/$(1)/%): $(BUILD)/tests/$(1)/%: tests/dropin/%
	@mkdir -p $$(@D) $(BUILD)/mpi_$(1)/modules
	$(MPIFORT_$(1)) -J $(BUILD)/mpi_$(1)/modules $(FORTFLAGS) $$< -o $$@
endef
# In Fortran it is common to hand one procedure this and that; some mpifort say so themselves.
FORTFLAGS = -O1 -w -fallow-argument-mismatch
DROPSRC := $(patsubst tests/dropin/%.c,%,$(filter-out %/drop_kinds.c,$(sort $(wildcard tests/dropin/drop_*.c))))
DROPFORT:= $(patsubst tests/dropin/%,%,$(sort $(wildcard tests/dropin/drop_*.f tests/dropin/drop_*.f90)))
MPIFORT_ompi  = mpifort.openmpi
MPIFORT_mpich = mpifort.mpich
FORTS   := $(foreach m,$(MPIS),$(if $(shell command -v $(MPIFORT_$(m))),$(m)))
$(foreach m,$(MPIS),$(eval $(call MPI_RULES,$(m)))$(eval $(call OVER_RULES,$(m))))
# ---- simulation: the same library over SimGrid's MPI (sim/) ----
SIM      = $(BUILD)/sim/allreduce
$(eval $(call MPI_RULES,smpi))
# The simulator looks for main in what it loads.
$(BUILD)/mpi_smpi/sim/%.o: MPIFLAGS += -fvisibility=default
$(SIM): $(BUILD)/mpi_smpi/sim/allreduce.o $(BUILD)/libtutti_mpi_smpi.a $(BUILD)/libtutti.a
	@mkdir -p $(@D)
	smpicc -s $(SAN) $(LDFLAGS) $^ $(MPILINK) -lm $(LDLIBS) -o $@ # it is copied for every rank
DROPBIN  = $(foreach m,$(MPIS),$(DROPSRC:%=$(BUILD)/tests/$(m)/%)) $(foreach m,$(FORTS),$(DROPFORT:%=$(BUILD)/tests/$(m)/%))
OVERSRC := $(patsubst tests/over/%.c,%,$(sort $(wildcard tests/over/mpi_*.c)))
OVERBIN := $(foreach m,$(MPIS),$(patsubst %,$(BUILD)/tests/$(m)/%,mp_cover mp_scenes mp_exact mp_large mp_wrong mp_stall mp_hang mp_soak $(OVERSRC)))

# As many jobs as cores, unless make was told a number.
JOBS     = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
programs: all examples $(UCXLIB) $(PMIXLIB) $(C10DLIB) $(MPIS:%=$(BUILD)/examples/hello_mpi_%) $(TESTBIN) $(MPBIN) $(REPLAYS) $(VERDICTS) $(OVERBIN) $(SHIMS) $(RANKED) $(DROPBIN)
RUN      = BUILD=$(BUILD) CC="$(CC)" CXX="$(CXX)" tests/run

check:
	@tools/deps.sh build check
	@$(MAKE) $(JOBS) --no-print-directory programs
	@$(RUN) $(SHTESTS) $(TESTBIN) $(REPLAYS) $(MPBIN)
check-all:
	@TUTTI_TEST_ALL=1 $(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory mutants SAMPLE=8
# Every group, split and number of steps, for every P up to 64 and samples to 4096; and src/choose/forms.def.
prove:
	@tools/deps.sh build check
	@$(MAKE) $(JOBS) --no-print-directory $(BUILD)/tests/test_product
	@TUTTI_PROVE=1 TUTTI_FORMS=$(BUILD)/forms.def TUTTI_STAMP=$$(tools/stamp.sh) $(BUILD)/tests/test_product
	@cmp -s $(BUILD)/forms.def src/choose/forms.def || { cp $(BUILD)/forms.def src/choose/forms.def; echo "prove: src/choose/forms.def is new"; }
# One line changed at a time, in a copy of the tree; each change must fail a test (tools/mutants.tsv).
mutants:
	@tools/deps.sh build check
	@$(PYTHON) tools/mutants.py $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))
# The prover beside a judge that walks through all runs; SEED and COUNT, or TIME in seconds (60).
prove-fuzz:
	@tools/deps.sh build check
	@$(MAKE) $(JOBS) --no-print-directory all $(VERDICTS)
	@$(PYTHON) models/prove_fuzz.py --build $(BUILD) $(if $(TIME),--time $(TIME)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(COUNT),--count $(COUNT)) $(MORE)
laws: all
	@$(RUN) tests/laws.sh

models:
	@tools/deps.sh build models
	@CC="$(CC)" models/check.sh $(ONLY)

# The sanitizers build apart, and the first report ends a program with a failure.
SANFLAGS = CFLAGS="-O1 -g -fno-omit-frame-pointer"
check-asan:
	@tools/deps.sh build check
	@$(MAKE) $(JOBS) --no-print-directory BUILD=build-asan SAN=-fsanitize=address $(SANFLAGS) programs
	@ASAN_OPTIONS=halt_on_error=1:abort_on_error=0:detect_leaks=1 TEST_SECONDS=1200 \
	  BUILD=build-asan tests/run $(filter-out tests/laws.sh tests/install.sh,$(SHTESTS)) \
	  $(TESTBIN:$(BUILD)/%=build-asan/%) $(REPLAYS:$(BUILD)/%=build-asan/%) $(MPBIN:$(BUILD)/%=build-asan/%)
check-ubsan:
	@tools/deps.sh build check
	@$(MAKE) $(JOBS) --no-print-directory BUILD=build-ubsan SAN="-fsanitize=undefined -fno-sanitize-recover=all" $(SANFLAGS) programs
	@UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TEST_SECONDS=1200 \
	  BUILD=build-ubsan tests/run $(filter-out tests/laws.sh tests/install.sh,$(SHTESTS)) \
	  $(TESTBIN:$(BUILD)/%=build-ubsan/%) $(REPLAYS:$(BUILD)/%=build-ubsan/%) $(MPBIN:$(BUILD)/%=build-ubsan/%)
# TIME: seconds for each, two at a time; KEEP=1: what is new and small goes into the corpus.
FUZZFLAGS= BUILD=build-fuzz CC=clang SAN="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all" $(SANFLAGS)
fuzz:
	@tools/deps.sh build fuzz
	@$(MAKE) $(JOBS) --no-print-directory $(FUZZFLAGS) fuzzers
	@TIME=$(TIME) KEEP=$(KEEP) fuzz/run.sh build-fuzz/fuzz $(if $(ONLY),$(ONLY),$(FUZZSRC:fuzz/fuzz_%.c=%))
fuzzers: $(FUZZERS)
# TIME: of it all; SEED and MORE="--job 12" repeat what failed.
SOAKBIN  = $(BUILD)/tests/mp_soak $(BUILD)/tests/mp_grow $(UCXLIB) $(MPIS:%=$(BUILD)/tests/%/mp_soak)
soak:
	@tools/deps.sh build soak
	@$(MAKE) $(JOBS) --no-print-directory all $(SOAKBIN)
	@$(PYTHON) bench/soak.py --build $(BUILD) $(if $(TIME),--time $(TIME)) $(if $(SEED),--seed $(SEED)) $(MORE)
# PyTorch on tutti in full: as many ranks as the table says, and PyTorch's own tests.
check-torch: torch
	@TUTTI_TEST_ALL=1 BUILD=$(BUILD) TEST_SECONDS=10000 tests/run tests/torch.sh
# The backend under the sanitizers, in a Python and a PyTorch without them.
check-torch-asan:
	@tools/deps.sh build torch
	@$(MAKE) $(JOBS) --no-print-directory BUILD=build-torch-asan SAN="-fsanitize=address,undefined -fno-sanitize-recover=all" \
	  $(SANFLAGS) all with-ucx with-torch
	@BUILD=build-torch-asan TEST_SECONDS=1800 tests/run tests/torch.sh
# Programs with threads: what the thread sanitizer can see. It wants addresses
# that are not randomised far.
TSANBIN  = $(patsubst %.c,build-tsan/%,$(shell grep -lE 'comm_from_threads|pthread_create' $(TESTSRC) /dev/null))
check-tsan:
	@tools/deps.sh build check
	@$(MAKE) $(JOBS) --no-print-directory BUILD=build-tsan SAN=-fsanitize=thread $(SANFLAGS) $(TSANBIN)
	@TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 TEST_SECONDS=1800 BUILD=build-tsan \
	  setarch "$$(uname -m)" -R tests/run $(TSANBIN)
# For another processor, under an emulator of it: the kernels, the schedules, and ranks
# that are threads and processes. Linked statically, for there are none of its libraries.
ARMTESTS = $(patsubst %,build-arm/tests/%,test_kernel test_schedule test_shape test_prove test_refused test_threads mp_cover mp_scenes)
ARMMAKE  = BUILD=build-arm CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar LDFLAGS=-static CPPFLAGS=-Itests/arm CMOCKA=
check-arm:
	@tools/deps.sh build arm
	@$(MAKE) $(JOBS) --no-print-directory $(ARMMAKE) build-arm/tutti $(ARMTESTS)
	@TEST_SECONDS=1200 TEST_RANKS="2 4" UNDER=qemu-aarch64 BUILD=build-arm tests/run $(ARMTESTS)
with-mpi: all $(MPILIBS)
# The Python package in full: every type and op, faults, mpi4py, types, how it is installed.
check-python:
	@tools/deps.sh build python
	@$(MAKE) $(JOBS) --no-print-directory with-mpi
	@TUTTI_TEST_ALL=1 BUILD=$(BUILD) tests/run tests/python.sh
# Programs that nobody here wrote, without and with the drop-in; mpi4py's own tests (MPI4PY=FOLDER: its sources).
check-dropin:
	@tools/deps.sh build check
	@tools/deps.sh programs || echo "tutti: going on without; what is not there is skipped"
	@$(MAKE) $(JOBS) --no-print-directory mpi
	@BUILD=$(BUILD) $(if $(MPI4PY),MPI4PY=$(abspath $(MPI4PY))) WHOLE=1 TEST_SECONDS=10000 tests/run tests/programs.sh tests/mpi4py.sh
coverage:
	@tools/deps.sh build check
	@$(MAKE) $(JOBS) --no-print-directory BUILD=build-cov SAN="--coverage -fprofile-update=atomic" CFLAGS="-O0 -g" programs
	@find build-cov -name '*.gcda' -delete
	@TEST_SECONDS=1200 BUILD=build-cov tests/run $(filter-out tests/laws.sh tests/install.sh,$(SHTESTS)) \
	  $(TESTBIN:$(BUILD)/%=build-cov/%) $(REPLAYS:$(BUILD)/%=build-cov/%) $(MPBIN:$(BUILD)/%=build-cov/%); rc=$$?; tools/coverage.sh build-cov; exit $$rc

# ---- benchmarks: bench/*.c, the peers, and scripts that run them in turn ----
# ROUNDS, RANKS, LAST (bytes), OUT (a folder), MORE (options), and for several hosts
# HOSTS (7x1,4x3: hosts x ranks on each) and MPI (openmpi,mpich) may be set.
BENCHBIN = $(patsubst %,$(BUILD)/bench/%,floor_exchange floor_two_shot late meeting buckets overlap kernels price building recording scale exact_sums)
PEERBIN  = $(patsubst %,$(BUILD)/bench/peer_%,openmpi mpich gloo)
HOSTBIN  = $(patsubst %,$(BUILD)/bench/hosts_%,openmpi mpich)
FAULTBIN = $(patsubst %,$(BUILD)/tests/%,mp_soak mp_wrong mp_stall) $(BUILD)/bench/recording
INBIN    = $(patsubst %,$(BUILD)/bench/dropin_%,openmpi mpich)
PEERFLAGS= -O3 -g -Wall -Wextra -Wshadow -ffp-contract=off -fno-math-errno -pthread
PYTHON   = PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3
BENCHARG = --build $(BUILD) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(LAST),--last $(LAST)) $(MORE)
# kernels.c looks at single kernels; the others see what everybody sees.
$(BUILD)/bench/%.o: TTFLAGS = $(BASE)
$(BUILD)/bench/price.o $(BUILD)/bench/building.o $(BUILD)/bench/recording.o $(BUILD)/bench/scale.o: TTFLAGS = $(BASE) $(ROOMS:%=-Isrc/%)
$(BUILD)/bench/kernels.o: TTFLAGS = $(BASE) -Isrc/core -Isrc/kernel
# Those that need tutti alone are built by `make check`: what they call may change.
programs: $(BENCHBIN)
$(BENCHBIN): %: %.o $(BUILD)/libtutti.a
	$(CC) $(SAN) $(LDFLAGS) $^ -lm $(LDLIBS) -o $@
.SECONDARY: $(BENCHBIN:%=%.o)
$(BUILD)/bench/peer_openmpi $(BUILD)/bench/peer_mpich: $(BUILD)/bench/peer_%: bench/peer_mpi.c bench/timing.h Makefile
	@mkdir -p $(@D)
	OMPI_CC=$(CC) MPICH_CC=$(CC) mpicc.$* -std=c17 -D_GNU_SOURCE $(PEERFLAGS) $< -o $@
$(BUILD)/bench/peer_gloo: bench/peer_gloo.cc bench/timing.h Makefile
	@mkdir -p $(@D)
	$(CXX) -std=c++14 $(PEERFLAGS) $< -lgloo -o $@
$(BUILD)/bench/hosts_openmpi $(BUILD)/bench/dropin_openmpi: $(BUILD)/libtutti_mpi_ompi.a
$(BUILD)/bench/hosts_mpich $(BUILD)/bench/dropin_mpich: $(BUILD)/libtutti_mpi_mpich.a
$(HOSTBIN): $(BUILD)/bench/hosts_%: bench/hosts.c
$(INBIN): $(BUILD)/bench/dropin_%: bench/dropin.c
# Beside gloo, where that is.
HAS_GLOO = $(wildcard /usr/include/gloo/allreduce.h)
$(BUILD)/bench/hosts_gloo.o: bench/hosts_gloo.cc bench/hosts_gloo.h Makefile
	@mkdir -p $(@D)
	$(CXX) -std=c++14 $(PEERFLAGS) -c $< -o $@
$(HOSTBIN): bench/hosts_gloo.h $(if $(HAS_GLOO),$(BUILD)/bench/hosts_gloo.o)
$(HOSTBIN): WITH = $(if $(HAS_GLOO),-DWITH_GLOO $(BUILD)/bench/hosts_gloo.o -lgloo -lstdc++)
$(HOSTBIN) $(INBIN): bench/timing.h $(BUILD)/libtutti.a Makefile
	@mkdir -p $(@D)
	OMPI_CC=$(CC) MPICH_CC=$(CC) mpicc.$(lastword $(subst _, ,$@)) -std=c17 -D_GNU_SOURCE $(PEERFLAGS) -Iinclude $(filter %.c,$^) $(WITH) \
	  $(BUILD)/libtutti_mpi_$(subst openmpi,ompi,$(lastword $(subst _, ,$@))).a $(BUILD)/libtutti.a $(MPILINK) -lm $(LDLIBS) -o $@

# What cannot be installed or built is left out, and said.
bench-programs:
	@tools/deps.sh build
	@tools/deps.sh bench || echo "tutti: going on without; what needs them is skipped"
	@$(MAKE) $(JOBS) --no-print-directory all $(UCXLIB) $(BENCHBIN) $(FAULTBIN) $(C10DLIB) $(NOTHING)
	@$(MAKE) $(JOBS) -k --no-print-directory $(PEERBIN) $(HOSTBIN) $(RANKED) $(INBIN) $(SHIMS) || echo "tutti: a peer could not be built; it is skipped"
	@if tools/deps.sh sim; then $(MAKE) $(JOBS) --no-print-directory $(SIM); fi || echo "tutti: no simulator; it is skipped"
bench-peers: bench-programs
	@$(PYTHON) bench/peers.py $(BENCHARG) $(if $(RANKS),--ranks $(RANKS)) $(if $(OUT),--out $(OUT))
bench-hosts: bench-programs
	@$(PYTHON) bench/hosts.py $(BENCHARG) $(if $(HOSTS),--hosts $(HOSTS)) $(if $(MPI),--mpi $(MPI)) $(if $(OUT),--out $(OUT))
bench-meeting: all $(UCXLIB) $(BUILD)/bench/meeting
	@$(PYTHON) bench/meeting.py --build $(BUILD) $(if $(HOSTS),--hosts $(HOSTS)) $(MORE)
bench-dropin: bench-programs
	@$(PYTHON) bench/dropin.py --build $(BUILD) $(if $(ROUNDS),--rounds $(ROUNDS)) $(MORE)
# After tutti tune, and with TUTTI_MEASURE=1: RANKS=2,3,4,7,8 HOSTS=5x1,6x1,7x1 MORE="--launches 3"
bench-choice: bench-programs
	@$(PYTHON) bench/choice.py --build $(BUILD) $(if $(RANKS),--ranks $(RANKS)) $(if $(HOSTS),--hosts $(HOSTS)) $(if $(OUT),--out $(OUT)) $(MORE)
bench-torch: torch
	@tools/deps.sh demo
	@$(MAKE) --no-print-directory with-nothing
	@$(PYTHON) bench/c10d.py --build $(BUILD) $(if $(RANKS),--ranks $(RANKS)) $(if $(OUT),--out $(OUT)) $(MORE)
with-nothing: $(NOTHING)
bench-faults: all $(UCXLIB) $(FAULTBIN)
	@$(PYTHON) bench/bars.py --build $(BUILD) --only faults $(MORE)
bars: bench-programs
	@$(PYTHON) bench/bars.py --build $(BUILD) $(if $(ONLY),--only $(ONLY)) $(MORE)
bench-engine: all $(BENCHBIN)
	@$(PYTHON) bench/engine.py $(BENCHARG)
bench-kernels: $(BUILD)/bench/kernels
	@$(BUILD)/bench/kernels
bench-price: $(BUILD)/bench/price
	@$(BUILD)/bench/price
bench-schedules: $(BUILD)/bench/building
	@$(BUILD)/bench/building
# The tables and plots of docs/scale.md, anew: about ten minutes, and 2 GB of memory.
bench-scale: all $(BUILD)/bench/scale
	@$(PYTHON) bench/scale.py --build $(BUILD) $(if $(ONLY),--only $(ONLY))
bench-wait: all $(BUILD)/bench/late
	@echo "rank 0 comes a second late to an allreduce; processor time (user + system), us"
	@printf '%6s %17s %12s %16s\n' ranks "greatest waiter" "mean waiter" "returned after"
	@for n in 2 4 8 16; do \
	  set -- $$(timeout 60 $(BUILD)/tutti run -n $$n $(BUILD)/bench/late) && [ $$# = 4 ] || exit 1; \
	  printf '%6s %17s %12s %16s\n' "$$@"; done

bench-many: all $(BUILD)/bench/buckets
	@for n in 2 4; do timeout 300 $(BUILD)/tutti run -n $$n $(BUILD)/bench/buckets || exit 1; done

# A step of training: gradients summed at the end, one by one, in buckets; over TCP too.
bench-buckets: all $(UCXLIB) $(BUILD)/bench/overlap
	@for how in "4 0" "1 4"; do for n in 2 4; do \
	  timeout 300 $(BUILD)/tutti run -n $$n $(BUILD)/bench/overlap $$how || exit 1; done; \
	  [ -z "$(UCXLIB)" ] || { echo "on two hosts that are this one, over TCP:"; UCX_TLS=tcp,self TUTTI_NODES=0,1 \
	  timeout 300 $(BUILD)/tutti run --hosts localhost:1,localhost:1 $(BUILD)/bench/overlap $$how; } || exit 1; done

bench-exact: all $(BUILD)/bench/exact_sums
	@for n in 1 2 4; do timeout 300 $(BUILD)/tutti run -n $$n $(BUILD)/bench/exact_sums || exit 1; done

# ONLY=flat,loggp,tree,large MORE=--missing
sim:
	@tools/deps.sh build sim
	@$(MAKE) $(JOBS) --no-print-directory all $(SIM)
	@$(PYTHON) sim/run.py --build $(BUILD) $(if $(ONLY),--only $(ONLY)) $(MORE)
# The papers' figures; MORE=--simulate or --measure makes what is stored anew.
figures:
	@tools/deps.sh build sim
	@$(MAKE) $(JOBS) --no-print-directory all $(SIM)
	@$(PYTHON) sim/figures.py --build $(BUILD) $(if $(OUT),--out $(OUT)) $(MORE)

# ---- install ----
BINDIR  := $(PREFIX)/bin
LIBDIR  := $(PREFIX)/lib
INCDIR  := $(PREFIX)/include
MANDIR  := $(PREFIX)/share/man
COMPDIR := $(PREFIX)/share/bash-completion/completions
MANPAGES:= $(sort $(wildcard docs/man/*.[13]))
HEADERS := $(sort $(wildcard include/*.h))
PYFILES := $(sort $(wildcard python/tutti/*.py python/tutti/py.typed python/tutti/*/*.py))
PYDIR   ?= $(shell $(PYTHON) python/place.py $(PREFIX) 2>/dev/null)
FILL     = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(VERSION)|g' -e 's|@SOMAJOR@|$(SOMAJOR)|g' \
           -e 's|@HWLOC@|$(MPILINK)|g'
PACKAGE  = $(LIBDIR)/pkgconfig/tutti.pc $(LIBDIR)/cmake/tutti/tutti-config.cmake \
           $(LIBDIR)/cmake/tutti/tutti-config-version.cmake
INSTALLED= $(BINDIR)/tutti $(COMPDIR)/tutti $(LIBDIR)/libtutti.a $(LIBDIR)/libtutti.so $(LIBDIR)/libtutti.so.$(SOMAJOR) \
           $(LIBDIR)/libtutti.so.$(VERSION) $(HEADERS:include/%=$(INCDIR)/%) $(PACKAGE) \
           $(foreach m,$(MANPAGES),$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) \
           $(foreach m,ompi mpich,$(LIBDIR)/pkgconfig/tutti-$(m).pc \
             $(BINDIR)/tutti-$(m) $(LIBDIR)/libtutti_pmpi_$(m).so \
             $(addprefix $(LIBDIR)/libtutti_mpi_$(m).,a so so.$(SOMAJOR) so.$(VERSION))) \
           $(foreach l,ucx pmix,$(LIBDIR)/libtutti_$(l).so.$(SOMAJOR) $(LIBDIR)/libtutti_$(l).so.$(VERSION))

install: all $(MPILIBS) $(UCXLIB) $(PMIXLIB) $(C10DLIB) $(SHIMS) $(RANKED)
	install -d $(sort $(dir $(INSTALLED:%=$(DESTDIR)%)))
	install -m 755 $(BUILD)/tutti $(DESTDIR)$(BINDIR)/tutti
	install -m 644 $(BUILD)/libtutti.a $(DESTDIR)$(LIBDIR)/libtutti.a
	install -m 755 $(SHARED) $(DESTDIR)$(LIBDIR)/libtutti.so.$(VERSION)
	ln -sf libtutti.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libtutti.so.$(SOMAJOR)
	ln -sf libtutti.so.$(SOMAJOR) $(DESTDIR)$(LIBDIR)/libtutti.so
	for l in $(if $(UCXLIB),ucx) $(if $(PMIXLIB),pmix); do install -m 755 $(BUILD)/libtutti_$$l.so.$(VERSION) $(DESTDIR)$(LIBDIR) && \
	  ln -sf libtutti_$$l.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libtutti_$$l.so.$(SOMAJOR) || exit 1; done
	install -m 644 $(HEADERS) $(DESTDIR)$(INCDIR)
	install -m 644 cli/complete.bash $(DESTDIR)$(COMPDIR)/tutti
	for f in $(PACKAGE); do $(FILL) tools/$${f##*/}.in > $(DESTDIR)$$f && chmod 644 $(DESTDIR)$$f || exit 1; done
	for m in $(MANPAGES); do install -m 644 $$m $(DESTDIR)$(MANDIR)/man$${m##*.} || exit 1; done
	for m in $(MPIS); do lib=libtutti_mpi_$$m; to=$(DESTDIR)$(LIBDIR); \
	  install -m 644 $(BUILD)/$$lib.a $$to && install -m 755 $(BUILD)/$$lib.so.$(VERSION) $$to && \
	  install -m 755 $(BUILD)/libtutti_pmpi_$$m.so $$to && install -m 755 $(BUILD)/tutti-$$m $(DESTDIR)$(BINDIR) && \
	  ln -sf $$lib.so.$(VERSION) $$to/$$lib.so.$(SOMAJOR) && ln -sf $$lib.so.$(SOMAJOR) $$to/$$lib.so && \
	  $(FILL) -e "s|@MPI@|$$m|g" tools/tutti-mpi.pc.in > $$to/pkgconfig/tutti-$$m.pc && \
	  chmod 644 $$to/pkgconfig/tutti-$$m.pc || exit 1; done
	pydir="$(PYDIR)"; [ "$$pydir" ] || { echo "tutti: no Python; its package is left out"; exit 0; }; \
	  for f in $(PYFILES:python/%=%); do install -D -m 644 python/$$f "$(DESTDIR)$$pydir/$$f" || exit 1; done; \
	  for f in $(C10DLIB); do install -D -m 755 $$f "$(DESTDIR)$$pydir/tutti/torch/$${f##*/}" || exit 1; done
uninstall:
	rm -f $(INSTALLED:%=$(DESTDIR)%)
	pydir="$(PYDIR)"; [ -z "$$pydir" ] || rm -rf "$(DESTDIR)$$pydir/tutti"
	-rmdir $(DESTDIR)$(LIBDIR)/cmake/tutti 2>/dev/null

clean:
	rm -rf $(BUILD) build-asan build-torch-asan build-ubsan build-tsan build-cov build-arm build-fuzz
format:
	clang-format -i $$(git ls-files '*.c' '*.h')

.PHONY: all mpi ucx examples programs check check-dropin check-python with-mpi check-all prove mutants laws check-asan check-ubsan check-tsan check-arm coverage fuzz fuzzers soak models \
        install uninstall clean format demo demo-hosts demo-faults demo-torch torch with-torch with-ucx with-nothing check-torch check-torch-asan bench-torch bench-programs bench-peers bench-hosts bench-dropin bench-choice bench-faults bars bench-engine \
        bench-kernels bench-meeting bench-wait bench-many bench-price bench-schedules bench-scale sim figures
-include $(LIBOBJ:.o=.d) $(CLIOBJ:.o=.d) $(TESTOBJ:.o=.d) $(wildcard $(BUILD)/fuzz/*.d) $(FASHION:.o=.d) $(BUILD)/examples/hello.d $(BENCHBIN:%=%.d) \
         $(wildcard $(BUILD)/ucx/*.d $(BUILD)/pmix/*.d $(BUILD)/mpi_*/*/*.d $(BUILD)/mpi_*/*/*/*.d)
