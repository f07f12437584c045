#!/usr/bin/env python3
"""Compares the predicted peak of every rank with the measured one.

SPDX-License-Identifier: Apache-2.0

Over models whose sizes are odd for the libraries that multiply: in every type,
with one thread a rank and with several, and on processors with and without
AVX-512 as far as the one at hand can play them. Then of processes of MPI, whose
messages lie behind the arenas: as their reports predict, and for a process for
each rank as a dry run on its own does.

Last, of strategies (strategies.py) with every `remat`, in 32 and 16 bits.

  peaks.py --bin=build/bin [--all]
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import strategies

MODELS = ["gpt --layers=2 --hidden=60 --heads=6 --seq=24 --batch=10 --vocab=50",
          "gpt --layers=1 --hidden=36 --heads=3 --seq=17 --batch=6 --vocab=29",
          "gpt --layers=1 --hidden=320 --heads=2 --seq=40 --batch=6 --vocab=1100",
          "mlp --layers=3 --input=7 --hidden=515 --classes=3 --batch=130",
          # Rows too large for the stack.
          "mlp --layers=2 --input=4 --hidden=4 --classes=140000 --batch=4"]
PARTITIONS = ["", "threads=3", "dp=2", "dp=2 microbatches=1 threads=2"]
PROCESSORS = [{}, {"DNNL_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}]
# Of the first model, and the processes that run them.
PROCESSES = [("dp=2", 2), ("dp=2 precision=bf16 remat=full", 2),
             ("tp=2 sequence=true precision=f16 remat=selective", 2), ("pp=2 microbatches=2", 2), ("tp=2 sequence=true", 2),
             ("dp=4 zero=3", 4), ("dp=4 zero=1", 2), ("dp=2 tp=2 pp=2 microbatches=2", 2)]
PRECISIONS = ["", "precision=bf16", "precision=f16", "precision=bf16 precision.gradients=low"]
STRATEGIES, ALL_STRATEGIES = 24, 120
MPIRUN = "mpirun --allow-run-as-root --oversubscribe --bind-to none --host localhost:8 -n".split()


def differences(report, what):
    """Of a report the ranks, and those that needed more or less than was predicted."""
    errors = []
    for rank in report["memory"]:
        difference = rank["measured_peak_bytes"] - rank["predicted_peak_bytes"]
        if difference:
            errors.append(f"{what}: rank {rank['rank']} is {difference} bytes over")
    return len(report["memory"]), errors


def check_processes(tools, model, folder):
    ranks, errors = 0, []
    for partition, count in PROCESSES:
        program, report = f"{folder}/program.ppx", f"{folder}/report.json"
        subprocess.run([tools / "pp-opt", model, "--emit=ppx", "-o", program,
                        f"--pp-parallelize={partition} threads=1 optimizer=sgd lr=0.01"],
                       check=True)
        subprocess.run([tools / "pp-run", program, "--dry-run", "--launcher=mpi", "--quiet",
                        f"--report={report}"], check=True, timeout=200)
        predicted = json.load(open(report))["memory"]
        subprocess.run([*MPIRUN, str(count), tools / "pp-run", program, "--launcher=mpi",
                        "--steps=2", "--quiet", f"--report={report}"], check=True, timeout=200)
        run = json.load(open(report))
        checked, found = differences(run, f"[{partition}] in {count} processes")
        ranks, errors = ranks + checked, errors + found
        staging = [sum(rank["staging"] for rank in memory) for memory in (predicted, run["memory"])]
        if staging[0] < staging[1] or (len(predicted) == count and staging[0] != staging[1]):
            errors.append(f"[{partition}]: a dry run predicts {staging[0]} bytes of staging, "
                          f"the run {staging[1]}")
    return ranks, errors


def check_strategies(tools, folder, count):
    ranks, errors = 0, []
    for index, strategy in enumerate(strategies.draw_all(count, list(strategies.FAMILIES))):
        model, report = f"{folder}/strategy.mlir", f"{folder}/report.json"
        subprocess.run([tools / "pp-model", *strategy.model.split(), "-o", model], check=True)
        plan = f"{strategy.spell()} {PRECISIONS[index % len(PRECISIONS)]}"
        subprocess.run([tools / "pp-run", model, f"--parallelize={plan} threads=1", "--steps=2",
                        "--data=random", "--quiet", f"--report={report}"], check=True, timeout=200)
        checked, found = differences(json.load(open(report)), f"{strategy.model}, [{plan}]")
        ranks, errors = ranks + checked, errors + found
    return ranks, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true", help="more strategies")
    args = parser.parse_args()
    errors, ranks = [], 0
    with tempfile.TemporaryDirectory() as folder:
        model, report = f"{folder}/model.mlir", f"{folder}/report.json"
        for family in MODELS:
            for dtype in ("f32", "f64", "bf16"):
                subprocess.run([args.bin / "pp-model", *family.split(), f"--dtype={dtype}",
                                "-o", model], check=True)
                for index, partition in enumerate(PARTITIONS):
                    # Kernels are compiled once for both.
                    processor = PROCESSORS[index % 2]
                    subprocess.run([args.bin / "pp-run", model,
                                    f"--parallelize={partition} optimizer=sgd lr=0.01",
                                    "--data=random", "--steps=2", "--quiet",
                                    f"--report={report}"], check=True, timeout=200,
                                   env=os.environ | processor)
                    checked, found = differences(
                        json.load(open(report)),
                        f"{family} --dtype={dtype}, [{partition}] {processor}")
                    ranks, errors = ranks + checked, errors + found
        checked, found = check_strategies(args.bin, folder,
                                          ALL_STRATEGIES if args.all else STRATEGIES)
        ranks, errors = ranks + checked, errors + found
        if shutil.which("mpirun") and (args.bin.parent / "lib" / "libpprt_mpi.so").exists():
            subprocess.run([args.bin / "pp-model", *MODELS[0].split(), "-o", model], check=True)
            checked, found = check_processes(args.bin, model, folder)
            ranks, errors = ranks + checked, errors + found
        else:
            print("processes: skipped, no MPI")
    print("\n".join(errors) or f"{ranks} ranks as predicted")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
