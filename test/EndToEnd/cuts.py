#!/usr/bin/env python3
"""Compares the cuts that the planner chooses with all others.

SPDX-License-Identifier: Apache-2.0

The planner looks at a graph of global tensors; what it chooses must be good for
the programs that come of it. So every cut is compiled, and its step predicted.

  cuts.py --bin=build/bin
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# The docs' own model, one that computes more than it sends, and one of blocks.
CASES = [("mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32",
          "dp=2 tp=2 pp=2 microbatches=2 optimizer=sgd lr=0.1"),
         ("mlp --layers=4 --input=512 --hidden=1024 --classes=16 --batch=256",
          "dp=2 pp=2 microbatches=4"),
         ("gpt --layers=1 --hidden=64 --heads=2 --seq=32 --batch=8 --vocab=64",
          "tp=2 pp=2 microbatches=4")]
TOLERANCE = 0.1  # of the best cut's time


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    tools = parser.parse_args().bin.resolve()
    errors = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def call(tool, *arguments):
            return subprocess.run([tools / tool, *arguments], cwd=folder, check=True, timeout=60,
                                  capture_output=True, text=True).stdout

        def predict(goal):
            call("pp-run", "model.mlir", f"--parallelize={goal}", "--dry-run", "--quiet",
                 "--report=report.json")
            return json.loads((folder / "report.json").read_text())

        for model, goal in CASES:
            call("pp-model", *model.split(), "-o", "model.mlir")
            graph = call("pp-opt", "model.mlir", f"--pp-parallelize={goal} stop-after=graph")
            plan = call("pp-opt", "model.mlir", f"--pp-parallelize={goal} stop-after=spmd",
                        "--emit=plan")
            last = max(int(origin) for origin in re.findall(r"pp\.origin = (\d+)", graph))
            times = {}
            for cut in range(1, last + 1):
                text = re.sub(r"cuts = \[\d+\]", f"cuts = [{cut}]", plan)
                (folder / "cut.plan").write_text(text)
                try:
                    times[cut] = predict("plan=cut.plan")["predicted_step_ms"]
                except subprocess.CalledProcessError as error:
                    if error.returncode != 1:  # but a stage without work is refused
                        raise
            chosen = predict(goal)
            best = min(times, key=times.get)
            found, least = chosen["predicted_step_ms"], times[best]
            print(f"{model}: cut {chosen['cuts'][0]} takes {found:.4g} ms, the best of "
                  f"{len(times)}, {best}, {least:.4g} ms")
            if chosen["cuts"][0] not in times or found > least * (1 + TOLERANCE):
                errors.append(f"expects a cut within {TOLERANCE:.0%} of the best")
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
