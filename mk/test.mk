# test.mk - tests, laws, models, proofs, fuzzers, sanitizers. SPDX-License-Identifier: BSD-3-Clause
#   make quick T=word    the tests whose names contain the word; without it, the shortest form of all unit tests, in a minute
#   make check           the short form of the tests, in at most five minutes (installs what is missing)
#   make check-full      all tests, under Debian's MPIs and PyTorch, too; ADDED=1: without those of make check that are the same
#   make check-all       the full product of the covering table, the long proofs, a sample of the mutants
#   make prove           every parameter of every algorithm, with a bar
#   make prove-fuzz TIME=60   the prover beside a second judge, on schedules made at random
#   make check-long      what takes hours, one goal after another (tools/check_long.sh; ONLY=word)
#   make check-many | check-orders    2^32 allreduces, each sum checked; orders of ranks drawn from the clock
#   make mutants         changes one line of the sources at a time: a test must notice (ONLY=WORD SAMPLE=8 SEED=n)
#   make models          checks models of the hand-overs between ranks, with weak memory
#   make check-asan | check-ubsan | check-tsan | check-arm | coverage | laws
#   make check-sanitized    the short form of unit tests and of programs with several ranks, under address and undefined sanitizers
#   make check-dropin    programs of others, without and with the drop-in (docs/dropin.md); PEERS=pip: PyPI's MPIs, too
#   make check-slurm     ranks that srun starts, on a Slurm of two hosts in namespaces (docs/hosts.md)
#   make check-python    all tests of the Python package (docs/python.md)
#   make check-torch | check-torch-asan    all tests of the PyTorch backend (docs/torch.md)
#   make fuzz TIME=600   the parsers, on texts that the fuzzers of fuzz/ make up (ONLY=profile)
#   make stress-tests ROUNDS=100    the tests that depend on time, on a machine that is kept busy (BESIDE=3)
#   make soak TIME=1h    random calls while ranks are killed, stopped and late (SEED=n)
#   make torture TIME=1m    random calls on 2 to 32 ranks, on all wires, engines and contracts (SEED=n)
CMOCKA   = -lcmocka

