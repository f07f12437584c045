#!/usr/bin/env python3
"""Compares the cuts that the planner chooses with all single moves of one.

SPDX-License-Identifier: Apache-2.0

The planner looks at a graph of global tensors; what it chooses must be good for
the programs that come of it. So every cut is moved to wherever it may be, what
comes of it is compiled, and its step predicted.

  cuts.py --bin=build/bin
"""
import json
import re
import sys

import scratch

# The docs' own model, one that computes more than it sends, one of blocks, and
# one with a vocabulary as much work as a shard of its layers, where tp does not split it.
CASES = [("mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32",
          "dp=2 tp=2 pp=2 microbatches=2 optimizer=sgd lr=0.1"),
         ("mlp --layers=4 --input=512 --hidden=1024 --classes=16 --batch=256",
          "dp=2 pp=2 microbatches=4"),
         ("gpt --layers=1 --hidden=64 --heads=2 --seq=32 --batch=8 --vocab=64",
          "tp=2 pp=2 microbatches=4"),
         ("gpt --layers=2 --hidden=128 --heads=4 --seq=32 --batch=16 --vocab=1536",
          "tp=4 pp=2 microbatches=4 vocab=false")]
TOLERANCE = 0.1  # of the best cut's time


def predict(tools, goal):
    """The predicted step and cuts; none if a stage would be without work, which is refused."""
    done = tools.call("pp-run", "model.mlir", f"--parallelize={goal}", "--dry-run", "--quiet",
                      "--report=report.json")
    if done.returncode == 1:
        return None
    done.check_returncode()
    return json.loads((tools.folder / "report.json").read_text())


def moves(cuts, last):
    """All cuts that differ from `cuts` in one."""
    for index, cut in enumerate(cuts):
        low = cuts[index - 1] if index else 0
        high = cuts[index + 1] if index + 1 < len(cuts) else last + 1
        for moved in range(low + 1, high):
            if moved != cut:
                yield (*cuts[:index], moved, *cuts[index + 1:])


def main():
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        for model, goal in CASES:
            tools.make("pp-model", *model.split(), "-o", "model.mlir")
            graph = tools.make("pp-opt", "model.mlir", f"--pp-parallelize={goal} stop-after=graph")
            plan = tools.make("pp-opt", "model.mlir", f"--pp-parallelize={goal} stop-after=spmd",
                              "--emit=plan")
            last = max(int(origin) for origin in re.findall(r"pp\.origin = (\d+)", graph))
            chosen = predict(tools, goal)
            times = {tuple(chosen["cuts"]): chosen["predicted_step_ms"]}
            for cuts in moves(chosen["cuts"], last):
                text = re.sub(r"cuts = \[.*\]", f"cuts = {list(cuts)}", plan)
                (tools.folder / "cut.plan").write_text(text)
                if predicted := predict(tools, "plan=cut.plan"):
                    times[cuts] = predicted["predicted_step_ms"]
            best = min(times, key=times.get)
            found, least = chosen["predicted_step_ms"], times[best]
            print(f"{model}: cuts {chosen['cuts']} take {found:.4g} ms, the best of "
                  f"{len(times)}, {list(best)}, {least:.4g} ms")
            if found > least * (1 + TOLERANCE):
                errors.append(f"expects cuts within {TOLERANCE:.0%} of the best")
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
