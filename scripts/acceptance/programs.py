"""Part `programs`: the runtime's own test programs that a real GPU can judge.

SPDX-License-Identifier: Apache-2.0

They need neither LLVM nor artifacts. `PPCudaMovesTest` holds the collectives of
ranks that share a GPU to the processor's bits; those called Contract ask the
libraries what the stand-ins claim of them.
"""
from bench import FEW_SECONDS, Skipped, call

# Name, and arguments.
PROGRAMS = [("PPDeviceTest", ["--device=cuda"]), ("PPCudaMovesTest", []),
            ("PPCudaContractTest", []), ("PPCublasLtContractTest", []),
            ("PPNcclContractTest", [])]


def run(bench):
    found = [(bench.build / "test" / name, rest) for name, rest in PROGRAMS]
    found = [(path, rest) for path, rest in found if path.exists()]
    if not found:
        raise Skipped("this build has no test programs (they need GoogleTest: libgtest-dev)")
    for path, rest in found:
        done = bench.attempt(lambda words=(path, *rest): call(
            words, FEW_SECONDS, bench.environment(1)), program=path.name)
        if done:
            bench.check("test program", done.returncode == 0, program=path.name,
                        **({"got": done.stdout[-1500:]} if done.returncode else {}))
    return {"programs": [path.name for path, _ in found]}
