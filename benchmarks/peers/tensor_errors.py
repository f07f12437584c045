# tensor_errors.py - how far the tensors of files are from those of another.
#
# SPDX-License-Identifier: Apache-2.0
"""Compares safetensors files with a first one. Prints JSON: of each |a - b| / |b|, of all tensors together and of the
worst tensor with its name."""

import argparse
import json
import math

from safetensors.torch import load_file


def errors(found, expected):
    off = {name: (found[name].double() - value.double()).norm().item() for name, value in expected.items()}
    size = {name: value.double().norm().item() for name, value in expected.items()}
    worst = max(expected, key=lambda name: off[name] / size[name])
    return {"all": math.hypot(*off.values()) / math.hypot(*size.values()),
            "worst": off[worst] / size[worst], "name": worst}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("expected")
    parser.add_argument("found", nargs="+")
    args = parser.parse_args()
    expected = load_file(args.expected)
    print(json.dumps([errors(load_file(path), expected) for path in args.found]))


if __name__ == "__main__":
    main()
