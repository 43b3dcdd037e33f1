// Tells other processes what the clock of this one is, so that they know how far theirs is off.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.h"

namespace collbench {

/// Answers on a thread of its own, one caller after the other, until it is destroyed: to each eight
/// bytes that it is sent with CLOCK_MONOTONIC in nanoseconds.
class ClockServer {
 public:
  /// Starts; without a network there is only a name of the clock.
  ClockServer();
  ~ClockServer();
  ClockServer(const ClockServer&) = delete;
  ClockServer& operator=(const ClockServer&) = delete;

  /// For clock_against() (transports/mpi/profile/profile_clock.h).
  const std::string& reference() const { return reference_; }
  int port() const { return port_; }

 private:
  void serve() const;

  std::vector<Descriptor> listeners_;
  std::string reference_;
  int port_ = 0;
  std::atomic<bool> is_ended_ = false;
  std::thread thread_;
};

}  // namespace collbench
