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
// the same; process 0 prints and writes. Ctrl-C, or SIGTERM, to any of them
// ends all after the step, with the parameters that were learnt.
//
//===----------------------------------------------------------------------===//
#include <pprt/pprt.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stops;

static void note_stop(int signal_number) {
  stops = 1;
  signal(signal_number, SIG_DFL); /* a second one ends the process */
}

static int is_stopped(void *user) {
  (void)user;
  return stops;
}

/* Fills `values` from a file that has as many bytes, and no more. */
static int read_values(const char *path, void *values, uint64_t bytes) {
  char text[4500];
  FILE *file = fopen(path, "rb");
  if (!file) {
    snprintf(text, sizeof(text), "%s: %s", path, strerror(errno));
    return pprt_fail(PPRT_IO, text);
  }
  const uint64_t found = fread(values, 1, bytes, file);
  const int fits = found == bytes && fgetc(file) == EOF && !ferror(file);
  fclose(file);
  if (fits)
    return PPRT_OK;
  snprintf(text, sizeof(text), "%s: expects %llu bytes, got %s", path,
           (unsigned long long)bytes, found < bytes ? "fewer" : "more");
  return pprt_fail(PPRT_IO, text);
}

/* Gives the session the batches of all inputs. */
static int feed(pprt_session *session, const char *folder) {
  int code = PPRT_OK;
  for (uint32_t i = 0; !code && i < pprt_argument_count(session); ++i) {
    pprt_tensor tensor;
    code = pprt_argument(session, i, &tensor);
    if (code || (tensor.role != PPRT_INPUT && tensor.role != PPRT_LABEL))
      continue;
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.raw", folder, tensor.name);
    void *values = malloc(tensor.bytes ? tensor.bytes : 1);
    code = values ? read_values(path, values, tensor.bytes)
                  : pprt_fail(PPRT_OUT_OF_MEMORY, "no memory for a batch");
    if (!code)
      code = pprt_set(session, i, values, tensor.bytes);
    free(values);
  }
  return code;
}

/* The output that is the loss, and its type. */
static int find_loss(const pprt_session *session, uint32_t *loss,
                     pprt_element *element) {
  for (*loss = 0; *loss < pprt_output_count(session); ++*loss) {
    pprt_tensor tensor;
    const int code = pprt_output(session, *loss, &tensor);
    if (code)
      return code;
    *element = tensor.element;
    if (tensor.role == PPRT_LOSS &&
        (*element == PPRT_F32 || *element == PPRT_F64))
      return PPRT_OK;
  }
  return pprt_fail(PPRT_USAGE, "expects a loss in f32 or f64, got none");
}

static int read_loss(const pprt_session *session, uint32_t output,
                     pprt_element element, double *loss) {
  float narrow;
  if (element == PPRT_F64)
    return pprt_get_output(session, output, loss, sizeof(*loss));
  const int code = pprt_get_output(session, output, &narrow, sizeof(narrow));
  *loss = narrow;
  return code;
}

/* What may fail in one process alone is agreed on before all go on. */
static int train(pprt_world *world, pprt_session *session, const char *folder,
                 long steps, const char *out) {
  uint32_t output = 0;
  pprt_element element = PPRT_F32;
  int code = find_loss(session, &output, &element);
  if (!code)
    code = pprt_initialize(session, /*seed=*/0);
  if (!code)
    code = feed(session, folder);
  code = pprt_agree(world, code, stops);
  if (!code)
    code = pprt_begin(session);
  if (code)
    return code;
  long step = 0;
  while (!code && step < steps) {
    double loss;
    code = pprt_step(session);
    if (!code)
      code = read_loss(session, output, element, &loss);
    ++step;
    if (!code && pprt_process(world) == 0)
      printf("step %ld loss %.9g\n", step, loss);
    if (!code && step < steps)
      code = pprt_agree(world, PPRT_OK, stops);
  }
  if (code && code != PPRT_INTERRUPTED)
    return code;
  /* What was learnt is written, however long that takes. */
  pprt_watch(world, NULL, NULL);
  const int end = code;
  code = pprt_end(session);
  if (!code)
    code = pprt_agree(world, pprt_save(session, out), 0);
  if (code || !end)
    return code;
  char text[64];
  snprintf(text, sizeof(text), "interrupted after %ld steps", step);
  return pprt_fail(end, text);
}

/* A number from 1 on, or 0. */
static long read_count(const char *text) {
  char *end;
  errno = 0;
  const long count = strtol(text, &end, 10);
  return *text && !*end && !errno && count > 0 ? count : 0;
}

int main(int argc, char **argv) {
  const int is_shared = argc == 6 && strcmp(argv[5], "mpi") == 0;
  const long steps = argc > 3 ? read_count(argv[3]) : 0;
  if ((argc != 5 && !is_shared) || steps == 0) {
    fputs("usage: run-c MODEL.ppx FOLDER STEPS OUT.safetensors [mpi], with "
          "1 step or more\n",
          stderr);
    return PPRT_USAGE;
  }
  /* Each line is told at once: ends that are no exit() lose none. */
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  signal(SIGINT, note_stop);
  signal(SIGTERM, note_stop);

  pprt_options options = {.size = sizeof(options),
                          .is_interrupted = is_stopped};
  pprt_session *session = NULL;
  int code = is_shared ? pprt_open_mpi(&options.world) : PPRT_OK;
  if (!code) {
    pprt_watch(options.world, is_stopped, NULL);
    code = pprt_open(argv[1], &options, &session);
  }
  if (!code)
    code = train(options.world, session, argv[2], steps, argv[4]);
  /* One process tells, and ends the others. */
  if (code && options.world)
    pprt_abort(options.world, code);
  if (code)
    fprintf(stderr, "run-c: error: %s\n", pprt_error());
  /* A kernel that did not end still uses what a proper end would free. */
  if (pprt_is_stuck(session))
    _exit(code);
  pprt_close(session);
  pprt_close_world(options.world);
  return code;
}
