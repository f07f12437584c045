// Stages are assigned to forward ops by their number.
// RUN: pp-opt %s --split-input-file --pp-cut-stages --verify-diagnostics

module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, schedule = "1f1b", threads = 1>} {
  // expected-error@+1 {{expects forward ops that pp-differentiate numbered (pp.origin), got none}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.neg %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

// The cuts of a plan are one fewer than stages, in order, and leave no stage empty.
module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, threads = 1, cuts = [1, 2]>} {
  // expected-error@+1 {{expects 1 cut for 2 stages, got 2: cuts name, by its number (pp.origin), the first forward op of every stage but the first}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %a = pp.neg %x {pp.kind = #pp.kind<forward>, pp.origin = 0 : i64} : tensor<4xf32>
    %b = pp.neg %a {pp.kind = #pp.kind<forward>, pp.origin = 1 : i64} : tensor<4xf32>
    %c = pp.neg %b {pp.kind = #pp.kind<forward>, pp.origin = 2 : i64} : tensor<4xf32>
    %d = pp.neg %c {pp.kind = #pp.kind<forward>, pp.origin = 3 : i64} : tensor<4xf32>
    return %d : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["pp"=3 : stage]>, threads = 1, cuts = [2, 2]>} {
  // expected-error@+1 {{expects stage 2 to begin at a forward op (pp.origin) from 3 to 3, got 2 in cuts: a stage would be empty}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %a = pp.neg %x {pp.kind = #pp.kind<forward>, pp.origin = 0 : i64} : tensor<4xf32>
    %b = pp.neg %a {pp.kind = #pp.kind<forward>, pp.origin = 1 : i64} : tensor<4xf32>
    %c = pp.neg %b {pp.kind = #pp.kind<forward>, pp.origin = 2 : i64} : tensor<4xf32>
    %d = pp.neg %c {pp.kind = #pp.kind<forward>, pp.origin = 3 : i64} : tensor<4xf32>
    return %d : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["pp"=3 : stage]>, threads = 1, cuts = [3, 4]>} {
  // expected-error@+1 {{expects stage 1 to begin at a forward op (pp.origin) from 1 to 2, got 3 in cuts}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %a = pp.neg %x {pp.kind = #pp.kind<forward>, pp.origin = 0 : i64} : tensor<4xf32>
    %b = pp.neg %a {pp.kind = #pp.kind<forward>, pp.origin = 1 : i64} : tensor<4xf32>
    %c = pp.neg %b {pp.kind = #pp.kind<forward>, pp.origin = 2 : i64} : tensor<4xf32>
    %d = pp.neg %c {pp.kind = #pp.kind<forward>, pp.origin = 3 : i64} : tensor<4xf32>
    return %d : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["pp"=5 : stage]>, threads = 1, cuts = [1, 2, 3, 4]>} {
  // expected-error@+1 {{expects a forward op for each of 5 stages, got 4}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %a = pp.neg %x {pp.kind = #pp.kind<forward>, pp.origin = 0 : i64} : tensor<4xf32>
    %b = pp.neg %a {pp.kind = #pp.kind<forward>, pp.origin = 1 : i64} : tensor<4xf32>
    %c = pp.neg %b {pp.kind = #pp.kind<forward>, pp.origin = 2 : i64} : tensor<4xf32>
    %d = pp.neg %c {pp.kind = #pp.kind<forward>, pp.origin = 3 : i64} : tensor<4xf32>
    return %d : tensor<4xf32>
  }
}
