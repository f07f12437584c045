// Shares of one element, as [3] over dp=3 has them, are scalars to the kernels
// that update them: no kernel may wait for itself through a product between.
// RUN: pp-run %s --parallelize="dp=3 zero=3 pp=3 microbatches=2 optimizer=adam" --steps=2 --verify --quiet
module {
  func.func @main(%arg0: tensor<13x3x3xf64> {pp.name = "x", pp.role = #pp.role<input>}, %arg1: tensor<13x4xi32> {pp.name = "indices", pp.role = #pp.role<input>}, %arg2: tensor<3x3xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "w0", pp.role = #pp.role<param>}, %arg3: tensor<3x4xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "w1", pp.role = #pp.role<param>}, %arg4: tensor<4x3x3xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "w2", pp.role = #pp.role<param>}, %arg5: tensor<3xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "w3", pp.role = #pp.role<param>}) -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %0 = pp.dot_general %arg5, %arg3 batch [] x [] contract [0] x [0] : tensor<3xf64>, tensor<3x4xf64> -> tensor<4xf64>
    %1 = pp.cumsum %arg0 dim 1 : tensor<13x3x3xf64>
    %2 = pp.sin %arg3 : tensor<3x4xf64>
    %3 = pp.reduce prod %2 dims [0, 1] : tensor<3x4xf64> -> tensor<f64>
    %4 = pp.sub %arg0, %1 : tensor<13x3x3xf64>
    %5 = pp.reduce min %4 dims [] : tensor<13x3x3xf64> -> tensor<13x3x3xf64>
    %6 = pp.reshape %5 : tensor<13x3x3xf64> -> tensor<13x9x1xf64>
    %7 = pp.dot_general %0, %arg4 batch [] x [] contract [0] x [0] : tensor<4xf64>, tensor<4x3x3xf64> -> tensor<3x3xf64>
    %8 = pp.constant dense<0> : tensor<i32>
    %9 = pp.constant dense<1> : tensor<i32>
    %10 = pp.constant dense<1> : tensor<i32>
    %11 = pp.dynamic_slice %arg0[%8, %9, %10] : tensor<13x3x3xf64>, tensor<i32>, tensor<i32>, tensor<i32> -> tensor<13x3x3xf64>
    %12 = pp.broadcast %arg5 dims [1] : tensor<3xf64> -> tensor<3x3xf64>
    %13 = pp.sin %arg2 : tensor<3x3xf64>
    %14 = pp.compare gt %13, %12 : tensor<3x3xf64> -> tensor<3x3xi1>
    %15 = pp.select %14, %arg2, %12 : tensor<3x3xi1>, tensor<3x3xf64>
    %16 = pp.reduce min %arg0 dims [1, 2] : tensor<13x3x3xf64> -> tensor<13xf64>
    %17 = pp.constant dense<0.000000e+00> : tensor<f64>
    %18 = pp.sin %arg0 : tensor<13x3x3xf64>
    %19 = pp.reduce sum %18 dims [0, 1, 2] : tensor<13x3x3xf64> -> tensor<f64>
    %20 = pp.add %17, %19 : tensor<f64>
    %21 = pp.sin %arg2 : tensor<3x3xf64>
    %22 = pp.reduce sum %21 dims [0, 1] : tensor<3x3xf64> -> tensor<f64>
    %23 = pp.add %20, %22 : tensor<f64>
    %24 = pp.sin %arg3 : tensor<3x4xf64>
    %25 = pp.reduce sum %24 dims [0, 1] : tensor<3x4xf64> -> tensor<f64>
    %26 = pp.add %23, %25 : tensor<f64>
    %27 = pp.sin %arg4 : tensor<4x3x3xf64>
    %28 = pp.reduce sum %27 dims [0, 1, 2] : tensor<4x3x3xf64> -> tensor<f64>
    %29 = pp.add %26, %28 : tensor<f64>
    %30 = pp.sin %arg5 : tensor<3xf64>
    %31 = pp.reduce sum %30 dims [0] : tensor<3xf64> -> tensor<f64>
    %32 = pp.add %29, %31 : tensor<f64>
    %33 = pp.sin %0 : tensor<4xf64>
    %34 = pp.reduce sum %33 dims [0] : tensor<4xf64> -> tensor<f64>
    %35 = pp.add %32, %34 : tensor<f64>
    %36 = pp.sin %1 : tensor<13x3x3xf64>
    %37 = pp.reduce sum %36 dims [0, 1, 2] : tensor<13x3x3xf64> -> tensor<f64>
    %38 = pp.add %35, %37 : tensor<f64>
    %39 = pp.sin %3 : tensor<f64>
    %40 = pp.reduce sum %39 dims [] : tensor<f64> -> tensor<f64>
    %41 = pp.add %38, %40 : tensor<f64>
    %42 = pp.sin %4 : tensor<13x3x3xf64>
    %43 = pp.reduce sum %42 dims [0, 1, 2] : tensor<13x3x3xf64> -> tensor<f64>
    %44 = pp.add %41, %43 : tensor<f64>
    %45 = pp.sin %5 : tensor<13x3x3xf64>
    %46 = pp.reduce sum %45 dims [0, 1, 2] : tensor<13x3x3xf64> -> tensor<f64>
    %47 = pp.add %44, %46 : tensor<f64>
    %48 = pp.sin %6 : tensor<13x9x1xf64>
    %49 = pp.reduce sum %48 dims [0, 1, 2] : tensor<13x9x1xf64> -> tensor<f64>
    %50 = pp.add %47, %49 : tensor<f64>
    %51 = pp.sin %7 : tensor<3x3xf64>
    %52 = pp.reduce sum %51 dims [0, 1] : tensor<3x3xf64> -> tensor<f64>
    %53 = pp.add %50, %52 : tensor<f64>
    %54 = pp.sin %11 : tensor<13x3x3xf64>
    %55 = pp.reduce sum %54 dims [0, 1, 2] : tensor<13x3x3xf64> -> tensor<f64>
    %56 = pp.add %53, %55 : tensor<f64>
    %57 = pp.sin %15 : tensor<3x3xf64>
    %58 = pp.reduce sum %57 dims [0, 1] : tensor<3x3xf64> -> tensor<f64>
    %59 = pp.add %56, %58 : tensor<f64>
    %60 = pp.sin %16 : tensor<13xf64>
    %61 = pp.reduce sum %60 dims [0] : tensor<13xf64> -> tensor<f64>
    %62 = pp.add %59, %61 : tensor<f64>
    return %62 : tensor<f64>
  }
}