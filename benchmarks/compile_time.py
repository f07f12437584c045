# compile_time.py - how long pp needs before the first step.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: the tools and the small model. Out: rows with seconds and limits. Our
# times are of whole processes: start, parsing and writing are part of them;
# "to the first step" leaves that step itself out.
# JAX's are those of tracing, partitioning and compiling the same step; they
# stand beside ours for scale and decide nothing.
"""Compile time: small model to its first step, large models to level 2."""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REPEATS = 5
LARGE = dict(hidden=1024, heads=16, seq=1024, batch=1024, vocab=50304)
SHARED = os.path.join(HERE, "../test/Transforms/Shard/Inputs/shared_weight.py")
DEEP = dict(hidden=8, heads=2, seq=4, batch=4, vocab=8)
# Small, with as many instructions as any.
CHECKED = dict(layers=24, hidden=64, heads=4, seq=16, vocab=64)
# A long table: 64 positions of 4 stages of a layer, 512 micro-batches.
LONG = dict(LARGE, layers=256, batch=512)
MAIN_JOB = "dp=2 tp=2 pp=2 microbatches=4 schedule=1f1b "
OPTIMIZER = "optimizer=adamw lr=1e-3"


def seconds(command, env=None):
    start = time.perf_counter()
    subprocess.run(command, check=True, env=env, timeout=300,
                   stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def row(name, times, limit, limit_text=None, jax=None):
    value = statistics.median(times)
    return {"name": name, "seconds": value, "all": times, "jax": jax,
            "limit_text": limit_text or f"<= {limit:.2f}",
            "met": value <= limit}


def seconds_to_first_step(command, env, report):
    total = seconds([*command, f"--report={report}"], env)
    with open(report) as file:
        return total - json.load(file)["steps"][0]["ms"] / 1e3


def first_step(args, model, text):
    """From .mlir to the first step, with an empty and a filled cache."""
    for name, partition in ("1 device", ""), ("2x2x2", MAIN_JOB):
        command = [args.tool("pp-run"), model,
                   f"--parallelize={partition}{OPTIMIZER}",
                   f"--data=text:{text}", "--steps=1", "--quiet"]
        cold, warm = [], []
        for _ in range(REPEATS):
            with tempfile.TemporaryDirectory() as cache:
                env = dict(os.environ, XDG_CACHE_HOME=cache)
                report = os.path.join(cache, "report.json")
                cold.append(seconds_to_first_step(command, env, report))
                warm.append(seconds_to_first_step(command, env, report))
        yield row(f"to the first step, {name}, cold", cold, 1.5)
        yield row(f"to the first step, {name}, warm kernel cache", warm, 0.3)


def large_dimensions(layers):
    return [f"--layers={layers}", *(f"--{k}={v}" for k, v in LARGE.items())]


def jax_seconds(args, layers):
    if "peers" not in args.sides:
        return None
    peer = subprocess.run(
        [os.path.join(args.venv, "bin/python"),
         os.path.join(HERE, "peers/jax_compile.py"), "--dp=8", "--tp=8",
         *large_dimensions(layers)],
        check=True, stdout=subprocess.PIPE, text=True, timeout=600)
    times = json.loads(peer.stdout)
    return times["trace_seconds"] + times["compile_seconds"]


def partition(args, scratch):
    """pp-opt of large models to level 2, which has one program for all."""
    def times(layers, *meshes):
        model = os.path.join(scratch, f"gpt{layers}.mlir")
        subprocess.run([args.tool("pp-model"), "gpt", "-o", model,
                        *large_dimensions(layers)], check=True)
        of = {mesh: [] for mesh in meshes}
        for _ in range(REPEATS):
            for mesh in meshes:  # in turns: some are compared
                option = f"{mesh} {OPTIMIZER} stop-after=spmd"
                of[mesh].append(seconds(
                    [args.tool("pp-opt"), model,
                     f"--pp-parallelize={option}", "-o", os.devnull]))
        return of.values()

    few, many = times(24, "dp=8 tp=8", "dp=512 tp=8")
    yield row("24 layers, hidden 1024, dp=8 tp=8", few, 1.0,
              jax=jax_seconds(args, 24))
    deep, = times(96, "dp=8 tp=8")
    yield row("96 layers, hidden 1024, dp=8 tp=8", deep, 4.0,
              jax=jax_seconds(args, 96))
    yield row("24 layers, hidden 1024, dp=512 tp=8", many,
              1.1 * statistics.median(few), "<= 1.1 x dp=8")


def depth(args, scratch):
    """Twice the layers take about twice the time, down to programs."""
    times = {}
    for layers in 250, 500:
        model = os.path.join(scratch, f"deep{layers}.mlir")
        subprocess.run([args.tool("pp-model"), "gpt", f"--layers={layers}", "-o", model,
                        *(f"--{k}={v}" for k, v in DEEP.items())], check=True)
        times[layers] = [seconds([args.tool("pp-opt"), model, "-o", os.devnull,
                                  f"--pp-parallelize=dp=2 tp=2 pp=2 {OPTIMIZER}"])
                         for _ in range(REPEATS)]
    yield row("250 layers, hidden 8, to programs", times[250], 15.0)
    yield row("500 layers, hidden 8, to programs", times[500],
              3 * statistics.median(times[250]), "<= 3 x 250 layers")


def readers(args, scratch):
    """Twice the readers of a parameter, likewise: its gradient is their sum."""
    times = {}
    for count in 2000, 4000:
        model = os.path.join(scratch, f"shared{count}.mlir")
        with open(model, "w") as file:
            subprocess.run([sys.executable, SHARED, str(count)], check=True,
                           stdout=file)
        times[count] = [seconds([args.tool("pp-opt"), model, "-o", os.devnull,
                                 f"--pp-parallelize=dp=2 zero=1 {OPTIMIZER} "
                                 "stop-after=spmd"]) for _ in range(REPEATS)]
    yield row("2000 layers of one weight, zero=1", times[2000], 2.0)
    yield row("4000 layers of one weight, zero=1", times[4000],
              3 * statistics.median(times[2000]), "<= 3 x 2000 layers")


def costs_to_level_2(args, model, scratch, mesh):
    """Processor seconds, peak memory in GB and ops of one run of pp-opt."""
    spmd = os.path.join(scratch, "spmd.mlir")
    process = subprocess.Popen(
        [args.tool("pp-opt"), model, "-o", spmd,
         f"--pp-parallelize={mesh} {OPTIMIZER} stop-after=spmd"])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"pp-opt ends with status {status}")
    with open(spmd) as file:
        ops = sum(" = pp." in line for line in file)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e6, ops


