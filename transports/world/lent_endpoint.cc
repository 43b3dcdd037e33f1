#include "transports/world/lent_endpoint.h"

#include <utility>

#include "transports/faults/wrapped_endpoint.h"

namespace collbench {
namespace {

class LentEndpoint final : public WrappedEndpoint {
 public:
  explicit LentEndpoint(std::shared_ptr<Endpoint> endpoint)
      : WrappedEndpoint(std::move(endpoint)) {}

  std::byte* scratch(ScratchUse use, Bytes size) override { return Endpoint::scratch(use, size); }
  bool try_wait(Ticket ticket) override { return endpoint_->try_wait(ticket); }
  bool play(const Fusion& fusion, Region in, Region out, Reduction reduction) override {
    return endpoint_->play(fusion, in, out, reduction);
  }
};

}  // namespace

std::unique_ptr<Endpoint> lend(std::shared_ptr<Endpoint> endpoint) {
  return std::make_unique<LentEndpoint>(std::move(endpoint));
}

}  // namespace collbench
