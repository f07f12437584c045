"""Tries pp on this machine's GPUs, and measures it: nothing is built or fetched.

SPDX-License-Identifier: Apache-2.0

Parts come in the order of what they are worth, each with a share of the time that
is left. OUT/acceptance.json and OUT/acceptance.md are written after each
program: who is cut off has what was seen so far. A signal ends what was started, too.
"""
import argparse
import json
import os
import pathlib
import platform
import signal
import sys
import tempfile
import time
import traceback
import zipfile

import bench
import machine
import matrix
import parts
import speed

# Its function, its share of the time, and what it says in the table.
PARTS = {"training": (parts.training, 2, parts.tell_training),
         "speed": (speed.speed, 8, speed.tell_speed),
         "launches": (speed.launches, 3, speed.tell_launches),
         "matrix": (matrix.shared, 5, matrix.tell),
         "deep": (parts.deep, 4, parts.tell_steps),
         "nccl": (matrix.nccl, 3, matrix.tell),
         "several": (parts.several, 4, parts.tell_steps),
         "device": (parts.device, 1, lambda figures: [])}
EPILOG = """
Needs NVIDIA's driver and, in the folders of a PyTorch that pip has brought or where
the system looks, cublasLt and (for several GPUs) NCCL. PyTorch is compared with
where this Python imports it, mpirun used where it is. What cannot be done here is
skipped, and the result says why.

parts, in this order:
  {parts}

exit codes:
  0  nothing failed           2    usage
  1  something failed         15   no GPU, no library, or a GPU of another kind
  130, 129, 143  ended by SIGINT, SIGHUP, SIGTERM; what was seen is in --out
"""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"pp-acceptance: {message} (--help has the options)\n")


def options():
    parser = Parser(prog="pp-acceptance", formatter_class=argparse.RawDescriptionHelpFormatter,
                    description=__doc__.splitlines()[0],
                    epilog=EPILOG.format(parts=", ".join(PARTS)))
    parser.add_argument("--minutes", type=float, default=20, help="at most (default: 20)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("pp-acceptance"),
                        metavar="FOLDER", help="for the results (default: pp-acceptance)")
    parser.add_argument("--parts", default=",".join(PARTS), metavar="LIST",
                        help="some of them (default: all)")
    args = parser.parse_args()
    args.parts = args.parts.split(",")
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"--parts expects some of {', '.join(PARTS)}, got {', '.join(unknown)}")
    if not 0 < args.minutes < 1e5:
        parser.error(f"--minutes expects more than 0, got {args.minutes}")
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        bench.write_whole(args.out / "acceptance.json", "{}\n")
    except OSError as error:
        parser.error(f"--out expects a folder that can be written, got: {error}")
    return args


def prepare(files):
    """An environment in which pp-run starts and finds NVIDIA's libraries; what was found."""
    env = dict(os.environ)
    own = str(files / "lib")
    env["LD_LIBRARY_PATH"] = f"{own}:{env['LD_LIBRARY_PATH']}" if "LD_LIBRARY_PATH" in env else own
    # Where the system has what the runtime links its own is as good, or newer.
    if bench.calls.call([files / "bin/pp-run", "--version"], 60, env).returncode:
        env = machine.with_folder(env, files / "others")
    done = bench.calls.call([files / "bin/pp-run", "--version"], 60, env)
    if done.returncode:
        raise machine.NoGpu("expects x86-64 and glibc 2.34 or newer, got: "
                            f"{done.stderr.strip()[-500:]}")
    return machine.find_libraries(env)


def check(manifest, seen, libraries):
    level, wanted = seen["gpus"][0]["level"], manifest["arch"]
    if int(level[3:]) < int(wanted[3:]):
        raise machine.NoGpu(f"expects a GPU of {wanted} or newer, got {seen['gpus'][0]['name']} of "
                            f"{level}; take the file for {level}")
    if not libraries["cublasLt"]:
        raise machine.NoGpu("expects cublasLt where the system looks, or a PyTorch of this Python "
                            f"({sys.executable}) that brings it, got none")


