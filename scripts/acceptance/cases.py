"""What an acceptance pack holds: programs to judge, and programs to time.

SPDX-License-Identifier: Apache-2.0

Programs to judge are small, those of test/EndToEnd/strategies.py among them, each
with the losses and parameters that two steps on a processor give. Programs to
time are one model, split in a few ways; `small` is for a look at the whole way,
on a GPU that is only played, too.
"""
import dataclasses
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 2
OPTIMIZER = "optimizer=adamw lr=1e-3"
# Relative to the largest value of a tensor, as `pp-run --verify` has it.
BOUNDS = {"f64": 1e-10, "f32": 1e-4, "bf16": 0.05}
# Adam divides a gradient by its size and eps: where it is rounding alone, as of a key's bias, the
# parameter moves by 1e5 (lr over eps) times that rounding.
ADAM_BOUND = 1e-8


def bound_of_parameters(plan, dtype):
    return max(BOUNDS[dtype], ADAM_BOUND) if "adamw" in plan else BOUNDS[dtype]


@dataclasses.dataclass
class Judged:
    """A model, how it is split, and in which type."""
    model: str
    plan: str
    dtype: str


@dataclasses.dataclass
class Timed:
    """`plan`: mesh alone. Whose steps are long enough to be compared with PyTorch, is."""
    name: str
    dtype: str
    plan: str


GPT = "gpt --layers=2 --hidden=16 --heads=2 --seq=8 --batch=4 --vocab=32"
MOE = "moe --layers=2 --hidden=16 --heads=2 --seq=8 --batch=4 --vocab=32 --experts=4"
# Every kind of meeting between two ranks, so that two GPUs are enough for NCCL.
PAIRS = [(GPT, "dp=2 zero=3 optimizer=adamw lr=1e-3 clip=0.5"),
         (GPT, "tp=2 sequence=true optimizer=momentum lr=0.05"),
         (GPT, "pp=2 microbatches=2 optimizer=adamw lr=1e-3"),
         (MOE, "ep=2 optimizer=sgd lr=0.1")]


@dataclasses.dataclass
class Size:
    strategies: int  # besides PAIRS, in f64
    others: int  # of those that rounding does not change much, in f32 and bf16, too
    shape: dict  # of the model that is timed


SIZES = {
    "full": Size(96, 15, dict(layers=12, hidden=768, heads=12, seq=1024, batch=8, vocab=50257)),
    "small": Size(0, 1, dict(layers=2, hidden=32, heads=4, seq=16, batch=4, vocab=256)),
}
TARGETS = "sm_80,sm_90,sm_100"  # of A100, H100, B200, and of what comes after each
TIMED = [Timed(f"gpt-{dtype}{'-dp2' if plan else ''}", dtype, plan)
         for dtype in ("bf16", "f32") for plan in ("", "dp=2")]


def model_flags(shape):
    return "gpt " + " ".join(f"--{key}={value}" for key, value in shape.items())


def judged(size):
    """Needs the repository's tests, so only who packs calls it."""
    programs = list(PAIRS)
    if size.strategies:
        sys.path.insert(0, str(ROOT / "test/EndToEnd"))
        import strategies
        drawn = strategies.draw_all(size.strategies, list(strategies.FAMILIES))
        programs += [(s.model, s.spell()) for s in drawn]
    # Experts hang on rounding, and Adam makes steps of gradients that are rounding alone.
    others = [(model, plan) for model, plan in programs
              if model.startswith("gpt") and "adamw" not in plan][:size.others]
    return [Judged(*program, "f64") for program in programs] + [
        Judged(*program, dtype) for dtype in ("f32", "bf16") for program in others]
