#!/usr/bin/env bash
# recipes.sh - checks the form and the version of the files that package managers read. Checks that need a tool that is not
# installed are skipped.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
version=$(awk '/define TUTTI_VERSION_(MAJOR|MINOR|PATCH)/ {printf s $3; s = "."}' include/tutti.h)
runs() { rc=0 && "$@" >"$work/out" 2>"$work/err" || rc=$?; }
# here COMMAND NAME [N]: is the tool installed? If not, N tests are skipped.
here() { command -v "$1" >/dev/null || { skip "$2" "no $1 here" "${3:-1}" && false; }; }

# ---- the recipes as a release has them; the tarball is a stand-in ----
echo sources >"$work/tutti-$version.tar.gz"
made=$work/recipes
conda=$made/conda/meta.yaml spack=$made/spack/spack_repo/tutti/packages/tutti/package.py
easybuild=$made/easybuild/tutti-$version-gompi-2023a.eb
runs env HOMEPAGE=https://tutti.example DOWNLOADS=https://tutti.example/all tools/fill_recipes.sh "$work/tutti-$version.tar.gz" "$made"
ok "tools/fill_recipes.sh fills in all names" all 'status 0' 'out_is "$made"' quiet
sum=$(sha256sum "$work/tutti-$version.tar.gz" | cut -d ' ' -f 1)
for file in "$conda" "$spack" "$easybuild"; do
  ok "${file#"$made"/}: the place and the checksum of the tarball" all 'grep -q "https://tutti.example/all" "$file"' 'grep -q "$sum" "$file"' \
    '! grep -q example.org "$file"'
done
runs env DOWNLOADS="file://$work" tools/fill_recipes.sh "$work/tutti-$version.tar.gz" "$work/other"
ok "without a release a recipe names a tarball on this machine, and that is said" all 'status 0' 'says "release.conf is not set"' \
  'grep -q "url: file://$work/tutti-" "$work/other/conda/meta.yaml"'
cp -r recipes release.conf tools "$work/" && echo '# @NOTHING@' >>"$work/recipes/conda/meta.yaml"
runs bash -c "cd '$work' && tools/fill_recipes.sh 'tutti-$version.tar.gz' third"
ok "a name that is not filled in is an error" all 'status 1' 'says "@NOTHING@"'
rm -rf "$work/recipes" && tools/fill_recipes.sh "$work/tutti-$version.tar.gz" "$made" >/dev/null 2>&1
# tutti's own addresses: those of release.conf, and their placeholders in debian/, which tools/deb.sh fills in.
runs $python -c 'import sys; sys.path.insert(0, "python"); import sources; print(*sources.names(), sep="\n")'
grep -vE '^(release\.conf|debian/(control|changelog)|tests/.*|tools/(fill_recipes|deb)\.sh|python/backend\.py)$' "$work/out" >"$work/files"
runs xargs grep -nIE '[@/]example\.org\b' -- <"$work/files"
ok "no other file names an address of tutti's" all '[ "$(wc -l <"$work/files")" -gt 500 ]' '[ ! -s "$work/out" ]'

# ---- one version everywhere ----
names() { # names FILE PATTERN: the file names this version there
  ok "${1#"$work"/} names version $version" grep -qE "${2//NUMBER/${version//./\\.}}" "$1"
}
names CITATION.cff '^version: NUMBER$'
names debian/changelog '^tutti \(NUMBER-'
names "$spack" '^    version\("NUMBER"'
names "$easybuild" "^version = 'NUMBER'$"
names "$conda" 'set version = "NUMBER"'
names "$made/modules/tutti/$version.lua" 'Version: NUMBER'
names "$made/modules/tutti/$version" '^# NUMBER - '
names docs/install.md 'tutti-NUMBER\.tar\.gz'
names python/tutti/_lib.py '^VERSION = "NUMBER"$'
names docs/man/tutti.1 '^\.TH TUTTI 1 "" "tutti NUMBER"'
[ -z "${ONLY_VERSION:-}" ] || exit $bad

# A new version, in a copy.
copy=$work/copy
mkdir "$copy" && $python -c 'import sys; sys.path.insert(0, "python"); import sources; print(*sources.names(), sep="\0", end="\0")' |
  tar --null -T - -cf - | tar -xf - -C "$copy"
news() { sed -i 's/^## \[Unreleased\]$/&\n\n### Added\n\n- Something.\n/' "$copy/CHANGELOG.md"; } # a release has none yet
news
runs $python "$copy/tools/version.py" "$version"
ok "make version: not the same version again" all '[ $rc = 1 ]' "says 'does not come after'"
sed -i 's/^VERSION/version/' "$copy/python/tutti/_lib.py"
runs $python "$copy/tools/version.py" 97.0.1
ok "make version: a place that has changed its form" all '[ $rc = 1 ]' "says '_lib.py has nothing like'"
for file in CHANGELOG.md include/tutti.h python/tutti/_lib.py; do cp "$file" "$copy/$file"; done
news
runs $python "$copy/tools/version.py" 97.0.1
ok "make version: a new one" all 'status 0' 'out_is "version: $version became 97.0.1"' quiet \
  '[ -z "$(cd "$copy" && tar -xOf fuzz/corpus/wisdom.tar | grep -aF "tutti $version")" ]' 'grep -q "^## .97.0.1. - 20" "$copy/CHANGELOG.md"' \
  '[ "$(dpkg-parsechangelog -l "$copy/debian/changelog" -S Version 2>/dev/null || echo 97.0.1-0tutti1)" = 97.0.1-0tutti1 ]'
