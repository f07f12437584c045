// Running sums, products and searches along a split dimension work in each shard;
// what comes together is a number, or a few, per shard. What does not divide is
// left, and so is a search for so many that gathering the row sends less.

// RUN: pp-opt %s --pp-parallelize="plan=%S/split-scans.plan stop-after=graph" -o %t.mlir
// RUN: pp-opt %t.mlir --pp-annotate-shardings --pp-propagate-shardings --pp-split-scans | FileCheck %s
// CHECK: %[[PARTS:.*]] = pp.reshape %{{.*}} -> tensor<4x2x4xf64>
// CHECK: %[[SUMS:.*]] = pp.cumsum %[[PARTS]] dim 2
// CHECK: %[[TOTALS:.*]] = pp.reduce sum %[[PARTS]] dims [2]
// CHECK: %[[MORE:.*]] = pp.pad %[[TOTALS]], %{{.*}} low [0, 1] high [0, 0]
// CHECK: %[[SHIFTED:.*]] = pp.slice %[[MORE]] [0, 0], [4, 2], [1, 1]
// CHECK: %[[BEFORE:.*]] = pp.cumsum %[[SHIFTED]] dim 1
// CHECK: %[[START:.*]] = pp.broadcast %[[BEFORE]] dims [0, 1]
// CHECK: %[[ALL:.*]] = pp.add %[[SUMS]], %[[START]]
// CHECK: pp.reshape %[[ALL]] {{.*}} -> tensor<4x8xf64>
// CHECK: pp.pad %{{.*}} low [0, 0] high [0, 1]
// CHECK: pp.argmax %{{.*}} dim 2 {{.*}} : tensor<4x2x4xf64> -> tensor<4x2xi32>
// CHECK: pp.argmax %{{.*}} dim 1 {{.*}} : tensor<4x2xf64> -> tensor<4xi32>
// CHECK: pp.top_k %{{.*}} dim 2 {{.*}} : tensor<4x2x4xf64> -> tensor<4x2x2xi32>
// CHECK: pp.top_k %{{.*}} dim 1 {{.*}} : tensor<4x4xf64> -> tensor<4x2xi32>
// CHECK: pp.top_k %{{.*}} dim 1 {{.*}} : tensor<4x8xf64> -> tensor<4x3xi32>
// CHECK: pp.reduce prod %{{.*}} dims [2] {{.*}} : tensor<4x2x4xf64> -> tensor<4x2xf64>
// CHECK: pp.reduce prod %{{.*}} dims [0, 1] {{.*}} : tensor<4x2xf64> -> tensor<f64>
// CHECK: pp.cumsum %{{.*}} : tensor<4x9xf64>

// No more than two numbers of a row are gathered of any but two rows.
// RUN: pp-opt %t.mlir --pp-parallelize="stop-after=spmd" -o %t.spmd.mlir
// RUN: grep pp.all_gather %t.spmd.mlir | grep -v '(tensor<4x[12]x' | FileCheck %s --check-prefix=WIDE
// WIDE: tensor<4x8xf64>
// WIDE: tensor<4x10xf64>
// WIDE-NOT: all_gather

// Either way the other one is named, with what it would send, and the seed.
// RUN: pp-opt %t.mlir --pp-parallelize --pp-explain -o %t.program.mlir | FileCheck %s --check-prefix=WHY
// WHY: operand 0 of pp.top_k needs [{}, {}]
// WHY: instead pp.top_k in the shards first, then of what these share: 144 B sent
// WHY: operand 0 of pp.top_k needs [{}, {}]
// WHY-NEXT: from seed "w" [{}, {"tp"}]
// WHY-NEXT: instead pp.top_k of the whole row: 128 B sent
// RUN: pp-run %s --parallelize="plan=%S/split-scans.plan" --steps=2 --verify --quiet

func.func @main(%x: tensor<4x6xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<6x8xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                %v: tensor<6x9xf64> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}, tensor<f64> {pp.name = "places", pp.role = #pp.role<metric>},
        tensor<f64> {pp.name = "product", pp.role = #pp.role<metric>}) {
  %h = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x6xf64>, tensor<6x8xf64> -> tensor<4x8xf64>
  %c = pp.cumsum %h dim 1 : tensor<4x8xf64>
  %r = pp.cumsum %h dim 1 reverse : tensor<4x8xf64>
  %a = pp.argmax %h dim 1 : tensor<4x8xf64> -> tensor<4xi32>
  %k = pp.top_k %h dim 1 : tensor<4x8xf64> -> tensor<4x2xi32>
  %g = pp.gather %h[%k] batch 1 : tensor<4x8xf64>, tensor<4x2xi32> -> tensor<4x2xf64>
  %many = pp.top_k %h dim 1 : tensor<4x8xf64> -> tensor<4x3xi32>
  %prod = pp.reduce prod %h dims [0, 1] : tensor<4x8xf64> -> tensor<f64>
  %u = pp.dot_general %x, %v batch [] x [] contract [1] x [0] : tensor<4x6xf64>, tensor<6x9xf64> -> tensor<4x9xf64>
  %z = pp.cumsum %u dim 1 : tensor<4x9xf64>
  %ch = pp.mul %c, %h : tensor<4x8xf64>
  %rh = pp.mul %r, %h : tensor<4x8xf64>
  %s = pp.mul %ch, %rh : tensor<4x8xf64>
  %0 = pp.reduce sum %s dims [0, 1] : tensor<4x8xf64> -> tensor<f64>
  %1 = pp.reduce sum %g dims [0, 1] : tensor<4x2xf64> -> tensor<f64>
  %zz = pp.mul %z, %z : tensor<4x9xf64>
  %2 = pp.reduce sum %zz dims [0, 1] : tensor<4x9xf64> -> tensor<f64>
  %3 = pp.add %0, %1 : tensor<f64>
  %loss = pp.add %2, %3 : tensor<f64>
  %ks = pp.reduce sum %k dims [1] : tensor<4x2xi32> -> tensor<4xi32>
  %ms = pp.reduce sum %many dims [1] : tensor<4x3xi32> -> tensor<4xi32>
  %ka = pp.add %ks, %ms : tensor<4xi32>
  %8 = pp.constant dense<100> : tensor<4xi32>
  %ma = pp.mul %a, %8 : tensor<4xi32>
  %p = pp.add %ma, %ka : tensor<4xi32>
  %f = pp.convert %p : tensor<4xi32> -> tensor<4xf64>
  %places = pp.reduce sum %f dims [0] : tensor<4xf64> -> tensor<f64>
  return %loss, %places, %prod : tensor<f64>, tensor<f64>, tensor<f64>
}
