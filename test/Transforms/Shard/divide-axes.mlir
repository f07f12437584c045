// Axes are divided where a dimension, or a factor of one, takes only a part of
// them; a dimension that divides is not padded, and one that does not only to
// the next multiple.
// RUN: pp-opt %s --split-input-file --pp-propagate-shardings --pp-pad-dimensions | FileCheck %s --enable-var-scope
// RUN: pp-opt %s --split-input-file --pp-propagate-shardings --pp-pad-dimensions --pp-partition | FileCheck %s --check-prefix=LOCAL

// 16 heads are 4 groups of 4: 4 x 2 devices share them, and each key-value head
// lies on 2. The plan says so, too, and the 20 others, which do not divide, are
// padded alone.
// CHECK: mesh = <["tp"=[4, 2]]>, seeds = [#pp.seed<"w", [{"tp.0", "tp.1"}], 0>]
// CHECK: pp.mesh @mesh = <["tp"=[4, 2]]>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %{{.*}}: tensor<16xf32> {pp.name = "q", pp.sharding = #pp.sharding<@mesh, [{"tp.0", "tp.1"}]>}
// CHECK-SAME: %{{.*}}: tensor<4xf32> {pp.name = "k", pp.sharding = #pp.sharding<@mesh, [{"tp.0"}]>}
// CHECK-SAME: %{{.*}}: tensor<24xf32> {pp.name = "w", {{.*}}pp.unpadded_shape = array<i64: 20>}
// CHECK: pp.reshape %{{.*}} [#pp.sharding<@mesh, [{"tp.0"}, {"tp.1"}]>]} : tensor<16xf32> -> tensor<4x4xf32>
// LOCAL: pp.reshape %{{.*}} : tensor<2xf32> -> tensor<1x2xf32>
// LOCAL: pp.all_reduce sum %{{.*}} over @mesh ["tp.1"] : (tensor<1xf32>) -> tensor<1xf32>
module attributes {pp.plan = #pp.plan<mesh = <["tp"=8]>, seeds = [#pp.seed<"w", [{"tp"}], 0>]>} {
  pp.mesh @mesh = <["tp"=8]>
  func.func @main(%q: tensor<16xf32> {pp.name = "q", pp.sharding = #pp.sharding<@mesh, [{"tp"}]>},
                  %k: tensor<4xf32> {pp.name = "k"},
                  %w: tensor<20xf32> {pp.name = "w", pp.sharding = #pp.sharding<@mesh, [{"tp"}]>})
      -> (tensor<4xf32>, tensor<20xf32>) {
    %heads = pp.reshape %q : tensor<16xf32> -> tensor<4x4xf32>
    %group = pp.reduce sum %heads dims [1] : tensor<4x4xf32> -> tensor<4xf32>
    %y = pp.mul %group, %k : tensor<4xf32>
    %z = pp.neg %w : tensor<20xf32>
    return %y, %z : tensor<4xf32>, tensor<20xf32>
  }
}

// -----

// 2 x 30 rows take 8 devices neither by their 2 nor, evenly, by their 60: the 60
// get the next multiple of 8 where they are one dimension, and lie whole where
// they are two.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<64xf32>
// CHECK: %[[CUT:.*]] = pp.slice %[[X]] [0], [60], [1] {{.*}} -> tensor<60xf32>
// CHECK: pp.reshape %[[CUT]] {{.*}} [{}, {}]>]} : tensor<60xf32> -> tensor<2x30xf32>
module attributes {pp.plan = #pp.plan<mesh = <["dp"=8]>>} {
  pp.mesh @mesh = <["dp"=8]>
  func.func @main(%x: tensor<60xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"dp"}]>})
      -> tensor<2x30xf32> {
    %rows = pp.reshape %x : tensor<60xf32> -> tensor<2x30xf32>
    return %rows : tensor<2x30xf32>
  }
}

// -----

// 24 over 4 divides, 6 x 4 by its 6 does not: the 6 take a part of two.
// CHECK: pp.mesh @mesh = <["tp"=[2, 2]]>
// CHECK-LABEL: func.func @main
// CHECK: pp.reshape %{{.*}} [{"tp.0"}, {}]>]} : tensor<24xf32> -> tensor<6x4xf32>
module attributes {pp.plan = #pp.plan<mesh = <["tp"=4]>>} {
  pp.mesh @mesh = <["tp"=4]>
  func.func @main(%x: tensor<24xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"tp"}]>})
      -> tensor<6x4xf32> {
    %y = pp.reshape %x : tensor<24xf32> -> tensor<6x4xf32>
    return %y : tensor<6x4xf32>
  }
}

// -----

// Parts of 2 and of 3 cannot both begin an axis: the first that is asked for is
// there, and the other dimension takes what it can of it. A divided axis that is
// divided again has its parts numbered anew.
// CHECK: pp.mesh @mesh = <["a"=[2, 2, 3]]>
// CHECK-LABEL: func.func @main
module attributes {pp.plan = #pp.plan<mesh = <["a"=[2, 6]]>>} {
  pp.mesh @mesh = <["a"=[2, 6]]>
  func.func @main(%x: tensor<24xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a.0", "a.1"}]>})
      -> tensor<4x6xf32> {
    %y = pp.reshape %x : tensor<24xf32> -> tensor<4x6xf32>
    return %y : tensor<4x6xf32>
  }
}
