#include "heuristics/synthesis/synthesise.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "algorithms/synthesised.h"
#include "core/error.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

/// Networks by name, and the plans made for them.
class PlanStore {
 public:
  void remember(const Topology& topology) {
    const std::lock_guard lock(mutex_);
    networks_.insert_or_assign(topology.name(), topology);
  }

  std::shared_ptr<const SynthesisedPlan> plan(const SynthesisRequest& request) {
    const std::lock_guard lock(mutex_);
    auto network = networks_.find(request.network);
    if (network == networks_.end()) {
      const Topology read = machine(request.network, request.ranks).topology;
      network = networks_.emplace(request.network, read).first;
    }
    const Topology& topology = network->second;
    require(topology.hosts() == request.ranks,
            fmt::format("synth: {} has {} hosts, and all of them take part, not {} ranks",
                        request.network, topology.hosts(), request.ranks));
    auto& kept = plans_[{request.network, request.kind}];
    if (!kept || !same_links(kept->certificate.topology, topology)) {
      kept = std::make_shared<const SynthesisedPlan>(synthesise(topology, request.kind));
    }
    return kept;
  }

 private:
  static bool same_links(const Topology& a, const Topology& b) {
    if (a.links().size() != b.links().size()) return false;
    for (std::size_t l = 0; l < a.links().size(); ++l) {
      const auto link = static_cast<LinkId>(l);
      if (a.capacity(link) != b.capacity(link)) return false;
    }
    return true;
  }

  std::mutex mutex_;
  std::map<std::string, Topology> networks_;
  std::map<std::pair<std::string, CollectiveKind>, std::shared_ptr<const SynthesisedPlan>> plans_;
};

PlanStore& plan_store() {
  static PlanStore store;
  return store;
}

Schedule answer(const SynthesisRequest& request) {
  if (request.ranks == 1) return {"synth", {.ranks = 1, .chunks = 1, .rounds = 0}, {}};
  return to_schedule(*plan_store().plan(request), request.bytes);
}

}  // namespace

double SynthesisedPlan::share() const {
  return certificate.bound.seconds_per_gigabyte.value() / (packing.seconds_per_byte * 1e9);
}

SynthesisedPlan synthesise(const Topology& topology, CollectiveKind goal) {
  Certificate certificate = certify(topology, goal);
  const double target = certificate.bound.seconds_per_gigabyte.value() / 1e9;
  return {std::move(certificate), pack_trees(topology, goal, target)};
}

SynthesisedPlan synthesise_shallow(const Topology& topology, CollectiveKind goal) {
  SynthesisedPlan plan{certify(topology, goal), shallow_trees(topology, goal)};
  return plan;
}

Schedule to_schedule(const SynthesisedPlan& plan, Bytes bytes) {
  const Topology& topology = plan.certificate.topology;
  return packed_schedule(topology, plan.packing, chunking_for(topology, plan.packing, bytes),
                         "synth");
}

void offer_synthesis() { set_synthesiser(answer); }

void remember_network(const Topology& topology) { plan_store().remember(topology); }

}  // namespace collbench
