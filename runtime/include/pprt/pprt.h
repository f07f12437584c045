//===- pprt.h - running artifacts from C ------------------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a .ppx artifact, values of its parameters, a global batch per step. Out:
// what it emits, the updated parameters. Tensors go in and out whole, dense and
// row-major, however they are split over ranks.
//
// The order of calls: open, initialize or set what is trained, set the inputs,
// begin, then step as often as wanted, end, close. The calls of a session come
// from one thread. A call that can fail returns a code of Status.h, 0 for
// success; the text is pprt_error(). Nothing throws, nothing prints.
//
// Ranks may be in several processes: then each of them opens the world, opens
// the same artifact in it, and makes the same calls. Process 0 gets what is
// read whole, and writes files. What may fail in one process alone, or end by a
// signal to one, they agree on (pprt_agree).
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_PPRT_H
#define PPRT_PPRT_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The exit codes of the tools. */
enum {
  PPRT_OK = 0,
  PPRT_USAGE = 2,         /* a call that cannot be made now, or of nothing */
  PPRT_BAD_ARTIFACT = 3,  /* not a .ppx file that can be run here */
  PPRT_OUT_OF_MEMORY = 4, /* of a session's call: of use is pprt_close alone */
  PPRT_CHECK_FAILED = 5,  /* the artifact's programs would race or hang */
  PPRT_RANKS_DISAGREE = 6,
  PPRT_RANK_DIED = 10,
  PPRT_HANG = 11,           /* no rank made progress in time */
  PPRT_BAD_PARAMETERS = 13, /* values that do not fit an argument */
  PPRT_IO = 14,
  PPRT_DEVICE = 15,
  PPRT_INTERRUPTED = 130 /* is_interrupted or a caller of pprt_agree said so */
};

/* Of elements in memory; PPRT_I1 takes a byte, PPRT_BF16 two. */
typedef enum {
  PPRT_F32,
  PPRT_F64,
  PPRT_BF16,
  PPRT_I32,
  PPRT_I64,
  PPRT_I1
} pprt_element;

typedef enum {
  PPRT_PARAMETER,
  PPRT_STATE, /* an optimizer's, say */
  PPRT_INPUT,
  PPRT_LABEL,
  PPRT_LOSS,
  PPRT_METRIC,
  PPRT_GRADIENT
} pprt_role;

/* What an argument or output is; valid until its session is closed. */
typedef struct {
  const char *name; /* of a gradient, its parameter's */
  pprt_role role;
  pprt_element element;
  uint32_t dimensions;
  const uint64_t *shape;
  uint64_t bytes;
  uint64_t bound; /* of an argument: its integers lie in [0, bound); 0: any */
} pprt_tensor;

/* Processes that share sessions. */
typedef struct pprt_world pprt_world;

/* The processes that mpirun started, or this one alone; once a process. Fails
   (PPRT_USAGE) with what to install where there is no Open MPI. */
int pprt_open_mpi(pprt_world **world);
/* After its sessions. Null is nothing to close. */
void pprt_close_world(pprt_world *world);
/* Of null, which is a world of one process: 0 of 1. */
uint32_t pprt_process(const pprt_world *world);
uint32_t pprt_process_count(const pprt_world *world);
/* The same answer in all processes, once all have asked: 0, or the first one's
   `code` that is not, whose pprt_error() all have then; or PPRT_INTERRUPTED if
   any of them is. Null is a world of one process. */
int pprt_agree(pprt_world *world, int code, int interrupted);
/* Ends all processes with the code, from 1 to 255, after one has printed
   pprt_error(): at once, so flush what you have written. Does not return. */
void pprt_abort(pprt_world *world, int code);

/* Not 0 if a user wants the end. Asked a few times a second, from threads of
   the library, with the pointer that was given beside it. */
typedef int (*pprt_is_interrupted)(void *user);

/* From now on a call that waits for other processes for 1.5 s more, once
   `is_interrupted` says so, ends all of them (PPRT_INTERRUPTED). Null: never,
   as before saving, say. */
void pprt_watch(pprt_world *world, pprt_is_interrupted is_interrupted,
                void *user);

