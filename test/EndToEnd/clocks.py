#!/usr/bin/env python3
"""Runs two processes whose clocks are far apart, as those of two hosts are.

SPDX-License-Identifier: Apache-2.0

- The report says how far times may be wrong, and what it measures between ranks is possible.
- In the trace no message arrives before it was sent, but by that error, and the run lasts as
  long as it does.

Skipped where a process cannot be given another clock (unshare --time).

  clocks.py --bin=build/bin
"""
import json
import shutil
import subprocess
import sys
import time

import scratch

GPT = "gpt --layers=4 --hidden=32 --heads=4 --seq=16 --batch=16 --vocab=64"
AHEAD = 5000  # seconds, of process 1


def shifted(seconds):
    return ["unshare", "--time", "--monotonic", str(seconds)]


def check(place, strategy, steps):
    options = [place.tools / "pp-run", "m.mlir", f"--parallelize={strategy} threads=1",
               "--steps=6", f"--trace-steps={steps}", "--launcher=mpi", "--quiet",
               "--trace=trace.json", "--report=report.json"]
    host = ["--host", "localhost:2", "-n", "1"]
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", *host,
               *options, ":", *host, *shifted(AHEAD), *options]
    began = time.time()
    done = subprocess.run(list(map(str, command)), cwd=place.folder, timeout=100,
                          capture_output=True, text=True)
    if done.returncode:
        yield f"code {done.returncode}: {done.stderr}"
        return
    lasted = time.time() - began
    report = json.loads((place.folder / "report.json").read_text())
    error = report["clock_error_ms"]
    if not 0 < error < 100:
        yield f"expects an error of the clocks, got {error} ms"
    events = json.loads((place.folder / "trace.json").read_text())["traceEvents"]
    sent, arrived = ({event["id"]: event["ts"] for event in events if event["ph"] == end}
                     for end in "sf")
    if not sent:
        yield "expects messages"
    for message, begin in sent.items():
        if arrived[message] <= begin - 1e3 * error:
            yield f"message {message} is sent at {begin} us and arrives at {arrived[message]} us"
    slices = [event for event in events if event["ph"] == "X"]
    length = max(event["ts"] + event["dur"] for event in slices) * 1e-6
    if not 0 < length < lasted:
        yield f"expects a trace of at most {lasted} s, got {length} s"
    if not report["bubble"]["measured"] > 0:
        yield f"expects a bubble above 0, got {report['bubble']}"
    travel = report["communication_ms"]["measured"]
    if not 0 < travel["exposed"] + travel["hidden"] < 1e3 * lasted:
        yield f"expects messages that travel within {lasted} s, got {travel}"
    print(f"{strategy}: {len(sent)} messages in {length:.3f} s, "
          f"error {error:.3f} ms")


def main():
    if not shutil.which("mpirun"):
        print("skipped: no MPI")
        return 0
    with scratch.from_command_line(__doc__) as place:
        if not (place.tools.parent / "lib" / "libpprt_mpi.so").exists():
            print("skipped: no MPI")
            return 0
        if subprocess.run([*shifted(AHEAD), "true"], capture_output=True).returncode:
            print("skipped: no time namespaces")
            return 0
        place.make("pp-model", *GPT.split(), "-o", "m.mlir")
        faults = [f"{strategy}, {steps} steps: {fault}"
                  for strategy, steps in (("pp=2 microbatches=4", 1), ("pp=2 microbatches=4", 4))
                  for fault in check(place, strategy, steps)]
    for fault in faults[:20]:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
