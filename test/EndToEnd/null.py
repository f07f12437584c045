#!/usr/bin/env python3
"""Runs programs on the device that computes nothing.

SPDX-License-Identifier: Apache-2.0

The strategies of verify-matrix, from passes to executor, without kernels: all
sections end, and launches, comm ops and bytes are as many as the program says,
which pp-run itself compares. A few once more in two processes.

  null.py --bin=build/bin [--jobs=2]
"""
import argparse
import concurrent.futures
import functools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import strategies
import verify_matrix

SHARED = 4  # strategies that are run by two processes, too
COUNTS = re.compile(r"^\d+ ranks, \d+ steps, counts equal .*$", re.MULTILINE)
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]


class Runner:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder

    @functools.cache
    def model(self, flags):
        path = self.folder / f"{abs(hash(flags))}.mlir"
        # Another thread may make the same, and run it.
        own = path.with_suffix(f".{threading.get_ident()}")
        own.write_bytes(subprocess.run([self.tools / "pp-model", *flags.split()], check=True,
                                       capture_output=True).stdout)
        return own.rename(path)

    def run(self, strategy, launcher=(), options=()):
        return subprocess.run(
            [*launcher, self.tools / "pp-run", self.model(strategy.model), "--device=null",
             f"--parallelize={strategy.spell()}", "--steps=3", "--hang-timeout=20", *options],
            capture_output=True, text=True, timeout=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    drawn = strategies.draw_all(verify_matrix.COUNT, list(strategies.FAMILIES))
    has_mpi = shutil.which("mpirun") and (args.bin / "../lib/libpprt_mpi.so").exists()

    failed, ended = [], []
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(args.bin, pathlib.Path(folder))
        for strategy in drawn:
            runner.model(strategy.model)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for strategy, done in zip(drawn, pool.map(runner.run, drawn)):
                if done.returncode != 0 or not COUNTS.search(done.stdout):
                    failed.append((strategy, done))
                else:
                    ended.append((strategy, COUNTS.search(done.stdout).group()))
        shared = [row for row in ended if not row[1].startswith("1 ranks")][:SHARED]
        for strategy, counts in shared if has_mpi else []:
            done = runner.run(strategy, MPIRUN, ["--launcher=mpi"])
            if done.returncode != 0 or counts not in done.stdout:
                failed.append((strategy, done))
    for strategy, done in failed:
        print(f"FAILED {strategy.model}: {strategy.spell()}: exit {done.returncode}\n"
              f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    print(f"{len(ended)} of {len(drawn)} programs end, with the counts that they say; "
          + (f"{len(shared)} over two processes" if has_mpi else "no MPI"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
