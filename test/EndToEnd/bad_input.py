#!/usr/bin/env python3
"""Feeds the tools what they must refuse.

SPDX-License-Identifier: Apache-2.0

Every case ends with the documented exit code and a short message that names the
place and what was expected; it leaves no file, and no half of one.

  bad_input.py --bin=build/bin
"""
import argparse
import dataclasses
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

SGD = "optimizer=sgd lr=0.1"
MODELS = {"gpt.mlir": "gpt --layers=2 --hidden=32 --heads=4 --seq=16 --batch=8 --vocab=256",
          "mlp.mlir": "mlp --layers=2", "other.mlir": "mlp --layers=2 --hidden=48",
          "wide.mlir": "mlp --layers=1 --batch=64",
          "vast.mlir": "gpt --layers=1 --seq=16777216 --batch=16777216"}

GRAPH = """
module {{
  {before}
  func.func @main(%x: tensor<4x4xf32> {{pp.name = "x", pp.role = #pp.role<input>{sharding}}},
                  %w: tensor<4x4xf32> {{pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>}})
      -> (tensor<f32> {{pp.name = "loss", pp.role = #pp.role<loss>}}) {{
    %y = {op} : tensor<4x4xf32>
    %l = pp.reduce sum %y dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }}
}}
"""
# A loss that is an argument as soon as it is seen that nothing is converted.
SCALAR = """
func.func @main(%s: tensor<f32> {pp.name = "s", pp.role = #pp.role<input>},
                %w: tensor<f32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %l = pp.convert %s : tensor<f32> -> tensor<f32>
  return %l : tensor<f32>
}
"""
PLAN = ('#pp.plan<mesh = <["dp"=2]>, schedule = "1f1b", {decisions}'
        'optimizer = #pp.optimizer<sgd>, threads = 1>')


@dataclasses.dataclass
class Case:
    what: str
    code: int
    expected: list  # what the message must hold
    command: list
    memory: int = resource.RLIM_INFINITY  # bytes of address space

    def limit_memory(self):
        resource.setrlimit(resource.RLIMIT_AS, (self.memory, resource.RLIM_INFINITY))


def graph(op="pp.mul %x, %w", sharding="", before=""):
    return GRAPH.format(op=op, sharding=sharding, before=before)


