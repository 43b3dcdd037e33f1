#include "bench/measure/thread_team.h"

#include "bench/measure/load_watch.h"
#include "bench/measure/user_buffers.h"
#include "core/available_memory.h"
#include "core/error.h"

namespace collbench {

Measurement conclude(std::span<std::optional<CaseOutcome>> outcomes, const Control& control,
                     std::string& broken) {
  bool refused = true;
  std::optional<Fault> first = control.fault();
  for (const auto& outcome : outcomes) {
    const Fault* fault = outcome ? std::get_if<Fault>(&*outcome) : nullptr;
    if (fault != nullptr && !first) first = *fault;
    refused = refused && fault != nullptr &&
              (fault->kind == FaultKind::unavailable || fault->kind == FaultKind::invalid_argument);
  }
  if (!first) return std::get<Measurement>(std::move(*outcomes[0]));
  if (!refused) broken = first->what;
  raise(*first);
}

ThreadTeam::ThreadTeam(const Backend& backend, int ranks, Seconds timeout)
    : backend_(backend),
      ranks_(ranks),
      control_memory_(allocate_pages(Control::bytes(ranks))),
      control_(Control::create(control_memory_.get(), ranks)) {
  sampling_.timeout = timeout;
  threads_.reserve(static_cast<std::size_t>(ranks));
  for (Rank rank = 0; rank < ranks; ++rank) threads_.emplace_back([this, rank] { work(rank); });
}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::work(Rank rank) {
  WorkerContext context;
  context.rank = rank;
  context.ranks = ranks_;
  const auto index = static_cast<std::size_t>(rank);
  std::unique_lock lock(mutex_);
  for (std::uint64_t finished = 0;; ++finished) {
    changed_.wait(lock, [&] { return leaving_ || started_ > finished; });
    if (leaving_) return;
    context.arena = arena_;
    context.shared = shared_;
    const Case which = cases_[index];
    lock.unlock();
    CaseOutcome outcome = run_worker_case(backend_, which, sampling_, control_, context);
    context.shared.reset();
    lock.lock();
    outcomes_[index] = std::move(outcome);
    if (--unfinished_ == 0) changed_.notify_all();
  }
}

Measurement ThreadTeam::measure(const Case& which, const Sampling& sampling) {
  const std::vector<Case> cases(static_cast<std::size_t>(ranks_), which);
  return measure_each(cases, sampling);
}

void ThreadTeam::run_on_all(std::span<const Case> cases, const Sampling& sampling) {
  std::unique_lock lock(mutex_);
  cases_ = cases;
  sampling_ = sampling;
  outcomes_.assign(static_cast<std::size_t>(ranks_), std::nullopt);
  unfinished_ = ranks_;
  ++started_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return unfinished_ == 0; });
}

Measurement ThreadTeam::measure_each(std::span<const Case> cases, const Sampling& sampling) {
  if (!broken_.empty()) throw TransportError("the team cannot go on after: " + broken_);
  const Case& which = cases[0];
  require_memory(which, available_memory());
  control_ = Control::create(control_memory_.get(), ranks_);
  std::shared_ptr<std::byte> arena;
  if (backend_.arena_bytes != nullptr) {
    arena = allocate_pages(backend_.arena_bytes(which));
    backend_.lay_out_arena(which, arena.get(), sampling.timeout);
  }
  arena_ = arena.get();
  if (backend_.share != nullptr) shared_ = backend_.share(which);
  const LoadWatch watch({}, ranks_);
  run_on_all(cases, sampling);
  arena_ = nullptr;
  shared_.reset();
  Measurement measured = conclude(outcomes_, control_, broken_);
  for (std::string& warning : watch.warnings()) measured.warnings.push_back(std::move(warning));
  return measured;
}

}  // namespace collbench
