#!/usr/bin/env python3
"""What it takes the host to tell a GPU a training step of GPT 12 x 768.

SPDX-License-Identifier: Apache-2.0

Compiles the model for a GPU, on one device and with the eight ranks of a mesh on one GPU, and runs
pp-issuing over libraries of NVIDIA's names that do nothing: what is left is the time of the engine
itself, without what a driver takes. Prints a Markdown table: per instruction of a step that is given
anew, per step that is recorded, and streams' waits for events per instruction. Fails where a figure is
above its limit; a step's time is the least of all steps, of the thread's processor time, so that a
machine that does other things besides measures the same.

  benchmarks/issuing.py [--bin=build/bin] [--idle=build/benchmarks/idle] [--steps=100]
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MODEL = "gpt --layers=12 --hidden=768 --heads=12 --seq=1024 --batch=8 --vocab=50257"
# By plan, the most waits per instruction.
PLANS = {"optimizer=adamw": 0.0, "dp=2 tp=2 pp=2 microbatches=4 optimizer=adamw": 0.3}
INSTRUCTION_US, RECORDED_STEP_US = 2.0, 50.0
LINE = re.compile(r"(\w+) (\d+) instructions (\d+) waits issuing \S+ (\S+) whole \S+ (\S+)")


def measure(args, plan, folder):
    """By kind of step: instructions, waits, and microseconds of a whole step."""
    model, program = folder / "gpt.mlir", folder / "gpt.ppx"
    subprocess.run([args.bin / "pp-opt", model, f"--pp-parallelize={plan}", "--emit=ppx",
                    "--targets=sm_90", "-o", program], check=True)
    libraries = os.pathsep.join([str(args.idle), os.environ.get("LD_LIBRARY_PATH", "")])
    text = subprocess.run([args.bin / "pp-issuing", program, str(args.steps)], check=True,
                          capture_output=True, text=True,
                          env={**os.environ, "LD_LIBRARY_PATH": libraries}).stdout
    return {kind: (int(instructions), int(waits), float(whole))
            for kind, instructions, waits, _, whole in LINE.findall(text)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default="build/bin")
    parser.add_argument("--idle", type=pathlib.Path, default="build/benchmarks/idle")
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    errors = []
    print("| plan | instructions a step | waits an instruction | us an instruction | us a recorded "
          "step |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([args.bin / "pp-model", *MODEL.split(), "-o", folder / "gpt.mlir"],
                       check=True)
        for plan, most in PLANS.items():
            steps = measure(args, plan, folder)
            count, waits, given = steps["given"]
            recorded = steps["recorded"][2]
            print(f"| {plan} | {count} | {waits / count:.2f} | {given / count:.2f} | "
                  f"{recorded:.1f} |", flush=True)
            for what, got, limit in (("waits an instruction", waits / count, most),
                                     ("us an instruction", given / count, INSTRUCTION_US),
                                     ("us a recorded step", recorded, RECORDED_STEP_US)):
                if got > limit:
                    errors.append(f"{plan}: expects at most {limit} {what}, got {got:.2f}")
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
