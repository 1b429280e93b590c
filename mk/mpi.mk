# mpi.mk - tutti over an MPI: a library for each installed MPI and for the standard ABI, the drop-ins for unmodified
# programs, the command for ranks that an MPI starts, and the simulator. SPDX-License-Identifier: BSD-3-Clause
#   make dropin          the drop-ins, and the libraries for mpi4py; needs no MPI
#   make mpi             all of them (MPICC_ompi=mpicc if Open MPI's compiler has this name)
#   make sim             hundreds of ranks under SimGrid, compared with SimGrid's allreduces (docs/simulation.md)
#   make figures         the papers' figures again, from predictions, SimGrid and this machine (docs/papers.md)

# ---- over MPI: a library per installed MPI, from mpi/*.c, which include public headers only ----
MPICC_ompi  = mpicc.openmpi
MPICC_mpich = mpicc.mpich
MPICC_smpi  = smpicc
MPIS    := $(if $(call with,OMPI,$(shell command -v $(MPICC_ompi)),$(MPICC_ompi)),ompi) \
           $(if $(call with,MPICH,$(shell command -v $(MPICC_mpich)),$(MPICC_mpich)),mpich)
# For any MPI with the standard ABI of MPI 5.0. They are built with mpi/abi/mpi.h, without an MPI.
MPICC_abi   = $(CC)
FAMILIES = $(MPIS) $(if $(filter no,$(MPI_ABI)),,abi)
MPILIBS  = $(FAMILIES:%=$(BUILD)/libtutti_mpi_%.so) $(FAMILIES:%=$(BUILD)/libtutti_mpi_%.a)
MPISRC  := $(sort $(wildcard mpi/*.c))
# The drop-in library between unmodified programs and their MPI (LD_PRELOAD); it contains all of tutti.
# It is compiled with mpi/abi/mpi.h and finds the MPI of the program (mpi/find.c), so no MPI is needed to build it.
DROPINS := $(if $(filter no,$(OMPI)),,ompi) $(if $(filter no,$(MPICH)),,mpich) $(if $(filter no,$(MPI_ABI)),,abi)
SHIMSRC := $(sort $(wildcard shim/*.c)) $(filter-out mpi/by_name.c,$(MPISRC))
SHIMS    = $(DROPINS:%=$(BUILD)/libtutti_pmpi_%.so)
# The library of tutti_comm_from_mpi in the same way, for mpi4py in a Python wheel.
LATELIBS = $(patsubst %,$(BUILD)/late/libtutti_mpi_%.so.$(SOMAJOR),$(filter-out abi,$(DROPINS)))
# The command, built for ranks that an MPI starts.
RANKED   = $(MPIS:%=$(BUILD)/tutti-%)
MPICC    = OMPI_CC=$(CC) MPICH_CC=$(CC) $(MPICC_$(1))
LATE_ompi = -DTUTTI_FOR_OMPI
LATE_mpich = -DTUTTI_FOR_MPICH
# Unlike TTFLAGS, without the folders of src/.
MPIFLAGS = $(BASE) -Impi
with-mpi: all $(MPILIBS)
dropin: all $(SHIMS) $(LATELIBS)
mpi: all $(MPILIBS) $(SHIMS) $(RANKED) $(MPIS:%=$(BUILD)/examples/hello_mpi_%)

define MPI_RULES
$(BUILD)/mpi_$(1)/%.o: %.c mk/mpi.mk $(FLAGS)
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)
	$$(Q)$(call MPICC,$(1)) $$(MPIFLAGS) -Itests/support -Itests/ranks $(CFLAGS) $(CPPFLAGS) $$(if $$(filter tests/%,$$<),$$(TESTOPT)) -c $$< -o $$@
# MPI_STATUS_IGNORE is a constant that gcc takes for the address of an object of size 0.
$(BUILD)/mpi_$(1)/tests/dropin/%.o: MPIFLAGS += -Wno-stringop-overflow -Wno-stringop-overread
$(BUILD)/libtutti_mpi_$(1).a: $(MPISRC:%.c=$(BUILD)/mpi_$(1)/%.o)
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $(AR) rcs $$@ $$^
$(BUILD)/libtutti_mpi_$(1).so.$(VERSION): $(MPISRC:%.c=$(BUILD)/mpi_$(1)/%.o) $(BUILD)/libtutti.so
	$$(call say,LD,$$@)
	$$(Q)$(call MPICC,$(1)) -shared -Wl,-soname,libtutti_mpi_$(1).so.$(SOMAJOR) -Wl,--version-script=src/tutti.map \
	  -Wl,--no-undefined $(SAN) $(LDFLAGS) $$(filter %.o,$$^) -L$(BUILD) -ltutti -ldl $(LDLIBS) -o $$@
$(BUILD)/libtutti_mpi_$(1).so: $(BUILD)/libtutti_mpi_$(1).so.$(VERSION)
	$$(Q)ln -sf $$(<F) $(BUILD)/libtutti_mpi_$(1).so.$(SOMAJOR) && ln -sf $$(<F) $$@
$(BUILD)/tutti-$(1): $(filter-out %/meet.o,$(CLIOBJ)) $(BUILD)/mpi_$(1)/cli/meet_mpi.o $(BUILD)/libtutti_mpi_$(1).a $(BUILD)/libtutti.a
	$$(call say,LD,$$@)
	$$(Q)$(call MPICC,$(1)) $(SAN) $(LDFLAGS) $$^ -lm $(LDLIBS) -o $$@
$(BUILD)/examples/hello_mpi_$(1): $(BUILD)/mpi_$(1)/examples/hello_mpi.o $(BUILD)/libtutti_mpi_$(1).a $(BUILD)/libtutti.a
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$(call MPICC,$(1)) $(SAN) $(LDFLAGS) $$^ $(LDLIBS) -o $$@
endef

# From mpi/abi/mpi.h.
define LATE_RULES
$(BUILD)/late/$(1)/%.o: %.c mk/mpi.mk $(FLAGS)
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)
	$$(Q)$(CC) $$(MPIFLAGS) -Impi/abi -Ishim -Isrc/core $$(LATE_$(1)) $(CFLAGS) $(CPPFLAGS) -c $$< -o $$@
$(BUILD)/libtutti_pmpi_$(1).so: $(SHIMSRC:%.c=$(BUILD)/late/$(1)/%.o) $(BUILD)/libtutti.a shim/shim.map
	$$(call say,LD,$$@)
	$$(Q)$(CC) -shared -Wl,-soname,libtutti_pmpi_$(1).so -Wl,--version-script=shim/shim.map \
	  -Wl,--no-undefined $(SAN) $(LDFLAGS) $$(filter %.o %.a,$$^) -ldl $(LDLIBS) -o $$@
$(BUILD)/late/libtutti_mpi_$(1).so.$(SOMAJOR): $(MPISRC:%.c=$(BUILD)/late/$(1)/%.o) $(BUILD)/libtutti.so
	$$(call say,LD,$$@)
	$$(Q)$(CC) -shared -Wl,-soname,$$(@F) -Wl,--version-script=src/tutti.map -Wl,--no-undefined \
	  -Wl,-rpath,'$$$$ORIGIN' $(SAN) $(LDFLAGS) $$(filter %.o,$$^) -L$(BUILD) -ltutti -ldl $(LDLIBS) -o $$@
endef

$(foreach m,$(FAMILIES),$(eval $(call MPI_RULES,$(m))))
$(foreach m,$(DROPINS),$(eval $(call LATE_RULES,$(m))))
$(BUILD)/mpi_abi/%.o: MPIFLAGS += -Impi/abi

# ---- simulation: the same library over SimGrid's MPI (sim/) ----
SIM      = $(addprefix $(BUILD)/sim/,allreduce training lost)
$(eval $(call MPI_RULES,smpi))
# The simulator looks for main in the program that it loads, so main must be visible.
$(BUILD)/mpi_smpi/sim/%.o: MPIFLAGS += -fvisibility=default
$(SIM): $(BUILD)/sim/%: $(BUILD)/mpi_smpi/sim/%.o $(BUILD)/mpi_smpi/sim/simulated.o $(BUILD)/libtutti_mpi_smpi.a $(BUILD)/libtutti.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)smpicc -s $(SAN) $(LDFLAGS) $^ -lm $(LDLIBS) -o $@ # the simulator copies it for every rank

# ONLY=flat,loggp,tree,large,topologies,training,stragglers MORE="--missing --time 20"
sim:
	@tools/deps.sh build sim
	@$(MAKE) $(JOBS) --no-print-directory all $(SIM)
	@$(PYTHON) sim/run.py --build $(BUILD) $(if $(ONLY),--only $(ONLY)) $(MORE)
# The papers' figures; MORE=--simulate or --measure renews the stored results.
figures:
	@tools/deps.sh build sim
	@$(MAKE) $(JOBS) --no-print-directory all $(SIM)
	@$(PYTHON) sim/figures.py --build $(BUILD) $(if $(OUT),--out $(OUT)) $(MORE)
.PHONY: mpi dropin with-mpi sim figures
-include $(wildcard $(BUILD)/mpi_*/*/*.d $(BUILD)/mpi_*/*/*/*.d $(BUILD)/late/*/*/*.d)
