//===- Rendezvous.cpp - operations that wait for those of other devices ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An operation that attends (Guest.h) takes a place of its device when it is at
// the head of its stream and of its lane, and gives it back when it ends. Who
// waits for one that cannot run yet leaves the lock to other threads. Whether
// anything can still come is computed, not timed: an operation is stuck unless
// it could end if all that was not given yet were given now. Threads that wait
// for what nobody gives are seen when as many as drive streams wait or have
// ended (`drivers`).
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include <algorithm>

using namespace emulated;

/// Questions in vain, without any change, after which a thread is taken to
/// wait.
static constexpr uint64_t kPatience = 1000;

static bool isBroken(const Operation &operation) {
  return bool(operation.attendance->onBegin);
}

//===----------------------------------------------------------------------===//
// Who waits for what
//===----------------------------------------------------------------------===//

/// What keeps the operations of a machine, as it is now.
class emulated::Waits {
public:
  explicit Waits(const Machine &machine) : machine(machine) {}

  /// The one before it in its lane that has not ended, or null.
  const Operation *before(const Operation &operation) const {
    const Operation *result = nullptr;
    for (const OperationPtr &other :
         machine.devices[operation.device].attending) {
      if (other.get() == &operation)
        break;
      if (other->work.lane == operation.work.lane)
        result = other.get();
    }
    return result;
  }
  bool canMeet(const Attendance::Part &part) const {
    const auto &members = part.with->members;
    return !part.with->hasRun &&
           std::all_of(members.begin(), members.end(),
                       [](const auto &member) {
                         const Operation *its = member.operation;
                         return its && its->hasPlace && !its->isAborted &&
                                !isBroken(*its);
                       }) &&
           (!part.with->isThere || part.with->isThere());
  }

  /// Those that can never end. None once something was aborted: then others
  /// will be, and nobody knows when.
  std::set<const Operation *> findStuck() {
    if (machine.hasAborted)
      return {};
    std::vector<const Operation *> open;
    for (const auto &stream : machine.queues)
      for (const OperationPtr &operation : stream->queue)
        open.push_back(operation.get());
    for (const OperationPtr &operation : machine.loose)
      open.push_back(operation.get());
    for (bool changed = true; changed;) {
      changed = false;
      for (const Operation *operation : open)
        if (!ends.count(operation) && mayEnd(*operation)) {
          ends.insert(operation);
          changed = true;
        }
    }
    std::set<const Operation *> stuck;
    for (const Operation *operation : open)
      if (!ends.count(operation))
        stuck.insert(operation);
    return stuck;
  }

