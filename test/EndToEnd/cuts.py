#!/usr/bin/env python3
"""Compares the cuts that the planner chooses with all others.

SPDX-License-Identifier: Apache-2.0

The planner looks at a graph of global tensors; what it chooses must be good for
the programs that come of it. So every cut is compiled, and its step predicted.

  cuts.py --bin=build/bin
"""
import json
import re
import sys

import scratch

# The docs' own model, one that computes more than it sends, and one of blocks.
CASES = [("mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32",
          "dp=2 tp=2 pp=2 microbatches=2 optimizer=sgd lr=0.1"),
         ("mlp --layers=4 --input=512 --hidden=1024 --classes=16 --batch=256",
          "dp=2 pp=2 microbatches=4"),
         ("gpt --layers=1 --hidden=64 --heads=2 --seq=32 --batch=8 --vocab=64",
          "tp=2 pp=2 microbatches=4")]
TOLERANCE = 0.1  # of the best cut's time


def predict(tools, goal):
    """The predicted step and cuts; none if a stage would be without work, which is refused."""
    done = tools.call("pp-run", "model.mlir", f"--parallelize={goal}", "--dry-run", "--quiet",
                      "--report=report.json")
    if done.returncode == 1:
        return None
    done.check_returncode()
    return json.loads((tools.folder / "report.json").read_text())


def main():
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        for model, goal in CASES:
            tools.make("pp-model", *model.split(), "-o", "model.mlir")
            graph = tools.make("pp-opt", "model.mlir", f"--pp-parallelize={goal} stop-after=graph")
            plan = tools.make("pp-opt", "model.mlir", f"--pp-parallelize={goal} stop-after=spmd",
                              "--emit=plan")
            last = max(int(origin) for origin in re.findall(r"pp\.origin = (\d+)", graph))
            times = {}
            for cut in range(1, last + 1):
                text = re.sub(r"cuts = \[\d+\]", f"cuts = [{cut}]", plan)
                (tools.folder / "cut.plan").write_text(text)
                if predicted := predict(tools, "plan=cut.plan"):
                    times[cut] = predicted["predicted_step_ms"]
            chosen = predict(tools, goal)
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
