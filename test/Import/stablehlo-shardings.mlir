// Shardings of Shardy over whole axes of one mesh are the model's, and the mesh too. Axes of one device go.
// RUN: pp-opt %s --inputs=x --labels=y --remarks-filter=pp-import-stablehlo 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --input-file=%t.remarks --check-prefix=DROPPED
// RUN: pp-opt %s --inputs=x --labels=y --keep-shardings=false | FileCheck %s --check-prefix=NONE --implicit-check-not=sharding
// RUN: pp-opt %s --inputs=x --labels=y | pp-opt --pp-parallelize="lr=0.1 microbatches=2" --emit=plan | FileCheck %s --check-prefix=PLAN
// RUN: pp-opt %s --inputs=x --labels=y | pp-run - --parallelize="lr=0.1 microbatches=2" --steps=2 --verify --quiet

// NONE: func.func @main
// PLAN: mesh = <["mb"=2 : time, "data"=2, "model"=2]>

// CHECK: pp.mesh @mesh = <["data"=2, "model"=2]>
sdy.mesh @mesh = <["data"=2, "one"=1, "model"=2]>
sdy.mesh @turned = <["data"=2, "model"=2], device_ids=[3, 2, 1, 0]>
sdy.mesh @other = <["data"=4]>

// CHECK-SAME: {{$}}
// CHECK: pp.name = "w", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{}, {"model"}]>}
// A dimension for the parts of columns: each part is split as all were.
// CHECK-SAME: pp.name = "qkv", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{}, {}, {"model"}]>, pp.stored_shape = array<i64: 8, 24>}
// CHECK-SAME: pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"data"}, {?}]>}
// CHECK-SAME: pp.name = "y", pp.role = #pp.role<label>}
// DROPPED: Reason="GSPMD's shardings have no names of axes"
// DROPPED: Reason="pp splits by whole axes of a mesh in the order of its devices, without priorities"
// DROPPED: Reason="another sharding has another mesh"
// DROPPED: Reason="pp splits by whole axes of a mesh in the order of its devices, without priorities"
// DROPPED: Reason="pp splits by whole axes of a mesh in the order of its devices, without priorities"
func.func public @main(%w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"one", "model"}]>} loc("w"),
                       %qkv: tensor<8x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("qkv"),
                       %x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>} loc("x"),
                       %y: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"} loc("y")) -> tensor<f32> {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: pp.sharding_constraint %{{.*}} to <@mesh, [{"data"}, {"model", ?}]> : tensor<8x8xf32>
  %a = sdy.sharding_constraint %h <@mesh, [{"data"}, {"model", ?}]> : tensor<8x8xf32>
  %b = sdy.sharding_constraint %a <@mesh, [{?}, {?}]> : tensor<8x8xf32>
  %c = sdy.sharding_constraint %b <@mesh, [{"data":(1)2}, {}]> : tensor<8x8xf32>
  %d = sdy.sharding_constraint %c <@other, [{"data"}, {}]> : tensor<8x8xf32>
  %e0 = sdy.sharding_constraint %d <@turned, [{"data"}, {}]> : tensor<8x8xf32>
  %e1 = sdy.sharding_constraint %e0 <@mesh, [{"nowhere"}, {}]> : tensor<8x8xf32>
  // The same again, and another layout of the same value.
  %e2 = sdy.sharding_constraint %e1 <@mesh, [{"data"}, {"model", ?}]> : tensor<8x8xf32>
  // CHECK: pp.sharding_constraint %{{.*}} to <@mesh, [{}, {}]> barrier : tensor<8x8xf32>
  %e = sdy.sharding_constraint %e2 <@mesh, [{}, {}]> : tensor<8x8xf32>
  %all = stablehlo.dot_general %e, %qkv, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x24xf32>) -> tensor<8x24xf32>
  %q = stablehlo.slice %all [0:8, 0:8] : (tensor<8x24xf32>) -> tensor<8x8xf32>
  %k = stablehlo.slice %all [0:8, 8:16] : (tensor<8x24xf32>) -> tensor<8x8xf32>
  %v = stablehlo.slice %all [0:8, 16:24] : (tensor<8x24xf32>) -> tensor<8x8xf32>
  %qk = stablehlo.multiply %q, %k : tensor<8x8xf32>
  %qkv1 = stablehlo.add %qk, %v : tensor<8x8xf32>
  %off = stablehlo.subtract %qkv1, %y : tensor<8x8xf32>
  %squares = stablehlo.multiply %off, %off : tensor<8x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
