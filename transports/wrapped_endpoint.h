// An endpoint around another: what both have in common is handed through.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "transports/endpoint.h"

namespace collbench {

/// Base of endpoints that do something with the messages of another one, which they own. Fused
/// plans are not handed through, since they have no messages. Thread safety: as the wrapped one's.
class WrappedEndpoint : public Endpoint {
 public:
  Rank rank() const final { return endpoint_->rank(); }
  int ranks() const final { return endpoint_->ranks(); }
  Seconds now() const final { return endpoint_->now(); }
  bool reaches(Region region) const final { return endpoint_->reaches(region); }
  std::byte* scratch(ScratchUse use, Bytes size) final { return endpoint_->scratch(use, size); }
  std::string give_up(const std::string& reason) final { return endpoint_->give_up(reason); }

 protected:
  explicit WrappedEndpoint(std::unique_ptr<Endpoint> endpoint) : endpoint_(std::move(endpoint)) {}

  const std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace collbench
