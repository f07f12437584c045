// What every device computes or holds whole although it could be split, and an
// axis that splits little: noted, where the plan did not ask for it. Products are
// at any size.

// RUN: pp-opt %s --split-input-file --pp-lint-shardings --remarks-filter=pp-lint-shardings 2>&1 -o /dev/null | FileCheck %s

// 512 x 512 x 4 bytes are the 1 MiB from which on it is said; half of it is not.
// CHECK: [Missed] replicated {{.*}} avoid="a name for it (pp.name), and a seed that splits its dimension 0 or 1 over tp", bytes=1048576, op=pp.dot_general, over=tp, sharded_operand=0
// CHECK-NOT: replicated
// CHECK-NOT: idle
module {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%x: tensor<512x1024xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{}, {"tp"} ]>},
                  %w: tensor<1024x512xf32> {pp.init = #pp.init<zeros>, pp.name = "w", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{"tp"}, {} ]>},
                  %v: tensor<1024x256xf32> {pp.init = #pp.init<zeros>, pp.name = "v", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{"tp"}, {} ]>})
      -> (tensor<512x512xf32> {pp.name = "loss", pp.role = #pp.role<loss>, pp.sharding = #pp.sharding<@mesh, [{}, {} ]>},
          tensor<512x256xf32> {pp.name = "m", pp.role = #pp.role<metric>, pp.sharding = #pp.sharding<@mesh, [{}, {} ]>}) {
    %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] {pp.shardings = [#pp.sharding<@mesh, [{}, {} ]>]} : tensor<512x1024xf32>, tensor<1024x512xf32> -> tensor<512x512xf32>
    %z = pp.dot_general %x, %v batch [] x [] contract [1] x [0] {pp.shardings = [#pp.sharding<@mesh, [{}, {} ]>]} : tensor<512x1024xf32>, tensor<1024x256xf32> -> tensor<512x256xf32>
    return %y, %z : tensor<512x512xf32>, tensor<512x256xf32>
  }
}

// -----

// A product that no axis splits, and a fifth of the work that one does.
// CHECK: [Missed] whole {{.*}} avoid="#pp.seed<"w", [{?}, {"tp"}], 1>", bytes=512, op=pp.dot_general, over=tp
// CHECK: [Missed] idle {{.*}} avoid=tp=1, axis=tp, splits="20 %"
module {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%x: tensor<8x16xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{}, {} ]>},
                  %w: tensor<16x16xf32> {pp.init = #pp.init<zeros>, pp.name = "w", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{}, {} ]>},
                  %v: tensor<16x4xf32> {pp.init = #pp.init<zeros>, pp.name = "v", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{}, {"tp"} ]>})
      -> (tensor<8x16xf32> {pp.name = "loss", pp.role = #pp.role<loss>, pp.sharding = #pp.sharding<@mesh, [{}, {} ]>},
          tensor<8x4xf32> {pp.name = "m", pp.role = #pp.role<metric>, pp.sharding = #pp.sharding<@mesh, [{}, {"tp"} ]>}) {
    %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] {pp.shardings = [#pp.sharding<@mesh, [{}, {} ]>]} : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
    %z = pp.dot_general %x, %v batch [] x [] contract [1] x [0] {pp.shardings = [#pp.sharding<@mesh, [{}, {"tp"} ]>]} : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    return %y, %z : tensor<8x16xf32>, tensor<8x4xf32>
  }
}

// -----

// Four over three devices are two each, of which the last has none; 35 over four are nearly as many.
// CHECK: [Missed] padded {{.*}} avoid=tp=2, count=2, of="dimension 1 of "x"", over=tp=3, padded=6, size=4
// CHECK-NOT: [Missed]
module {
  pp.mesh @mesh = <["tp"=3, "dp"=4]>
  func.func @main(%x: tensor<36x6xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"dp"}, {"tp"} ]>, pp.unpadded_shape = array<i64: 35, 4>},
                  %w: tensor<6x4xf32> {pp.init = #pp.init<zeros>, pp.name = "w", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{"tp"}, {} ]>, pp.unpadded_shape = array<i64: 4, 4>})
      -> (tensor<36x4xf32> {pp.name = "loss", pp.role = #pp.role<loss>, pp.sharding = #pp.sharding<@mesh, [{"dp"}, {} ]>}) {
    %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] {pp.shardings = [#pp.sharding<@mesh, [{"dp"}, {} ]>]} : tensor<36x6xf32>, tensor<6x4xf32> -> tensor<36x4xf32>
    return %y : tensor<36x4xf32>
  }
}

// -----

// A key that splits what is whole is named, if the dimension is the sequence and not only as large.
// CHECK: [Missed] replicated {{.*}} avoid="sequence=true, or #pp.seed<"tokens", [{"tp"}], 0>"
module {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%tokens: tensor<512xi32> {pp.bound = 512 : i64, pp.dims = ["sequence"], pp.name = "tokens", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{}]>},
                  %table: tensor<512x64xf32> {pp.init = #pp.init<zeros>, pp.name = "table", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}]>},
                  %w: tensor<64x512xf32> {pp.init = #pp.init<zeros>, pp.name = "w", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<512x512xf32> {pp.name = "loss", pp.role = #pp.role<loss>, pp.sharding = #pp.sharding<@mesh, [{}, {}]>}) {
    %x = pp.gather %table[%tokens] batch 0 {pp.shardings = [#pp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<512x64xf32>, tensor<512xi32> -> tensor<512x64xf32>
    %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] {pp.shardings = [#pp.sharding<@mesh, [{}, {}]>]} : tensor<512x64xf32>, tensor<64x512xf32> -> tensor<512x512xf32>
    return %y : tensor<512x512xf32>
  }
}

// -----

// One that is on is not.
// CHECK: [Missed] replicated {{.*}} avoid="#pp.seed<"tokens", [{"tp"}], 0>"
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>, sequence = "true">} {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%tokens: tensor<512xi32> {pp.bound = 512 : i64, pp.dims = ["sequence"], pp.name = "tokens", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{}]>},
                  %table: tensor<512x64xf32> {pp.init = #pp.init<zeros>, pp.name = "table", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}]>},
                  %w: tensor<64x512xf32> {pp.init = #pp.init<zeros>, pp.name = "w", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{"tp"}, {}]>})
      -> (tensor<512x512xf32> {pp.name = "loss", pp.role = #pp.role<loss>, pp.sharding = #pp.sharding<@mesh, [{}, {}]>}) {
    %x = pp.gather %table[%tokens] batch 0 {pp.shardings = [#pp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<512x64xf32>, tensor<512xi32> -> tensor<512x64xf32>
    %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] {pp.shardings = [#pp.sharding<@mesh, [{}, {}]>]} : tensor<512x64xf32>, tensor<64x512xf32> -> tensor<512x512xf32>
    return %y : tensor<512x512xf32>
  }
}
