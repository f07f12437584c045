// Collectives that look like a slip of the plan say what would avoid them.

// RUN: pp-opt %s --split-input-file --pp-partition --remarks-filter=pp-partition 2>&1 -o /dev/null | FileCheck %s

// The batch has the axis already, so the parameter is read whole.
// CHECK: cause="operand 1 of pp.dot_general needs [{}, {}]; gathered for one use; avoided by a seed that leaves it whole, or that splits the other operands alike"{{.*}} op=pp.all_gather
module {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"tp"}, {} ]>},
                  %w: tensor<4x4xf32> {pp.init = #pp.init<zeros>, pp.name = "w", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{}, {"tp"} ]>})
      -> (tensor<4x4xf32> {pp.name = "loss", pp.role = #pp.role<loss>, pp.sharding = #pp.sharding<@mesh, [{"tp"}, {} ]>}) {
    %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] {pp.shardings = [#pp.sharding<@mesh, [{"tp"}, {} ]>]} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }
}

// -----

// Four rows cannot be split eight ways, so the way from four parts to two is by
// all of them.
// CHECK: cause="operand 1 of pp.add needs [{"a"}, {}]; whole on its way from one split layout to another; avoided by seeds that agree on the value"
module {
  pp.mesh @mesh = <["a"=2, "b"=4]>
  func.func @main(%x: tensor<4x3xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"a"}, {} ]>},
                  %y: tensor<4x3xf32> {pp.name = "y", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"b"}, {} ]>})
      -> (tensor<4x3xf32> {pp.name = "loss", pp.role = #pp.role<loss>, pp.sharding = #pp.sharding<@mesh, [{"a"}, {} ]>}) {
    %e = pp.exp %y {pp.shardings = [#pp.sharding<@mesh, [{"b"}, {} ]>]} : tensor<4x3xf32>
    %s = pp.add %x, %e {pp.shardings = [#pp.sharding<@mesh, [{"a"}, {} ]>]} : tensor<4x3xf32>
    return %s : tensor<4x3xf32>
  }
}
