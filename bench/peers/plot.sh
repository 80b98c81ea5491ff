#!/usr/bin/env bash
# Draws a record of compare.py: time against n, both logarithmic, one panel for each sigma.
# usage: plot.sh JSON OUT.svg [THREADS]
set -euo pipefail
(($# == 2 || $# == 3)) || {
  echo "usage: plot.sh JSON OUT.svg [THREADS]" >&2
  exit 2
}
record=$1 picture=$2 threads=${3-1}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# A table for each sigma and form, and the commands that draw them.
python3 - "$record" "$work" "$threads" >"$work/plot.gp" <<'PYTHON'
import json
import sys

path, work, threads = sys.argv[1:]
with open(path) as stream:
    record = json.load(stream)
rows = [m for m in record["measurements"] if str(m["threads"]) == threads]
if not rows:
    sys.exit(f"plot.sh: {path} has no measurement with {threads} threads")
sigmas = sorted({m["sigma"] for m in rows})
forms = list(dict.fromkeys(m["form"] for m in rows))
print(f"set multiplot layout 1,{len(sigmas)}")
for panel, sigma in enumerate(sigmas):
    curves = []
    for k, form in enumerate(forms):
        name = f"{work}/{panel}-{k}"
        points = sorted((m["length"], m["median"] * 1e3) for m in rows
                        if (m["sigma"], m["form"]) == (sigma, form))
        with open(name, "w") as stream:
            stream.writelines(f"{n} {ms}\n" for n, ms in points)
        style = f"lc {k + 1} lw {3 if form.startswith('ours') else 1.5} pt 7 ps 0.5"
        if points:
            curves.append(f"'{name}' with linespoints {style} title '{form}'")
    print(f"set title 'sigma = {sigma:g}'; set xlabel 'length n'")
    print("set ylabel 'milliseconds'" if panel == 0 else "unset ylabel")
    print("plot", ", ".join(curves))
PYTHON

gnuplot - <<PLOT
set terminal svg size 1200,520 font "sans,12" background "white"
set output "$picture"
set logscale xy 2
set format y "%g"
set logscale y 10
set grid
set key below maxcols 2 font "sans,9"
load "$work/plot.gp"
PLOT
