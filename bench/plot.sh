#!/usr/bin/env bash
# Draws a record of plsh bench or of compare.py, a column for each sigma: above the time against n,
# below the error against the time at the largest n.
# usage: plot.sh JSON OUT.svg [THREADS]
set -euo pipefail
(($# == 2 || $# == 3)) || {
  echo "usage: plot.sh JSON OUT.svg [THREADS]" >&2
  exit 2
}
record=$1 picture=$2 threads=${3-1}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# A table for each curve and point, and the commands that draw them.
python3 - "$record" "$work" "$threads" >"$work/plot.gp" <<'PYTHON'
import json
import sys

path, work, threads = sys.argv[1:]
with open(path) as stream:
    record = json.load(stream)
rows = []  # form, sigma, length, milliseconds, error
for m in record["measurements"]:
    sigmas = m.get("sigmas") or [m["sigma"]]
    if str(m["threads"]) == threads and len(sigmas) == 1 and m.get("direction") != "backward":
        seconds = m["median"] if "median" in m else m["seconds"]
        rows.append((m["form"], sigmas[0], m["length"], seconds * 1e3, m["error"]))
if not rows:
    sys.exit(f"plot.sh: {path} has no measurement of one sigma with {threads} threads")
sigmas = sorted({row[1] for row in rows})
forms = list(dict.fromkeys(row[0] for row in rows))


def curve(kind, column, k, points):
    """Writes the points; the plot element that draws them."""
    name = f"{work}/{kind}-{column}-{k}"
    with open(name, "w") as stream:
        stream.writelines(f"{x} {y}\n" for x, y in sorted(points))
    ours = forms[k] == "fused" or forms[k].startswith("ours")
    style = f"lc {k + 1} lw {3 if ours else 1.5} pt {k % 7 + 4} ps {0.8 if kind == 'time' else 1.6}"
    return f"'{name}' with {'linespoints' if kind == 'time' else 'points'} {style} title '{forms[k]}'"


print(f"set multiplot layout 2,{len(sigmas)}")
# The names stand below the first row and hold for both.
for kind, across, up in (("time", "length n", "milliseconds"), ("error", "milliseconds", "error")):
    print("set key below maxcols 2; set bmargin 9" if kind == "time" else "unset key; set bmargin 5")
    for column, sigma in enumerate(sigmas):
        of_sigma = [row for row in rows if row[1] == sigma]
        longest = max(row[2] for row in of_sigma)
        curves = []
        for k, form in enumerate(forms):
            points = [(n, ms) if kind == "time" else (ms, error)
                      for f, _, n, ms, error in of_sigma
                      if f == form and (kind == "time" or (n == longest and error))]
            if points:
                curves.append(curve(kind, column, k, points))
        at = "" if kind == "time" else f", n = {longest}"
        print(f"set title 'sigma = {sigma:g}{at}'; set xlabel '{across}'; set ylabel '{up}'")
        print(f"set logscale x {2 if kind == 'time' else 10}; set logscale y 10")
        print("plot", ", ".join(curves))
PYTHON

gnuplot - <<PLOT
set terminal svg size 1300,1040 font "sans,12" background "white"
set output "$picture"
set format y "%g"
set grid
set key font "sans,9"
load "$work/plot.gp"
PLOT
