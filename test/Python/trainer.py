#!/usr/bin/env python3
# trainer.py - pp.Trainer by itself: bad inputs, memory, interrupts, files.
#
# SPDX-License-Identifier: Apache-2.0
#
# Needs numpy, which pp itself needs; without it it is skipped.
"""Tests a trainer of a small model that pp-model writes.

  trainer.py --bin=build/bin
"""
import argparse
import array
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import peers

peers.need("numpy")
import numpy as np  # noqa: E402 (found through the line above)

import pp

PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("--bin", required=True)
ARGS = PARSER.parse_args()
FOLDER = tempfile.TemporaryDirectory()
MODEL = os.path.join(FOLDER.name, "mlp.mlir")
X, LABELS = np.linspace(-1, 1, 16 * 32, dtype=np.float32).reshape(16, 32), np.arange(16, dtype=np.int32) % 10
BATCH = {"x": X, "labels": LABELS}
PROBLEMS = []


def expect(holds, what):
    print(f"{'ok' if holds else 'FAILS'}: {what}", flush=True)
    if not holds:
        PROBLEMS.append(what)


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)


def open_trainer(plan="dp=2 tp=2", **keys):
    return pp.Trainer(MODEL, plan, lr=1e-2, **keys)


def closed(use):
    trainer = open_trainer()
    trainer.close()
    trainer.close()  # does nothing
    return use(trainer)


def forked(trainer):
    """What a step in a forked process raises, in this one."""
    child = os.fork()
    if child == 0:
        try:
            trainer.step(BATCH)
        except ValueError:
            os._exit(0)
        os._exit(1)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        raise ValueError("expects the process that made the trainer, got one that was forked from it")


def late_resume():
    with open_trainer() as trainer:
        trainer.step(BATCH)
        trainer.resume(FOLDER.name)


def edited(old, new):
    with open(MODEL, encoding="utf-8") as file:
        return file.read().replace(old, new, 1)


BAD = [
    # what is done; exception; what its text says
    (lambda t: t.step({"x": X, "label": LABELS}), ValueError, "expects a batch of x, labels, got 'label'; did you mean 'labels'?"),
    (lambda t: t.step({"x": X}), ValueError, "got none of 'labels'"),
    (lambda t: t.step((X,)), ValueError, "expects a batch of 2, x, labels, got 1 arrays"),
    (lambda t: t.step(7), TypeError, "expects a batch as a dict by name or a sequence, got int"),
    (lambda t: t.step({"x": X[:8], "labels": LABELS}), ValueError, "x: expects shape [16, 32], got [8, 32]"),
    (lambda t: t.step({"x": X.astype(np.float64), "labels": LABELS}), TypeError, "x: expects elements of f32, got float64: convert them"),
    (lambda t: t.step({"x": X.astype(np.complex64), "labels": LABELS}), TypeError, "x: expects elements of f32, got complex64"),
    (lambda t: t.step({"x": "text", "labels": LABELS}), ValueError, "x: expects shape [16, 32], got []"),
    (lambda t: t.step({"x": [object()], "labels": LABELS}), TypeError, "x: expects an array of numbers, got list"),
    (lambda t: t.step({"x": X, "labels": LABELS + 10}), pp.TrainerError, "labels"),
    (lambda t: t.step({"x": X, "labels": LABELS.astype(np.int64) << 40}), ValueError, "labels: expects values that fit i32"),
    (lambda t: t.load({"layers.0.weigth": X}), ValueError, "got 'layers.0.weigth'; did you mean 'layers.0.weight'?"),
    (lambda t: t.load({"x": X}), ValueError, "expects names of parameters and states, got 'x'"),
    (lambda t: t.load({"layers.0.bias": X}), ValueError, "layers.0.bias: expects shape [64], got [16, 32]"),
    (lambda t: t.load({"layers.0.bias": np.zeros(64)}), TypeError, "layers.0.bias: expects elements of f32, got float64"),
    (lambda t: t.resume(os.path.join(FOLDER.name, "none")), pp.TrainerError, "none"),
    (lambda t: t.copy_to({}), TypeError, "expects a torch.nn.Module, got dict"),
    (lambda t: t.trees(), TypeError, "expects a model of pp.jax.export"),
    (lambda t: late_resume(), pp.TrainerError, "expects resume() before the first step"),
    (lambda t: closed(lambda c: c.step(BATCH)), ValueError, "expects an open trainer, got a closed one"),
    (lambda t: closed(lambda c: c.plan), ValueError, "expects an open trainer, got a closed one"),
    (lambda t: closed(lambda c: c.parameters()), ValueError, "expects an open trainer, got a closed one"),
    (lambda t: open_trainer("optimizer=sgd", momentum=0.9), pp.TrainerError, "'momentum' has an effect with"),
    (lambda t: open_trainer("dq=2"), pp.TrainerError, "unknown key 'dq'; did you mean 'dp'?"),
    (lambda t: open_trainer(learning_rate=1), pp.TrainerError, "unknown key 'learning_rate'"),
    (lambda t: open_trainer("dp=32"), pp.CompileError, "mlp.mlir: error: argument \"x\""),
    (lambda t: pp.Trainer(edited("tensor<64xf32>", "tensor<65xf32>")), pp.CompileError, "model.mlir:"),
    (lambda t: pp.Trainer("module {"), pp.CompileError, "model.mlir:1:"),
    (lambda t: pp.Trainer("hello\nworld"), pp.CompileError, "expects an MLIR module"),
    (lambda t: pp.Trainer(os.path.join(FOLDER.name, "none.mlir")), pp.TrainerError, "none.mlir"),
    (lambda t: pp.Trainer(7), TypeError, "expects what pp.torch.export returns, a path or the text of a module, got int"),
    (lambda t: open_trainer(parameters={"layers.9.bias": X}), ValueError, "got 'layers.9.bias'"),
    (lambda t: open_trainer(seed=-1), ValueError, "expects seed of 0 or more, got -1"),
    (lambda t: open_trainer("dp=2\0tp=2"), ValueError, "without bytes of 0"),
    (lambda t: t.save("a\0b"), ValueError, "without bytes of 0"),
    (forked, ValueError, "expects the process that made the trainer"),
]


