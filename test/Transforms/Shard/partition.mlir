// Global tensors become local ones; collectives say what caused them.
// RUN: pp-opt %s --split-input-file --pp-propagate-shardings --pp-partition | FileCheck %s
// RUN: pp-opt %s --split-input-file --pp-propagate-shardings --pp-partition \
// RUN:   --remark-format=emitRemark --remarks-filter=pp-partition 2>&1 | FileCheck %s --check-prefix=REMARK

// Two partial products are added, then reduced once, straight into the shards
// that the result wants.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%arg0: tensor<8x2xf32> {pp.global_shape = array<i64: 8, 4>, pp.name = "x"
// CHECK-SAME: -> (tensor<4x4xf32> {pp.global_shape = array<i64: 8, 4>, pp.sharding = #pp.sharding<@mesh, [{"tp"}, {}]>})
// CHECK: %[[A:.*]] = pp.dot_general
// CHECK: %[[B:.*]] = pp.dot_general
// CHECK-NEXT: %[[AB:.*]] = pp.add %[[A]], %[[B]] : tensor<8x4xf32>
// CHECK-NEXT: %[[SUM:.*]] = pp.reduce_scatter sum %[[AB]] dims [0] over @mesh ["tp"]
// CHECK-NEXT: %[[TANH:.*]] = pp.tanh %[[SUM]] : tensor<4x4xf32>
// CHECK-NEXT: return %[[TANH]]
// REMARK: remark: [Analysis] collective
// REMARK-SAME: cause="operand 0 of pp.tanh needs [{"tp"}, {}]", group=2, op=pp.reduce_scatter, ranks="{0,1}", wire_bytes=64
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}]>},
                  %w: tensor<4x4xf32> {pp.name = "w"}) -> tensor<8x4xf32> {
    %a = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
    %y = pp.neg %x : tensor<8x4xf32>
    %b = pp.dot_general %y, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
    %c = pp.add %a, %b : tensor<8x4xf32>
    %t = pp.tanh %c : tensor<8x4xf32>
    %s = pp.sharding_constraint %t to <@mesh, [{"tp"}, {}]> : tensor<8x4xf32>
    return %s : tensor<8x4xf32>
  }
}

// -----

// A bias added to a partial value would be added on every device: reduced
// first. Over micro-batches a sum is accumulated at once, then over devices;
// the invariant bias is cut into micro-batches without communication.
// CHECK-LABEL: func.func @main
// CHECK: %[[BIAS:.*]] = pp.all_slice %arg1 dim 0 over @mesh ["mb"] : tensor<8xf32> -> tensor<4xf32>
// CHECK-NEXT: %[[MINE:.*]] = pp.all_slice %[[BIAS]] dim 0 over @mesh ["dp"] : tensor<4xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[ADD:.*]] = pp.add %arg0, %[[MINE]] : tensor<2xf32>
// CHECK-NEXT: %[[SUM:.*]] = pp.reduce sum %[[ADD]]
// CHECK-NEXT: %[[ALL:.*]] = pp.accumulate %[[SUM]] over "mb"
// CHECK-NEXT: %[[R:.*]] = pp.all_reduce sum %[[ALL]] over @mesh ["dp"]
// CHECK-NEXT: pp.add %[[R]], %arg2 {pp.kind = #pp.kind<update>}
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["mb"=2 : time, "dp"=2]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb", "dp"}]>},
                  %b: tensor<8xf32> {pp.name = "b", pp.sharding = #pp.sharding<@mesh, [{}]>},
                  %c: tensor<f32> {pp.name = "c"}) -> tensor<f32> {
    %0 = pp.add %x, %b : tensor<8xf32>
    %1 = pp.reduce sum %0 dims [0] : tensor<8xf32> -> tensor<f32>
    %2 = pp.add %1, %c {pp.kind = #pp.kind<update>} : tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// A look-up in a sharded table: every device adds what lies in its rows. A
// table that lies split further is gathered for it.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<2x4xf32> {{.*}}tensor<2xi32>
// CHECK: pp.all_gather %arg0 dims [0] over @mesh ["dp"] : (tensor<2x4xf32>) -> tensor<4x4xf32>
// CHECK: %[[INDEX:.*]] = pp.axis_index @mesh ["tp"] : tensor<i32>
// CHECK: %[[ROWS:.*]] = pp.gather
// CHECK: %[[HERE:.*]] = pp.select %{{.*}}, %[[ROWS]]
// CHECK: pp.all_reduce sum %[[HERE]] over @mesh ["tp"]
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2, "tp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @main(%table: tensor<8x4xf32> {pp.name = "t", pp.sharding = #pp.sharding<@mesh, [{"tp", "dp"}, {}]>},
                  %i: tensor<4xi32> {pp.name = "i", pp.sharding = #pp.sharding<@mesh, [{"dp"}]>}) -> tensor<4x4xf32> {
    %t = pp.reshard %table without ["dp"] : tensor<8x4xf32>
    %0 = pp.gather %t[%i] batch 0 : tensor<8x4xf32>, tensor<4xi32> -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

// -----

// A factor that lies split over "tp" is not gathered for a partial value to pass
// by: that is reduced first, straight into shards. By a whole factor it passes.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = pp.dot_general
// CHECK-NEXT: %[[S:.*]] = pp.reduce_scatter sum %[[P]] dims [0] over @mesh ["tp"]
// CHECK-NEXT: pp.mul %[[S]], %arg2 : tensor<4x4xf32>
// CHECK-NOT: pp.all_gather
// CHECK: %[[Q:.*]] = pp.dot_general
// CHECK-NEXT: %[[M:.*]] = pp.mul %[[Q]], %arg3 : tensor<8x4xf32>
// CHECK-NEXT: pp.reduce_scatter sum %[[M]] dims [0] over @mesh ["tp"]
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}]>},
                  %w: tensor<4x4xf32> {pp.name = "w"},
                  %m: tensor<8x4xf32> {pp.name = "m", pp.sharding = #pp.sharding<@mesh, [{"tp"}, {}]>},
                  %n: tensor<8x4xf32> {pp.name = "n", pp.sharding = #pp.sharding<@mesh, [{}, {}]>})
      -> (tensor<8x4xf32>, tensor<8x4xf32>) {
    %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
    %a = pp.mul %p, %m : tensor<8x4xf32>
    %q = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
    %b = pp.mul %q, %n : tensor<8x4xf32>
    %c = pp.sharding_constraint %b to <@mesh, [{"tp"}, {}]> : tensor<8x4xf32>
    return %a, %c : tensor<8x4xf32>, tensor<8x4xf32>
  }
}

// -----

// A partial maximum is no sum: whoever negates it first gets another number.
// What is repeated is reduced while it is small.
// CHECK-LABEL: func.func @main
// CHECK: %[[MAX:.*]] = pp.reduce max
// CHECK-NEXT: %[[WHOLE:.*]] = pp.all_reduce max %[[MAX]]
// CHECK-NEXT: pp.neg %[[WHOLE]]
// CHECK: %[[PART:.*]] = pp.reduce sum
// CHECK-NEXT: %[[SUM:.*]] = pp.all_reduce sum %[[PART]]
// CHECK-NEXT: pp.broadcast %[[SUM]]
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%x: tensor<4x8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}]>})
      -> (tensor<4xf32>, tensor<4x6xf32>) {
    %0 = pp.reduce max %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
    %1 = pp.neg %0 : tensor<4xf32>
    %2 = pp.reduce sum %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
    %3 = pp.broadcast %2 dims [0] : tensor<4xf32> -> tensor<4x6xf32>
    return %1, %3 : tensor<4xf32>, tensor<4x6xf32>
  }
}

