// What the model says itself stands beside a plan, whose keys choose seeds for
// all else: an argument, a result, two values inside, one of them a barrier.

// RUN: pp-opt %s --pp-parallelize="dp=2 tp=2 stop-after=graph optimizer=sgd" \
// RUN:   | pp-opt --pp-split-constants --pp-cut-stages --pp-annotate-shardings -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// CHECK: seeds = [#pp.seed<"labels", [{"dp"}, {}], 0>, #pp.seed<"v", [{?}, {"tp"}], 1>]
// CHECK: pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"dp"}, {"tp"}]>
// CHECK-SAME: pp.name = "w", {{[^%]*}}pp.sharding = #pp.sharding<@mesh, [{"tp", ?}, {?}]>
// CHECK: pp.sharding_constraint %{{.*}} to <@mesh, [{"dp"}, {?}]>
// CHECK: pp.sharding_constraint %{{.*}} to <@mesh, [{?}, {"dp"}]> barrier

// RUN: pp-run %s --parallelize="dp=2 tp=2 optimizer=sgd" --steps=2 --verify --quiet
// RUN: pp-run %s --parallelize="dp=2 tp=2 zero=3 optimizer=sgd" --steps=2 --verify --quiet
// RUN: pp-run %s --parallelize="dp=2 tp=3 pp=2 optimizer=sgd" --steps=2 --verify --quiet

// Whoever said it is named as a seed would be.
// RUN: pp-opt %s --pp-parallelize="dp=2 tp=2 optimizer=sgd" --pp-shardings | FileCheck %s --check-prefix=SOURCES
// SOURCES-DAG: pp.sharding [{"dp"}, {"tp"}] of argument "x"
// SOURCES-DAG: pp.sharding [{"tp"}] of result "s"
// SOURCES-DAG: constraint at {{.*}}given-shardings.mlir:{{[0-9]+}}:{{[0-9]+}} [{?}, {"dp"}]

// Where a dimension is open and a seed closes it otherwise, the seed has it.
// RUN: pp-opt %s --pp-parallelize="plan=%S/given-shardings.plan stop-after=spmd" --remarks-filter=pp-annotate-shardings -o /dev/null 2>&1 | FileCheck %s --check-prefix=YIELDED
// YIELDED: yielded
// YIELDED-SAME: dimension=0, got="{"dp"}", of="argument "w"", to="seed #pp.seed<"w", [{"dp"}, {?}], 0>", wanted="{"tp", ?}", who="pp.sharding [{"tp", ?}, {?}] of argument "w""
// RUN: pp-run %s --parallelize="plan=%S/given-shardings.plan" --steps=2 --verify --quiet

func.func @main(%x: tensor<12x8xf64> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"dp"}, {"tp"}]>},
                %l: tensor<12x8xf64> {pp.name = "labels", pp.role = #pp.role<label>},
                %w: tensor<8x8xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>, pp.sharding = #pp.sharding<@mesh, [{"tp", ?}, {?}]>},
                %v: tensor<8x8xf64> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                %u: tensor<8x8xf64> {pp.name = "u", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                %s: tensor<8xf64> {pp.name = "s", pp.role = #pp.role<state>, pp.init = #pp.init<normal, 0.0, 1.0>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>},
        tensor<8xf64> {pp.name = "s", pp.role = #pp.role<state>, pp.sharding = #pp.sharding<@mesh, [{"tp"}]>}) {
  %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<12x8xf64>, tensor<8x8xf64> -> tensor<12x8xf64>
  %1 = pp.sharding_constraint %0 to <@mesh, [{"dp"}, {?}]> : tensor<12x8xf64>
  %2 = pp.tanh %1 : tensor<12x8xf64>
  %3 = pp.dot_general %2, %v batch [] x [] contract [1] x [0] : tensor<12x8xf64>, tensor<8x8xf64> -> tensor<12x8xf64>
  %4 = pp.tanh %3 : tensor<12x8xf64>
  %5 = pp.sharding_constraint %4 to <@mesh, [{?}, {"dp"}]> barrier : tensor<12x8xf64>
  %6 = pp.dot_general %5, %u batch [] x [] contract [1] x [0] : tensor<12x8xf64>, tensor<8x8xf64> -> tensor<12x8xf64>
  %7 = pp.sub %6, %l : tensor<12x8xf64>
  %8 = pp.mul %7, %7 : tensor<12x8xf64>
  %9 = pp.reduce sum %8 dims [0, 1] : tensor<12x8xf64> -> tensor<f64>
  %10 = pp.cos %s : tensor<8xf64>
  return %9, %10 : tensor<f64>, tensor<8xf64>
}