class Run:
    def __init__(self, args, files, folder):
        self.args, self.files = args, files
        self.begun = time.monotonic()
        self.end = self.begun + 60 * args.minutes
        env, libraries, seen = prepare(files)
        self.result = {"version": 3}
        self.work = bench.Bench(files, folder, env, seen, self.write)
        self.work.caller = dict(os.environ)
        manifest = self.work.manifest
        check(manifest, seen, libraries)
        if not libraries["nccl"]:  # so that ranks share one
            seen["gpus"][1:] = []
        self.result.update(
            device=("emulated: " if seen["emulated"] else "") + seen["gpus"][0]["name"], **seen,
            libraries=libraries, driver=machine.driver_release(), host=platform.platform(),
            python=platform.python_version(), minutes=args.minutes,
            pack={key: manifest[key] for key in ("size", "pp", "revision", "shape", "arch")},
            parts={})
        self.write()

    def go(self):
        """Whether nothing failed."""
        wanted = [name for name in PARTS if name in self.args.parts]
        for place, name in enumerate(wanted):
            left = max(0, self.end - time.monotonic())
            shares = [PARTS[each][1] for each in wanted[place:]]
            self.part(name, time.monotonic() + left * shares[0] / sum(shares))
        results = [part["result"] for part in self.result["parts"].values()]
        counts = ", ".join(f"{results.count(kind)} {kind}"
                           for kind in ("passed", "skipped", "failed"))
        print(f"{self.args.out}: on {self.result['device']}: {counts}")
        return "failed" not in results

    def part(self, name, end):
        begun, work = time.monotonic(), self.work
        work.begin_part(end)
        its = self.result["parts"][name] = {
            "result": "under way", "figures": work.figures, "skipped": work.skipped,
            "seen": work.checks}
        try:
            PARTS[name][0](work)
            its["result"] = "passed"
        except bench.Skipped as reason:
            its.update(result="skipped", why=str(reason))
        except Exception as error:  # so that the other parts are seen, too
            its.update(result="failed", why=f"{type(error).__name__}: {error}",
                       traceback=traceback.format_exc())
        if work.skipped and not work.checks and not work.figures:
            its.update(result="skipped", why=work.skipped[0]["why"])
        failed = [check for check in work.checks if not check["ok"]]
        if failed:
            its["result"] = "failed"
        its.update(failed=failed, seconds=round(time.monotonic() - begun, 1))
        self.write()
        for line in self.tell(name, its):
            print(line, flush=True)

    def tell(self, name, its):
        """A line for a part, and some for what it measured, skipped or found wrong."""
        said = [its["result"], f"{its.get('seconds', 0)} s"]
        if its["seen"]:
            right = sum(check["ok"] for check in its["seen"])
            said.append(f"{right} of {len(its['seen'])} checks")
        if its["skipped"]:
            said.append(f"{len(its['skipped'])} skipped")
        yield f"{name}: {', '.join(said)}" + (f": {its['why']}" if "why" in its else "")
        for what, words in PARTS[name][2](its["figures"]):
            yield f"  {what}: {words}"
        for check in [*its.get("failed", [])[:3], *its["skipped"][:3]]:
            yield f"  {json.dumps(check)}"

    def table(self):
        its = self.result
        yield f"# pp on {its['device']}"
        yield (f"\n{len(its['gpus'])} GPU(s), driver {its['driver']}, CUDA {its['cuda']}; "
               f"pp {its['pack']['revision']} for {its['pack']['arch']}; "
               f"{(time.monotonic() - self.begun) / 60:.1f} of {its['minutes']} minutes\n")
        yield "| part | result | what | figures |\n|---|---|---|---|"
        for name, part in its["parts"].items():
            right = sum(check["ok"] for check in part["seen"])
            yield (f"| {name} | {part['result']} | {right} of {len(part['seen'])} checks, "
                   f"{len(part['skipped'])} skipped | {part.get('why', '')} |")
            for what, words in PARTS[name][2](part["figures"]):
                yield f"| | | {what} | {words} |"

    def write(self):
        """What was seen so far."""
        if "parts" not in self.result:
            return
        bench.write_whole(self.args.out / "acceptance.json", json.dumps(self.result, indent=1) + "\n")
        try:
            text = "\n".join(self.table()) + "\n"
        except (KeyError, ValueError, TypeError):  # of figures that are not all there yet
            return
        bench.write_whole(self.args.out / "acceptance.md", text)


def end_by(number, _):
    sys.exit(128 + number)


def main():
    args = options()
    for number in signal.SIGINT, signal.SIGHUP, signal.SIGTERM:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end_by)
    archive = pathlib.Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        files, work = pathlib.Path(folder, "files"), pathlib.Path(folder, "work")
        work.mkdir()
        try:
            bench.unpack(archive, files)
            return 0 if Run(args, files, work).go() else 1
        except machine.NoGpu as error:
            print(f"pp-acceptance: {error}", file=sys.stderr)
            return 15
        except (OSError, zipfile.BadZipFile) as error:
            print(f"pp-acceptance: {error}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
