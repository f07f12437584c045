// Dimensions are padded per class of one factor; consuming reductions are
// masked by select, whole dimensions cut back, indices count as before.
// RUN: pp-opt %s --split-input-file --pp-propagate-shardings --pp-pad-dimensions | FileCheck %s
// RUN: pp-opt %s --split-input-file --pp-propagate-shardings --pp-pad-dimensions --remarks-filter=pp-pad-dimensions -o /dev/null 2>&1 | FileCheck %s --check-prefix=WORK

// Each padded op says its floating-point operations, and how many are padding.
// WORK: padded | Category:pp-pad-dimensions | op=pp.exp, operations=144, padding="11.1 %"

// Every tensor with the factor is padded; the state stays zero in its padding.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<9xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"tp"}]>, pp.unpadded_shape = array<i64: 8>}
// CHECK-SAME: -> (tensor<f32>
// CHECK-SAME: tensor<9xf32> {pp.name = "m", pp.role = #pp.role<state>, pp.sharding = #pp.sharding<@mesh, [{"tp"}]>, pp.unpadded_shape = array<i64: 8>}
// CHECK: %[[E:.*]] = pp.exp %[[X]] {{.*}} : tensor<9xf32>
// CHECK: %[[I:.*]] = pp.iota dim 0 {pp.shardings = [#pp.sharding<@mesh, [{"tp"}]>]} : tensor<9xi32>
// CHECK: %[[EIGHT:.*]] = pp.constant {{.*}}dense<8> : tensor<9xi32>
// CHECK: %[[IN:.*]] = pp.compare lt %[[I]], %[[EIGHT]]
// CHECK: %[[MASK:.*]] = pp.broadcast %[[IN]] dims [0]
// CHECK: %[[ZERO:.*]] = pp.constant {{.*}}dense<0.000000e+00> : tensor<9xf32>
// CHECK: %[[MASKED:.*]] = pp.select %[[MASK]], %[[E]], %[[ZERO]]
// CHECK: pp.reduce sum %[[MASKED]]
// CHECK: dense<0xFF800000> : tensor<9xf32>
// CHECK: pp.reduce max
// CHECK: %[[NEW:.*]] = pp.add
// CHECK: %[[KEPT:.*]] = pp.select %{{.*}}, %[[NEW]]
// CHECK: return %{{.*}}, %{{.*}}, %[[KEPT]]
module attributes {pp.plan = #pp.plan<mesh = <["tp"=3]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=3]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"tp"}]>},
                  %m: tensor<8xf32> {pp.name = "m", pp.role = #pp.role<state>})
      -> (tensor<f32>, tensor<f32>, tensor<8xf32> {pp.name = "m", pp.role = #pp.role<state>}) {
    %e = pp.exp %x : tensor<8xf32>
    %s = pp.reduce sum %e dims [0] : tensor<8xf32> -> tensor<f32>
    %t = pp.reduce max %e dims [0] : tensor<8xf32> -> tensor<f32>
    %n = pp.add %m, %e : tensor<8xf32>
    return %s, %t, %n : tensor<f32>, tensor<f32>, tensor<8xf32>
  }
}

// -----

// Heads merged with their size: the merged dimension is 9 x 4. What needs a
// dimension whole gets it without padding. A look-up clamps to the model's rows.
// CHECK-LABEL: func.func @main
// CHECK: pp.reshape {{.*}} : tensor<3x9x4xf32> -> tensor<3x36xf32>
// CHECK: %[[CUT:.*]] = pp.slice {{.*}} : tensor<3x36xf32> -> tensor<3x32xf32>
// CHECK: %[[SUM:.*]] = pp.cumsum %[[CUT]] dim 1 {{.*}} : tensor<3x32xf32>
// CHECK: pp.pad %[[SUM]], {{.*}} : tensor<3x32xf32>, tensor<f32> -> tensor<3x36xf32>
// CHECK: %[[LAST:.*]] = pp.constant {{.*}}dense<7> : tensor<5xi32>
// CHECK: %[[INDEX:.*]] = pp.min %{{.*}}, %[[LAST]]
// CHECK: pp.gather %{{.*}}[%[[INDEX]]] {{.*}} : tensor<9xf32>, tensor<5xi32> -> tensor<5xf32>
// CHECK: pp.random_bits %{{.*}} offsets(%{{.*}} : tensor<i64>) of [8] stream 1 {{.*}} -> tensor<9xi32>
module attributes {pp.plan = #pp.plan<mesh = <["tp"=3]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=3]>
  func.func @main(%x: tensor<3x8x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}, {}]>},
                  %table: tensor<8xf32> {pp.name = "table", pp.sharding = #pp.sharding<@mesh, [{"tp"}]>},
                  %i: tensor<5xi32> {pp.name = "i"}, %seed: tensor<i64> {pp.name = "seed"})
      -> (tensor<3x32xf32>, tensor<5xf32>, tensor<8xi32>) {
    %merged = pp.reshape %x : tensor<3x8x4xf32> -> tensor<3x32xf32>
    %sums = pp.cumsum %merged dim 1 : tensor<3x32xf32>
    %rows = pp.gather %table[%i] batch 0 : tensor<8xf32>, tensor<5xi32> -> tensor<5xf32>
    %bits = pp.random_bits %seed, %seed stream 1 : tensor<i64>, tensor<i64> -> tensor<8xi32>
    %same = pp.sharding_constraint %bits to <@mesh, [{"tp"}]> : tensor<8xi32>
    return %sums, %rows, %same : tensor<3x32xf32>, tensor<5xf32>, tensor<8xi32>
  }
}