# ---- tests: unit/test_*.c (cmocka), ranks/mp_*.c (several ranks), sh/*.sh; support/*.c and the
#      other ranks/*.c are linked into all of them. The programs are $(BUILD)/tests/NAME. ----
TESTSRC := $(sort $(wildcard tests/unit/test_*.c))
MPSRC   := $(sort $(wildcard tests/ranks/mp_*.c))
HELPOBJ := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(MPSRC) tests/support/tcp_play.c,$(sort $(wildcard tests/support/*.c tests/ranks/*.c))))
# Without a sanitizer test programs have no debug information of their own (a tenth of the size); TESTLINK= keeps it.
TESTLINK:= $(if $(SAN),,-Wl,-S)
# The tests themselves take half the time to compile so; what they test is compiled as ever.
TESTOPT := -O1 $(if $(TESTLINK),-g0,-g1)
$(BUILD)/tests/%.o: PLAIN = $(TESTOPT)
TESTBIN := $(TESTSRC:tests/unit/%.c=$(BUILD)/tests/%)
MPBIN   := $(MPSRC:tests/ranks/%.c=$(BUILD)/tests/%)
TESTOBJ := $(TESTSRC:%.c=$(BUILD)/%.o) $(MPSRC:%.c=$(BUILD)/%.o) $(HELPOBJ) $(BUILD)/tests/support/tcp_play.o
# Programs of others and MPICH's own tests are in check-dropin, Slurm in check-slurm, races in check-tsan; mpi4py's own tests are
# here, too, if MPI4PY says where its sources are.
SHTESTS := $(filter-out tests/sh/programs.sh tests/sh/mpich_tests.sh tests/sh/slurm.sh tests/sh/races.sh $(if $(PEERS),,tests/sh/peers.sh) $(if $(MPI4PY),,tests/sh/mpi4py.sh),$(sort $(wildcard tests/sh/*.sh)))
# Some of their functions take the place of the C library's in tutti, too (OWNCLOCK).
$(TESTOBJ): mk/test.mk
$(TESTOBJ): TTFLAGS += -Itests/support -Itests/ranks -fvisibility=default
$(BUILD)/tests/unit/test_mpi_abi.o: TTFLAGS += -Impi/abi
.SECONDARY: $(TESTOBJ)
# They share one library, which exports the internal functions, too; when it changes, they need not be linked again. Programs
# that wrap functions (--wrap) of the library, and static ones, hold a copy of it.
TESTSO   = $(BUILD)/tests/libtutti_internal.so
USETESTSO= $(OWNCLOCK) -Wl,-z,now,-rpath,'$$ORIGIN:$$ORIGIN/..:$$ORIGIN/../tests'
WRAPBIN := $(if $(findstring -static,$(LDFLAGS)),$(TESTBIN) $(MPBIN),$(patsubst %,$(BUILD)/tests/%,test_cpu_domains test_proven test_measure test_starved))
$(TESTSO): $(LIBOBJ) tools/unhide.py
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -r $(TESTLINK) $(LIBOBJ) -o $(@:.so=.o) && $(PYTHON) tools/unhide.py $(@:.so=.o) && \
	  $(CC) -shared -Wl,-soname,$(@F) -Wl,-Bsymbolic $(SAN) $(LDFLAGS) $(@:.so=.o) $(LDLIBS) -o $@ && rm $(@:.so=.o)
$(BUILD)/tests/test_cpu_domains: $(patsubst %,$(BUILD)/cli/%.o,cpus near)
$(BUILD)/tests/test_tune: $(patsubst %,$(BUILD)/cli/%.o,tune_far tune_fit tune_file tune_levels bounce cpus cli kept)
$(BUILD)/tests/test_tune_hosts: $(patsubst %,$(BUILD)/cli/%.o,tune_differ tune_file cli kept)
# Of tcp/ and net/kit/: their objects are linked in.
TCPTESTS = $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_tcp*.c))
$(TCPTESTS:%=$(BUILD)/tests/%): $(BUILD)/tests/support/tcp_play.o $(TCPOBJ)
$(BUILD)/tests/test_kit: $(KITOBJ)
$(TCPTESTS:%=$(BUILD)/tests/unit/%.o) $(BUILD)/tests/unit/test_kit.o $(BUILD)/tests/support/tcp_play.o $(BUILD)/fuzz/fuzz_tcp.o: TTFLAGS += -Itcp -Inet/kit
$(BUILD)/tests/test_cpu_domains: LDFLAGS += -Wl,--wrap=sched_getaffinity
$(BUILD)/tests/test_proven: LDFLAGS += -Wl,--wrap=tt_prove
$(BUILD)/tests/test_measure: LDFLAGS += -Wl,--wrap=tt_plan_make
$(BUILD)/tests/test_starved: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
# Of gpu/: the generator of kernels is linked in; the library is loaded, over the simulated driver.
$(BUILD)/tests/test_ptx: $(patsubst %,$(BUILD)/gpu/%.o,ptx ptx_element)
$(addprefix $(BUILD)/tests/test_gpu,_peers _sums _threads) $(BUILD)/tests/test_gpu $(BUILD)/tests/mp_gpu_kill: | $(BUILD)/libtutti_cuda.so $(BUILD)/tests/libcuda_sim.so
$(filter-out $(WRAPBIN),$(TESTBIN) $(MPBIN)): | $(TESTSO)
$(WRAPBIN): $(BUILD)/libtutti.a
$(TESTBIN): $(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(HELPOBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(TESTLINK) $(LDFLAGS) $(filter %.o,$^) $(filter %/libtutti.a $(TESTSO),$^ $|) $(USETESTSO) $(CMOCKA) -lm $(LDLIBS) -o $@
$(MPBIN): $(BUILD)/tests/%: $(BUILD)/tests/ranks/%.o $(HELPOBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(TESTLINK) $(LDFLAGS) $(filter %.o,$^) $(filter %/libtutti.a $(TESTSO),$^ $|) $(USETESTSO) -lm $(LDLIBS) -o $@

# A driver of GPUs without a GPU: its functions are those of gpu/cuda_calls.def.
CUDASIM  = $(BUILD)/tests/libcuda_sim.so
CUDASRC := $(sort $(wildcard tests/gpu/*.c))
$(CUDASRC:%.c=$(BUILD)/%.o): TTFLAGS = $(BASE)
$(CUDASIM): $(CUDASRC:%.c=$(BUILD)/%.o)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,--no-undefined -Wl,-z,nodelete $(SAN) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_cuda*.c)): | $(CUDASIM)

# Texts from outside: what fuzz/fuzz_NAME.c does with each file of fuzz/corpus/NAME.tar; with a
# fuzzer (make fuzz) also with texts that it makes up.
FUZZSRC := $(sort $(wildcard fuzz/fuzz_*.c))
REPLAYS := $(FUZZSRC:fuzz/fuzz_%.c=$(BUILD)/fuzz/replay_%)
FUZZERS := $(FUZZSRC:%.c=$(BUILD)/%)
FUZZMORE = $(BUILD)/fuzz/more.a
$(BUILD)/fuzz/more.a: $(BUILD)/tests/support/simulate.o $(patsubst %,$(BUILD)/cli/trace_%.o,read sum path first show draw) $(BUILD)/cli/kept.o $(TCPOBJ)
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/fuzz/%.o: TTFLAGS += -Itests/support -Icli
$(BUILD)/fuzz/corpus/%.unpacked: fuzz/corpus/%.tar
	$(Q)rm -rf $(BUILD)/fuzz/corpus/$* && mkdir -p $(BUILD)/fuzz/corpus/$* && tar -xf $< -C $(BUILD)/fuzz/corpus/$* && touch $@
$(REPLAYS): $(BUILD)/fuzz/replay_%: $(BUILD)/fuzz/fuzz_%.o $(BUILD)/fuzz/replay.o $(FUZZMORE) | $(TESTSO) $(BUILD)/fuzz/corpus/%.unpacked
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(TESTLINK) $(LDFLAGS) $^ $(TESTSO) $(USETESTSO) -lm $(LDLIBS) -o $@
$(FUZZERS): %: %.o $(FUZZMORE) $(BUILD)/libtutti.a
	$(call say,LD,$@)
	$(Q)$(CC) -fsanitize=fuzzer $(SAN) $(LDFLAGS) $^ -lm $(LDLIBS) -o $@
.SECONDARY: $(FUZZSRC:fuzz/fuzz_%.c=$(BUILD)/fuzz/corpus/%.unpacked) $(FUZZERS:%=%.o) $(BUILD)/fuzz/replay.o
# The prover's verdicts on many texts.
VERDICTS = $(BUILD)/fuzz/verdicts
$(VERDICTS): $(BUILD)/fuzz/verdicts.o $(BUILD)/libtutti.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(TESTLINK) $(LDFLAGS) $^ -lm $(LDLIBS) -o $@

# A libmpi_abi.so.0 of our own, which translates the standard ABI of MPI to MPICH (tests/abi/translate.h). One file sees
# both: mpi/abi/mpi.h with other names, and MPICH's mpi.h.
ABILIB   = $(BUILD)/tests/abi/libmpi_abi.so.0
ABIOBJ  := $(patsubst %.c,$(BUILD)/mpi_mpich/%.o,$(sort $(wildcard tests/abi/*.c)))
ABINAMES = $(BUILD)/mpi_mpich/abi_mpi.h $(BUILD)/mpi_mpich/abi_functions.def
$(ABIOBJ): MPIFLAGS += -I$(BUILD)/mpi_mpich
$(ABIOBJ): $(ABINAMES) tests/abi/translate.h
$(ABINAMES): $(BUILD)/mpi_mpich/abi_%: mpi/abi/% mk/test.mk
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)sed -E 's/\b(P?)MPI_/\1ABI_/g; s/"functions/"abi_functions/' $< >$@
$(ABILIB): $(ABIOBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(call MPICC,mpich) -shared -Wl,-soname,$(@F) -Wl,--no-undefined,--no-as-needed $(SAN) $(LDFLAGS) $(ABIOBJ) -ldl $(LDLIBS) -o $@
# Programs of the ABI find it beside themselves.
MPILIB_abi = $(ABILIB) -Wl,-rpath,'$$$$ORIGIN'
MPINEEDS_abi = $(ABILIB)

# The same programs of several ranks, started by an MPI.
OVEROBJ  = $(filter-out %/start.o,$(HELPOBJ))
define OVER_RULES
$(BUILD)/tests/$(1)/mp_%: $(BUILD)/tests/ranks/mp_%.o $(OVEROBJ) $(BUILD)/mpi_$(1)/tests/over/start_mpi.o $(BUILD)/libtutti_mpi_$(1).a | $(TESTSO) $(MPINEEDS_$(1))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$(call MPICC,$(1)) $(SAN) $(TESTLINK) $(LDFLAGS) $$^ $(TESTSO) $$(USETESTSO) $(MPILIB_$(1)) -lm $(LDLIBS) -o $$@
$(BUILD)/tests/$(1)/mpi_%: $(BUILD)/mpi_$(1)/tests/over/mpi_%.o $(OVEROBJ) $(BUILD)/mpi_$(1)/tests/over/start_mpi.o $(BUILD)/libtutti_mpi_$(1).a | $(TESTSO) $(MPINEEDS_$(1))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$(call MPICC,$(1)) $(SAN) $(TESTLINK) $(LDFLAGS) $$^ $(TESTSO) $$(USETESTSO) $(MPILIB_$(1)) -lm $(LDLIBS) -o $$@
# Programs that know MPI only, for the drop-in: C, and Fortran where its compiler is.
$(BUILD)/tests/$(1)/drop_%: $(BUILD)/mpi_$(1)/tests/dropin/drop_%.o $(BUILD)/mpi_$(1)/tests/dropin/drop.o $(BUILD)/mpi_$(1)/tests/dropin/drop_kinds.o | $(MPINEEDS_$(1))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$(call MPICC,$(1)) $(SAN) $(TESTLINK) $(OWNCLOCK) $(LDFLAGS) $$(sort $$^) $(MPILIB_$(1)) $(LDLIBS) -o $$@
$(DROPFORT:%=$(BUILD)/tests/$(1)/%): $(BUILD)/tests/$(1)/%: tests/dropin/%
	@mkdir -p $$(@D) $(BUILD)/mpi_$(1)/modules
	$$(call say,FC,$$<)
	$$(Q)$(MPIFORT_$(1)) -J $(BUILD)/mpi_$(1)/modules $(FORTFLAGS) $$< -o $$@
endef
# The clock of tests/support/pass_time.h, and a test's own usleep and nanosleep, are the libraries', too.
OWNCLOCK = -Wl,--export-dynamic-symbol=clock_gettime,--export-dynamic-symbol=poll,--export-dynamic-symbol=usleep,--export-dynamic-symbol=nanosleep
# In Fortran it is common to hand one procedure this and that; some mpifort say so themselves.
FORTFLAGS = -O1 -w -fallow-argument-mismatch
DROPSRC := $(patsubst tests/dropin/%.c,%,$(filter-out %/drop_kinds.c,$(sort $(wildcard tests/dropin/drop_*.c))))
DROPFORT:= $(patsubst tests/dropin/%,%,$(sort $(wildcard tests/dropin/drop_*.f tests/dropin/drop_*.f90)))
MPIFORT_ompi  = mpifort.openmpi
MPIFORT_mpich = mpifort.mpich
# A wrapper may be there without its compiler.
FORTS   := $(foreach m,$(MPIS),$(if $(shell $(MPIFORT_$(m)) --version 2>/dev/null),$(m)))
# The families of MPI whose programs can be linked here.
LINKED  := $(filter-out $(if $(filter mpich,$(MPIS)),,abi),$(FAMILIES))
$(foreach m,$(LINKED),$(eval $(call OVER_RULES,$(m))))
DROPBIN  = $(foreach m,$(LINKED),$(DROPSRC:%=$(BUILD)/tests/$(m)/%)) $(foreach m,$(FORTS),$(DROPFORT:%=$(BUILD)/tests/$(m)/%))
OVERSRC := $(patsubst tests/over/%.c,%,$(sort $(wildcard tests/over/mpi_*.c)))
OVERBIN := $(if $(filter abi,$(LINKED)),$(OVERSRC:%=$(BUILD)/tests/abi/%)) $(foreach m,$(MPIS),$(patsubst %,$(BUILD)/tests/$(m)/%,mp_cover mp_scenes mp_exact mp_large mp_wrong mp_stall mp_hang mp_soak mp_crossed mp_waits $(OVERSRC)))

# One short example of every function of the public headers.
EXAMPLED = $(patsubst %,$(BUILD)/examples/%,api api_more api_create api_device)
$(EXAMPLED): $(BUILD)/examples/%: $(BUILD)/examples/%.o $(BUILD)/libtutti.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(TESTLINK) $(LDFLAGS) $^ -lm $(LDLIBS) -o $@

programs: all examples $(CUDASIM) $(EXAMPLED) $(MPILIBS) $(UCXLIB) $(PMIXLIB) $(TLSLIB) $(C10DLIB) $(MPIS:%=$(BUILD)/examples/hello_mpi_%) $(TESTBIN) $(MPBIN) $(REPLAYS) $(VERDICTS) $(OVERBIN) $(SHIMS) $(RANKED) $(DROPBIN)
RUN      = BUILD=$(BUILD) CC="$(CC)" CXX="$(CXX)" tests/run

ALLTESTS = $(SHTESTS) $(TESTBIN) $(REPLAYS) $(MPBIN)
QUICK    = $(if $(T),$(foreach t,$(ALLTESTS),$(if $(findstring $(T),$(notdir $(t))),$(t))),$(TESTBIN))
quick:
	@tools/deps.sh build check
	@$(MAKE) $(JOBS) --no-print-directory all $(filter $(BUILD)/%,$(QUICK))
	@$(if $(T),,TEST_QUICK=1) $(RUN) $(if $(T),,--tier check) $(QUICK)
check:
	@tools/deps.sh build check
	@$(MAKE) $(JOBS) --no-print-directory MPICH=no MPI_ABI=no TORCH=no programs
	@$(RUN) --tier check $(ALLTESTS)
check-full:
	@tools/deps.sh build full torch
	@$(MAKE) $(JOBS) --no-print-directory programs
	@$(RUN) $(if $(ADDED),--added) $(ALLTESTS)
check-long:
	@MAKE="$(MAKE)" BUILD=$(BUILD) ONLY="$(ONLY)" tools/check_long.sh
# 2^32 allreduces on two ranks, each sum checked: ten minutes on two idle cores.
check-many:
	@$(MAKE) $(JOBS) --no-print-directory all $(BUILD)/tests/mp_many
	timeout 7200 $(BUILD)/tutti run -n 2 $(BUILD)/tests/mp_many $$((4294967296 + 1000))
# Orders of ranks' looks and acts, drawn from the clock (test_looks).
check-orders:
	@$(MAKE) $(JOBS) --no-print-directory all $(BUILD)/tests/test_looks
	seed=$$(date +%s); for i in $$(seq 20); do timeout 600 $(BUILD)/tests/test_looks $$((seed + i)) || exit 1; done
check-all:
	@TUTTI_TEST_ALL=1 $(MAKE) --no-print-directory check-full
	@$(MAKE) --no-print-directory mutants SAMPLE=8
	@$(MAKE) --no-print-directory check-abi
# Every group, split and number of steps, for every P up to 64 and samples to 4096; and src/choose/forms.def.
prove:
	@tools/deps.sh build full
	@$(MAKE) $(JOBS) --no-print-directory $(BUILD)/tests/test_product
	@TUTTI_PROVE=1 TUTTI_FORMS=$(BUILD)/forms.def TUTTI_STAMP=$$(tools/stamp.sh) $(BUILD)/tests/test_product
	@cmp -s $(BUILD)/forms.def src/choose/forms.def || { cp $(BUILD)/forms.def src/choose/forms.def; echo "prove: src/choose/forms.def is new"; }
# One line changed at a time, in a copy of the tree; each change must fail a test (tools/mutants.tsv).
mutants:
	@tools/deps.sh build full
	@$(PYTHON) tools/mutants.py $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only '$(ONLY)')
# The prover beside a judge that walks through all runs; SEED and COUNT, or TIME in seconds (60).
prove-fuzz:
	@tools/deps.sh build full
	@$(MAKE) $(JOBS) --no-print-directory all $(VERDICTS)
	@$(PYTHON) models/prove_fuzz.py --build $(BUILD) $(if $(TIME),--time $(TIME)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(COUNT),--count $(COUNT)) $(MORE)
laws: all
	@$(RUN) tests/sh/laws.sh

models:
	@tools/deps.sh build models
	@CC="$(CC)" models/check.sh $(ONLY)

# The sanitizers build apart, and the first report ends a program with a failure.
SANFLAGS = CFLAGS="-O1 -g -fno-omit-frame-pointer"
GUARDED  = ASAN_OPTIONS=halt_on_error=1:abort_on_error=0:detect_leaks=1 \
           UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TEST_SECONDS=1200
SANITIZED= $(TESTBIN) $(REPLAYS) $(MPBIN)
SAN_asan = -fsanitize=address
SAN_ubsan= -fsanitize=undefined -fno-sanitize-recover=all
check-asan check-ubsan: check-%:
	@tools/deps.sh build full
	@$(MAKE) $(JOBS) --no-print-directory BUILD=build-$* SAN="$(SAN_$*)" $(SANFLAGS) programs
	@$(GUARDED) BUILD=build-$* tests/run $(filter-out tests/sh/laws.sh tests/sh/install.sh,$(SHTESTS)) \
	  $(SANITIZED:$(BUILD)/%=build-$*/%)
# The short form of the programs under both, for CI: unit tests, and programs of several ranks.
check-sanitized:
	@tools/deps.sh build check
	@$(MAKE) $(JOBS) --no-print-directory BUILD=build-sanitized SAN="-fsanitize=address,undefined -fno-sanitize-recover=all" \
	  CFLAGS="-O1 -g1 -fno-omit-frame-pointer" all $(SANITIZED:$(BUILD)/%=build-sanitized/%)
	@$(GUARDED) BUILD=build-sanitized tests/run --tier check $(SANITIZED:$(BUILD)/%=build-sanitized/%)
# TIME: seconds for each fuzzer, two at a time; KEEP=1: new, small inputs go into the corpus.
FUZZFLAGS= BUILD=build-fuzz CC=clang SAN="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all" $(SANFLAGS)
fuzz:
	@tools/deps.sh build fuzz
	@$(MAKE) $(JOBS) --no-print-directory $(FUZZFLAGS) fuzzers
	@TIME=$(TIME) KEEP=$(KEEP) fuzz/run.sh build-fuzz/fuzz $(if $(ONLY),$(ONLY),$(FUZZSRC:fuzz/fuzz_%.c=%))
fuzzers: $(FUZZERS)
stress-tests:
	@tools/deps.sh build full stress
	@$(MAKE) $(JOBS) --no-print-directory programs
	@BUILD=$(BUILD) tools/stress_tests.sh $(or $(ROUNDS),100) $(or $(BESIDE),3)
# TIME: of it all; SEED and MORE="--job 12" repeat what failed. Under the address sanitizer: make BUILD=build-asan
# SAN=-fsanitize=address torture.
SOAKBIN  = $(BUILD)/tests/mp_soak $(BUILD)/tests/mp_grow $(UCXLIB) $(TLSLIB) $(MPIS:%=$(BUILD)/tests/%/mp_soak)
soak torture:
	@tools/deps.sh build soak
	@$(MAKE) $(JOBS) --no-print-directory all $(SOAKBIN)
	@$(PYTHON) bench/soak.py $(if $(filter torture,$@),--torture) --build $(BUILD) $(if $(TIME),--time $(TIME)) $(if $(SEED),--seed $(SEED)) $(MORE)
# PyTorch on tutti in full: as many ranks as the table says, and PyTorch's own tests. QUICK=1: as in `make check-full`.
TORCHTESTS = $(addprefix tests/sh/,torch.sh torch_two.sh torch_lives.sh torch_elastic.sh torch_flight.sh)
PIPS     = $(findstring TORCH=pip,$(MAKEFLAGS))
check-torch:
	@rc=0; $(if $(PIPS),tools/torch_venv.sh $(TORCH_VENV),true) || rc=$$?; [ $$rc != 77 ] || exit 0; [ $$rc = 0 ] && \
	  $(MAKE) --no-print-directory torch && \
	  $(if $(PIPS),PYTHON3=$(TORCH_VENV)/bin/python3) $(if $(QUICK),,TUTTI_TEST_ALL=1) BUILD=$(BUILD) TEST_SECONDS=10000 \
	  tests/run $(TORCHTESTS)
# The backend under the sanitizers, in a Python and a PyTorch without them.
check-torch-asan:
	@tools/deps.sh build torch
	@$(MAKE) $(JOBS) --no-print-directory BUILD=build-torch-asan SAN="-fsanitize=address,undefined -fno-sanitize-recover=all" \
	  $(SANFLAGS) all with-ucx with-torch
	@BUILD=build-torch-asan TEST_SECONDS=1800 tests/run tests/sh/torch.sh
# Programs with threads: what the thread sanitizer can see. It wants addresses
# that are not randomised far. Threads of the drop-in and of PyTorch's backend: tests/sh/races.sh.
TSANBIN  = $(patsubst tests/unit/%.c,build-tsan/tests/%,$(shell grep -lE 'comm_from_threads|pthread_create' $(TESTSRC) /dev/null))
TSANDROP = $(foreach m,$(MPIS),$(BUILD)/libtutti_pmpi_$(m).so $(addprefix $(BUILD)/tests/$(m)/drop_,threads requests pending callback))
threaded: all $(C10DLIB) $(TSANDROP)
check-tsan:
	@tools/deps.sh build full torch
	@$(MAKE) $(JOBS) --no-print-directory BUILD=build-tsan SAN=-fsanitize=thread $(SANFLAGS) threaded $(TSANBIN)
	@TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 TEST_SECONDS=1800 BUILD=build-tsan \
	  setarch "$$(uname -m)" -R tests/run $(if $(FULL),,--short) tests/sh/races.sh $(TSANBIN)
# For another processor, under an emulator of it: the kernels, the schedules, and ranks
# that are threads and processes. Linked statically, because its libraries are not installed.
ARMTESTS = $(patsubst %,build-arm/tests/%,test_kernel test_schedule test_shape test_prove test_refused test_threads mp_cover mp_scenes)
ARMMAKE  = BUILD=build-arm CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar LDFLAGS=-static CPPFLAGS=-Itests/arm CMOCKA=
check-arm:
	@tools/deps.sh build arm
	@$(MAKE) $(JOBS) --no-print-directory $(ARMMAKE) build-arm/tutti $(ARMTESTS)
	@TEST_SECONDS=1200 TEST_RANKS="2 4" UNDER=qemu-aarch64 BUILD=build-arm tests/run $(ARMTESTS)
# The Python package in full: every type and op, faults, mpi4py, types, how it is installed.
check-python:
	@tools/deps.sh build python
	@$(MAKE) $(JOBS) --no-print-directory with-mpi
	@TUTTI_TEST_ALL=1 BUILD=$(BUILD) tests/run tests/sh/python.sh
# Programs of others, without and with the drop-in; MPICH's own tests of collectives, and mpi4py's (MPI4PY=FOLDER: its sources).
check-dropin:
	@tools/deps.sh build full
	@tools/deps.sh programs || echo "tutti: going on without; missing programs are skipped"
	@$(MAKE) $(JOBS) --no-print-directory mpi
	@BUILD=$(BUILD) $(if $(MPI4PY),MPI4PY=$(abspath $(MPI4PY))) $(if $(PEERS),PEERS=$(PEERS)) WHOLE=1 TEST_SECONDS=10000 tests/run \
	  tests/sh/programs.sh tests/sh/mpi4py.sh tests/sh/mpich_tests.sh $(if $(PEERS),tests/sh/peers.sh)
# A Slurm of two hosts, which are network namespaces: srun, srun --mpi=pmix, the drop-in, the demo. As root.
check-slurm:
	@tools/deps.sh build full demo hosts slurm
	@$(MAKE) $(JOBS) --no-print-directory mpi ucx $(BUILD)/examples/fashion $(BUILD)/examples/hello
	@BUILD=$(BUILD) tests/run tests/sh/slurm.sh
coverage:
	@tools/deps.sh build full
	@$(MAKE) $(JOBS) --no-print-directory BUILD=build-cov SAN="--coverage -fprofile-update=atomic" CFLAGS="-O0 -g" programs
	@find build-cov -name '*.gcda' -delete
	@TEST_SECONDS=1200 BUILD=build-cov tests/run $(filter-out tests/sh/laws.sh tests/sh/install.sh,$(SHTESTS)) \
	  $(TESTBIN:$(BUILD)/%=build-cov/%) $(REPLAYS:$(BUILD)/%=build-cov/%) $(MPBIN:$(BUILD)/%=build-cov/%); rc=$$?; tools/coverage.sh build-cov; exit $$rc
.PHONY: programs quick check check-full check-all check-long check-many check-orders check-dropin check-slurm check-python prove prove-fuzz mutants laws models threaded check-asan check-ubsan check-sanitized check-tsan check-arm \
        coverage fuzz fuzzers soak torture stress-tests check-torch check-torch-asan
-include $(TESTOBJ:.o=.d) $(CUDASRC:%.c=$(BUILD)/%.d) $(EXAMPLED:=.d) $(wildcard $(BUILD)/fuzz/*.d)
