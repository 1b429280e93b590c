# package.mk - packages: tarballs, wheels, Debian packages. SPDX-License-Identifier: BSD-3-Clause
#   make dist            the source tarball, which pip accepts, too: build/dist (the same bytes from the same commit)
#   make wheel           the Python wheel for any Linux with glibc 2.28 or newer: build/dist
#   make deb             Debian packages, checked with lintian: build/deb
#   make recipes         the recipes for Spack, EasyBuild, conda and modules, with this version and its checksum: build/recipes
#   make version NEW=0.2.0   sets the version in all files that contain it
#   make check-package   builds and installs the tarball, the wheel and the packages in minimal Debian systems, and runs the
#                        examples; as root
#   make check-wheel     the wheel with PyPI's auditwheel and MPIs, and on two hosts in namespaces (as root)
#   make check-abi       compares the library with that of the last tag (abidiff); a part of make check-all
DIST     = $(BUILD)/dist
dist:
	@$(PYTHON) python/backend.py $(DIST)

# The wheel's objects need old versions of symbols, so they are built separately. Libraries that glibc 2.34 has merged into
# libc are linked by name.
OLDGLIBC = CPPFLAGS="-include tools/glibc_2_28.h" \
           LDFLAGS="-s -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,--wrap=__libc_start_main"
wheel:
	@tools/deps.sh wheel
	@$(MAKE) $(JOBS) --no-print-directory BUILD=build-wheel SAN= TLS=yes $(OLDGLIBC) old-glibc
	@$(PYTHON) tools/portable_wheel.py build-wheel $(DIST)
old-glibc: $(BUILD)/libtutti.so $(BUILD)/tutti $(TCPLIB) $(TLSLIB) $(CUDALIB) dropin
$(BUILD)/tools/glibc_2_28_start.o: TTFLAGS = $(BASE)
ifeq ($(BUILD),build-wheel)
CLIOBJ  += $(BUILD)/tools/glibc_2_28_start.o
$(BUILD)/tutti: $(BUILD)/tools/glibc_2_28_start.o
endif

# In a copy of the tarball, like a distribution.
DEB      = $(BUILD)/deb
deb: dist
	@tools/deps.sh build package
	@tools/deb.sh $(DIST)/tutti-$(VERSION).tar.gz $(DEB)
# The address of releases: from release.conf, or DOWNLOADS="file://$PWD/build/dist" to try a recipe without a release.
recipes: dist
	@HOMEPAGE="$(HOMEPAGE)" DOWNLOADS="$(DOWNLOADS)" tools/fill_recipes.sh $(DIST)/tutti-$(VERSION).tar.gz $(BUILD)/recipes
version:
	@$(PYTHON) tools/version.py $(NEW)
check-package: dist wheel recipes
	@tools/deps.sh bare
	@$(RUN) tests/package/recipes.sh
	@tests/package/build.sh $(DIST) $(DEB)
	@tests/package/bare.sh $(DIST) $(DEB)
	@tests/package/autopkg.sh $(DEB)
check-wheel: wheel
	@BUILD=$(BUILD) tests/run tests/package/wheel.sh
check-abi: all
	@tools/deps.sh abi
	@$(RUN) tests/package/interface.sh
	@BUILD=$(BUILD) tools/abi.sh
.PHONY: dist wheel old-glibc deb recipes version check-package check-wheel check-abi
