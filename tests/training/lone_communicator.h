// The communicator of a world of one rank, which notes what it is asked for.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "transports/communicator.h"

namespace collbench {

class LoneCommunicator final : public Communicator {
 public:
  Rank rank() const override { return 0; }
  int ranks() const override { return 1; }
  Seconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
  void all_reduce(Region in, Region out, ReduceOp op) override {
    calls += op == ReduceOp::max ? 'x' : 's';
    if (in.data != out.data) std::copy_n(in.data, in.size().count, out.data);
  }
  void broadcast(Region /*region*/, Rank /*root*/) override { calls += 'b'; }
  void barrier() override { calls += 'm'; }
  std::string description() const override { return "alone"; }

  std::string calls;  // 's': a sum, 'x': a maximum, 'b': a broadcast, 'm': a barrier
};

}  // namespace collbench
