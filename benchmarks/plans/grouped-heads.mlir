// A decoder of which 16 query heads share 4 of keys and values: benchmarks/plans.py
// splits it over 8 devices.
module {
  func.func @main(
      %tok: tensor<8x256xi32> {pp.name = "tok", pp.role = #pp.role<input>, pp.bound = 512 : i64, pp.dims = ["batch", "sequence"]},
      %lab: tensor<8x256xi32> {pp.name = "lab", pp.role = #pp.role<label>, pp.bound = 512 : i64, pp.dims = ["batch", "sequence"]},
      %E: tensor<512x512xf32> {pp.name = "E", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_0_n1: tensor<512xf32> {pp.name = "l.0.n1", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_0_q: tensor<512x16x32xf32> {pp.name = "l.0.q", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_0_k: tensor<512x4x32xf32> {pp.name = "l.0.k", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_0_v: tensor<512x4x32xf32> {pp.name = "l.0.v", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_0_o: tensor<16x32x512xf32> {pp.name = "l.0.o", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_0_n2: tensor<512xf32> {pp.name = "l.0.n2", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_0_up: tensor<512x64xf32> {pp.name = "l.0.up", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_0_gate: tensor<512x64xf32> {pp.name = "l.0.gate", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_0_down: tensor<64x512xf32> {pp.name = "l.0.down", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_1_n1: tensor<512xf32> {pp.name = "l.1.n1", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_1_q: tensor<512x16x32xf32> {pp.name = "l.1.q", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_1_k: tensor<512x4x32xf32> {pp.name = "l.1.k", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_1_v: tensor<512x4x32xf32> {pp.name = "l.1.v", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_1_o: tensor<16x32x512xf32> {pp.name = "l.1.o", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_1_n2: tensor<512xf32> {pp.name = "l.1.n2", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_1_up: tensor<512x64xf32> {pp.name = "l.1.up", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_1_gate: tensor<512x64xf32> {pp.name = "l.1.gate", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %l_1_down: tensor<64x512xf32> {pp.name = "l.1.down", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>},
      %nf: tensor<512xf32> {pp.name = "nf", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.02>})
      -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %v0 = pp.gather %E[%tok] batch 0 : tensor<512x512xf32>, tensor<8x256xi32> -> tensor<8x256x512xf32>
    %v1 = pp.name %v0 "embedded" dims ["batch", "sequence", ""] : tensor<8x256x512xf32>
    %v2 = pp.reduce sum %v1 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v3 = pp.constant dense<0.001953125> : tensor<f32>
    %v4 = pp.broadcast %v3 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v5 = pp.mul %v2, %v4 : tensor<8x256xf32>
    %v6 = pp.broadcast %v5 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v7 = pp.sub %v1, %v6 : tensor<8x256x512xf32>
    %v8 = pp.mul %v7, %v7 : tensor<8x256x512xf32>
    %v9 = pp.reduce sum %v8 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v10 = pp.constant dense<0.001953125> : tensor<f32>
    %v11 = pp.broadcast %v10 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v12 = pp.mul %v9, %v11 : tensor<8x256xf32>
    %v13 = pp.constant dense<1.0e-05> : tensor<f32>
    %v14 = pp.broadcast %v13 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v15 = pp.add %v12, %v14 : tensor<8x256xf32>
    %v16 = pp.rsqrt %v15 : tensor<8x256xf32>
    %v17 = pp.broadcast %v16 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v18 = pp.mul %v7, %v17 : tensor<8x256x512xf32>
    %v19 = pp.broadcast %l_0_n1 dims [2] : tensor<512xf32> -> tensor<8x256x512xf32>
    %v20 = pp.mul %v18, %v19 : tensor<8x256x512xf32>
    %v21 = pp.dot_general %v20, %l_0_q batch [] x [] contract [2] x [0] : tensor<8x256x512xf32>, tensor<512x16x32xf32> -> tensor<8x256x16x32xf32>
    %v22 = pp.dot_general %v20, %l_0_k batch [] x [] contract [2] x [0] : tensor<8x256x512xf32>, tensor<512x4x32xf32> -> tensor<8x256x4x32xf32>
    %v23 = pp.dot_general %v20, %l_0_v batch [] x [] contract [2] x [0] : tensor<8x256x512xf32>, tensor<512x4x32xf32> -> tensor<8x256x4x32xf32>
    %v24 = pp.name %v21 "l.0.qn" dims ["batch", "sequence", "head", ""] : tensor<8x256x16x32xf32>
    %v25 = pp.name %v22 "l.0.kn" dims ["batch", "sequence", "head", ""] : tensor<8x256x4x32xf32>
    %v26 = pp.name %v23 "l.0.vn" dims ["batch", "sequence", "head", ""] : tensor<8x256x4x32xf32>
    %v27 = pp.reshape %v24 : tensor<8x256x16x32xf32> -> tensor<8x256x4x4x32xf32>
    %v28 = pp.dot_general %v27, %v25 batch [0, 2] x [0, 2] contract [4] x [3] : tensor<8x256x4x4x32xf32>, tensor<8x256x4x32xf32> -> tensor<8x4x256x4x256xf32>
    %v29 = pp.iota dim 2 : tensor<8x4x256x4x256xi32>
    %v30 = pp.iota dim 4 : tensor<8x4x256x4x256xi32>
    %v31 = pp.compare ge %v29, %v30 : tensor<8x4x256x4x256xi32> -> tensor<8x4x256x4x256xi1>
    %v32 = pp.constant dense<-1000000000.0> : tensor<f32>
    %v33 = pp.broadcast %v32 dims [] : tensor<f32> -> tensor<8x4x256x4x256xf32>
    %v34 = pp.select %v31, %v28, %v33 : tensor<8x4x256x4x256xi1>, tensor<8x4x256x4x256xf32>
    %v35 = pp.reduce max %v34 dims [4] : tensor<8x4x256x4x256xf32> -> tensor<8x4x256x4xf32>
    %v36 = pp.stop_gradient %v35 : tensor<8x4x256x4xf32>
    %v37 = pp.broadcast %v36 dims [0, 1, 2, 3] : tensor<8x4x256x4xf32> -> tensor<8x4x256x4x256xf32>
    %v38 = pp.sub %v34, %v37 : tensor<8x4x256x4x256xf32>
    %v39 = pp.exp %v38 : tensor<8x4x256x4x256xf32>
    %v40 = pp.reduce sum %v39 dims [4] : tensor<8x4x256x4x256xf32> -> tensor<8x4x256x4xf32>
    %v41 = pp.broadcast %v40 dims [0, 1, 2, 3] : tensor<8x4x256x4xf32> -> tensor<8x4x256x4x256xf32>
    %v42 = pp.div %v39, %v41 : tensor<8x4x256x4x256xf32>
    %v43 = pp.dot_general %v42, %v26 batch [0, 1] x [0, 2] contract [4] x [1] : tensor<8x4x256x4x256xf32>, tensor<8x256x4x32xf32> -> tensor<8x4x256x4x32xf32>
    %v44 = pp.transpose %v43 perm [0, 2, 1, 3, 4] : tensor<8x4x256x4x32xf32> -> tensor<8x256x4x4x32xf32>
    %v45 = pp.reshape %v44 : tensor<8x256x4x4x32xf32> -> tensor<8x256x16x32xf32>
    %v46 = pp.name %v45 "l.0.mixed" dims ["batch", "sequence", "head", ""] : tensor<8x256x16x32xf32>
    %v47 = pp.dot_general %v46, %l_0_o batch [] x [] contract [2, 3] x [0, 1] : tensor<8x256x16x32xf32>, tensor<16x32x512xf32> -> tensor<8x256x512xf32>
    %v48 = pp.add %v1, %v47 : tensor<8x256x512xf32>
    %v49 = pp.reduce sum %v48 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v50 = pp.constant dense<0.001953125> : tensor<f32>
    %v51 = pp.broadcast %v50 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v52 = pp.mul %v49, %v51 : tensor<8x256xf32>
    %v53 = pp.broadcast %v52 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v54 = pp.sub %v48, %v53 : tensor<8x256x512xf32>
    %v55 = pp.mul %v54, %v54 : tensor<8x256x512xf32>
    %v56 = pp.reduce sum %v55 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v57 = pp.constant dense<0.001953125> : tensor<f32>
    %v58 = pp.broadcast %v57 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v59 = pp.mul %v56, %v58 : tensor<8x256xf32>
    %v60 = pp.constant dense<1.0e-05> : tensor<f32>
    %v61 = pp.broadcast %v60 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v62 = pp.add %v59, %v61 : tensor<8x256xf32>
    %v63 = pp.rsqrt %v62 : tensor<8x256xf32>
    %v64 = pp.broadcast %v63 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v65 = pp.mul %v54, %v64 : tensor<8x256x512xf32>
    %v66 = pp.broadcast %l_0_n2 dims [2] : tensor<512xf32> -> tensor<8x256x512xf32>
    %v67 = pp.mul %v65, %v66 : tensor<8x256x512xf32>
    %v68 = pp.dot_general %v67, %l_0_up batch [] x [] contract [2] x [0] : tensor<8x256x512xf32>, tensor<512x64xf32> -> tensor<8x256x64xf32>
    %v69 = pp.dot_general %v67, %l_0_gate batch [] x [] contract [2] x [0] : tensor<8x256x512xf32>, tensor<512x64xf32> -> tensor<8x256x64xf32>
    %v70 = pp.logistic %v69 : tensor<8x256x64xf32>
    %v71 = pp.mul %v69, %v70 : tensor<8x256x64xf32>
    %v72 = pp.mul %v71, %v68 : tensor<8x256x64xf32>
    %v73 = pp.dot_general %v72, %l_0_down batch [] x [] contract [2] x [0] : tensor<8x256x64xf32>, tensor<64x512xf32> -> tensor<8x256x512xf32>
    %v74 = pp.add %v48, %v73 : tensor<8x256x512xf32>
    %v75 = pp.reduce sum %v74 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v76 = pp.constant dense<0.001953125> : tensor<f32>
    %v77 = pp.broadcast %v76 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v78 = pp.mul %v75, %v77 : tensor<8x256xf32>
    %v79 = pp.broadcast %v78 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v80 = pp.sub %v74, %v79 : tensor<8x256x512xf32>
    %v81 = pp.mul %v80, %v80 : tensor<8x256x512xf32>
    %v82 = pp.reduce sum %v81 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v83 = pp.constant dense<0.001953125> : tensor<f32>
    %v84 = pp.broadcast %v83 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v85 = pp.mul %v82, %v84 : tensor<8x256xf32>
    %v86 = pp.constant dense<1.0e-05> : tensor<f32>
    %v87 = pp.broadcast %v86 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v88 = pp.add %v85, %v87 : tensor<8x256xf32>
    %v89 = pp.rsqrt %v88 : tensor<8x256xf32>
    %v90 = pp.broadcast %v89 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v91 = pp.mul %v80, %v90 : tensor<8x256x512xf32>
    %v92 = pp.broadcast %l_1_n1 dims [2] : tensor<512xf32> -> tensor<8x256x512xf32>
    %v93 = pp.mul %v91, %v92 : tensor<8x256x512xf32>
    %v94 = pp.dot_general %v93, %l_1_q batch [] x [] contract [2] x [0] : tensor<8x256x512xf32>, tensor<512x16x32xf32> -> tensor<8x256x16x32xf32>
    %v95 = pp.dot_general %v93, %l_1_k batch [] x [] contract [2] x [0] : tensor<8x256x512xf32>, tensor<512x4x32xf32> -> tensor<8x256x4x32xf32>
    %v96 = pp.dot_general %v93, %l_1_v batch [] x [] contract [2] x [0] : tensor<8x256x512xf32>, tensor<512x4x32xf32> -> tensor<8x256x4x32xf32>
    %v97 = pp.name %v94 "l.1.qn" dims ["batch", "sequence", "head", ""] : tensor<8x256x16x32xf32>
    %v98 = pp.name %v95 "l.1.kn" dims ["batch", "sequence", "head", ""] : tensor<8x256x4x32xf32>
    %v99 = pp.name %v96 "l.1.vn" dims ["batch", "sequence", "head", ""] : tensor<8x256x4x32xf32>
    %v100 = pp.reshape %v97 : tensor<8x256x16x32xf32> -> tensor<8x256x4x4x32xf32>
    %v101 = pp.dot_general %v100, %v98 batch [0, 2] x [0, 2] contract [4] x [3] : tensor<8x256x4x4x32xf32>, tensor<8x256x4x32xf32> -> tensor<8x4x256x4x256xf32>
    %v102 = pp.iota dim 2 : tensor<8x4x256x4x256xi32>
    %v103 = pp.iota dim 4 : tensor<8x4x256x4x256xi32>
    %v104 = pp.compare ge %v102, %v103 : tensor<8x4x256x4x256xi32> -> tensor<8x4x256x4x256xi1>
    %v105 = pp.constant dense<-1000000000.0> : tensor<f32>
    %v106 = pp.broadcast %v105 dims [] : tensor<f32> -> tensor<8x4x256x4x256xf32>
    %v107 = pp.select %v104, %v101, %v106 : tensor<8x4x256x4x256xi1>, tensor<8x4x256x4x256xf32>
    %v108 = pp.reduce max %v107 dims [4] : tensor<8x4x256x4x256xf32> -> tensor<8x4x256x4xf32>
    %v109 = pp.stop_gradient %v108 : tensor<8x4x256x4xf32>
    %v110 = pp.broadcast %v109 dims [0, 1, 2, 3] : tensor<8x4x256x4xf32> -> tensor<8x4x256x4x256xf32>
    %v111 = pp.sub %v107, %v110 : tensor<8x4x256x4x256xf32>
    %v112 = pp.exp %v111 : tensor<8x4x256x4x256xf32>
    %v113 = pp.reduce sum %v112 dims [4] : tensor<8x4x256x4x256xf32> -> tensor<8x4x256x4xf32>
    %v114 = pp.broadcast %v113 dims [0, 1, 2, 3] : tensor<8x4x256x4xf32> -> tensor<8x4x256x4x256xf32>
    %v115 = pp.div %v112, %v114 : tensor<8x4x256x4x256xf32>
    %v116 = pp.dot_general %v115, %v99 batch [0, 1] x [0, 2] contract [4] x [1] : tensor<8x4x256x4x256xf32>, tensor<8x256x4x32xf32> -> tensor<8x4x256x4x32xf32>
    %v117 = pp.transpose %v116 perm [0, 2, 1, 3, 4] : tensor<8x4x256x4x32xf32> -> tensor<8x256x4x4x32xf32>
    %v118 = pp.reshape %v117 : tensor<8x256x4x4x32xf32> -> tensor<8x256x16x32xf32>
    %v119 = pp.name %v118 "l.1.mixed" dims ["batch", "sequence", "head", ""] : tensor<8x256x16x32xf32>
    %v120 = pp.dot_general %v119, %l_1_o batch [] x [] contract [2, 3] x [0, 1] : tensor<8x256x16x32xf32>, tensor<16x32x512xf32> -> tensor<8x256x512xf32>
    %v121 = pp.add %v74, %v120 : tensor<8x256x512xf32>
    %v122 = pp.reduce sum %v121 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v123 = pp.constant dense<0.001953125> : tensor<f32>
    %v124 = pp.broadcast %v123 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v125 = pp.mul %v122, %v124 : tensor<8x256xf32>
    %v126 = pp.broadcast %v125 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v127 = pp.sub %v121, %v126 : tensor<8x256x512xf32>
    %v128 = pp.mul %v127, %v127 : tensor<8x256x512xf32>
    %v129 = pp.reduce sum %v128 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v130 = pp.constant dense<0.001953125> : tensor<f32>
    %v131 = pp.broadcast %v130 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v132 = pp.mul %v129, %v131 : tensor<8x256xf32>
    %v133 = pp.constant dense<1.0e-05> : tensor<f32>
    %v134 = pp.broadcast %v133 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v135 = pp.add %v132, %v134 : tensor<8x256xf32>
    %v136 = pp.rsqrt %v135 : tensor<8x256xf32>
    %v137 = pp.broadcast %v136 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v138 = pp.mul %v127, %v137 : tensor<8x256x512xf32>
    %v139 = pp.broadcast %l_1_n2 dims [2] : tensor<512xf32> -> tensor<8x256x512xf32>
    %v140 = pp.mul %v138, %v139 : tensor<8x256x512xf32>
    %v141 = pp.dot_general %v140, %l_1_up batch [] x [] contract [2] x [0] : tensor<8x256x512xf32>, tensor<512x64xf32> -> tensor<8x256x64xf32>
    %v142 = pp.dot_general %v140, %l_1_gate batch [] x [] contract [2] x [0] : tensor<8x256x512xf32>, tensor<512x64xf32> -> tensor<8x256x64xf32>
    %v143 = pp.logistic %v142 : tensor<8x256x64xf32>
    %v144 = pp.mul %v142, %v143 : tensor<8x256x64xf32>
    %v145 = pp.mul %v144, %v141 : tensor<8x256x64xf32>
    %v146 = pp.dot_general %v145, %l_1_down batch [] x [] contract [2] x [0] : tensor<8x256x64xf32>, tensor<64x512xf32> -> tensor<8x256x512xf32>
    %v147 = pp.add %v121, %v146 : tensor<8x256x512xf32>
    %v148 = pp.reduce sum %v147 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v149 = pp.constant dense<0.001953125> : tensor<f32>
    %v150 = pp.broadcast %v149 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v151 = pp.mul %v148, %v150 : tensor<8x256xf32>
    %v152 = pp.broadcast %v151 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v153 = pp.sub %v147, %v152 : tensor<8x256x512xf32>
    %v154 = pp.mul %v153, %v153 : tensor<8x256x512xf32>
    %v155 = pp.reduce sum %v154 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v156 = pp.constant dense<0.001953125> : tensor<f32>
    %v157 = pp.broadcast %v156 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v158 = pp.mul %v155, %v157 : tensor<8x256xf32>
    %v159 = pp.constant dense<1.0e-05> : tensor<f32>
    %v160 = pp.broadcast %v159 dims [] : tensor<f32> -> tensor<8x256xf32>
    %v161 = pp.add %v158, %v160 : tensor<8x256xf32>
    %v162 = pp.rsqrt %v161 : tensor<8x256xf32>
    %v163 = pp.broadcast %v162 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v164 = pp.mul %v153, %v163 : tensor<8x256x512xf32>
    %v165 = pp.broadcast %nf dims [2] : tensor<512xf32> -> tensor<8x256x512xf32>
    %v166 = pp.mul %v164, %v165 : tensor<8x256x512xf32>
    %v167 = pp.dot_general %v166, %E batch [] x [] contract [2] x [1] : tensor<8x256x512xf32>, tensor<512x512xf32> -> tensor<8x256x512xf32>
    %v168 = pp.reduce max %v167 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v169 = pp.stop_gradient %v168 : tensor<8x256xf32>
    %v170 = pp.broadcast %v169 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v171 = pp.sub %v167, %v170 : tensor<8x256x512xf32>
    %v172 = pp.exp %v171 : tensor<8x256x512xf32>
    %v173 = pp.reduce sum %v172 dims [2] : tensor<8x256x512xf32> -> tensor<8x256xf32>
    %v174 = pp.broadcast %v173 dims [0, 1] : tensor<8x256xf32> -> tensor<8x256x512xf32>
    %v175 = pp.div %v172, %v174 : tensor<8x256x512xf32>
    %v176 = pp.gather %v175[%lab] batch 2 : tensor<8x256x512xf32>, tensor<8x256xi32> -> tensor<8x256xf32>
    %v177 = pp.log %v176 : tensor<8x256xf32>
    %v178 = pp.neg %v177 : tensor<8x256xf32>
    %v179 = pp.reduce sum %v178 dims [0, 1] : tensor<8x256xf32> -> tensor<f32>
    %v180 = pp.constant dense<0.00048828125> : tensor<f32>
    %v181 = pp.mul %v179, %v180 : tensor<f32>
    return %v181 : tensor<f32>
  }
}
