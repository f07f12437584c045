// Every constraint of programs and slots, by its label.
// RUN: pp-opt %s --split-input-file --verify-diagnostics

func.func @main() {
  return
}
pp.program @program_c1_slots ranks [0] arena 64 slots {
  // expected-error@+1 {{expects to be a pp.slot here, got pp.queue (program_c1)}}
  pp.queue "compute" compute
} queues {
} setup {
} body {
} teardown {
}

// -----

pp.program @program_c1_queues ranks [0] arena 64 slots {
} queues {
  // expected-error@+1 {{expects to be a pp.queue here, got pp.slot (program_c1)}}
  pp.slot "x" activation at 0 : tensor<4xf32>
} setup {
} body {
} teardown {
}

// -----

pp.program @program_c1_body ranks [0] arena 64 slots {
} queues {
} setup {
} body {
  // expected-error@+1 {{expects to be an instruction or a call here, got pp.constant (program_c1)}}
  %0 = pp.constant dense<0.0> : tensor<f32>
} teardown {
}

// -----

pp.program @program_c1_routine ranks [0] arena 64 slots {
} queues {
  pp.queue "compute" compute
} routines {
  pp.routine "0F" {
    // expected-error@+1 {{expects to be an instruction of routines here, got pp.step (program_c1)}}
    pp.step [] on 0 after []
  }
} setup {
} body {
} teardown {
}

// -----

pp.program @program_c2_routine ranks [0] arena 64 slots {
} queues {
  pp.queue "compute" compute
} routines {
  pp.routine "0F" {
    // expected-error@+1 {{expects slots below 0, got 0 (program_c2)}}
    pp.load argument 0 [0] on 0 after [] as forward 0
  }
} setup {
} body {
} teardown {
}

// -----

pp.program @program_c4_names ranks [0] arena 64 slots {
} queues {
} routines {
  pp.routine "0F" {
  }
  // expected-error@+1 {{expects a name of its own, got "0F", which another routine has (program_c4)}}
  pp.routine "0F" {
  }
} setup {
} body {
} teardown {
}

// -----

pp.program @program_c4_routine ranks [0] arena 64 slots {
} queues {
} setup {
} body {
  // expected-error@+1 {{expects the name of a routine, got "0F" (program_c4)}}
  pp.call "0F" for 0 after []
} teardown {
}

// -----

pp.program @program_c4_micro_batch ranks [0] arena 64 slots {
} queues {
} routines {
  pp.routine "0F" {
  }
} setup {
} body {
  // expected-error@+1 {{expects a micro-batch below 65536, got -1 (program_c4)}}
  pp.call "0F" for -1 after []
} teardown {
}

// -----

pp.program @program_c4_triples ranks [0] arena 64 slots {
} queues {
} routines {
  pp.routine "0F" {
  }
} setup {
} body {
  // expected-error@+1 {{expects triples of an instruction, a queue and a count, got [0, 0] (program_c4)}}
  pp.call "0F" for 0 after [0, 0]
} teardown {
}

// -----

pp.program @program_c4_instruction ranks [0] arena 64 slots {
} queues {
  pp.queue "compute" compute
} routines {
  pp.routine "0F" {
  }
} setup {
} body {
  // expected-error@+1 {{expects an instruction below 0, got 0 (program_c4)}}
  pp.call "0F" for 0 after [0, 0, 1]
} teardown {
}

// -----

pp.program @program_c4_queue ranks [0] arena 64 slots {
  pp.slot "x" activation at 0 : tensor<4xf32>
} queues {
  pp.queue "compute" compute
} routines {
  pp.routine "0F" {
    pp.load argument 0 [0] on 0 after [] as forward 0
    pp.emit output 0 [0] on 0 after [] as forward 0
  }
} setup {
} body {
  // expected-error@+1 {{expects queues below 1, got 1 (program_c4)}}
  pp.call "0F" for 0 after [0, 1, 1]
} teardown {
}

// -----

