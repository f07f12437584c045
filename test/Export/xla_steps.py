#!/usr/bin/env python3
"""Compares steps that pp-opt exports to StableHLO and XLA runs with pp-run's.

SPDX-License-Identifier: Apache-2.0

In f64, two steps of each partition: the loss of both and every parameter behind
them. XLA runs on as many devices of the processor as the mesh has. Needs JAX,
NumPy and safetensors of this Python or of .venv-peers; without them the test is
skipped.

  xla_steps.py --bin=build/bin [--only=zero]
"""
import json
import os
import re
import shlex
import subprocess
import sys

import on_devices
import scratch

BOUND = 1e-10  # relative, of a tensor's Euclidean norm
GPT = "gpt --layers=1 --hidden=16 --heads=4 --seq=8 --batch=8 --vocab=32"
MOE = "moe --layers=2 --hidden=16 --heads=4 --seq=8 --batch=8 --vocab=32 --experts=4"

# A name, a model, the partition.
CASES = [
    ("one", GPT, "optimizer=adamw"),
    ("dp", GPT, "dp=4"),
    ("tp", GPT, "dp=2 tp=2"),
    ("uneven heads", GPT.replace("--heads=4", "--heads=2"), "tp=4"),
    ("padded heads", GPT.replace("hidden=16", "hidden=24").replace("heads=4", "heads=3"), "tp=2"),
    ("sequence", GPT, "dp=2 tp=2 sequence=true"),
    ("sp", GPT, "sp=2 dp=2"),
    ("vocabulary", GPT, "tp=4 vocab=true"),
    ("zero 1", GPT, "dp=4 zero=1 clip=0.1"),
    ("zero 2", GPT, "dp=4 zero=2 microbatches=2"),
    ("zero 3", GPT, "dp=2 tp=2 zero=3 microbatches=2"),
    ("micro-batches", GPT, "dp=2 microbatches=4 clip=0.1 warmup=2"),
    ("experts", MOE, "ep=4"),
    ("experts and zero", MOE, "ep=2 dp=2 zero=3 microbatches=2"),
    ("dropout", GPT + " --dropout=0.2", "dp=2 tp=2 microbatches=2"),
    ("momentum", GPT, "dp=2 optimizer=momentum lr=0.1"),
    ("resnet", "resnet --depth=18 --image=32 --width=8 --classes=4 --batch=8",
     "dp=2 tp=2 optimizer=sgd lr=0.1"),
    ("unet", "unet --depth=2 --image=16 --channels=2 --width=8 --classes=4 --batch=4", "dp=2"),
]


def write_batches(tools, module, steps):
    """Parameters and batches by name, also as files for pp-run."""
    import numpy as np
    from safetensors.numpy import save_file
    draw = np.random.default_rng(0)
    parameters, batches = {}, {}
    for tensor in module.arguments:
        shape = tensor.stored_shape
        if tensor.role == "state" and tensor.init["kind"] == "uniform":  # the seed of dropout
            parameters[tensor.name] = draw.integers(0, 1 << 40, shape).astype(tensor.dtype)
        elif tensor.role == "param":
            parameters[tensor.name] = draw.normal(
                0.5 if len(shape) == 1 else 0, 0.3, shape).astype(tensor.dtype)
        elif tensor.role in ("input", "label"):
            shape = [shape[0] * steps, *shape[1:]]
            value = (draw.integers(0, tensor.bound, shape).astype(tensor.dtype)
                     if hasattr(tensor, "bound") else draw.normal(0, 1, shape))
            batches[tensor.name] = value
            np.save(tools.folder / f"{tensor.name}.npy", value)
    save_file(parameters, tools.folder / "before.safetensors")
    return parameters, batches


def run_with_pp(tools, partition, steps):
    from safetensors.numpy import load_file
    tools.make("pp-run", "model.mlir", f"--parallelize={partition}", "--data=npy:.",
               "--parameters=before.safetensors", f"--steps={steps}", "--save=after.safetensors",
               "--report=report.json", "--quiet")
    report = json.loads((tools.folder / "report.json").read_text())
    return ([step["loss"] for step in report["steps"]],
            load_file(tools.folder / "after.safetensors"))


def compare(tools, judge, case, load, run, steps=2):
    import numpy as np
    name, model, partition = case
    family, *options = model.split()
    tools.make("pp-model", family, *options, "--dtype=f64", "-o", "model.mlir")
    tools.make("pp-opt", "model.mlir", f"--pp-parallelize={partition}", "--emit=stablehlo",
               "-o", "step.mlir")
    step = load(tools.folder / "step.mlir")
    parameters, batches = write_batches(tools, getattr(step, "interface", step), steps)
    losses, after = run_with_pp(tools, partition, steps)
    step.start(parameters)
    worst = 0.0
    for index, loss in enumerate(losses):
        batch = {key: np.split(value, steps)[index] for key, value in batches.items()}
        worst = max(worst, abs(run(step, batch) - loss) / abs(loss))
    norm = lambda value: float(np.linalg.norm(np.ravel(value)))
    least = 1e-6 * sum(norm(value) ** 2 for value in after.values()) ** 0.5
    got = step.values()
    difference, where = max((norm(got[key] - value) / max(norm(value), least), key)
                            for key, value in after.items())
    print(f"{name}: loss {losses[-1]:.6g} off by {worst:.1e}, {len(after)} parameters by at most "
          f"{difference:.1e} ({where})", flush=True)
    judge.expect(worst <= BOUND and difference <= BOUND,
                 f"{name}: expects differences of at most {BOUND}")


