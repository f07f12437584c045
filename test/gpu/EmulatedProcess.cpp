//===- EmulatedProcess.cpp - ranks on played GPUs, with comm ops ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "EmulatedProcess.h"
#include "Emulated.h"
#include "ThreadWorld.h"

#include <gtest/gtest.h>
#include <numeric>
#include <thread>

using namespace pprt;
using namespace pprt::cuda;
using namespace pprt::conformance;

Expected<std::byte *> Process::allocate(Rank &rank, uint64_t bytes) {
  CUdeviceptr place = 0;
  if (Status status = rank.gpu->check(
          rank.gpu->driver.cuMemAlloc(&place, std::max<uint64_t>(bytes, 1)),
          "cuMemAlloc");
      !status.ok())
    return status;
  rank.memory.push_back(place);
  return reinterpret_cast<std::byte *>(uintptr_t(place));
}

Status Process::prepare(size_t index, uint32_t member, Rank &rank) {
  const Case &test = cases[index];
  Membership &its = memberships[{index, member}];
  its.member = member;
  Participant part;
  part.place = index;
  part.section = Section::body;
  part.member = member;
  part.ranks = test.ranks;
  part.moves = std::make_shared<const std::vector<Move>>(test.moves());
  for (size_t i = 0; i < test.operands.size(); ++i) {
    auto input = allocate(rank, test.inputBytes(member, i));
    auto output =
        test.inPlace ? input : allocate(rank, test.outputBytes(member, i));
    if (!input || !output)
      return input ? output.status() : input.status();
    its.inputs.push_back(*input);
    its.outputs.push_back(*output);
  }
  part.inputs = its.inputs;
  part.outputs = its.outputs;
  auto staging =
      allocate(rank, ncclModel().stagingBytes(*part.moves, part.ranks, member));
  if (!staging)
    return staging.status();
  part.staging = *staging;
  const Expected<Ticket> ticket = collectives->prepare(std::move(part));
  if (!ticket)
    return ticket.status();
  its.ticket = *ticket;
  return {};
}

Status Process::open() {
  const RankRange range = world.ranksOf(world.process(), worldSize);
  std::map<uint32_t, std::shared_ptr<const Gpu>> gpus;
  const Expected<Driver> first = openDriver();
  if (!first)
    return first.status();
  Expected<Nccl> nccl = openNccl(first->version);
  if (!nccl)
    return nccl.status();
  Nccl edited = *nccl;
  for (uint32_t rank = range.begin; rank < range.end; ++rank) {
    auto driver = openDriver();
    if (!driver)
      return driver.status();
    if (edit)
      edit(*driver, edited = *nccl);
    auto gpu = Gpu::open(*driver, int(rank));
    if (!gpu)
      return gpu.status();
    gpus[rank] = ranks[rank].gpu = *gpu;
    for (CUstream &stream : ranks[rank].streams)
      (*gpu)->driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING,
                                                0);
  }
  auto made = Communicators::create(world, worldSize, gpus, edited);
  if (!made)
    return made.status();
  collectives = std::make_unique<Collectives>(std::move(*made));
  for (size_t index = 0; index < cases.size(); ++index)
    for (uint32_t member = 0; member < cases[index].memberCount(); ++member)
      if (const auto rank = ranks.find(cases[index].ranks[member]);
          rank != ranks.end()) {
        (void)rank->second.gpu->makeCurrent();
        if (Status status = prepare(index, member, rank->second); !status.ok())
          return status;
      }
  return collectives->connect(world);
}

Status Process::fill(uint32_t round, const Case &test, const Membership &its,
                     const Gpu &gpu, CUstream stream) {
  for (size_t i = 0; i < test.operands.size(); ++i) {
    // In place, that is the input.
    if (const uint64_t bytes = test.outputBytes(its.member, i)) {
      const std::vector<std::byte> none(bytes, std::byte(0xff));
      gpu.driver.cuMemcpyHtoDAsync(pointer(its.outputs[i]), none.data(), bytes,
                                   stream);
    }
    std::vector<std::byte> data(test.inputBytes(its.member, i));
    if (data.empty())
      continue;
    test.fillInput(round, its.member, i, data.data());
    if (Status status = gpu.check(
            gpu.driver.cuMemcpyHtoDAsync(pointer(its.inputs[i]), data.data(),
                                         data.size(), stream),
            "cuMemcpyHtoDAsync");
        !status.ok())
      return status;
  }
  return {};
}

