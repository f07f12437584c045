// Five heads of 8 over four devices are padded to eight, and 40 columns that
// they are merged into divide. Over slow links the columns are padded with the
// heads, to 64; over fast ones they are gathered there and stay 40. Four groups
// of 4 over three devices, and 16 columns, likewise: 24, or 18. Either way the
// model's values come out.
// RUN: rm -rf %t && split-file %s %t
// RUN: pp-opt %t/heads.mlir --pp-parallelize="tp=4 stop-after=spmd" --remarks-filter=pp-pad-dimensions 2>%t/heads.txt | FileCheck %t/heads.mlir --check-prefix=SHARED
// RUN: FileCheck %t/heads.mlir --check-prefix=SAYS-SHARED --input-file=%t/heads.txt
// RUN: pp-run %t/heads.mlir --parallelize="tp=4" --steps=2 --verify --quiet
// RUN: pp-opt %t/heads.mlir --pp-parallelize="tp=4 links=1e12:0 stop-after=spmd" --remarks-filter=pp-pad-dimensions 2>%t/heads.txt | FileCheck %t/heads.mlir --check-prefix=APART
// RUN: FileCheck %t/heads.mlir --check-prefix=SAYS-APART --input-file=%t/heads.txt
// RUN: pp-run %t/heads.mlir --parallelize="tp=4 links=1e12:0" --steps=2 --verify --quiet
// RUN: pp-run %t/heads.mlir --parallelize="tp=4 dp=2 microbatches=2 zero=3 links=1e12:0" --steps=2 --verify --quiet
// RUN: pp-opt %t/groups.mlir --pp-parallelize="tp=3 stop-after=spmd" | FileCheck %t/groups.mlir --check-prefix=SHARED
// RUN: pp-run %t/groups.mlir --parallelize="tp=3" --steps=2 --verify --quiet
// RUN: pp-opt %t/groups.mlir --pp-parallelize="tp=3 links=1e12:0 stop-after=spmd" | FileCheck %t/groups.mlir --check-prefix=APART
// RUN: pp-run %t/groups.mlir --parallelize="tp=3 links=1e12:0" --steps=2 --verify --quiet

//--- heads.mlir
// SHARED: tensor<16x40xf64> {pp.global_shape = array<i64: 64, 40>,{{.*}} pp.name = "o"
// APART: tensor<10x40xf64> {pp.global_shape = array<i64: 40, 40>,{{.*}} pp.name = "o"
// SAYS-SHARED: shared | Category:pp-pad-dimensions | of="dimension 0 of "o"", padded_apart=40, padded_shared=64
// SAYS-APART: apart | Category:pp-pad-dimensions | of="dimension 0 of "o"", padded_apart=40, padded_shared=64
func.func @main(%x: tensor<4x16x40xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %q: tensor<40x5x8xf64> {pp.name = "q", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>},
                %o: tensor<40x40xf64> {pp.name = "o", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %a = pp.dot_general %x, %q batch [] x [] contract [2] x [0] : tensor<4x16x40xf64>, tensor<40x5x8xf64> -> tensor<4x16x5x8xf64>
  %s = pp.dot_general %a, %a batch [0, 2] x [0, 2] contract [3] x [3] : tensor<4x16x5x8xf64>, tensor<4x16x5x8xf64> -> tensor<4x5x16x16xf64>
  %t = pp.tanh %s : tensor<4x5x16x16xf64>
  %v = pp.dot_general %t, %a batch [0, 1] x [0, 2] contract [3] x [1] : tensor<4x5x16x16xf64>, tensor<4x16x5x8xf64> -> tensor<4x5x16x8xf64>
  %w = pp.transpose %v perm [0, 2, 1, 3] : tensor<4x5x16x8xf64> -> tensor<4x16x5x8xf64>
  %m = pp.reshape %w : tensor<4x16x5x8xf64> -> tensor<4x16x40xf64>
  %y = pp.dot_general %m, %o batch [] x [] contract [2] x [0] : tensor<4x16x40xf64>, tensor<40x40xf64> -> tensor<4x16x40xf64>
  %z = pp.tanh %y : tensor<4x16x40xf64>
  %l = pp.reduce sum %z dims [0, 1, 2] : tensor<4x16x40xf64> -> tensor<f64>
  return %l : tensor<f64>
}

//--- groups.mlir
// SHARED: tensor<12x8xf64> {pp.global_shape = array<i64: 12, 24>,{{.*}} pp.name = "w"
// APART: tensor<12x6xf64> {pp.global_shape = array<i64: 12, 18>,{{.*}} pp.name = "w"
func.func @main(%x: tensor<8x12xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<12x16xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>},
                %v: tensor<16x12xf64> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %a = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x12xf64>, tensor<12x16xf64> -> tensor<8x16xf64>
  %g = pp.reshape %a : tensor<8x16xf64> -> tensor<8x4x4xf64>
  %s = pp.reduce sum %g dims [2] : tensor<8x4x4xf64> -> tensor<8x4xf64>
  %b = pp.broadcast %s dims [0, 1] : tensor<8x4xf64> -> tensor<8x4x4xf64>
  %c = pp.sub %g, %b : tensor<8x4x4xf64>
  %h = pp.reshape %c : tensor<8x4x4xf64> -> tensor<8x16xf64>
  %t = pp.tanh %h : tensor<8x16xf64>
  %y = pp.dot_general %t, %v batch [] x [] contract [1] x [0] : tensor<8x16xf64>, tensor<16x12xf64> -> tensor<8x12xf64>
  %z = pp.tanh %y : tensor<8x12xf64>
  %l = pp.reduce sum %z dims [0, 1] : tensor<8x12xf64> -> tensor<f64>
  return %l : tensor<f64>
}
