//===- run-c.c - a program that runs artifacts, in C ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Trains what a .ppx file holds, on one batch, and writes the parameters: an
// example of the installed runtime in C. Each input's values come from the file
// NAME.raw of the folder, dense and row-major.
//
//   run-c MODEL.ppx FOLDER STEPS OUT.safetensors [mpi]
//
// With `mpi` its ranks are in the processes that mpirun starts, all of which do
// the same; process 0 prints and writes.
//
//===----------------------------------------------------------------------===//
#include <pprt/pprt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *what, int code) {
  fprintf(stderr, "run-c: error: %s\n", what);
  return code;
}

/* Gives the session the batch of an input. */
static int feed(pprt_session *session, uint32_t argument,
                const pprt_tensor *tensor, const char *folder) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s.raw", folder, tensor->name);
  void *values = malloc(tensor->bytes);
  FILE *file = fopen(path, "rb");
  int code = PPRT_IO;
  if (values && file && fread(values, 1, tensor->bytes, file) == tensor->bytes)
    code = pprt_set(session, argument, values, tensor->bytes);
  else
    fail(path, PPRT_IO);
  if (file)
    fclose(file);
  free(values);
  return code;
}

static int train(pprt_session *session, int tells, const char *folder,
                 long steps, const char *out) {
  int code = pprt_initialize(session, /*seed=*/0);
  for (uint32_t i = 0; !code && i < pprt_argument_count(session); ++i) {
    pprt_tensor tensor;
    code = pprt_argument(session, i, &tensor);
    if (!code && (tensor.role == PPRT_INPUT || tensor.role == PPRT_LABEL))
      code = feed(session, i, &tensor, folder);
  }
  if (!code)
    code = pprt_begin(session);
  for (long step = 0; !code && step < steps; ++step) {
    float loss;
    code = pprt_step(session);
    if (!code)
      code = pprt_get_output(session, 0, &loss, sizeof(loss));
    if (!code && tells)
      printf("step %ld loss %.9g\n", step + 1, loss);
  }
  if (!code)
    code = pprt_end(session);
  return code ? code : pprt_save(session, out);
}

int main(int argc, char **argv) {
  const int is_shared = argc == 6 && strcmp(argv[5], "mpi") == 0;
  if (argc != 5 && !is_shared)
    return fail("expects MODEL.ppx FOLDER STEPS OUT.safetensors [mpi]",
                PPRT_USAGE);
  pprt_options options = {sizeof(options), 0, 30, NULL, NULL};
  int code = is_shared ? pprt_open_mpi(&options.world) : PPRT_OK;
  if (code)
    return fail(pprt_error(), code);
  pprt_session *session;
  code = pprt_open(argv[1], &options, &session);
  if (!code)
    code = train(session, !is_shared || pprt_process(options.world) == 0,
                 argv[2], atol(argv[3]), argv[4]);
  if (code && is_shared)
    pprt_abort(options.world, code);
  if (code)
    fail(pprt_error(), code);
  if (session && pprt_is_stuck(session))
    _exit(code);
  pprt_close(session);
  pprt_close_world(options.world);
  return code;
}
