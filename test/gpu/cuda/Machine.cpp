//===- Machine.cpp - runs what streams were given -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An operation's clock is fixed when it is given to its stream: what is ahead
// of it there, what it waits for, and what the host knew to have ended. Nothing
// that happens to run earlier orders anything.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include <algorithm>
#include <fstream>
#include <utility>

using namespace emulated;

Machine::~Machine() {
  if (settings.counts.empty())
    return;
  std::ofstream file(settings.counts);
  for (const auto &[call, count] : calls)
    file << call << ' ' << count << '\n';
}

std::shared_ptr<Stream> Machine::makeStream(int device) {
  auto stream = std::make_shared<Stream>();
  stream->component = makeComponent();
  stream->number = nextStream++;
  stream->device = device;
  queues.push_back(stream);
  return stream;
}

void Machine::retire(const std::shared_ptr<Stream> &stream) {
  if (stream->queue.empty())
    queues.erase(std::find(queues.begin(), queues.end(), stream));
}

OperationPtr Machine::make(int device, Work work, uint32_t component,
                           Clock &clock, std::vector<OperationPtr> after) {
  auto operation = std::make_shared<Operation>();
  auto author = std::make_shared<Author>();
  clock.join(host);
  for (const OperationPtr &other : after)
    clock.join(other->by->clock);
  author->moment = clock.tick(component);
  author->clock = clock;
  author->what =
      work.what + " (operation " + std::to_string(operations++) + ")";
  operation->by = author;
  operation->device = device;
  operation->after = std::move(after);
  operation->work = std::move(work);
  operation->failure = std::exchange(lateFailure, CUDA_SUCCESS);
  if (operation->failure == CUDA_SUCCESS)
    operation->failure = operation->work.failure;
  for (const Work::Loan &loan : operation->work.loans)
    if (Block *block = memory.find(loan.begin, loan.end - loan.begin))
      memory.lend(block, loan.begin, loan.end, loan.isWrite, operation->by);
  if (operation->work.attend)
    arrive(operation);
  progress();
  return operation;
}

void Machine::enqueue(Stream &stream, const OperationPtr &operation) {
  stream.queue.push_back(operation);
  stream.last = operation;
  streamOf[operation.get()] = &stream;
}

CUresult Machine::submit(Stream &stream, Work work) {
  work.what += " in stream " + std::to_string(stream.number);
  if (stream.capture)
    return addNode(stream, std::move(work));
  enqueue(stream, make(stream.device, std::move(work), stream.component,
                       stream.clock, {}));
  return CUDA_SUCCESS;
}

void Machine::wait(Stream &stream, const OperationPtr &operation) {
  Work work;
  work.what = "a wait in stream " + std::to_string(stream.number);
  enqueue(stream, make(stream.device, std::move(work), stream.component,
                       stream.clock, {operation}));
}

CUresult Machine::launch(Execution &execution, Stream &stream) {
  Work begin;
  begin.what =
      "the begin of a graph in stream " + std::to_string(stream.number);
  std::vector<OperationPtr> after;
  if (execution.last)
    after.push_back(execution.last);
  const OperationPtr first = make(stream.device, std::move(begin),
                                  stream.component, stream.clock, after);
  enqueue(stream, first);
  std::vector<OperationPtr> made;
  std::vector<Clock> clocks(execution.components.size(), stream.clock);
  for (const Node &node : execution.graph.nodes) {
    std::vector<OperationPtr> before = {first};
    for (const uint32_t other : node.after)
      before.push_back(made[other]);
    Work work = node.work;
    work.what += ", replayed";
    made.push_back(make(stream.device, std::move(work),
                        execution.components[node.stream], clocks[node.stream],
                        std::move(before)));
    loose.push_back(made.back());
  }
  Work end;
  end.what = "the end of a graph in stream " + std::to_string(stream.number);
  execution.last =
      make(stream.device, std::move(end), stream.component, stream.clock, made);
  enqueue(stream, execution.last);
  return CUDA_SUCCESS;
}

bool Machine::isReady(const Operation &operation) const {
  return std::all_of(
             operation.after.begin(), operation.after.end(),
             [](const OperationPtr &other) { return other->hasEnded; }) &&
         (!operation.attendance || canAttend(operation));
}

std::vector<OperationPtr> Machine::findReady() {
  std::vector<OperationPtr> result;
  for (const auto &stream : queues)
    if (!stream->queue.empty() && isReady(*stream->queue.front()))
      result.push_back(stream->queue.front());
  for (const OperationPtr &operation : loose)
    if (isReady(*operation))
      result.push_back(operation);
  return result;
}

OperationPtr Machine::findNext(const OperationPtr &operation) {
  std::set<const Operation *> seen;
  return findNext(operation, seen);
}

