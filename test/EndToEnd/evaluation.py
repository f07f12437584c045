#!/usr/bin/env python3
"""Evaluates models, and compares with the interpreter, with transformers, and with runs that do not.

SPDX-License-Identifier: Apache-2.0

Under strategies (strategies.py) in f64, as threads, as processes of MPI and on
played GPUs: a run that evaluates has the losses and parameters of one that does
not, to the bit; the evaluation of its parameters is that of the reference
interpreter to 1e-12 (--verify), as are predictions; and what it told of its last
step is the same again. Then artifacts, logits against transformers, and errors.

  evaluation.py --bin=build/bin [--all] [--only=WORD] [--peers=PYTHON]
"""
import argparse
import array
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import strategies

ENGINES = ["threads", "mpi", "threads", "cuda"]
COUNT, ALL = 12, 96
STEPS, BOUND = 4, 1e-12
GPT = "gpt --layers=2 --hidden=32 --heads=4 --seq=16 --batch=6 --vocab=64 --dropout=0.1".split()
LOGITS = """
import sys, torch, numpy
from safetensors.torch import load_file
from transformers import GPT2Config, GPT2LMHeadModel
folder = sys.argv[1]
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=4,
                                   bos_token_id=0, eos_token_id=0))
found = {"transformer." + k: v for k, v in load_file(folder + "/saved.safetensors").items() if "dropout" not in k}
missing = model.load_state_dict(found, strict=False)
assert not missing.unexpected_keys and missing.missing_keys in ([], ["lm_head.weight"]), missing
model.tie_weights()
tokens = torch.from_numpy(numpy.load(folder + "/data/tokens.npy").astype("int64"))
with torch.no_grad():
    right = model.eval()(tokens).logits.numpy()
ours = numpy.load(folder + "/logits.npy")
again = load_file(folder + "/logits.safetensors")["logits"].numpy()
assert ours.shape == right.shape and ours.dtype == numpy.float32 and (ours == again).all()
print(abs(ours - right).max())
"""


class Tools:
    def __init__(self, bin):
        self.bin = bin

    def call(self, tool, *arguments, engine="threads", code=0):
        command, environment = [str(self.bin / tool), *map(str, arguments)], dict(os.environ)
        if engine == "cuda":
            command += ["--device=cuda", "--target=sm_90"]
            environment["LD_LIBRARY_PATH"] = str(self.bin.parent / "test/gpu/lib")
        if engine == "mpi":
            command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                       "--host", "localhost:2", "-n", "2", *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
        if done.returncode != code:
            raise RuntimeError(f"{' '.join(command)}: expects {code}, got {done.returncode}: "
                               f"{done.stdout}{done.stderr}")
        return done.stdout + done.stderr


def world_size(strategy):
    size = 1
    for key in strategies.KEYS:
        size *= strategy.said.get(key.name, 1) if key.is_axis else 1
    return size


def read_lines(path):
    """Lines of --metrics without times, and the evaluations in them."""
    lines, evaluations = [json.loads(line) for line in open(path)], {}
    for line in lines:
        for measured in "ms", "items_per_s", "rss_bytes":
            line.pop(measured, None)
        if "eval" in line:
            evaluations[line["step"]] = line.pop("eval")
            evaluations[line["step"]].pop("ms")
    return lines, evaluations


def distance(ours, right):
    """The largest relative one of two evaluations."""
    pairs = [(ours["loss"], right["loss"])]
    if set(ours) != set(right):
        return float("inf")
    for name, value in right.get("metrics", {}).items():
        pairs.append((ours["metrics"][name], value))
    # What is not finite is null.
    return max(float("inf") if None in (a, b) else abs(a - b) / max(abs(b), 1e-300) if a != b else 0
               for a, b in pairs)


