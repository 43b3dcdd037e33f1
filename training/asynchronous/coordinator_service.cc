#include "training/asynchronous/coordinator_service.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "core/error.h"
#include "training/steady_time.h"

namespace collbench {
namespace {

constexpr std::chrono::milliseconds between_looks{50};
constexpr Seconds farewell{5.0};  // or the timeout, if that is shorter

}  // namespace

CoordinatorService::CoordinatorService(const ServerRun& run, std::vector<NamedValue> values)
    : run_(run), values_(std::move(values)), workers_(run.workers.size()) {}

std::string CoordinatorService::answer(const IncomingCall& call) {
  PacketReader reader(call.request);
  switch (static_cast<Request>(reader.number())) {
    case Request::join:
      return join(reader, call.caller);
    case Request::next:
      return next(reader, call);
    default:
      throw InvalidArgument("the chief does not serve this request");
  }
}

std::string CoordinatorService::join(PacketReader& request, CallerNumber caller) {
  const auto index =
      static_cast<std::size_t>(request.number("worker", 0, std::ssize(run_.workers) - 1));
  const TaskAddress& worker = run_.workers[index];
  std::string unfit = request.text();
  if (!unfit.empty()) unfit = fmt::format("{} cannot take part: {}", worker.words(), unfit);
  try {
    if (unfit.empty()) {
      require_same(values_, "the chief", text_of(values_), worker.words(), request.text());
    }
  } catch (const Error& error) {
    unfit = error.what();
  }
  const std::lock_guard lock(mutex_);
  Worker& known = workers_[index];
  if (unfit.empty()) unfit = unfit_;
  if (!unfit.empty()) {
    if (closures_ == nullptr && unfit_.empty()) unfit_ = unfit;
    known.told = true;
    changed_.notify_all();
    throw TransportError(unfit);
  }
  if (closures_ != nullptr) {
    run_.say(worker.words() + (known.came ? " is back" : " has come"));
    if (known.caller != caller) closures_->lost(known.caller);
  }
  known.caller = caller;
  known.came = true;
  known.leaving = false;
  last_seen_ = steady_now();
  changed_.notify_all();
  return "";
}

void CoordinatorService::gone(CallerNumber caller) {
  const std::lock_guard lock(mutex_);
  if (closures_ != nullptr) closures_->lost(caller);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].caller != caller) continue;
    workers_[i].caller = 0;
    last_seen_ = steady_now();
    changed_.notify_all();
    if (!ended_ && !workers_[i].leaving) {
      run_.say(run_.workers[i].words() + " was lost; the run continues");
    }
  }
}

void CoordinatorService::require_its_place(std::size_t worker, CallerNumber caller) const {
  require(workers_[worker].caller == caller,
          fmt::format("this {} was replaced by another process of that name",
                      run_.workers[worker].name));
}

std::string CoordinatorService::next(PacketReader& request, const IncomingCall& call) {
  const auto index =
      static_cast<std::size_t>(request.number("worker", 0, std::ssize(run_.workers) - 1));
  const bool leaves = request.number("farewells", 0, 1) == 1;
  const bool has_result = request.number("results", 0, 1) == 1;
  const ClosureResult result = has_result ? read_result(request) : ClosureResult{};
  {
    std::unique_lock lock(mutex_);
    while (closures_ == nullptr && unfit_.empty() && !call.abandoned() &&
           workers_[index].caller == call.caller) {
      changed_.wait_for(lock, between_looks);
    }
    require_its_place(index, call.caller);
    workers_[index].told = !unfit_.empty();
    changed_.notify_all();
    if (!unfit_.empty()) throw TransportError(unfit_);
    if (closures_ == nullptr) throw TransportError("the chief ended before the run began");
    if (has_result) workers_[index].steps.push_back(result.times);
  }
  if (has_result) closures_->done(call.caller, result);
  const std::optional<std::int64_t> step =
      leaves ? std::nullopt : closures_->take(call.caller, call.abandoned);
  const std::lock_guard lock(mutex_);
  require_its_place(index, call.caller);
  if (!step && !call.abandoned()) {
    workers_[index].leaving = true;  // and gone when its connection ends
    if (leaves) run_.say(run_.workers[index].words() + " has left; the run continues");
  }
  return PacketWriter().number(step.value_or(-1)).take();
}

int CoordinatorService::here() const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(),
                                        [](const Worker& one) { return one.caller != 0; }));
}

std::string CoordinatorService::missing() const {
  std::string names;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].caller == 0) names += (names.empty() ? "" : ", ") + run_.workers[i].words();
  }
  return names;
}

void CoordinatorService::begin(Closures& closures) {
  RunPatience patience(run_);
  std::unique_lock lock(mutex_);
  while (here() < std::ssize(workers_)) {
    if (!unfit_.empty()) throw TransportError(unfit_);
    patience.look(missing());
    changed_.wait_for(lock, between_looks);
  }
  last_seen_ = steady_now();
  closures_ = &closures;
  changed_.notify_all();
}

void CoordinatorService::look_after_workers() {
  const std::lock_guard lock(mutex_);
  if (here() > 0 || steady_now() - last_seen_ < run_.timeout) return;
  closures_->fail(fmt::format("no worker has been there for {}", to_string(run_.timeout)));
}

bool CoordinatorService::end(const std::string& why) {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  if (!why.empty()) {
    if (unfit_.empty()) unfit_ = why;
    if (closures_ != nullptr) closures_->fail(why);
  }
  changed_.notify_all();
  return closures_ != nullptr;
}

void CoordinatorService::wait_for_farewells() {
  std::unique_lock lock(mutex_);
  // Workers that are still to come would wait for a chief in vain.
  const bool early = closures_ == nullptr;
  changed_.wait_for(lock, std::min(farewell, run_.timeout), [this, early] {
    return here() == 0 && (!early || std::all_of(workers_.begin(), workers_.end(),
                                                 [](const Worker& one) { return one.told; }));
  });
}

std::vector<ReplicaReport> CoordinatorService::reports() {
  const std::lock_guard lock(mutex_);
  std::vector<ReplicaReport> all(workers_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].steps = workers_[i].steps;
  return all;
}

}  // namespace collbench
