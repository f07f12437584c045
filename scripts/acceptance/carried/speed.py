"""Parts that measure: `speed`, beside PyTorch, and `launches`.

SPDX-License-Identifier: Apache-2.0

Sides take turns, and a figure is the median over rounds of medians of steps that
follow a warm-up. A side that has no room on the GPU, or fails, leaves the others'
figures. On a emulated GPU all of it runs, with fewer steps, and says
nothing of speed: the result's `emulated` stands beside it.
"""
import collections
import json
import select
import statistics
import subprocess
import sys
import time

import calls
import machine
from bench import Failed, Skipped

SAME_LOSS = 0.02  # rounding grows over tens of steps; another function is further off
KERNELS = 40  # of a program, those that take longest
ROUNDS, STEPS, WARMUP = 3, 20, 5
MOVES = ("load", "emit", "step", "send", "recv", "collective")
# Of each kind of program, what PyTorch is asked for, the best first: words of torch_peer.py.
PEERS = {"bf16": ["autocast compile", "autocast", "bf16 compile"],
         "tf32": ["tf32 compile", "tf32"], "f32": ["f32 compile"]}


def steps(work):
    return 2 if work.emulated else STEPS


def warmup(work):
    return 1 if work.emulated else WARMUP


class Peer:
    """A process of torch_peer.py, which makes a round of steps when it is asked to."""

    def __init__(self, work, timed, mode, env):
        shape = [f"--{key}={value}" for key, value in work.manifest["shape"].items()]
        self.work = work
        self.errors = work.folder / "torch.txt"
        with self.errors.open("w") as stream:
            self.process = calls.start(
                [sys.executable, work.files / "torch_peer.py", *shape, f"--mode={mode}",
                 f"--device={'cpu' if work.emulated else 'cuda'}",
                 f"--initial={initial(work, timed)}", f"--data={work.files / 'pack/text.txt'}",
                 f"--warmup={warmup(work)}", f"--steps={steps(work)}"],
                env, work.folder, subprocess.PIPE, stream)

    def round(self):
        """The last loss, and the median of the steps in milliseconds."""
        try:
            self.process.stdin.write("round\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        if not select.select([self.process.stdout], [], [], max(1, self.work.left()))[0]:
            raise calls.TimedOut("PyTorch was not over in time")
        line = self.process.stdout.readline()
        if line:
            its = json.loads(line)
            return its["loss"], statistics.median(its["ms"])
        said = self.errors.read_text().strip()
        if "out of memory" in said:
            raise Skipped("PyTorch: " + said.splitlines()[-1])
        raise Failed(f"torch_peer.py: {said[-1000:]}")

    def end(self):
        calls.end_session(self.process, patience=2)


def initial(work, timed):
    """The parameters that both sides start from."""
    path = work.folder / f"{timed['name']}.safetensors"
    if not path.exists():
        work.run(timed["name"], "--steps=0", f"--save={path}")
    return path


def probe(work):
    """PyTorch's environment, which finds the libraries that it came with; or None, and why."""
    env = work.caller
    if work.emulated:
        env = {key: value for key, value in env.items() if key != "LD_LIBRARY_PATH"}
    words = [sys.executable, "-c", "import torch; print(torch.__version__, "
             "torch.cuda.is_available())"]
    done = work.call(words, env)
    if done.returncode:
        return None, "expects PyTorch, got: " + done.stderr.strip().splitlines()[-1]
    release, has_gpu = done.stdout.split()
    if has_gpu != "True" and not work.emulated:
        return None, f"PyTorch {release} finds no GPU"
    work.figures["torch"] = release
    return env, None


def speed(work):
    """Ours and PyTorch's in turns, from the same parameters on the same text, to one loss."""
    env, why = probe(work)
    if not env:
        work.skip(why)
    sampler = machine.Sampler()
    try:
        for timed in work.manifest["timed"]:
            modes = PEERS[timed["kind"]][1:2] if work.emulated else PEERS[timed["kind"]]
            Turns(work, timed, sampler).go(modes if env else [], env)
    finally:
        sampler.end()


class Turns:
    """Of one program and its peers."""

    def __init__(self, work, timed, sampler):
        self.work, self.timed, self.sampler = work, timed, sampler
        self.ms, self.losses, self.gone = collections.defaultdict(list), {}, set()
        self.readings = None
        self.figures = work.figures[timed["kind"]] = {"rounds_ms": self.ms, "losses": self.losses}

    def go(self, modes, env):
        peers = {}
        try:
            for turn in range(1 if self.work.emulated else ROUNDS):
                self.one("pp", self.ours)
                for mode in modes:
                    # What took long to compile is worth its rounds.
                    self.one(mode, lambda: self.torch(peers, mode, env))
                self.compare()
        finally:
            for peer in peers.values():
                peer.end()

    def one(self, side, body):
        if side in self.gone:
            return
        seen = self.work.attempt(body, program=self.timed["name"], of=side)
        if not seen:
            self.gone.add(side)
            return
        self.losses.setdefault(side, seen[0])  # of the first round
        self.ms[side].append(seen[1])

    def ours(self):
        begun = time.monotonic()
        losses, times = self.work.train(self.timed["name"], warmup(self.work) + steps(self.work))
        self.readings = self.sampler.since(begun)
        return losses[-1], statistics.median(times[-steps(self.work):])

    def torch(self, peers, mode, env):
        if mode not in peers:
            peers[mode] = Peer(self.work, self.timed, mode, env)
        return peers[mode].round()

    def compare(self):
        its = self.figures
        its["median_ms"] = medians = {side: statistics.median(of) for side, of in self.ms.items()}
        its["readings"] = self.readings
        peak = machine.peak(self.work.gpus[0]["name"], self.timed["kind"])
        its["flops"], its["peak_flops"] = self.timed["flops"], peak
        if peak:
            its["mfu"] = {side: 1e3 * self.timed["flops"] / ms / peak
                          for side, ms in medians.items()}
        others = [ms for side, ms in medians.items() if side != "pp"]
        if others and "pp" in medians:
            its["over_fastest_peer"] = medians["pp"] / min(others)
        if "compared" in its or len(self.losses) < 2 or "pp" not in self.losses:
            return
        its["compared"] = True
        for side, loss in self.losses.items():
            self.work.check("loss like PyTorch's",
                            abs(loss - self.losses["pp"]) <= SAME_LOSS * abs(loss),
                            program=self.timed["name"], of=side, got=self.losses["pp"],
                            expected=loss)


def count_launches(events):
    """Those of a step, by what they belong to."""
    counts = collections.Counter(
        event["cat"] for event in events
        if event["ph"] == "X" and event["cat"] in ("forward", "backward", "update")
        and event["name"].split()[-1] not in MOVES)
    return dict(sorted(counts.items()))


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


def launches(work):
    """What a step launches and how long each takes; and with a step recorded as a graph, and
    given call by call."""
    for timed in work.manifest["timed"]:
        work.attempt(lambda: launches_of(work, timed), 5, program=timed["name"])


def launches_of(work, timed):
    events = work.trace(timed["name"], 2)
    rows, counts = kernels(events), count_launches(events)
    busy = sum(row["us"] for row in rows)
    flops = sum(e["args"]["GFLOP/s"] * e["dur"] for e in events if "GFLOP/s" in e.get("args", {}))
    its = work.figures[timed["kind"]] = {
        "launches": counts, "kernels_us": busy, "mean_gflops": flops / busy if busy else None,
        "kernels": rows[:KERNELS]}
    work.check("launches", counts == timed["launches"], program=timed["name"], got=counts,
               expected=timed["launches"])
    for graph in "on", "off":
        _, times = work.train(timed["name"], warmup(work) + steps(work), f"--graph={graph}")
        its[f"graph_{graph}_ms"] = statistics.median(times[-steps(work):])
        work.write()


def tell_speed(figures):
    for kind, of in figures.items():
        if kind == "torch":
            yield "PyTorch", of
            continue
        words = [f"{side} {ms:.2f} ms" + (f" (MFU {100 * of['mfu'][side]:.1f} %)"
                                          if "mfu" in of else "")
                 for side, ms in of.get("median_ms", {}).items()]
        if "over_fastest_peer" in of:
            words.append(f"{of['over_fastest_peer']:.2f} of the fastest peer")
        words += [f"{name} {its['median']:.0f}, at most {its['most']:.0f}"
                  for name, its in (of.get("readings") or {}).items()]
        yield kind, ", ".join(words)


def tell_launches(figures):
    for kind, of in figures.items():
        modes = ", ".join(f"a step {of[key]:.2f} ms {words}" for key, words in (
            ("graph_on_ms", "recorded"), ("graph_off_ms", "call by call")) if key in of)
        yield kind, f"{sum(of['launches'].values())} launches, kernels " \
            f"{of['kernels_us'] / 1e3:.2f} ms, {modes}"
