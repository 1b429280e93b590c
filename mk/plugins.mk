# plugins.mk - libraries that libtutti or PyTorch load if they are installed. SPDX-License-Identifier: BSD-3-Clause
#   make ucx             libtutti_ucx.so, for ranks on several hosts without MPI (docs/hosts.md)
#   make tcp             libtutti_tcp.so, the same over TCP or TLS, without UCX; part of `make all`
#   make tls             libtutti_tls.so, for TUTTI_TLS (docs/security.md); part of `make ucx`
#   make gpu             libtutti_cuda.so, for vectors on NVIDIA GPUs; part of `make all` (docs/gpu.md)
#   make torch           the backend "tutti" of PyTorch (docs/torch.md); demo-torch trains with it
#   make TORCH_PYTHON=python3 with-torch    the same for this Python and its wheel of PyTorch
#   make check-torch TORCH=pip              PyPI's PyTorch; TORCH=debian: Debian's

# ---- what the libraries of networks share: net/kit/*.c, and objects of libtutti that need libc alone ----
KITOBJ  := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard net/kit/*.c)))
KITNEEDS = $(patsubst %,$(BUILD)/src/%.o,meet/reach meet/listen core/status core/system core/config_file core/file)
KITFLAGS = $(BASE) -Inet/kit -Isrc/meet -Isrc/core
$(BUILD)/net/kit/%.o: TTFLAGS = $(KITFLAGS)

# ---- UCX, without an MPI: a library that libtutti loads, from ucx/*.c and the kit; built if UCX is installed ----
UCXSRC  := $(sort $(wildcard ucx/*.c))
UCX_HEADER ?= /usr/include/ucp/api/ucp.h
HAS_UCX := $(call with,UCX,$(wildcard $(UCX_HEADER)),libucx-dev)
UCXLIB   = $(if $(HAS_UCX),$(BUILD)/libtutti_ucx.so)
$(BUILD)/ucx/%.o: TTFLAGS = $(KITFLAGS)
$(BUILD)/libtutti_ucx.so.$(VERSION): $(UCXSRC:%.c=$(BUILD)/%.o) $(KITOBJ) $(KITNEEDS)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libtutti_ucx.so.$(SOMAJOR) -Wl,--version-script=src/tutti.map -Wl,--no-undefined \
	  $(SAN) $(LDFLAGS) $^ -lucp -lucs $(LDLIBS) -o $@
$(BUILD)/libtutti_ucx.so: $(BUILD)/libtutti_ucx.so.$(VERSION)
	$(Q)ln -sf $(<F) $(BUILD)/libtutti_ucx.so.$(SOMAJOR) && ln -sf $(<F) $@

# ---- sockets, with TCP or TLS: a library that libtutti loads, from tcp/*.c, the kit and these objects of libtutti. It
#      needs only libc. ----
TCPOBJ  := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tcp/*.c))) $(KITOBJ)
TCPNEEDS = $(KITNEEDS) $(patsubst %,$(BUILD)/src/%.o,meet/hmac meet/tls_open core/library)
TCPLIB   = $(BUILD)/libtutti_tcp.so
$(BUILD)/tcp/%.o: TTFLAGS = $(KITFLAGS)
$(BUILD)/libtutti_tcp.so.$(VERSION): $(TCPOBJ) $(TCPNEEDS) tcp/tcp.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libtutti_tcp.so.$(SOMAJOR) -Wl,--version-script=tcp/tcp.map -Wl,--no-undefined \
	  $(SAN) $(LDFLAGS) $(TCPOBJ) $(TCPNEEDS) -ldl $(LDLIBS) -o $@
$(BUILD)/libtutti_tcp.so: $(BUILD)/libtutti_tcp.so.$(VERSION)
	$(Q)ln -sf $(<F) $(BUILD)/libtutti_tcp.so.$(SOMAJOR) && ln -sf $(<F) $@
tcp all: $(TCPLIB)

# ---- ranks started by a launcher with PMIx: a library that libtutti loads; built if PMIx is installed ----
HAS_PMIX := $(call with,PMIX,$(shell pkg-config --exists pmix 2>/dev/null && echo yes),libpmix-dev)
PMIXLIB   = $(if $(HAS_PMIX),$(BUILD)/libtutti_pmix.so)
PMIX_LIBS = $(shell pkg-config --libs pmix)
$(BUILD)/pmix/%.o: TTFLAGS = $(BASE) $(shell pkg-config --cflags pmix)
$(BUILD)/libtutti_pmix.so.$(VERSION): $(BUILD)/pmix/launcher.o
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libtutti_pmix.so.$(SOMAJOR) -Wl,--version-script=src/tutti.map -Wl,--no-undefined \
	  $(SAN) $(LDFLAGS) $^ $(PMIX_LIBS) $(LDLIBS) -o $@
$(BUILD)/libtutti_pmix.so: $(BUILD)/libtutti_pmix.so.$(VERSION)
	$(Q)ln -sf $(<F) $(BUILD)/libtutti_pmix.so.$(SOMAJOR) && ln -sf $(<F) $@

# ---- TLS with OpenSSL: a library that libtutti loads, which uses the table of src/meet/ and nothing else of tutti; built
#      if OpenSSL's headers are installed. It looks up OpenSSL 3 when it is used. ----
SSL_HEADER ?= /usr/include/openssl/ssl.h
HAS_TLS := $(call with,TLS,$(wildcard $(SSL_HEADER)),libssl-dev)
TLSLIB   = $(if $(HAS_TLS),$(BUILD)/libtutti_tls.so)
$(BUILD)/tls/%.o: TTFLAGS = $(BASE) -Isrc/meet
$(BUILD)/libtutti_tls.so.$(VERSION): $(BUILD)/tls/openssl.o
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libtutti_tls.so.$(SOMAJOR) -Wl,--version-script=src/tutti.map -Wl,--no-undefined \
	  $(SAN) $(LDFLAGS) $^ -ldl $(LDLIBS) -o $@
$(BUILD)/libtutti_tls.so: $(BUILD)/libtutti_tls.so.$(VERSION)
	$(Q)ln -sf $(<F) $(BUILD)/libtutti_tls.so.$(SOMAJOR) && ln -sf $(<F) $@
tls: all $(TLSLIB)
with-tls: $(TLSLIB)

# ---- vectors on NVIDIA GPUs: a library that libtutti loads, from gpu/*.c, which include public headers only. It has no
#      dependencies, because the driver's library is looked up at run time. ----
GPUSRC  := $(sort $(wildcard gpu/*.c))
CUDALIB  = $(if $(filter no,$(CUDA)),,$(BUILD)/libtutti_cuda.so)
$(BUILD)/gpu/%.o: TTFLAGS = $(BASE) -Isrc/core
$(BUILD)/libtutti_cuda.so.$(VERSION): $(GPUSRC:%.c=$(BUILD)/%.o)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libtutti_cuda.so.$(SOMAJOR) -Wl,--version-script=src/tutti.map -Wl,--no-undefined \
	  $(SAN) $(LDFLAGS) $^ -ldl $(LDLIBS) -o $@
$(BUILD)/libtutti_cuda.so: $(BUILD)/libtutti_cuda.so.$(VERSION)
	$(Q)ln -sf $(<F) $(BUILD)/libtutti_cuda.so.$(SOMAJOR) && ln -sf $(<F) $@
gpu: $(BUILD)/libtutti_cuda.so
all: $(CUDALIB)

# ---- PyTorch's process groups: a Python extension, from c10d/*.cpp, which include public headers only; built if PyTorch's
#      headers are installed. It is for one Python and one PyTorch: Debian's, or those of TORCH_PYTHON, a Python
#      with a wheel of PyTorch (tools/torch_flags.py). ----
TORCH_PYTHON ?=
# TORCH=pip: PyPI's PyTorch, in a virtual environment that tools/torch_venv.sh makes; TORCH=debian: Debian's.
TORCH_VENV = $(HOME)/.cache/tutti/venv-torch
TORCH_PYTHON := $(if $(filter pip,$(TORCH)),$(wildcard $(TORCH_VENV)/bin/python3),$(TORCH_PYTHON))
ifneq ($(filter pip debian,$(TORCH)),)
override TORCH := auto
endif
TORCHFLAGS= $(TORCH_PYTHON) tools/torch_flags.py
C10DSRC  := $(sort $(wildcard c10d/*.cpp))
TORCH_HPP := /usr/include/torch/csrc/distributed/c10d/ProcessGroup.hpp
HAS_TORCH:= $(call with,TORCH,$(if $(TORCH_PYTHON),yes,$(wildcard $(TORCH_HPP))),libtorch-dev)
# The name contains the version of PyTorch, so that an extension for another version is never loaded.
DEBIANS   = v=/usr/include/torch/csrc/api/include/torch/version.h; \
            /usr/bin/python3 -c 'import re, sys, sysconfig; \
              found = dict(re.findall("define TORCH_VERSION_(M\w+) (\d+)", open(sys.argv[1]).read())); \
              print("_c10d_%s_%s%s" % (found["MAJOR"], found["MINOR"], sysconfig.get_config_var("EXT_SUFFIX")))' $$v
C10DFILE := $(if $(HAS_TORCH),$(shell $(if $(TORCH_PYTHON),$(TORCHFLAGS) name,$(DEBIANS))))
C10DNAME  = $(firstword $(subst ., ,$(C10DFILE)))
C10DOBJ   = $(BUILD)/c10d/$(C10DNAME)
C10DLIB   = $(if $(HAS_TORCH),$(BUILD)/c10d/$(C10DFILE))
NOTHING   = $(if $(HAS_TORCH),$(BUILD)/bench/nothing.so)
ifneq ($(TORCH_PYTHON),)
C10DFOUND:= $(shell $(TORCHFLAGS) cflags)
else
C10DFOUND = -std=c++17 $(shell /usr/bin/python3-config --includes 2>/dev/null)
endif
C10DFLAGS = -O2 -g1 -fPIC -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter -Iinclude -MMD -MP $(C10DFOUND)
TORCHLIBS = $(if $(TORCH_PYTHON),$(shell $(TORCHFLAGS) libs)) -ltorch_python -ltorch -ltorch_cpu -lc10
$(C10DOBJ)/%.o: c10d/%.cpp mk/plugins.mk $(FLAGS)
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(C10DFLAGS) $(CXXFLAGS) $(CPPFLAGS) -DTORCH_EXTENSION_NAME=$(C10DNAME) $(SAN) -c $< -o $@
$(C10DOBJ).%: $(C10DSRC:c10d/%.cpp=$(C10DOBJ)/%.o) $(BUILD)/libtutti.so
	$(call say,LD,$@)
	$(Q)$(CXX) -shared $(SAN) $(LDFLAGS) $(filter %.o,$^) -L$(BUILD) -ltutti $(TORCHLIBS) -o $@
$(BUILD)/bench/nothing.so: bench/nothing.cpp mk/plugins.mk
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CXX) $(C10DFLAGS) -DTORCH_EXTENSION_NAME=nothing -shared $< $(TORCHLIBS) -o $@
torch:
	@$(if $(filter $(TORCH_VENV)/%,$(TORCH_PYTHON)),,tools/deps.sh build torch)
	@$(MAKE) $(JOBS) --no-print-directory all with-ucx with-torch
demo-torch: torch
	@tools/deps.sh demo
	@BUILD=$(BUILD) PYTHON="$(PYTHON)" examples/demo_torch.sh
.SECONDARY: $(C10DSRC:c10d/%.cpp=$(C10DOBJ)/%.o)
with-torch: $(C10DLIB)
with-ucx: $(UCXLIB) $(PMIXLIB) $(TLSLIB)
ucx: all with-ucx
-include $(wildcard $(C10DOBJ)/*.d)
.PHONY: ucx tcp tls with-tls gpu torch with-torch with-ucx demo-torch
-include $(wildcard $(BUILD)/net/kit/*.d $(BUILD)/ucx/*.d $(BUILD)/tcp/*.d $(BUILD)/pmix/*.d $(BUILD)/tls/*.d $(BUILD)/gpu/*.d)
