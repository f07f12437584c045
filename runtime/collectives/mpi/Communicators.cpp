//===- Communicators.cpp - made and freed by all processes ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Communicators.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::mpi;

bool Communicator::isDone() const {
  return isLeft && std::all_of(memory.begin(), memory.end(),
                               [](const std::weak_ptr<const void> &its) {
                                 return its.expired();
                               });
}

Status Communicators::duplicate(MPI_Comm from, MPI_Comm &to) {
  const auto made = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
  if (Status status = engine.wait("MPI_Comm_idup", made,
                                  [&](MPI_Request *request) {
                                    return MPI_Comm_idup(from, made.get(),
                                                         request);
                                  });
      !status.ok())
    return status;
  to = *made;
  return check(MPI_Comm_set_errhandler(to, MPI_ERRORS_RETURN),
               "MPI_Comm_set_errhandler");
}

Status Communicators::make(MPI_Comm control,
                           std::shared_ptr<Communicator> &made) {
  if (Status status = freeDone(control); !status.ok())
    return status;
  made = std::make_shared<Communicator>();
  if (Status status = duplicate(control, made->handle); !status.ok())
    return status;
  inUse.push_back(made);
  return {};
}

Status Communicators::freeDone(MPI_Comm control) {
  struct Done {
    std::vector<uint8_t> here, everywhere;
  };
  const auto done = std::make_shared<Done>();
  for (const std::shared_ptr<Communicator> &its : inUse)
    done->here.push_back(its->isDone());
  done->everywhere.resize(inUse.size());
  if (inUse.empty()) // in all processes
    return {};
  if (Status status = engine.wait(
          "MPI_Iallreduce", done,
          [&](MPI_Request *request) {
            return MPI_Iallreduce(done->here.data(), done->everywhere.data(),
                                  int(inUse.size()), MPI_UINT8_T, MPI_MIN,
                                  control, request);
          });
      !status.ok())
    return status;
  std::vector<std::shared_ptr<Communicator>> rest;
  for (size_t i = 0; i < inUse.size(); ++i)
    if (!done->everywhere[i])
      rest.push_back(inUse[i]);
    else if (Status status =
                 check(MPI_Comm_free(&inUse[i]->handle), "MPI_Comm_free");
             !status.ok())
      return status;
  inUse = std::move(rest);
  return {};
}
