//===- train.c - trains a model from C ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a model as pp-model mlp writes it, and a plan. Compiles it in this process
// and steps it with one batch, whose memory it lends. Out: the parameters.
//
//   train mlp.mlir "dp=2 tp=2 optimizer=adamw lr=1e-2"
//
//===----------------------------------------------------------------------===//
#include <pp-c/pp.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int code) {
  if (code == 0)
    return;
  fprintf(stderr, "train: error: %s\n", pprt_error());
  exit(code);
}

int main(int argc, char **argv) {
  pp_model *model;
  pp_program *program;
  pprt_session *session;
  if (argc != 3)
    return fprintf(stderr, "usage: train MODEL.mlir PLAN\n"), PPRT_USAGE;
  check(pp_read(argv[1], &model));
  check(pp_compile(model, argv[2], &program));
  check(pp_open(program, NULL, &session));
  check(pprt_initialize(session, 0));

  /* Inputs in the order of the argument table, row-major. */
  for (uint32_t i = 0; i < pprt_argument_count(session); ++i) {
    pprt_tensor its;
    check(pprt_argument(session, i, &its));
    if (its.role != PPRT_INPUT && its.role != PPRT_LABEL)
      continue;
    void *values = calloc(1, its.bytes); /* belongs to the session until its end */
    for (uint64_t k = 0; its.element == PPRT_F32 && k < its.bytes / 4; ++k)
      ((float *)values)[k] = (float)(k % 7) - 3;
    check(pprt_lend(session, i, values, its.bytes));
  }
  check(pprt_begin(session));
  for (int step = 1; step <= 5; ++step) {
    float loss;
    check(pprt_step(session));
    check(pprt_get_output(session, 0, &loss, sizeof(loss)));
    printf("step %d loss %.4f\n", step, loss);
  }
  check(pprt_end(session));
  check(pprt_save(session, "trained.safetensors"));
  pprt_close(session);
  pp_free_program(program);
  pp_free_model(model);
  return 0;
}
