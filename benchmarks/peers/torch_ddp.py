# torch_ddp.py - peer of the dp=2 row: DistributedDataParallel over gloo.
#
# SPDX-License-Identifier: Apache-2.0
"""Two processes, half of the batch and half of the threads each."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import gpt
import measure
import torch_common


def run(rank, args):
    rows = args.batch // dist.get_world_size()
    mine = slice(rank * rows, (rank + 1) * rows)
    model = DistributedDataParallel(torch_common.build(args),
                                    static_graph=True,
                                    gradient_as_bucket_view=True)
    optimizer = torch_common.adamw(model, args)
    tokens, labels = torch_common.batches(args)

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        with torch_common.autocast(args):
            loss = gpt.cross_entropy(model(tokens[i, mine]), labels[i, mine])
        loss.backward()
        optimizer.step()
        return loss.detach()

    milliseconds, loss = measure.time_steps(step, args)
    total = torch.tensor(loss)
    dist.all_reduce(total)
    mean = total.item() / dist.get_world_size()
    torch_common.report("PyTorch DDP", milliseconds,
                        mean if rank == 0 else None)


if __name__ == "__main__":
    torch_common.spawn(run, measure.options(__doc__).parse_args())
