# torch_eager.py - peer of the one-device row: PyTorch in eager mode.
#
# SPDX-License-Identifier: Apache-2.0
"""One process, eager PyTorch, fused AdamW. Prints JSON."""

import torch

import gpt
import measure
import torch_common


def main():
    parser = measure.options(__doc__)
    parser.add_argument("--compile", action="store_true",
                        help="torch.compile the model and its loss")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = torch_common.build(args)

    def forward(x, y):
        return gpt.cross_entropy(model(x), y)

    torch_common.time_training("", args, torch_common.adamw(model, args),
                               forward, torch_common.batches(args))


if __name__ == "__main__":
    main()
