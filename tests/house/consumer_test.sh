#!/usr/bin/env bash
# Installs the build tree into a temporary prefix and builds a project that uses the package.
# usage: consumer_test.sh BUILD_DIR CONSUMER_DIR
set -euo pipefail
build=$1 consumer=$2
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
prefix="$work/a prefix"
fail() {
  printf 'FAIL: %s\n' "$*"
  exit 1
}
logged() {
  "$@" >"$work/log" 2>&1 || {
    cat "$work/log"
    fail "$*"
  }
}

logged cmake --install "$build" --prefix "$prefix"

# An installed package knows nothing of the tree that it was built in.
source=$(cached CMAKE_HOME_DIRECTORY)
if grep -rlF -e "$build" -e "$source" "$prefix"/lib*/cmake "$prefix"/lib/*/cmake 2>/dev/null; then
  fail "these installed files name the build or source tree"
fi
[[ -x $prefix/bin/plsh ]] || fail "no program in the prefix"

# Every public header is installed and can be included.
(cd "$prefix/include" && find plsh -name '*.hpp' | sort | sed 's/.*/#include <&>/') >"$work/all.cpp"
count=$(grep -c . "$work/all.cpp")
((count >= 14)) || fail "only $count public headers are installed"

# A consumer of an instrumented build is linked with what the instrumentation needs.
sanitizers=$(cached PLSH_SANITIZE)
flags=${sanitizers:+-fsanitize=$sanitizers}
[[ $(cached PLSH_COVERAGE) != ON ]] || flags+=" --coverage"
logged cmake -S "$consumer" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$(cached CMAKE_CXX_COMPILER)" -DCMAKE_CXX_FLAGS="$flags" \
  -DPLSH_ALL_HEADERS="$work/all.cpp"
logged cmake --build "$work/build"

# exp(-3/8) by another program.
expected=$'6.87289278790972198545202339147e-01\nExact expectation\nplsh optimized for CPUs'
actual=$("$work/build/consumer")
[[ $actual == "$expected" ]] || fail "expected $expected, got $actual"
[[ $("$work/build/consumer_of_reference") == 1 ]] || fail "the reference alone gives another value"

# Without the libraries of plsh::properties the oracle can still be had, and all of it cannot.
for components in "" "COMPONENTS reference"; do
  mkdir -p "$work/bare"
  cat >"$work/bare/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(bare LANGUAGES CXX)
set(CMAKE_DISABLE_FIND_PACKAGE_fmt ON)
set(CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json ON)
set(CMAKE_DISABLE_FIND_PACKAGE_Spectra ON)
find_package(plsh QUIET $components)
message(STATUS "found: \${plsh_FOUND}")
TEXT
  cmake -S "$work/bare" -B "$work/bare build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "a project without fmt"; }
  case $components in
    "") grep -qE 'found: (0|FALSE|OFF)' "$work/log" || fail "found although fmt is absent" ;;
    *) grep -qE 'found: (1|TRUE|ON)' "$work/log" || fail "the reference needs too much" ;;
  esac
done
echo "installed, built and ran a consumer of $count headers"