def check_strategy(tools, folder, strategy, engine):
    """Yields what is wrong."""
    model, saved, metrics = f"{folder}/m.mlir", f"{folder}/m.safetensors", f"{folder}/m.jsonl"
    tools.call("pp-model", *strategy.model.split(), "--dtype=f64", "-o", model)
    common = [model, f"--parallelize={strategy.spell()}", "--seed=3", "--quiet", f"--metrics={metrics}"]
    train = [*common, f"--steps={STEPS}", f"--save={saved}"]
    evaluate = ["--eval-data=random", "--eval-steps=2"]

    tools.call("pp-run", *train, engine=engine)
    alone, none = read_lines(metrics)
    parameters = open(saved, "rb").read()
    tools.call("pp-run", *train, *evaluate, "--eval-every=3", engine=engine)
    lines, evaluations = read_lines(metrics)
    if none or list(evaluations) != [3, STEPS]:
        yield f"expects evaluations after steps 3 and {STEPS}, got {evaluations}"
        return
    if lines != alone or open(saved, "rb").read() != parameters:
        yield f"expects the losses and parameters of a run that does not evaluate, got {lines} for {alone}"
    predicts = [] if strategy.family == "unet" else [f"--predict={folder}/p.npy"]
    tools.call("pp-run", *common, *evaluate, *predicts, "--eval-only", "--verify", f"--parameters={saved}",
               engine=engine)
    _, again = read_lines(metrics)
    if distance(evaluations[STEPS], again[0]) > BOUND:
        yield f"expects the evaluation of the last step again, got {again[0]} for {evaluations[STEPS]}"
    # What training leaves of the model differs from what it began with.
    if evaluations[3] == evaluations[STEPS]:
        yield f"expects other parameters after step {STEPS} than after step 3"


def uneven():
    """Training pads more than evaluation, so that ranks hold other parts and values go through process 0."""
    said = {"microbatches": 2, "dp": 2, "tp": 3, "zero": 1}
    return strategies.Strategy("gpt", f"{strategies.GPT} --tied=false --dropout=0.2", "adamw lr=1e-3", said)


def check_artifacts(tools, folder):
    """A program that evaluates is the same from a file; one that does not fit is refused."""
    model, plan = f"{folder}/m.mlir", "--pp-parallelize=dp=2 tp=2 microbatches=2 optimizer=adamw"
    tools.call("pp-model", *GPT, "-o", model)
    tools.call("pp-opt", model, plan, "--emit=ppx", "-o", f"{folder}/train.ppx")
    tools.call("pp-opt", model, plan, "--evaluate", "--predict-values=logits", "--emit=ppx",
               "-o", f"{folder}/eval.ppx")
    tools.call("pp-opt", model, "--pp-parallelize=dp=2", "--evaluate", "--emit=ppx", "-o", f"{folder}/other.ppx")
    options = ["--eval-data=random", "--eval-steps=3", "--steps=3", f"--metrics={folder}/m.jsonl", "--quiet"]
    tools.call("pp-run", model, plan.replace("pp-", "", 1), *options, f"--predict={folder}/a.npy")
    _, right = read_lines(f"{folder}/m.jsonl")
    for engine in "threads", "mpi":
        tools.call("pp-run", f"{folder}/train.ppx", f"--eval-program={folder}/eval.ppx", *options,
                   f"--predict={folder}/b.npy", f"--save={folder}/s.safetensors", engine=engine)
        _, ours = read_lines(f"{folder}/m.jsonl")
        if ours != right or open(f"{folder}/a.npy", "rb").read() != open(f"{folder}/b.npy", "rb").read():
            yield f"{engine}: expects what the model evaluates to, {right}, got {ours}"
    tools.call("pp-run", f"{folder}/eval.ppx", "--eval-data=random", "--eval-steps=3", "--quiet", "--eval-only",
               f"--parameters={folder}/s.safetensors", f"--metrics={folder}/m.jsonl")
    _, ours = read_lines(f"{folder}/m.jsonl")
    if ours[0] != right[3]:
        yield f"--eval-only of an artifact: expects {right[3]}, got {ours}"
    text = tools.call("pp-run", model, "--parallelize=dp=2", "--eval-data=random", "--dry-run")
    if "evaluation: " not in text:
        yield "--dry-run does not say what an evaluation needs"

    train, text = f"{folder}/train.ppx", f"text:{__file__}"
    for code, arguments, words in [
            (2, [model, "--eval-every=2"], "'--eval-every' needs '--eval-data'"),
            (2, [model, "--predict=x.npy"], "'--predict' needs '--eval-data'"),
            (2, [model, "--eval-data=random", "--eval-every=0"], "'--eval-every' expects a number from 1 on, got '0'"),
            (2, [model, "--eval-data=random", "--eval-steps=0"], "'--eval-steps' expects a number from 1 on, got '0'"),
            (2, [model, "--eval-data=random", "--predict=x.txt"], "expects FILE.npy or FILE.safetensors"),
            (2, [model, "--eval-data=random", "--eval-only", "--steps=3"], "trains nothing"),
            (2, [model, "--eval-data=held-out"], "'--eval-data=held-out' expects a run that trains"),
            (2, [model, "--eval-data=tokens"], "--eval-data expects text:FILE, tokens:PATH, npy:DIR or random"),
            (2, [model, "--eval-data=random", f"--predict={folder}/x.npy", "--predict-values=logit"],
             "one of embedded, h.0.attn.qkv"),
            (14, [model, f"--eval-data=text:{folder}/none"], "none"),
            (2, [train, "--eval-data=random"], "expects a model, or --eval-program=FILE.ppx"),
            (2, [train, "--eval-data=random", f"--eval-program={train}"], "expects a program that evaluates"),
            (2, [train, "--eval-data=random", "--eval-only"], "expects a program that evaluates"),
            (2, [train, "--eval-data=random", f"--eval-program={folder}/other.ppx"],
             "expects a program for mb=2 dp=2 tp=2, as the one that trains, got one for dp=2"),
            (2, [train, "--eval-data=random", f"--eval-program={folder}/eval.ppx", f"--predict={folder}/x.npy",
                 "--predict-values=embedded"], "got one that predicts 'logits'"),
            (14, [train, "--eval-data=random", f"--eval-program={folder}/none.ppx"], "none.ppx")]:
        told = tools.call("pp-run", *arguments, code=code)
        if words not in told:
            yield f"{' '.join(arguments)}: expects '{words}', got '{told}'"