pp.program @program_c4_order ranks [0] arena 64 slots {
  pp.slot "x" activation at 0 : tensor<4xf32>
} queues {
  pp.queue "compute" compute
} routines {
  pp.routine "0F" {
    pp.load argument 0 [0] on 0 after [] as forward 0
    pp.emit output 0 [0] on 0 after [] as forward 0
  }
} setup {
} body {
  // expected-error@+1 {{expects the waits of an instruction behind those of the ones before it, got [1, 0, 1, 0, 0, 1] (program_c4)}}
  pp.call "0F" for 0 after [1, 0, 1, 0, 0, 1]
} teardown {
}

// -----

pp.program @program_c2_micro_batch ranks [0] arena 64 slots {
  pp.slot "x" activation at 0 : tensor<4xf32>
} queues {
  pp.queue "compute" compute
} routines {
  pp.routine "0F" {
    // expected-error@+1 {{expects no micro-batch in a routine, whose calls have one, got 3 (program_c2)}}
    pp.load argument 0 [0] on 0 after [] as forward 0 3
  }
} setup {
} body {
} teardown {
}

// -----

pp.program @program_c2_count ranks [0] arena 64 slots {
  pp.slot "x" activation at 0 : tensor<4xf32>
} queues {
  pp.queue "compute" compute
} setup {
} body {
  // expected-error@+1 {{expects a count below 4294967296, got -1 (program_c2)}}
  pp.load argument 0 [0] on 0 after [0, -1] as forward 0 0
} teardown {
}

// -----

pp.program @slot_c3_argument ranks [0] arena 64 slots {
  // expected-error@+1 {{expects between 1 and 1 copies, got 2 (slot_c3)}}
  pp.slot "x" parameter at [0, 64] argument 0 : tensor<4xf32>
} queues {
} setup {
} body {
} teardown {
}

// -----

pp.program @slot_c3 ranks [0] arena 64 slots {
  // expected-error@+1 {{expects between 1 and 65536 copies, got 0 (slot_c3)}}
  pp.slot "x" activation at -1 copies 0 : tensor<4xf32>
} queues {
} setup {
} body {
} teardown {
}

// -----

pp.program @program_c2_slot ranks [0] arena 64 slots {
  pp.slot "x" activation at 0 : tensor<4xf32>
} queues {
  pp.queue "compute" compute
} setup {
} body {
  // expected-error@+1 {{expects slots below 1, got 1 (program_c2)}}
  pp.copy [0, 1] on 0 after []
} teardown {
}

// -----

pp.program @program_c2_queue ranks [0] arena 64 slots {
} queues {
  pp.queue "compute" compute
} setup {
} body {
  // expected-error@+1 {{expects queues below 1, got 2 (program_c2)}}
  pp.step [] on 0 after [2, 1]
} teardown {
}

// -----

pp.program @program_c2_waits ranks [0] arena 64 slots {
} queues {
  pp.queue "compute" compute
} setup {
} body {
  // expected-error@+1 {{expects pairs of a queue and a count, got [0] (program_c2)}}
  pp.step [] on 0 after [0]
} teardown {
}

// -----

pp.program @incomplete ranks [0] arena 64 slots {
} queues {
} setup {
} body {
  // expected-error@+1 {{requires attribute 'queue'}}
  "pp.step"() : () -> ()
} teardown {
}

// -----

pp.program @slot_c1 ranks [0] arena 64 slots {
  // expected-error@+1 {{expects a tensor of static shape whose elements the dialect knows, got 'f32' (slot_c1)}}
  pp.slot "x" activation at 0 : f32
} queues {
} setup {
} body {
} teardown {
}

// -----

func.func @main(%x: tensor<4xf32>) {
  return
}
pp.program @slot_c2 ranks [0] arena 64 slots {
  // expected-error@+1 {{expects an argument below 1 of @main, got 1 (slot_c2)}}
  pp.slot "x" parameter at 0 argument 1 : tensor<4xf32>
} queues {
} setup {
} body {
} teardown {
}

