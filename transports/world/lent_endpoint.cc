#include "transports/world/lent_endpoint.h"

#include <utility>

namespace collbench {
namespace {

class LentEndpoint final : public Endpoint {
 public:
  explicit LentEndpoint(std::shared_ptr<Endpoint> endpoint) : endpoint_(std::move(endpoint)) {}

  Rank rank() const override { return endpoint_->rank(); }
  int ranks() const override { return endpoint_->ranks(); }
  Seconds now() const override { return endpoint_->now(); }
  void reserve(const Traffic& traffic) override { endpoint_->reserve(traffic); }
  bool reaches(Region region) const override { return endpoint_->reaches(region); }
  Ticket send(Rank to, Region from) override { return endpoint_->send(to, from); }
  Ticket recv(Rank from, Region into) override { return endpoint_->recv(from, into); }
  Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                     Reduction reduction) override {
    return endpoint_->recv_reduce(sources, own, into, reduction);
  }
  void wait(Ticket ticket) override { endpoint_->wait(ticket); }
  bool try_wait(Ticket ticket) override { return endpoint_->try_wait(ticket); }
  std::string give_up(const std::string& reason) override { return endpoint_->give_up(reason); }
  bool play(const Fusion& fusion, Region in, Region out, Reduction reduction) override {
    return endpoint_->play(fusion, in, out, reduction);
  }

 private:
  std::shared_ptr<Endpoint> endpoint_;
};

}  // namespace

std::unique_ptr<Endpoint> lend(std::shared_ptr<Endpoint> endpoint) {
  return std::make_unique<LentEndpoint>(std::move(endpoint));
}

}  // namespace collbench
