# The library, the command, the examples and their installation; mk/ has the rest.
# SPDX-License-Identifier: BSD-3-Clause
#   make                 libtutti.so, libtutti.a and the command `tutti`, under build/
#   make demo            train on Fashion-MNIST on 4 ranks (installs what is missing)
#   make demo-hosts      the same training on three hosts (network namespaces), without MPI; as root
#   make demo-faults     the same training on 5 ranks; one is killed, and 4 continue, or 5 again
#   make demo-elastic    the same on several hosts; one is killed, one is disconnected, and new ranks join (as root)
#   make dropin | mpi | ucx | tls | torch | gpu  libraries for MPI programs (mk/mpi.mk), for several hosts, for TLS, PyTorch and GPUs (mk/plugins.mk)
#   make check           the tests, in five minutes (installs what is missing); more in mk/test.mk
#   make bars            measures every performance target ("bar") of tutti; more in mk/bench.mk
#   make install | uninstall     PREFIX=/usr/local DESTDIR= BINDIR= LIBDIR= INCDIR= MANDIR= PYDIR=
#   make dist | wheel | deb      the tarball of the sources, a Python wheel, Debian's packages (mk/package.mk)
#   make site            the manual as pages to read in a browser, without a network: build/site (mk/site.mk)
#   make examples | format | clean
# CC, CXX, AR, CFLAGS, CXXFLAGS, CPPFLAGS, LDFLAGS, BUILD and the folders above may be set, also in the environment.
# OMPI, MPICH, UCX, PMIX, TLS, TORCH = auto | yes | no: build with it if it is installed; require it; leave it out.
# OMPI=no and MPICH=no also leave out their drop-ins; MPI_ABI=no the libraries for the standard ABI of MPI; CUDA=no leaves out the library for GPUs.
# V=1 prints whole commands. DEPS=no: goals do not install packages, but only name the missing ones.
MAKEFLAGS += --no-builtin-rules
BUILD   ?= build
PREFIX  ?= /usr/local
ifeq ($(origin CC),default)
CC       = gcc
endif
ifeq ($(origin CXX),default)
CXX      = g++
endif
ifeq ($(origin AR),default)
AR       = ar
endif
VERSION := $(shell awk '/define TUTTI_VERSION_(MAJOR|MINOR|PATCH)/{printf s $$3; s="."}' include/tutti.h)
SOMAJOR := $(firstword $(subst ., ,$(VERSION)))

CFLAGS  ?= -O3 -g
WARN     = -Wall -Wextra -Wvla -Wshadow -Wstrict-prototypes -Wmissing-prototypes
ROOMS   := core sched topo kernel code algo algo/pattern prove draw cost choose job wire wire/shm wire/net device trace engine engine/fast meet aggregator run tune comm fault api bucket doctor
# -ffp-contract=off: the same bits on every machine (docs: kernel.h)
BASE     = -std=c17 -D_GNU_SOURCE $(WARN) -ffp-contract=off -fno-math-errno -fvisibility=hidden -fPIC -pthread \
           -Iinclude -MMD -MP $(SAN)
TTFLAGS  = $(BASE) $(ROOMS:%=-Isrc/%)
# Without optimization some functions become calls of libm.
LDLIBS   = -pthread -Wl,--push-state,--as-needed -lm -Wl,--pop-state
PYTHON   = PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3
# $(call say,CC,file): prints a short line for a command, which $(Q) hides. With V=1 the command is shown instead.
say      = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(2)')
Q       := $(if $(V),,@)
# $(call with,UCX,FOUND,PACKAGE): FOUND, unless UCX=no. With UCX=yes it is an error if FOUND is empty.
with     = $(if $(filter no,$($(1))),,$(if $(2),$(2),$(if $(filter yes,$($(1))),$(error $(1)=yes, but $(3) is not installed))))
# One job per core, unless make got a number of jobs.
JOBS     = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

