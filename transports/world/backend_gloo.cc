// Gloo as a black box: ranks as threads, which Gloo joins over TCP on the loopback interface.
#include "transports/gloo/gloo.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

RankKind gloo_rank_kind(const WorldSpec&) { return RankKind::threads; }

// A store serves one communicator only, so each case has its own.
std::shared_ptr<void> share_gloo(const WorldSpec&) { return make_gloo_memory_store(); }

std::unique_ptr<Communicator> make_gloo_rank(const WorldSpec& spec, RankContext& context) {
  GlooOptions options;
  options.algorithm = spec.algorithm;
  options.timeout = context.timeout;
  return make_gloo_communicator(context.rank, context.ranks,
                                std::static_pointer_cast<gloo::rendezvous::Store>(context.shared),
                                options);
}

}  // namespace

Backend gloo_backend() {
  Backend row;
  row.is_black_box = true;
  row.name = "gloo";
  row.summary = "Gloo's own algorithms over TCP, by threads";
  row.kind = gloo_rank_kind;
  row.make_communicator = make_gloo_rank;
  row.share = share_gloo;
  return row;
}

}  // namespace collbench
