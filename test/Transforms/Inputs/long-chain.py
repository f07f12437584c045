"""Prints a model of N ops, one behind the other: long-chain.py N [sin|dot]

SPDX-License-Identifier: Apache-2.0

Elementwise ones, or products with one parameter.
"""
import sys

count = int(sys.argv[1])
OPS = {"sin": "pp.sin %{} : tensor<2x2xf32>",
       "dot": "pp.dot_general %{}, %w batch [] x [] contract [1] x [0] : "
              "tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>"}
op = OPS[sys.argv[2]]
print("""func.func @main(%x: tensor<2x2xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<2x2xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.mul %x, %w : tensor<2x2xf32>""")
for number in range(count):
    print(f"  %{number + 1} = {op.format(number)}")
print(f"""  %loss = pp.reduce sum %{count} dims [0, 1] : tensor<2x2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}}""")