  /// What keeps an operation, in words.
  std::string describe(const Operation &operation) const {
    if (const Operation *its = ahead(operation))
      return "comes behind " + its->by->what;
    for (const OperationPtr &other : operation.after)
      if (!other->hasEnded)
        return "waits for " + other->by->what;
    if (!operation.attendance)
      return "can run";
    if (!operation.hasPlace) {
      if (const Operation *its = before(operation))
        return "comes behind " + its->by->what;
      return "has no place on device " + std::to_string(operation.device);
    }
    if (isBroken(operation))
      return "has failed";
    std::string text;
    for (const Attendance::Part &part : operation.attendance->parts) {
      if (part.with->hasRun)
        continue;
      for (const Rendezvous::Member &member : part.with->members)
        if (!member.operation || !member.operation->hasPlace)
          text += (text.empty() ? "waits for " : ", ") + member.name +
                  (member.operation ? " (" + member.operation->by->what + ")"
                                    : ", of which no stream was given it");
    }
    return text.empty() ? "can run" : text;
  }

private:
  /// The one before it in its stream.
  const Operation *ahead(const Operation &operation) const {
    const auto found = machine.streamOf.find(&operation);
    if (found == machine.streamOf.end())
      return nullptr;
    const Operation *result = nullptr;
    for (const OperationPtr &other : found->second->queue) {
      if (other.get() == &operation)
        break;
      result = other.get();
    }
    return result;
  }
  bool willEnd(const Operation *operation) const {
    return !operation || operation->hasEnded || ends.count(operation);
  }
  bool willHavePlace(int device) const {
    uint64_t kept = 0;
    for (const OperationPtr &other : machine.devices[device].attending)
      kept += other->hasPlace && !willEnd(other.get());
    return kept < machine.settings.places;
  }
  bool mayBegin(const Operation &operation) const {
    if (operation.hasPlace)
      return true;
    const bool isFree = std::all_of(
        operation.after.begin(), operation.after.end(),
        [&](const OperationPtr &other) { return willEnd(other.get()); });
    return isFree && willEnd(ahead(operation)) &&
           (!operation.attendance ||
            (willEnd(before(operation)) && willHavePlace(operation.device)));
  }
  bool mayCome(const Rendezvous::Member &member) const {
    if (member.operation)
      return mayBegin(*member.operation);
    const auto &all = machine.devices[member.device].attending;
    return willHavePlace(member.device) &&
           std::all_of(all.begin(), all.end(), [&](const OperationPtr &other) {
             return other->work.lane != member.lane || willEnd(other.get());
           });
  }
  bool mayEnd(const Operation &operation) const {
    if (!mayBegin(operation))
      return false;
    if (!operation.attendance || operation.isAborted || isBroken(operation) ||
        machine.devices[operation.device].failure != CUDA_SUCCESS)
      return true;
    const auto &parts = operation.attendance->parts;
    return std::all_of(
        parts.begin(), parts.end(), [&](const Attendance::Part &part) {
          const auto &members = part.with->members;
          return part.with->hasRun ||
                 std::all_of(members.begin(), members.end(),
                             [&](const auto &its) { return mayCome(its); });
        });
  }

  const Machine &machine;
  std::set<const Operation *> ends;
};

//===----------------------------------------------------------------------===//
// Operations that attend
//===----------------------------------------------------------------------===//

/// As many as there are of which none has an order with another.
static std::vector<History::By> mostApart(const std::vector<History::By> &all) {
  const auto areApart = [&](const History::By &a, const History::By &b) {
    return a == b ||
           (!a->clock.covers(b->moment) && !b->clock.covers(a->moment));
  };
  std::vector<History::By> best;
  const size_t count = std::min<size_t>(all.size(), 12); // the rest is not seen
  for (uint32_t chosen = 0; chosen < (1u << count); ++chosen) {
    std::vector<History::By> some;
    for (size_t i = 0; i < count; ++i)
      if (chosen >> i & 1)
        some.push_back(all[i]);
    if (some.size() > best.size() &&
        std::all_of(some.begin(), some.end(), [&](const History::By &one) {
          return std::all_of(
              some.begin(), some.end(),
              [&](const History::By &other) { return areApart(one, other); });
        }))
      best = std::move(some);
  }
  return best;
}

void Machine::arrive(const OperationPtr &operation) {
  const void *lane = operation->work.lane;
  operation->attendance =
      std::make_unique<Attendance>(operation->work.attend());
  for (const Attendance::Part &part : operation->attendance->parts)
    part.with->members[part.member].operation = operation.get();
  Device &device = devices[operation->device];
  device.attending.push_back(operation);
  // Calls of one communicator are to begin in one order everywhere.
  if (const auto before = device.lastOf.find(lane);
      before != device.lastOf.end() &&
      !operation->by->clock.covers(before->second->moment))
    fault("nothing orders " + operation->by->what + " with " +
          before->second->what + " of the same communicator");
  // Streams that nothing orders may take any of them first.
  std::vector<History::By> others;
  for (const auto &[other, by] : device.lastOf)
    if (other != lane && !operation->by->clock.covers(by->moment))
      others.push_back(by);
  others = mostApart(others);
  if (others.size() >= settings.places) {
    std::string with;
    for (const auto &by : others)
      with += (with.empty() ? "" : ", ") + by->what;
    fault("nothing orders " + operation->by->what + " with " + with +
          ", and device " + std::to_string(device.ordinal) +
          " has a place for " +
          (settings.places == 1 ? "one" : std::to_string(settings.places)) +
          " of them");
  }
  device.lastOf[lane] = operation->by;
}

