// Queries, keys and values are cut out of one projection: by a slice of a
// dimension of its own (a), or of what is to be heads (b). That leaves the
// projection no dimension that is split all the way, and so no seed of the graph's
// own; what is weighed splits it and the heads all the same.
// RUN: pp-opt %s --pp-parallelize="tp=2" --emit=plan | FileCheck %s
// RUN: pp-opt %s --pp-parallelize="tp=2 stop-after=spmd" | FileCheck %s --check-prefix=HEADS
// RUN: pp-run %s --parallelize="dp=2 tp=2" --steps=2 --verify --quiet
// CHECK: seeds = [
// CHECK-NEXT: #pp.seed<"a.qkv", [{?}, {"tp"}], 1>,
// CHECK-NEXT: #pp.seed<"b.qkv", [{?}, {"tp"}], 1>,
// CHECK-NEXT: #pp.seed<"a.o", [{"tp"}, {?}], 1>,
// CHECK-NEXT: #pp.seed<"b.o", [{"tp"}, {?}], 1>
// CHECK-NEXT: ]
// Two of four heads, of each product.
// HEADS-COUNT-10: pp.dot_general {{.*}}tensor<4x2x256x
// HEADS-NOT: pp.dot_general {{.*}}tensor<4x4x256x
func.func @main(%x: tensor<4x256x128xf32> {pp.name = "x", pp.role = #pp.role<input>},
              %aqkv: tensor<128x384xf32> {pp.name = "a.qkv", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.05>},
              %ao: tensor<128x128xf32> {pp.name = "a.o", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.05>},
              %bqkv: tensor<128x384xf32> {pp.name = "b.qkv", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.05>},
              %bo: tensor<128x128xf32> {pp.name = "b.o", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.05>})
  -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %ap = pp.dot_general %x, %aqkv batch [] x [] contract [2] x [0] : tensor<4x256x128xf32>, tensor<128x384xf32> -> tensor<4x256x384xf32>
  %ar = pp.reshape %ap : tensor<4x256x384xf32> -> tensor<4x256x3x4x32xf32>
  %aq1 = pp.slice %ar [0, 0, 0, 0, 0], [4, 256, 1, 4, 32], [1, 1, 1, 1, 1] : tensor<4x256x3x4x32xf32> -> tensor<4x256x1x4x32xf32>
  %aq = pp.reshape %aq1 : tensor<4x256x1x4x32xf32> -> tensor<4x256x4x32xf32>
  %ak1 = pp.slice %ar [0, 0, 1, 0, 0], [4, 256, 2, 4, 32], [1, 1, 1, 1, 1] : tensor<4x256x3x4x32xf32> -> tensor<4x256x1x4x32xf32>
  %ak = pp.reshape %ak1 : tensor<4x256x1x4x32xf32> -> tensor<4x256x4x32xf32>
  %av1 = pp.slice %ar [0, 0, 2, 0, 0], [4, 256, 3, 4, 32], [1, 1, 1, 1, 1] : tensor<4x256x3x4x32xf32> -> tensor<4x256x1x4x32xf32>
  %av = pp.reshape %av1 : tensor<4x256x1x4x32xf32> -> tensor<4x256x4x32xf32>
  %as = pp.dot_general %aq, %ak batch [0, 2] x [0, 2] contract [3] x [3] : tensor<4x256x4x32xf32>, tensor<4x256x4x32xf32> -> tensor<4x4x256x256xf32>
  %ae = pp.logistic %as : tensor<4x4x256x256xf32>
  %an = pp.reduce sum %ae dims [3] : tensor<4x4x256x256xf32> -> tensor<4x4x256xf32>
  %ab = pp.broadcast %an dims [0, 1, 2] : tensor<4x4x256xf32> -> tensor<4x4x256x256xf32>
  %aw = pp.div %ae, %ab : tensor<4x4x256x256xf32>
  %am = pp.dot_general %aw, %av batch [0, 1] x [0, 2] contract [3] x [1] : tensor<4x4x256x256xf32>, tensor<4x256x4x32xf32> -> tensor<4x4x256x32xf32>
  %at = pp.transpose %am perm [0, 2, 1, 3] : tensor<4x4x256x32xf32> -> tensor<4x256x4x32xf32>
  %ah = pp.reshape %at : tensor<4x256x4x32xf32> -> tensor<4x256x128xf32>
  %ao1 = pp.dot_general %ah, %ao batch [] x [] contract [2] x [0] : tensor<4x256x128xf32>, tensor<128x128xf32> -> tensor<4x256x128xf32>
  %ax = pp.add %x, %ao1 : tensor<4x256x128xf32>
  %bp = pp.dot_general %ax, %bqkv batch [] x [] contract [2] x [0] : tensor<4x256x128xf32>, tensor<128x384xf32> -> tensor<4x256x384xf32>
  %bq1 = pp.slice %bp [0, 0, 0], [4, 256, 128], [1, 1, 1] : tensor<4x256x384xf32> -> tensor<4x256x128xf32>
  %bq = pp.reshape %bq1 : tensor<4x256x128xf32> -> tensor<4x256x4x32xf32>
  %bk1 = pp.slice %bp [0, 0, 128], [4, 256, 256], [1, 1, 1] : tensor<4x256x384xf32> -> tensor<4x256x128xf32>
  %bk = pp.reshape %bk1 : tensor<4x256x128xf32> -> tensor<4x256x4x32xf32>
  %bv1 = pp.slice %bp [0, 0, 256], [4, 256, 384], [1, 1, 1] : tensor<4x256x384xf32> -> tensor<4x256x128xf32>
  %bv = pp.reshape %bv1 : tensor<4x256x128xf32> -> tensor<4x256x4x32xf32>
  %bs = pp.dot_general %bq, %bk batch [0, 2] x [0, 2] contract [3] x [3] : tensor<4x256x4x32xf32>, tensor<4x256x4x32xf32> -> tensor<4x4x256x256xf32>
  %be = pp.logistic %bs : tensor<4x4x256x256xf32>
  %bn = pp.reduce sum %be dims [3] : tensor<4x4x256x256xf32> -> tensor<4x4x256xf32>
  %bb = pp.broadcast %bn dims [0, 1, 2] : tensor<4x4x256xf32> -> tensor<4x4x256x256xf32>
  %bw = pp.div %be, %bb : tensor<4x4x256x256xf32>
  %bm = pp.dot_general %bw, %bv batch [0, 1] x [0, 2] contract [3] x [1] : tensor<4x4x256x256xf32>, tensor<4x256x4x32xf32> -> tensor<4x4x256x32xf32>
  %bt = pp.transpose %bm perm [0, 2, 1, 3] : tensor<4x4x256x32xf32> -> tensor<4x256x4x32xf32>
  %bh = pp.reshape %bt : tensor<4x256x4x32xf32> -> tensor<4x256x128xf32>
  %bo1 = pp.dot_general %bh, %bo batch [] x [] contract [2] x [0] : tensor<4x256x128xf32>, tensor<128x128xf32> -> tensor<4x256x128xf32>
  %bx = pp.add %ax, %bo1 : tensor<4x256x128xf32>
  %y = pp.mul %bx, %bx : tensor<4x256x128xf32>
  %loss = pp.reduce sum %y dims [0, 1, 2] : tensor<4x256x128xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
