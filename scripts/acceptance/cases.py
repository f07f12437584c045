"""What an acceptance file holds: programs to judge, and programs to time.

SPDX-License-Identifier: Apache-2.0

Programs to judge are small, those of test/EndToEnd/strategies.py among them, each
with what two steps of the unpartitioned model give on a processor in f64. Others are
one model, split in a few ways. `small` is for a rehearsal on emulated GPUs.
"""
import dataclasses
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/EndToEnd"))

import strategies  # noqa: E402

STEPS = 2
RUNS = 8  # of those that are quick on emulated GPUs: each is in another order
OPTIMIZER = "optimizer=adamw lr=1e-3"
AXES = ("pp", "dp", "ep", "sp", "tp")
LEAST_WIDTH = 3  # of a resnet
# Of strategies.py, as small as its degrees let them be.
SMALLER = {"--hidden=20": "--hidden=8", "--hidden=12": "--hidden=8", "--seq=8": "--seq=4",
           "--vocab=32": "--vocab=8", "--vocab=24": "--vocab=8", "--image=16": "--image=8",
           "--width=6": f"--width={LEAST_WIDTH}", "--depth=2 --image=8": "--depth=2 --image=4"}
GPT = "gpt --layers=2 --hidden=16 --heads=2 --seq=8 --batch=4 --vocab=32"
MOE = "moe --layers=2 --hidden=16 --heads=2 --seq=8 --batch=4 --vocab=32 --experts=4"
# Every kind of comm op between two ranks, so that two GPUs are enough for NCCL.
PAIRS = [(GPT, "dp=2 zero=3 optimizer=adamw lr=1e-3 clip=0.5"),
         (GPT, "tp=2 sequence=true optimizer=momentum lr=0.05"),
         (GPT, "pp=2 microbatches=2 optimizer=adamw lr=1e-3"),
         (MOE, "ep=2 optimizer=sgd lr=0.1")]

# Of as many channels and images as it takes until convolutions are products of matrices, and
# long sums are divided.
CONVOLVED = [("resnet --image=32 --width=8 --batch=16 --classes=10", "dp=2 optimizer=sgd lr=0.1"),
             ("unet --image=32 --width=8 --groups=4 --batch=8", "dp=2 optimizer=sgd lr=0.1")]


@dataclasses.dataclass
class Judged:
    """A model, how it is split, and in which type."""
    model: str
    plan: str
    dtype: str
    runs: int = 2  # not recorded and recorded, in turns


@dataclasses.dataclass
class Program:
    """`plan` without the optimizer, `scales`: with more GPUs its batch is larger."""
    name: str
    model: str
    plan: str
    dtype: str = "f32"
    scales: bool = False


@dataclasses.dataclass
class Size:
    is_small: bool
    others: int  # judged programs that rounding does not change much, in f32 and bf16, too
    shape: dict  # of the model that is timed
    train: str  # the model of the first training, and its steps
    train_steps: int
    deep: str
    eight: str  # of plans of eight GPUs
    scaled: str  # but for its batch
    batch: int  # of it for each GPU


SIZES = {
    "full": Size(False, 15, dict(layers=12, hidden=768, heads=12, seq=1024, batch=8, vocab=50257),
                 "gpt --layers=4 --hidden=256 --heads=8 --seq=128 --batch=16 --vocab=256", 100,
                 "gpt --layers=24 --hidden=1024 --heads=16 --seq=512 --batch=8 --vocab=50257",
                 "gpt --layers=24 --hidden=1024 --heads=16 --seq=512 --batch=8 --vocab=50257",
                 "gpt --layers=12 --hidden=768 --heads=12 --seq=1024 --vocab=50257", 8),
    "small": Size(True, 1, dict(layers=2, hidden=32, heads=4, seq=16, batch=4, vocab=256),
                  "gpt --layers=2 --hidden=16 --heads=2 --seq=8 --batch=4 --vocab=256", 10,
                  "gpt --layers=12 --hidden=8 --heads=4 --seq=4 --batch=2 --vocab=256",
                  "gpt --layers=4 --hidden=16 --heads=8 --seq=8 --batch=8 --vocab=256",
                  "gpt --layers=1 --hidden=8 --heads=2 --seq=4 --vocab=256", 1),
}
# Of the model that is timed: names, types, and plans; f32 is also rounded to TF32.
TIMED = {"bf16": ("bf16", ""), "tf32": ("f32", "numerics=tf32"), "f32": ("f32", "")}
DEEP_PLANS = ["", "tp=2", "tp=4 sequence=true", "tp=2 microbatches=2"]
EIGHT = ["dp=2 tp=2 pp=2 microbatches=2", "tp=8 sequence=true", "dp=8 zero=3",
         "pp=4 dp=2 microbatches=4"]