// -----

// An axis counts as much as the most important seed that names it: the sum lies
// as "x" does, and "y" is brought to it.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = pp.permute %arg1
// CHECK-NEXT: pp.add %arg0, %[[Y]]
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, threads = 1, seeds = [
    #pp.seed<"x", [{"b"}, {}], 0>, #pp.seed<"y", [{"a"}, {}], 1>, #pp.seed<"z", [{"b"}], 2>]>} {
  pp.mesh @mesh = <["a"=2, "b"=2]>
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"b"}, {}]>},
                  %y: tensor<4x4xf32> {pp.name = "y", pp.sharding = #pp.sharding<@mesh, [{"a"}, {}]>},
                  %z: tensor<4xf32> {pp.name = "z", pp.sharding = #pp.sharding<@mesh, [{"b"}]>})
      -> (tensor<4x4xf32>, tensor<4xf32>) {
    %0 = pp.add %x, %y : tensor<4x4xf32>
    %1 = pp.neg %z : tensor<4xf32>
    return %0, %1 : tensor<4x4xf32>, tensor<4xf32>
  }
}

// -----

// No collective multiplies: a product is formed where all factors are.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = pp.all_gather %arg0 dims [1] over @mesh ["tp"] : (tensor<4x4xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: pp.reduce prod %[[X]] dims [1] : tensor<4x8xf32> -> tensor<4xf32>
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%x: tensor<4x8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4xf32> {
    %0 = pp.reduce prod %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// The second form of a value is made from the one that needs fewest bytes: a
// slice of what was gathered, not an exchange of what is split.
// CHECK-LABEL: func.func @main
// CHECK: %[[ALL:.*]] = pp.all_gather %arg0 dims [0] over @mesh ["tp"]
// CHECK: pp.all_slice %[[ALL]] dim 1 over @mesh ["tp"]
// CHECK-NOT: pp.all_to_all
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%x: tensor<8x8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"tp"}, {}]>},
                  %w: tensor<8x8xf32> {pp.name = "w", pp.sharding = #pp.sharding<@mesh, [{}, {}]>},
                  %v: tensor<8x8xf32> {pp.name = "v", pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}]>})
      -> (tensor<8x8xf32> {pp.sharding = #pp.sharding<@mesh, [{}, {}]>},
          tensor<8x8xf32> {pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}]>}) {
    return %x, %x : tensor<8x8xf32>, tensor<8x8xf32>
  }
}
