#!/usr/bin/env bash
# Fails when clang-format would change one of our sources.
# usage: format.sh SOURCE_DIR [--fix]
set -euo pipefail
cd -- "$1"

folders=()
for folder in reference interface optimized properties cli fuzz tests bench; do
  [[ ! -d $folder ]] || folders+=("$folder")
done
mapfile -d '' files < <(find "${folders[@]}" -type f \
  \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' \) -print0 | sort -z)
((${#files[@]} >= 30)) || {
  echo "only ${#files[@]} source files found"
  exit 1
}

if [[ ${2-} == --fix ]]; then
  clang-format -i "${files[@]}"
  exit 0
fi
changed=()
for file in "${files[@]}"; do
  clang-format "$file" | diff -u --label "$file" --label "formatted" "$file" - || changed+=("$file")
done
if ((${#changed[@]})); then
  printf '%s of %s files are not formatted (%s); to fix them: bash tests/house/format.sh . --fix\n' \
    "${#changed[@]}" "${#files[@]}" "$(clang-format --version)"
  exit 1
fi
echo "${#files[@]} files are formatted"
