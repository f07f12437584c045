#!/usr/bin/env python3
# pipelines.py - schedules of pp beside PyTorch's, and beside their predictions.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: a build of pp (release preset) and, for the peers, the virtual environment of
# scripts/install-frameworks. Out: three tables on stdout.
#
#   peers        a step of two ranks, as threads and as processes of MPI, beside two
#                processes of torch.distributed.pipelining over gloo: the same
#                initial values, batches, cuts, micro-batches, order of actions and
#                SGD, one thread each. All end at the same loss.
#   bubbles      each rule's measured bubble beside the predicted one (goal: within
#                2 points), and its step beside 1F1B's. Both ranks also run on one
#                core, where pp replays the step from processor times: that bubble
#                shows neither other work nor waits for a core.
#   predictions  steps of five schedules on four models, predicted from the
#                durations in another run's trace (pp-run --dry-run --durations),
#                beside those measured (goal: half of them within 5 %).
#
# The sides take turns, round by round; a figure is the median over rounds of the
# median step. It wants an idle machine with two cores.
"""Compares schedules with those of PyTorch, and with what is predicted."""

import argparse
import dataclasses
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import table
from launchers import MPIRUN
from run import HERE, ROOT, TEXT, last_json, share_cores

TARGET, POINTS, PERCENT = 0.60, 2, 5
SAME_LOSS = 1e-3
MODELS = {  # by part
    "peers": dict(layers=4, hidden=256, heads=8, seq=128, batch=16, vocab=256),
    "bubbles": dict(layers=4, hidden=512, heads=8, seq=128, batch=16, vocab=256),
}
SMALL = dict(layers=4, hidden=64, heads=4, seq=32, batch=8, vocab=256)


@dataclasses.dataclass
class Schedule:
    """A rule of ours, and the one of PyTorch that makes the same order."""
    keys: str
    peer: str = ""
    chunks: int = 1

    def cuts(self, layers):
        """Where stages with equally many layers begin, as the peer has them."""
        stages = 2 * self.chunks
        return "cuts=" + ",".join(f"h.{layers * i // stages}" for i in range(1, stages))


ORDER = "order.csv"  # PyTorch's, which has no rule of ours: the peer writes it
PEERS = [
    Schedule("1f1b", "Schedule1F1B"),
    Schedule("interleaved-1f1b chunks=2", "ScheduleInterleaved1F1B", 2),
    Schedule("zb-h1", "ScheduleInterleavedZeroBubble"),
    Schedule(ORDER, "ScheduleInterleavedZeroBubble", 2),
    Schedule("zb-v", "ScheduleZBVZeroBubble", 2),
]
BUBBLES = [Schedule("1f1b"), Schedule("interleaved-1f1b chunks=2", chunks=2), Schedule("zb-h1"), Schedule("zb-h2"),
           Schedule("zb-v", chunks=2)]
# What is predicted, and from the trace of what: runs of the same actions, or of backward passes whose parts are apart.
PREDICTIONS = [("1f1b", "zb-h1"), ("zb-h1", "1f1b"), ("zb-h2", "zb-h1"), ("gpipe", "1f1b"),
               ("interleaved-1f1b chunks=2", "zb-v")]
PREDICTED = [  # models of pp-model, and where their two or four stages begin
    ("gpt --layers=4 --hidden=256 --heads=8 --seq=128 --batch=16 --vocab=256", ("h.2", "h.1,h.2,h.3")),
    ("gpt --layers=8 --hidden=192 --heads=6 --seq=64 --batch=32 --vocab=256", ("h.4", "h.2,h.4,h.6")),
    ("moe --layers=4 --hidden=128 --heads=4 --seq=64 --batch=16 --vocab=256", ("h.2", "h.1,h.2,h.3")),
    ("mlp --layers=8 --input=512 --hidden=1024 --classes=512 --batch=512", ("layers.4", "layers.2,layers.4,layers.6")),
]

