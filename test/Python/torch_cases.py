# torch_cases.py - small random configurations of well-known models.
#
# SPDX-License-Identifier: Apache-2.0
#
# A function per case returns (module, loss, batches, options of export). Loss
# None: the module returns it.
"""The models of torch_models.py."""

import torch
import torch.nn.functional as F

from torch_operations import OPERATIONS, Operations

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


# Plans of models of language.
LANGUAGE = ("dp=2", "tp=2", "tp=2 sequence=true vocab=true", "pp=2 microbatches=2", "dp=2 zero=3", "sp=2")


@case
def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    module = GPT2LMHeadModel(GPT2Config(
        n_layer=2, n_embd=16, n_head=4, n_positions=SEQUENCE, vocab_size=VOCABULARY, attn_pdrop=0, embd_pdrop=0,
        resid_pdrop=0, attn_implementation="eager", use_cache=False, bos_token_id=0, eos_token_id=0))
    return randomize(module), None, tokens(), {"plans": LANGUAGE}


@case
def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    module = LlamaForCausalLM(LlamaConfig(
        num_hidden_layers=2, hidden_size=32, intermediate_size=48, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=VOCABULARY, max_position_embeddings=SEQUENCE, attn_implementation="eager", use_cache=False,
        attention_bias=True, bos_token_id=0, eos_token_id=0))
    return randomize(module), None, tokens(), {"plans": LANGUAGE}


