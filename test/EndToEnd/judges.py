#!/usr/bin/env python3
"""Asks whether `pp-run --verify` would notice.

SPDX-License-Identifier: Apache-2.0

A model that f32 cannot compute is as far from the interpreter, which uses f64, as
its program for one device; a wrong program of such a model is farther. Losses of exactly zero agree, and a model without parameters rounds as its type
does. A large model is judged by the program for one
device: that adds in another order, so that a partitioned program which agrees to
the last bit was compared with itself. Models in bf16, or with bf16 in them, are
accepted as far from f64 as their program for one device is.

  judges.py --bin=build/bin
"""
import json
import sys

import scratch

# Beside 1e9, which the product adds four times and 4e9 takes away, w x is lost in f32.
CANCELS = """
func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>},
                %v: tensor<4x1xf32> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<constant, 1.0>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %one = pp.constant dense<1.0e9> : tensor<f32>
  %four = pp.constant dense<4.0e9> : tensor<f32>
  %ones = pp.broadcast %one dims [] : tensor<f32> -> tensor<8x4xf32>
  %fours = pp.broadcast %four dims [] : tensor<f32> -> tensor<8x1xf32>
  %ws = pp.broadcast %w dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %y = pp.mul %x, %ws : tensor<8x4xf32>
  %far = pp.add %y, %ones : tensor<8x4xf32>
  %sum = pp.dot_general %far, %v batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x1xf32> -> tensor<8x1xf32>
  %near = pp.sub %sum, %fours : tensor<8x1xf32>
  %square = pp.mul %near, %near : tensor<8x1xf32>
  %loss = pp.reduce sum %square dims [0, 1] : tensor<8x1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
"""
# Every loss is 0, whatever is learnt.
ZERO = """
func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<8x4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %y = pp.mul %w, %w : tensor<8x4xf32>
  %z = pp.mul %x, %y : tensor<8x4xf32>
  %loss = pp.reduce sum %z dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
"""
# Nothing is learnt; f32 rounds all the same.
CONSTANT = """
func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.role = #pp.role<input>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %y = pp.exp %x : tensor<8x4xf32>
  %loss = pp.reduce sum %y dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
"""
# Parameters, loss and update are f32, the product is not.
MIXED = """
func.func @main(%x: tensor<8x64xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<64x32xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %xb = pp.convert %x : tensor<8x64xf32> -> tensor<8x64xbf16>
  %wb = pp.convert %w : tensor<64x32xf32> -> tensor<64x32xbf16>
  %yb = pp.dot_general %xb, %wb batch [] x [] contract [1] x [0] : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
  %y = pp.convert %yb : tensor<8x32xbf16> -> tensor<8x32xf32>
  %t = pp.tanh %y : tensor<8x32xf32>
  %loss = pp.reduce sum %t dims [0, 1] : tensor<8x32xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
"""
TWO_SAMPLES = "resnet --width=8 --image=8 --batch=2 --classes=4 --dtype=f64"
LARGE = "gpt --layers=2 --hidden=128 --heads=4 --seq=64 --batch=16 --vocab=256"
REALS = "mlp --layers=3 --input=256 --hidden=512 --batch=512"  # whose inputs are f32
SMALL = "gpt --dtype=bf16 --layers=3 --hidden=20 --heads=4 --seq=8 --batch=16 --vocab=32"
PLAN = """#pp.plan<mesh = <["mb"=2 : time, "pp"=2 : stage, "dp"=2]>, schedule = "1f1b",
         optimizer = #pp.optimizer<sgd, lr = 1.0e-2>, threads = 1>"""


