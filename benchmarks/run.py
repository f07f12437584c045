#!/usr/bin/env python3
# run.py - pp beside PyTorch and JAX: step time, memory and compile time.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: a build of pp (release preset) and the virtual environment that
# scripts/install-frameworks makes. Out: a table on stdout and all figures as JSON. The
# sides take turns, round by round, so that a slow minute of the machine falls
# on all of them; a figure is the median over rounds. Nothing else may run.
# All sides get the same two cores, initial parameters and batches, and must
# end at the same loss.
"""Compares pp with its peers on this machine."""

import argparse
import dataclasses
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile

import compile_time
import table

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TEXT = os.path.join(ROOT, "examples/data/kjv.txt")
MODEL = dict(layers=4, hidden=256, heads=8, seq=128, batch=16, vocab=256)
SIDES = ("ours", "peers", "floor", "compile")
CORES = 2
# Rounding errors grow over tens of steps; another function differs by more.
SAME_LOSS = 0.02


@dataclasses.dataclass
class Row:
    """One comparison: a partition of ours and the peers that do the same."""
    name: str
    parallelize: str
    peers: list  # command lines; the fastest counts
    target: float  # the largest ours / peer that meets the row
    model: str = "gpt"
    over_floor: float = 0  # the largest ours / floor that meets it, whatever the peer's time
    floor: str = "gpt"  # the program, of FLOORS, whose products are its floor
    # Library of a peer -> the largest ours / peer of memory. Only of a process that does all the work.
    memory: dict = dataclasses.field(default_factory=dict)


ROWS = [
    Row("1 device", "",
        [["torch_eager.py"], ["torch_eager.py", "--compile"]], 0.60),
    Row("dp=2", "dp=2", [["torch_ddp.py"]], 0.60),
    Row("tp=2", "tp=2", [["jax_mesh.py", "--tp=2"]], 0.40),
    Row("pp=2, 1F1B, 8 micro-batches",
        "pp=2 microbatches=8 schedule=1f1b",
        [["torch_pipeline.py", "--microbatches=8"]], 0.60),
    Row("tp=2, sequence", "tp=2 sequence=true",
        [["jax_mesh.py", "--tp=2", "--sequence"]], 0.50, over_floor=1.30),
    Row("dp=2, zero 3", "dp=2 zero=3", [["jax_mesh.py", "--dp=2", "--zero3"]],
        0.50, over_floor=1.30),
    Row("experts, ep=2", "ep=2", [["jax_ep.py"]], 0.50, "moe", over_floor=1.30,
        floor="moe"),
    Row("1 device, bf16", "precision=bf16",
        [["torch_eager.py", "--autocast"], ["torch_eager.py", "--autocast", "--compile"]], 0.70,
        over_floor=1.25, floor="bf16"),
    Row("dp=2, bf16", "dp=2 precision=bf16", [["torch_ddp.py", "--autocast"]], 0.70,
        over_floor=1.25, floor="bf16"),
    Row("12 x 768, bf16", "precision=bf16",
        [["torch_eager.py", "--autocast"], ["torch_eager.py", "--autocast", "--compile"],
         ["jax_mesh.py", "--autocast"]], 0.70, "gpt-12x768", over_floor=1.25, floor="bf16-12x768",
        memory={"torch": 0.50, "jax": 0.80}),
    Row("12 x 768, dp=2, bf16", "dp=2 precision=bf16", [["torch_ddp.py", "--autocast"]], 0.70, "gpt-12x768",
        over_floor=1.25, floor="bf16-12x768"),
]
# Models: their builder and their size.
MODELS = {"gpt": ("gpt", MODEL), "moe": ("moe", MODEL),
          "gpt-12x768": ("gpt", dict(layers=12, hidden=768, heads=12, seq=256, batch=8, vocab=50257))}
