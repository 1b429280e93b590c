# One Makefile. Targets, most used first:
#   make                 libtutti.so, libtutti.a and the command `tutti`, under build/
#   make demo            train on Fashion-MNIST on 4 ranks (installs what is missing)
#   make check           the tests, under 10 minutes (installs what is missing)
#   make check-all       the full product of the covering table and the long proofs
#   make check-asan | check-ubsan | check-tsan | coverage
#   make install PREFIX=/usr/local DESTDIR=
#   make format | clean
# CC, CFLAGS, BUILD, PREFIX, DESTDIR may be set. SPDX-License-Identifier: BSD-3-Clause
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
ROOMS   := core sched topo kernel algo prove price choose wire engine api
# -ffp-contract=off: the same bits on every machine (docs: kernel.h)
TTFLAGS  = -std=c17 -D_GNU_SOURCE $(WARN) -ffp-contract=off -fno-math-errno -fvisibility=hidden -fPIC -pthread \
           -Iinclude $(ROOMS:%=-Isrc/%) -MMD -MP $(SAN)
LDLIBS   = -pthread

LIBSRC  := $(foreach r,$(ROOMS),$(sort $(wildcard src/$(r)/*.c)))
LIBOBJ  := $(LIBSRC:%.c=$(BUILD)/%.o)
CLISRC  := $(sort $(wildcard cli/*.c))
CLIOBJ  := $(CLISRC:%.c=$(BUILD)/%.o)

all: $(BUILD)/libtutti.so $(BUILD)/libtutti.a $(BUILD)/tutti

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(TTFLAGS) $(CFLAGS) $(CPPFLAGS) -c $< -o $@

$(BUILD)/libtutti.a: $(LIBOBJ)
	rm -f $@ && $(AR) rcs $@ $(LIBOBJ)

$(BUILD)/libtutti.so.$(VERSION): $(LIBOBJ) src/tutti.map
	$(CC) -shared -Wl,-soname,libtutti.so.$(SOMAJOR) -Wl,--version-script=src/tutti.map -Wl,--no-undefined \
	  $(SAN) $(LDFLAGS) $(LIBOBJ) $(LDLIBS) -o $@
$(BUILD)/libtutti.so: $(BUILD)/libtutti.so.$(VERSION)
	ln -sf libtutti.so.$(VERSION) $(BUILD)/libtutti.so.$(SOMAJOR) && ln -sf libtutti.so.$(VERSION) $@

# The command sees public headers only.
$(BUILD)/cli/%.o: TTFLAGS := $(filter-out $(ROOMS:%=-Isrc/%),$(TTFLAGS))
$(BUILD)/tutti: $(CLIOBJ) $(BUILD)/libtutti.a
	$(CC) $(SAN) $(LDFLAGS) $(CLIOBJ) $(BUILD)/libtutti.a $(LDLIBS) -o $@

clean:
	rm -rf $(BUILD)

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

.PHONY: all clean format
-include $(LIBOBJ:.o=.d) $(CLIOBJ:.o=.d)
