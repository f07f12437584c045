#!/usr/bin/env python3
"""Compiles exported steps and stages of pipelines with IREE.

SPDX-License-Identifier: Apache-2.0

Needs iree-base-compiler of this Python or of .venv-peers (`pip install
iree-base-compiler`); without it the test is skipped. Nothing is run.

  iree_stages.py --bin=build/bin
"""
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


def main():
    peers.need("iree")
    import iree.compiler
    with scratch.from_command_line(__doc__) as tools:
        judge = scratch.Judge(tools)
        for name, model, partition in CASES:
            for old in tools.folder.glob("step*"):
                old.unlink()
            tools.make("pp-model", *model.split(), "-o", "model.mlir")
            tools.make("pp-opt", "model.mlir", f"--pp-parallelize={partition}",
                       "--emit=stablehlo", "-o", "step.mlir")
            sizes = []
            for path in sorted(tools.folder.glob("step*.mlir")):
                try:
                    sizes.append(len(iree.compiler.compile_file(
                        str(path), input_type="stablehlo", target_backends=["llvm-cpu"],
                        extra_args=["--iree-llvmcpu-target-cpu=generic"])))
                except iree.compiler.CompilerToolError as error:
                    judge.expect(False, f"{name}: {path.name}: {str(error)[:2000]}")
            judge.expect(sizes, f"{name}: expects modules")
            print(f"{name}: {len(sizes)} modules compiled to {sum(sizes)} bytes", flush=True)
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
