// A rendezvous of ranks that share no memory: its barrier and gather are all-reduces over the
// endpoint that carries the measured ones.
//
// So it needs no second connection, and what ends the one ends the other: a lost rank is named by
// the endpoint, whatever the others wait in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/communicator.h"
#include "transports/world/rendezvous.h"

namespace collbench {

class EndpointRendezvous final : public Rendezvous {
 public:
  /// Meets over a view of `endpoint`, which all ranks have joined.
  explicit EndpointRendezvous(std::shared_ptr<Endpoint> endpoint);

  Rank rank() const override { return communicator_->rank(); }
  int ranks() const override { return communicator_->ranks(); }
  void barrier() override { communicator_->barrier(); }
  std::vector<std::int64_t> gather(std::span<const std::int64_t> mine) override;
  void note_progress() override {}  // the endpoint asks late ranks whether they live
  bool one_clock() const override { return one_clock_; }
  /// No until it is known that all ranks run on one machine.
  void set_one_clock(bool one_clock) { one_clock_ = one_clock; }

 private:
  std::unique_ptr<Communicator> communicator_;
  bool one_clock_ = false;
};

}  // namespace collbench
