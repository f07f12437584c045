#!/usr/bin/env python3
"""Checks whole runs of partitioned programs.

SPDX-License-Identifier: Apache-2.0

Over 20 steps of a small GPT on text: the loss curve of every partition agrees
with one device to 1e-4; two runs of one partition give the same bits (losses and
saved parameters); on every rank the predicted peak is the measured one.

  curves.py --bin=build/bin --text=FILE
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

PARTITIONS = ["", "dp=2", "tp=2", "pp=2 microbatches=4 schedule=gpipe",
              "pp=2 microbatches=4 schedule=1f1b", "dp=2 tp=2", "dp=3", "tp=3 microbatches=2",
              "dp=2 tp=2 pp=2 microbatches=4 schedule=1f1b"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--text", required=True)
    args = parser.parse_args()
    errors = []

    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/gpt.mlir"
        subprocess.run([args.bin / "pp-model", "gpt", "--layers=2", "--hidden=64", "--heads=4",
                        "--seq=32", "--batch=8", "--vocab=256", "-o", model], check=True)

        def run(partition, name):
            report, saved = f"{folder}/{name}.json", f"{folder}/{name}.safetensors"
            subprocess.run([args.bin / "pp-run", model,
                            f"--parallelize={partition} optimizer=adamw lr=1e-3",
                            f"--data=text:{args.text}", "--steps=20", "--quiet",
                            f"--report={report}", f"--save={saved}"], check=True, timeout=120)
            return json.load(open(report)), open(saved, "rb").read()

        reference = None
        for index, partition in enumerate(PARTITIONS):
            report, saved = run(partition, f"a{index}")
            again, savedAgain = run(partition, f"b{index}")
            losses = [step["loss"] for step in report["steps"]]
            reference = reference or losses
            worst = max(abs(a - b) for a, b in zip(losses, reference))
            if len(losses) != 20 or worst > 1e-4:
                errors.append(f"[{partition}] differs from one device by {worst}")
            if losses != [step["loss"] for step in again["steps"]] or saved != savedAgain:
                errors.append(f"[{partition}] gives other bits on a second run")
            for rank in report["memory"]:
                if rank["predicted_peak_bytes"] != rank["measured_peak_bytes"]:
                    errors.append(f"[{partition}] rank {rank['rank']}: predicted "
                                  f"{rank['predicted_peak_bytes']} bytes, measured "
                                  f"{rank['measured_peak_bytes']}")
            print(f"[{partition}] worst difference {worst:.1e}, peak "
                  f"{max(rank['measured_peak_bytes'] for rank in report['memory'])} bytes")
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
