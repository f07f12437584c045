# torch_pipeline.py - peer of the rows with pp=2: a schedule of PyTorch over gloo.
#
# SPDX-License-Identifier: Apache-2.0
#
# A process holds as many stages as --chunks says, with equally many layers each:
# every second one, or with ScheduleZBVZeroBubble those of a V.
"""Two processes, half of the layers and half of the threads each."""

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, schedules

import gpt
import measure
import torch_common


def stage_numbers(args, rank, world):
    """The stages of a process, as the schedule wants them to lie."""
    stages = world * args.chunks
    if args.schedule == "ScheduleZBVZeroBubble":
        return [rank, stages - 1 - rank]
    return range(rank, stages, world)


def make_schedule(args, models, numbers, stages):
    """The schedule; writes its order of actions if that is asked for."""
    kind = getattr(schedules, args.schedule)
    its = [PipelineStage(model, number, stages, device="cpu")
           for model, number in zip(models, numbers)]
    if not issubclass(kind, schedules.PipelineScheduleMulti):
        its, = its
    schedule = kind(its, args.microbatches, loss_fn=gpt.cross_entropy)
    if args.order and dist.get_rank() == 0:
        schedule._dump_csv(args.order, format="compute_only")
    return schedule


def make_optimizer(args, models):
    parameters = [p for model in models for p in model.parameters()]
    if args.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=args.lr, fused=True)
    return torch.optim.AdamW(parameters, lr=args.lr, fused=True)


def run(rank, args):
    world = dist.get_world_size()
    stages = world * args.chunks
    share = args.layers // stages
    numbers = stage_numbers(args, rank, world)
    models = [torch_common.build(args, n * share, (n + 1) * share)
              for n in numbers]
    schedule = make_schedule(args, models, numbers, stages)
    optimizer = make_optimizer(args, models)
    tokens, labels = torch_common.batches(args)
    embeds, projects = 0 in numbers, stages - 1 in numbers
    if args.tied:  # both processes have an end of the pipeline, and so a copy
        tied = models[0].wte.weight if embeds else models[-1].lm_head.weight

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        losses = []
        inputs = [tokens[i]] if embeds else []
        targets = {"target": labels[i], "losses": losses} if projects else {}
        schedule.step(*inputs, **targets, return_outputs=False)
        if args.tied:
            dist.all_reduce(tied.grad)
        optimizer.step()
        return sum(l.item() for l in losses) / len(losses) if losses else None

    # The last stage has the loss and waits for the first: it is the clock.
    milliseconds, loss = measure.time_steps(step, args)
    torch_common.report(f"PyTorch {args.schedule}", milliseconds, loss)


def main():
    parser = measure.options(__doc__)
    parser.add_argument("--schedule", default="Schedule1F1B")
    parser.add_argument("--chunks", type=int, default=1,
                        help="stages of a process")
    parser.add_argument("--optimizer", choices=["adamw", "sgd"],
                        default="adamw")
    parser.add_argument("--order", help="where to write the order of actions")
    args = parser.parse_args()
    if args.layers % (2 * args.chunks):
        parser.error(f"expects layers that {2 * args.chunks} stages can share, "
                     f"got {args.layers}")
    if args.tied and args.schedule == "ScheduleZBVZeroBubble":
        parser.error("expects --no-tied, as one process has both ends of a V")
    torch_common.spawn(run, args)


if __name__ == "__main__":
    main()
