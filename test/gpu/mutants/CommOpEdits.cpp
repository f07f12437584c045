//===- CommOpEdits.cpp - single edits of calls of NCCL --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The engine calls its libraries by tables of functions. Those here count, make
// the edit and hand on; they are plain functions, so what they know is static.
//
//===----------------------------------------------------------------------===//
#include "CommOpEdits.h"
#include "EmulatedProcess.h"
#include "pprt/World.h"

#include <functional>
#include <map>
#include <numeric>

using namespace pprt;
using namespace pprt::mutants;
using conformance::Case;

const std::vector<CommOpEdit> mutants::kCommOpEdits = {
    {"wait left out", CommOpCall::wait, CommOpChange::drop},
    {"event not recorded", CommOpCall::record, CommOpChange::drop},
    {"event in another stream", CommOpCall::record, CommOpChange::elsewhere},
    {"copy left out", CommOpCall::copy, CommOpChange::drop},
    {"copy in another stream", CommOpCall::copy, CommOpChange::elsewhere},
    {"copy of less", CommOpCall::copy, CommOpChange::fewer},
    {"copy from 16 bytes further", CommOpCall::copy, CommOpChange::from},
    {"copy to 16 bytes further", CommOpCall::copy, CommOpChange::to},
    {"box left out", CommOpCall::box, CommOpChange::drop},
    {"box in another stream", CommOpCall::box, CommOpChange::elsewhere},
    {"box of a row less", CommOpCall::box, CommOpChange::fewer},
    {"box of another pitch", CommOpCall::box, CommOpChange::pitch},
    {"box from 16 bytes further", CommOpCall::box, CommOpChange::from},
    {"collective left out", CommOpCall::collective, CommOpChange::drop},
    {"collective twice", CommOpCall::collective, CommOpChange::twice},
    {"collective behind the next", CommOpCall::collective, CommOpChange::late},
    {"collective in another stream", CommOpCall::collective,
     CommOpChange::elsewhere},
    {"collective of less", CommOpCall::collective, CommOpChange::fewer},
    {"collective of another type", CommOpCall::collective, CommOpChange::type},
    {"collective by another operation", CommOpCall::collective,
     CommOpChange::operation},
    {"collective from 16 bytes further", CommOpCall::collective,
     CommOpChange::from},
    {"collective to 16 bytes further", CommOpCall::collective,
     CommOpChange::to},
    {"message left out", CommOpCall::message, CommOpChange::drop},
    {"message in another stream", CommOpCall::message, CommOpChange::elsewhere},
    {"message of less", CommOpCall::message, CommOpChange::fewer},
    {"message to another rank", CommOpCall::message, CommOpChange::peer},
    {"message from 16 bytes further", CommOpCall::message, CommOpChange::from},
    {"message to 16 bytes further", CommOpCall::message, CommOpChange::to},
    {"group not ended", CommOpCall::groupEnd, CommOpChange::drop},
};