/* What is left out, 0 or null, is as by default: {.size = sizeof(options)}. */
typedef struct {
  size_t size;                 /* of this structure, as the caller knows it */
  uint32_t threads_per_rank;   /* 0: the artifact's, or what the cores give */
  double hang_timeout_seconds; /* 0: 30 s; negative: waits forever */
  const char *device;          /* "cpu", "cuda" or "null"; null: "cpu" */
  pprt_world *world;           /* null: this process runs all ranks */
  /* A step in which nothing happens for two seconds, once it says so, fails
     (PPRT_INTERRUPTED). Null: never. */
  pprt_is_interrupted is_interrupted;
  void *user;   /* for is_interrupted */
  int no_graph; /* not 0: a GPU is given a step call by call, each time anew */
} pprt_options;

typedef struct pprt_session pprt_session;

/* As 0.1.0. */
const char *pprt_version(void);

/* What is wrong, of the calling thread's last call that failed. The next one
   that fails in that thread, and the thread's end, free it. Never null. */
const char *pprt_error(void);
/* Makes it `text`, of a failure of the caller's own, for pprt_agree and
   pprt_abort to tell. Returns the code. */
int pprt_fail(int code, const char *text);

/* Loads, checks and prepares an artifact. `options` may be null, which is all
   as by default. Of another process's file, run only what you trust: kernels
   are machine code. An artifact whose products OpenBLAS computes sets the
   number of threads of the process's libopenblas.so.0 to 1, where it has to
   stay while sessions step; copies under other names are left alone, and so is
   the environment. */
int pprt_open(const char *path, const pprt_options *options,
              pprt_session **session);
int pprt_open_bytes(const void *bytes, size_t size, const pprt_options *options,
                    pprt_session **session);

/* Frees it. A session that is stuck stays, since a kernel still uses it: end
   the process by _exit() then. Null is nothing to close. */
void pprt_close(pprt_session *session);
int pprt_is_stuck(const pprt_session *session);

/* Of null nothing: 0. */
uint32_t pprt_rank_count(const pprt_session *session);
uint32_t pprt_argument_count(const pprt_session *session);
uint32_t pprt_output_count(const pprt_session *session);

/* Fail (PPRT_USAGE) from the count on; and if no argument has the name. */
int pprt_argument(const pprt_session *session, uint32_t argument,
                  pprt_tensor *tensor);
int pprt_output(const pprt_session *session, uint32_t output,
                pprt_tensor *tensor);
int pprt_find_argument(const pprt_session *session, const char *name,
                       uint32_t *argument);

/* Gives parameters and states that have no values yet those of their
   initializers, by the seed the same however they are split. So what a file
   lacks, an optimizer's states say, is made after pprt_load(). */
int pprt_initialize(pprt_session *session, uint64_t seed);
/* Gives them those of a safetensors file, which has all parameters and may have
   states. If one does not fit, nothing is changed. */
int pprt_load(pprt_session *session, const char *path);

/* Sets a parameter or state, or the global batch of an input or label for the
   steps that follow; a copy is kept. `bytes` is the tensor's, and integers of
   inputs and labels are below its bound, or else nothing is changed
   (PPRT_BAD_PARAMETERS). */
int pprt_set(pprt_session *session, uint32_t argument, const void *values,
             uint64_t bytes);

/* Begin fails (PPRT_USAGE) if a parameter or state has no values, and each of
   them if an input that is read has none; they can be given then, but for an
   input in one process of several. After any other failure all fail. */
int pprt_begin(pprt_session *session);
int pprt_step(pprt_session *session);
int pprt_end(pprt_session *session);

/* Reads what the last step emitted, a parameter or state: in process 0. In
   others only outputs of one element are whole, and pprt_get reads nothing. */
int pprt_get_output(const pprt_session *session, uint32_t output, void *values,
                    uint64_t bytes);
int pprt_get(const pprt_session *session, uint32_t argument, void *values,
             uint64_t bytes);

/* Writes all parameters and states that are the model's, as safetensors; in
   process 0, to which the others give theirs. */
int pprt_save(const pprt_session *session, const char *path);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif // PPRT_PPRT_H
