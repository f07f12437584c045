// A fixed point over factors, forwards and backwards, in rounds of priority.
// RUN: pp-opt %s --split-input-file --pp-propagate-shardings | FileCheck %s
// RUN: pp-opt %s --split-input-file --pp-propagate-shardings \
// RUN:   --remark-format=emitRemark --remarks-filter=pp-propagate-shardings 2>&1 | FileCheck %s --check-prefix=REMARK

// Forwards through a contraction, backwards to the other operand.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg1: tensor<8x4xf32> {{.*}}#pp.sharding<@mesh, [{"tp"}, {}]>
// CHECK: pp.dot_general {{.*}}#pp.sharding<@mesh, [{"dp"}, {"tp"}]>
// CHECK: pp.tanh {{.*}}#pp.sharding<@mesh, [{"dp"}, {"tp"}]>
// CHECK: pp.dot_general {{.*}}#pp.sharding<@mesh, [{"dp"}, {}]>
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2, "tp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @main(%w: tensor<4x8xf32> {pp.name = "w", pp.sharding = #pp.sharding<@mesh, [{?}, {"tp"}]>},
                  %v: tensor<8x4xf32> {pp.name = "v"},
                  %x: tensor<4x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<4x4xf32> {
    %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    %1 = pp.tanh %0 : tensor<4x8xf32>
    %2 = pp.dot_general %1, %v batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
}

// -----

// Through a split and a merge: the major factor carries the axis.
// CHECK-LABEL: func.func @main
// CHECK: pp.reshape {{.*}}#pp.sharding<@mesh, [{}, {"tp"}, {}]>
// CHECK: pp.transpose {{.*}}#pp.sharding<@mesh, [{"tp"}, {}, {}]>
// CHECK: pp.reshape {{.*}}#pp.sharding<@mesh, [{"tp"}, {}]>
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%x: tensor<3x8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{?}, {"tp"}]>}) -> tensor<6x4xf32> {
    %0 = pp.reshape %x : tensor<3x8xf32> -> tensor<3x2x4xf32>
    %1 = pp.transpose %0 perm [1, 0, 2] : tensor<3x2x4xf32> -> tensor<2x3x4xf32>
    %2 = pp.reshape %1 : tensor<2x3x4xf32> -> tensor<6x4xf32>
    return %2 : tensor<6x4xf32>
  }
}

// -----

// The lower priority number wins where both seeds want one dimension, although
// it belongs to the second operand; an earlier round is never undone. What several
// ops of a kind lose is told once.
// CHECK-LABEL: func.func @main
// CHECK: pp.add {{.*}}#pp.sharding<@mesh, [{"b"}]>
// REMARK: remark: [Missed] conflict {{.*}} kept=b, kept_by="seed "y" [{"b"}]", lost=a, lost_by="seed "x" [{"a"}]", op=pp.add, resharded_operand="0, 1", times=3
// REMARK-NOT: conflict
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>,
    seeds = [#pp.seed<"x", [{"a"}], 1>, #pp.seed<"y", [{"b"}], 0>], threads = 1>} {
  pp.mesh @mesh = <["a"=2, "b"=2]>
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}]>},
                  %y: tensor<4xf32> {pp.name = "y", pp.sharding = #pp.sharding<@mesh, [{"b"}]>}) -> tensor<4xf32> {
    %0 = pp.add %x, %y : tensor<4xf32>
    %1 = pp.add %x, %0 : tensor<4xf32>
    %2 = pp.add %1, %x : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

// -----

// Nor is an axis used twice: what an earlier round gave to one dimension, a seed
// of a later one does not get for another.
// CHECK-LABEL: func.func @main
// CHECK-SAME: pp.name = "w", pp.sharding = #pp.sharding<@mesh, [{"a"}, {}]>
// CHECK: pp.add {{.*}}#pp.sharding<@mesh, [{"a"}, {}]>
// REMARK: remark: [Missed] unfulfilled
// REMARK-SAME: by="seed "x" [{"a"}, {}]", got="[{"a"}, {}]", of="argument "w"", wanted="[{}, {"a"}]"
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>,
    seeds = [#pp.seed<"x", [{"a"}, {}], 0>, #pp.seed<"w", [{}, {"a"}], 1>], threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}, {?}]>},
                  %w: tensor<4x4xf32> {pp.name = "w", pp.sharding = #pp.sharding<@mesh, [{?}, {"a"}]>}) -> tensor<4x4xf32> {
    %0 = pp.add %x, %w : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

// -----

// A parameter is there for the whole step: it is not split over time, though
// each micro-batch uses a part of it, nor over what stands behind time.
// CHECK-LABEL: func.func @main
// CHECK-SAME: pp.name = "w", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{}]>
// CHECK: pp.mul {{.*}}#pp.sharding<@mesh, [{"mb", "dp"}]>
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["mb"=2 : time, "dp"=2]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"mb", "dp"}]>},
                  %w: tensor<8xf32> {pp.name = "w", pp.role = #pp.role<param>}) -> tensor<f32> {
    %0 = pp.mul %x, %w : tensor<8xf32>
    %1 = pp.reduce sum %0 dims [0] : tensor<8xf32> -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A constraint is a seed; an updated state has its argument's layout, whatever
// its name's position; a result is not split over time.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg1: tensor<8xf32> {pp.name = "m", pp.role = #pp.role<state>, pp.sharding = #pp.sharding<@mesh, [{"tp"}]>
// CHECK-SAME: -> (tensor<8xf32> {pp.name = "m", pp.role = #pp.role<state>, pp.sharding = #pp.sharding<@mesh, [{"tp"}]>
// CHECK-SAME: pp.sharding = #pp.sharding<@mesh, [{"dp"}]>
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "dp"=2, "tp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["mb"=2 : time, "dp"=2, "tp"=2]>
  func.func @main(%g: tensor<8xf32> {pp.name = "g"},
                  %m: tensor<8xf32> {pp.name = "m", pp.role = #pp.role<state>},
                  %x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb", "dp"}]>})
      -> (tensor<8xf32> {pp.name = "m", pp.role = #pp.role<state>}, tensor<8xf32>) {
    %0 = pp.sharding_constraint %g to <@mesh, [{"tp"}]> : tensor<8xf32>
    %1 = pp.add %m, %0 : tensor<8xf32>
    %2 = pp.neg %x : tensor<8xf32>
    return %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// A tensor without elements: the reshape keeps all of it whole.
// CHECK-LABEL: func.func @main
// CHECK: pp.reshape {{.*}}#pp.sharding<@mesh, [{}, {}]>
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<0xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}]>}) -> tensor<3x0xf32> {
    %0 = pp.reshape %x : tensor<0xf32> -> tensor<3x0xf32>
    return %0 : tensor<3x0xf32>
  }
}