// -----

// Two reshapes split [24] in ways that do not refine each other, so padding the
// 4 to 6 means nothing to the second: it gets the elements of the model.
// CHECK-LABEL: func.func @main
// CHECK: %[[MERGED:.*]] = pp.reshape %{{.*}} : tensor<6x6xf32> -> tensor<36xf32>
// CHECK: %[[MODEL:.*]] = pp.slice %[[MERGED]] [0], [24], [1] {{.*}} : tensor<36xf32> -> tensor<24xf32>
// CHECK: pp.reshape %[[MODEL]] {{.*}} : tensor<24xf32> -> tensor<6x4xf32>
module attributes {pp.plan = #pp.plan<mesh = <["tp"=3]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=3]>
  func.func @main(%x: tensor<4x6xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"tp"}, {}]>})
      -> tensor<6x4xf32> {
    %merged = pp.reshape %x : tensor<4x6xf32> -> tensor<24xf32>
    %split = pp.reshape %merged : tensor<24xf32> -> tensor<6x4xf32>
    return %split : tensor<6x4xf32>
  }
}

// -----

// A flattened look-up whose sequence does not divide: updates of padded places
// are masked to zero, wherever their indices point.
// CHECK-LABEL: func.func @main
// CHECK: %[[ROWS:.*]] = pp.reshape %{{.*}} : tensor<2x4x4xf32> -> tensor<8x4xf32>
// CHECK: %[[MASKED:.*]] = pp.select %{{.*}}, %[[ROWS]], %{{.*}} : tensor<8x4xi1>, tensor<8x4xf32>
// CHECK: pp.scatter_add %{{.*}}[%{{.*}}], %[[MASKED]] {{.*}} : tensor<8x4xf32>, tensor<8xi32>, tensor<8x4xf32>
module attributes {pp.plan = #pp.plan<mesh = <["x"=2]>, threads = 1>} {
  pp.mesh @mesh = <["x"=2]>
  func.func @main(%i: tensor<2x3xi32> {pp.name = "i", pp.sharding = #pp.sharding<@mesh, [{}, {"x"}]>},
                  %u: tensor<2x3x4xf32> {pp.name = "u", pp.sharding = #pp.sharding<@mesh, [{}, {"x"}, {}]>},
                  %w: tensor<8x4xf32> {pp.name = "w"}) -> tensor<8x4xf32> {
    %indices = pp.reshape %i : tensor<2x3xi32> -> tensor<6xi32>
    %rows = pp.reshape %u : tensor<2x3x4xf32> -> tensor<6x4xf32>
    %s = pp.scatter_add %w[%indices], %rows batch 0 : tensor<8x4xf32>, tensor<6xi32>, tensor<6x4xf32>
    return %s : tensor<8x4xf32>
  }
}

// -----

// Two reductions of one dimension that ops split in ways that do not refine each
// other: the one gets the model's elements and has nothing left to mask.
// CHECK-LABEL: func.func @main
// CHECK: %[[CUT:.*]] = pp.slice %{{.*}} : tensor<36xf32> -> tensor<24xf32>
// CHECK: pp.reshape %[[CUT]]
module attributes {pp.plan = #pp.plan<mesh = <["tp"=3]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=3]>
  func.func @main(%x: tensor<4x6xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<f32>, tensor<6x4xf32>) {
    %merged = pp.reshape %x : tensor<4x6xf32> -> tensor<24xf32>
    %split = pp.reshape %merged : tensor<24xf32> -> tensor<6x4xf32>
    %sum = pp.reduce sum %merged dims [0] : tensor<24xf32> -> tensor<f32>
    return %sum, %split : tensor<f32>, tensor<6x4xf32>
  }
}

// -----

// A slice takes one element of each block, so the blocks are padded on either
// side of it; but here the elements of a block are padded, too, which it needs
// whole. A dimension is cut back as one: both sides are without padding.
// CHECK-LABEL: func.func @main
// CHECK: %[[MERGED:.*]] = pp.reshape %{{.*}} : tensor<6x6xf32> -> tensor<18x2xf32>
// CHECK: %[[BLOCKS:.*]] = pp.reshape %[[MERGED]] {{.*}} -> tensor<6x3x2xf32>
// CHECK: %[[CUT:.*]] = pp.slice %[[BLOCKS]] [0, 0, 0], [4, 2, 2], [1, 1, 1]
// CHECK: %[[MODEL:.*]] = pp.reshape %[[CUT]] {{.*}} -> tensor<8x2xf32>
// CHECK: %[[TAKEN:.*]] = pp.slice %[[MODEL]] [1, 0], [8, 2], [2, 1] {{.*}} -> tensor<4x2xf32>
// CHECK: pp.pad %[[TAKEN]], {{.*}} low [0, 0] high [2, 0] {{.*}} -> tensor<6x2xf32>
module attributes {pp.plan = #pp.plan<mesh = <["a"=3, "b"=3]>, threads = 1>} {
  pp.mesh @mesh = <["a"=3, "b"=3]>
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}, {"b"}]>})
      -> tensor<4x2xf32> {
    %merged = pp.reshape %x : tensor<4x4xf32> -> tensor<8x2xf32>
    %odd = pp.slice %merged [1, 0], [8, 2], [2, 1] : tensor<8x2xf32> -> tensor<4x2xf32>
    return %odd : tensor<4x2xf32>
  }
}