def compare_evaluation(tools, judge):
    """What a model predicts, of every micro-batch."""
    import numpy as np
    from pp.xla import Step
    keys = "dp=2 tp=2 microbatches=2"
    tools.make("pp-model", *GPT.split(), "--dtype=f64", "-o", "model.mlir")
    tools.make("pp-opt", "model.mlir", f"--pp-parallelize={keys}", "--evaluate",
               "--predict-values=logits", "--emit=stablehlo", "-o", "step.mlir")
    step = Step(tools.folder / "step.mlir")
    parameters, batch = write_batches(tools, step, steps=1)
    tools.make("pp-run", "model.mlir", f"--parallelize={keys}", "--eval-only",
               "--eval-data=npy:.", "--parameters=before.safetensors",
               "--predict=logits.npy", "--quiet")
    step.start(parameters)
    got, expected = step(**batch)["logits"], np.load(tools.folder / "logits.npy")
    error = float(np.linalg.norm(got - expected.reshape(got.shape)) / np.linalg.norm(expected))
    print(f"evaluation: logits off by {error:.1e}", flush=True)
    judge.expect(error <= BOUND, f"evaluation: expects a difference of at most {BOUND}")


def check_refusals(tools, judge):
    """What Step refuses: the last step written had no stages, the next has."""
    from pp.xla import Step
    tools.make("pp-model", *GPT.split(), "--dtype=f64", "-o", "model.mlir")
    tools.make("pp-opt", "model.mlir", "--pp-parallelize=dp=2", "--emit=stablehlo", "-o", "step.mlir")
    step = Step(tools.folder / "step.mlir")
    parameters, batch = write_batches(tools, step, steps=1)
    name = next(iter(parameters))

    def begin_piped():
        tools.make("pp-opt", "model.mlir", "--pp-parallelize=pp=2", "--emit=stablehlo", "-o", "step.mlir")
        Step(tools.folder / "step.mlir")

    cases = [
        (lambda: step(**batch), "expects start(parameters) before the first step"),
        (lambda: step.start("before.safetensors"), "expects a dict of parameters and states by name, got str"),
        (lambda: step.start({}), "which starts from random numbers, got none"),
        (lambda: step.start(parameters | {"nobody": 1}), "got 'nobody'"),
        (lambda: step.start(parameters | {name: parameters[name].ravel()[:1]}), f"{name}: expects shape"),
        (lambda: step.start(parameters), None),
        (lambda: step(tokens=batch["tokens"]), "got none of 'labels'"),
        (lambda: step(**batch | {"tokens": batch["tokens"].T[:, :4]}), "tokens: expects shape [8, 8], got [8, 4]"),
        (lambda: step(**batch | {"tokens": batch["tokens"] * 0.5}), "tokens: expects integers of"),
        (begin_piped, "is a pipeline of 2 stages"),
    ]
    for act, expected in cases:
        try:
            act()
            said = None
        except (TypeError, ValueError) as error:
            said = str(error)
        judge.expect(said == expected if None in (said, expected) else expected in said,
                     f"expects {expected!r}, got {said!r}")


def run_page(tools, judge):
    """The example of docs/Exporting.md runs, and the model learns."""
    page = (on_devices.ROOT / "docs/Exporting.md").read_text()
    commands = [shlex.split(line[2:].strip()) for line in page.split("\n")
                if line.startswith("$ pp-")]
    for tool, *arguments in commands:
        tools.make(tool, *arguments)
    code = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=tools.folder, text=True, timeout=120,
                          env=os.environ | {"PYTHONPATH": str(on_devices.ROOT / "python")},
                          capture_output=True)
    losses = [float(word) for word in done.stdout.split()]
    judge.expect(len(losses) == 3 and losses == sorted(losses, reverse=True),
                 f"docs/Exporting.md: expects falling losses, got {losses}: {done.stderr}")


def run_all(cases, load, run, description, *others):
    """Each case: `load` what pp-opt wrote, `run` a step of it."""
    only = next((a.split("=")[1].split(",") for a in sys.argv if a.startswith("--only=")), None)
    sys.argv = [a for a in sys.argv if not a.startswith("--only=")]
    with scratch.from_command_line(description) as tools:
        judge = scratch.Judge(tools)
        for case in cases:
            if not only or case[0] in only:
                compare(tools, judge, case, load, run)
        for other in others if not only else ():
            other(tools, judge)
    return 1 if judge.failures else 0


def main():
    on_devices.start(4, "safetensors")
    from pp.xla import Step
    return run_all(CASES, Step, lambda step, batch: float(step(**batch)["loss"]), __doc__,
                   compare_evaluation, check_refusals, run_page)


if __name__ == "__main__":
    sys.exit(main())