# Programs: their model, and keys of the plan.
FLOORS = {"gpt": ("gpt", ""), "moe": ("moe", ""), "bf16": ("gpt", "precision=bf16"),
          "bf16-12x768": ("gpt-12x768", "precision=bf16")}
# Scripts that write a model's initial values for both sides.
INITIAL = {"gpt": "parameters.py", "moe": "jax_ep.py"}


def dimensions(model=MODEL):
    return [f"--{key}={value}" for key, value in model.items()]


def run_process(command, env=None):
    """Its output, and the most MiB that it, or one process it waited for, held."""
    with subprocess.Popen(["timeout", "900", *command], stdout=subprocess.PIPE, env=env, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"error: exit code {process.returncode} of {' '.join(command)}")
    return output, usage.ru_maxrss / 1024


def last_json(command, env=None):
    """Runs a command and parses its last line of output."""
    return json.loads(run_process(command, env)[0].strip().splitlines()[-1])


@functools.cache
def idle_mib(*command):
    """What a process holds before it has a model."""
    return run_process(command)[1]


def run_ours(args, row, scratch):
    """Median step of one run of pp-run, its first steps left out."""
    report = os.path.join(scratch, "report.json")
    command = [
        args.tool("pp-run"), os.path.join(scratch, row.model + ".mlir"),
        "--parallelize=" +
        f"{row.parallelize} optimizer=adamw lr=1e-3".strip(),
        f"--data=text:{TEXT}", f"--steps={args.warmup + args.steps}",
        f"--report={report}", "--quiet"
    ]
    if "peers" in args.sides:
        command.append("--parameters=" + parameters_file(scratch, row.model))
    peak = run_process(command)[1]
    with open(report) as file:
        steps = json.load(file)["steps"]
    milliseconds = [step["ms"] for step in steps[args.warmup:]]
    return {"median_ms": statistics.median(milliseconds), "ms": milliseconds,
            "loss": steps[-1]["loss"], "mib": peak - idle_mib(args.tool("pp-run"), "--version")}


def parameters_file(scratch, model):
    return os.path.join(scratch, model + ".safetensors")


def write_models(args, scratch):
    """The models and programs that the rows need, and the values that all sides begin with."""
    programs = {row.floor for row in args.rows}
    models = {row.model for row in args.rows} | {FLOORS[program][0] for program in programs}
    if "compile" in args.sides:
        models.add("gpt")
    for model in models:
        builder, size = MODELS[model]
        subprocess.run([args.tool("pp-model"), builder, *dimensions(size), "-o",
                        os.path.join(scratch, model + ".mlir")], check=True)
        if "peers" in args.sides:
            subprocess.run([*peer_command(args, INITIAL[builder], size),
                            "--out=" + parameters_file(scratch, model)], check=True)
    for program in programs:
        model, keys = FLOORS[program]
        subprocess.run([args.tool("pp-opt"), os.path.join(scratch, model + ".mlir"),
                        f"--pp-parallelize=threads={CORES} optimizer=adamw "
                        f"lr=1e-3 {keys}", "--emit=ppx", "-o",
                        os.path.join(scratch, program + ".ppx")], check=True)


def peer_command(args, script, model=MODEL):
    return [os.path.join(args.venv, "bin/python"),
            os.path.join(HERE, "peers", script), *dimensions(model)]


def run_peer(args, row, peer):
    script, *flags = peer
    output, peak = run_process([
        *peer_command(args, script, MODELS[row.model][1]), f"--data={TEXT}", f"--threads={CORES}",
        f"--warmup={args.warmup}", f"--steps={args.steps}", *flags
    ])
    run = json.loads(output.strip().splitlines()[-1])
    library = run["version"].split()[0]
    run["mib"] = peak - idle_mib(os.path.join(args.venv, "bin/python"), "-c", f"import {library}")
    return run


