# shared_weight.py - a weight that many layers read, and the loss itself.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: the number of layers. Out: a level 1 module, whose gradient of the weight
# is a sum of sums, one behind the other. Decay in the loss adds an addend that
# is no sum over the batch.
import sys

count = int(sys.argv[1])
print("""func.func @main(
    %x: tensor<8x6xf64> {pp.name = "x", pp.role = #pp.role<input>},
    %w: tensor<6x6xf64> {pp.name = "w", pp.role = #pp.role<param>,
                         pp.init = #pp.init<normal, 0.0, 0.5>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %square = pp.mul %w, %w : tensor<6x6xf64>
  %decay = pp.reduce sum %square dims [0, 1] : tensor<6x6xf64> -> tensor<f64>""")
value = "%x"
for layer in range(count):
    print(f"""  %h{layer} = pp.dot_general {value}, %w batch [] x [] contract [1] x [0]
      : tensor<8x6xf64>, tensor<6x6xf64> -> tensor<8x6xf64>
  %t{layer} = pp.tanh %h{layer} : tensor<8x6xf64>""")
    value = f"%t{layer}"
print(f"""  %sum = pp.reduce sum {value} dims [0, 1]
      : tensor<8x6xf64> -> tensor<f64>
  %loss = pp.add %sum, %decay : tensor<f64>
  return %loss : tensor<f64>
}}""")