namespace {

/// A call with all that one of its kind is told.
struct Told {
  CommOpCall call;
  cudaStream_t stream = nullptr;
  const void *from = nullptr;
  void *to = nullptr;
  size_t count = 0; ///< elements, bytes, rows
  int type = 0, operation = 0, peer = 0;
  size_t pitch = 0;
  std::function<int(const Told &)> make; ///< makes the call
};

/// Where an event was recorded last: which call it was, and behind which
/// communicator's.
struct Recorded {
  uint64_t number = 0;
  cudaStream_t stream = nullptr;
  ncclComm_t comm = nullptr;
};

/// A wait whose stream has been given nothing since.
struct Waiting {
  uint64_t number = 0;
  Recorded recorded;
};

struct Telling {
  const CommOpEdit *edit = nullptr;
  uint64_t number = 0;
  CommOpCounts counts = {};
  CommPlaces places;
  std::map<CUevent, Recorded> recorded;
  std::map<cudaStream_t, Waiting> waiting;
  std::map<cudaStream_t, ncclComm_t> comms; ///< last
  bool isMade = false;
  uint32_t worldSize = 0;
  std::optional<Told> held;
  const conformance::Process *process = nullptr;
  cuda::Driver driver; ///< those within
  cuda::Nccl nccl;
};
Telling telling;

cudaStream_t otherOf(cudaStream_t stream) {
  for (const auto &[rank, its] : telling.process->ranks)
    for (size_t i : {0, 1})
      if (its.streams[i] == stream)
        return its.streams[1 - i];
  return stream;
}

int change(Told told) {
  telling.isMade = true;
  switch (telling.edit->change) {
  case CommOpChange::drop:
    return 0;
  case CommOpChange::late:
    telling.isMade = false; // until there is a next one
    telling.held = std::move(told);
    return 0;
  case CommOpChange::twice:
    if (const int result = told.make(told))
      return result;
    break;
  case CommOpChange::elsewhere:
    told.stream = otherOf(told.stream);
    break;
  case CommOpChange::fewer:
    telling.isMade = told.count > 0;
    told.count -= telling.isMade;
    break;
  case CommOpChange::type:
    told.type = told.type == ncclFloat32 ? ncclInt32 : ncclFloat32;
    break;
  case CommOpChange::operation:
    telling.isMade = told.operation >= 0;
    told.operation = told.operation == ncclSum ? ncclMax : ncclSum;
    break;
  case CommOpChange::peer:
    told.peer = (told.peer + 1) % int(telling.worldSize);
    break;
  case CommOpChange::from:
    telling.isMade = told.from;
    if (told.from)
      told.from = static_cast<const char *>(told.from) + 16;
    break;
  case CommOpChange::to:
    telling.isMade = told.to;
    if (told.to)
      told.to = static_cast<char *>(told.to) + 16;
    break;
  case CommOpChange::pitch:
    told.pitch += 16;
    break;
  }
  return told.make(told);
}

/// Makes a call, or what the edit makes of it.
int tell(Told told) {
  const uint64_t its = telling.counts[size_t(told.call)]++;
  const bool isMeant = telling.edit && telling.edit->call == told.call;
  if (isMeant && its == telling.number)
    return change(std::move(told));
  if (!telling.held || !isMeant)
    return told.make(told);
  const Told late = std::move(*telling.held);
  telling.held.reset();
  telling.isMade = true;
  if (const int result = told.make(told))
    return result;
  return late.make(late);
}

/// Notes a call of a communicator. A wait just ahead of it matters if the event
/// is in another stream, behind a call of the same communicator: of others a
/// GPU has room for more than these.
void note(cudaStream_t stream, ncclComm_t comm) {
  telling.comms[stream] = comm;
  const auto found = telling.waiting.find(stream);
  if (found == telling.waiting.end())
    return;
  const auto [number, recorded] = found->second;
  telling.waiting.erase(found);
  if (recorded.stream == stream || recorded.comm != comm)
    return;
  telling.places[size_t(CommOpCall::wait)].push_back(number);
  telling.places[size_t(CommOpCall::record)].push_back(recorded.number);
}

//===----------------------------------------------------------------------===//
// The functions of the tables
//===----------------------------------------------------------------------===//

CUresult wait(CUstream stream, CUevent event, unsigned flags) {
  telling.waiting[stream] = {telling.counts[size_t(CommOpCall::wait)],
                             telling.recorded[event]};
  return CUresult(tell({CommOpCall::wait, stream, nullptr, nullptr, 0, 0, 0, 0,
                        0, [=](const Told &) {
                          return telling.driver.cuStreamWaitEvent(stream, event,
                                                                  flags);
                        }}));
}

CUresult record(CUevent event, CUstream stream) {
  telling.recorded[event] = {telling.counts[size_t(CommOpCall::record)], stream,
                             telling.comms[stream]};
  return CUresult(tell({CommOpCall::record, stream, nullptr, nullptr, 0, 0, 0,
                        0, 0, [=](const Told &told) {
                          return telling.driver.cuEventRecord(event,
                                                              told.stream);
                        }}));
}

CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CUresult(tell(
      {CommOpCall::copy, stream, reinterpret_cast<const void *>(from),
       reinterpret_cast<void *>(to), bytes, 0, 0, 0, 0, [](const Told &told) {
         return telling.driver.cuMemcpyDtoDAsync(
             cuda::pointer(static_cast<std::byte *>(told.to)),
             cuda::pointer(static_cast<const std::byte *>(told.from)),
             told.count, told.stream);
       }}));
}

CUresult box(const CUDA_MEMCPY3D *given, CUstream stream) {
  return CUresult(tell(
      {CommOpCall::box, stream,
       reinterpret_cast<const void *>(given->srcDevice), nullptr, given->Height,
       0, 0, 0, given->srcPitch, [box = *given](const Told &told) mutable {
         box.srcDevice =
             cuda::pointer(static_cast<const std::byte *>(told.from));
         box.Height = told.count;
         box.srcPitch = told.pitch;
         return telling.driver.cuMemcpy3DAsync(&box, told.stream);
       }}));
}

/// `call` makes it, with what it is told then.
template <typename Call>
ncclResult_t collective(const void *from, void *to, size_t count,
                        ncclDataType_t type, int operation, ncclComm_t comm,
                        cudaStream_t stream, Call call) {
  note(stream, comm);
  return ncclResult_t(tell({CommOpCall::collective, stream, from, to, count,
                            type, operation, 0, 0, call}));
}