def check_losses(args, runs):
    """A side that computes something else is compared in vain."""
    for row, ours, peers in zip(args.rows, runs["ours"], runs["peers"]):
        for run in (run for peer in peers for run in peer):
            if ours and abs(run["loss"] - ours[0]["loss"]) > SAME_LOSS:
                sys.exit(f"error: {row.name}: expects one loss, got ours "
                         f"{ours[0]['loss']:.4f} and {run['peer']}'s "
                         f"{run['loss']:.4f}")


def run_floor(args, scratch, program, *flags):
    # Not longer: a side's threads would spin into the turns of others.
    env = dict(os.environ, OMP_NUM_THREADS=str(CORES), GOMP_SPINCOUNT="10000")
    command = [args.tool("pp-contractions"),
               os.path.join(scratch, program + ".ppx"),
               "--seconds=0.2", *flags]
    libraries = os.path.join(args.venv, "lib")
    if "peers" in args.sides:
        env["MKL_THREADING_LAYER"] = "GNU"
        command.append("--mkl=" + os.path.join(libraries, "libmkl_rt.so.3"))
        env["LD_LIBRARY_PATH"] = libraries
    return last_json(command, env)


def measure_steps(args, scratch):
    """All runs: {"ours": [per row [per round]], "peers": ..., "floor": per model}"""
    runs = {"ours": [[] for _ in args.rows],
            "floor": {program: [] for program in FLOORS},
            "cold floor": {program: [] for program in FLOORS},
            "peers": [[[] for _ in row.peers] for row in args.rows]}
    programs = [program for program in FLOORS if any(row.floor == program for row in args.rows)]
    for number in range(args.rounds):
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr)
        for program in programs if "floor" in args.sides else ():
            runs["floor"][program].append(run_floor(args, scratch, program))
            runs["cold floor"][program].append(
                run_floor(args, scratch, program, "--cold"))
        for i, row in enumerate(args.rows):
            if "ours" in args.sides:
                runs["ours"][i].append(run_ours(args, row, scratch))
            if "peers" in args.sides:
                for j, peer in enumerate(row.peers):
                    runs["peers"][i][j].append(run_peer(args, row, peer))
    return runs


def share_cores():
    """This process and all it starts run on the same few cores."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < CORES:
        sys.exit(f"error: expects {CORES} cores, got {len(cores)}")
    os.sched_setaffinity(0, cores[:CORES])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"),
                        help="build folder of pp")
    parser.add_argument("--venv", default=os.path.join(ROOT, ".venv-peers"),
                        help="virtual environment of the peers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--sides", default=",".join(SIDES),
                        help="what to run, of " + ", ".join(SIDES))
    parser.add_argument("--rows", default="", metavar="TEXT",
                        help="only rows with this in their name")
    parser.add_argument("--json", help="where to write all figures")
    args = parser.parse_args()
    args.sides = args.sides.split(",")
    for side in args.sides:
        if side not in SIDES:
            parser.error(f"expects sides of {', '.join(SIDES)}, got '{side}'")
    args.rows = [row for row in ROWS if args.rows in row.name]
    if not args.rows:
        parser.error("expects rows with a text of theirs, of " +
                     "; ".join(row.name for row in ROWS))
    args.tool = lambda name: os.path.join(args.build, "bin", name)
    return args


def main():
    args = parse_arguments()
    share_cores()
    result = {"cpu": table.cpu_name(), "load": os.getloadavg()[0],
              "model": MODEL}
    if result["load"] > 0.5:
        print(f"warning: expects an idle machine, got a load of "
              f"{result['load']:.1f}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        write_models(args, scratch)
        result["runs"] = measure_steps(args, scratch)
        check_losses(args, result["runs"])
        if "compile" in args.sides:
            result["compile"] = compile_time.measure(
                args, os.path.join(scratch, "gpt.mlir"), TEXT)
    result["rows"] = table.rows(args.rows, result["runs"])
    print(table.render(result))
    if args.json:
        with open(args.json, "w") as out:
            json.dump(result, out, indent=1)


if __name__ == "__main__":
    main()
