#!/usr/bin/env bash
# Runs clang-tidy over the sources of the libraries and the program, on all cores; with --all over the
# tests too. A source that passed is not looked at again until it, one of our headers, the rules or
# its compile command change.
# usage: tidy.sh SOURCE_DIR BUILD_DIR [--all]
set -euo pipefail
source=$(cd -- "$1" && pwd -P)
build=$2
folders='reference|interface|optimized|properties|cli'
[[ ${3-} != --all ]] || folders+='|fuzz|tests|bench'

tool=${PLSH_CLANG_TIDY-$source/build/python/bin/clang-tidy}
[[ -x $tool ]] || {
  echo "no $tool: ./plsh test installs it; PLSH_CLANG_TIDY names another, of version 22 or later"
  exit 1
}

commands=$build/compile_commands.json
[[ -f $commands ]] || {
  echo "no $commands"
  exit 1
}
passed=$build/tidy-passed
mkdir -p -- "$passed"
# GCC's precompiled headers mean nothing to Clang.
mkdir -p -- "$build/tidy"
sed 's/-Winvalid-pch -include [^ ]*cmake_pch.hxx//' "$commands" >"$build/tidy/compile_commands.json"
commands=$build/tidy/compile_commands.json

# A compile command and its source are on lines of their own.
mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$commands" | sort -u |
  grep -E "^$source/($folders)/.*\.(c|cpp)$")
((${#files[@]} >= 20)) || {
  echo "only ${#files[@]} sources found"
  exit 1
}
shared=$({
  "$tool" --version
  cat "$source/.clang-tidy" "$0"
  cd -- "$source"
  find . \( -name build -o -name .git \) -prune -o -name '*.h' -print0 -o -name '*.hpp' -print0 -o \
    -name '*.cuh' -print0 |
    sort -z | xargs -0 cat
} | sha256sum)

check() {
  local file=$1 key
  key=$({
    echo "$shared"
    grep -F -- " -c $file\"" "$commands" || true
    cat -- "$file"
  } | sha256sum)
  key=${key%% *}
  [[ ! -e $passed/$key ]] || return 0
  # The commands are those of the compiler in use, which may know options that Clang does not.
  local output
  if output=$("$tool" -p "$build/tidy" --quiet --extra-arg=-Wno-error \
    --extra-arg=-Wno-unknown-warning-option "$file" 2>&1); then
    : >"$passed/$key"
  else
    printf '%s\n' "$output" | grep -vE '^[0-9]+ warnings? generated' || true
    echo "FAIL: $file"
    return 1
  fi
}
export -f check
export shared commands passed build tool

# shellcheck disable=SC2016  # the inner shell expands it
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'check "$1"' check || {
  echo "clang-tidy has findings; bash tests/house/tidy.sh . ${build@Q} repeats this"
  exit 1
}
echo "${#files[@]} sources are clean"