// -----

// The gradient of such a slice likewise makes its blocks of what the model has.
// CHECK-LABEL: func.func @main
// CHECK: %[[CUT:.*]] = pp.slice %{{.*}} [0, 0], [4, 2], [1, 1]
// CHECK: %[[BLOCKS:.*]] = pp.pad %[[CUT]], {{.*}} interior [1, 0] {{.*}} -> tensor<8x2xf32>
// CHECK: pp.pad %{{.*}} high [2, 1, 0] {{.*}} -> tensor<6x3x2xf32>
module attributes {pp.plan = #pp.plan<mesh = <["a"=3, "b"=3]>, threads = 1>} {
  pp.mesh @mesh = <["a"=3, "b"=3]>
  func.func @main(%y: tensor<4x2xf32> {pp.name = "y"})
      -> (tensor<4x4xf32> {pp.sharding = #pp.sharding<@mesh, [{"a"}, {"b"}]>}) {
    %zero = pp.constant dense<0.0> : tensor<f32>
    %back = pp.pad %y, %zero low [1, 0] high [0, 0] interior [1, 0] : tensor<4x2xf32>, tensor<f32> -> tensor<8x2xf32>
    %split = pp.reshape %back : tensor<8x2xf32> -> tensor<4x4xf32>
    %same = pp.sharding_constraint %split to <@mesh, [{"a"}, {"b"}]> : tensor<4x4xf32>
    return %same : tensor<4x4xf32>
  }
}

// -----

// What would be padded in the middle of an argument, which no file could fill, is
// padded at its end, and cut back for those who know its factors.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<36xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"dp", "tp"}]>, pp.unpadded_shape = array<i64: 32>}
// CHECK: pp.slice %{{.*}} [0], [32], [1]
// CHECK: pp.reshape %{{.*}} tensor<32xf32> -> tensor<4x8xf32>
// CHECK: pp.pad %{{.*}} high [0, 1]
module attributes {pp.plan = #pp.plan<mesh = <["dp"=4, "tp"=3]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=4, "tp"=3]>
  func.func @main(%x: tensor<32xf32> {pp.name = "x"}) -> tensor<4x8xf32> {
    %0 = pp.reshape %x : tensor<32xf32> -> tensor<4x8xf32>
    %1 = pp.sharding_constraint %0 to <@mesh, [{"dp"}, {"tp"}]> : tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}

// -----

// What micro-batches cut stays cut where it is merged and split again, although the
// merged dimension of 21 divides and the one of 7 does not: nothing gathers over time.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<9x3xi32> {{{.*}}pp.sharding = #pp.sharding<@mesh, [{"t"}, {}]>, pp.unpadded_shape = array<i64: 7, 3>}
// CHECK: pp.reshape {{.*}}[#pp.sharding<@mesh, [{"t"}]>]} : tensor<9x3xi32> -> tensor<27xi32>
// CHECK: pp.reshape {{.*}}[#pp.sharding<@mesh, [{"t"}, {}, {}]>]} : tensor<27x4xf64> -> tensor<9x3x4xf64>
module attributes {pp.plan = #pp.plan<mesh = <["t"=3 : time]>, threads = 1>} {
  pp.mesh @mesh = <["t"=3 : time]>
  func.func @main(%indices: tensor<7x3xi32> {pp.name = "indices", pp.sharding = #pp.sharding<@mesh, [{"t"}, {}]>},
                  %table: tensor<8x4xf64> {pp.name = "table"}) -> tensor<f64> {
    %0 = pp.reshape %indices : tensor<7x3xi32> -> tensor<21xi32>
    %1 = pp.gather %table[%0] batch 0 : tensor<8x4xf64>, tensor<21xi32> -> tensor<21x4xf64>
    %2 = pp.reshape %1 : tensor<21x4xf64> -> tensor<7x3x4xf64>
    %3 = pp.sin %2 : tensor<7x3x4xf64>
    %4 = pp.reduce sum %3 dims [0, 1, 2] : tensor<7x3x4xf64> -> tensor<f64>
    return %4 : tensor<f64>
  }
}
