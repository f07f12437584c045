#!/usr/bin/env python3
"""Compares the main job's losses with those that PyTorch recorded.

SPDX-License-Identifier: Apache-2.0

The same model from the same initial values on the same batches, compared with
pytorch/curve.json in two ways, since training is chaotic. Rounding, which is
different on every processor and for every partition, grows tenfold in some 80
steps until two runs are as far apart as their noise, and then says nothing more
about the program. So the first steps are compared one by one, tightly, where
that growth is still far below the bound; the end by its level, the mean over
steps that share their batches, which noise moves little. Once 800 steps are
done the loss is below 2.1.

Trains 2 x 2 x 2 ranks, compared with one device by --verify, or judges the
report of a finished run, and, if it went on from a checkpoint, its --metrics with the
losses of all steps.

  main_job.py --bin=build/bin --text=FILE [--steps=N]
  main_job.py --report=FILE [--metrics=FILE]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

CURVE = pathlib.Path(__file__).parent / "pytorch/curve.json"
PARTITION = "dp=2 tp=2 pp=2 microbatches=4 schedule=1f1b optimizer=adamw lr=1e-3"
CALM_STEPS = 100
CALM_BOUND = 5e-3
LEVEL_STEPS = 50
LEVEL_BOUND = 0.03
END = 2.1


def train(args):
    model = json.load(open(CURVE))["model"]
    with tempfile.TemporaryDirectory() as folder:
        sizes = [f"--{key}={model[key]}"
                 for key in ("layers", "hidden", "heads", "seq", "batch", "vocab")]
        subprocess.run([args.bin / "pp-model", "gpt", *sizes, "-o", f"{folder}/gpt.mlir"],
                       check=True)
        subprocess.run([args.bin / "pp-run", f"{folder}/gpt.mlir", f"--parallelize={PARTITION}",
                        f"--data=text:{args.text}", f"--steps={args.steps}", "--quiet",
                        "--verify", f"--report={folder}/report.json"], check=True, timeout=850)
        return json.load(open(f"{folder}/report.json"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--text")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--report", help="of a run that is over")
    parser.add_argument("--metrics", help="of the same")
    args = parser.parse_args()
    if not args.report and not (args.bin and args.text):
        parser.error("expects --report, or --bin and --text")

    recorded = json.load(open(CURVE))["losses"]
    report = json.load(open(args.report)) if args.report else train(args)
    steps = [json.loads(line) for line in open(args.metrics)] if args.metrics else report["steps"]
    losses = [step["loss"] for step in steps]
    compared = min(len(losses), len(recorded))
    differences = [a - b for a, b in zip(losses, recorded)]
    worst = max(range(min(compared, CALM_STEPS)), key=lambda step: abs(differences[step]))
    print(f"{compared} steps beside PyTorch: loss {losses[0]:.4f} to {losses[compared - 1]:.4f} "
          f"(PyTorch {recorded[compared - 1]:.4f})")
    print(f"  first {min(compared, CALM_STEPS)} steps: largest difference "
          f"{abs(differences[worst]):.1e} at step {worst + 1}, bound {CALM_BOUND}")
    if not abs(differences[worst]) <= CALM_BOUND:
        sys.exit("error: the curve leaves PyTorch's")
    if compared > CALM_STEPS:
        last = differences[max(CALM_STEPS, compared - LEVEL_STEPS):compared]
        level = sum(last) / len(last)
        print(f"  last {len(last)} steps: mean difference {level:+.1e}, bound {LEVEL_BOUND}")
        if not abs(level) <= LEVEL_BOUND:
            sys.exit("error: the curve's level leaves PyTorch's")
    for rank in report["memory"]:
        if rank["predicted_peak_bytes"] != rank["measured_peak_bytes"]:
            sys.exit(f"error: expects the predicted peak, got {rank}")
    if compared == len(recorded) and not losses[-1] < END:
        sys.exit(f"error: expects a last loss below {END}")


if __name__ == "__main__":
    main()
