// The batch is the dimension that pp.dims call so, the first one without them, and
// where they name none, there is none to split: of class weights, positions.

// RUN: pp-opt %s --pp-make-plan="dp=2 microbatches=2" --pp-annotate-shardings | FileCheck %s
// CHECK: %{{.*}}: tensor<3x8xf32> {pp.dims = ["time", "batch"], pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{}, {"mb", "dp"}]>}
// CHECK-SAME: tensor<8x3xf32> {pp.name = "y", pp.role = #pp.role<label>, pp.sharding = #pp.sharding<@mesh, [{"mb", "dp"}, {}]>}
// CHECK-SAME: tensor<3xf32> {pp.dims = ["class"], pp.name = "weights", pp.role = #pp.role<input>}
// CHECK-SAME: tensor<f32> {pp.name = "scale", pp.role = #pp.role<input>}

// What is the same in every micro-batch is loaded wherever it is read, once a
// step too, and goes into no sum over them.
// RUN: pp-run %s --parallelize="dp=2 microbatches=2 optimizer=sgd lr=0.1" --verify --quiet
module {
  func.func @main(%x: tensor<3x8xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["time", "batch"]},
                  %y: tensor<8x3xf32> {pp.name = "y", pp.role = #pp.role<label>},
                  %weights: tensor<3xf32> {pp.name = "weights", pp.role = #pp.role<input>, pp.dims = ["class"]},
                  %scale: tensor<f32> {pp.name = "scale", pp.role = #pp.role<input>},
                  %w: tensor<3x3xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>})
      -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %a = pp.dot_general %x, %w batch [] x [] contract [0] x [0] : tensor<3x8xf32>, tensor<3x3xf32> -> tensor<8x3xf32>
    %b = pp.mul %a, %y : tensor<8x3xf32>
    %s = pp.mul %weights, %weights : tensor<3xf32>
    %c = pp.broadcast %s dims [1] : tensor<3xf32> -> tensor<8x3xf32>
    %d = pp.mul %b, %c : tensor<8x3xf32>
    %e = pp.tanh %d : tensor<8x3xf32>
    %sum = pp.reduce sum %e dims [0, 1] : tensor<8x3xf32> -> tensor<f32>
    %t = pp.reduce sum %s dims [0] : tensor<3xf32> -> tensor<f32>
    %f = pp.mul %sum, %t : tensor<f32>
    %loss = pp.mul %f, %scale : tensor<f32>
    return %loss : tensor<f32>
  }
}
