#!/usr/bin/env python3
"""Compares schedules of compiled models with their papers, and what a search finds with them.

SPDX-License-Identifier: Apache-2.0

A GPT whose layers are nearly all products takes as long for forward passes as for
either gradient. At rates that leave nothing else, the bubble that its programs are
predicted to have is that of the closed form. A model whose W needs half of what its
B needs (a product, then four times tanh: five values of which B needs four, W two)
holds what the papers' tables say. And for models of unequal stages and slow messages,
schedule=auto is never predicted to be slower than a named schedule.

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
# What each of four positions holds of eight micro-batches at its peak: activations of one are 1, what W needs is 0.5.
PEAKS = [("1f1b", [4, 3, 2, 1]), ("zb-h1", [4, 3.5, 3, 2.5]), ("zb-h2", [7, 6, 5, 4]), ("zb-v", [4, 4, 4, 4])]
PEAK_TOLERANCE = 0.25
LAYERS, ROWS, WIDTH = 64, 64, 64
MODELS = ["gpt --layers=6 --hidden=64 --heads=4 --seq=16 --batch=32 --vocab=64", "unet --depth=2 --image=8 --width=8 --batch=32",
          "mlp --layers=7 --batch=32"]
PLANS = ["pp=4 microbatches=4", "pp=2 microbatches=8 dp=2", "pp=3 microbatches=8 links=1e8:1e-4"]
NAMED = ["gpipe", "1f1b", "interleaved-1f1b chunks=2", "interleaved-1f1b chunks=4", "zb-h1", "zb-h2", "zb-v"]


def halves(count):
    """A model of LAYERS layers, each a product and four times tanh, of ROWS rows per micro-batch."""
    values, weights = f"tensor<{count * ROWS}x{WIDTH}xf32>", f"tensor<{WIDTH}x{WIDTH}xf32>"
    arguments = [f'%x: {values} {{pp.name = "x", pp.role = #pp.role<input>}}']
    arguments += [f'%w{layer}: {weights} {{pp.name = "w{layer}", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>}}'
                  for layer in range(LAYERS)]
    lines, last = [], "%x"
    for layer in range(LAYERS):
        lines.append(f"%v{layer}_0 = pp.dot_general {last}, %w{layer} batch [] x [] contract [1] x [0] : "
                     f"{values}, {weights} -> {values}")
        lines += [f"%v{layer}_{i + 1} = pp.tanh %v{layer}_{i} : {values}" for i in range(4)]
        last = f"%v{layer}_4"
    lines += [f"%loss = pp.reduce sum {last} dims [0, 1] : {values} -> tensor<f32>", "return %loss : tensor<f32>"]
    return (f"func.func @main({', '.join(arguments)})\n    -> (tensor<f32> {{pp.name = \"loss\", pp.role = #pp.role<loss>}}) {{\n  "
            + "\n  ".join(lines) + "\n}\n")


def main():
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        def predict(model, keys):
            done = tools.call("pp-run", model, f"--parallelize={keys}", "--dry-run", "--quiet", "--report=report.json")
            if done.returncode:
                errors.append(f"{model} [{keys}]: exit {done.returncode}: {done.stderr}")
                return float("inf"), float("inf"), []
            report = json.loads((tools.folder / "report.json").read_text())
            return (report["predicted_step_ms"], report["bubble"]["predicted"],
                    [rank["activations"] for rank in report["memory"]])

        for positions, count, schedule, expected in FIGURES:
            tools.call("pp-model", *EQUAL.format(2 * positions, 2 * count).split(), "-o", "equal.mlir")
            _, bubble, _ = predict("equal.mlir", f"pp={positions} microbatches={count} schedule={schedule} {FREE}")
            print(f"{schedule} of {positions} positions, {count} micro-batches: bubble {bubble:.4f}, paper {expected:.4f}")
            if abs(bubble - expected) > TOLERANCE:
                errors.append(f"{schedule} of {positions}: expects a bubble of {expected:.3f}, got {bubble:.3f}")
        (tools.folder / "halves.mlir").write_text(halves(8))
        for schedule, expected in PEAKS:
            _, _, held = predict("halves.mlir", f"pp=4 microbatches=8 schedule={schedule} {FREE}")
            peaks = [size / (LAYERS // 4 * 4 * ROWS * WIDTH * 4) for size in held]
            print(f"{schedule}: peaks {', '.join(f'{peak:.2f}' for peak in peaks)}, paper {expected}")
            if len(peaks) != 4 or any(abs(a - b) > PEAK_TOLERANCE for a, b in zip(peaks, expected)):
                errors.append(f"{schedule}: expects peaks of {expected}, got {peaks}")
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
