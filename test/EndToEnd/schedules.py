#!/usr/bin/env python3
"""Compares schedules of compiled models with their papers, and what a search finds with them.

SPDX-License-Identifier: Apache-2.0

A GPT whose layers are nearly all products takes as long for forward passes as for
either gradient. At rates that leave nothing else, the bubble that its programs are
predicted to have is that of the closed form. And for models of unequal stages and
slow messages, schedule=auto is never predicted to be slower than a named schedule.

  schedules.py --bin=build/bin
"""
import json
import sys

import scratch

EQUAL = "gpt --layers={} --hidden=256 --heads=4 --seq=4 --vocab=8 --batch={}"
FREE = "remat=none optimizer=sgd rates=1e12:1e18:0 links=1e18:0"
# Positions, micro-batches, schedule, and idle over busy time.
FIGURES = [
    (4, 8, "gpipe", 3 / 8), (4, 8, "1f1b", 3 / 8), (4, 8, "zb-h1", 3 / 24), (4, 8, "zb-h2", 3 / 24),
    (4, 8, "interleaved-1f1b chunks=2", 3 / 16), (8, 24, "1f1b", 7 / 24), (8, 24, "zb-h1", 7 / 72),
    (8, 24, "zb-h2", 7 / 72), (8, 24, "interleaved-1f1b chunks=2", 7 / 48), (4, 8, "zb-v", 1.5 / 24),
]
TOLERANCE = 0.02
MODELS = ["gpt --layers=6 --hidden=64 --heads=4 --seq=16 --batch=32 --vocab=64", "unet --depth=2 --image=8 --width=8 --batch=32",
          "mlp --layers=7 --batch=32"]
PLANS = ["pp=4 microbatches=4", "pp=2 microbatches=8 dp=2", "pp=3 microbatches=8 links=1e8:1e-4"]
NAMED = ["gpipe", "1f1b", "interleaved-1f1b chunks=2", "interleaved-1f1b chunks=4", "zb-h1", "zb-h2", "zb-v"]


def main():
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        def predict(model, keys):
            done = tools.call("pp-run", model, f"--parallelize={keys}", "--dry-run", "--quiet", "--report=report.json")
            if done.returncode:
                errors.append(f"{model} [{keys}]: exit {done.returncode}: {done.stderr}")
                return float("inf"), float("inf")
            report = json.loads((tools.folder / "report.json").read_text())
            return report["predicted_step_ms"], report["bubble"]["predicted"]

        for positions, count, schedule, expected in FIGURES:
            tools.call("pp-model", *EQUAL.format(2 * positions, 2 * count).split(), "-o", "equal.mlir")
            _, bubble = predict("equal.mlir", f"pp={positions} microbatches={count} schedule={schedule} {FREE}")
            print(f"{schedule} of {positions} positions, {count} micro-batches: bubble {bubble:.4f}, paper {expected:.4f}")
            if abs(bubble - expected) > TOLERANCE:
                errors.append(f"{schedule} of {positions}: expects a bubble of {expected:.3f}, got {bubble:.3f}")
        for model in MODELS:
            tools.call("pp-model", *model.split(), "-o", "model.mlir")
            for plan in PLANS:
                named = {name: predict("model.mlir", f"{plan} schedule={name}")[0] for name in NAMED}
                found, best = predict("model.mlir", f"{plan} schedule=auto")[0], min(named, key=named.get)
                print(f"{model} [{plan}]: found {found:.3f} ms, {best} {named[best]:.3f} ms")
                if not found <= named[best] * (1 + 1e-9):
                    errors.append(f"{model} [{plan}]: expects no more than {best}, {named[best]} ms, got {found} ms")
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