OperationPtr Machine::findNext(const OperationPtr &operation,
                               std::set<const Operation *> &seen) {
  OperationPtr at = operation;
  while (seen.insert(at.get()).second) {
    const auto found = streamOf.find(at.get());
    if (found != streamOf.end() && found->second->queue.front() != at) {
      at = found->second->queue.front();
      continue;
    }
    const auto open = std::find_if(
        at->after.begin(), at->after.end(),
        [](const OperationPtr &other) { return !other->hasEnded; });
    if (open == at->after.end())
      return at->attendance ? findMissing(at, seen) : at;
    at = *open;
  }
  return nullptr;
}

void Machine::runPiece(const OperationPtr &operation) {
  ++piecesRun;
  progress();
  Device &device = devices[operation->device];
  CUresult result = CUDA_SUCCESS;
  bool goesOn = false;
  // After a failure a device does nothing more.
  if (device.failure == CUDA_SUCCESS) {
    result = operation->failure;
    if (result == CUDA_SUCCESS && operation->attendance)
      goesOn = !attend(*operation, result);
    else if (result == CUDA_SUCCESS && operation->work.run)
      result = operation->work.run(*operation, operation->ran);
    if (result != CUDA_SUCCESS)
      device.failure = result;
  }
  if ((++operation->ran < operation->work.pieces || goesOn) &&
      result == CUDA_SUCCESS)
    return;
  end(operation);
}

void Machine::end(const OperationPtr &operation) {
  operation->hasEnded = true;
  operation->endedAt = piecesRun;
  operation->after.clear();
  if (operation->attendance)
    depart(*operation);
  operation->work = {};
  const auto found = streamOf.find(operation.get());
  if (found == streamOf.end()) {
    loose.erase(std::find(loose.begin(), loose.end(), operation));
    return;
  }
  Stream &stream = *found->second;
  streamOf.erase(found);
  stream.queue.pop_front();
  auto isStream = [&](const auto &entry) {
    return entry.second.get() == &stream;
  };
  if (stream.queue.empty() &&
      std::none_of(streams.begin(), streams.end(), isStream))
    queues.erase(
        std::find_if(queues.begin(), queues.end(), [&](const auto &other) {
          return other.get() == &stream;
        }));
}

void Machine::runUntil(const std::function<OperationPtr()> &findOpen) {
  while (const OperationPtr open = findOpen()) {
    OperationPtr next = settings.seed < 2 ? findNext(open) : nullptr;
    if (!next) {
      const std::vector<OperationPtr> ready = findReady();
      if (!ready.empty())
        next = ready[settings.seed < 2 ? 0 : draw(ready.size())];
    }
    if (next)
      runPiece(next);
    else
      waitForChange();
  }
}

void Machine::finish(const OperationPtr &operation) {
  if (!operation)
    return;
  runUntil([&] { return operation->hasEnded ? nullptr : operation; });
  learn(*operation);
}

void Machine::finishAll(int device) {
  runUntil([&]() -> OperationPtr {
    for (const auto &stream : queues)
      if (stream->device == device && !stream->queue.empty())
        return stream->queue.back();
    return nullptr;
  });
  for (const auto &[handle, stream] : streams)
    if (stream->device == device && stream->last)
      learn(*stream->last);
}

void Machine::waitForDevices() {
  runUntil([&]() -> OperationPtr {
    for (const auto &stream : queues)
      if (!stream->queue.empty())
        return stream->queue.back();
    return nullptr;
  });
}

void Machine::learn(const Operation &operation) {
  host.join(operation.by->clock);
  memory.giveBack(host);
}

void Machine::answer(uint32_t &patience, const OperationPtr &operation) {
  if (!operation || operation->hasEnded)
    return;
  if (patience > 0) {
    --patience;
    return;
  }
  // A device does much between two questions; one that did little would have
  // whoever asks pause thousands of times a step.
  for (int ran = 0; ran < 16 && !operation->hasEnded; ++ran) {
    if (const OperationPtr next = findNext(operation)) {
      runPiece(next);
    } else if (const auto ready = findReady(); !ready.empty()) {
      runPiece(ready[0]);
    } else {
      if (ran == 0)
        askInVain(operation->by->what);
      break;
    }
  }
  patience = uint32_t(draw(4));
}

void Machine::drift() {
  if (settings.seed == 0)
    return;
  // Early: all that can run. Else a few pieces, every other time.
  const uint64_t most = settings.seed == 1 ? UINT64_MAX : draw(2) ? draw(8) : 0;
  for (uint64_t ran = 0; ran < most; ++ran) {
    const std::vector<OperationPtr> ready = findReady();
    if (ready.empty())
      return;
    runPiece(ready[settings.seed == 1 ? 0 : draw(ready.size())]);
  }
}

void Machine::touch(const Operation &operation, uint64_t begin, uint64_t end,
                    bool isWrite) {
  if (begin == end)
    return;
  const std::string conflict = history.touch(operation.by, begin, end, isWrite);
  if (!conflict.empty())
    fault(operation.by->what + (isWrite ? " writes " : " reads ") +
          memory.describe(begin) + " (" + std::to_string(end - begin) +
          " bytes), and nothing orders it with " + conflict);
}