def write_npy(path, shape, values, code):
    """An array of floats (code d) or integers (code i) without numpy."""
    kind = {"d": "<f8", "i": "<i4"}[code]
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}"
    header = header.ljust((10 + len(header) + 64) // 64 * 64 - 11) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        array.array(code, values).tofile(file)


def read_npy(path):
    data = open(path, "rb").read()
    return array.array("d", data[10 + struct.unpack("<H", data[8:10])[0]:])


def check_samples(tools, folder):
    """In evaluation a sample's prediction does not depend on the others of its batch, though batch norm does while it
    trains; and the loss of two batches is the mean of theirs."""
    model, draw, batch, classes = f"{folder}/m.mlir", random.Random(1), 4, 3
    tools.call("pp-model", "resnet", "--depth=18", "--image=8", "--width=4", f"--classes={classes}", f"--batch={batch}",
               "--norm=batch", "--dtype=f64", "-o", model)
    tools.call("pp-run", model, "--steps=5", "--quiet", f"--save={folder}/s.safetensors")
    samples = [([draw.gauss(0, 1) for _ in range(8 * 8 * 3)], draw.randrange(classes)) for _ in range(2 * batch)]

    def evaluate(order, steps, plan):
        data = pathlib.Path(folder) / "data"
        data.mkdir(exist_ok=True)
        write_npy(data / "images.npy", (len(order), 8, 8, 3), [v for i in order for v in samples[i][0]], "d")
        write_npy(data / "labels.npy", (len(order),), [samples[i][1] for i in order], "i")
        tools.call("pp-run", model, f"--parallelize={plan}", f"--eval-data=npy:{data}",
                   *([f"--eval-steps={steps}"] if steps else []), "--eval-only", f"--parameters={folder}/s.safetensors", "--quiet", f"--metrics={folder}/m.jsonl",
                   f"--predict={folder}/p.npy")
        values = read_npy(f"{folder}/p.npy")
        rows = {i: values[n * classes:(n + 1) * classes] for n, i in enumerate(order[:len(values) // classes])}
        return read_lines(f"{folder}/m.jsonl")[1][0]["loss"], rows

    order = list(range(2 * batch))
    both, right = evaluate(order, 2, "")
    first, _ = evaluate(order, 1, "")
    second, _ = evaluate(order[batch:] + order[:batch], 1, "")
    whole, rows = evaluate(order, 0, "")  # a pass over the data by default
    if whole != both or rows != right:
        yield f"expects a pass over the data to be 2 steps, with loss {both}, got {whole}"
    if abs(both - (first + second) / 2) > 1e-14:
        yield f"expects the mean of {first} and {second}, got {both}"
    for plan in "", "dp=2", "tp=2 pp=2":
        _, others = evaluate(order[::2] + order[1::2], 2, plan)
        worst = max(abs(a - b) for i in order for a, b in zip(right[i], others[i]))
        if worst > BOUND:
            yield f"[{plan}] expects the same prediction of a sample in another batch, got one that differs by {worst}"


def check_resumed(tools, folder):
    """Evaluates a checkpoint, on another mesh than the run that wrote it; and a run that goes on evaluates as one that
    was not interrupted."""
    model, metrics = f"{folder}/m.mlir", f"{folder}/m.jsonl"
    tools.call("pp-model", *GPT, "--dtype=f64", "-o", model)
    evaluate = ["--eval-data=random", "--eval-steps=2", f"--metrics={metrics}", "--quiet"]
    tools.call("pp-run", model, "--parallelize=tp=2", "--steps=3", *evaluate, f"--checkpoint={folder}/checkpoints")
    _, right = read_lines(metrics)
    for plan in "tp=2", "dp=2 pp=2 microbatches=3 zero=3":
        tools.call("pp-run", model, f"--parallelize={plan}", *evaluate, "--eval-only", "--verify",
                   f"--resume={folder}/checkpoints", f"--report={folder}/r.json")
        _, ours = read_lines(metrics)
        report = json.load(open(f"{folder}/r.json"))
        if list(ours) != [3] or distance(ours[3], right[3]) > BOUND or report["eval"]["loss"] != ours[3]["loss"]:
            yield f"[{plan}] expects {right}, got {ours}"
        if not report["verify"]["ok"] or report["verify"]["judge"] != "interpreter" or report["steps"]:
            yield f"[{plan}] expects a report of an evaluation that was verified, got {report['verify']}"

    train = [model, "--parallelize=dp=2", *evaluate, "--eval-every=2"]
    tools.call("pp-run", *train, "--steps=5")
    expected = read_lines(metrics)
    for steps in 4, 5:
        tools.call("pp-run", *train, f"--steps={steps}", f"--checkpoint={folder}/others", "--resume", "--save-every=2")
    if read_lines(metrics) != expected or list(expected[1]) != [2, 4, 5]:
        yield f"expects a run that goes on to have {expected}, got {read_lines(metrics)}"

    # An evaluation that a run did not come to is made up, also by one that has nothing to train.
    made_up, prediction = f"--checkpoint={folder}/made-up", pathlib.Path(f"{folder}/p.npy")
    tools.call("pp-run", model, "--parallelize=dp=2", "--steps=4", made_up, "--quiet")
    tools.call("pp-run", *train, "--steps=5", made_up, "--resume")
    if read_lines(metrics)[1] != {step: expected[1][step] for step in (4, 5)}:
        yield f"expects evaluations of steps 4 and 5 of {expected}, got {read_lines(metrics)}"
    said = tools.call("pp-run", model, "--parallelize=dp=2", "--eval-data=random", "--eval-steps=2", "--steps=5",
                      made_up, "--resume", f"--predict={prediction}")
    if not prediction.exists() or f"wrote {prediction}" not in said:
        yield f"expects the predictions of a run that is done, got {said}"


def check_order(tools, folder):
    """Tokens are evaluated in the order of their file, whatever the seed; a run that goes on wants data."""
    model, weights, tokens = f"{folder}/m.mlir", f"{folder}/w.safetensors", pathlib.Path(f"{folder}/t.bin")
    tools.call("pp-model", *GPT, "-o", model)
    tokens.write_bytes(b"".join((number * number % 23).to_bytes(2, "little") for number in range(999)))
    tools.call("pp-run", model, "--steps=1", f"--save={weights}", f"--data=tokens:{tokens}",
               f"--checkpoint={folder}/run")
    said = {tools.call("pp-run", model, "--eval-only", f"--eval-data=tokens:{tokens}", "--eval-steps=2",
                       f"--parameters={weights}", f"--seed={seed}") for seed in (1, 2)}
    if len(said) != 1:
        yield f"expects one loss, got {said}"
    tools.call("pp-run", model, "--steps=2", f"--resume={folder}/run", code=2)


def check_logits(tools, folder, peers):
    """Logits of a trained GPT are those of transformers."""
    if not peers or subprocess.run([peers, "-c", "import torch, transformers, safetensors"],
                                   capture_output=True).returncode:
        print("logits against transformers: skipped: no transformers")
        return
    model, data = f"{folder}/m.mlir", pathlib.Path(folder) / "data"
    data.mkdir()
    subprocess.run([peers, "-c", "import numpy, sys\n"
                    "draw = numpy.random.default_rng(1)\n"
                    "for name in 'tokens', 'labels':\n"
                    "  numpy.save(sys.argv[1] + f'/{name}.npy', draw.integers(0, 64, (12, 16), dtype='int32'))",
                    str(data)], check=True)
    tools.call("pp-model", *GPT, "-o", model)
    for plan in "", "dp=2 tp=2 microbatches=3", "tp=2 pp=2 microbatches=2":
        for suffix in "npy", "safetensors":
            tools.call("pp-run", model, f"--parallelize={plan} optimizer=adamw lr=1e-2", "--steps=5", "--quiet",
                       f"--save={folder}/saved.safetensors", f"--eval-data=npy:{data}", "--eval-steps=2",
                       f"--predict={folder}/logits.{suffix}")
        done = subprocess.run([peers, "-c", LOGITS, folder], capture_output=True, text=True)
        if done.returncode or not float(done.stdout.split()[-1]) < 1e-5:
            yield f"[{plan}] expects the logits of transformers, got {done.stdout}{done.stderr[-900:]}"
        else:
            print(f"[{plan}] logits differ by {done.stdout.split()[-1]} from those of transformers")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--peers", default="")
    args = parser.parse_args()
    tools, errors = Tools(args.bin), []
    if not args.peers:
        default = pathlib.Path(__file__).resolve().parents[2] / ".venv-peers/bin/python"
        args.peers = str(default) if default.exists() else ""

    def check(name, found):
        try:
            for error in found:
                errors.append(f"{name}: {error}")
        except (RuntimeError, subprocess.SubprocessError) as error:
            errors.append(f"{name}: {error}")

    has_mpi = not subprocess.run(["sh", "-c", "command -v mpirun"], capture_output=True).returncode
    drawn = strategies.draw_all(ALL if args.all else COUNT, list(strategies.FAMILIES))
    cases = [(ENGINES[number % len(ENGINES)], strategy) for number, strategy in enumerate(drawn)]
    cases += [("mpi", uneven()), ("cuda", uneven())]
    for engine, strategy in cases:
        if engine == "mpi" and (not has_mpi or world_size(strategy) < 2):
            engine = "threads"
        name = f"{engine} {strategy.model} [{strategy.spell()}]"
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            before = len(errors)
            check(name, check_strategy(tools, folder, strategy, engine))
            print("wrong" if len(errors) > before else "right", name, flush=True)
    for name, part in [("artifacts", check_artifacts), ("samples", check_samples), ("resumed", check_resumed), ("order", check_order),
                       ("logits", lambda *a: check_logits(*a, args.peers))]:
        if args.only in name:
            with tempfile.TemporaryDirectory() as folder:
                check(name, part(tools, folder))
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
