"""Parts that measure: `peers`, `products`, `launches`, `overlap`.

SPDX-License-Identifier: Apache-2.0

Every figure is a median over steps that follow a warm-up; sides that are
compared take turns. On a GPU that is only played all of it runs, with fewer
steps, and says nothing of speed: the result's `emulated` stands beside it.
"""
import collections
import json
import os
import statistics
import subprocess
import sys

import cases
from bench import FEW_SECONDS, MANY_SECONDS, Failed, Skipped

WARMUP = 5
SAME_LOSS = 0.02  # rounding grows over tens of steps; another function is further off
KERNELS = 40  # of a program, those that take longest


def steps(bench):
    return 2 if bench.emulated else 30


def rounds(bench):
    return range(1 if bench.emulated else 3)


def warmup(bench):
    return 1 if bench.emulated else WARMUP


def options(bench):
    return [f"--data=text:{bench.pack / 'text.txt'}", f"--steps={warmup(bench) + steps(bench)}"]


def median(times, bench):
    return statistics.median(times[-steps(bench):])


def of_one_device(bench):
    return [timed for timed in bench.manifest["timed"] if not timed["plan"]]


def without_stand_ins(bench):
    """An environment in which PyTorch finds the libraries that it came with."""
    return {key: value for key, value in os.environ.items()
            if not bench.emulated or key != "LD_LIBRARY_PATH"}


def torch_device(bench):
    """Where PyTorch computes: on a processor beside a GPU that is played, as a rehearsal."""
    done = subprocess.run([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"],
                          capture_output=True, text=True, timeout=FEW_SECONDS,
                          env=without_stand_ins(bench))
    if done.returncode:
        raise Skipped("expects PyTorch (pip install torch numpy), got: " +
                      done.stderr.strip().splitlines()[-1])
    if not bench.emulated and "True" not in done.stdout:
        raise Skipped("PyTorch finds no GPU")
    return "cpu" if bench.emulated else "cuda"


def torch_step(bench, timed, device, compiled):
    """Loss and milliseconds of PyTorch on the same model, batches and type."""
    shape = [f"--{key}={value}" for key, value in bench.manifest["shape"].items()]
    done = subprocess.run(
        [sys.executable, cases.ROOT / "scripts/acceptance/torch_peer.py", *shape,
         f"--device={device}", f"--initial={initial(bench, timed)}",
         f"--data={bench.pack / 'text.txt'}", f"--dtype={timed['dtype']}",
         f"--warmup={warmup(bench)}", f"--steps={steps(bench)}",
         *(["--compile"] if compiled else [])],
        capture_output=True, text=True, timeout=MANY_SECONDS, env=without_stand_ins(bench))
    if done.returncode:
        raise Failed(f"torch_peer.py --dtype={timed['dtype']}: {done.stderr.strip()[-1000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def initial(bench, timed):
    """The parameters that both sides start from."""
    path = bench.folder / f"{timed['name']}.safetensors"
    if not path.exists():
        bench.run(timed["name"], "--quiet", "--steps=0", f"--save={path}", seconds=MANY_SECONDS)
    return path


def peers(bench):
    """Ours, PyTorch's eager mode and torch.compile, in turns; all must end at one loss."""
    device = torch_device(bench)
    figures = {"torch_device": device}
    for timed in of_one_device(bench):
        sides, losses = collections.defaultdict(list), {}
        for _ in rounds(bench):
            of_steps, times = bench.losses(timed["name"], *options(bench), seconds=MANY_SECONDS)
            losses["pp"] = of_steps[-1]
            sides["pp"].append(median(times, bench))
            for name, compiled in ("eager", False), ("compile", True):
                its = torch_step(bench, timed, device, compiled)
                losses[name] = its["loss"]
                sides[name].append(its["median_ms"])
        for name, loss in losses.items():
            bench.check("loss like PyTorch's", abs(loss - losses["eager"]) <= SAME_LOSS * abs(loss),
                        program=timed["name"], of=name, got=loss, expected=losses["eager"])
        best = min(statistics.median(sides["eager"]), statistics.median(sides["compile"]))
        figures[timed["dtype"]] = {
            "rounds_ms": sides, "median_ms": {k: statistics.median(v) for k, v in sides.items()},
            "losses": losses, "over_fastest_peer": statistics.median(sides["pp"]) / best}
    return figures


def kernels(events):
    """By kernel, how often, how long in all, and the rates that the trace has."""
    found = collections.defaultdict(list)
    for event in events:
        args = event.get("args", {})
        if event["ph"] == "X" and ("GFLOP/s" in args or "GB/s" in args):
            found[event["name"].split(" ", 1)[-1]].append(event)
    rows = []
    for name, of in found.items():
        rates = {key: statistics.median(e["args"][key] for e in of)
                 for key in ("GFLOP/s", "GB/s") if all(key in e["args"] for e in of)}
        rows.append({"kernel": name, "count": len(of), "us": sum(e["dur"] for e in of), **rates})
    return sorted(rows, key=lambda row: -row["us"])


def timeline(bench, timed):
    """The events of a run whose launches are given one by one."""
    trace = bench.folder / "trace.json"
    bench.run(timed["name"], "--quiet", "--graph=off", f"--trace={trace}", *options(bench),
              seconds=MANY_SECONDS)
    return json.loads(trace.read_text())["traceEvents"]


def products(bench):
    """What each kernel of a step reaches, contractions among them."""
    figures = {}
    for timed in of_one_device(bench):
        events = timeline(bench, timed)
        rows = kernels(events)
        bench.check("the trace has kernels", rows, program=timed["name"])
        busy = sum(row["us"] for row in rows)
        work = sum(e["args"]["GFLOP/s"] * e["dur"] for e in events
                   if "GFLOP/s" in e.get("args", {}))
        figures[timed["dtype"]] = {"kernels_us": busy, "mean_gflops": work / busy if busy else None,
                                   "kernels": rows[:KERNELS]}
    return figures


def launches(bench):
    """A step recorded as a graph beside one whose launches are given one by one."""
    figures = {}
    for timed in of_one_device(bench):
        given = sum(event["ph"] == "X" for event in timeline(bench, timed))
        times = collections.defaultdict(list)
        for _ in rounds(bench):
            for graph in "on", "off":
                _, of_steps = bench.losses(timed["name"], f"--graph={graph}", *options(bench),
                                           seconds=MANY_SECONDS)
                times[graph].append(median(of_steps, bench))
        on, off = (statistics.median(times[graph]) for graph in ("on", "off"))
        figures[timed["dtype"]] = {"commands": given, "graph_ms": on, "no_graph_ms": off,
                                   "us_a_command": 1e3 * (off - on) / max(given, 1)}
    return figures


def overlap(bench):
    """How much of what ranks send travels while they compute."""
    gpus = 2 if len(bench.gpus) > 1 else 1
    figures = {"gpus": gpus}
    for timed in bench.manifest["timed"]:
        if timed["plan"]:
            report = bench.report(timed["name"], "--graph=off", *options(bench), gpus=gpus)
            figures[timed["dtype"]] = {"step_ms": report["step_ms"]["median"],
                                       **report["communication_ms"]["measured"]}
    return figures