def write_files(folder, tools):
    """The inputs, good and bad."""
    for name, options in MODELS.items():
        subprocess.run([tools / "pp-model", *options.split(), "-o", name], cwd=folder, check=True)
    run = [tools / "pp-run", "mlp.mlir", "--quiet", "--steps=0"]
    subprocess.run([*run, "--save=good.safetensors"], cwd=folder, check=True)
    subprocess.run([tools / "pp-run", "other.mlir", "--quiet", "--steps=0",
                    "--save=other.safetensors"], cwd=folder, check=True)
    subprocess.run([tools / "pp-opt", "mlp.mlir", f"--pp-parallelize={SGD}", "--emit=ppx", "-o",
                    "good.ppx"], cwd=folder, check=True)
    for source, level in ("mlp", "graph"), ("graph", "spmd"):
        subprocess.run([tools / "pp-opt", f"{source}.mlir", "-o", f"{level}.mlir",
                        f"--pp-parallelize=stop-after={level}"], cwd=folder, check=True)
    subprocess.run([tools / "pp-opt", "mlp.mlir", "-o", "program.mlir",
                    "--pp-parallelize=pp=2 microbatches=2"], cwd=folder, check=True)
    for name in ("good.safetensors", "good.ppx"):
        content = (folder / name).read_bytes()
        (folder / name.replace("good", "short")).write_bytes(content[:len(content) * 2 // 3])
        (folder / name.replace("good", "empty")).write_bytes(b"")
    (folder / "old.ppx").write_bytes(b"\x1c\0\0\0PPX2" + bytes(100))
    (folder / "text.ppx").write_text("not an artifact, but some text of some length\n")
    # Zeros that take no room on the disk.
    for name, size in ("sparse.ppx", 1 << 40), ("sparse.mlir", 3 << 29):
        (folder / name).touch()
        os.truncate(folder / name, size)
    (folder / "short.txt").write_text("too short")
    (folder / "long.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 200)
    (folder / "npy").mkdir()
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (64, 32), }"
    header += b" " * (117 - len(header)) + b"\n"
    (folder / "npy/x.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header + bytes(100))
    texts = {
        "syntax.mlir": graph(op="pp.mul %x %w"),
        "type.mlir": graph(op="pp.mul %x, %l"),
        "unknown-op.mlir": graph(op="pp.conv %x, %w"),
        "no-main.mlir": graph().replace("@main", "@step"),
        "no-role.mlir": graph().replace(", pp.role = #pp.role<input>", ""),
        "no-rule.mlir": graph(op="func.call @f(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
                                 "    %z = pp.mul %y, %w",
                              before="func.func private @f(tensor<4x4xf32>) -> tensor<4x4xf32>")
                        .replace("sum %y", "sum %z"),
        "axis.mlir": graph(before='pp.mesh @mesh = <["dp"=2]>',
                           sharding=', pp.sharding = #pp.sharding<@mesh, [{"rows"}, {}]>'),
        "twice.mlir": graph(before='pp.mesh @mesh = <["dp"=2]>',
                            sharding=', pp.sharding = #pp.sharding<@mesh, [{"dp"}, {"dp"}]>'),
        "axis.plan": PLAN.format(decisions='seeds = [#pp.seed<"x", [{"rows"}, {}], 0>], '),
        "twice.plan": PLAN.format(decisions='seeds = [#pp.seed<"x", [{"dp"}, {"dp"}], 0>], '),
        "stages.plan": PLAN.replace('"dp"=2', '"pp"=2 : stage').format(decisions="cuts = [999], "),
        "broken.plan": "#pp.plan<mesh = ",
        "metadata.mlir": graph().replace('"w"', '"__metadata__"'),
        "bytes.mlir": graph().replace('"w"', r'"w\FF"'),
        "no-loss.mlir": graph().replace("<loss>", "<metric>"),
    }
    texts["nothing-left.mlir"] = graph().replace("%y = pp.mul %x, %w : tensor<4x4xf32>", """
    %all = pp.constant dense<true> : tensor<4x4xi1>
    %q = pp.mul %w, %w : tensor<4x4xf32>
    %y = pp.select %all, %q, %x : tensor<4x4xi1>, tensor<4x4xf32>""")
    texts["argument-left.mlir"] = SCALAR
    texts["unbounded.mlir"] = SCALAR.replace("tensor<f32>", "tensor<i32>", 1).replace(
        "%l = pp.convert %s : tensor<f32>", "%l = pp.convert %s : tensor<i32>").replace('"s"', '"n"')
    program = (folder / "program.mlir").read_text()
    start = program.index("pp.send ")
    texts["edited.mlir"] = program[:start] + program[program.index("\n", start):]
    texts["good.plan"] = PLAN.format(decisions="")
    texts["readme.md"] = "# pp\n\n`func.func @main` is what it partitions.\n"
    texts["prose.txt"] = "It moved. Then it stood.\n"
    texts["settings.json"] = '{"dp": 2}\n'
    texts["short.json"] = "{}"
    texts["model.txt"] = (folder / "mlp.mlir").read_text()
    os.symlink("mlp.mlir", folder / "link.mlir")
    for name, text in texts.items():
        (folder / name).write_text(text)


def cases():
    def run(what, code, expected, *command):
        return Case(what, code, expected.split("|"), ["pp-run", *command])

    def opt(what, code, expected, *command):
        return Case(what, code, expected.split("|"), ["pp-opt", *command])

    def model(what, expected, *command):
        return Case(what, 2, expected.split("|"), ["pp-model", *command])

    yield model("no such family", "expects a family, gpt, moe, mlp, resnet, unet|'lstm'", "lstm")
    yield model("a family's option for another", "--heads", "mlp", "--heads=2", "-o", "out")
    yield model("an option before the family", "family before all|pp-model mlp|'--dtype=f64'",
                "--dtype=f64", "mlp")
    yield model("nothing of a model", "layers from 1 to 10000|got 0", "gpt", "--layers=0")
    yield model("too much of a model", "batch from 1 to 16777216|got 9", "mlp", "--batch=99999999")
    yield model("heads that do not divide", "3 heads and hidden 10", "gpt", "--hidden=10",
                "--heads=3")
    yield model("an option twice", "'--seq' once", "gpt", "--seq=2", "--seq=3")
    for tool, goal in ((run, "--parallelize=dp=2"), (opt, "--pp-parallelize=dp=2")):
        yield tool("a comma is missing", 1, "syntax.mlir:7:", "syntax.mlir", goal)
        yield tool("types differ", 1, "type.mlir:7:", "type.mlir", goal)
        yield tool("no such op", 1, "unknown-op.mlir:7:|pp.conv", "unknown-op.mlir", goal)
        yield tool("no main", 1, "no-main.mlir|@main", "no-main.mlir", goal)
        yield tool("no role", 1, "no-role.mlir:|argument 0|role", "no-role.mlir", goal)
        yield tool("op without a rule", 1, "no-rule.mlir:7:|func.call", "no-rule.mlir", goal)
        yield tool("a sharding of no axis beside the plan", 1, "axis.mlir|\"x\"|rows|dimension 0", "axis.mlir", goal)
        yield tool("axis twice in a sharding", 1, "twice.mlir|dp|once", "twice.mlir", goal)
        for what, expected in (("readme.md", "begins with '# pp'"), ("prose.txt", "'It moved."),
                               ("settings.json", "got JSON"), ("short.json", "got JSON"),
                               ("good.plan", "plan=FILE"),
                               ("good.safetensors", "--parameters"), ("npy/x.npy", "binary data"),
                               ("empty.safetensors", "an empty file")):
            yield tool(f"no module: {what}", 1,
                       f"error: |{what}: |expects an MLIR module|'func.func @main'|{expected}", what, goal)
        yield tool("no module: a directory", 14, "npy|irectory", "npy", goal)
    yield opt("no module: an artifact", 2, "good.ppx|pp-run runs", "good.ppx")
    yield run("no model to verify against: a text", 1, "readme.md: error: expects an MLIR module", "good.ppx",
              "--verify", "--reference=readme.md")
    for tool, key in ((run, "--parallelize="), (opt, "--pp-parallelize=")):
        yield tool("no such axis in a plan", 1, 'mlp.mlir|rows', "mlp.mlir", key + "plan=axis.plan")
        yield tool("axis twice in a plan", 1, "mlp.mlir|dp", "mlp.mlir", key + "plan=twice.plan")
        yield tool("cut behind the last op", 1, "mlp.mlir|cut|empty", "mlp.mlir",
                   key + "plan=stages.plan")
        yield tool("half a plan", 1, "broken.plan", "mlp.mlir", key + "plan=broken.plan")
        yield tool("no plan", 14, "missing.plan", "mlp.mlir", key + "plan=missing.plan")
        yield tool("a plan without an end", 14, "/dev/zero|device", "mlp.mlir",
                   key + "plan=/dev/zero")
        yield tool("mesh larger than the batch", 1, "gpt.mlir|8|dp", "gpt.mlir", key + "dp=16")
        yield tool("more micro-batches than samples", 1, "gpt.mlir|8|mb", "gpt.mlir",
                   key + "microbatches=16")
        yield tool("more devices than divide a model", 1, "gpt.mlir|tp=512|tp=256", "gpt.mlir",
                   key + "tp=512")
        yield tool("more stages than ops", 1, "mlp.mlir|stages|empty", "mlp.mlir", key + "pp=500")
        yield tool("no such key", 2, "unknown key 'fsdp'", "mlp.mlir", key + "fsdp=2")
        yield tool("no such value", 2, "'dp' expects|'two'", "mlp.mlir", key + "dp=two")
        yield tool("key that the optimizer has no use for", 2, "momentum|sgd", "mlp.mlir",
                   key + "optimizer=sgd momentum=0.5")
        yield tool("cosine without an end", 2, "steps", "mlp.mlir", key + "decay=cosine")
        yield tool("threads of a data centre", 2, "1024|99999", "mlp.mlir", key + "threads=99999")
        yield tool("keys beside a plan", 2, "'plan' expects|'dp'", "mlp.mlir",
                   key + "plan=axis.plan dp=2")
        yield tool("empty plan", 2, "'plan' expects a file", "mlp.mlir", key + "plan=")
        yield tool("goal for what has a plan", 2, "plan", "graph.mlir", key + "dp=4")
        yield tool("tensors of exabytes", 1, "vast.mlir|bytes|16777216", "vast.mlir", key)
        yield tool("no such option", 2, "--paralelize", "mlp.mlir", "--paralelize=dp=2")
        yield tool("no such file", 14, "missing.mlir", "missing.mlir", key)

    yield opt("no such axis in a sharding", 1, "axis.mlir|rows", "axis.mlir",
              "--pass-pipeline=builtin.module(pp-make-plan{dp=2},pp-propagate-shardings)")
    yield opt("back to a lower level", 2, "stop-after=spmd|got graph", "spmd.mlir",
              "--pp-parallelize=stop-after=graph")
    yield opt("an endless module", 14, "/dev/zero|regular file or a pipe|device", "/dev/zero")
    yield opt("a file without a name", 2, "-o|a file or -", "mlp.mlir", "-o", "")
    yield opt("an option twice", 2, "'-o' once", "mlp.mlir", "-o", "a", "-o", "b")
    yield opt("the beginning of --help", 2, "--hel", "mlp.mlir", "--hel=2")
    yield run("buckets below nothing", 2, "'bucket' expects a number from 0|'-1'", "mlp.mlir",
              "--parallelize=bucket=-1")
    yield run("what is issued behind its need", 2, "'ahead' expects a number from 0|'-1'",
              "mlp.mlir", "--parallelize=ahead=-1")
    yield run("a level to stop at", 2, "'stop-after' expects program|spmd", "mlp.mlir",
              "--parallelize=stop-after=spmd")
    yield run("more threads than a process has", 15, "4096|64 ranks of 100", "wide.mlir",
              "--parallelize=dp=64 threads=100")
    # So many devices that 64 bits count none.
    yield run("no end of devices", 1, "2147483648 positions", "mlp.mlir",
              "--parallelize=dp=16777216 tp=16777216 pp=65536")
    yield run("a key as an option", 2, "'--dp'|--parallelize=", "mlp.mlir", "--dp=2")
    for option in "save", "report", "trace", "draw", "metrics", "plot":
        yield run("standard output by a letter", 2, f"--{option}|/dev/stdout|'-'", "mlp.mlir",
                  f"--{option}=-")
    yield run("another format", 2, "'--save'|safetensors|'w.npz'", "mlp.mlir", "--save=w.npz")
    for option in "plot", "draw":
        yield run("another format of a picture", 2, f"'--{option}'|FILE.svg|'a.png'", "mlp.mlir",
                  f"--{option}=a.png")
    yield run("a plot without a step", 2, "'--plot'|--steps", "mlp.mlir", "--plot=loss.svg", "--steps=0")
    yield run("a line for no step", 2, "'--log-every'|at least 1|got 0", "mlp.mlir", "--log-every=0")
    yield run("events in a file", 14, "good.ppx: cannot create the folder", "mlp.mlir", "--quiet",
              "--tensorboard=good.ppx")
    for port in "", "http", "80000", ":80", "::1:80":
        yield run("no port", 2, f"'--listen' expects|HOST:PORT|'{port}'", "mlp.mlir", f"--listen={port}")
    yield run("a host of another network", 2, "'--listen' expects a free port|192.0.2.1:9", "mlp.mlir",
              "--listen=192.0.2.1:9")
    for guess, ours in [("pp-predict", "--dry-run"), ("ckpt", "--checkpoint=FOLDER"), ("save_dir", "--checkpoint="),
                        ("load-checkpoint", "--resume"), ("max-steps", "--steps=N"), ("val-data", "--eval-data"),
                        ("eval-interval", "--eval-every=N"), ("learning_rate", 'parallelize="lr='), ("dp", "plan key"),
                        ("batch-size", "pp-model"), ("log-interval", "--log-every=N"), ("stepz", "'--steps'?")]:
        yield run(f"a guess, {guess}", 2, f"'--{guess}'|{ours}", "mlp.mlir", f"--{guess}=1")
    yield run("a guessed key", 2, "'learning_rate'|here it is 'lr'", "mlp.mlir", "--parallelize=learning_rate=1")
    yield run("no key, and no option", 2, "unknown option '--colour' (see", "mlp.mlir", "--colour=3")
    for option in "--save-every=3", "--keep=3":
        yield run("a save to nowhere", 2, f"'{option.split('=')[0]}' needs '--checkpoint'", "mlp.mlir", option)
    for every in "0", "0s", "m", "-1", "1d", "":
        yield run("a save at no time", 2, "'--save-every' expects|10m", "mlp.mlir", "--checkpoint=c",
                  f"--save-every={every}")
    yield run("no checkpoint stays", 2, "'--keep' expects at least 1", "mlp.mlir", "--checkpoint=c", "--keep=0")
    yield run("from nowhere", 2, "'--resume' needs a folder", "mlp.mlir", "--resume")
    yield run("from two places", 2, "'--resume'|'--parameters'", "mlp.mlir", "--resume=c", "--parameters=w.st")
    yield run("parameters from nowhere", 2, "'--resume-parameters-only' needs '--resume'", "mlp.mlir",
              "--resume-parameters-only")
    yield run("no folder", 13, "none: expects a checkpoint|no such folder", "mlp.mlir", "--resume=none")
    yield run("no checkpoint in a folder", 13, ".: expects a checkpoint|no whole one", "mlp.mlir", "--resume=.")
    yield run("checkpoints in a file", 14, "good.ppx: cannot create", "mlp.mlir", "--quiet", "--checkpoint=good.ppx")
    yield run("a device that is none", 2, "'--device' expects cpu or cuda or null|'abacus'", "mlp.mlir",
              "--device=abacus")
    for option in ("--verify", "--save=t.safetensors", "--report=t.json", "--data=random", "--plot=t.svg", "--draw=t.svg",
                   "--tensorboard=t", "--listen=0", "--log-every=2", "--checkpoint=t", "--resume=t"):
        yield run("values of nothing", 2, f"--device=null|computes nothing|'{option.split('=')[0]}'",
                  "mlp.mlir", "--device=null", option)
    yield run("nothing of nothing", 2, "--dry-run|--device=null", "mlp.mlir", "--device=null",
              "--dry-run")
    for option in "trace", "draw":
        yield run("a timeline without a step", 2, f"--{option}|--steps", "mlp.mlir", f"--{option}=t.svg",
                  "--steps=0")
    yield run("steps of no trace", 2, "--trace-steps|'--trace'", "mlp.mlir", "--trace-steps=2")
    yield run("transfers of no picture", 2, "'--draw-transfers' needs '--draw'", "mlp.mlir", "--draw-transfers")
    yield run("a trace of no steps", 2, "--trace-steps|got 0", "mlp.mlir", "--trace=t.json",
              "--trace-steps=0")
    yield run("code of a run", 2, "'--code'|'--dry-run'", "mlp.mlir", "--code=code.ptx")
    yield run("code of a module", 2, "'--code'|an artifact|mlp.mlir", "mlp.mlir", "--dry-run",
              "--code=code.ptx", "--quiet")
    yield run("steps of a predicted trace", 2, "--dry-run|--trace-steps", "mlp.mlir", "--dry-run",
              "--trace=t.json", "--trace-steps=2")
    yield run("verify without a step", 2, "--verify|--steps", "mlp.mlir", "--verify", "--steps=0")
    for goal in "dp=2", "pp=2":
        for name, got in ("nothing-left", "a loss that is not"), ("argument-left", "an argument"):
            yield run("a loss without a batch when constants are folded", 1,
                      f"{name}.mlir:|input or label|{got}", f"{name}.mlir", f"--parallelize={goal}")
    for tool, key in ((run, "--parallelize="), (opt, "--pp-parallelize=")):
        yield tool("a program without a send", 1, "edited.mlir:|'send 1', which has none",
                   "edited.mlir", key)
    yield opt("an artifact of a program without a send", 1, "edited.mlir:|'send 1'", "edited.mlir",
              "--emit=ppx", "-o", "out.ppx")
    yield run("two results in one file", 2, "out", "mlp.mlir", "--save=out", "--report=./out")
    for option in "plot", "draw":
        yield run("two results in one file", 2, f"--{option}|that of --metrics", "mlp.mlir", "--metrics=out",
                  f"--{option}=./out")
    for option in "save", "report", "trace", "metrics":
        for name in "mlp.mlir", "./mlp.mlir", "link.mlir":
            yield run("a result over the model", 2, f"--{option}|{name}|input", "mlp.mlir",
                      f"--{option}={name}")
    yield run("a result over the plan", 2, "--save|good.plan", "mlp.mlir", "--save=good.plan",
              "--parallelize=plan=good.plan")
    yield run("a result over the text", 2, "--trace|long.txt|--data", "gpt.mlir",
              "--data=text:long.txt", "--trace=long.txt")
    yield run("a result over an array", 2, "--report|npy/x.npy|--data", "mlp.mlir",
              "--data=npy:npy", "--report=npy/x.npy")
    yield run("a result over parameters", 2, "--report|good.safetensors|--parameters", "mlp.mlir",
              "--parameters=good.safetensors", "--report=good.safetensors")
    yield run("a result over the reference", 2, "--save|mlp.mlir|--reference", "spmd.mlir",
              "--verify", "--reference=mlp.mlir", "--save=mlp.mlir")
    yield opt("an artifact over the module", 2, "-o|mlp.mlir", "mlp.mlir", "--pp-parallelize=",
              "--emit=ppx", "-o", "./mlp.mlir")
    yield opt("a picture over the module", 2, "--draw-schedule|model.txt", "model.txt",
              "--pp-parallelize=", "--draw-schedule=model.txt")
    yield opt("remarks of nobody", 2, "--remarks-filter|pp-cut-stages|NONSENSE", "mlp.mlir",
              "--pp-parallelize=", "--remarks-filter=NONSENSE")
    yield opt("an artifact for a module", 2, "artifact good.ppx|pp-run", "good.ppx")
    yield opt("remarks of a part of a name", 2, "--remarks-filter|got 'cut-stages'", "mlp.mlir",
              "--pp-parallelize=", "--remarks-filter=cut-stages")
    yield opt("half an expression", 2, "--remarks-filter-missed|'('", "mlp.mlir",
              "--pp-parallelize=", "--remarks-filter-missed=(")
    yield opt("a limit on kernels that are not compiled", 2, "--cache-limit|--emit=ppx",
              "mlp.mlir", "--pp-parallelize=", "--cache-limit=1M")
    yield opt("something else to write", 2, "--emit|mlir, plan, schedule, ppx or stablehlo|foo",
              "mlp.mlir", "--emit=foo")
    yield opt("StableHLO without a file", 2, "--emit=stablehlo|-o FILE.mlir", "mlp.mlir",
              "--emit=stablehlo")
    yield opt("a prediction of StableHLO", 2, "--pp-predict|--emit=stablehlo", "mlp.mlir",
              "--pp-parallelize=", "--emit=stablehlo", "--pp-predict", "-o", "out.mlir")
    yield opt("StableHLO over the module", 2, "-o|mlp.mlir", "mlp.mlir", "--emit=stablehlo",
              "-o", "./mlp.mlir")
    yield opt("StableHLO of programs", 2, "--emit=stablehlo|level spmd|level program",
              "program.mlir", "--emit=stablehlo", "-o", "out.mlir")
    yield opt("StableHLO into no folder", 14, "missing/out.mlir", "mlp.mlir", "--emit=stablehlo",
              "-o", "missing/out.mlir")
    yield model("an element that no model has", "--dtype|f32, f64, bf16 or f16|f8", "mlp",
                "--dtype=f8")
    yield run("no memory at all", 4, "limit of 1 bytes", "mlp.mlir", "--memory-limit=1")
    yield run("a unit of something else", 2, "--memory-limit|512M|1m", "mlp.mlir",
              "--memory-limit=1mib2")
    yield run("a prediction of what is too large", 4, "limit of 2048 bytes", "mlp.mlir",
              "--memory-limit=2K", "--dry-run", "--quiet")
    for option in ("verify", "data=random", "steps=3", "seed=1", "parameters=good.safetensors",
                   "save=out", "metrics=out", "cache-limit=1M"):
        yield run("what a dry run cannot obey", 2, f"--dry-run|'--{option.split('=')[0]}'",
                  "mlp.mlir", "--dry-run", f"--{option}")
    yield run("an option twice", 2, "'--seed'", "mlp.mlir", "--seed=1", "--seed=2")
    yield run("no text", 14, "missing.txt", "gpt.mlir", "--data=text:missing.txt")
    yield run("short text", 14, "short.txt|9", "gpt.mlir", "--data=text:short.txt")
    yield run("text for a model of vectors", 2, "long.txt", "mlp.mlir", "--data=text:long.txt")
    yield run("integers without an end", 2, "--data=random|'n'|pp.bound", "unbounded.mlir")
    yield run("no array", 14, "missing", "mlp.mlir", "--data=npy:missing")
    yield run("truncated array", 14, "npy/x.npy|8192|100", "mlp.mlir", "--data=npy:npy")
    yield run("no such kind of data", 2, "csv:x", "mlp.mlir", "--data=csv:x")
    for name, expected in (("missing", "missing.safetensors"), ("short", "short.safetensors"),
                           ("empty", "empty.safetensors"),
                           ("other", "other.safetensors|layers.0.|48|64")):
        code = 14 if name == "missing" else 13
        yield run(f"{name} parameters", code, expected, "mlp.mlir",
                  f"--parameters={name}.safetensors")
    yield run("no artifact", 14, "missing.ppx", "missing.ppx")
    for name in ("short", "empty", "text"):
        yield run(f"{name} artifact", 3, f"{name}.ppx|expects", f"{name}.ppx")
    yield run("an artifact of a terabyte", 3, "sparse.ppx|format PPXC", "sparse.ppx")
    yield run("an artifact of an older version", 3, "old.ppx|PPX2|--emit=ppx", "old.ppx")
    yield Case("more memory than there is", 4, ["out of memory"], ["pp-run", "sparse.mlir"],
               memory=1 << 30)
    yield run("artifact with a goal", 2, "good.ppx|--parallelize", "good.ppx", "--parallelize=dp=2")
    yield run("artifact with a limit for what it brings", 2, "good.ppx|--cache-limit", "good.ppx",
              "--cache-limit=1M")
    yield run("no such launcher", 2, "--launcher|threads, mpi, or a command|'pvm': no such program", "mlp.mlir",
              "--launcher=pvm")
    yield run("too little memory", 4, "1000", "mlp.mlir", "--memory-limit=1000")
    yield run("unwritable results", 14, "missing/out", "mlp.mlir", "--save=missing/out")
    for name in "metadata", "bytes":
        yield run(f"parameter with a name that cannot be saved: {name}", 1, f"{name}.mlir:|name",
                  f"{name}.mlir", "--save=out")
    for verify in [], ["--verify"]:
        yield run("no loss", 1, "no-loss.mlir|loss", "no-loss.mlir", *verify)
    for lr in "1e6", "1e30":
        yield run("the model diverges while it is verified", 12, "step|finite|unpartitioned",
                  "gpt.mlir", "--verify", f"--parallelize=dp=2 optimizer=sgd lr={lr}")
    yield run("the loss overflows", 12, "finite", "gpt.mlir", "--steps=50", "--save=out.safetensors",
              "--parallelize=optimizer=sgd lr=1e6")


def judge(case, done, before, after):
    """What is wrong with how a case ended."""
    message = done.stderr
    if done.returncode != case.code:
        yield f"expects exit {case.code}, got {done.returncode}"
    for text in case.expected:
        if text not in message:
            yield f"expects '{text}' in the message"
    for text in ("<unknown>", "Stack dump", "loc(", "PLEASE submit"):
        if text in message:
            yield f"expects no '{text}' in the message"
    if len(message.splitlines()) > 8:
        yield f"expects a short message, got {len(message.splitlines())} lines"
    if after != before:
        yield f"expects no new file, got {sorted(after - before)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    args = parser.parse_args()
    tools = args.bin.resolve()
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_files(folder, tools)
        for case in cases():
            before = set(os.listdir(folder))
            start = time.monotonic()
            done = subprocess.run([tools / case.command[0], *case.command[1:]], cwd=folder,
                                  capture_output=True, text=True, timeout=60,
                                  preexec_fn=case.limit_memory)
            errors = list(judge(case, done, before, set(os.listdir(folder))))
            failures += bool(errors)
            print(f"{'FAILED' if errors else 'ok'}: {case.what} "
                  f"[{' '.join(map(str, case.command))}] {time.monotonic() - start:.1f} s\n"
                  f"    {done.stderr.strip()}")
            for error in errors:
                print(f"  {error}")
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