LIBSRC  := $(foreach r,$(ROOMS),$(sort $(wildcard src/$(r)/*.c)))
LIBOBJ  := $(LIBSRC:%.c=$(BUILD)/%.o)
CLISRC  := $(filter-out cli/meet_mpi.c,$(sort $(wildcard cli/*.c)))
CLIOBJ  := $(CLISRC:%.c=$(BUILD)/%.o) $(BUILD)/cli/style.o

all: $(BUILD)/libtutti.so $(BUILD)/libtutti.a $(BUILD)/tutti

# The flags of all objects; if they change, all objects are compiled again.
FLAGS   := $(BUILD)/flags
FLAGSNOW:= $(CC) $(CXX) $(TTFLAGS) $(CFLAGS) $(CPPFLAGS)
ifneq ($(strip $(FLAGSNOW)),$(strip $(file <$(FLAGS))))
$(shell mkdir -p $(BUILD))$(file >$(FLAGS),$(FLAGSNOW))
endif
$(BUILD)/%.o: %.c Makefile $(FLAGS)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(TTFLAGS) $(CFLAGS) $(CPPFLAGS) $(PLAIN) -c $< -o $@

# The style of pictures as C strings.
$(BUILD)/cli/style.o: $(BUILD)/cli/style.c
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE) $(CFLAGS) $(CPPFLAGS) -include cli/cli.h -c $< -o $@
$(BUILD)/cli/style.c: cli/style.gp cli/style.css Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)for f in gp css; do echo "const char style_$$f[] ="; sed 's/[\\"]/\\&/g; s/.*/  "&\\n"/' cli/style.$$f; echo ';'; done >$@

# The kernels in plain C are not vectorized, because the other sets of kernels are compared with them.
$(BUILD)/src/kernel/kernel_c.o: PLAIN = -fno-tree-vectorize -fno-tree-slp-vectorize

# Turns a page into the lines of a C string.
$(BUILD)/src/draw/page.inc: src/draw/page.html Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)sed 's/\\/&&/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $< > $@
$(BUILD)/src/draw/draw_html.o: PLAIN = -I$(BUILD)/src/draw
$(BUILD)/src/draw/draw_html.o: $(BUILD)/src/draw/page.inc

$(BUILD)/libtutti.a: $(LIBOBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIBOBJ)

SHARED  := $(BUILD)/libtutti.so.$(VERSION)
$(SHARED): $(LIBOBJ) src/tutti.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libtutti.so.$(SOMAJOR) -Wl,--version-script=src/tutti.map -Wl,--no-undefined \
	  $(SAN) $(LDFLAGS) $(LIBOBJ) $(LDLIBS) -o $@
$(BUILD)/libtutti.so: $(SHARED)
	$(Q)ln -sf libtutti.so.$(VERSION) $(BUILD)/libtutti.so.$(SOMAJOR) && ln -sf libtutti.so.$(VERSION) $@

# The command and the examples include public headers only.
$(BUILD)/cli/%.o $(BUILD)/examples/%.o: TTFLAGS = $(BASE)
# The folder in lib where Debian has the libraries of this processor, such as x86_64-linux-gnu.
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
$(BUILD)/cli/cmd_mpi.o $(BUILD)/cli/peer_find.o: PLAIN = -DMULTIARCH='"$(MULTIARCH)"'
$(BUILD)/tutti: $(CLIOBJ) $(BUILD)/libtutti.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) $(CLIOBJ) $(BUILD)/libtutti.a -lm $(LDLIBS) -o $@

# ---- examples: hello, and fashion, which is all of examples/fashion*.c ----
FASHION := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard examples/fashion*.c)))
$(BUILD)/examples/hello: $(BUILD)/examples/hello.o $(BUILD)/libtutti.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(BUILD)/examples/fashion: $(FASHION) $(BUILD)/libtutti.a
	$(call say,LD,$@)
	$(Q)$(CC) $(SAN) $(LDFLAGS) $^ -lopenblas -lz -lm $(LDLIBS) -o $@
examples: $(BUILD)/examples/hello

