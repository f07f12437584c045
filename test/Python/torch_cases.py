# torch_cases.py - small random configurations of well-known models.
#
# SPDX-License-Identifier: Apache-2.0
#
# A function per case returns (module, loss, batches, options of export). Loss
# None: the module returns it.
"""The models of torch_models.py."""

import torch
import torch.nn.functional as F

CASES = {}
BATCH, SEQUENCE, VOCABULARY = 4, 8, 32


def case(function):
    CASES[function.__name__] = function
    return function


def batches(make):
    generator = torch.Generator().manual_seed(1)
    return [make(generator) for _ in range(3)]


def tokens(labels=True, **more):
    """Batches of tokens with labels; `more` are further entries by name."""
    def make(g):
        ids = torch.randint(0, VOCABULARY, (BATCH, SEQUENCE), generator=g)
        batch = {"input_ids": ids, **{k: f(g) for k, f in more.items()}}
        if labels:
            batch["labels"] = torch.randint(0, VOCABULARY, (BATCH, SEQUENCE), generator=g)
        return batch
    return batches(make)


def randomize(module):
    """Values of everyday size, biases and norms included, so that a parameter that
    is left out or applied twice shows."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator) * 0.2
            parameter.copy_(parameter + noise if parameter.dim() < 2 else noise)
    return module.train()


@case
def mlp():
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))

    def make(g):
        return {"input": torch.randn(BATCH, 8, generator=g), "labels": torch.randint(0, 4, (BATCH,), generator=g)}
    return randomize(module), F.cross_entropy, batches(make), {}


@case
def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    module = GPT2LMHeadModel(GPT2Config(
        n_layer=2, n_embd=16, n_head=4, n_positions=SEQUENCE, vocab_size=VOCABULARY, attn_pdrop=0, embd_pdrop=0,
        resid_pdrop=0, attn_implementation="eager", use_cache=False, bos_token_id=0, eos_token_id=0))
    return randomize(module), None, tokens(), {}