def check_bad():
    with open_trainer() as trainer:
        for act, kind, text in BAD:
            try:
                act(trainer)
                expect(False, f"{text}: nothing is raised")
            except Exception as error:
                expect(type(error) is kind and text in str(error), f"{kind.__name__}: {text}" if text in str(error)
                       else f"{kind.__name__}: {text}; got {type(error).__name__}: {error}")
        before = trainer.step(BATCH)  # still works
        expect(trainer.step(BATCH) < before, "bad inputs leave a trainer that trains")


def check_memory():
    with open_trainer() as trainer:
        rows = [
            # batch, bytes that have to be copied
            (BATCH, 0),
            ((memoryview(X), array.array("i", LABELS.tolist())), 0),
            ({"x": X[:], "labels": LABELS.astype(np.int64)}, LABELS.nbytes),
            ({"x": np.asfortranarray(X), "labels": LABELS}, X.nbytes),
            ({"x": np.repeat(X, 2, axis=1)[:, ::2], "labels": LABELS}, X.nbytes),
            ({"x": X.astype(">f4"), "labels": LABELS}, X.nbytes),
        ]
        for batch, copied in rows:
            with open_trainer() as other:
                loss = other.step(batch)
            trainer.step(batch)
            expect(trainer.copied == copied, f"{copied} bytes of a batch are copied")
            rows[0] = rows[0] if len(rows[0]) == 3 else (*rows[0], loss)
            expect(loss == rows[0][2], "the loss is that of the first layout")
        # The library reads the array itself: values written after the call do not matter, those before do.
        values = {"x": X.copy(), "labels": LABELS}
        with open_trainer() as one, open_trainer() as two:
            one.step(values)
            two.step(values)
            values["x"] *= 2
            expect(one.step(values) == two.step({"x": X * 2, "labels": LABELS}), "an array is read when it is stepped")
        held = sys.getrefcount(X)
        for _ in range(5):
            trainer.step(BATCH)
        expect(sys.getrefcount(X) <= held + 2, "one batch is held")
    expect(sys.getrefcount(X) < held + 2, "a closed trainer holds none")


def check_files():
    path = lambda name: os.path.join(FOLDER.name, name)
    with open_trainer() as trainer:
        trainer.step(BATCH)
        trainer.save_checkpoint(path("run"))
        trainer.save(path("after.safetensors"))
        trainer.save_artifact(path("mlp.ppx"))
        after = trainer.parameters()
        next_loss = trainer.step(BATCH)
        with open_trainer("tp=4") as other:
            other.resume(path("run"))
            expect(other.steps == 1, "a checkpoint has its step")
            expect(all(np.array_equal(v, after[n]) for n, v in other.parameters().items()), "and parameters")
            expect(abs(other.step(BATCH) - next_loss) < 1e-5, "and goes on under another plan")
            other.save_checkpoint(path("run"))
        newest = next(f.path for f in os.scandir(path("run/step-2")) if f.name.endswith(".safetensors"))
        os.truncate(newest, 100)
        with open_trainer() as other, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            other.resume(path("run"))
            expect(other.steps == 1 and len(said) == 1 and "goes on from" in str(said[0].message), "but not a damaged one")
        with open_trainer(parameters=path("after.safetensors")) as other:
            expect(all(np.array_equal(v, after[n]) for n, v in other.parameters().items()), "a file of parameters")
        with open_trainer(parameters=after) as other:
            expect(all(np.array_equal(v, after[n]) for n, v in other.parameters().items()), "a dict of parameters")
        expect("#pp.plan<" in trainer.plan and "all_reduce" in trainer.explain(), "the plan, and why")
        expect("ok" in trainer.verify(BATCH) and trainer.steps == 2, "verified")
    for arguments in (["run", path("mlp.ppx"), "--steps=1", "--quiet"], ["opt", "--version"], ["model", "--help"]):
        done = run(sys.executable, "-m", "pp", *arguments, cwd=FOLDER.name,
                   env=os.environ | {"PYTHONPATH": os.path.join(peers.ROOT, "python")})
        expect(done.returncode == 0, f"python -m pp {arguments[0]} {done.stderr}")
    done = run(sys.executable, "-m", "pp", "ran", env=os.environ | {"PYTHONPATH": os.path.join(peers.ROOT, "python")})
    expect(done.returncode == 2 and "expects a tool, run, opt, model, got 'ran'" in done.stderr, "python -m pp ran")


