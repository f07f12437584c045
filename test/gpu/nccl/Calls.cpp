//===- Calls.cpp - the calls that give streams work -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Compiled against NCCL's header, so that each call has the library's type.
// Only calls that the engine makes are here.
//
//===----------------------------------------------------------------------===//
#include "Objects.h"

using namespace emulated;
using namespace emulated::nccl;

/// Fails the group that the call is in, too.
static ncclResult_t refuse(ncclResult_t result) {
  if (group.depth > 0 && group.failure == ncclSuccess)
    group.failure = result;
  return result;
}

ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclUnhandledCudaError ? "unhandled cuda error"
         : result == ncclRemoteError
             ? "remote process exited or there was a network error"
             : "an error of NCCL";
}

ncclResult_t ncclMemAlloc(void **place, size_t size) {
  PP_BEGIN(refuse)
  uint64_t address = 0;
  *place = nullptr;
  if (host()->allocate(&address, size) != 0)
    return ncclUnhandledCudaError;
  *place = reinterpret_cast<void *>(address);
  blocks[address] = size;
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void *place) {
  PP_BEGIN(refuse)
  const auto address = reinterpret_cast<uint64_t>(place);
  if (const Comm *comm = findRegistered(address, address + blocks[address]))
    fault("ncclMemFree of what " + comm->name() +
          " has registered for a graph, before its end");
  blocks.erase(address);
  return host()->release(address) == 0 ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclGroupStart() {
  PP_BEGIN(refuse)
  ++group.depth;
  return ncclSuccess;
}

/// An end that fails is one all the same.
static ncclResult_t leaveGroup(ncclResult_t result) {
  if (group.depth > 0 && --group.depth == 0)
    group = Group();
  return refuse(result);
}

ncclResult_t ncclGroupEnd() {
  PP_BEGIN(leaveGroup)
  return group.depth == 0 ? ncclInvalidUsage : endGroup();
}

/// Puts a task into the group, which is one of its own if there is none.
static ncclResult_t add(const Begin &begin, ncclComm_t handle,
                        cudaStream_t stream, Task task) {
  const Comm *comm = find(handle);
  if (const ncclResult_t refused = checkReady(comm))
    return refuse(refused);
  if (const ncclResult_t refused = check(*comm, task))
    return refuse(refused);
  const int device = host()->deviceOf(stream);
  if (device != comm->device) {
    fault(std::string(task.call) + " by " + comm->name() + " of device " +
          std::to_string(comm->device) + " is given " + "a stream of device " +
          std::to_string(device));
    return refuse(ncclUnhandledCudaError);
  }
  if (task.count == 0)
    return ncclSuccess;
  ++group.depth;
  Group::Launch *its = nullptr;
  for (Group::Launch &launch : group.launches)
    if (launch.comm == handle)
      its = &launch;
  if (!its) {
    group.launches.push_back({handle, stream, {}, 0});
    its = &group.launches.back();
  }
  if (its->stream != stream)
    notModelled("a group with several streams of a communicator");
  its->tasks.push_back(task);
  its->late = begin.late ? begin.late : its->late;
  return endGroup();
}

static uint64_t addressOf(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t comm, cudaStream_t stream) {
  PP_BEGIN(refuse)
  return add(begin, comm, stream,
             {Task::allReduce, __func__, addressOf(from), addressOf(to), count,
              type, reduction, 0});
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count,
                               ncclDataType_t type, ncclRedOp_t reduction,
                               ncclComm_t comm, cudaStream_t stream) {
  PP_BEGIN(refuse)
  return add(begin, comm, stream,
             {Task::reduceScatter, __func__, addressOf(from), addressOf(to),
              count, type, reduction, 0});
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  PP_BEGIN(refuse)
  return add(begin, comm, stream,
             {Task::allGather, __func__, addressOf(from), addressOf(to), count,
              type, ncclSum, 0});
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  PP_BEGIN(refuse)
  return add(
      begin, comm, stream,
      {Task::send, __func__, addressOf(from), 0, count, type, ncclSum, peer});
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  PP_BEGIN(refuse)
  return add(
      begin, comm, stream,
      {Task::receive, __func__, 0, addressOf(to), count, type, ncclSum, peer});
}
