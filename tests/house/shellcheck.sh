#!/usr/bin/env bash
# Runs shellcheck over every shell script of the repository.
# usage: shellcheck.sh SOURCE_DIR
set -euo pipefail
cd -- "$1"
mapfile -d '' scripts < <(find . -path ./build -prune -o -path ./.git -prune -o \
  -type f -name '*.sh' -print0)
shellcheck plsh .ci/run "${scripts[@]}"
echo "checked $((${#scripts[@]} + 2)) scripts"
