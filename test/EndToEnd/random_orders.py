#!/usr/bin/env python3
# random_orders.py - random valid tables of actions, verified.
#
# SPDX-License-Identifier: Apache-2.0
#
# Each table is drawn with its stages at random places, some stages with the
# gradients of weights apart, and an order in which every action comes behind what
# it needs. `pp-run --verify` must accept the step; a table with one action moved
# before what it needs must be refused, and none may hang.
"""Runs random schedules.

  random_orders.py --bin=build/bin [--count=60] [--first=0]
"""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

MODELS = ["mlp --layers=6 --input=6 --hidden=8 --classes=4 --batch=24",
          "gpt --layers=3 --hidden=12 --heads=2 --seq=4 --batch=24 --vocab=16 --tied=true",
          "unet --depth=2 --image=8 --width=4 --groups=2 --classes=3 --batch=24",
          "moe --layers=2 --hidden=8 --heads=2 --seq=4 --batch=24 --vocab=16 --experts=2"]
MORE = ["", "dp=2", "tp=2", "dp=2 zero=2", "dp=2 zero=3", "remat=full", "remat=none dp=2", "clip=0.5"]


def needs(action, stages):
    stage, kind, m = action
    if kind == "F":
        return [(stage - 1, "F", m)] if stage else []
    if kind == "W":
        return [(stage, "B", m)]
    return [(stage, "F", m)] + ([(stage + 1, "B", m)] if stage + 1 < stages else [])


def draw_order(draw, places, stages, count):
    """A list of actions for each place. One kind of action and one stage are preferred for a while, so
    that work piles up."""
    place_of = list(range(places)) + [draw.randrange(places) for _ in range(stages - places)]
    draw.shuffle(place_of)
    splits = [draw.random() < 0.4 for _ in range(stages)]
    left = [(s, k, m) for s in range(stages) for m in range(count) for k in "FBW" if k != "W" or splits[s]]
    done, rows = set(), [[] for _ in range(places)]
    while left:
        ready = [a for a in left if all(n in done for n in needs(a, stages))]
        kind, stage = draw.choice("FBW"), draw.randrange(stages)
        best = [a for a in ready if a[1] == kind and a[0] == stage] or [a for a in ready if a[1] == kind] or ready
        for action in best[:draw.randint(1, 3)]:
            left.remove(action)
            done.add(action)
            rows[place_of[action[0]]].append(action)
    return rows


def spoil(draw, rows, stages):
    """A row with an action before one of the same place that it needs."""
    for row in draw.sample(rows, len(rows)):
        for i in draw.sample(range(len(row)), len(row)):
            for j in range(i):
                if row[j] in needs(row[i], stages):
                    row.insert(j, row.pop(i))
                    return


def spell(rows):
    return "\n".join(",".join(f"{s}{k}{m}" for s, k, m in row) for row in rows) + "\n"


def judge(args, folder, number):
    """What is wrong with one run; empty: nothing."""
    draw = random.Random(number)
    places, model, more = draw.randint(1, 4), draw.choice(MODELS), draw.choice(MORE)
    stages, count = places + draw.randint(0, 3), draw.choice((1, 2, 3, 4, 6))
    rows = draw_order(draw, places, stages, count)
    is_spoilt = draw.random() < 0.2 and stages > 1
    if is_spoilt:
        spoil(draw, rows, stages)
    (folder / "order.csv").write_text(spell(rows))
    text = subprocess.run([args.bin / "pp-model", *model.split(), "--dtype=f64"], check=True, capture_output=True)
    (folder / "model.mlir").write_bytes(text.stdout)
    words = [f"schedule={folder}/order.csv", "optimizer=adamw lr=1e-3", more]
    words += [f"pp={places}"] if places > 1 else []
    words += [f"microbatches={count}"] if count > 1 else []
    plan = " ".join(words)
    done = subprocess.run([args.bin / "pp-run", folder / "model.mlir", f"--parallelize={plan}", "--verify", "--steps=2",
                           "--quiet"], capture_output=True, text=True, timeout=300)
    # Where neither time nor places have an order, the key is refused.
    expected = 2 if count == 1 and places == 1 else 1 if is_spoilt else 0
    if done.returncode == expected and (expected != 1 or "first, got" in done.stderr or "deadlock" in done.stderr):
        return ""
    return (f"{number}: {model}: {plan}: expects exit {expected}, got {done.returncode}\n{spell(rows)}"
            f"{done.stdout[-1500:]}{done.stderr[-1500:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.first, args.first + args.count):
            if error := judge(args, pathlib.Path(folder), number):
                failed += 1
                print(error, flush=True)
    print(f"{args.count - failed} of {args.count} random orders are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
