#!/usr/bin/env python3
"""Has a GPU, its driver, libraries or artifact be missing or wrong, and asks for every option.

SPDX-License-Identifier: Apache-2.0

Each case ends with the documented exit code and one line, which says what is missing and what to
do; nothing is saved. Of the options of pp-run each is obeyed on a GPU, or refused: one that is new
has to have its row here. What is there of GPUs are emulated libraries, as settings have them.

  bad_input.py --bin=build/bin --emulators=build/test/gpu/lib --exports=build/test/gpu/exports
"""
import ctypes
import json
import pathlib
import re
import shutil
import sys

import commands

MODEL = "mlp --layers=2 --hidden=8 --input=4 --batch=4".split()
TRAIN = ["--steps=2", "--data=random", "--quiet", "--save=out.st"]
NO_LIBRARY = b"no library, but a text that is as long as the header of one. " * 2


class Case:
    def __init__(self, what, code, words, file="model.mlir", options=(), emulated="", place="all",
                 program="pp-run", device="cuda"):
        self.what, self.code, self.words = what, code, words.split("|")
        self.program, self.command = program, [file, f"--device={device}", *TRAIN, *options]
        self.emulated, self.place = emulated, place


# By what is missing. `place` is a folder of libraries, `program` a copy of pp-run.
MISSING = [
    Case("no driver", 15, "NVIDIA's driver for CUDA 12.0 or newer, got none: |libcuda.so.1|"
         "install or update the driver", place="no-driver"),
    Case("another library of that name", 15, "got one without cuDriverGetVersion in |"
         "no-cuda/libcuda.so.1|install or update the driver", place="no-cuda"),
    Case("a driver that is too old", 15, "12.0 or newer, got 11.8 in |libcuda.so.1|"
         "install or update the driver", emulated="version 11080"),
    Case("no device", 15, "libcuda.so.1 sees no NVIDIA GPU|"
         "nvidia-smi and CUDA_VISIBLE_DEVICES", emulated="devices 0"),
    Case("a device that is too old", 15, "compute capability 8.0 or newer, got 'emulated GPU of pp' of "
         "7.5|CUDA_VISIBLE_DEVICES|--device=cpu", emulated="capability 75"),
    Case("no cublasLt", 15, "cuBLAS 12.0 or newer, got none: |libcublasLt.so.13|libcublasLt.so.12|"
         "install cuBLAS, of pip the package nvidia-cublas", place="no-blas"),
    Case("a cublasLt for newer drivers", 15, "cuBLAS 12.0 or newer, got none: libcublasLt.so.12: |"
         "of pip the package nvidia-cublas-cu12", emulated="version 12080"),
    Case("a cublasLt that is too old", 15, "cuBLAS 12.0 or newer, got 11.6 in |install cuBLAS",
         place="old-blas"),
    Case("an artifact for processors", 15, "cpu.ppx: expects an image that GPUs of level sm_90 run"
         "|by pp-opt --emit=ppx --targets=sm_80, which all GPUs from 8.0 on run, or give "
         "--device=cpu", file="cpu.ppx"),
    Case("an artifact for GPUs", 15, "sm90.ppx: expects an image that processors of level |"
         " run, got those for sm_90; |, or give --device=cuda", file="sm90.ppx", device="cpu"),
    Case("an artifact for newer devices", 15, "image that GPUs of level sm_89 run, got those for "
         "sm_90|by pp-opt --emit=ppx --targets=sm_80, which all GPUs from 8.0 on run",
         file="sm90.ppx", emulated="capability 89"),
    Case("an image for newer devices", 15, "all.ppx: --target=sm_90 expects a GPU of sm_90 or "
         "newer, got one of sm_80; leave out --target, which takes sm_80", file="all.ppx",
         options=["--target=sm_90"], emulated="capability 80"),
    Case("the only image, for newer devices", 15, "sm90.ppx: --target=sm_90 expects a GPU of sm_90 "
         "or newer, got one of sm_80", file="sm90.ppx", options=["--target=sm_90"],
         emulated="capability 80"),
    Case("a model for newer devices", 15, "model.mlir: --target=sm_100 expects a GPU of sm_100 or "
         "newer, got one of sm_90; leave out --target, which takes sm_90",
         options=["--target=sm_100"]),
    Case("a driver that is older than the PTX", 15, "a driver of CUDA 12.7 or newer for PTX 8.6, "
         "got 12.0|update it, or compile for sm_80", emulated="version 12000\ncapability 100"),
    Case("not enough memory", 4, "expects | bytes) for 1 rank, got 5.18 MiB (5427200 bytes), what "
         "is free of 'emulated GPU of pp'; --dry-run lists its use; use a smaller model or batch",
         emulated="memory 320000000", file="large.mlir"),
    Case("not enough memory for ranks that share it", 4, "(5427200 bytes)|for 2 ranks",
         options=["--parallelize=dp=2"], emulated="memory 320000000"),
    Case("memory that is taken meanwhile", 4, "rank 0 needs |bytes of memory: cuMemAlloc: "
         "CUDA_ERROR_OUT_OF_MEMORY (2), | bytes are free; end other processes that use the memory, or use a "
         "smaller model or batch",
         emulated="fail cuMemAlloc_v2 6 2"),  # the first ones are for five products
    Case("memory that is taken before a product is tried", 4, "kernel 'matmul_0': trial run "
         "needs |bytes of memory: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2), |smaller model",
         emulated="fail cuMemAlloc_v2 1 2"),
    Case("fewer devices than ranks", 15, "expects 3 GPUs, one for each rank, or one that all ranks "
         "share (CUDA_VISIBLE_DEVICES=0), got 2", options=["--parallelize=pp=3"],
         emulated="devices 2"),
    Case("mixed devices", 15, "expects GPUs of one model, got 'emulated GPU of pp' for rank 0 and "
         "'another emulated GPU of pp' for rank 1; choose with CUDA_VISIBLE_DEVICES",
         options=["--parallelize=dp=2"], emulated="devices 2\nother 1"),
    Case("no NCCL", 15, "NCCL 2.22 or newer", options=["--parallelize=dp=2"], emulated="devices 2",
         place="no-nccl"),
    Case("not enough memory on one of several", 4, "what is free of 'emulated GPU of pp'",
         options=["--parallelize=dp=2"], emulated="devices 2\nmemory 300000000"),
    Case("an artifact that is cut", 3, "cut.ppx: expects the bytes that were written, got|truncated",
         file="cut.ppx"),
    Case("an artifact that is damaged", 3, "damaged.ppx: |damaged: its checksum", file="damaged.ppx"),
    Case("no GPU engine", 15, "expects libpprt_cuda.so in |without/bin/|install-dependencies --cuda|"
         "-DPP_CUDA=ON", program="without/bin/pp-run"),
    Case("a file that is no GPU engine", 15, "expects libpprt_cuda.so in |text/lib/libpprt_cuda.so: ",
         program="text/bin/pp-run"),
    Case("another library for the GPU engine", 15, "'{}/foreign/lib/libpprt_cuda.so' expects a "
         "program of its own build, got another: install both from one",
         program="foreign/bin/pp-run"),
    Case("the GPU engine of another build", 15, "of its own build, got another: install both",
         program="other/bin/pp-run"),
    Case("a dry run for a device that is not there", 15, "got none: |without a GPU, --dry-run "
         "expects --target=, as sm_80", options=["--dry-run"], place="no-driver"),
]


