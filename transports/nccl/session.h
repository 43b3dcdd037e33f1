// One NCCL communicator that cannot hang: all waits for NCCL happen here.
//
// NCCL blocks for ever if a peer is lost. So a guard thread watches every call into it and
// aborts the communicator when the call, or the wait for what it enqueued, takes longer than the
// timeout, when NCCL reports an asynchronous error, or when the caller's team gives up. The
// abort makes NCCL's blocked calls return. (nccl-tests and PyTorch wait in the same manner.)
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>

#include "algorithms/schedule.h"
#include "core/units.h"
#include "transports/cuda/nccl_library.h"
#include "transports/nccl/settings.h"

namespace collbench {

struct NcclOptions {
  Rank rank = 0;
  int ranks = 1;
  int device = 0;         // of those that this process sees
  std::string unique_id;  // what make_nccl_id() gave to one of the ranks
  NcclSettings settings;
  Seconds timeout{60};
  /// Polled while waiting: whether the team has given up. May be empty.
  std::function<bool()> cancelled;
  std::string remark;  // "2 ranks on one GPU, time-sliced"; for the description
};

/// A new NCCL unique id as text, to be passed to all ranks. Throws Unavailable.
std::string make_nccl_id();

/// Every member that calls NCCL throws TransportError with rank, call and NCCL's message if it
/// fails, and every call after the first failure rethrows that. Thread safety: one thread at a
/// time.
class NcclSession {
 public:
  /// Joins the other ranks. Throws Unavailable if NCCL refuses this placement of ranks.
  explicit NcclSession(const NcclOptions& options);
  /// Leaves in order, or aborts after a failure; never blocks longer than the timeout.
  ~NcclSession();
  NcclSession(const NcclSession&) = delete;
  NcclSession& operator=(const NcclSession&) = delete;

  const NcclOptions& options() const { return options_; }
  const LoadedNccl& library() const { return nccl_; }
  NcclComm comm() const { return comm_; }
  /// False after the first failure: the communicator is then gone.
  bool usable() const { return !failure_ && !aborted_; }

  /// Makes calls into NCCL that return its result; done when NCCL is done with them.
  template <typename Calls>
  void call(const char* name, Calls calls) {
    begin_call();
    end_call(name, calls());
  }
  /// Waits until `done` is true, spinning, because operations take microseconds.
  void wait(const char* name, const std::function<bool()>& done);

 private:
  using Clock = std::chrono::steady_clock;

  void join_blocking(NcclConfig& config, const NcclUniqueId& id);
  void join_nonblocking(NcclConfig& config, const NcclUniqueId& id);
  void begin_call();
  void end_call(const char* name, int result);
  void settle(const char* name, int result);
  int health() const;
  bool given_up() const;
  [[noreturn]] void fail(const char* name, const std::string& why);
  [[noreturn]] void fail_with(const char* name, int error);
  std::string words(int error) const;
  std::string late() const;
  void watch();
  void abort_once();
  void leave();

  NcclOptions options_;
  const LoadedNccl& nccl_;
  NcclComm comm_ = nullptr;
  std::exception_ptr failure_;
  std::atomic<std::int64_t> deadline_ns_{0};  // of the call under way; 0: none
  std::atomic<bool> aborted_{false};
  std::atomic<bool> closing_{false};
  std::thread guard_;
};

}  // namespace collbench