def scale(args, scratch):
    """As much per op for 270,000 ops as for 13,000, and on any mesh: by the
    processor's time, since minutes of other work would decide otherwise."""
    results = {}
    for repeat in range(REPEATS):
        for layers, dp in (24, 1024), (520, 1024), (520, 65536):
            model = os.path.join(scratch, f"scale{layers}.mlir")
            if not repeat and dp == 1024:
                options = dict(LARGE, layers=layers, batch=8 * 65536)
                subprocess.run([args.tool("pp-model"), "gpt", "-o", model,
                                *(f"--{k}={v}" for k, v in options.items())],
                               check=True)
            results.setdefault((layers, dp), []).append(costs_to_level_2(
                args, model, scratch, f"dp={dp} tp=8 pp=8 microbatches=8"))
    times = {key: [run[0] for run in runs] for key, runs in results.items()}
    few, many = results[24, 1024][0], results[520, 1024][0]
    yield row("520 layers, hidden 1024, dp=1024 tp=8 pp=8", times[520, 1024],
              1.3 * many[2] / few[2] * statistics.median(times[24, 1024]),
              "<= 1.3 x 24 layers per op")
    yield row("520 layers, hidden 1024, dp=65536 tp=8 pp=8",
              times[520, 65536], 1.1 * statistics.median(times[520, 1024]),
              "<= 1.1 x dp=1024")
    yield row("its memory in GB, not seconds",
              [run[1] for run in results[520, 65536]], 4.0)


def checks(args, scratch):
    """What is proved of programs takes as long for any number of replicas."""
    times = {1: [], 2: [], 512: []}
    for dp in times:
        subprocess.run([args.tool("pp-model"), "gpt", "-o",
                        os.path.join(scratch, f"checked{dp}.mlir"),
                        *(f"--{k}={v}" for k, v in CHECKED.items()),
                        f"--batch={64 * dp}"], check=True)
    for _ in range(REPEATS):
        for dp, seconds_each in times.items():
            timing = subprocess.run(
                [args.tool("pp-opt"), os.path.join(scratch, f"checked{dp}.mlir"),
                 f"--pp-parallelize=dp={dp} pp=8 microbatches=64 {OPTIMIZER}",
                 "-o", os.devnull, "--mlir-timing"],
                check=True, stderr=subprocess.PIPE, text=True).stderr
            seconds_each.append(
                float(re.search(r"([0-9.]+) \(.*VerifyPrograms", timing)[1]))
    yield row("checks of 24 layers, pp=8, 64 micro-batches", times[1], 4.0)
    yield row("the same, dp=2", times[2], 4.0)
    yield row("the same, dp=512", times[512],
              1.1 * statistics.median(times[2]), "<= 1.1 x dp=2")


def long_pipeline(args, scratch):
    """Programs of 262,144 actions: what is planned and proved of them."""
    model = os.path.join(scratch, "long.mlir")
    subprocess.run([args.tool("pp-model"), "gpt", "-o", model,
                    *(f"--{k}={v}" for k, v in LONG.items())], check=True)
    to_program, proved, gigabytes = [], [], []
    for _ in range(3):
        start = time.perf_counter()
        process = subprocess.Popen(
            [args.tool("pp-opt"), model, "-o", os.devnull, "--mlir-timing",
             "--pp-parallelize=pp=64 chunks=4 microbatches=512 "
             f"schedule=interleaved-1f1b {OPTIMIZER}"],
            stderr=subprocess.PIPE, text=True)
        timing = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(f"pp-opt ends with status {status}: {timing}")
        proved.append(float(re.search(r"([0-9.]+) \(.*VerifyPrograms", timing)[1]))
        to_program.append(time.perf_counter() - start - proved[-1])
        gigabytes.append(usage.ru_maxrss / 1e6)
    yield row("256 layers, hidden 1024, pp=64 chunks=4 microbatches=512, to programs",
              to_program, 20.0)
    yield row("its checks", proved, 3.0)
    yield row("its memory in GB, not seconds", gigabytes, 2.0)


def measure(args, model, text):
    with tempfile.TemporaryDirectory() as scratch:
        return [*first_step(args, model, text), *partition(args, scratch),
                *depth(args, scratch), *readers(args, scratch),
                *scale(args, scratch), *checks(args, scratch),
                *long_pipeline(args, scratch)]
