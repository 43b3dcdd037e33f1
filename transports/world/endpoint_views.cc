#include "transports/world/endpoint_views.h"

#include <algorithm>
#include <map>
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

class GroupEndpoint final : public WrappedEndpoint {
 public:
  GroupEndpoint(std::shared_ptr<Endpoint> endpoint, std::vector<Rank> members)
      : WrappedEndpoint(std::move(endpoint)),
        members_(std::move(members)),
        own_(static_cast<Rank>(std::ranges::find(members_, endpoint_->rank()) - members_.begin())) {
  }

  Rank rank() const override { return own_; }
  int ranks() const override { return static_cast<int>(members_.size()); }
  Ticket send(Rank to, Region from) override { return endpoint_->send(member(to), from); }
  Ticket recv(Rank from, Region into) override { return endpoint_->recv(member(from), into); }
  Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                     Reduction reduction) override {
    return endpoint_->recv_reduce(members_of(sources), own, into, reduction);
  }
  bool try_wait(Ticket ticket) override { return endpoint_->try_wait(ticket); }

 private:
  Rank member(Rank rank) const { return members_[static_cast<std::size_t>(rank)]; }

  // Plans keep their lists of sources, so that each is translated once; they outlive the transfer.
  std::span<const Rank> members_of(std::span<const Rank> sources) {
    const std::vector<Rank> key(sources.begin(), sources.end());
    const auto [found, is_new] = translated_.try_emplace(key);
    if (is_new) {
      for (const Rank source : sources) found->second.push_back(member(source));
    }
    return found->second;
  }

  std::vector<Rank> members_;
  Rank own_;
  std::map<std::vector<Rank>, std::vector<Rank>> translated_;
};

}  // namespace

std::unique_ptr<Endpoint> lend(std::shared_ptr<Endpoint> endpoint) {
  return std::make_unique<LentEndpoint>(std::move(endpoint));
}

std::unique_ptr<Endpoint> make_group_endpoint(std::shared_ptr<Endpoint> endpoint,
                                              std::vector<Rank> members) {
  return std::make_unique<GroupEndpoint>(std::move(endpoint), std::move(members));
}

}  // namespace collbench