class Place(commands.Runs):
    """A folder with models, artifacts, libraries and copies of pp-run."""

    def __init__(self, folder, arguments):
        folder = folder.resolve()
        super().__init__(folder, arguments)
        exports = pathlib.Path(arguments["exports"]).resolve()
        self.make("pp-model", *MODEL, "-o", "model.mlir")
        self.make("pp-model", "mlp", "--hidden=512", "-o", "large.mlir")
        self.make("pp-model", "gpt", "--layers=1", "--hidden=8", "--heads=1", "--seq=4", "--batch=2",
                  "--vocab=256", "-o", "tokens.mlir")
        for name, targets in ("cpu", "cpu"), ("sm90", "sm_90"), ("both", "cpu,sm_80"), \
                ("all", "cpu,sm_80,sm_90"):
            self.make("pp-opt", "model.mlir", "--pp-parallelize=", "--emit=ppx",
                      f"--targets={targets}", "-o", f"{name}.ppx")
        content = (folder / "sm90.ppx").read_bytes()
        (folder / "cut.ppx").write_bytes(content[:len(content) * 2 // 3])
        half = len(content) // 2
        (folder / "damaged.ppx").write_bytes(content[:half] + bytes([content[half] ^ 1])
                                             + content[half + 1:])
        self.libraries("all")
        self.libraries("no-driver", **{"libcuda.so.1": NO_LIBRARY})
        self.libraries("no-cuda", **{"libcuda.so.1": self.emulators / "libnccl.so.2"})
        self.libraries("no-blas", **{"libcublasLt.so.13": NO_LIBRARY,
                                     "libcublasLt.so.12": NO_LIBRARY})
        self.libraries("no-nccl", **{"libnccl.so.2": NO_LIBRARY})
        self.libraries("old-blas", **{"libcublasLt.so.13": exports / "PPExportsOld.so"})
        engine = self.tools.parent / "lib/libpprt_cuda.so"
        self.program("without", None)
        self.program("text", NO_LIBRARY)
        self.program("foreign", (self.emulators / "libnccl.so.2").read_bytes())
        build = ctypes.CDLL(str(engine)).pprtCudaBuild
        build.restype = ctypes.c_char_p
        text = build()
        self.program("other", engine.read_bytes().replace(text, b"0" + text[1:]))

    def libraries(self, name, **others):
        (self.folder / name).mkdir()
        for library in self.emulators.iterdir():
            what = others.pop(library.name, library)
            self.put(self.folder / name / library.name, what)
        for library, what in others.items():
            self.put(self.folder / name / library, what)

    @staticmethod
    def put(path, what):
        if isinstance(what, bytes):
            path.write_bytes(what)
        else:
            path.symlink_to(what)

    def program(self, name, engine):
        for folder in "bin", "lib":
            (self.folder / name / folder).mkdir(parents=True)
        shutil.copy(self.tools / "pp-run", self.folder / name / "bin")
        if engine:
            (self.folder / name / "lib/libpprt_cuda.so").write_bytes(engine)

    def refuse(self, case):
        """Nothing, or what is wrong."""
        saved = self.folder / "out.st"
        saved.unlink(missing_ok=True)
        if "--dry-run" in case.command:
            case.command = [word for word in case.command if word not in TRAIN or
                            word == "--quiet"]
        program = self.folder / case.program if "/" in case.program else case.program
        self.emulators = self.folder / case.place
        done = self.call(program, *case.command, emulated=case.emulated)
        if done.returncode != case.code:
            return f"expects code {case.code}, got {done.returncode}: {done.stderr}"
        if not re.fullmatch(r"pp-run: error: [^\n]+\n", done.stderr) or done.stdout:
            return f"expects one line, got: {done.stdout}{done.stderr}"
        for word in case.words:
            if word.format(self.folder) not in done.stderr:
                return f"expects '{word}' in: {done.stderr}"
        return "something was saved" if saved.exists() else None

    def obey(self, what, *options, file="model.mlir"):
        """The end of a training on a GPU with these options."""
        self.emulators = self.folder / "all"
        done = self.call("pp-run", file, "--device=cuda", *options, emulated="")
        if done.returncode:
            sys.exit(f"{what}: {options}: code {done.returncode}: {done.stderr}")
        return done.stdout + done.stderr

    def read(self, name):
        return (self.folder / name).read_bytes()


def options_obeyed(place):
    """Of each option that a GPU obeys, whether it did."""
    def saved(*options, file="model.mlir"):
        place.obey("saved", *options, "--quiet", "--save=saved.st", file=file)
        return place.read("saved.st")

    def trace(*options):
        place.obey("trace", "--trace=trace.json", "--quiet", *options)
        content = place.load("trace.json")
        events = content["traceEvents"] if isinstance(content, dict) else content
        return sum(event["ph"] == "X" for event in events)

    usual = saved()
    place.obey("files", "--steps=3", "--quiet", "--report=report.json", "--metrics=metrics.jsonl",
               "--parallelize=dp=2")
    report, metrics = place.load("report.json"), place.read("metrics.jsonl").splitlines()
    told = place.obey("verify", "--verify", "--steps=1")
    (place.folder / "npy").mkdir()
    yield "device", report["device"] == "cuda (emulated)"
    yield "report", "step_ms" in json.dumps(report)
    yield "parallelize", len(report["memory"]) == 2
    yield "metrics", json.loads(metrics[-1])["loss"] > 0
    yield "steps", len(metrics) == 3
    shown = place.obey("sinks", "--steps=3", "--plot=loss.svg", "--tensorboard=events", "--listen=0",
                       "--log-every=2")
    yield "plot", b"loss of model.mlir" in place.read("loss.svg")
    yield "tensorboard", any((place.folder / "events").iterdir())
    yield "listen", "metrics at http://127.0.0.1:" in shown
    yield "log-every", "step 2/3" in shown
    yield "quiet", place.obey("quiet", "--quiet", "--steps=1") == ""
    yield "seed", saved("--seed=7") != usual
    yield "save", len(usual) > 100
    start = ["--steps=0", "--parameters=saved.st"]
    yield "parameters", saved("--seed=8", *start) == saved("--seed=9", *start) != usual
    (place.folder / "corpus").write_bytes(b"abcdefgh" * 60)
    text = ["--data=text:corpus", "--steps=6"]

    def shown_of(*options):
        return place.obey("data", *text, *options, file="tokens.mlir")
    yield "shuffle", saved(*text, "--shuffle=on", file="tokens.mlir") != saved(*text, file="tokens.mlir")
    yield "hold-out", shown_of("--hold-out=50%") != shown_of()
    yield "tokenizer", saved(*text, "--tokenizer=bytes", file="tokens.mlir") == saved(*text, file="tokens.mlir")
    yield "verify", re.search(r"^  loss .* ok ", told, re.M)
    yield "reference", "ok" in place.obey("reference", "--verify", "--reference=model.mlir",
                                          "--steps=1", file="both.ppx")
    once = trace("--steps=3")
    yield "trace", once > 10
    yield "trace-steps", trace("--steps=3", "--trace-steps=2") == 2 * once + 2
    place.obey("draw", "--draw=step.svg", "--draw-transfers", "--steps=2", "--quiet", "--parallelize=pp=2 microbatches=2")
    yield "draw", b"measured" in place.read("step.svg")
    yield "draw-transfers", b"transfer, which ends" in place.read("step.svg")
    yield "durations", "critical path" in place.obey("durations", "--dry-run", "--durations=trace.json")
    yield "graph", saved("--graph=on") == usual == saved("--graph=off")
    yield "target", saved("--target=sm_80") == usual
    yield "launcher", saved("--launcher=threads") == usual
    kept = ["--checkpoint=checkpoints", "--save-every=1", "--keep=1", "--resume"]
    saved("--steps=2", *kept)
    yield "keep", [path.name for path in (place.folder / "checkpoints").glob("step-*")] == ["step-2"]
    yield "resume", saved("--steps=4", *kept) == saved("--steps=4")
    saved("--steps=2", "--checkpoint=often", "--save-every=1")
    steps = sorted(path.name for path in (place.folder / "often").glob("step-*"))
    yield "save-every", steps == ["step-1", "step-2"]
    yield "checkpoint", (place.folder / "often/step-2/index.json").exists()
    start = ["--steps=0", "--resume=often", "--resume-parameters-only"]
    yield "resume-parameters-only", saved("--seed=8", *start) == saved("--steps=2")
    # A launcher that fails the first time.
    (place.folder / "launch").write_text('#!/bin/sh\necho "$*" >> starts\n[ $(wc -l < starts) = 1 ] && exit 137\n'
                                         'shift 2\nexec "$@"\n')
    (place.folder / "launch").chmod(0o755)
    restarts = ["--checkpoint=again", "--restart=1", "--launcher=./launch -n 2"]
    yield "restart", saved(*restarts, "--parallelize=dp=2", "--elastic=dp") == usual
    yield "elastic", [words.split()[1] for words in place.read("starts").decode().splitlines()] == ["2", "1"]
    evaluate = ["--eval-data=random", "--eval-steps=2"]
    shown = place.obey("evaluate", *evaluate, "--eval-every=1", "--steps=2", "--log-every=1", "--predict=p.npy",
                       "--predict-values=logits")
    yield "eval-data", "eval loss" in shown
    yield "eval-every", shown.count("eval loss") == 2
    yield "predict", (place.folder / "p.npy").stat().st_size > 128
    yield "predict-values", b"(8," in place.read("p.npy")[:128]
    alone = place.obey("evaluation alone", *evaluate, "--eval-only")
    yield "eval-only", "eval loss" in alone
    yield "eval-steps", "2 batches" in alone
    place.make("pp-opt", "model.mlir", "--pp-parallelize=", "--evaluate", "--emit=ppx", "--targets=sm_80",
               "-o", "eval.ppx")
    yield "eval-program", "eval loss" in place.obey("evaluated", *evaluate, "--eval-program=eval.ppx",
                                                    "--steps=1", file="all.ppx")
    yield "cache-limit", saved("--cache-limit=0") == usual
    yield "hang-timeout", saved("--hang-timeout=20") == usual
    place.obey("code", "--dry-run", "--quiet", "--code=code.ptx", "--target=sm_80", file="both.ppx")
    yield "code", b".target sm_80" in place.read("code.ptx")
    yield "dry-run", "checked: no races" in place.obey("dry-run", "--dry-run")
    yield "memory-report", "P parameters" in place.obey("memory-report", "--dry-run",
                                                        "--memory-report")


# Of options that a GPU cannot obey, or values that it cannot.
REFUSED = [
    Case("data", 14, "npy/", options=["--data=npy:npy"]),
    Case("memory-limit", 4, "memory limit of 1024 bytes", options=["--memory-limit=1K"]),
    Case("fit", 4, "memory limit of 1024 bytes|--fit finds no keys",
         options=["--memory-limit=1K", "--fit"]),
    Case("target", 2, "'--target=cpu' expects '--device=cpu'|sm_80", options=["--target=cpu"]),
    Case("target", 2, "'--target=x86-64-v3' expects '--device=cpu'",
         options=["--target=x86-64-v3"]),
    Case("target", 2, "--target expects one of |sm_100, got 'sm_91'; for this GPU pass "
         "sm_90, which later GPUs run, too", options=["--target=sm_91"]),
    Case("target", 2, "got 'sm_90a'; for this GPU pass sm_90,", options=["--target=sm_90a"]),
    Case("target", 2, "got 'sm_75'; GPUs need compute capability 8.0 or newer",
         options=["--target=sm_75"]),
    Case("target", 2, "an image for (|), got 'sm_90'", options=["--target=sm_90"],
         file="both.ppx"),
    Case("parallelize", 2, "'threads' is for processors; leave it out for GPUs",
         options=["--parallelize=dp=2 threads=8"]),
    Case("graph", 2, "'--graph' expects on or off", options=["--graph=maybe"]),
    Case("trace", 2, "'--trace' needs '--graph=off'", options=["--graph=on", "--trace=t.json"]),
    Case("launcher", 2, "'--launcher' expects threads, mpi, or a command|got 'nvcc-run': no such program",
         options=["--launcher=nvcc-run"]),
    Case("restart", 2, "'--restart' needs '--checkpoint'", options=["--restart=1"]),
    Case("elastic", 2, "'--elastic=dp' expects dp of at least 2", options=["--elastic=dp", "--restart=1",
                                                                          "--checkpoint=restarted"]),
]


def check(place):
    options = {"help", "version"}
    for case in MISSING + REFUSED:
        if case.what == "data":
            case.command.remove("--data=random")
        wrong = place.refuse(case)
        if wrong:
            place.errors.append(f"{case.what}: {wrong}")
    options.update(case.what for case in REFUSED)
    for option, is_obeyed in options_obeyed(place):
        options.add(option)
        if not is_obeyed:
            place.errors.append(f"--{option} is not obeyed on a GPU")
    told = place.call("pp-run", "--help").stdout
    for option in re.findall(r"^  --([a-z-]+)", told, re.M):
        if option not in options:
            place.errors.append(f"--{option}: expects to be tried here with --device=cuda")
    print(f"{len(MISSING) + len(REFUSED)} cases, {len(options)} options")


if __name__ == "__main__":
    sys.exit(commands.main(Place, check))
