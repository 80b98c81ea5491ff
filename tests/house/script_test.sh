#!/usr/bin/env bash
# Tests the script ./plsh. Its tools (cmake, ninja, ctest, dpkg-query, apt-get, sudo, id) are replaced
# by stubs that write down how they were called, so nothing is built or installed.
# usage: script_test.sh SOURCE_DIR PROGRAM
set -euo pipefail
source=$1 program=$2

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
calls=$work/calls
clone="$work/a clone"
mkdir -p "$clone" "$work/stubs" "$work/else where"
cp "$source/plsh" "$source/packages.txt" "$source/requirements.txt" "$source/CMakePresets.json" "$clone"

stub() {
  printf '#!/bin/bash\n%s\n' "$2" >"$work/stubs/$1"
  chmod +x "$work/stubs/$1"
}
# Looks up each package in the file `installed`.
# shellcheck disable=SC2016
stub dpkg-query 'echo "dpkg-query" >>"$STUB_DIR/calls"; shift 3
for p; do grep -qx -- "$p" "$STUB_DIR/installed" && echo "installed $p"; done; exit 0'
# shellcheck disable=SC2016
stub id 'echo "$STUB_UID"'
# shellcheck disable=SC2016
stub sudo 'echo "sudo $*" >>"$STUB_DIR/calls"; [[ $STUB_SUDO == yes ]] || exit 1
[[ $1 != -n ]] || shift
exec "$@"'
# shellcheck disable=SC2016
stub apt-get 'echo "apt-get $*" >>"$STUB_DIR/calls"
[[ $STUB_APT == yes ]] || { echo "E: Unable to locate package"; exit 100; }
for p; do [[ $p != lib* && $p != g++ ]] || echo "$p" >>"$STUB_DIR/installed"; done'
# Configuring leaves a build tree, building leaves a program that shows how it was started.
# shellcheck disable=SC2016
stub cmake 'echo "cmake $*" >>"$STUB_DIR/calls"
if [[ $1 == -S ]]; then
  [[ $STUB_CONFIGURE == yes ]] || { echo "CMake Error: no Boost"; exit 1; }
  mkdir -p "$2/build/$4/bin"; : >"$2/build/$4/build.ninja"
  echo "CMAKE_HOME_DIRECTORY:INTERNAL=$2" >"$2/build/$4/CMakeCache.txt"
else
  sleep "$STUB_BUILD_SECONDS"
  [[ $STUB_BUILD == yes ]] || { printf "[1/2] Building\nerror: expected ;\n"; exit 1; }
  cp "$STUB_DIR/program" "$2/bin/plsh"; echo "$4" >>"$2/built"
fi'
# shellcheck disable=SC2016
stub ninja 'grep -qx "$4" "$2/built" 2>/dev/null && echo "ninja: no work to do."; exit 0'
# A virtual environment holds a python that fails when told to.
# shellcheck disable=SC2016
stub python3 'echo "python3 $*" >>"$STUB_DIR/calls"
[[ $2 != venv ]] || { mkdir -p "$4/bin"; cp "$0" "$4/bin/python"; }
[[ $2 != pip || $STUB_PIP == yes ]] || { echo "ERROR: No matching distribution"; exit 1; }'
# shellcheck disable=SC2016
stub ctest 'echo "ctest $* in $PWD" >>"$STUB_DIR/calls"
case "$*" in *nothing*) echo "No tests were found!!!"; exit 8;; esac'
# shellcheck disable=SC2016
printf '#!/bin/bash\nprintf "<%%s>" "in $PWD" "$@"; exit 3\n' >"$work/program"
chmod +x "$work/program"

export STUB_DIR=$work STUB_UID=1000 STUB_SUDO=no STUB_APT=yes STUB_CONFIGURE=yes STUB_BUILD=yes
export STUB_PIP=yes
export STUB_BUILD_SECONDS=0
export PATH=$work/stubs:$PATH
unset PLSH_PRESET PLSH_PACKAGES