def model_flags(shape):
    return "gpt " + " ".join(f"--{key}={value}" for key, value in shape.items())


def words_of(plan):
    return dict(word.split("=", 1) for word in plan.split())


def ranks(plan):
    """The mesh's size."""
    return math.prod(int(words_of(plan).get(axis, 1)) for axis in AXES)


def flops(shape):
    """Of a training step of GPT: products with parameters, and those of attention, all of it."""
    layers, hidden, seq = (shape[key] for key in ("layers", "hidden", "seq"))
    of_token = 12 * layers * hidden**2 + shape["vocab"] * hidden + 2 * layers * hidden * seq
    return 6 * of_token * shape["batch"] * seq


def shrink(strategy):
    """Of one row more than it shares out, so that shares differ."""
    for usual, smaller in SMALLER.items():
        if "--width" not in smaller or strategy.said.get("tp", 1) <= LEAST_WIDTH:
            strategy.model = strategy.model.replace(usual, smaller)
    rows = math.prod(strategy.said.get(key, 1) for key in ("microbatches", "dp", "ep")) + 1
    strategy.model = re.sub("--batch=[0-9]+", f"--batch={rows}", strategy.model)


def work(strategy):
    """As many kernels as it has, about."""
    return math.prod(strategy.said.get(key.name, 1) for key in strategies.KEYS
                     if key.is_axis or key.name == "microbatches")


def sample(drawn):
    """Some with each axis for each family, and with each other key: most news for its work."""
    keys = {key.name: key for key in strategies.KEYS}
    uses = [{(s.family if keys[name].is_axis else "any", name)
             for name, value in s.said.items() if value != keys[name].values[0]} for s in drawn]
    missing, chosen = set().union(*uses), []
    while missing:
        best = max(range(len(drawn)), key=lambda i: len(uses[i] & missing) / work(drawn[i]))
        missing -= uses[best]
        chosen.append(best)
    return [drawn[i] for i in sorted(chosen)]


def judged(size, count):
    """`count` strategies, or of a small file a sample of them."""
    drawn = strategies.draw_all(count, list(strategies.FAMILIES))
    if size.is_small:
        drawn = sample(drawn)
        for strategy in drawn:
            shrink(strategy)
    programs = PAIRS + [(s.model, s.spell()) for s in drawn]
    if not size.is_small:
        programs = CONVOLVED + programs
    # Experts hang on rounding, and Adam makes steps of gradients that are rounding alone.
    others = [(model, plan) for model, plan in programs
              if model.startswith("gpt") and "adamw" not in plan][:size.others]
    many = [(s.model, s.spell()) for s in drawn if s.family == "gpt" and size.is_small]
    return [Judged(*program, "f64", RUNS if program in many else 2) for program in programs] + [
        Judged(*program, dtype) for dtype in ("f32", "bf16") for program in others]


def deep(size):
    return [Program(f"deep-{number}", size.deep, plan) for number, plan in enumerate(DEEP_PLANS)]


def several(size):
    """The same model with as many rows for each GPU, then plans of eight of another one."""
    scaled = [Program(f"scaled-{gpus}", f"{size.scaled} --batch={gpus * size.batch}",
                      f"dp={gpus}" if gpus > 1 else "", "bf16", True) for gpus in (1, 2, 4, 8)]
    return scaled + [Program(f"eight-{number}", size.eight, plan)
                     for number, plan in enumerate(["", *EIGHT])]
