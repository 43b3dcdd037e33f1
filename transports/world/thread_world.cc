#include "transports/world/thread_world.h"

#include "core/error.h"
#include "core/start_threads.h"
#include "core/stop_request.h"
#include "transports/waiting.h"

namespace collbench {

ThreadWorld::ThreadWorld(const WorldSpec& spec)
    : backend_(find_backend(spec.backend)),
      ranks_(spec.ranks),
      control_memory_(allocate_pages(Control::bytes(spec.ranks))),
      control_(Control::create(control_memory_.get(), spec.ranks)) {
  threads_.reserve(static_cast<std::size_t>(ranks_));
  try {
    start_threads(
        ranks_, [this](Rank rank) { live(rank); }, threads_);
  } catch (...) {
    join_all();
    throw;
  }
}

ThreadWorld::~ThreadWorld() { join_all(); }

void ThreadWorld::join_all() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadWorld::live(Rank rank) {
  take_short_turns();
  RankContext context;
  context.rank = rank;
  context.ranks = ranks_;
  std::unique_lock lock(mutex_);
  for (std::uint64_t finished = 0;; ++finished) {
    changed_.wait(lock, [&] { return leaving_ || started_ > finished; });
    if (leaving_) return;
    context.arena = arena_;
    context.shared = shared_;
    context.timeout = timeout_;
    context.made = 0;
    lock.unlock();
    const bool well = run(context);
    lock.lock();
    if (--unfinished_ == ranks_) changed_.notify_all();
    changed_.wait(lock, [&] { return unfinished_ <= ranks_; });  // no rank reads another any more
    lock.unlock();
    context.kept.reset();
    if (!well || !backend_.keeps_communicator) context.communicator.reset();
    context.shared.reset();
    lock.lock();
    if (--unfinished_ == 0) changed_.notify_all();
  }
}

// A failure ends the others' waiting before anything of this rank is taken down.
bool ThreadWorld::run(RankContext& context) {
  SharedRendezvous rendezvous(control_, context.rank, timeout_);
  context.rendezvous = &rendezvous;
  try {
    work_->run(context);
    return true;
  } catch (...) {
    const Fault fault = current_fault(context.rank);
    {
      const std::lock_guard lock(mutex_);
      failures_.push_back(std::current_exception());
      refusals_ += is_refusal(fault);
    }
    abort_all(fault);
    return false;
  }
}

void ThreadWorld::run_on_all() {
  std::unique_lock lock(mutex_);
  failures_.clear();
  refusals_ = 0;
  unfinished_ = 2 * ranks_;
  ++started_;
  changed_.notify_all();
  const auto done = [&] { return unfinished_ == 0; };
  while (!changed_.wait_for(lock, std::chrono::milliseconds(50), done)) {
    if (time_since_stop_signal() <= work_->stop_grace || !failures_.empty()) continue;
    lock.unlock();  // a rank that fails takes the lock
    abort_all(stopped_fault());
    lock.lock();
    changed_.wait(lock, done);
    return;
  }
}

void ThreadWorld::abort_all(const Fault& fault) {
  control_.abort(fault);
  if (backend_.abort != nullptr) backend_.abort(*spec_, arena_, fault.what);
  if (backend_.abort_shared != nullptr) backend_.abort_shared(shared_.get(), fault.what);
}

// What is no TransportError comes first: those may be its consequences.
void ThreadWorld::throw_failure() {
  if (failures_.empty()) return;
  std::exception_ptr first = failures_.front();
  for (const std::exception_ptr& failure : failures_) {
    try {
      std::rethrow_exception(failure);
    } catch (const TransportError&) {
      continue;
    } catch (...) {
      first = failure;
      break;
    }
  }
  if (refusals_ < ranks_) {
    const std::optional<Fault> fault = control_.fault();
    broken_ = fault ? fault->what : "a failure";
  }
  failures_.clear();
  std::rethrow_exception(first);
}

void ThreadWorld::on_all(const WorldSpec& spec, Seconds timeout, const Work& work) {
  if (!broken_.empty()) throw TransportError("the ranks cannot go on after: " + broken_);
  control_ = Control::create(control_memory_.get(), ranks_);
  std::shared_ptr<std::byte> arena;
  if (backend_.arena_bytes != nullptr) {
    arena = allocate_pages(backend_.arena_bytes(spec));
    backend_.lay_out_arena(spec, arena.get(), timeout);
  }
  if (backend_.share != nullptr) shared_ = backend_.share(spec, timeout);
  arena_ = arena.get();
  spec_ = &spec;
  work_ = &work;
  timeout_ = timeout;
  run_on_all();
  arena_ = nullptr;
  shared_.reset();
  throw_failure();
}

}  // namespace collbench