Status Process::start(uint32_t rank, uint32_t round,
                      const std::vector<size_t> &order) {
  const Rank &its = ranks.at(rank);
  collectives->begin(rank);
  for (size_t index : order)
    for (uint32_t member = 0; member < cases[index].memberCount(); ++member) {
      if (cases[index].ranks[member] != rank)
        continue;
      if (const Status known = failure.get(); !known.ok())
        return known;
      const Membership &part = memberships.at({index, member});
      // Neighbours are in different streams.
      CUstream stream = its.streams[index % streamCount];
      Status status = its.gpu->makeCurrent();
      if (status.ok())
        status = fill(round, cases[index], part, *its.gpu, stream);
      if (status.ok())
        status = collectives->enqueue(part.ticket, stream);
      if (!status.ok())
        return status;
    }
  return {};
}

Status Process::start(uint32_t round) {
  std::vector<size_t> order(cases.size());
  std::iota(order.begin(), order.end(), 0);
  for (const auto &[rank, its] : ranks)
    if (Status status = start(rank, round, order); !status.ok())
      return status;
  return {};
}

Status Process::finish() {
  for (const auto &[rank, its] : ranks)
    for (CUstream stream : its.streams)
      while (true) {
        Status status = its.gpu->makeCurrent();
        if (!status.ok())
          return status;
        const CUresult result = emulated::queryStream(stream);
        if (result == CUDA_SUCCESS)
          break;
        if (result != CUDA_ERROR_NOT_READY)
          return its.gpu->check(result, "cuStreamQuery");
        status = collectives->poll();
        if (status.ok())
          status = failure.get();
        if (!status.ok())
          return status;
      }
  return collectives->poll();
}

bool Process::hasEnded(uint32_t rank) const {
  const Rank &its = ranks.at(rank);
  (void)its.gpu->makeCurrent();
  return std::all_of(std::begin(its.streams), std::end(its.streams),
                     [](CUstream stream) {
                       return emulated::queryStream(stream) == CUDA_SUCCESS;
                     });
}

std::string Process::check(uint32_t round) {
  std::vector<std::byte> data;
  for (const auto &[key, its] : memberships) {
    const Case &test = cases[key.first];
    for (size_t i = 0; i < test.operands.size(); ++i) {
      data.resize(test.outputBytes(its.member, i));
      if (data.empty())
        continue;
      if (const Status status =
              ranks.at(test.ranks[its.member])
                  .gpu->read(data.data(), its.outputs[i], data.size());
          !status.ok())
        return status.message();
      if (const std::string wrong =
              test.findFault(round, its.member, i, data.data());
          !wrong.empty())
        return wrong;
    }
  }
  return "";
}

Status Process::run(uint32_t rounds) {
  Status status = open();
  for (uint32_t round = 0; status.ok() && round < rounds; ++round) {
    status = start(round);
    if (status.ok())
      status = finish();
    if (status.ok()) {
      EXPECT_EQ(check(round), "");
    }
  }
  if (status.ok())
    return {};
  failure.set(status);
  abort(failure.get());
  return failure.get();
}

void Process::abort(const Status &status) {
  if (!collectives)
    return;
  collectives->fail(status);
  for (const auto &[rank, its] : ranks)
    collectives->abort(rank);
}

void Process::close() {
  for (auto &[rank, its] : ranks) {
    (void)its.gpu->makeCurrent();
    for (CUstream stream : its.streams)
      its.gpu->driver.cuStreamSynchronize(stream);
  }
  collectives.reset();
  for (auto &[rank, its] : ranks) {
    (void)its.gpu->makeCurrent();
    for (CUstream stream : its.streams)
      its.gpu->driver.cuStreamDestroy(stream);
    for (CUdeviceptr memory : its.memory)
      its.gpu->driver.cuMemFree(memory);
  }
  ranks.clear();
}

std::vector<Status> conformance::runProcesses(uint32_t worldSize,
                                              const std::vector<Case> &cases,
                                              uint32_t rounds) {
  test::Square square(worldSize);
  Failure failure;
  std::vector<Status> ends(worldSize);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < worldSize; ++rank)
    threads.emplace_back([&, rank] {
      test::ThreadWorld world(square, rank);
      Process process(world, worldSize, cases, failure);
      ends[rank] = process.run(rounds);
    });
  for (std::thread &thread : threads)
    thread.join();
  return ends;
}
