"""Parts that measure: `peers`, `products`, `launches`, `overlap`.

SPDX-License-Identifier: Apache-2.0

Every figure is a median over steps that follow a warm-up; sides that are
compared take turns. A program that has no room on the GPU, or fails, leaves the
others' figures. On a GPU that is only played all of it runs, with fewer
steps, and says nothing of speed: the result's `emulated` stands beside it.
"""
import collections
import json
import os
import statistics
import sys

import cases
from bench import FEW_SECONDS, MANY_SECONDS, Failed, Skipped, call

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
    done = call([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"],
                FEW_SECONDS, without_stand_ins(bench))
    if done.returncode:
        raise Skipped("expects PyTorch (pip install torch numpy), got: " +
                      done.stderr.strip().splitlines()[-1])
    if not bench.emulated and "True" not in done.stdout:
        raise Skipped("PyTorch finds no GPU")
    return "cpu" if bench.emulated else "cuda"


def torch_step(bench, timed, device, compiled):
    """Loss and milliseconds of PyTorch on the same model, batches and type."""
    shape = [f"--{key}={value}" for key, value in bench.manifest["shape"].items()]
    done = call(
        [sys.executable, cases.ROOT / "scripts/acceptance/torch_peer.py", *shape,
         f"--device={device}", f"--initial={initial(bench, timed)}",
         f"--data={bench.pack / 'text.txt'}", f"--dtype={timed['dtype']}",
         f"--warmup={warmup(bench)}", f"--steps={steps(bench)}",
         *(["--compile"] if compiled else [])],
        MANY_SECONDS, without_stand_ins(bench))
    if done.returncode and "out of memory" in done.stderr:
        raise Skipped("PyTorch: " + done.stderr.strip().splitlines()[-1])
    if done.returncode:
        raise Failed(f"torch_peer.py --dtype={timed['dtype']}: {done.stderr.strip()[-1000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def initial(bench, timed):
    """The parameters that both sides start from."""
    path = bench.folder / f"{timed['name']}.safetensors"
    if not path.exists():
        bench.run(timed["name"], "--quiet", "--steps=0", f"--save={path}", seconds=MANY_SECONDS)
    return path


def turns(bench, timed, device):
    """By side, medians of the rounds, and the last loss. A side that fails is not asked again."""
    def ours():
        losses, times = bench.losses(timed["name"], *options(bench), seconds=MANY_SECONDS)
        return losses[-1], median(times, bench)

    def torch(compiled):
        its = torch_step(bench, timed, device, compiled)
        return its["loss"], its["median_ms"]

    sides = {"pp": ours, "eager": lambda: torch(False), "compile": lambda: torch(True)}
    milliseconds, losses = collections.defaultdict(list), {}
    for _ in rounds(bench):
        for name in list(sides):
            seen = bench.attempt(sides[name], program=timed["name"], of=name)
            if seen:
                losses[name] = seen[0]
                milliseconds[name].append(seen[1])
            else:
                del sides[name]
    return milliseconds, losses


def peers(bench):
    """Ours, PyTorch's eager mode and torch.compile, in turns; all must end at one loss."""
    device = torch_device(bench)
    figures = {"torch_device": device}
    for timed in of_one_device(bench):
        milliseconds, losses = turns(bench, timed, device)
        its = [name for name in ("eager", "compile") if name in losses]
        for name, loss in losses.items() if its else ():
            expected = losses[its[0]]
            bench.check("loss like PyTorch's", abs(loss - expected) <= SAME_LOSS * abs(loss),
                        program=timed["name"], of=name, got=loss, expected=expected)
        medians = {name: statistics.median(each) for name, each in milliseconds.items()}
        figures[timed["dtype"]] = {"rounds_ms": milliseconds, "median_ms": medians,
                                   "losses": losses}
        if its and "pp" in medians:
            figures[timed["dtype"]]["over_fastest_peer"] = medians["pp"] / min(
                medians[name] for name in its)
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


def of_each(bench, programs, body, **figures):
    """What `body` returns, by type."""
    for timed in programs:
        seen = bench.attempt(lambda: body(bench, timed), program=timed["name"])
        if seen:
            figures[timed["dtype"]] = seen
    return figures


def products(bench):
    """What each kernel of a step reaches, contractions among them."""
    return of_each(bench, of_one_device(bench), products_of)


def products_of(bench, timed):
    events = timeline(bench, timed)
    rows = kernels(events)
    bench.check("the trace has kernels", rows, program=timed["name"])
    busy = sum(row["us"] for row in rows)
    work = sum(e["args"]["GFLOP/s"] * e["dur"] for e in events if "GFLOP/s" in e.get("args", {}))
    return {"kernels_us": busy, "mean_gflops": work / busy if busy else None,
            "kernels": rows[:KERNELS]}


def launches(bench):
    """A step recorded as a graph beside one whose launches are given one by one."""
    return of_each(bench, of_one_device(bench), launches_of)


def launches_of(bench, timed):
    given = sum(event["ph"] == "X" for event in timeline(bench, timed))
    times = collections.defaultdict(list)
    for _ in rounds(bench):
        for graph in "on", "off":
            _, of_steps = bench.losses(timed["name"], f"--graph={graph}", *options(bench),
                                       seconds=MANY_SECONDS)
            times[graph].append(median(of_steps, bench))
    on, off = (statistics.median(times[graph]) for graph in ("on", "off"))
    return {"commands": given, "graph_ms": on, "no_graph_ms": off,
            "us_a_command": 1e3 * (off - on) / max(given, 1)}


def overlap(bench):
    """How much of what ranks send travels while they compute."""
    split = [timed for timed in bench.manifest["timed"] if timed["plan"]]
    return of_each(bench, split, overlap_of, gpus=min(2, len(bench.gpus)))


def overlap_of(bench, timed):
    # In one process, so not recorded.
    report = bench.report(timed["name"], "--graph=off", *options(bench),
                          gpus=min(2, len(bench.gpus)))
    return {"step_ms": report["step_ms"]["median"], **report["communication_ms"]["measured"]}


def ms(value):
    return f"{value:.2f} ms" if value is not None else "no time"


WORDS = {
    "peers": lambda of: ", ".join(f"{side} {ms(time)}" for side, time in of["median_ms"].items()),
    "products": lambda of: f"{len(of['kernels'])} kernels, {ms(of['kernels_us'] / 1e3)}",
    "launches": lambda of: f"{of['commands']} commands, a step {ms(of['graph_ms'])} recorded and "
                           f"{ms(of['no_graph_ms'])} not",
    "overlap": lambda of: f"a step {ms(of['step_ms'])}, messages {ms(of['hidden'])} hidden and "
                          f"{ms(of['exposed'])} exposed",
}


def tell(part, figures):
    """What a part measured, by type; nothing of parts that judge."""
    return [f"{dtype}: {WORDS[part](figures[dtype])}" for dtype in ("bf16", "f32")
            if part in WORDS and dtype in figures]
