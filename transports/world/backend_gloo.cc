// Gloo as a black box: ranks as threads, which Gloo joins over TCP on the loopback interface.
#include "core/error.h"
#include "transports/gloo/gloo.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

// A store serves one communicator only, so each case has its own.
std::shared_ptr<void> share_gloo(const WorldSpec&, Seconds) { return make_gloo_memory_store(); }

void require_in_gloo(const WorldSpec& spec) {
  require_gloo_algorithm(spec.algorithm);
  require(spec.collective.kind == CollectiveKind::all_reduce || spec.algorithm == "gloo",
          spec.algorithm + " is an all-reduce of Gloo; for " +
              std::string(to_string(spec.collective.kind)) + " name gloo, which has one of each");
}

std::unique_ptr<Communicator> make_gloo_rank(const WorldSpec& spec, RankContext& context) {
  GlooOptions options;
  options.algorithm = spec.algorithm;
  options.timeout = context.timeout;
  return make_gloo_communicator(context.rank, context.ranks,
                                std::static_pointer_cast<gloo::rendezvous::Store>(context.shared),
                                options);
}

}  // namespace

void complete_gloo(Backend& row) {
  row.require_algorithm = require_in_gloo;
  row.require_elements = [](const WorldSpec&, DataType type) { require_gloo_type(type); };
  row.make_communicator = make_gloo_rank;
  row.share = share_gloo;
}

}  // namespace collbench
