"""Models and the strategies to split them by, drawn from one table.

SPDX-License-Identifier: Apache-2.0

A strategy is a choice for each key of a plan that its model can obey. Of a few
random ones the one is taken whose pairs of choices have been met least, so that
a few dozen meet most pairs that can be met. Sizes are such that some degrees do
not divide them.
"""
import collections
import dataclasses
import itertools
import random

GPT = "gpt --layers=3 --hidden=20 --heads=4 --seq=8 --batch=16 --vocab=32"
MOE = "moe --layers=2 --hidden=12 --heads=4 --seq=8 --batch=24 --vocab=24"
RESNET = "resnet --depth=18 --image=16 --width=6 --classes=5 --batch=12"
UNET = "unet --depth=2 --image=8 --width=4 --groups=2 --classes=3 --batch=12"


@dataclasses.dataclass
class Family:
    """Models that know the same keys, and their shares of all strategies."""
    variants: list  # command lines of pp-model
    share: int  # of 12
    batch: int
    layers: int


FAMILIES = {
    "gpt": Family([f"{GPT} --tied={tied} --dropout={dropout}"
                   for tied in ("true", "false") for dropout in ("0", "0.2")], 5, 16, 3),
    # Room for all choices; some dropped; experts and their places do not divide.
    "moe": Family([f"{MOE} {experts}" for experts in (
        "--experts=4 --top-k=1 --capacity-factor=4", "--experts=4 --top-k=2 --capacity-factor=2",
        "--experts=4 --top-k=1 --capacity-factor=1", "--experts=6 --top-k=2 --capacity-factor=0.8",
        "--experts=3 --top-k=2 --capacity-factor=1 --moe-every=1 --dropout=0.2")], 4, 24, 2),
    "resnet": Family([f"{RESNET} --norm={norm}" for norm in ("batch", "group --groups=3")], 2, 12, 3),
    "unet": Family([UNET], 1, 12, 3),
}
DEVICES, HEADS = 8, 4


@dataclasses.dataclass
class Key:
    """A key, what it may say (first: what it says if absent), and of whom."""
    name: str
    values: tuple
    families: str = "gpt moe resnet unet"
    needs: tuple = ()  # other keys, and their values with which this one means something
    is_axis: bool = False


KEYS = [
    Key("microbatches", (1, 2, 3, 4)),
    Key("pp", (1, 2, 3), is_axis=True),
    Key("dp", (1, 2, 3, 4), is_axis=True),
    Key("ep", (1, 2, 3, 4), "moe", is_axis=True),
    Key("sp", (1, 2, 3, 4), "gpt moe", is_axis=True),
    Key("tp", (1, 2, 3, 4), is_axis=True),
    Key("zero", (0, 1, 2, 3), needs=(("dp", "ep", "sp"), (2, 3, 4))),
    Key("zero.gather", ("layer", "step"), needs=(("zero",), (3,))),
    Key("sequence", ("false", "true"), "gpt moe", needs=(("tp",), (2, 3, 4))),
    Key("sequence.gather", ("again", "keep"), "gpt moe", needs=(("sequence",), ("true",))),
    Key("vocab", ("auto", "false", "true"), "gpt moe", needs=(("tp",), (2, 3, 4))),
    Key("remat", ("cheap", "none", "selective", "full")),
    Key("bucket", (26214400, 0, 3000)),
    Key("ahead", (1, 0, 3)),
    Key("schedule", ("1f1b", "gpipe", "interleaved-1f1b", "zb-h1", "zb-h2", "zb-v"), needs=(("microbatches",), (2, 3, 4))),
    # The first is as few as the schedule takes.
    Key("chunks", (2, 3), needs=(("schedule",), ("interleaved-1f1b",))),
]
OPTIMIZERS = ("sgd lr=0.1", "adamw lr=1e-3", "adamw lr=1e-3 clip=0.5", "momentum lr=0.05")


@dataclasses.dataclass
class Strategy:
    family: str
    model: str
    optimizer: str
    said: dict  # key -> value, for every key that means something

    def spell(self):
        """The text of --parallelize; what a plan says anyway is left out."""
        usual = {key.name: key.values[0] for key in KEYS}
        words = [f"{name}={value}" for name, value in self.said.items() if value != usual[name]]
        return " ".join([*words, f"optimizer={self.optimizer}"])

    def pairs(self):
        choices = [("model", self.model), ("optimizer", self.optimizer), *self.said.items()]
        return list(itertools.combinations(choices, 2))


def fits(strategy):
    """Whether devices, rows, experts, heads and layers are enough."""
    family, said, devices = FAMILIES[strategy.family], strategy.said, 1
    for key in KEYS:
        devices *= said.get(key.name, 1) if key.is_axis else 1
    experts = int(strategy.model.split("--experts=")[1].split()[0]) if "ep" in said else 1
    return (1 < devices <= DEVICES and said["pp"] <= family.layers and
            (said.get("chunks") != 3 or said["pp"] > 1) and
            said["microbatches"] * said["dp"] * said.get("ep", 1) <= family.batch and
            said.get("ep", 1) <= experts and
            (said.get("sp", 1) == 1 or said["sp"] * said["tp"] <= HEADS) and
            # Batch norm over micro-batches is refused.
            ("--norm=batch" not in strategy.model or said["microbatches"] == 1))


