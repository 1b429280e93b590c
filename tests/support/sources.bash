# sources.bash - for tests that run other people's tests: the sources of a Debian package. Sourced after tap.bash, never run.
# SPDX-License-Identifier: BSD-3-Clause

# fetched PACKAGE: its sources in $work/sources, by apt-get with separate package lists. This machine's lists do not
# change, and need not contain sources. Sets why, if the sources cannot be fetched.
fetched() {
  local apt=$work/apt
  local options=(-qq -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$apt/parts" -o "Dir::State::Lists=$apt/lists"
    -o "Dir::Cache=$apt/cache")
  mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
  sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$apt/parts/debian.sources" 2>/dev/null
  sed -n 's/^deb \(.*debian\.org\)/deb-src \1/p' /etc/apt/sources.list >"$apt/parts/debian.list" 2>/dev/null
  (cd "$work" && timeout 120 apt-get "${options[@]}" update && timeout 120 apt-get "${options[@]}" source "$1" && mv "$1"-*/ sources) \
    >"$work/out" 2>"$work/err" </dev/null || { why="apt-get: $(grep '^E:' "$work/err" | head -1)"; return 1; }
}
