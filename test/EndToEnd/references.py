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


# A model that says a sharding itself, by the name of its plan's axis, and one
# that leaves Adam a gradient of nothing but rounding.
SHARDED = """module {
  func.func @main(%x: tensor<4xf64> {pp.sharding = #pp.sharding<@mesh, [{"dp"}]>, pp.name = "x", pp.role = #pp.role<input>}, %w: tensor<4xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<constant, 1.0>}) -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %0 = pp.mul %x, %w : tensor<4xf64>
    %1 = pp.sharding_constraint %0 to <@mesh, [{"dp"}]> : tensor<4xf64>
    %2 = pp.reduce sum %1 dims [0] : tensor<4xf64> -> tensor<f64>
    return %2 : tensor<f64>
  }
}
"""
CANCELLING = """module {
  func.func @main(%x: tensor<6xf64> {pp.name = "x", pp.role = #pp.role<input>},
      %b: tensor<f64> {pp.name = "b", pp.role = #pp.role<param>, pp.init = #pp.init<constant, 0.5>},
      %w: tensor<f64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<constant, 100.0>})
      -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %s = pp.reduce sum %x dims [0] : tensor<6xf64> -> tensor<f64>
    %c = pp.constant dense<1.6666666666666666e-01> : tensor<f64>
    %m = pp.mul %s, %c : tensor<f64>
    %mb = pp.broadcast %m dims [] : tensor<f64> -> tensor<6xf64>
    %d = pp.sub %x, %mb : tensor<6xf64>
    %bb = pp.broadcast %b dims [] : tensor<f64> -> tensor<6xf64>
    %p = pp.mul %d, %bb : tensor<6xf64>
    %l = pp.reduce sum %p dims [0] : tensor<6xf64> -> tensor<f64>
    %ww = pp.mul %w, %w : tensor<f64>
    %r = pp.add %l, %ww : tensor<f64>
    return %r : tensor<f64>
  }
}
"""


def change_rate(text):
    """A step whose learning rate is half of what its plan says."""
    return re.sub(r"(pp\.constant \{[^}]*\} dense<)1\.000000e-01>", r"\g<1>5.000000e-02>", text)


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

        for name, model in ("sharded", SHARDED), ("cancelling", CANCELLING):
            (folder / f"{name}.mlir").write_text(model)
            make("pp-opt", f"{name}.mlir",
                 "--pp-parallelize=dp=2 optimizer=adam lr=0.1 stop-after=spmd", "-o", "split.mlir")
            make("pp-opt", "split.mlir", "--pp-parallelize=", "--emit=ppx", "-o", "split.ppx")
            (folder / "slow.mlir").write_text(change_rate((folder / "split.mlir").read_text()))
            for source in "split.mlir", "split.ppx":
                check(f"{name} {source}", 0, "ok", source, f"--reference={name}.mlir")
            check(f"{name} of another rate", 7, "DIFFERS", "slow.mlir", f"--reference={name}.mlir",
                  "--trace=none.json")
            if '"ph":"X"' in (folder / "none.json").read_text().replace(" ", ""):
                errors.append("expects no timeline of a run that makes no step")

        make("pp-model", *MODEL.replace("hidden=12", "hidden=10").split(), "-o", "other.mlir")
        check("another model", 2, "expects a model with param 'layers.0.weight' of f32[8, 12], as "
              "the program has, got f32[8, 10]", "spmd.mlir",
              "--reference=other.mlir")
        make("pp-model", *MODEL.replace("hidden=12", "hidden=10").split(), "--dtype=bf16", "-o", "half.mlir")
        make("pp-opt", "other.mlir", "--pp-parallelize=dp=2 precision=bf16", "--emit=ppx", "-o", "low.ppx")
        check("a model of another type", 2, "half.mlir: --reference expects a model with param 'layers.0.weight' "
              "of f32[8, 10], as the program has, got bf16[8, 10]", "low.ppx", "--reference=half.mlir")
        check("16 bits", 0, "the error of parameters is what the gradients' rounding does not explain; the whole error is ",
              "low.ppx", "--reference=other.mlir")
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
