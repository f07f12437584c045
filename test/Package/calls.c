//===- calls.c - what several processes are told in C ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the artifact of run-c's test, and a device. All processes make the same
// calls, in some of which the last one gives something else. Out: 0 if each of
// them is told what it should be, or the number of the line that is not.
//
//   calls MODEL.ppx DEVICE [mpi]
//   calls MODEL.ppx memory mpi     ends for lack of memory in process 0
//
//===----------------------------------------------------------------------===//
#include <pprt/pprt.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void expect(int holds, int line) {
  if (holds)
    return;
  fprintf(stderr, "calls.c:%d: does not hold; %s\n", line, pprt_error());
  fflush(NULL);
  _exit(1);
}
#define EXPECT(holds) expect(holds, __LINE__)
#define EXPECT_SAID(text) EXPECT(strstr(pprt_error(), text) != NULL)

/* Zeros for the last byte of a batch or parameter, or `last`. */
static int set(pprt_session *session, uint32_t argument, int32_t last) {
  pprt_tensor tensor;
  EXPECT(pprt_argument(session, argument, &tensor) == PPRT_OK);
  char *values = calloc(1, tensor.bytes);
  memcpy(values + tensor.bytes - sizeof(last), &last, sizeof(last));
  const int code = pprt_set(session, argument, values, tensor.bytes);
  free(values);
  return code;
}

/* Reads the largest parameter where there is memory for nothing more. */
static void lack_memory(pprt_world *world, pprt_session *session) {
  pprt_tensor tensor, largest = {0};
  uint32_t found = 0;
  for (uint32_t i = 0; i < pprt_argument_count(session); ++i)
    if (pprt_argument(session, i, &tensor) == PPRT_OK &&
        tensor.role == PPRT_PARAMETER && tensor.bytes > largest.bytes) {
      largest = tensor;
      found = i;
    }
  EXPECT(pprt_initialize(session, 3) == PPRT_OK);
  void *values = malloc(largest.bytes);
  FILE *file = fopen("/proc/self/statm", "r");
  unsigned long long pages = 0;
  EXPECT(file && fscanf(file, "%llu", &pages) == 1);
  fclose(file);
  const rlim_t limit =
      pages * (rlim_t)sysconf(_SC_PAGESIZE) + largest.bytes / 4;
  const struct rlimit limits = {limit, limit};
  if (pprt_process(world) == 0)
    EXPECT(setrlimit(RLIMIT_AS, &limits) == 0);
  const int code = pprt_get(session, found, values, largest.bytes);
  if (pprt_process(world) == 0)
    EXPECT(code == PPRT_OUT_OF_MEMORY);
  if (code)
    pprt_abort(world, code);
  pprt_agree(world, PPRT_OK, 0);
  EXPECT(!"an end of all processes");
}

int main(int argc, char **argv) {
  /* What is freed is the system's again, and no thread has a reserve. */
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  pprt_options options = {.size = sizeof(options)};
  EXPECT(argc >= 3);
  if (argc > 3)
    EXPECT(pprt_open_mpi(&options.world) == PPRT_OK);
  pprt_world *world = options.world;
  const int is_alone = pprt_process_count(world) == 1;
  const int is_last = pprt_process(world) == pprt_process_count(world) - 1;

  /* One answer for all. */
  EXPECT(pprt_agree(world, PPRT_OK, 0) == PPRT_OK);
  EXPECT(pprt_agree(world, PPRT_OK, is_last) == PPRT_INTERRUPTED);
  EXPECT_SAID("interrupted");
  int code = is_last ? pprt_fail(PPRT_IO, "of the last one") : PPRT_OK;
  EXPECT(pprt_agree(world, code, is_last) == PPRT_IO);
  EXPECT_SAID("of the last one");

  const int lacks_memory = strcmp(argv[2], "memory") == 0;
  options.device = lacks_memory ? "cpu" : argv[2];
  pprt_session *session = NULL;
  /* What one process alone may not have, no other waits for. */
  pprt_options wrong = options;
  wrong.hang_timeout_seconds = is_last ? 2e9 : 0;
  EXPECT(pprt_open(argv[1], &wrong, &session) == PPRT_USAGE);
  EXPECT_SAID("hang_timeout_seconds expects at most 1e9");
  EXPECT(pprt_open(argv[1], &options, &session) == PPRT_OK);
  if (lacks_memory)
    lack_memory(world, session);

  EXPECT(pprt_initialize(session, 3 + is_last) ==
         (is_alone ? PPRT_OK : PPRT_RANKS_DISAGREE));
  if (!is_alone)
    EXPECT_SAID("expects the same seed in all processes");
  EXPECT(pprt_initialize(session, 3) == PPRT_OK);

  for (uint32_t i = 0; i < pprt_argument_count(session); ++i) {
    pprt_tensor tensor;
    EXPECT(pprt_argument(session, i, &tensor) == PPRT_OK);
    if (tensor.role != PPRT_INPUT && tensor.role != PPRT_LABEL)
      continue;
    if (tensor.bound) {
      code = set(session, i, (int32_t)tensor.bound - !is_last);
      EXPECT(pprt_agree(world, code, 0) == PPRT_BAD_PARAMETERS);
      EXPECT_SAID("expects integers from 0 to");
    }
    EXPECT(set(session, i, tensor.bound ? (int32_t)tensor.bound - 1 : 0) ==
           PPRT_OK);
  }

  /* Out of order, in all processes alike; nothing has happened then. */
  EXPECT(pprt_step(session) == PPRT_USAGE);
  EXPECT_SAID("begun, got one that is opened");
  EXPECT(pprt_begin(session) == PPRT_OK);
  EXPECT(pprt_step(session) == PPRT_OK);
  float loss;
  EXPECT(pprt_get_output(session, 0, &loss, sizeof(loss)) ==
         (strcmp(argv[2], "null") == 0 ? PPRT_USAGE : PPRT_OK));
  EXPECT(pprt_end(session) == PPRT_OK);
  pprt_close(session);
  pprt_close_world(world);
  return 0;
}
