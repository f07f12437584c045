#!/usr/bin/env python3
"""Compiles exported steps and stages of pipelines with IREE.

SPDX-License-Identifier: Apache-2.0

Needs iree-base-compiler of this Python or of .venv-peers (`pip install
iree-base-compiler`); without it the test is skipped. With iree-base-runtime and
safetensors the step of one device runs, too, and its parameters are compared
with pp-run's, in f32.

  iree_stages.py --bin=build/bin
"""
import importlib.util
import sys

from on_devices import peers
import scratch

GPT = "gpt --layers=2 --hidden=16 --heads=4 --seq=8 --batch=8 --vocab=32"

# A name, a model, the partition.
CASES = [
    ("one device", GPT, "optimizer=sgd"),
    ("a pipeline", GPT, "pp=2 microbatches=2"),
    ("a pipeline of replicas", GPT, "pp=2 dp=2 zero=1 microbatches=2 clip=1"),
    ("four stages", "mlp --layers=4 --batch=8", "pp=4 microbatches=4"),
]


def compile_module(path):
    import iree.compiler
    return iree.compiler.compile_file(
        str(path), input_type="stablehlo", target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=generic"])


def compile_case(tools, judge, case):
    import iree.compiler
    name, model, partition = case
    for old in tools.folder.glob("step*"):
        old.unlink()
    tools.make("pp-model", *model.split(), "-o", "model.mlir")
    tools.make("pp-opt", "model.mlir", f"--pp-parallelize={partition}", "--emit=stablehlo",
               "-o", "step.mlir")
    sizes = []
    for path in sorted(tools.folder.glob("step*.mlir")):
        try:
            sizes.append(len(compile_module(path)))
        except iree.compiler.CompilerToolError as error:
            judge.expect(False, f"{name}: {path.name}: {str(error)[:2000]}")
    judge.expect(sizes, f"{name}: expects modules")
    print(f"{name}: {len(sizes)} modules compiled to {sum(sizes)} bytes", flush=True)


def run_step(tools, judge):
    """A step of micro-batches on one device."""
    import iree.runtime
    import numpy as np
    from pp.exported import Interface
    import xla_steps
    keys = "microbatches=2 optimizer=sgd lr=0.1"
    tools.make("pp-model", *GPT.split(), "-o", "model.mlir")
    tools.make("pp-opt", "model.mlir", f"--pp-parallelize={keys}", "--emit=stablehlo",
               "-o", "step.mlir")
    step = Interface(tools.folder / "step.mlir")
    parameters, batch = xla_steps.write_batches(tools, step, steps=1)
    losses, after = xla_steps.run_with_pp(tools, keys, steps=1)
    given = parameters | batch
    module = iree.runtime.load_vm_flatbuffer(compile_module(tools.folder / "step.mlir"),
                                             driver="local-sync")
    results = module.main(*(tensor.split(tensor.from_stored(
        given[tensor.name] if tensor.name in given else tensor.initial()), 0)
        for tensor in step.arguments))
    worst = 0.0
    for tensor, result in zip(step.results, results):
        value = tensor.to_stored(tensor.join([result.to_host()]))
        expected = after[tensor.name] if tensor.role == "param" else losses[0]
        if tensor.role in ("param", "loss"):
            worst = max(worst, float(np.linalg.norm(value - expected) / np.linalg.norm(expected)))
    print(f"a step runs: loss and parameters off by at most {worst:.1e}")
    judge.expect(worst <= 1e-5, "a step: expects differences of at most 1e-5")


def main():
    peers.need("iree")
    with scratch.from_command_line(__doc__) as tools:
        judge = scratch.Judge(tools)
        for case in CASES:
            compile_case(tools, judge, case)
        if all(importlib.util.find_spec(name) for name in ("iree.runtime", "safetensors")):
            run_step(tools, judge)
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
