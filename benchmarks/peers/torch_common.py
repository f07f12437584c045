# torch_common.py - what the PyTorch peers share beside the model.
#
# SPDX-License-Identifier: Apache-2.0
#
# The initialised model, the optimizer, the batches as tensors, the matrix rate, and the start of two
# processes that talk over gloo.
"""Model, optimizer, batches and processes of the PyTorch peers."""

import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import gpt
import measure
import parameters


def build(args, first=0, last=None):
    """The model, or the stage with layers [first, last), initialised."""
    return gpt.GPT(args, first, last).load(parameters.initial(args))


def adamw(model, args):
    return torch.optim.AdamW(model.parameters(), lr=args.lr, fused=True)


def autocast(args):
    """Computes in bf16 what PyTorch's policy says, with --autocast."""
    return torch.autocast("cpu", torch.bfloat16, enabled=args.autocast)


def batches(args):
    tokens, labels = measure.text_batches(
        args.data, args.warmup + args.steps, args.batch, args.seq)
    return torch.from_numpy(tokens).long(), torch.from_numpy(labels).long()


def matrix_rate():
    """Of all processes together, each with its own product."""
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    out = torch.empty(1024, 1024)
    if not dist.is_initialized():
        return measure.matrix_rate(lambda: torch.mm(a, b, out=out))
    dist.barrier()
    rate = torch.tensor(measure.matrix_rate(lambda: torch.mm(a, b, out=out)))
    dist.all_reduce(rate)
    return rate.item()


def report(name, milliseconds, loss):
    """Prints the result; every process calls it, the one with a loss prints."""
    rate = matrix_rate()
    if loss is not None:
        measure.report(name, "torch " + torch.__version__, milliseconds, loss,
                       rate)


def time_training(name, args, optimizer, forward, batches):
    """Times steps of `forward(inputs, labels)`, the loss, on one device.

    `batches` are the inputs and the labels, each indexed by the step."""
    inputs, labels = batches
    if args.compile:
        forward = torch.compile(forward)

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        with autocast(args):
            loss = forward(inputs[i], labels[i])
        loss.backward()
        optimizer.step()
        return loss.detach()

    milliseconds, loss = measure.time_steps(step, args)
    mode = " compile" if args.compile else " eager"
    mode += " autocast" if args.autocast else ""
    report("PyTorch" + mode + name, milliseconds, loss)


def _process(rank, run, args, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(max(1, args.threads // world))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    run(rank, args)
    dist.barrier()
    dist.destroy_process_group()
    # Threads of the library that still run would now and then abort the exit.
    sys.stdout.flush()
    os._exit(0)


def spawn(run, args, world=2):
    """Calls run(rank, args) in `world` processes joined by gloo."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(_process, (run, args, world, port), nprocs=world)