def main():
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        folder = tools.folder

        def verify(model, goal):
            done = tools.call("pp-run", model, f"--parallelize={goal}", "--verify", "--steps=2",
                              "--report=report.json")
            print(f"{model} [{goal}]: exit {done.returncode}\n{done.stdout}{done.stderr}")
            return done.returncode, json.loads((folder / "report.json").read_text())["verify"]

        (folder / "cancels.mlir").write_text(CANCELS)
        (folder / "zero.mlir").write_text(ZERO)
        (folder / "two-by-two.plan").write_text(PLAN)
        tools.call("pp-model", *LARGE.split(), "-o", "large.mlir").check_returncode()
        code, found = verify("cancels.mlir", "dp=2 optimizer=sgd lr=1e-3")
        if (code or found["class"] != "low precision" or found["judge"] != "interpreter" or
                not found["loss"] > 1e-2):
            errors.append(f"cancels.mlir: expects the error of one device, got {code}: {found}")
        code, found = verify("zero.mlir", "dp=2 optimizer=sgd lr=1e-3")
        if code or found["loss"] != 0:
            errors.append(f"zero.mlir: expects equal losses, got exit {code}: {found}")
        for model in CONSTANT, CONSTANT.replace("f32", "f64"):
            (folder / "constant.mlir").write_text(model)
            code, found = verify("constant.mlir", "dp=2")
            if code or not found["ok"]:
                errors.append(f"constant.mlir: expects the bounds of its type, got exit {code}: "
                              f"{found}")
        (folder / "mixed.mlir").write_text(MIXED)
        for goal in "dp=2 optimizer=sgd lr=1e-2", "dp=2 microbatches=2 optimizer=adamw lr=1e-3":
            code, found = verify("mixed.mlir", goal)
            if code or found["class"] != "low precision":
                errors.append(f"mixed.mlir [{goal}]: expects to be measured as bf16, got exit "
                              f"{code}: {found}")
        for goal in ("dp=2 pp=2 microbatches=2 optimizer=sgd lr=1e-2", "plan=two-by-two.plan"):
            code, found = verify("large.mlir", goal)
            if code or found["judge"] != "one device" or not found["gradients"] > 0:
                errors.append(f"large.mlir [{goal}]: expects one device to differ by rounding, "
                              f"got exit {code}: {found}")
        tools.call("pp-model", *REALS.split(), "-o", "reals.mlir").check_returncode()
        code, found = verify("reals.mlir", "dp=2 precision=bf16 optimizer=sgd lr=1e-2")
        if code or found["judge"] != "one device" or found["class"] != "low precision":
            errors.append(f"reals.mlir: expects to be measured against f64, got exit {code}: {found}")
        for name, sizes, judge in (("small", SMALL, "interpreter"),
                                   ("half", SMALL.replace("bf16", "f16"), "interpreter"),
                                   ("low", f"{LARGE} --dtype=bf16", "one device")):
            tools.call("pp-model", *sizes.split(), "-o", f"{name}.mlir").check_returncode()
            for goal in ("optimizer=sgd lr=1e-2",
                         "dp=2 tp=2 microbatches=4 optimizer=adamw lr=1e-3",
                         "dp=2 pp=2 microbatches=3 optimizer=momentum lr=1e-2 clip=0.5"):
                code, found = verify(f"{name}.mlir", goal)
                if code or found["judge"] != judge or found["class"] != "low precision":
                    errors.append(f"{name}.mlir [{goal}]: expects its type as it is on one device, "
                                  f"got exit {code}: {found}")
        # Batch norm of two samples, at rest 2 x 2 pixels, loses four digits of f64. Where that is
        # more than the fixed bound, it is measured, and an epsilon that is a ten millionth too large
        # is seen on any processor.
        tools.call("pp-model", *TWO_SAMPLES.split(), "-o", "two.mlir").check_returncode()
        code, found = verify("two.mlir", "tp=2 optimizer=adamw lr=1e-3")
        if code or found["class"] not in ("measured", "exact"):
            errors.append(f"two.mlir: expects to pass, got exit {code}: {found}")
        tools.call("pp-opt", "two.mlir", "--pp-parallelize=tp=2 stop-after=spmd", "-o",
                   "spmd.mlir").check_returncode()
        text = (folder / "spmd.mlir").read_text()
        (folder / "wrong.mlir").write_text(text.replace("1.000000e-05", "1.0000001e-05", 1))
        for name, expected in (("spmd.mlir", 0), ("wrong.mlir", 7)):
            done = tools.call("pp-run", name, "--verify", "--reference=two.mlir", "--steps=2",
                              "--quiet")
            if done.returncode != expected:
                errors.append(f"{name} of two.mlir: expects exit {expected}, got "
                              f"{done.returncode}: {done.stdout}{done.stderr}")
        # By chance f32 may be far better on one device than in parts, and bf16 has no digit left: what
        # cannot be told the table says. Sums over dp that are none are refused all the same.
        for kind, seed in ("f32", 3), ("f32", 4), ("bf16", 4):
            tools.call("pp-model", *TWO_SAMPLES.replace("f64", kind).split(), "-o",
                       "two.mlir").check_returncode()
            done = tools.call("pp-run", "two.mlir", "--parallelize=dp=2", "--verify", "--steps=2",
                              f"--seed={seed}")
            if done.returncode and "verify it in" not in done.stdout:
                errors.append(f"two samples of {kind}: expects to pass, or to be told why not, got "
                              f"{done.returncode}: {done.stdout}{done.stderr}")
            tools.call("pp-opt", "two.mlir", "--pp-parallelize=dp=2 optimizer=sgd lr=1e-2 "
                       "stop-after=spmd", "-o", "spmd.mlir").check_returncode()
            text = (folder / "spmd.mlir").read_text()
            (folder / "wrong.mlir").write_text(text.replace("all_reduce sum", "all_reduce max"))
            done = tools.call("pp-run", "wrong.mlir", "--verify", "--reference=two.mlir",
                              "--steps=2", f"--seed={seed}", "--quiet")
            if done.returncode != 7:
                errors.append(f"sums of two samples of {kind} as maxima: expects exit 7, got "
                              f"{done.returncode}: {done.stdout}{done.stderr}")
        # A wrong program is refused for all that rounding allows. Tanh is saturated by so large
        # a step, and f32 loses half of its digits in six layers, on any processor.
        tools.call("pp-model", "mlp", "--layers=6", "-o", "saturated.mlir").check_returncode()
        for model, lr in ("small", "1e-2"), ("saturated", "1e3"):
            tools.call("pp-opt", f"{model}.mlir", "--pp-parallelize=dp=2 microbatches=2 "
                       f"optimizer=sgd lr={lr}", "-o", "program.mlir").check_returncode()
            program = (folder / "program.mlir").read_text()
            (folder / "wrong.mlir").write_text(program.replace("all_reduce sum", "all_reduce max"))
            for name, expected, kind in (("program.mlir", 0, "low precision"),
                                         ("wrong.mlir", 7, "measured")):
                done = tools.call("pp-run", name, "--verify", f"--reference={model}.mlir",
                                  "--steps=3", "--quiet", "--report=report.json")
                found = json.loads((folder / "report.json").read_text())["verify"]
                if done.returncode != expected or found["class"] != kind:
                    errors.append(f"{name} of {model}.mlir: expects exit {expected}, got "
                                  f"{done.returncode}: {found} {done.stdout}{done.stderr}")
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