runs env -C "$copy" ONLY_VERSION=97.0.1 bash tests/package/recipes.sh
ok "and all places agree on it" all 'status 0' '[ "$(grep -c "names version 97.0.1" "$work/out")" = 10 ]'

# ---- Spack, EasyBuild: Python ----
# The names that the recipes import are stubs: each call gets the recipe's arguments, and nothing is built.
cat >"$work/spack.py" <<'E'
import sys

class Any:
    def __getattr__(self, name): return Any()
    def __call__(self, *a, **k): return Any()
    def satisfies(self, text): return True
    def __getitem__(self, name): return Any()
    def __str__(self): return "/x"
    __format__ = lambda self, how: "/x"

said = []
names = {name: (lambda *a, _n=name, **k: said.append(_n)) for name in ("version", "variant", "depends_on", "extends", "license")}
made = []
names.update(MakefilePackage=type("MakefilePackage", (), {"prefix": Any(), "spec": Any()}), spack_cc="cc", python_platlib="/py",
             make=lambda *a: made.append(a), Executable=lambda name: lambda *a: None)
text = "".join(line for line in open(sys.argv[1]) if not line.startswith("from spack"))
exec(compile(text, sys.argv[1], "exec"), names)
package = names["Tutti"]()
package.build(package.spec, package.prefix)
package.install(package.spec, package.prefix)
assert said.count("version") == 1 and "depends_on" in said, said
print(" ".join(made[1]))
E
runs $python "$work/spack.py" "$spack"
ok "Spack: the recipe calls make install" all 'status 0' 'has "^install DEPS=no TORCH=no PREFIX=/x CC=cc "'
here spack "Spack: its own check of the recipe" && {
  runs spack -C "$work" audit packages tutti
  ok "Spack: its own check of the recipe" status 0
}
runs $python -c '
import sys
names = {"SOURCE_TAR_GZ": "tutti.tar.gz", "SHLIB_EXT": "so"}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), names)
for name in "easyblock name version homepage description toolchain sources sanity_check_paths moduleclass".split():
    assert names[name], name' "$easybuild"
ok "EasyBuild: all parameters that it asks for" status 0
here eb "EasyBuild: its own check of the recipe" && {
  runs eb --check-contrib "$easybuild"
  ok "EasyBuild: its own check of the recipe" status 0
}

# ---- conda, CITATION.cff: YAML ----
if $python -c 'import yaml' 2>/dev/null; then
  runs $python -c '
import re, sys, yaml
text = re.sub(r"\{%.*%\}", "", open(sys.argv[1]).read())
recipe = yaml.safe_load(re.sub(r"\{\{(.*?)\}\}", lambda m: re.sub(r"\W+", "_", m.group(1)), text))
for part in "package source build requirements test about extra".split():
    assert recipe[part], part
cited = yaml.safe_load(open("CITATION.cff"))
for part in "cff-version message title authors".split():
    assert cited[part], part' "$conda"
  ok "conda and CITATION.cff: they are YAML, with all parts" status 0
else
  skip "conda and CITATION.cff: they are YAML" "no python3-yaml here"
fi
here conda-build "conda: its own check of the recipe" && {
  runs conda-build --check "$made/conda"
  ok "conda: its own check of the recipe" status 0
}

# ---- modules ----
cat >"$work/lua.lua" <<'E'
for _, name in ipairs({"help", "whatis"}) do _G[name] = function() end end
pathJoin = function(...) return table.concat({...}, "/") end
isDir = function() return true end
prepend_path = function(name, path) print(name .. "=" .. path) end
dofile(arg[1])
E
want="PATH=/opt/tutti/bin"
lua=$(command -v lua5.4 lua5.3 lua5.1 lua | head -1)
if [ "$lua" ]; then
  runs "$lua" "$work/lua.lua" "$made/modules/tutti/$version.lua"
  ok "Lmod's module sets the paths" all 'status 0' 'has "^$want$"' 'has "^LD_LIBRARY_PATH=/opt/tutti/lib$"'
else
  skip "Lmod's module sets the paths" "no lua here"
fi
here tclsh "Environment Modules' module sets the paths" && {
  printf '%s\n' 'proc module-whatis {text} {}' 'proc prepend-path {name path} {puts "$name=$path"}' 'source [lindex $argv 0]' >"$work/t.tcl"
  runs tclsh "$work/t.tcl" "$made/modules/tutti/$version"
  ok "Environment Modules' module sets the paths" all 'status 0' 'has "^$want$"' 'has "^LD_LIBRARY_PATH=/opt/tutti/lib$"'
}

# ---- the container: the files that it copies and installs exist; building it would need Debian's image ----
ok "the container's file has two stages, and the goal is one of make's" all \
  '[ "$(grep -c ^FROM recipes/Containerfile)" = 2 ]' 'grep -q "^RUN make .* install$" recipes/Containerfile'
skip "the container is built" "its base image comes from a registry"
exit $bad