/// Of a call that adds up, which is one of two with the same arguments.
ncclResult_t sum(decltype(telling.nccl.ncclAllReduce) function,
                 const void *from, void *to, size_t count, ncclDataType_t type,
                 ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return collective(
      from, to, count, type, operation, comm, stream, [=](const Told &told) {
        return function(told.from, told.to, told.count,
                        ncclDataType_t(told.type), ncclRedOp_t(told.operation),
                        comm, told.stream);
      });
}

ncclResult_t allReduce(const void *from, void *to, size_t count,
                       ncclDataType_t type, ncclRedOp_t operation,
                       ncclComm_t comm, cudaStream_t stream) {
  return sum(telling.nccl.ncclAllReduce, from, to, count, type, operation, comm,
             stream);
}

ncclResult_t reduceScatter(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t comm, cudaStream_t stream) {
  return sum(telling.nccl.ncclReduceScatter, from, to, count, type, operation,
             comm, stream);
}

ncclResult_t allGather(const void *from, void *to, size_t count,
                       ncclDataType_t type, ncclComm_t comm,
                       cudaStream_t stream) {
  return collective(from, to, count, type, /*operation=*/-1, comm, stream,
                    [=](const Told &told) {
                      return telling.nccl.ncclAllGather(
                          told.from, told.to, told.count,
                          ncclDataType_t(told.type), comm, told.stream);
                    });
}

ncclResult_t send(const void *from, size_t count, ncclDataType_t type, int peer,
                  ncclComm_t comm, cudaStream_t stream) {
  note(stream, comm);
  return ncclResult_t(tell({CommOpCall::message, stream, from, nullptr, count,
                            type, 0, peer, 0, [=](const Told &told) {
                              return telling.nccl.ncclSend(
                                  told.from, told.count, type, told.peer, comm,
                                  told.stream);
                            }}));
}

ncclResult_t receive(void *to, size_t count, ncclDataType_t type, int peer,
                     ncclComm_t comm, cudaStream_t stream) {
  note(stream, comm);
  return ncclResult_t(tell({CommOpCall::message, stream, nullptr, to, count,
                            type, 0, peer, 0, [=](const Told &told) {
                              return telling.nccl.ncclRecv(told.to, told.count,
                                                           type, told.peer,
                                                           comm, told.stream);
                            }}));
}

ncclResult_t groupEnd() {
  return ncclResult_t(
      tell({CommOpCall::groupEnd, nullptr, nullptr, nullptr, 0, 0, 0, 0, 0,
            [](const Told &) { return telling.nccl.ncclGroupEnd(); }}));
}

} // namespace

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

Judged mutants::runCommOps(uint32_t worldSize, const CommOpEdit *edit,
                           uint64_t number, CommPlaces &places) {
  std::vector<Case> cases = conformance::smallCases(worldSize);
  // Of sums whose order does not matter.
  for (Case &test : cases)
    test.isExact = true;
  const auto world = thisProcess();
  conformance::Failure failure;
  conformance::Process process(*world, worldSize, cases, failure);
  telling = {};
  telling.edit = edit;
  telling.number = number;
  telling.worldSize = worldSize;
  telling.process = &process;
  process.edit = [](cuda::Driver &driver, cuda::Nccl &nccl) {
    telling.driver = driver;
    telling.nccl = nccl;
    driver.cuStreamWaitEvent = wait;
    driver.cuEventRecord = record;
    driver.cuMemcpyDtoDAsync = copy;
    driver.cuMemcpy3DAsync = box;
    nccl.ncclAllReduce = allReduce;
    nccl.ncclReduceScatter = reduceScatter;
    nccl.ncclAllGather = allGather;
    nccl.ncclSend = send;
    nccl.ncclRecv = receive;
    nccl.ncclGroupEnd = groupEnd;
  };
  Status status = process.open();
  std::string wrong;
  for (uint32_t round = 0; status.ok() && wrong.empty() && round < 2; ++round) {
    status = process.start(round);
    if (status.ok())
      status = process.finish();
    if (status.ok())
      wrong = process.check(round);
  }
  for (size_t call = 0; call < kCommOpCalls; ++call)
    if (std::vector<uint64_t> &its = telling.places[call];
        its.empty() && call != size_t(CommOpCall::wait) &&
        call != size_t(CommOpCall::record)) {
      its.resize(telling.counts[call]);
      std::iota(its.begin(), its.end(), 0);
    }
  places = std::move(telling.places);
  if (!status.ok()) {
    failure.set(status);
    if (process.collectives)
      process.abort(status);
  }
  if (edit && !telling.isMade)
    return {Outcome::none, ""};
  if (!status.ok())
    return {Outcome::error, status.message()};
  return {wrong.empty() ? Outcome::survived : Outcome::bits, wrong};
}