# In three steps, because the first may install packages that the second needs.
demo:
	@tools/deps.sh demo
	@$(MAKE) $(JOBS) --no-print-directory all $(BUILD)/examples/fashion
	@BUILD=$(BUILD) examples/demo.sh
demo-hosts:
	@tools/deps.sh demo hosts
	@$(MAKE) $(JOBS) --no-print-directory all ucx $(BUILD)/examples/fashion
	@BUILD=$(BUILD) examples/demo_hosts.sh
demo-faults:
	@tools/deps.sh demo
	@$(MAKE) $(JOBS) --no-print-directory all $(BUILD)/examples/fashion
	@BUILD=$(BUILD) examples/demo_faults.sh
demo-elastic:
	@tools/deps.sh demo hosts
	@$(MAKE) $(JOBS) --no-print-directory all ucx $(BUILD)/examples/fashion
	@BUILD=$(BUILD) examples/demo_elastic.sh

# These files come before the rule for install, because make expands its prerequisites when it reads the rule.
include mk/mpi.mk mk/plugins.mk mk/test.mk mk/bench.mk mk/site.mk mk/package.mk $(wildcard mk/research.mk)

# ---- install ----
BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
INCDIR  ?= $(PREFIX)/include
MANDIR  ?= $(PREFIX)/share/man
COMPDIR ?= $(PREFIX)/share/bash-completion/completions
PROFDIR ?= $(PREFIX)/share/tutti/profiles
PROFILES:= $(sort $(wildcard profiles/*.profile))
MANPAGES:= $(sort $(wildcard docs/man/*.[13]))
HEADERS := $(sort $(wildcard include/*.h))
PYFILES := $(sort $(wildcard python/tutti/*.py python/tutti/py.typed python/tutti/*/*.py))
PYDIR   ?= $(shell $(PYTHON) python/place.py $(PREFIX) 2>/dev/null)
FILL     = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(VERSION)|g' -e 's|@SOMAJOR@|$(SOMAJOR)|g' \
           -e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@INCDIR@|$(INCDIR)|g' \
           -e "s|@TO_INCDIR@|$$(realpath -m --relative-to=$(LIBDIR) $(INCDIR))|g"
PACKAGE  = $(LIBDIR)/pkgconfig/tutti.pc $(LIBDIR)/cmake/tutti/tutti-config.cmake \
           $(LIBDIR)/cmake/tutti/tutti-config-version.cmake
INSTALLED= $(BINDIR)/tutti $(COMPDIR)/tutti $(LIBDIR)/libtutti.a $(LIBDIR)/libtutti.so $(LIBDIR)/libtutti.so.$(SOMAJOR) \
           $(LIBDIR)/libtutti.so.$(VERSION) $(HEADERS:include/%=$(INCDIR)/%) $(PACKAGE) \
           $(PROFILES:profiles/%=$(PROFDIR)/%) \
           $(foreach m,$(MANPAGES),$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) \
           $(BINDIR)/tutti-ompi $(BINDIR)/tutti-mpich \
           $(foreach m,ompi mpich abi,$(LIBDIR)/pkgconfig/tutti-$(m).pc $(LIBDIR)/libtutti_pmpi_$(m).so \
             $(addprefix $(LIBDIR)/libtutti_mpi_$(m).,a so so.$(SOMAJOR) so.$(VERSION))) \
           $(foreach l,ucx tcp pmix tls cuda,$(LIBDIR)/libtutti_$(l).so.$(SOMAJOR) $(LIBDIR)/libtutti_$(l).so.$(VERSION))

