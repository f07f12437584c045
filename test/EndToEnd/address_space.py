#!/usr/bin/env python3
"""Runs artifacts in no more address space than their prediction needs.

SPDX-License-Identifier: Apache-2.0

What a process needs beside the predicted peaks is measured once per plan, with a
small batch: the least limit (RLIMIT_AS) less the prediction. In that, the peaks
of a large batch and 32 MiB the run trains; with a fifth of the peaks less it
ends with code 4 and one line.

  address_space.py --bin=build/bin
"""
import json
import resource
import subprocess
import sys

import scratch

MODEL = "gpt --layers=2 --hidden=64 --heads=8 --seq=384 --vocab=512"
BATCHES = {"small": 4, "large": 32}
PLANS = ["", "precision=bf16", "remat=full", "dp=2", "pp=2 microbatches=4"]
# Arenas begin at multiples of 2 MiB, and a thread is started where 16 MiB are free (Thread.cpp).
MORE = 32 << 20
GRAIN = 1 << 20  # of the least limit


def run(place, program, limit):
    return subprocess.run(
        [place.tools / "pp-run", program, "--data=random", "--steps=2", "--quiet"],
        cwd=place.folder, timeout=120, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


def least_limit(place, program):
    """In which a program runs."""
    low, high = 0, 2 << 30
    while high - low > GRAIN:
        middle = (low + high) // 2
        if run(place, program, middle).returncode == 0:
            high = middle
        else:
            low = middle
    return high


def predicted(place, program):
    """The bytes of all ranks."""
    place.make("pp-run", program, "--dry-run", "--quiet", "--report=report.json")
    report = json.loads((place.folder / "report.json").read_text())
    return sum(rank["predicted_peak_bytes"] for rank in report["memory"])


def check(judge, plan):
    place = judge.place
    for name in BATCHES:
        place.make("pp-opt", f"{name}.mlir", f"--pp-parallelize=threads=1 optimizer=adamw {plan}",
                   "--emit=ppx", "-o", f"{name}.ppx")
    idle = least_limit(place, "small.ppx") - predicted(place, "small.ppx")
    bytes = predicted(place, "large.ppx")
    enough = idle + bytes + MORE
    done = run(place, "large.ppx", enough)
    judge.expect(done.returncode == 0,
                 f"[{plan}] {bytes} bytes: expects a run, got {done.returncode} and {done.stderr}")
    done = run(place, "large.ppx", enough - bytes // 5)
    judge.expect(done.returncode == 4 and len(done.stderr.splitlines()) == 1,
                 f"[{plan}] {bytes} bytes: expects 4 and a line with a fifth less, got "
                 f"{done.returncode} and {done.stderr}")
    judge.expect(bytes // 5 > 1.5 * MORE, f"[{plan}] expects more than {bytes} bytes")
    print(f"[{plan}] {bytes >> 20} MiB predicted, {idle >> 20} MiB beside")


def main():
    with scratch.from_command_line(__doc__) as place:
        for name, batch in BATCHES.items():
            place.make("pp-model", *MODEL.split(), f"--batch={batch}", "-o", f"{name}.mlir")
        judge = scratch.Judge(place)
        for plan in PLANS:
            check(judge, plan)
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