def draw_one(draw, name, like=None):
    """With the model, micro-batches and axes of `like`, if given."""
    while True:
        family = FAMILIES[name]
        model = like.model if like else draw.choice(family.variants)
        strategy = Strategy(name, model, draw.choice(OPTIMIZERS), {})
        known, left = [key for key in KEYS if name in key.families.split()], DEVICES
        axes = [key for key in known if key.is_axis]
        sizes = {key.name: like.said[key.name] for key in axes + [KEYS[0]]} if like else {}
        for key in draw.sample(axes, 0 if like else len(axes)):  # none is always the last
            sizes[key.name] = draw.choice([n for n in key.values if n <= left])
            left //= sizes[key.name]
        for key in known:
            if not key.needs or any(
                    strategy.said.get(name) in key.needs[1] for name in key.needs[0]):
                strategy.said[key.name] = sizes.get(key.name, draw.choice(key.values))
        if fits(strategy):
            return strategy


def draw_all(count, families):
    """`count` strategies that differ in more than optimizer and model. Where a family has enough,
    every other one splits its model as the one before: they have most kernels in common, and
    compiling these is most of what a strategy costs."""
    drawn, shares = [], sum(FAMILIES[name].share for name in families)
    for name in families:
        draw, known, met = random.Random(name), set(), collections.Counter()
        wanted = count * FAMILIES[name].share // shares
        like, many = None, 60 if FAMILIES[name].share > 1 else 30
        while len(known) < wanted:
            candidates = [draw_one(draw, name, like) for _ in range(many)]
            new = [c for c in candidates if str(c.said) not in known]
            if not new and not like:
                raise ValueError(f"expects fewer strategies of {name} than {wanted}")
            if not new:
                like = None
                continue
            best = max(new, key=lambda c: sum((1 + met[p])**-2 for p in c.pairs()) / len(c.pairs()))
            known.add(str(best.said))
            met.update(best.pairs())
            like = best if like is None and FAMILIES[name].share > 1 else None
            drawn.append(best)
    return drawn


LONG = {"gpt": "gpt --layers=3 --hidden=12 --heads=4 --seq=4 --batch=26 --vocab=16",
        "moe": "moe --layers=2 --hidden=8 --heads=2 --seq=4 --batch=26 --vocab=16 --experts=2",
        "resnet": "resnet --depth=18 --image=8 --width=4 --classes=3 --batch=26 --norm=group --groups=2",
        "unet": "unet --depth=2 --image=8 --width=4 --groups=2 --classes=3 --batch=26"}


def draw_schedules(every=1):
    """Each schedule on 2 to 6 positions with few, more, and an odd number of micro-batches, twice:
    of all these, every so many. Models and what else a plan says go round."""
    rules = [("gpipe", 0), ("1f1b", 0), ("zb-h1", 0), ("zb-h2", 0), ("zb-v", 0), ("interleaved-1f1b", 2),
             ("interleaved-1f1b", 3)]
    draw, drawn = random.Random("schedules"), []
    for number, (positions, times, (rule, chunks), _) in enumerate(
            itertools.product(range(2, 7), range(3), rules, range(2))):
        family = list(LONG)[number % len(LONG)]
        said = {"pp": positions, "microbatches": (positions, 2 * positions, 2 * positions + 1)[times],
                "schedule": rule, "remat": draw.choice(("cheap", "none", "selective", "full"))}
        if chunks:
            said["chunks"] = chunks
        axis = draw.choice([key for key in ("none", "dp", "tp", "ep") if key != "ep" or family == "moe"])
        said |= {axis: 2} if axis != "none" else {}
        said |= {"zero": draw.choice((0, 1, 2, 3))} if axis in ("dp", "ep") else {}
        said |= {"sequence": "true"} if axis == "tp" and family in ("gpt", "moe") and draw.random() < 0.5 else {}
        model = LONG[family] + (f" --tied={draw.choice(('true', 'false'))}" if family == "gpt" else "")
        drawn.append(Strategy(family, model, draw.choice(OPTIMIZERS), said))
    draw.shuffle(drawn)
    return drawn[::every]


def describe(drawn):
    """How many strategies there are, in all and with each word of each key."""
    def count(chosen):
        of = {name: sum(s.family == name for s in chosen) for name in FAMILIES}
        return f"{len(chosen)}: " + ", ".join(f"{name} {n}" for name, n in of.items() if n)

    yield "strategies, distinct: " + count(drawn)
    yield f"pairs of choices that they meet: {count_pairs(drawn)}"
    for key in KEYS:
        for value in key.values[1:]:
            yield f"  {key.name}={value} in " + count(
                [s for s in drawn if s.said.get(key.name) == value])


def count_pairs(drawn):
    return len({(s.family, str(pair)) for s in drawn for pair in s.pairs()})


def find_missing(drawn):
    """Words that no strategy of a family has, though its models know them."""
    for name in {s.family for s in drawn}:
        for key in (key for key in KEYS if name in key.families.split()):
            for value in key.values:
                if key.name == "pp" and value > FAMILIES[name].layers:
                    continue
                if not any(s.family == name and s.said.get(key.name) == value for s in drawn):
                    yield f"{name}: {key.name}={value}"
        for model in FAMILIES[name].variants:
            if not any(s.model == model for s in drawn):
                yield model
