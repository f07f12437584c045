// What is added to a table without rows goes nowhere, wherever it is to be added:
// a random plan wrote before the table, over what the loss is a sum of.
// RUN: mkdir -p %t
// RUN: python3 %S/Inputs/indices_outside.py %t
// RUN: pp-run %s --parallelize="dp=2 optimizer=sgd lr=0.1" --verify --steps=1 --data=npy:%t --quiet
module {
  func.func @main(%arg0: tensor<13x3x3xf64> {pp.dims = ["batch", "sequence", ""], pp.name = "x", pp.role = #pp.role<input>}, %arg1: tensor<13x3xi32> {pp.name = "indices", pp.role = #pp.role<input>}, %arg2: tensor<3x3xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "w0", pp.role = #pp.role<param>}, %arg3: tensor<3x4xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "w1", pp.role = #pp.role<param>}, %arg4: tensor<3x3x3xf64> {pp.dims = ["expert", "", ""], pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "w2", pp.role = #pp.role<param>}, %arg5: tensor<3xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "w3", pp.role = #pp.role<param>}, %arg6: tensor<3x3xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "s0", pp.role = #pp.role<state>}, %arg7: tensor<3x3xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "s1", pp.role = #pp.role<state>}, %arg8: tensor<3xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "s2", pp.role = #pp.role<state>}, %arg9: tensor<3xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "s3", pp.role = #pp.role<state>}) -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}, tensor<3x3xf64> {pp.name = "s0", pp.role = #pp.role<state>}, tensor<3x3xf64> {pp.name = "s1", pp.role = #pp.role<state>}, tensor<3xf64> {pp.name = "s2", pp.role = #pp.role<state>}) {
    %0 = pp.constant dense<9.000000e-01> : tensor<f64>
    %1 = pp.constant dense<-3.890000e-01> : tensor<f64>
    %2 = pp.constant dense<1.000000e+00> : tensor<f64>
    %3 = pp.constant dense<0> : tensor<i32>
    %4 = pp.constant dense<5.000000e-01> : tensor<f64>
    %5 = pp.dot_general %arg0, %arg9 batch [] x [] contract [1] x [0] : tensor<13x3x3xf64>, tensor<3xf64> -> tensor<13x3xf64>
    %6 = pp.sin %5 : tensor<13x3xf64>
    %7 = pp.mul %6, %6 : tensor<13x3xf64>
    %8 = pp.broadcast %4 dims [] : tensor<f64> -> tensor<13x3xf64>
    %9 = pp.add %7, %8 : tensor<13x3xf64>
    %10 = pp.sqrt %9 : tensor<13x3xf64>
    %11 = pp.sub %10, %5 : tensor<13x3xf64>
    %12 = pp.dynamic_slice %10[%3, %3] : tensor<13x3xf64>, tensor<i32>, tensor<i32> -> tensor<13x2xf64>
    %13 = pp.broadcast %12 dims [0, 1] : tensor<13x2xf64> -> tensor<13x2x3xf64>
    %14 = pp.pad %10, %2 low [0, 1] high [0, 0] interior [0, 1] : tensor<13x3xf64>, tensor<f64> -> tensor<13x6xf64>
    %15 = pp.gather %13[%arg1] batch 1 : tensor<13x2x3xf64>, tensor<13x3xi32> -> tensor<13x3x3xf64>
    %16 = pp.slice %13 [0, 0, 0], [13, 0, 3], [1, 1, 1] : tensor<13x2x3xf64> -> tensor<13x0x3xf64>
    %17 = pp.scatter_add %16[%arg1], %15 batch 1 : tensor<13x0x3xf64>, tensor<13x3xi32>, tensor<13x3x3xf64>
    %18 = pp.reduce sum %17 dims [1] : tensor<13x0x3xf64> -> tensor<13x3xf64>
    %19 = pp.broadcast %1 dims [] : tensor<f64> -> tensor<13x6xf64>
    %20 = pp.compare gt %14, %19 : tensor<13x6xf64> -> tensor<13x6xi1>
    %21 = pp.select %20, %14, %19 : tensor<13x6xi1>, tensor<13x6xf64>
    %22 = pp.broadcast %0 dims [] : tensor<f64> -> tensor<3x3xf64>
    %23 = pp.mul %arg6, %22 : tensor<3x3xf64>
    %24 = pp.add %arg7, %23 : tensor<3x3xf64>
    %25 = pp.broadcast %0 dims [] : tensor<f64> -> tensor<3x3xf64>
    %26 = pp.mul %arg7, %25 : tensor<3x3xf64>
    %27 = pp.add %arg7, %26 : tensor<3x3xf64>
    %28 = pp.broadcast %0 dims [] : tensor<f64> -> tensor<3xf64>
    %29 = pp.mul %arg8, %28 : tensor<3xf64>
    %30 = pp.reduce sum %18 dims [0] : tensor<13x3xf64> -> tensor<3xf64>
    %31 = pp.add %30, %29 : tensor<3xf64>
    %32 = pp.sin %5 : tensor<13x3xf64>
    %33 = pp.reduce sum %32 dims [0, 1] : tensor<13x3xf64> -> tensor<f64>
    %34 = pp.sin %10 : tensor<13x3xf64>
    %35 = pp.reduce sum %34 dims [0, 1] : tensor<13x3xf64> -> tensor<f64>
    %36 = pp.sin %11 : tensor<13x3xf64>
    %37 = pp.reduce sum %36 dims [0, 1] : tensor<13x3xf64> -> tensor<f64>
    %38 = pp.sin %12 : tensor<13x2xf64>
    %39 = pp.reduce sum %38 dims [0, 1] : tensor<13x2xf64> -> tensor<f64>
    %40 = pp.sin %13 : tensor<13x2x3xf64>
    %41 = pp.reduce sum %40 dims [0, 1, 2] : tensor<13x2x3xf64> -> tensor<f64>
    %42 = pp.sin %14 : tensor<13x6xf64>
    %43 = pp.reduce sum %42 dims [0, 1] : tensor<13x6xf64> -> tensor<f64>
    %44 = pp.sin %21 : tensor<13x6xf64>
    %45 = pp.reduce sum %44 dims [0, 1] : tensor<13x6xf64> -> tensor<f64>
    %46 = pp.add %33, %35 : tensor<f64>
    %47 = pp.add %46, %37 : tensor<f64>
    %48 = pp.add %47, %39 : tensor<f64>
    %49 = pp.add %48, %41 : tensor<f64>
    %50 = pp.add %49, %43 : tensor<f64>
    %51 = pp.add %50, %45 : tensor<f64>
    return %51, %24, %27, %31 : tensor<f64>, tensor<3x3xf64>, tensor<3x3xf64>, tensor<3xf64>
  }
}
