#!/usr/bin/env python3
"""Trains on a text by a tokenizer of Hugging Face.

SPDX-License-Identifier: Apache-2.0

The judge is the package itself, given the whole text at once: pp-tokenize makes
the same tokens of it in pieces, and pp-run trains on these, also from its cache
and in several processes. Needs a Python with the package, this one or that of
.venv-peers (scripts/install-frameworks).

  tokenizer.py --bin=build/bin
"""
import json
import os
import shutil
import subprocess
import sys
import time
from array import array
from pathlib import Path

import scratch

ROOT = Path(__file__).resolve().parents[2]
TEXT = ROOT / "examples/data/kjv.txt"
VOCABULARY = 320
MPI = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--host", "localhost:2", "-n", "2"]
TRAIN = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
size, text, out = int(sys.argv[1]), *sys.argv[2:]
its = Tokenizer(models.BPE())
its.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
its.train([text], trainers.BpeTrainer(vocab_size=size, special_tokens=["<|endoftext|>"], show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
# What texts of a model's user have, and those that train it have not.
its.enable_truncation(8)
its.post_processor = processors.TemplateProcessing(single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)])
its.save(out)
"""
JUDGE = """
import sys
from array import array
from tokenizers import Tokenizer
its = Tokenizer.from_file(sys.argv[1])
its.no_truncation()
text = open(sys.argv[2], encoding="utf-8", newline="").read()
array("H", its.encode(text, add_special_tokens=False).ids).tofile(open(sys.argv[3], "wb"))
"""


def find_python():
    for python in (Path(sys.executable), ROOT / ".venv-peers/bin/python3"):
        if python.exists() and not subprocess.run([python, "-c", "import tokenizers"], capture_output=True,
                                                  check=False).returncode:
            return python
    return None


def wait_for(what):
    """What it comes to be within half a minute."""
    end = time.monotonic() + 30
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def main():
    python = find_python()
    if not python:
        print("skipped: no package tokenizers")
        return 0
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        folder = tools.folder
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"),
                       "PATH": f"{python.parent}:{os.environ['PATH']}"}
        (folder / "lacking").mkdir()
        (folder / "lacking/tokenizers.py").write_text("raise ImportError('none')\n")

        def call(*words, **more):
            return subprocess.run([str(word) for word in words], cwd=folder, timeout=120, capture_output=True,
                                  text=True, check=False, env={**environment, **more})

        def make(*words, **more):
            ran = call(*words, **more)
            if ran.returncode:
                errors.append(f"expects {words} to end well, got {ran.returncode}: {ran.stderr}{ran.stdout}")
            return ran.stdout

        def losses(*words, launch=(), **more):
            make(*launch, tools.tools / "pp-run", "gpt.mlir", "--steps=3", "--report=report.json",
                 "--parallelize=dp=2 optimizer=sgd lr=0.5", *words, **more)
            return [its["loss"] for its in json.loads((folder / "report.json").read_text())["steps"]]

        def refuse(what, code, message, *words, **more):
            ran = call(*words, **more)
            lines = ran.stderr.splitlines()
            if ran.returncode != code or len(lines) != 1 or any(part not in lines[0] for part in message.split("|")):
                errors.append(f"{what}: expects one line with {message} and exit code {code}, got {ran.returncode}: "
                              f"{ran.stderr}{ran.stdout}")

        def cached():
            return sorted(path.name for path in (folder / "cache/pp/tokens").iterdir())

        # Pieces: a text of several, with blank lines, long ones, and the lines of other systems.
        some = "".join(line + ("\n", "\r\n", "\n\n\n", "\n  \n\t", " \n", "\n\n")[i % 6]
                       for i, line in enumerate(TEXT.read_text()[:60000].splitlines()))
        (folder / "text").write_bytes(some.encode())
        (folder / "long").write_bytes((some.replace("God", "G\u00f6d") * 60 + "one line" * 50000).encode())
        for size, name in ((VOCABULARY, "t.json"), (VOCABULARY + 9, "other.json")):
            make(python, "-c", TRAIN, size, "text", name)
        for text in ("text", "long"):
            make(python, "-c", JUDGE, "t.json", text, "judged.bin")
            make(tools.tools / "pp-tokenize", "--tokenizer=t.json", text, "-o", "made.bin")
            wanted, found = (array("H", (folder / name).read_bytes()) for name in ("judged.bin", "made.bin"))
            if wanted != found:
                at = next((i for i, (a, b) in enumerate(zip(wanted, found)) if a != b), -1)
                errors.append(f"{text}: expects {len(wanted)} tokens, got {len(found)}, others from {at} on")
        told = make(tools.tools / "pp-tokenize", "--tokenizer=t.json", "--end=<|endoftext|>", "text", "text", "-o",
                    "ended.u32.bin")
        make(tools.tools / "pp-tokenize", "--tokenizer=t.json", "text", "-o", "made.bin")
        once = array("H", (folder / "made.bin").read_bytes())
        if array("I", (folder / "ended.u32.bin").read_bytes()) != array("I", (list(once) + [0]) * 2):
            errors.append("expects a text, its end, and both again")
        if told != f"ended.u32.bin: {2 * len(once) + 2} tokens of u32, vocabulary {VOCABULARY}\n":
            errors.append(f"expects the number of tokens, got {told}")

        # The run, at first, from the cache (which needs no package), and in two processes.
        make(tools.tools / "pp-model", "gpt", "--layers=1", "--hidden=16", "--heads=2", "--seq=16", "--batch=8",
             f"--vocab={VOCABULARY + 9}", "-o", "gpt.mlir")
        wanted = losses("--data=tokens:made.bin", "--shuffle=off")
        shuffled = losses("--data=tokens:made.bin")
        lacks = {"PYTHONPATH": str(folder / "lacking")}
        tokenized = ["--data=text:text", "--tokenizer=t.json"]
        for what, expected, found in (
                ("a text", wanted, losses(*tokenized)),
                ("a text from the cache", wanted, losses(*tokenized, **lacks)),
                ("a shuffled text", shuffled, losses(*tokenized, "--shuffle=on", **lacks)),
                *([("two processes", wanted, losses(*tokenized, launch=MPI))] if shutil.which("mpirun") else [])):
            if found != expected:
                errors.append(f"{what}: expects losses {expected}, got {found}")
        first = cached()
        if len(first) != 1 or not first[0].endswith(f"-{VOCABULARY}-{len(once)}.bin"):
            errors.append(f"expects one file of tokens, got {first}")
        with open(folder / "cache/pp/tokens" / first[0], "r+b") as damaged:
            damaged.truncate(2 * len(once) - 2)
        if losses(*tokenized) != wanted:
            errors.append("expects a damaged file of the cache to be made again")
        told = make(tools.tools / "pp-run", "gpt.mlir", "--steps=1", *tokenized, "--hold-out=50%")
        if not told.startswith(f"text by t.json holds {len(once)} tokens, of which the last "):
            errors.append(f"expects the text to be named, got {told}")
        losses("--data=text:text", "--tokenizer=other.json")
        (folder / "text").write_bytes((some + "more").encode())
        losses(*tokenized)
        if len(cached()) != 3:
            errors.append(f"expects another file for another tokenizer, and for another text, got {cached()}")

        run = [tools.tools / "pp-run", "gpt.mlir", "--steps=1"]
        # What a signal leaves: nobody waits for it, so it ends.
        (folder / "large").write_text(some * 250)
        before = cached()
        begun = subprocess.Popen([str(word) for word in [*run, "--data=text:large", tokenized[1]]], cwd=folder,
                                 env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        part = wait_for(lambda: next((folder / "cache/pp/tokens").glob(".*.part"), None))
        begun.kill()
        begun.communicate()
        if not part or not wait_for(lambda: not part.exists()) or cached() != before:
            errors.append(f"expects no one to go on without pp-run, got {part}")
        (folder / "bad.json").write_text('{"model": 1}')
        (folder / "latin").write_bytes(b"gr\xfc\xdfe an alle\n" * 100)
        (folder / "tiny").write_text("ab")
        refuse("no tokenizer", 14, "bad.json|tokenizer.json", *run, tokenized[0], "--tokenizer=bad.json")
        refuse("no UTF-8", 14, "latin|UTF-8|0xfc|offset 2", *run, "--data=text:latin", tokenized[1])
        refuse("a short text", 14, "tiny by t.json|16 + 1", *run, "--data=text:tiny", tokenized[1])
        (folder / "closed/pp").mkdir(parents=True)
        (folder / "closed/pp/tokens").write_text("no folder")
        refuse("no cache", 14, "closed/pp/tokens|pp-tokenize -o", *run, *tokenized,
               XDG_CACHE_HOME=str(folder / "closed"))
        make(tools.tools / "pp-model", "gpt", "--layers=1", "--hidden=16", "--heads=2", "--seq=16", "--batch=8",
             "--vocab=300", "-o", "gpt.mlir")
        for tokenizer in ("t.json", "other.json"):  # cached and not
            (folder / "text").write_bytes((some + tokenizer.replace("t.json", "more")).encode())
            size = VOCABULARY + 9 * (tokenizer != "t.json")
            refuse("a large vocabulary", 2, f"{tokenizer}|at most 300|got {size}|--vocab={size}", *run, tokenized[0],
                   f"--tokenizer={tokenizer}")
        tokenize = [tools.tools / "pp-tokenize", "text"]
        refuse("no output", 2, "-o", *tokenize)
        refuse("no type", 2, ".u32.bin|x.tok", *tokenize, "-o", "x.tok")
        refuse("over the text", 2, "another file", tools.tools / "pp-tokenize", "made.bin", "-o", "made.bin")
        refuse("an unknown end", 2, "<end>|t.json", *tokenize, "--tokenizer=t.json", "--end=<end>", "-o", "x.bin")
        refuse("an end of bytes", 2, "<end>|bytes", *tokenize, "--end=<end>", "-o", "x.bin")
        refuse("no folder", 14, "gone/x.bin", *tokenize, "-o", "gone/x.bin")
        left = [path.name for path in folder.rglob("*.part")]
        if left or (folder / "x.bin").exists():
            errors.append(f"expects nothing of a failure, got {left}")
    print("\n".join(errors) or "the same tokens as the package makes at once")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
