#!/usr/bin/env python3
"""What checkpoints cost: steps with and without, and bytes a second beside those of the disk.

SPDX-License-Identifier: Apache-2.0

The main job (2 x 2 x 2 ranks) with a checkpoint every 20 steps, and without, in turns. Then a model whose state is
of 4 GB: the time from a save to its index beside that of writing and syncing as many bytes of memory into as many
files, and the start of a run from it beside reading them, out of the page cache (with root: also from the disk,
both after the cache is dropped).

  benchmarks/checkpoint.py [--bin=build/bin] [--folder=DIR] [--rounds=N] [--gigabytes=N]
"""
import argparse
import json
import mmap
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GPT = "gpt --layers=4 --hidden=256 --heads=8 --seq=128 --batch=16 --vocab=256"
PLAN = "dp=2 tp=2 pp=2 microbatches=4 schedule=1f1b optimizer=adamw lr=1e-3"
STEPS, EVERY = 60, 20
WIDTH = 4096
PIECE = 1 << 20


class Tools:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder

    def make(self, name, model, plan):
        text = subprocess.run([self.tools / "pp-model", *model.split()], check=True, capture_output=True).stdout
        subprocess.run([self.tools / "pp-opt", "-", "--emit=ppx", f"--pp-parallelize={plan}", "-o",
                        f"{self.folder}/{name}"], input=text, check=True)

    def run(self, name, *options):
        report = f"{self.folder}/report.json"
        subprocess.run([self.tools / "pp-run", f"{self.folder}/{name}", "--quiet", f"--report={report}", *options],
                       check=True)
        return json.load(open(report))


def time_steps(report):
    """Without the first, which is slower; waits for a save count."""
    return sum(step["ms"] + step["data_ms"] for step in report["steps"][1:])


def compare_steps(tools, rounds):
    tools.make("gpt.ppx", GPT, PLAN)
    data, checkpoints = f"--data=text:{ROOT}/examples/data/kjv.txt", f"{tools.folder}/gpt"
    ratios = []
    for turn in range(rounds):
        times = {}
        for saves in (True, False) if turn % 2 else (False, True):
            shutil.rmtree(checkpoints, ignore_errors=True)
            options = [f"--checkpoint={checkpoints}", f"--save-every={EVERY}"] if saves else []
            times[saves] = time_steps(tools.run("gpt.ppx", data, f"--steps={STEPS}", *options))
        ratios.append(times[True] / times[False])
        print(f"  {STEPS} steps {times[False]:.0f} ms, with saves {times[True]:.0f} ms: {ratios[-1]:.3f}", flush=True)
    print(f"a save every {EVERY} steps: {statistics.median(ratios):.3f} of the time (median; goal 1.02)")


def drop_cache():
    os.sync()
    try:
        open("/proc/sys/vm/drop_caches", "w").write("1")
    except OSError:
        return False
    return True


def write_plainly(folder, sizes, memory):
    """As pp-run has a state and its copy, the writer has `memory`. Past the cache, which is faster than through it."""
    begin = time.time()
    os.makedirs(folder)
    with memoryview(memory) as values:
        for number, size in enumerate(sizes):
            file = os.open(f"{folder}/{number}", os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
            for at in range(0, size, PIECE):
                os.write(file, values[at:at + PIECE])
            os.fsync(file)
            os.close(file)
    return time.time() - begin


def read_plainly(paths):
    """Into memory that is taken for it."""
    begin = time.time()
    for path in paths:
        with open(path, "rb", buffering=0) as file, mmap.mmap(-1, path.stat().st_size) as memory:
            with memoryview(memory) as values:
                at = 0
                while count := file.readinto(values[at:at + PIECE]):
                    at += count
    return time.time() - begin


def compare_disk(tools, rounds, gigabytes):
    # AdamW: 12 bytes a parameter.
    layers = max(2, round(gigabytes * 1e9 / 12 / WIDTH**2))
    tools.make("mlp.ppx", f"mlp --layers={layers} --input={WIDTH} --hidden={WIDTH} --classes=16 --batch=8",
               "dp=2 zero=1 optimizer=adamw lr=1e-3")
    folder, plain = pathlib.Path(tools.folder) / "mlp", f"{tools.folder}/plain"
    rates = {"save": [], "load, cached": [], "load, from disk": []}
    files = []

    def save():
        shutil.rmtree(folder, ignore_errors=True)
        drop_cache()
        seconds = tools.run("mlp.ppx", "--steps=1", f"--checkpoint={folder}")["checkpoints"][0]["whole_ms"] / 1e3
        files[:] = sorted(folder.glob("step-1/*.safetensors"))
        return seconds

    def write():
        shutil.rmtree(plain, ignore_errors=True)
        drop_cache()
        with mmap.mmap(-1, 2 * size) as memory:
            for at in range(0, len(memory), mmap.PAGESIZE):
                memory[at] = 1
            return write_plainly(plain, sizes, memory)

    save()
    sizes = [path.stat().st_size for path in files]
    size = sum(sizes)
    for turn in range(rounds):
        if turn % 2:
            theirs, ours = write(), save()
        else:
            ours, theirs = save(), write()
        rates["save"].append((size / ours, size / theirs))
        shutil.rmtree(plain)
        for name in ("load, from disk", "load, cached"):
            if name == "load, from disk" and not drop_cache():
                continue
            theirs = read_plainly(files)
            if name == "load, from disk":
                drop_cache()
            # Without parameters to read, a start takes memory and makes them.
            ours = tools.run("mlp.ppx", "--steps=1", f"--resume={folder}")["start_ms"] / 1e3
            rates[name].append((size / ours, size / theirs))
        print(f"  {size / 1e9:.2f} GB in {len(files)} files: " + ", ".join(
            f"{name} {pairs[-1][0] / 1e9:.2f} of {pairs[-1][1] / 1e9:.2f} GB/s" for name, pairs in rates.items()
            if pairs), flush=True)
    for name, pairs in rates.items():
        if pairs:
            print(f"{name}: {statistics.median(a / b for a, b in pairs):.2f} of the plain rate (median; goal 0.8)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--folder", help="on the disk to measure; default: the folder for temporary files")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gigabytes", type=float, default=4)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        tools = Tools(args.bin.resolve(), folder)
        compare_steps(tools, args.rounds)
        compare_disk(tools, args.rounds, args.gigabytes)


if __name__ == "__main__":
    main()
