// An endpoint around another one, to which calls that are not overridden are forwarded.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "transports/endpoint.h"

namespace collbench {

/// Base of endpoints that act on the messages of another one, which they keep. Not forwarded: fused
/// plans, which have no messages, and try_wait(), because the derived wait() may do more than the
/// wrapped one. Thread safety: as the wrapped one's.
class WrappedEndpoint : public Endpoint {
 public:
  Rank rank() const override { return endpoint_->rank(); }
  int ranks() const override { return endpoint_->ranks(); }
  Seconds now() const final { return endpoint_->now(); }
  bool reaches(Region region) const final { return endpoint_->reaches(region); }
  std::byte* scratch(ScratchUse use, Bytes size) override { return endpoint_->scratch(use, size); }
  std::string give_up(const std::string& reason) final { return endpoint_->give_up(reason); }

  void reserve(const Traffic& traffic) override { endpoint_->reserve(traffic); }
  Ticket send(Rank to, Region from) override { return endpoint_->send(to, from); }
  Ticket recv(Rank from, Region into) override { return endpoint_->recv(from, into); }
  Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                     Reduction reduction) override {
    return endpoint_->recv_reduce(sources, own, into, reduction);
  }
  void wait(Ticket ticket) override { endpoint_->wait(ticket); }

 protected:
  explicit WrappedEndpoint(std::shared_ptr<Endpoint> endpoint) : endpoint_(std::move(endpoint)) {}

  const std::shared_ptr<Endpoint> endpoint_;
};

}  // namespace collbench
