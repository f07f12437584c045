//===- FaultyMpi.cpp - an MPI with one failing call -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Loaded before MPI. PP_MPI_FAULT=CALL:N makes the N-th call of CALL fail in
// the last of two processes; CALL may be MPI_Status, which stands for a
// complete message. MPI_Finalize never returns, and MPI_Comm_get_attr reports N
// as the highest tag in all processes. MPI_Comm_free:0 counts communicators.
// slow:N makes MPI_Issend take N ms in all processes; memcpy:N makes copies of
// a small message, 1000 bytes, take N ms in the last one.
//
//===----------------------------------------------------------------------===//
#include <mpi.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace {
struct Fault {
  std::string call;
  int number = 0;
  std::atomic<int> calls{0};
  Fault() {
    const char *text = std::getenv("PP_MPI_FAULT");
    const char *rank = std::getenv("OMPI_COMM_WORLD_RANK");
    const std::string all = text ? text : "";
    const size_t colon = all.find(':');
    if (colon == std::string::npos)
      return;
    call = all.substr(0, colon);
    if (call != "MPI_Comm_get_attr" && call != "slow" &&
        (!rank || *rank != '1'))
      call.clear();
    number = std::atoi(all.c_str() + colon + 1);
  }
};
} // namespace

static Fault &fault() {
  static Fault instance;
  return instance;
}

static bool fails(const char *call) {
  return fault().call == call && ++fault().calls == fault().number;
}

#define FAULTY(name, parameters, arguments)                                    \
  extern "C" int name parameters {                                             \
    return fails(#name) ? MPI_ERR_OTHER : P##name arguments;                   \
  }

FAULTY(MPI_Iallgather,
       (const void *from, int count, MPI_Datatype type, void *to, int room,
        MPI_Datatype others, MPI_Comm all, MPI_Request *request),
       (from, count, type, to, room, others, all, request))
FAULTY(MPI_Igather,
       (const void *from, int count, MPI_Datatype type, void *to, int room,
        MPI_Datatype others, int root, MPI_Comm all, MPI_Request *request),
       (from, count, type, to, room, others, root, all, request))
FAULTY(MPI_Ibcast,
       (void *data, int count, MPI_Datatype type, int root, MPI_Comm all,
        MPI_Request *request),
       (data, count, type, root, all, request))
FAULTY(MPI_Isend,
       (const void *data, int count, MPI_Datatype type, int to, int tag,
        MPI_Comm all, MPI_Request *request),
       (data, count, type, to, tag, all, request))
FAULTY(MPI_Iallreduce,
       (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
        MPI_Comm all, MPI_Request *request),
       (from, to, count, type, op, all, request))
FAULTY(MPI_Test, (MPI_Request * request, int *isOver, MPI_Status *status),
       (request, isOver, status))
FAULTY(MPI_Cancel, (MPI_Request * request), (request))
FAULTY(MPI_Comm_rank, (MPI_Comm all, int *rank), (all, rank))
FAULTY(MPI_Comm_size, (MPI_Comm all, int *size), (all, size))
FAULTY(MPI_Comm_set_errhandler, (MPI_Comm all, MPI_Errhandler handler),
       (all, handler))

extern "C" int MPI_Issend(const void *data, int count, MPI_Datatype type,
                          int to, int tag, MPI_Comm all, MPI_Request *request) {
  if (fault().call == "slow")
    usleep(useconds_t(fault().number) * 1000);
  return fails("MPI_Issend")
             ? MPI_ERR_OTHER
             : PMPI_Issend(data, count, type, to, tag, all, request);
}

FAULTY(MPI_Irecv,
       (void *data, int count, MPI_Datatype type, int from, int tag,
        MPI_Comm all, MPI_Request *request),
       (data, count, type, from, tag, all, request))
extern "C" int MPI_Testsome(int count, MPI_Request *requests, int *complete,
                            int *indices, MPI_Status *statuses) {
  if (fails("MPI_Testsome"))
    return MPI_ERR_OTHER;
  const int code = PMPI_Testsome(count, requests, complete, indices, statuses);
  if (code != MPI_SUCCESS || *complete <= 0 || !fails("MPI_Status"))
    return code;
  for (int i = 0; i < *complete; ++i)
    statuses[i].MPI_ERROR = i == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  return MPI_ERR_IN_STATUS;
}

extern "C" int MPI_Comm_get_attr(MPI_Comm all, int key, void *value,
                                 int *isSet) {
  static int limit = fault().number;
  if (fault().call != "MPI_Comm_get_attr" || key != MPI_TAG_UB)
    return PMPI_Comm_get_attr(all, key, value, isSet);
  *static_cast<int **>(value) = &limit;
  *isSet = 1;
  return MPI_SUCCESS;
}

/// Set before any copy: code that reads the variable copies, too.
static std::atomic<int> copyMilliseconds{0};
__attribute__((constructor)) static void slowCopies() {
  if (fault().call == "memcpy")
    copyMilliseconds = fault().number;
}

extern "C" void *memcpy(void *to, const void *from, size_t bytes) {
  if (bytes == 1000 && copyMilliseconds > 0)
    usleep(useconds_t(copyMilliseconds) * 1000);
  return std::memmove(to, from, bytes);
}

static std::atomic<int> communicators{0};

extern "C" int MPI_Comm_idup(MPI_Comm from, MPI_Comm *to,
                             MPI_Request *request) {
  ++communicators;
  return fails("MPI_Comm_idup") ? MPI_ERR_OTHER
                                : PMPI_Comm_idup(from, to, request);
}

extern "C" int MPI_Comm_free(MPI_Comm *communicator) {
  if (fails("MPI_Comm_free"))
    return MPI_ERR_OTHER;
  --communicators;
  return PMPI_Comm_free(communicator);
}

extern "C" int MPI_Finalize() {
  if (fault().call == "MPI_Comm_free")
    std::fprintf(stderr, "%d communicators are left\n", int(communicators));
  if (fails("MPI_Finalize"))
    pause();
  return PMPI_Finalize();
}