def masks(g):
    """1 for the tokens of a sequence, 0 behind them."""
    lengths = torch.randint(SEQUENCE // 2, SEQUENCE + 1, (BATCH, 1), generator=g)
    return (torch.arange(SEQUENCE)[None, :] < lengths).long()


@case
def bert():
    from transformers import BertConfig, BertForSequenceClassification
    module = BertForSequenceClassification(BertConfig(
        num_hidden_layers=2, hidden_size=16, intermediate_size=32, num_attention_heads=4, vocab_size=VOCABULARY,
        max_position_embeddings=SEQUENCE, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
        attn_implementation="eager", num_labels=3))
    return randomize(module), None, [
        batch | {"labels": torch.arange(BATCH) % 3} for batch in tokens(False, attention_mask=masks)], {}


def images(labels, classes, size=16, name="pixel_values"):
    def make(g):
        return {name: torch.randn(BATCH, 3, size, size, generator=g),
                "labels": torch.randint(0, classes, (BATCH, *labels), generator=g)}
    return batches(make)


@case
def vit():
    from transformers import ViTConfig, ViTForImageClassification
    module = ViTForImageClassification(ViTConfig(
        num_hidden_layers=2, hidden_size=16, intermediate_size=32, num_attention_heads=4, image_size=16, patch_size=4,
        hidden_dropout_prob=0, attention_probs_dropout_prob=0, attn_implementation="eager", num_labels=5))
    return randomize(module), None, images((), 5), {}


@case
def resnet():
    from transformers import ResNetConfig, ResNetForImageClassification
    module = ResNetForImageClassification(ResNetConfig(
        embedding_size=8, hidden_sizes=[16, 32], depths=[2, 2], num_labels=5))  # bottlenecks, as of ResNet-50
    # A sum over the batch exists only after all micro-batches.
    return randomize(module), None, images((), 5), {
        "eps": 1e-6, "plans": ("dp=2", "tp=2", "pp=2", "dp=2 zero=3")}


@case
def mistral():
    from transformers import MistralConfig, MistralForCausalLM
    module = MistralForCausalLM(MistralConfig(
        num_hidden_layers=2, hidden_size=32, intermediate_size=48, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=VOCABULARY, max_position_embeddings=SEQUENCE, sliding_window=4, attn_implementation="eager",
        use_cache=False, bos_token_id=0, eos_token_id=0))
    return randomize(module), None, tokens(), {"plans": ("dp=2", "tp=2", "sp=2", "pp=2 microbatches=2", "dp=2 zero=3")}


@case
def gemma():
    from transformers import GemmaConfig, GemmaForCausalLM
    module = GemmaForCausalLM(GemmaConfig(
        num_hidden_layers=2, hidden_size=32, intermediate_size=48, num_attention_heads=4, num_key_value_heads=1,
        head_dim=8, vocab_size=VOCABULARY, max_position_embeddings=SEQUENCE, attn_implementation="eager",
        use_cache=False, bos_token_id=0, eos_token_id=0, pad_token_id=0))
    return randomize(module), None, tokens(), {}


@case
def t5():
    from transformers import T5Config, T5ForConditionalGeneration
    module = T5ForConditionalGeneration(T5Config(
        num_layers=2, num_decoder_layers=2, d_model=16, d_kv=4, d_ff=32, num_heads=4, vocab_size=VOCABULARY,
        relative_attention_num_buckets=8, dropout_rate=0, use_cache=False, decoder_start_token_id=0))
    return randomize(module), None, tokens(), {}


class UNet(torch.nn.Module):
    """Two levels, with group norm, a transposed convolution and a skip."""

    def __init__(self, width=8, classes=3):
        super().__init__()
        layer = lambda a, b: torch.nn.Sequential(torch.nn.Conv2d(a, b, 3, padding=1), torch.nn.GroupNorm(4, b),
                                                 torch.nn.SiLU())
        self.down, self.middle = layer(3, width), layer(width, 2 * width)
        self.up = torch.nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.last = torch.nn.Sequential(layer(2 * width, width), torch.nn.Conv2d(width, classes, 1))

    def forward(self, image):
        skip = self.down(image)
        low = self.middle(F.max_pool2d(skip, 2))
        return self.last(torch.cat([skip, self.up(low)], dim=1))


@case
def unet():
    return randomize(UNet()), F.cross_entropy, images((8, 8), 3, size=8, name="image"), {}


class Tagger(torch.nn.Module):
    """An LSTM over embedded tokens."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, 8)
        self.lstm = torch.nn.LSTM(8, 12, num_layers=2, batch_first=True)
        self.head = torch.nn.Linear(12, VOCABULARY)

    def forward(self, input_ids):
        return self.head(self.lstm(self.embedding(input_ids))[0])


def each_token(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


@case
def lstm():
    return randomize(Tagger()), each_token, tokens(), {}


@case
def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM
    module = MixtralForCausalLM(MixtralConfig(
        num_hidden_layers=2, hidden_size=16, intermediate_size=24, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=VOCABULARY, max_position_embeddings=SEQUENCE, num_local_experts=4, num_experts_per_tok=2,
        attn_implementation="eager", experts_implementation="batched_mm", use_cache=False, bos_token_id=0,
        eos_token_id=0))
    return randomize(module), None, tokens(), {
        "plans": ("dp=2", "tp=2", "pp=2 microbatches=2", "dp=2 zero=3", "ep=2", "ep=2 tp=2")}


class Frozen(torch.nn.Module):
    """Columns that are indices of two tables; a batch norm that does not train; a
    parameter without gradient."""

    def __init__(self):
        super().__init__()
        self.few, self.many = torch.nn.Embedding(4, 8), torch.nn.Embedding(VOCABULARY, 8)
        self.norm, self.head = torch.nn.BatchNorm1d(8).eval(), torch.nn.Linear(8, 5)
        self.frozen = torch.nn.Linear(8, 1024).requires_grad_(False)

    def forward(self, columns):
        h = self.norm(self.few(columns[:, 0]) + self.many(columns[:, 1]))
        return self.head(torch.tanh(h + self.frozen(h).sum(1, keepdim=True)))


@case
def frozen():
    """Labels that are ignored, too: their number is a sum over the batch."""
    def make(g):
        ids = torch.stack([torch.randint(0, n, (BATCH,), generator=g) for n in (4, VOCABULARY)], 1)
        labels = torch.randint(0, 5, (BATCH,), generator=g)
        return {"columns": ids, "labels": torch.where(torch.arange(BATCH) == 1, -100, labels)}
    module = randomize(Frozen())
    module.norm.eval()
    return module, F.cross_entropy, batches(make), {"plans": ("dp=2", "pp=2", "dp=2 zero=3")}


class Translator(torch.nn.Module):
    """PyTorch's own transformer: attention to itself, to another sequence, and one
    that returns its weights."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, 16)
        self.transformer = torch.nn.Transformer(16, 4, 2, 2, 32, dropout=0.0, batch_first=True)
        self.last = torch.nn.MultiheadAttention(16, 4, kdim=16, vdim=32)
        self.head = torch.nn.Linear(16, VOCABULARY)

    def forward(self, input_ids, padding, target_ids):
        mask = torch.nn.Transformer.generate_square_subsequent_mask(SEQUENCE, dtype=self.head.weight.dtype)
        h = self.transformer(self.embedding(input_ids), self.embedding(target_ids), tgt_mask=mask, tgt_is_causal=True,
                             src_key_padding_mask=padding, memory_key_padding_mask=padding)
        t = h.transpose(0, 1)
        y, weights = self.last(t, t, torch.cat([t, t], -1))
        return self.head(h + y.transpose(0, 1)) + weights.mean(-1, keepdim=True)


@case
def translator():
    def make(g):
        ids, target, labels = (torch.randint(0, VOCABULARY, (BATCH, SEQUENCE), generator=g) for _ in range(3))
        return {"input_ids": ids, "padding": torch.arange(SEQUENCE).expand(BATCH, -1) >= SEQUENCE - 2,
                "target_ids": target, "labels": labels}
    return randomize(Translator()), each_token, batches(make), {
        "plans": ("dp=2", "tp=2", "pp=2 microbatches=2", "dp=2 zero=3", "dp=2 tp=2 microbatches=2")}


@case
def operations():
    def make(g):
        return {f"x{i}": torch.randn(BATCH, *shape, generator=g) for i, shape in enumerate(OPERATIONS)}
    return Operations(), None, batches(make), {
        "plans": ("dp=2", "dp=2 zero=3"), "widened": False}
