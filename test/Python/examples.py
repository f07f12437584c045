#!/usr/bin/env python3
# examples.py - the examples in Python.
#
# SPDX-License-Identifier: Apache-2.0
#
# Each ends with 0, or says what differs. Needs numpy and safetensors.
"""Runs the examples.

  examples.py --bin=build/bin
"""
import argparse
import os
import subprocess
import sys

import peers

peers.need("numpy", "safetensors")

FOLDER = os.path.join(peers.ROOT, "examples")
EXAMPLES = [("models/tagger.py", ["models/tagger.mlir", "{bin}/pp-run"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of pp's tools")
    args = parser.parse_args()
    failures = 0
    for script, options in EXAMPLES:
        options = [option.format(bin=os.path.abspath(args.bin)) for option in options]
        failures += subprocess.run([sys.executable, script, *options], cwd=FOLDER, timeout=120, check=False).returncode != 0
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