def dimensions(model):
    return [f"--{key}={value}" for key, value in model.items()]


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        wider = {"hidden": args.hidden} if args.hidden else {}
        self.models = {part: SMALL if args.small else {**model, **wider} for part, model in MODELS.items()}
        for part, model in self.models.items():
            subprocess.run([self.tool("pp-model"), "gpt", *dimensions(model), "--tied=false", "-o",
                            self.path(part + ".mlir")], check=True)

    def tool(self, name):
        return os.path.join(self.args.build, "bin", name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def keys(self, part, schedule):
        keys = self.path(ORDER) if schedule.keys == ORDER else schedule.keys
        return (f"pp=2 microbatches={self.args.microbatches} threads=1 optimizer=sgd lr=1e-3 "
                f"schedule={keys} {schedule.cuts(self.models[part]['layers'])}" +
                (f" rates={self.args.rates}" if self.args.rates else ""))

    def run_ours(self, part, schedule, *options, before=()):
        """The report of a run by a launcher, with the median of its later steps."""
        report = self.path("report.json")
        command = [*before, self.tool("pp-run"), self.path(part + ".mlir"), "--quiet", *options, f"--data=text:{TEXT}",
                   "--parallelize=" + self.keys(part, schedule), f"--report={report}",
                   f"--steps={self.args.warmup + self.args.steps}"]
        subprocess.run(command, check=True, timeout=900)
        with open(report) as file:
            result = json.load(file)
        result["median_ms"] = statistics.median(step["ms"] for step in result["steps"][self.args.warmup:])
        return result

    def run_peer(self, schedule, script="torch_pipeline.py", *options):
        return last_json([
            os.path.join(self.args.venv, "bin/python"), os.path.join(HERE, "peers", script),
            *dimensions(self.models["peers"]), "--no-tied", f"--data={TEXT}", f"--warmup={self.args.warmup}",
            f"--steps={self.args.steps}", f"--microbatches={self.args.microbatches}", "--optimizer=sgd",
            f"--schedule={schedule.peer}", f"--chunks={schedule.chunks}",
            *([f"--order={self.path(ORDER)}"] if schedule.keys == ORDER else []), *options])

    def rounds(self, sides):
        """Calls each side once a round; returns the results by side."""
        results = {name: [] for name in sides}
        for number in range(self.args.rounds):
            print(f"round {number + 1} of {self.args.rounds}", file=sys.stderr)
            for name, side in sides.items():
                results[name].append(side())
        return results


def write_parameters(bench):
    """The values that both sides begin with."""
    path = bench.path("peers.safetensors")
    subprocess.run([os.path.join(bench.args.venv, "bin/python"), os.path.join(HERE, "peers/parameters.py"),
                    *dimensions(bench.models["peers"]), "--no-tied", f"--out={path}"], check=True)
    return f"--parameters={path}"


def check_losses(name, theirs, ours):
    for run in ours:
        if abs(run["steps"][-1]["loss"] - theirs) > SAME_LOSS:
            sys.exit(f"error: {name}: expects one loss, got ours {run['steps'][-1]['loss']:.5f} and PyTorch's "
                     f"{theirs:.5f}")


def compare_peers(bench):
    parameters = write_parameters(bench)
    launchers = {"threads": ((), ())}
    if shutil.which("mpirun"):
        launchers["mpi"] = MPIRUN, ("--launcher=mpi",)
    sides = {}
    for schedule in PEERS:  # the peer first: it may write the order
        sides[schedule.keys, "peer"] = lambda schedule=schedule: bench.run_peer(schedule)
        for launcher, (before, options) in launchers.items():
            sides[schedule.keys, launcher] = lambda schedule=schedule, before=before, options=options: bench.run_ours(
                "peers", schedule, parameters, *options, before=before)
    results = bench.rounds(sides)
    body = []
    for schedule in PEERS:
        peer = results[schedule.keys, "peer"]
        peer_ms, cells, ratios = table.median(peer), [], []
        for launcher in ("threads", "mpi"):
            ours = results.get((schedule.keys, launcher), [])
            check_losses(schedule.keys, peer[0]["loss"], ours)
            ratio = table.median(ours) / peer_ms if ours else None
            ratios += [ratio] if ours else []
            cells += [table.cell(table.median(ours), 1), table.cell(ratio, 2)]
        body.append(("PyTorch's order" if schedule.keys == ORDER else schedule.keys,
                     f"{schedule.peer.removeprefix('Schedule')}, {schedule.chunks} a process", *cells,
                     table.cell(peer_ms, 1), f"<= {TARGET:.2f}", "yes" if max(ratios) <= TARGET else "no"))
    yield from table.lines(("schedule", "PyTorch's", "threads ms", "ratio", "MPI ms", "ratio", "PyTorch ms", "target",
                            "met"), body)


def measured_bubble(runs):
    return statistics.median(run["bubble"]["measured"] for run in runs)


def compare_bubbles(bench):
    one_core = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]
    sides = {}
    for schedule in BUBBLES:
        for where, before in (("two", ()), ("one", one_core)):
            sides[schedule.keys, where] = lambda schedule=schedule, before=before: bench.run_ours(
                "bubbles", schedule, before=before)
    results = bench.rounds(sides)
    body, first = [], table.median(results[BUBBLES[0].keys, "two"])
    for schedule in BUBBLES:
        runs, replayed = results[schedule.keys, "two"], measured_bubble(results[schedule.keys, "one"])
        milliseconds, measured, predicted = table.median(runs), measured_bubble(runs), runs[0]["bubble"]["predicted"]
        within = ["yes" if 100 * abs(bubble - predicted) <= POINTS else "no" for bubble in (measured, replayed)]
        body.append((schedule.keys, table.cell(milliseconds, 1), table.cell(runs[0]["predicted_step_ms"], 1),
                     table.cell(milliseconds / first, 2), table.cell(100 * predicted, 1),
                     table.cell(100 * measured, 1), within[0], table.cell(100 * replayed, 1), within[1]))
    yield from table.lines(("schedule", "ms", "predicted ms", "of 1f1b's", "predicted bubble %", "measured %",
                            f"within {POINTS}", "by processor time %", f"within {POINTS}"), body)


