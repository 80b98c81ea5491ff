"""Measures every form on every problem, and makes the record of it."""

from __future__ import annotations

import argparse
import math
import os
import platform
import shlex
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from forms import COMPARED_ROWS, EXACT, FUSED, OURS, PEERS, Call, Form, LeftOut, Problem, seconds_of
from interface import Implementation


@dataclass
class Run:
    """What was measured: `measurements` and `left_out` are those of the record."""

    measurements: list[dict] = field(default_factory=list)
    left_out: list[dict] = field(default_factory=list)

    def estimate(self, form: Form, place: dict) -> float:
        """Seconds of a call, from the longest measured problem that differs in n only; else 0."""
        for m in reversed(self.measurements):
            if all(m[k] == v for k, v in {**place, "form": form.name}.items() if k != "length"):
                return m["median"] * (place["length"] / m["length"]) ** form.growth
        return 0.0

    def measure(self, problem: Problem) -> None:
        """Measures every form on one problem, in turn."""
        options = problem.options
        place = {k: getattr(problem, k) for k in ("length", "sigma", "threads")}
        torch.set_num_threads(problem.threads)
        if hasattr(torch, "compiler"):
            torch.compiler.reset()  # a function may be compiled anew only a few times
        ready: list[tuple[Call, dict]] = []
        for form in OURS + PEERS:
            try:
                if (seconds := self.estimate(form, place)) > options.limit:
                    raise LeftOut(f"--limit: about {seconds:.2g} s a call")
                call, note = form.build(problem)
                if not math.isfinite(error := problem.error(call())):
                    raise ArithmeticError("its output is not finite")
                m = {"form": form.name, **place, "note": note, "error": error, "seconds": []}
                ready.append((call, m))
            except Exception as failure:  # whatever a peer raises is reported, and the run goes on
                reason = (str(failure).splitlines() or ["no reason given"])[0][:300]
                if isinstance(failure, (ImportError, AttributeError)):
                    reason = f"not available: {reason}"
                elif not isinstance(failure, LeftOut):
                    reason = f"failed: {type(failure).__name__}: {reason}"
                self.left_out.append({"form": form.name, **place, "reason": reason})
        for _ in range(options.repeats):
            for call, m in ready:
                time.sleep(0.01)  # OpenMP's threads of the form before spin for a moment
                m["seconds"].append(seconds_of(call))
        for _, m in ready:
            m["median"] = statistics.median(m["seconds"])
            self.measurements.append(m)

    def summary(self) -> list[dict]:
        """For each problem the fastest peers, and their times over ours; null when not measured."""
        problems: dict[tuple, dict[str, float]] = {}
        for m in self.measurements:
            place = m["length"], m["sigma"], m["threads"]
            problems.setdefault(place, {})[m["form"]] = m["median"]
        result = []
        for (length, sigma, threads), seconds in problems.items():
            row = {"length": length, "sigma": sigma, "threads": threads}
            dense = [form for form in PEERS if form.growth == 2]
            for what, peers, own in (("dense_peer_over_exact", dense, EXACT),
                                     ("dense_peer_over_fused", dense, FUSED),
                                     ("peer_over_fused", PEERS, FUSED)):
                names = [form.name for form in peers if form.name in seconds]
                best = min(names, key=seconds.__getitem__, default=None)
                row[what] = seconds[best] / seconds[own] if best and own in seconds else None
                row["fastest_dense_peer" if peers is dense else "fastest_peer"] = best
            result.append(row)
        return result


def processor() -> str:
    """The name of the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((x.split(": ", 1)[1] for x in lines if x.startswith("model name")), "unknown")


def measured(options: argparse.Namespace, table: Implementation) -> dict:
    """The record of one run, as bench/schema/peers.schema.json has it."""
    # While there is one thread: the others take this over from the one that starts them.
    flushed = torch.set_flush_denormal(True)
    run = Run()
    with torch.no_grad():
        for sigma in options.sigma:
            for length in options.length:
                problem = Problem(table, length, sigma, options)
                for problem.threads in options.threads:
                    print(f"compare.py: length {length}, sigma {sigma:g}, "
                          f"threads {problem.threads}", file=sys.stderr, flush=True)
                    run.measure(problem)
    given = "heads", "head_dim", "samples", "repeats", "limit", "memory", "seed"
    return {
        "format": "plsh-peers",
        "version": 1,
        "commit": os.environ.get("PLSH_COMMIT") or None,
        "command": shlex.join(["compare.py", *sys.argv[1:]]),
        "machine": {"processor": processor(), "processors": os.cpu_count()},
        "implementation": table.name.decode(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "type": "f32",
        "denormals_flushed": flushed,
        "compared_rows": COMPARED_ROWS,
        **{name: getattr(options, name) for name in given},
        "measurements": run.measurements,
        "left_out": run.left_out,
        "summary": run.summary(),
    }
