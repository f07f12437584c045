# image_batches.py - random images and labels, for pp-run and for PyTorch.
#
# SPDX-License-Identifier: Apache-2.0
"""Writes images.npy and labels.npy."""

import argparse
import os

import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="folder to write to")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--image", type=int, required=True)
    parser.add_argument("--classes", type=int, required=True)
    args = parser.parse_args()
    rng = np.random.default_rng(3)
    shape = (args.count, args.image, args.image, 3)
    np.save(os.path.join(args.out, "images.npy"),
            rng.normal(0, 1, shape).astype(np.float32))
    np.save(os.path.join(args.out, "labels.npy"),
            rng.integers(0, args.classes, args.count, dtype=np.int32))


if __name__ == "__main__":
    main()
