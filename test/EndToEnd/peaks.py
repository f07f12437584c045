#!/usr/bin/env python3
"""Compares the predicted peak of every rank with the measured one.

SPDX-License-Identifier: Apache-2.0

Over models whose sizes are odd for the libraries that multiply: in every type,
with one thread a rank and with several, and on processors with and without
AVX-512 as far as the one at hand can play them.

  peaks.py --bin=build/bin
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MODELS = ["gpt --layers=2 --hidden=60 --heads=6 --seq=24 --batch=10 --vocab=50",
          "gpt --layers=1 --hidden=36 --heads=3 --seq=17 --batch=6 --vocab=29",
          "gpt --layers=1 --hidden=320 --heads=2 --seq=40 --batch=6 --vocab=1100",
          "mlp --layers=3 --input=7 --hidden=515 --classes=3 --batch=130",
          # Rows too large for the stack.
          "mlp --layers=2 --input=4 --hidden=4 --classes=140000 --batch=4"]
PARTITIONS = ["", "threads=3", "dp=2", "dp=2 microbatches=1 threads=2"]
PROCESSORS = [{}, {"DNNL_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    args = parser.parse_args()
    errors, ranks = [], 0
    with tempfile.TemporaryDirectory() as folder:
        model, report = f"{folder}/model.mlir", f"{folder}/report.json"
        for family in MODELS:
            for dtype in ("f32", "f64"):
                subprocess.run([args.bin / "pp-model", *family.split(), f"--dtype={dtype}",
                                "-o", model], check=True)
                for index, partition in enumerate(PARTITIONS):
                    # Kernels are compiled once for both.
                    processor = PROCESSORS[index % 2]
                    subprocess.run([args.bin / "pp-run", model,
                                    f"--parallelize={partition} optimizer=sgd lr=0.01",
                                    "--data=random", "--steps=2", "--quiet",
                                    f"--report={report}"], check=True, timeout=60,
                                   env=os.environ | processor)
                    for rank in json.load(open(report))["memory"]:
                        ranks += 1
                        difference = rank["measured_peak_bytes"] - rank["predicted_peak_bytes"]
                        if difference:
                            errors.append(f"{family} --dtype={dtype}, [{partition}] {processor}: "
                                          f"rank {rank['rank']} is {difference} bytes over")
    print("\n".join(errors) or f"{ranks} ranks as predicted")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