// -----

// Dimensions regrouped that are not nested, [4, 2] against [2, 4]: an axis that
// the operand cannot say falls, and with it what the result has behind it.
// CHECK-LABEL: func.func @main
// CHECK-SAME: pp.name = "a", pp.sharding = #pp.sharding<@mesh, [{}, {}]>
// CHECK: pp.sharding_constraint {{.*}}{pp.shardings = [#pp.sharding<@mesh, [{}, {"x", "y"}]>]}
module attributes {pp.plan = #pp.plan<mesh = <["x"=2, "y"=2]>, threads = 1>} {
  pp.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%a: tensor<4x2xf32> {pp.name = "a"}) -> tensor<2x4xf32> {
    %0 = pp.reshape %a : tensor<4x2xf32> -> tensor<2x4xf32>
    %1 = pp.sharding_constraint %0 to <@mesh, [{}, {"x", "y"}]> : tensor<2x4xf32>
    return %1 : tensor<2x4xf32>
  }
}

// -----

// A sharding on a result is obeyed, whatever its value has elsewhere; what it
// leaves open may follow the value.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<4x4xf32> {pp.sharding = #pp.sharding<@mesh, [{}, {"a"}]>}, tensor<4x4xf32> {pp.sharding = #pp.sharding<@mesh, [{"b"}, {"a"}]>})
// CHECK: pp.neg {{.*}}#pp.sharding<@mesh, [{"a"}, {"b"}]>
// CHECK: pp.exp {{.*}}#pp.sharding<@mesh, [{"b"}, {"a"}]>
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2, "b"=2]>
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}, {"b"}]>},
                  %y: tensor<4x4xf32> {pp.name = "y", pp.sharding = #pp.sharding<@mesh, [{"b"}, {?}]>})
      -> (tensor<4x4xf32> {pp.sharding = #pp.sharding<@mesh, [{}, {"a"}]>},
          tensor<4x4xf32> {pp.sharding = #pp.sharding<@mesh, [{?}, {"a"}]>}) {
    %0 = pp.neg %x : tensor<4x4xf32>
    %1 = pp.exp %y : tensor<4x4xf32>
    return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// An update lies where its argument does, and no result is split over time.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<8xf32> {pp.name = "m", pp.role = #pp.role<state>, pp.sharding = #pp.sharding<@mesh, [{"a"}]>}, tensor<8xf32> {pp.name = "out", pp.sharding = #pp.sharding<@mesh, [{}]>})
// REMARK: remark: [Missed] unfulfilled
// REMARK-SAME: by="pp.sharding [{"a"}] of argument "m"", got="[{"a"}]", of="result "m"", wanted="[{}]"
// REMARK: remark: [Missed] unfulfilled
// REMARK-SAME: got="[{}]", of="result "out"", wanted="[{"mb"}]"
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["mb"=2 : time, "a"=2]>
  func.func @main(%m: tensor<8xf32> {pp.name = "m", pp.role = #pp.role<state>, pp.sharding = #pp.sharding<@mesh, [{"a"}]>},
                  %x: tensor<8xf32> {pp.name = "x"})
      -> (tensor<8xf32> {pp.name = "m", pp.role = #pp.role<state>, pp.sharding = #pp.sharding<@mesh, [{}]>},
          tensor<8xf32> {pp.name = "out", pp.sharding = #pp.sharding<@mesh, [{"mb"}]>}) {
    %0 = pp.neg %m : tensor<8xf32>
    %1 = pp.exp %x : tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// A constraint joins in the round of the first seed that uses its axis: "tp" here
// after "dp", whatever other arguments a pattern with stars means.
// CHECK-LABEL: func.func @main
// CHECK: pp.sharding_constraint {{.*}}#pp.sharding<@mesh, [{"tp"}]>
// CHECK: pp.add {{.*}}#pp.sharding<@mesh, [{"dp"}]>
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2, "tp"=2]>,
    seeds = [#pp.seed<"*", [{"dp"}], 0>, #pp.seed<"w", [{"tp"}], 1>], threads = 1>} {
  pp.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"dp"}]>},
                  %y: tensor<4xf32> {pp.name = "y"}) -> tensor<4xf32> {
    %0 = pp.sharding_constraint %y to <@mesh, [{"tp"}]> : tensor<4xf32>
    %1 = pp.exp %0 : tensor<4xf32>
    %2 = pp.exp %x : tensor<4xf32>
    %3 = pp.exp %2 : tensor<4xf32>
    %4 = pp.exp %3 : tensor<4xf32>
    %5 = pp.add %1, %4 : tensor<4xf32>
    return %5 : tensor<4xf32>
  }
}

// -----

// Within an op the axis of the smaller priority comes first, although it belongs
// to the second operand and no result could have carried it further.
// CHECK-LABEL: func.func @main
// REMARK: remark: [Missed] conflict {{.*}} kept=dp, kept_by="seed "w" [{"dp"}, {}]", lost=tp, lost_by="seed "x" [{}, {"tp"}]", op=pp.dot_general, resharded_operand=0
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2, "tp"=2]>,
    seeds = [#pp.seed<"x", [{}, {"tp"}], 1>, #pp.seed<"w", [{"dp"}, {}], 0>], threads = 1>} {
  pp.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}]>},
                  %w: tensor<4x4xf32> {pp.name = "w", pp.sharding = #pp.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<4x4xf32> {
    %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

// -----

// An axis that nobody asked for along overlapping windows, but that spread there,
// is gathered, and said so. Windows beside each other split, and so does their
// gradient.
// CHECK-LABEL: func.func @main
// REMARK: remark: [Missed] neighbours
// REMARK-SAME: axis=sp, by="pp.sharding [{"sp"}] of argument "x"", dimension=0, of="operand 0", op=pp.reduce_window, splittable=
// CHECK: pp.reduce_window max {{.*}} sizes [3] {{.*}}#pp.sharding<@mesh, [{}]>
// CHECK: pp.reduce_window max {{.*}} sizes [2] {{.*}}#pp.sharding<@mesh, [{"sp"}]>
// CHECK: pp.select_and_scatter {{.*}}#pp.sharding<@mesh, [{"sp"}]>
// CHECK: pp.convolution {{.*}}strides [2] {{.*}}#pp.sharding<@mesh, [{"sp"}]>
// CHECK: pp.convolution {{.*}}dilation [2] x [1] {{.*}}#pp.sharding<@mesh, [{"sp"}]>
module attributes {pp.plan = #pp.plan<mesh = <["sp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["sp"=2]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"sp"}]>},
                  %w: tensor<2xf32> {pp.name = "w"}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = pp.neg %x : tensor<8xf32>
    %1 = pp.reduce_window max %0 dims [0] sizes [3] strides [1] dilation [1] low [1] high [1] : tensor<8xf32> -> tensor<8xf32>
    %2 = pp.reduce_window max %0 dims [0] sizes [2] strides [2] dilation [1] low [0] high [0] : tensor<8xf32> -> tensor<4xf32>
    %3 = pp.select_and_scatter %0, %2 dims [0] sizes [2] strides [2] dilation [1] low [0] high [0] : tensor<8xf32>, tensor<4xf32>
    %4 = pp.convolution %0, %w batch [] x [] contract [] x [] window [0] x [0] -> [0] strides [2] low [0] high [0] dilation [1] x [1] : tensor<8xf32>, tensor<2xf32> -> tensor<4xf32>
    %5 = pp.convolution %4, %w batch [] x [] contract [] x [] window [0] x [0] -> [0] strides [1] low [1] high [1] dilation [2] x [1] reverse : tensor<4xf32>, tensor<2xf32> -> tensor<8xf32>
    return %1, %3, %5 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}