install: all $(MPILIBS) $(UCXLIB) $(TCPLIB) $(PMIXLIB) $(TLSLIB) $(CUDALIB) $(C10DLIB) $(SHIMS) $(RANKED)
	install -d $(sort $(dir $(INSTALLED:%=$(DESTDIR)%)))
	install -m 755 $(BUILD)/tutti $(DESTDIR)$(BINDIR)/tutti
	install -m 644 $(BUILD)/libtutti.a $(DESTDIR)$(LIBDIR)/libtutti.a
	install -m 755 $(SHARED) $(DESTDIR)$(LIBDIR)/libtutti.so.$(VERSION)
	$(Q)ln -sf libtutti.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libtutti.so.$(SOMAJOR)
	$(Q)ln -sf libtutti.so.$(SOMAJOR) $(DESTDIR)$(LIBDIR)/libtutti.so
	for l in tcp $(if $(UCXLIB),ucx) $(if $(PMIXLIB),pmix) $(if $(TLSLIB),tls) $(if $(CUDALIB),cuda); do install -m 755 $(BUILD)/libtutti_$$l.so.$(VERSION) $(DESTDIR)$(LIBDIR) && \
	  ln -sf libtutti_$$l.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libtutti_$$l.so.$(SOMAJOR) || exit 1; done
	install -m 644 $(HEADERS) $(DESTDIR)$(INCDIR)
	install -m 644 cli/complete.bash $(DESTDIR)$(COMPDIR)/tutti
	install -m 644 $(PROFILES) $(DESTDIR)$(PROFDIR)
	for f in $(PACKAGE); do $(FILL) tools/$${f##*/}.in > $(DESTDIR)$$f && chmod 644 $(DESTDIR)$$f || exit 1; done
	for m in $(MANPAGES); do install -m 644 $$m $(DESTDIR)$(MANDIR)/man$${m##*.} || exit 1; done
	for f in $(RANKED); do install -m 755 $$f $(DESTDIR)$(BINDIR) || exit 1; done
	for f in $(SHIMS); do install -m 755 $$f $(DESTDIR)$(LIBDIR) || exit 1; done
	for m in $(FAMILIES); do lib=libtutti_mpi_$$m; to=$(DESTDIR)$(LIBDIR); \
	  install -m 644 $(BUILD)/$$lib.a $$to && install -m 755 $(BUILD)/$$lib.so.$(VERSION) $$to && \
	  ln -sf $$lib.so.$(VERSION) $$to/$$lib.so.$(SOMAJOR) && ln -sf $$lib.so.$(SOMAJOR) $$to/$$lib.so && \
	  $(FILL) -e "s|@MPI@|$$m|g" tools/tutti-mpi.pc.in > $$to/pkgconfig/tutti-$$m.pc && \
	  chmod 644 $$to/pkgconfig/tutti-$$m.pc || exit 1; done
	pydir="$(PYDIR)"; [ "$$pydir" ] || { echo "tutti: no Python; its package is left out"; exit 0; }; \
	  for f in $(PYFILES:python/%=%); do install -D -m 644 python/$$f "$(DESTDIR)$$pydir/$$f" || exit 1; done; \
	  for f in $(C10DLIB); do install -D -m 755 $$f "$(DESTDIR)$$pydir/tutti/torch/$${f##*/}" || exit 1; done; \
	  $(PYTHON) python/backend.py describe "$(DESTDIR)$$pydir"
uninstall:
	rm -f $(INSTALLED:%=$(DESTDIR)%)
	pydir="$(PYDIR)"; [ -z "$$pydir" ] || rm -rf "$(DESTDIR)$$pydir/tutti" "$(DESTDIR)$$pydir"/tutti-*.dist-info
	-rmdir $(DESTDIR)$(LIBDIR)/cmake/tutti $(DESTDIR)$(PROFDIR) $(DESTDIR)$(dir $(PROFDIR)) 2>/dev/null

clean:
	rm -rf $(BUILD) build-wheel build-asan build-torch-asan build-ubsan build-sanitized build-tsan build-cov build-arm build-fuzz
format:
	clang-format -i $$(git ls-files '*.c' '*.h')

.PHONY: all examples install uninstall clean format demo demo-hosts demo-faults demo-elastic
-include $(LIBOBJ:.o=.d) $(CLIOBJ:.o=.d) $(FASHION:.o=.d) $(BUILD)/examples/hello.d
