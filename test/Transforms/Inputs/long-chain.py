"""Prints a model of N elementwise ops, one behind the other: long-chain.py N

SPDX-License-Identifier: Apache-2.0
"""
import sys

count = int(sys.argv[1])
print("""func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.mul %x, %w : tensor<4xf32>""")
for number in range(count):
    print(f"  %{number + 1} = pp.sin %{number} : tensor<4xf32>")
print(f"""  %loss = pp.reduce sum %{count} dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}}""")