def compare_predictions(bench):
    """A round's trace predicts that round's other run."""
    sides, body, errors = {}, [], []
    for number, (model, cuts) in enumerate(PREDICTED):
        file = bench.path(f"predicted{number}.mlir")
        subprocess.run([bench.tool("pp-model"), *model.split(), "-o", file], check=True)

        def run(keys, *options, file=file, cuts=cuts):
            report, many = bench.path("report.json"), "zb-v" in keys or "interleaved" in keys
            subprocess.run([bench.tool("pp-run"), file, "--quiet", *options, f"--report={report}",
                            f"--parallelize=pp=2 microbatches={bench.args.microbatches} threads=1 optimizer=sgd "
                            f"schedule={keys} cuts={cuts[many]}"], check=True, timeout=900)
            with open(report) as written:
                return json.load(written)

        for keys, source in PREDICTIONS:
            def measure(keys=keys, source=source, run=run):
                trace, steps = bench.path("trace.json"), f"--steps={bench.args.warmup + bench.args.steps}"
                run(source, steps, f"--trace={trace}", f"--trace-steps={bench.args.steps}")
                predicted = run(keys, "--dry-run", f"--durations={trace}")["predicted_step_ms"]
                measured = run(keys, steps)["steps"][bench.args.warmup:]
                return predicted, statistics.median(step["ms"] for step in measured)
            sides[number, keys] = measure
    for (number, keys), pairs in bench.rounds(sides).items():
        predicted, measured = (statistics.median(column) for column in zip(*pairs))
        errors.append(abs(predicted / measured - 1))
        body.append((PREDICTED[number][0].split()[0], keys, dict(PREDICTIONS)[keys], table.cell(predicted, 1),
                     table.cell(measured, 1), f"{100 * (predicted / measured - 1):+.1f} %"))
    yield from table.lines(("model", "schedule", "durations of", "predicted ms", "measured ms", "off by"), body)
    median = 100 * statistics.median(errors)
    yield f"\nmedian error {median:.1f} %, goal {PERCENT} %: {'met' if median <= PERCENT else 'missed'}"


PARTS = {"peers": compare_peers, "bubbles": compare_bubbles, "predictions": compare_predictions}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build folder of pp")
    parser.add_argument("--venv", default=os.path.join(ROOT, ".venv-peers"), help="virtual environment of the peers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--rates", help="of the plan, for predictions")
    parser.add_argument("--parts", default=",".join(PARTS), help="what to compare, of " + ", ".join(PARTS))
    parser.add_argument("--hidden", type=int, help="of the models of peers and bubbles, instead of their own")
    parser.add_argument("--small", action="store_true", help="a model whose figures mean nothing, to try the script")
    args = parser.parse_args()
    parts = args.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"expects parts of {', '.join(PARTS)}, got '{unknown[0]}'")
    share_cores()
    print(f"{table.cpu_name()}; load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, folder)
        for part in parts:
            model = "" if part == "predictions" else ", " + " ".join(dimensions(bench.models[part]))
            print(f"\n{part}{model}, --microbatches={args.microbatches}\n", flush=True)
            print("\n".join(PARTS[part](bench)), flush=True)


if __name__ == "__main__":
    main()
