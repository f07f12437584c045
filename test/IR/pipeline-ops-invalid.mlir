// Every constraint of fragments and launches, by its label.
// RUN: pp-opt %s --split-input-file --verify-diagnostics

func.func @fragment_c1_arguments(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects block arguments of types 'tensor<4xf32>', got 'tensor<8xf32>' (fragment_c1)}}
  %0 = pp.fragment forward stage 0 (%x) {
  ^bb0(%a: tensor<8xf32>):
    pp.yield %a : tensor<8xf32>
  } : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @fragment_c1_results(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects a yield of types 'tensor<8xf32>', got 'tensor<4xf32>' (fragment_c1)}}
  %0 = pp.fragment forward stage 0 (%x) {
  ^bb0(%a: tensor<4xf32>):
    pp.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @fragment_c1_yield(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects a yield at its end, got pp.neg (fragment_c1)}}
  pp.fragment forward stage 0 (%x) {
  ^bb0(%a: tensor<4xf32>):
    %b = pp.neg %a : tensor<4xf32>
  } : (tensor<4xf32>) -> ()
  return
}

// -----

func.func private @kernel(tensor<4xf32>) -> tensor<4xf32>
func.func @launch_c1(%x: tensor<8xf32>) {
  // expected-error@+1 {{expects a callee of type '(tensor<8xf32>) -> tensor<8xf32>', got '(tensor<4xf32>) -> tensor<4xf32>' (launch_c1)}}
  %0 = pp.launch @kernel(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @launch_c1_missing(%x: tensor<8xf32>) {
  // expected-error@+1 {{expects a function named @kernel, got none (launch_c1)}}
  %0 = pp.launch @kernel(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return
}
