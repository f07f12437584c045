#!/usr/bin/env python3
# resnet.py - ResNet-18 on one device: pp beside PyTorch.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: a build of pp (release preset) and the virtual environment that
# scripts/install-frameworks makes. Out: a table on stdout. The sides take turns, round by
# round; a figure is the median over rounds of the median step. All get the same
# two cores, initial parameters and batches. All must have the same loss after one
# update; later ones differ, for rounding grows over steps of a network with batch norm.
"""Compares a training step of ResNet-18 with PyTorch's on this machine."""

import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import run

MODEL = dict(depth=18, image=32, classes=10, batch=32, norm="batch")
PEERS = [[], ["--channels-last"], ["--compile"]]
SAME_LOSS = 1e-3


def write_batches(args, folder):
    count = (args.warmup + args.steps) * MODEL["batch"]
    subprocess.run([
        os.path.join(args.venv, "bin/python"),
        os.path.join(run.HERE, "peers/image_batches.py"), f"--out={folder}",
        f"--count={count}", f"--image={MODEL['image']}",
        f"--classes={MODEL['classes']}"], check=True)


CONVOLUTION = re.compile(
    r"pp.convolution.* strides \[(\d+).* low \[(\d+).*tensor<(\d+)x(\d+)x\d+x(\d+)xf32>, "
    r"tensor<(\d+)x\d+x\d+x(\d+)xf32>")


def run_floor(args, folder):
    """What oneDNN's convolutions take, each in the layouts that it likes best."""
    shapes = collections.Counter()
    with open(os.path.join(folder, "resnet.mlir")) as file:
        for line in file:
            found = CONVOLUTION.search(line)
            if found:
                stride, low, batch, image, inputs, size, outputs = found.groups()
                shapes[int(inputs == "3"), batch, image, inputs, outputs, size,
                       stride, low] += 1
    lines = "".join(f"{count} {' '.join(map(str, shape))}\n"
                    for shape, count in shapes.items())
    done = subprocess.run(
        [args.tool("pp-convolutions")], input=lines, text=True, check=True,
        stdout=subprocess.PIPE, timeout=900,
        env=dict(os.environ, OMP_NUM_THREADS=str(run.CORES)))
    return dict(json.loads(done.stdout.splitlines()[-1]), loss=None,
                peer="floor: oneDNN's convolutions alone")


def run_ours(args, folder):
    report = os.path.join(folder, "report.json")
    subprocess.run([
        args.tool("pp-run"), os.path.join(folder, "resnet.mlir"),
        f"--parallelize=threads={run.CORES} optimizer=adamw lr=1e-3",
        f"--data=npy:{folder}", f"--steps={args.warmup + args.steps}",
        f"--parameters={os.path.join(folder, 'initial.safetensors')}",
        f"--report={report}", "--quiet"], check=True, timeout=900)
    with open(report) as file:
        steps = json.load(file)["steps"]
    times = [step["ms"] for step in steps[args.warmup:]]
    return {"median_ms": statistics.median(times), "loss": steps[-1]["loss"],
            "peer": "pp"}


def run_peer(args, folder, flags):
    return run.last_json([
        os.path.join(args.venv, "bin/python"),
        os.path.join(run.HERE, "peers/torch_resnet.py"), f"--data={folder}",
        f"--parameters={os.path.join(folder, 'initial.safetensors')}",
        f"--threads={run.CORES}", f"--warmup={args.warmup}",
        f"--steps={args.steps}", f"--batch={MODEL['batch']}",
        f"--classes={MODEL['classes']}", f"--norm={MODEL['norm']}", *flags])


def check_losses(args, folder):
    """Refuses peers that compute another function, by their loss after one update."""
    short = argparse.Namespace(**{**vars(args), "warmup": 0, "steps": 2})
    ours = run_ours(short, folder)["loss"]
    for flags in PEERS:
        peer = run_peer(short, folder, flags)
        if abs(peer["loss"] - ours) > SAME_LOSS * ours:
            sys.exit(f"error: {peer['peer']} expects a loss of {ours} after one update, "
                     f"as pp has it, got {peer['loss']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(run.ROOT, "build"))
    parser.add_argument("--venv", default=os.path.join(run.ROOT, ".venv-peers"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    args.tool = lambda name: os.path.join(args.build, "bin", name)
    run.share_cores()
    print(f"load before: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([args.tool("pp-model"), "resnet",
                        *(f"--{key}={value}" for key, value in MODEL.items()),
                        "-o", os.path.join(folder, "resnet.mlir")], check=True)
        write_batches(args, folder)
        subprocess.run([
            args.tool("pp-run"), os.path.join(folder, "resnet.mlir"), "--quiet",
            f"--data=npy:{folder}", "--steps=0",
            f"--save={os.path.join(folder, 'initial.safetensors')}"],
            check=True)
        check_losses(args, folder)
        runs = {}
        for _ in range(args.rounds):
            for result in [run_ours(args, folder), run_floor(args, folder),
                           *(run_peer(args, folder, flags) for flags in PEERS)]:
                runs.setdefault(result["peer"], []).append(result)
    ours = statistics.median(r["median_ms"] for r in runs["pp"])
    print("| ResNet-18 | ms a step | pp / peer | last loss |\n|---|---|---|---|")
    for name, results in runs.items():
        time = statistics.median(r["median_ms"] for r in results)
        print(f"| {name} | {time:.1f} | {ours / time:.2f} | "
              f"{results[0]['loss'] or '-'} |")


if __name__ == "__main__":
    main()
