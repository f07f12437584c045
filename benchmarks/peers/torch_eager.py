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
    optimizer = torch_common.adamw(model, args)
    tokens, labels = torch_common.batches(args)

    def forward(x, y):
        return gpt.cross_entropy(model(x), y)

    if args.compile:
        forward = torch.compile(forward)

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        loss = forward(tokens[i], labels[i])
        loss.backward()
        optimizer.step()
        return loss.detach()

    milliseconds, loss = measure.time_steps(step, args)
    name = "PyTorch compile" if args.compile else "PyTorch eager"
    torch_common.report(name, milliseconds, loss)


if __name__ == "__main__":
    main()