void Machine::depart(Operation &operation) {
  for (const Attendance::Part &part : operation.attendance->parts)
    part.with->members[part.member].operation = nullptr;
  operation.attendance.reset();
  auto &all = devices[operation.device].attending;
  all.erase(std::find_if(all.begin(), all.end(), [&](const auto &other) {
    return other.get() == &operation;
  }));
}

bool Machine::canAttend(const Operation &operation) const {
  const Device &device = devices[operation.device];
  if (operation.isAborted || device.failure != CUDA_SUCCESS)
    return true;
  const Waits waits(*this);
  if (!operation.hasPlace) {
    const auto placed = std::count_if(
        device.attending.begin(), device.attending.end(),
        [](const OperationPtr &other) { return other->hasPlace; });
    return uint64_t(placed) < settings.places && !waits.before(operation);
  }
  const auto &parts = operation.attendance->parts;
  const auto hasRun = [](const Attendance::Part &part) {
    return part.with->hasRun;
  };
  return !isBroken(operation) &&
         (std::all_of(parts.begin(), parts.end(), hasRun) ||
          std::any_of(parts.begin(), parts.end(),
                      [&](const Attendance::Part &part) {
                        return waits.canMeet(part);
                      }));
}

bool Machine::attend(Operation &operation, CUresult &result) {
  Attendance &its = *operation.attendance;
  if (operation.isAborted)
    return true;
  if (!operation.hasPlace) {
    operation.hasPlace = true;
    if (its.leave)
      its.leave(*makeAccess(operation));
    if (its.onBegin)
      its.onBegin();
    return false;
  }
  const Waits waits(*this);
  std::vector<const Attendance::Part *> open;
  for (const Attendance::Part &part : its.parts)
    if (waits.canMeet(part))
      open.push_back(&part);
  if (open.empty())
    return true;
  Rendezvous &chosen = *open[settings.seed < 2 ? 0 : draw(open.size())]->with;
  std::vector<std::unique_ptr<Access>> accesses;
  std::vector<Access *> memory;
  for (const Rendezvous::Member &member : chosen.members) {
    accesses.push_back(makeAccess(*member.operation));
    memory.push_back(accesses.back().get());
  }
  chosen.hasRun = true;
  if (!chosen.run(memory))
    result = CUDA_ERROR_ILLEGAL_ADDRESS;
  return false;
}

OperationPtr Machine::findMissing(const OperationPtr &operation,
                                  std::set<const Operation *> &seen) {
  if (canAttend(*operation))
    return operation;
  const Waits waits(*this);
  std::vector<Operation *> candidates;
  if (operation->hasPlace) {
    for (const Attendance::Part &part : operation->attendance->parts)
      if (!part.with->hasRun)
        for (const Rendezvous::Member &member : part.with->members)
          if (member.operation && !member.operation->hasPlace)
            candidates.push_back(member.operation);
  } else if (const Operation *before = waits.before(*operation)) {
    candidates.push_back(const_cast<Operation *>(before));
  } else {
    for (const OperationPtr &other : devices[operation->device].attending)
      if (other->hasPlace)
        candidates.push_back(other.get());
  }
  for (Operation *candidate : candidates)
    if (OperationPtr next = findNext(candidate->shared_from_this(), seen))
      return next;
  return nullptr;
}

void Machine::abort(const void *lane) {
  hasAborted = true;
  // What was to come has not, and what streams make of that nobody will use.
  memory.takeForWritten();
  for (Device &device : devices) {
    device.lastOf.erase(lane);
    for (const OperationPtr &operation : device.attending)
      if (operation->work.lane == lane)
        operation->isAborted = true;
  }
  progress();
}