// -----

func.func @main(%x: tensor<4xf32>) {
  return
}
pp.program @slot_c2_type ranks [0] arena 64 slots {
  // expected-error@+1 {{expects the type of argument 0, 'tensor<4xf32>', got 'tensor<8xf32>' (slot_c2)}}
  pp.slot "x" parameter at 0 argument 0 : tensor<8xf32>
} queues {
} setup {
} body {
} teardown {
}

// -----

pp.program @program_c3 ranks [0] arena 64 slots {
} queues {
  pp.queue "compute" compute
} setup {
} body {
  // expected-error@+1 {{expects one slot, got [] (program_c3)}}
  pp.send to 1 [] on 0 after []
} teardown {
}

// -----

pp.program @program_c3_collective ranks [0] arena 64 slots {
  pp.slot "x" activation at 0 : tensor<4xf32>
} queues {
  pp.queue "compute" compute
} setup {
} body {
  // expected-error@+1 {{expects as many slots to read as to write, got [0] (program_c3)}}
  pp.collective all_reduce sum over ["dp"] [0] on 0 after []
} teardown {
}

// -----

func.func private @function(tensor<4xf32>) -> tensor<4xf32>
pp.program @run_c1 ranks [0] arena 64 slots {
} queues {
  pp.queue "compute" compute
} setup {
} body {
  // expected-error@+1 {{expects a kernel named @function, got none (run_c1)}}
  pp.run @function [] on 0 after []
} teardown {
}

// -----

func.func private @kernel(%x: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
  %0 = pp.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
pp.program @gate_c1 ranks [0] arena 64 slots {
  pp.slot "x" activation at 0 : tensor<4xf32>
} queues {
  pp.queue "compute" compute
} setup {
} body {
  // expected-error@+1 {{expects 3 slots for @kernel, got 2 (gate_c1)}}
  pp.gate @kernel [0, 0] on 0 after []
} teardown {
}

// -----

// Incomplete, as the generic form may be.
"pp.program"() <{sym_name = "incomplete", ranks = array<i64: 0>, arena_bytes = 0 : i64}> ({
^bb0:
}, {
^bb0:
}, {
^bb0:
}, {
^bb0:
}, {
  // expected-error@+1 {{requires attribute 'micro_batch'}}
  "pp.call"() : () -> ()
}, {
^bb0:
}) : () -> ()

// -----

pp.program @slot_c3_offsets ranks [0] arena 64 slots {
  // expected-error@+1 {{expects an offset of each of 3 copies or none, got 2 (slot_c3)}}
  "pp.slot"() <{name = "x", slot_class = #pp<slot_class activation>, offsets = array<i64: 0, 64>, copies = 3 : i64, type = tensor<4xf32>}> : () -> ()
} queues {
} setup {
} body {
} teardown {
}

// -----

pp.program @slot_c3_below ranks [0] arena 64 slots {
  // expected-error@+1 {{expects offsets from 0 on, got -64 (slot_c3)}}
  pp.slot "x" activation at [-64, 0] : tensor<4xf32>
} queues {
} setup {
} body {
} teardown {
}

// -----

pp.program @program_c2_own_waits ranks [0] arena 64 slots {
  pp.slot "x" activation at 0 : tensor<i32>
} queues {
  pp.queue "compute" compute
} routines {
  pp.routine "0F" {
    // expected-error@+1 {{expects to wait for an instruction of the routine, of which queue 0 has 1, got number 2 (program_c2)}}
    pp.flag [0] on 0 after [0, 2] as forward 0
  }
} setup {
} body {
} teardown {
}

// -----

pp.program @program_c4_calls ranks [0] arena 64 slots {
} queues {
} routines {
  pp.routine "0F" {
  }
} setup {
} body {
  pp.call "0F" for 1 after []
  // expected-error@+1 {{expects one call of "0F" for micro-batch 1, got another (program_c4)}}
  pp.call "0F" for 1 after []
} teardown {
}
