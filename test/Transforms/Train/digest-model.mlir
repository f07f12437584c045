// The digest is of what the model computes: neither the plan nor shardings nor locations change it, another op does.
// RUN: pp-opt %s --pp-digest-model | grep -o 'pp.model = "[0-9a-f]*"' > %t.digest
// RUN: pp-opt %s --mlir-print-debuginfo | pp-opt --pp-parallelize="dp=2 optimizer=sgd lr=1" | grep -o 'pp.model = "[0-9a-f]*"' | cmp %t.digest
// RUN: sed -e '1i pp.mesh @mesh = <["data"=2]>' -e '/RUN/d' -e 's|pp.name = "x"|&, pp.sharding = #pp.sharding<@mesh, [{"data"}, {}]>|' -e 's|pp.tanh %y|pp.sharding_constraint %y to <@mesh, [{"data"}, {}]> : tensor<4x2xf32>\n  %z = pp.tanh %c|; s|%z = pp.shard|%c = pp.shard|' %s | pp-opt --pp-parallelize="microbatches=2 optimizer=sgd lr=1" | grep -o 'pp.model = "[0-9a-f]*"' | cmp %t.digest
// RUN: sed s/pp.tanh/pp.exp/ %s | pp-opt --pp-digest-model | grep -o 'pp.model = "[0-9a-f]*"' | not cmp %t.digest

func.func @main(%x: tensor<4x2xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                %w: tensor<2x2xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  %z = pp.tanh %y : tensor<4x2xf32>
  %loss = pp.reduce sum %z dims [0, 1] : tensor<4x2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
