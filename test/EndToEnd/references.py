#!/usr/bin/env python3
"""Compares partitioned modules and artifacts, edited by hand, with their model.

SPDX-License-Identifier: Apache-2.0

A right edit passes, a wrong one does not, at every level at which somebody may
edit; a reference of another model is refused by what differs.

  references.py --bin=build/bin
"""
import json
import re
import sys

import scratch

MODEL = "mlp --layers=2 --input=8 --hidden=12 --classes=4 --batch=8"
GOAL = "dp=2 pp=2 microbatches=2 lr=0.01"


def split_sum(text):
    """The first sum over dp, in two halves: scattered, then gathered."""
    pattern = (r'(%\w+) = pp\.all_reduce sum (%\w+) over @mesh \["dp"\] (\{.*?\}) : '
               r'\(tensor<(\d+)x(.*?)>\) -> tensor<.*?>\n')
    match = re.search(pattern, text)
    result, operand, attributes, rows, rest = match.groups()
    whole, half = f"tensor<{rows}x{rest}>", f"tensor<{int(rows) // 2}x{rest}>"
    edited = (f'%half = pp.reduce_scatter sum {operand} dims [0] over @mesh ["dp"] {attributes} : '
              f'({whole}) -> {half}\n'
              f'    {result} = pp.all_gather %half dims [0] over @mesh ["dp"] {attributes} : '
              f'({half}) -> {whole}\n')
    return text[:match.start()] + edited + text[match.end():]


def forget_sum(text):
    """The first sum over dp of a gradient, left out."""
    pattern = r'(%\w+) = pp\.all_reduce sum (%\w+) over @mesh \["dp"\] .*: \(tensor<\d.*\n'
    match = re.search(pattern, text)
    return re.sub(rf"{match[1]}\b", match[2], text[:match.start()] + text[match.end():])


def change_reduction(text):
    """A program whose first collective is no sum."""
    return re.sub(r'pp\.collective all_reduce sum', "pp.collective all_reduce max", text, count=1)


def main():
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        folder, call, make = tools.folder, tools.call, tools.make

        def check(what, code, text, *words):
            done = call("pp-run", *words, "--verify", "--steps=2", "--report=report.json")
            if done.returncode != code or text not in done.stdout + done.stderr:
                errors.append(f"{what}: expects exit {code} and '{text}', got {done}")

        for dtype, optimizer in ("f64", "sgd"), ("f32", "adamw"):
            goal = f"{GOAL} optimizer={optimizer}"
            make("pp-model", *MODEL.split(), f"--dtype={dtype}", "-o", "model.mlir")
            for level in ("graph", "spmd", "pipeline", "program"):
                make("pp-opt", "model.mlir", f"--pp-parallelize={goal} stop-after={level}", "-o",
                     f"{level}.mlir")
            make("pp-opt", "program.mlir", "--emit=ppx", "-o", "program.ppx")
            references = ("--reference=model.mlir", "--reference=graph.mlir")
            if optimizer == "sgd":  # a step of somebody's own says of none how it updates
                graph = (folder / "graph.mlir").read_text()
                (folder / "own.mlir").write_text(
                    re.sub(r", optimizer = #pp\.optimizer<.*?>", "", graph))
                references += ("--reference=own.mlir",)
            for source in ("spmd.mlir", "pipeline.mlir", "program.mlir", "program.ppx"):
                for reference in references:
                    check(f"{dtype} {source}", 0, "parameters" if dtype == "f64" else "params / lr",
                          source, reference)
            spmd = (folder / "spmd.mlir").read_text()
            (folder / "right.mlir").write_text(split_sum(spmd))
            (folder / "wrong.mlir").write_text(forget_sum(spmd))
            program = (folder / "program.mlir").read_text()
            (folder / "max.mlir").write_text(change_reduction(program))
            make("pp-opt", "max.mlir", "--emit=ppx", "-o", "max.ppx")
            for reference in references:
                check(f"{dtype} right edit", 0, "ok", "right.mlir", reference)
                for source in ("wrong.mlir", "max.mlir", "max.ppx"):
                    check(f"{dtype} {source}", 7, "DIFFERS", source, reference)
            # The report says what the screen does.
            if json.loads((folder / "report.json").read_text())["verify"]["ok"]:
                errors.append("expects a report of a difference")

        make("pp-model", *MODEL.replace("hidden=12", "hidden=10").split(), "-o", "other.mlir")
        check("another model", 2, "expects a model with param 'layers.0.weight' of f32[8, 12], as "
              "the program has, got param 'layers.0.weight' of f32[8, 10]", "spmd.mlir",
              "--reference=other.mlir")
        check("no reference", 2, "--reference=MODEL", "spmd.mlir")
        check("no reference of an artifact", 2, "--reference=MODEL", "program.ppx")
        check("a partitioned reference", 2, "got the partitioned module", "program.ppx",
              "--reference=spmd.mlir")
        check("an artifact for a reference", 2, "expects a module", "program.ppx",
              "--reference=program.ppx")
    print("\n".join(errors) or "edits are judged rightly")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