bool Machine::isCaptured(const void *lane) const {
  const auto holds = [&](const Graph &graph) {
    return std::any_of(
        graph.nodes.begin(), graph.nodes.end(),
        [&](const Node &node) { return node.work.lane == lane; });
  };
  return std::any_of(graphs.begin(), graphs.end(),
                     [&](const auto &entry) { return holds(*entry.second); }) ||
         std::any_of(
             executions.begin(), executions.end(),
             [&](const auto &entry) { return holds(entry.second->graph); });
}

const char *Machine::besides(int device) const {
  for (const OperationPtr &operation : devices[size_t(device)].attending)
    if (operation->hasPlace && !operation->isAborted)
      return operation->by->what.c_str();
  return "";
}

bool Machine::isBusy(const void *lane) {
  for (const Device &device : devices)
    for (const OperationPtr &operation : device.attending)
      if (operation->work.lane == lane) {
        if (const OperationPtr next = findNext(operation))
          runPiece(next);
        return true;
      }
  return false;
}

//===----------------------------------------------------------------------===//
// Threads that wait
//===----------------------------------------------------------------------===//

void Machine::progress() {
  ++changes;
  changed.notify_all();
}

void Machine::leave() {
  threads[std::this_thread::get_id()].isGone = true;
  changed.notify_all();
}

bool Machine::isQuiet() {
  if (settings.drivers == 0 || hasOthers() || !findReady().empty())
    return false;
  const auto idle =
      std::count_if(threads.begin(), threads.end(), [&](const auto &entry) {
        const Thread &thread = entry.second;
        return thread.isGone || (thread.since == changes &&
                                 (thread.waits || thread.vain >= kPatience));
      });
  return uint64_t(idle) >= settings.drivers;
}

void Machine::giveUp(const std::string &why,
                     const std::set<const Operation *> &stuck) {
  const Waits waits(*this);
  std::string text = why;
  for (const Device &device : devices)
    for (const OperationPtr &operation : device.attending)
      if (stuck.empty() || stuck.count(operation.get()))
        text += "\n  " + operation->by->what + ' ' + waits.describe(*operation);
  for (const auto &[id, thread] : threads)
    if (stuck.empty() && thread.since == changes && thread.vain >= kPatience)
      text += "\n  a thread asks for " + thread.what;
  fault(text);
  // A test goes on: with devices that have failed.
  isOver = true;
  for (Device &device : devices)
    device.failure = CUDA_ERROR_LAUNCH_FAILED;
  progress();
}

bool Machine::waitForChange() {
  if (const auto stuck = Waits(*this).findStuck(); !stuck.empty()) {
    giveUp("operations wait for each other for ever:", stuck);
    return false;
  }
  Thread &thread = threads[std::this_thread::get_id()];
  thread.waits = true;
  thread.since = changes;
  const bool isOverNow = isQuiet();
  if (isOverNow)
    giveUp("nothing can run any more, and all threads wait:", {});
  else if (hasOthers()) // which do not tell
    changed.wait_for(lock, std::chrono::milliseconds(1));
  else
    changed.wait(lock);
  thread.waits = false;
  return !isOverNow;
}

bool Machine::askInVain(const std::string &what) {
  if (isOver)
    return false;
  if (const auto stuck = Waits(*this).findStuck(); !stuck.empty()) {
    giveUp("operations wait for each other for ever:", stuck);
    return false;
  }
  Thread &thread = threads[std::this_thread::get_id()];
  if (thread.since != changes)
    thread.vain = 0;
  thread.since = changes;
  thread.what = what;
  if (++thread.vain < kPatience || !isQuiet())
    return true;
  giveUp("nothing can run any more, and all threads wait:", {});
  return false;
}