def read_safetensors(path):
    """Name to (type, shape, bytes)."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        content = file.read()
    return {name: (its["dtype"], tuple(its["shape"]), content[slice(*its["data_offsets"])])
            for name, its in header.items() if name != "__metadata__"}


def check_values():
    """Values by name are those of files, in their shapes and orders, and go back in."""
    path = lambda name: os.path.join(FOLDER.name, name)
    for family in ("gpt --layers=1 --hidden=32 --heads=4 --seq=8 --batch=4 --vocab=32",
                   "resnet --depth=18 --image=32 --classes=4 --batch=4", "gpt --layers=1 --hidden=32 --heads=4 "
                   "--seq=8 --batch=4 --vocab=32 --dtype=bf16"):
        done = run(os.path.join(ARGS.bin, "pp-model"), *family.split(), "-o", path("other.mlir"))
        expect(done.returncode == 0, f"pp-model {family} {done.stderr}")
        with pp.Trainer(path("other.mlir"), "dp=2 tp=2", seed=1) as trainer:
            values = trainer.parameters()
            trainer.save(path("one.safetensors"))
            stored = read_safetensors(path("one.safetensors"))
            expect(all(stored[n][1:] == (v.shape, v.tobytes()) for n, v in values.items()), "values are those of a file")
            with pp.Trainer(path("other.mlir"), "dp=2", parameters=values) as other:
                other.save(path("two.safetensors"))
            expect(read_safetensors(path("two.safetensors")) == stored, "and go into another trainer")
    with pp.Trainer(os.path.join(peers.ROOT, "examples/models/centered.mlir"), "dp=2 tp=2") as trainer:
        x = np.random.default_rng(0).normal(size=(32, 16)).astype(np.float32)
        trainer.step((x, np.zeros(32, np.int32)))
        expect(list(trainer.metrics) == ["accuracy"] and 0 <= trainer.metrics["accuracy"] <= 1, "a metric")
        expect(np.any(trainer.states()["mean"]), "a state of the model changes")


def check_library():
    code = "import pp; pp.Trainer('a.mlir')"
    for path, text in (("/none/libpp.so", "Build it with"), (os.__file__, "invalid ELF header")):
        done = run(sys.executable, "-c", code, env=os.environ | {
            "PYTHONPATH": os.path.join(peers.ROOT, "python"), "PP_LIBRARY": path})
        expect(done.returncode == 1 and "expects the library libpp.so" in done.stderr and text in done.stderr,
               f"PP_LIBRARY={path}: what to do")


def check_garbage():
    """A trainer that nobody closes is freed amid a call of another, which holds the lock of all executors."""
    from concurrent.futures import thread
    gc.disable()
    open_trainer().step(BATCH)
    before = len(os.listdir("/proc/self/task"))
    with thread._global_shutdown_lock:
        gc.collect()
    gc.enable()
    expect(len(os.listdir("/proc/self/task")) < before, "a trainer that nobody closes ends its ranks")


def check_interrupt():
    """A signal amid steps ends them with KeyboardInterrupt; the trainer goes on."""
    with open_trainer() as trainer:
        trainer.step(BATCH)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin, steps = time.time(), trainer.steps
        try:
            while time.time() < begin + 30:
                trainer.step(BATCH)
            expect(False, "Ctrl-C is not heard")
        except KeyboardInterrupt:
            expect(time.time() < begin + 10, "Ctrl-C ends the steps")
        expect(trainer.steps > steps and trainer.step(BATCH) >= 0, "the trainer goes on behind it")
    expect(signal.getsignal(signal.SIGINT) is signal.default_int_handler, "handlers of signals stay")


if run(os.path.join(ARGS.bin, "pp-model"), "mlp", "-o", MODEL).returncode:
    sys.exit("pp-model fails")
for check in check_bad, check_memory, check_files, check_values, check_library, check_garbage, check_interrupt:
    check()
print("\n".join(f"problem: {problem}" for problem in PROBLEMS) or "ok")
sys.exit(bool(PROBLEMS))
