#!/usr/bin/env python3
"""Measure attention with the ALiBi bias -|i-j|/sigma on the CPU: ours and PyTorch's, in one run.

All forms of a problem get the same f32 inputs and are called in turn, so that whatever else happens
on the machine hits all of them alike. Compare ratios within one run, never times of two runs.
Compilation and a first call of each form are not measured. Denormal numbers are flushed to zero,
for PyTorch and for ours. FlexAttention is compiled; the size of its sparse blocks is the one of 16,
32, 64 and 128 that is quickest in a trial.

Exit status: 0 measured, 2 wrong use, 3 nothing was measured.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFAULT_LIBRARY = HERE.parents[1] / "build/release/lib/libplsh_cpu.so"
EXAMPLES = """\
examples:
  python compare.py --json peers.json
  python compare.py --length 1024,16384 --sigma 32 --threads 2 --repeats 9
  python compare.py --library /usr/local/lib/libplsh_cpu.so --heads 4 --head-dim 128
"""

# ---- the command line


def number(kind: type, low: float, high: float) -> Callable[[str], float]:
    """A reader of numbers from low to high, for argparse."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            kinds = "integers" if kind is int else "numbers"
            raise argparse.ArgumentTypeError(f"{text!r}; allowed: {kinds}, {low:g} to {high:g}")
        return value

    return read


def make_parser() -> argparse.ArgumentParser:
    """The options; argparse ends wrong use with status 2."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    counts, amounts = number(int, 1, 1024), number(float, 0.001, 1e6)

    def add(name: str, reader: Callable[[str], float], default: object, text: str) -> None:
        several = isinstance(default, str)

        def read(given: str):  # a list: each number once, in ascending order
            return sorted({reader(part) for part in given.split(",")}) if several else reader(given)

        parser.add_argument(name, type=read, default=default, metavar="N,..." if several else "N",
                            help=f"{text} (default: %(default)s)")

    add("--length", number(int, 128, 131072), "1024,2048,4096,8192",
        "context lengths n, 128 to 131072")
    add("--sigma", number(float, 0.01, 1e6), "4,32,256", "decay lengths in positions, 0.01 to 1e6")
    add("--threads", counts, "1,2", "numbers of threads, 1 to 1024")
    add("--heads", counts, 1, "heads, all with the same sigma, 1 to 1024")
    add("--head-dim", counts, 64, "head dimension, 1 to 1024")
    add("--samples", number(int, 1, 100000), 20, "samples s of Positional LSH, 1 to 1e5")
    add("--repeats", number(int, 1, 1000), 5, "measured calls of each form, 1 to 1000")
    add("--limit", amounts, 10, "leave out a form of which one call would take more seconds, by "
        "its time for smaller n; 0.001 to 1e6")
    add("--memory", amounts, 4, "leave out a form that would hold n x n matrices of more GiB; "
        "0.001 to 1e6")
    add("--seed", number(int, 0, 2**63 - 1), 1, "of inputs and partitions")
    parser.add_argument("--library", type=Path, default=DEFAULT_LIBRARY, metavar="FILE",
                        help="libplsh_cpu.so (default: that of the release build)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the record to this file")
    return parser


# ---- showing


def place_text(m: dict) -> str:
    """Where it was measured, in words."""
    return f"sigma {m['sigma']:g}, {m['threads']} thread{'s' if m['threads'] > 1 else ''}"


def show(document: dict) -> None:
    """Prints a table for each sigma and number of threads, the ratios, and what was left out."""
    d, rows = document, document["measurements"]
    print(f"{d['machine']['processor']}, PyTorch {d['torch']}, Python {d['python']}\n"
          f"f32, heads {d['heads']}, head_dim {d['head_dim']}, s = {d['samples']}, seed {d['seed']}"
          f", denormals {'flushed to zero' if d['denormals_flushed'] else 'not flushed'}")
    fused = {(m["length"], place_text(m)): m["median"] for m in rows if m["form"] == "ours, fused"}
    for place in dict.fromkeys(map(place_text, rows)):
        print(f"\n{place}\n  {'length':>7}  {'form':<25}{'time':>12}{'fused =1':>10}{'error':>9}")
        for m in rows:
            if place_text(m) == place:
                over = m["median"] / fused.get((m["length"], place), math.nan)
                print(f"  {m['length']:>7}  {m['form']:<25}{m['median'] * 1e3:>9.4g} ms"
                      f"{over:>10.3g}{m['error']:>9.2g}  {m['note']}".rstrip())
    print("\nfastest peers over ours\n"
          f"  {'length':>7}  {'':<22}{'dense/exact':>12}{'dense/fused':>12}{'any/fused':>12}")
    for r in d["summary"]:
        ratios = [r["dense_peer_over_exact"], r["dense_peer_over_fused"], r["peer_over_fused"]]
        texts = "".join(f"{'-' if x is None else f'{x:.3g}':>12}" for x in ratios)
        print(f"  {r['length']:>7}  {place_text(r):<22}{texts}  "
              f"{r['fastest_dense_peer'] or '-'}; {r['fastest_peer'] or '-'}")
    grouped: dict[str, list[str]] = {}
    for o in d["left_out"]:
        place = f"length {o['length']}, {place_text(o)}"
        grouped.setdefault(f"{o['form']}: {o['reason']}", []).append(place)
    print()
    for what, places in grouped.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        print(f"left out: {what} ({places[0]}{more})")
    print(f"time: median of {d['repeats']} calls, all forms in turn.\n"
          f"error: of {d['compared_rows']} rows of every head's output against exact attention in "
          "float64: relative,\n  Frobenius norm.\n"
          "dense: the fastest of PyTorch's forms over all keys. any: the fastest of all, with the\n"
          "  window of 2.3 sigma, whose error is at most about that of 20 samples.")


def main() -> int:
    """Command line entry point."""
    parser = make_parser()
    options = parser.parse_args()
    if options.json and not options.json.parent.is_dir():
        parser.error(f"argument --json: there is no folder {options.json.parent}")
    try:  # not before the arguments are known to be right: it takes a while
        from interface import load
        from measure import measured
    except ImportError as reason:
        parser.error(f"{reason}; it needs the packages of {HERE / 'requirements.txt'}")
    try:
        table = load(options.library)
    except OSError as reason:
        parser.error(f"argument --library: {options.library} cannot be used: {reason}")
    document = measured(options, table)
    show(document)
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    if not document["measurements"]:
        print("compare.py: nothing was measured", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
