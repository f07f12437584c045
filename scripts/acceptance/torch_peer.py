"""PyTorch's eager mode or torch.compile on a GPU, beside part `peers`.

SPDX-License-Identifier: Apache-2.0

The model, the batches and the timing are those of benchmarks/peers, the initial
parameters those that pp-run saved. All is in one type, as in pp: parameters,
activations and the optimizer's state. f32 is not rounded to TF32, as pp does not.
Prints one line of JSON.
"""
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks/peers"))

import gpt  # noqa: E402
import measure  # noqa: E402
import numpy as np  # noqa: E402
import parameters  # noqa: E402
import tensors  # noqa: E402
import torch  # noqa: E402


def initial(args):
    """Of their shapes, from --initial."""
    values = tensors.read(args.initial)
    return {name: np.array(values[name], np.float32).reshape(shape)
            for name, shape in parameters.shapes(args).items()}


def main():
    parser = measure.options(__doc__)
    parser.add_argument("--dtype", choices=("bf16", "f32"), required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--initial", type=pathlib.Path, required=True,
                        help="safetensors file of the parameters to start from")
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    model = gpt.GPT(args).load(initial(args))
    model = model.to(args.device, {"bf16": torch.bfloat16, "f32": torch.float32}[args.dtype])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, fused=True)
    tokens, labels = measure.text_batches(args.data, args.warmup + args.steps, args.batch,
                                          args.seq)

    def forward(x, y):
        return gpt.cross_entropy(model(x), y)

    if args.compile:
        forward = torch.compile(forward)

    def step(number):
        x, y = (torch.from_numpy(rows[number]).long().to(args.device) for rows in (tokens, labels))
        optimizer.zero_grad(set_to_none=True)
        loss = forward(x, y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    milliseconds, loss = measure.time_steps(step, args)
    print(json.dumps({"torch": torch.__version__, "median_ms": statistics.median(milliseconds),
                      "loss": loss}))


if __name__ == "__main__":
    main()
