# torch_pipeline.py - peer of the pp=2 row: Schedule1F1B over gloo.
#
# SPDX-License-Identifier: Apache-2.0
"""Two processes, half of the layers and half of the threads each."""

import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

import gpt
import measure
import torch_common


def run(rank, args):
    world = dist.get_world_size()
    share = args.layers // world
    model = torch_common.build(args, rank * share, (rank + 1) * share)
    stage = PipelineStage(model, rank, world, device="cpu")
    schedule = Schedule1F1B(stage, args.microbatches,
                            loss_fn=gpt.cross_entropy)
    optimizer = torch_common.adamw(model, args)
    tokens, labels = torch_common.batches(args)
    # With two stages, both ends of the pipeline hold the tied embedding.
    tied = model.wte.weight if model.embeds else model.lm_head.weight

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        losses = []
        if rank == 0:
            schedule.step(tokens[i])
        else:
            schedule.step(target=labels[i], losses=losses)
        if args.tied:
            dist.all_reduce(tied.grad)
        optimizer.step()
        return sum(l.item() for l in losses) / len(losses) if losses else None

    # The last stage has the loss and waits for the first: it is the clock.
    milliseconds, loss = measure.time_steps(step, args)
    torch_common.report("PyTorch Schedule1F1B", milliseconds, loss)


if __name__ == "__main__":
    torch_common.spawn(run, measure.options(__doc__).parse_args())
