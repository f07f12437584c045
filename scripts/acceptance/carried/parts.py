"""Parts that train: one model first, deep ones under tp, and plans of several GPUs.

SPDX-License-Identifier: Apache-2.0
"""
import math
import shutil
import statistics

from bench import Skipped, calls

# Relative: rounding grows with steps, and another function is further off.
SAME_CURVE = {"f32": 0.01, "bf16": 0.03}
STEPS, FEW_STEPS = 6, 3  # of deep models and several GPUs; few where they are played
WARMUP = 2


def steps(work):
    return FEW_STEPS if work.emulated else STEPS


def median(times):
    return statistics.median(times[WARMUP:])


def distance(losses, expected):
    return max(abs(a - b) / abs(b) if math.isfinite(a) else math.inf
               for a, b in zip(losses, expected))


def training(work):
    """A loss curve, beside that of the same plan on a processor."""
    its = work.manifest["train"]

    def body():
        losses, times = work.train(its["name"], len(its["losses"]))
        far = distance(losses, its["losses"])
        work.figures.update(steps=len(losses), first_loss=losses[0], last_loss=losses[-1],
                            expected_last_loss=its["losses"][-1], furthest=far,
                            step_ms=median(times), losses=losses)
        work.check("the loss curve of a processor", far <= SAME_CURVE["f32"], furthest=far)
        work.check("it learns", losses[-1] < its["losses"][0], last=losses[-1])

    work.attempt(body, program=its["name"])


def deep(work):
    """Each plan must have the losses of the same model as a whole."""
    for entry in work.manifest["deep"]:
        for gpus in dict.fromkeys((1, min(entry["ranks"], len(work.gpus)))):
            if gpus not in (1, entry["ranks"]):
                continue
            work.attempt(lambda: against_whole(work, entry, gpus, "on"), 5,
                         program=entry["name"], plan=entry["plan"], gpus=gpus)


def against_whole(work, entry, gpus, graph):
    losses, times = work.train(entry["name"], steps(work), f"--graph={graph}", gpus=gpus)
    key = f"{entry['name']} on {gpus}"
    work.figures[key] = {"plan": entry["plan"], "ranks": entry["ranks"], "gpus": gpus,
                         "step_ms": median(times), "losses": losses}
    compare(work, entry, losses, key)


WHOLE = {}  # by model, the losses of its first program


def compare(work, entry, losses, key):
    expected = WHOLE.setdefault(entry["model"], losses)
    work.check("the losses of the whole model",
               distance(losses, expected) <= SAME_CURVE[entry["dtype"]], program=key,
               plan=entry["plan"], furthest=distance(losses, expected))


def several(work):
    """In one process, and in a process for each GPU where there is an mpirun."""
    if len(work.gpus) < 2:
        raise Skipped(f"expects 2 GPUs or more, got {len(work.gpus)}")
    ways = [("one process", work.train)]
    if shutil.which("mpirun", path=work.env.get("PATH")):
        ways.append(("processes", work.train_processes))
    for entry in work.manifest["several"]:
        if entry["ranks"] > len(work.gpus):
            continue
        # One rank is one process, and many that are played take long.
        count = 1 if work.emulated and entry["ranks"] > 2 else entry["ranks"]
        for way, train in ways[:count]:
            work.attempt(lambda: on_several(work, entry, way, train), 5, program=entry["name"],
                         plan=entry["plan"], way=way)


def on_several(work, entry, way, train):
    losses, times = train(entry["name"], steps(work), gpus=entry["ranks"])
    key = f"{entry['name']} by {way}"
    its = {"plan": entry["plan"], "gpus": entry["ranks"], "step_ms": median(times),
           "tokens_per_s": 1e3 * entry["tokens"] / median(times), "losses": losses}
    work.figures[key] = its
    one = next((of for of in work.figures.values() if of["gpus"] == 1), None)
    if entry["scales"] and one:
        its["efficiency"] = its["tokens_per_s"] / one["tokens_per_s"] / its["gpus"]
    if not entry["scales"]:
        compare(work, entry, losses, key)


def device(work):
    """The device tests of the runtime, on the GPU here."""
    for path in sorted((work.files / "bin").glob("PP*Test")):
        words = [path, *(["--device=cuda"] if path.name == "PPDeviceTest" else [])]
        done = work.attempt(lambda: work.call(words, work.environment(1)), program=path.name)
        if done:
            work.check("test program", done.returncode == 0, program=path.name,
                       **({"got": done.stdout[-1500:]} if done.returncode else {}))


def tell_training(of):
    return [(f"{of['steps']} steps", f"loss {of['first_loss']:.4f} to {of['last_loss']:.4f} "
             f"(processor {of['expected_last_loss']:.4f}, furthest {of['furthest']:.1e}), "
             f"{of['step_ms']:.2f} ms a step")] if of else []


def tell_steps(figures):
    return [(f"{name}: {of['plan'] or 'whole'}", f"{of['step_ms']:.2f} ms a step" +
             (f", {of['tokens_per_s']:.0f} tokens/s" if "tokens_per_s" in of else "") +
             (f", {100 * of['efficiency']:.0f} % of linear" if "efficiency" in of else ""))
            for name, of in figures.items()]
