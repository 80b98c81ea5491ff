#!/usr/bin/env bash
# Every configuration has its presets, and a selection of tests that matches nothing is an error.
# usage: presets_test.sh SOURCE_DIR
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
fail() {
  printf 'FAIL: %s\n' "$*"
  exit 1
}

cd -- "$source"
for kind in configure build test; do
  listed=$(cmake --list-presets="$kind")
  for preset in release debug asan coverage; do
    grep -q "\"$preset\"" <<<"$listed" || fail "no $kind preset \"$preset\""
  done
done

# The test presets, on a build tree with one test.
cp CMakePresets.json "$work"
cd -- "$work"
for preset in release debug asan coverage; do
  mkdir -p "build/$preset"
  echo 'add_test(one "true")' >"build/$preset/CTestTestfile.cmake"
  ctest --preset "$preset" >log 2>&1 || { cat log; fail "a passing test fails with $preset"; }
  ! ctest --preset "$preset" -R nothing-matches >log 2>&1 || fail "$preset accepts an empty selection"
  ! ctest --preset "$preset" -L nothing-matches >log 2>&1 || fail "$preset accepts an empty label"
done
! ctest --test-dir build/release --no-tests=error -R nothing-matches >log 2>&1 ||
  fail "ctest accepts an empty selection"

echo 'add_test(one "sh" "-c" "echo the reason; false")' >build/release/CTestTestfile.cmake
! ctest --preset release >log 2>&1 || fail "a failing test passes"
grep -q "the reason" log || fail "the output of a failing test is not shown"
echo "presets are complete"