case_name=
begin() {
  case_name=$1
  : >"$calls"
}
fail() {
  printf 'FAIL: %s: %s\n' "$case_name" "$*"
  printf -- '--- output\n%s\n--- calls\n%s\n' "${output-}" "$(<"$calls")"
  exit 1
}
# run STATUS COMMAND...: `output` holds standard output and error.
run() {
  local expected=$1 status=0
  shift
  output=$("$@" 2>&1 </dev/null) || status=$?
  ((status == expected)) || fail "exit status $status, not $expected: $*"
}
has() { [[ $output == *"$1"* ]] || fail "the output lacks: $1"; }
lacks() { [[ $output != *"$1"* ]] || fail "the output has: $1"; }
called() { grep -qE -- "$1" "$calls" || fail "not called: $1"; }
not_called() { ! grep -qE -- "$1" "$calls" || fail "called: $1"; }
all_installed() { sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$clone/packages.txt" >"$work/installed"; }
fresh() { rm -rf -- "$clone/build"; }

cd "$work/else where"

begin "help on a fresh clone"
fresh
: >"$work/installed"
for option in --help -h help; do
  run 0 "$clone/plsh" $option
  has "test [ctest options]"
  has "PLSH_PRESET"
  has "./plsh audit"
done
[[ ! -e $clone/build && ! -s $calls ]] || fail "help has built something"
run 2 "$clone/plsh"
has "usage: ./plsh"
run 0 "$clone/plsh" test --help
has "./plsh test -L unit"
[[ ! -e $clone/build && ! -s $calls ]] || fail "help has built something"

begin "the commands of the help are those of the program"
listed=$("$clone/plsh" --help | sed -n '/^Commands of the program/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort)
actual=$("$program" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort)
[[ -n $actual && $listed == "$actual" ]] ||
  fail "the script lists ${listed//$'\n'/ }; the program has ${actual//$'\n'/ }"

begin "missing packages, no root, no sudo"
grep -vx -e libmpfi-dev -e g++ <(all_installed && cat "$work/installed") >"$work/some" || true
cp "$work/some" "$work/installed"
run 2 "$clone/plsh" audit
has 'apt-get update && apt-get install -y --no-install-recommends g++ libmpfi-dev"'
(($(grep -c 'apt-get' <<<"$output") == 1)) || fail "not one command"
not_called '^(apt-get|cmake)'

begin "missing packages, ignored"
PLSH_PACKAGES=ignore run 3 "$clone/plsh" audit
not_called '^(apt-get|sudo)'

begin "missing packages, sudo without a password"
fresh
STUB_SUDO=yes run 3 "$clone/plsh" audit
called '^sudo -n env DEBIAN_FRONTEND=noninteractive apt-get .*update$'
called '^apt-get .*install -y --no-install-recommends g\+\+ libmpfi-dev$'
called '^cmake --build'

begin "missing packages, root"
fresh
cp "$work/some" "$work/installed"
STUB_UID=0 run 3 "$clone/plsh" audit
called '^apt-get .*update$'
called '^apt-get .*install -y --no-install-recommends g\+\+ libmpfi-dev$'
not_called '^sudo'

begin "packages that cannot be installed"
fresh
cp "$work/some" "$work/installed"
STUB_UID=0 STUB_APT=no run 2 "$clone/plsh" audit
has "Unable to locate package"
not_called '^cmake'

begin "a fresh clone, everything installed"
fresh
all_installed
run 3 "$clone/plsh" value "two words" '*' ''
[[ $output == *"<in $work/else where><value><two words><*><>" ]] ||
  fail "arguments or folder changed"
called "^cmake -S $clone --preset release\$"
called "^cmake --build $clone/build/release --target plsh "
not_called '^(apt-get|sudo|ctest)'

begin "nothing to do"
run 3 "$clone/plsh" value
[[ $output == "<in $work/else where><value>" ]] || fail "not quiet"
[[ ! -s $calls ]] || fail "something was called"

begin "through a link, from the clone itself"
ln -s "$clone/plsh" "$work/link"
run 3 "$work/link" value
[[ ! -s $calls ]] || fail "built again"
ln -s "$clone" "$work/linked clone"
cd "$work/linked clone"
run 3 ./plsh value
[[ ! -s $calls ]] || fail "built again"
cd "$work/else where"

begin "help of a built program"
run 3 "$clone/plsh" --help
has "test [ctest options]"
has '<--help>'

begin "changed packages.txt"
echo "libnew-dev  # a comment" >>"$clone/packages.txt"
run 2 "$clone/plsh" value
has 'no-install-recommends libnew-dev"'
all_installed
: >"$calls"
run 3 "$clone/plsh" value
not_called '^(apt-get|sudo|cmake)'

begin "changed presets"
echo >>"$clone/CMakePresets.json"
sed -i 's/Optimized build/An optimized build/' "$clone/CMakePresets.json"
run 3 "$clone/plsh" value
called "^cmake -S $clone --preset release\$"

begin "a moved clone"
mv "$clone" "$work/moved clone"
run 3 "$work/moved clone/plsh" value
called "^cmake -S $work/moved clone --preset release --fresh\$"
mv "$work/moved clone" "$clone"
run 3 "$clone/plsh" value

begin "another preset"
PLSH_PRESET=debug run 3 "$clone/plsh" value
called "^cmake -S $clone --preset debug\$"
called "^cmake --build $clone/build/debug --target plsh "

begin "Python tools that cannot be installed"
STUB_PIP=no run 2 "$clone/plsh" test
has "No matching distribution"
not_called '^ctest'

begin "test"
run 0 "$clone/plsh" test
called "^cmake --build $clone/build/release --target all "
called "^ctest --preset release --parallel [0-9]+ in $clone\$"
called "^python3 -m venv --clear $clone/build/python\$"
called "^python3 -m pip install .*-r $clone/requirements.txt\$"
: >"$calls"
run 0 "$clone/plsh" test -L unit -R 'a b'
called "^ctest --preset release --parallel [0-9]+ -L unit -R a b in $clone\$"
not_called '^(cmake|python3)'
run 8 "$clone/plsh" test -R nothing
has "No tests were found"

begin "changed requirements.txt"
echo "# a comment" >>"$clone/requirements.txt"
run 3 "$clone/plsh" value
not_called '^python3'
PLSH_PACKAGES=ignore run 0 "$clone/plsh" test
not_called '^python3'
run 0 "$clone/plsh" test
called '^python3 -m pip install'

begin "configuring fails"
fresh
STUB_CONFIGURE=no run 2 "$clone/plsh" audit
has "no Boost"
run 3 "$clone/plsh" audit

begin "building fails"
fresh
STUB_BUILD=no run 2 "$clone/plsh" audit
has "error: expected ;"
lacks "[1/2]"
run 3 "$clone/plsh" audit

begin "two starts at once"
fresh
status=0
STUB_BUILD_SECONDS=1 "$clone/plsh" first >"$work/first" 2>&1 </dev/null &
first=$!
while ! grep -q 'cmake --build' "$calls"; do sleep 0.05; done
run 3 "$clone/plsh" second
has "waiting for another start"
wait "$first" || status=$?
((status == 3)) || fail "the first start ended with $status"
(($(grep -c 'cmake --build' "$calls") == 1)) || fail "built twice"

begin "no Debian"
fresh
mkdir "$work/no dpkg"
for tool in bash sed tr dirname readlink mkdir flock nproc cp grep sleep; do
  ln -s "$(command -v "$tool")" "$work/no dpkg/$tool"
done
mv "$work/stubs/dpkg-query" "$work/"
PATH=$work/stubs:"$work/no dpkg" run 3 "$clone/plsh" audit
has "not a Debian system"
has "libboost-dev"
: >"$calls"
PATH=$work/stubs:"$work/no dpkg" run 3 "$clone/plsh" audit
lacks "not a Debian system"

echo "the script behaves"
