
#include <fmt/format.h>

#include "simulator/simulate.h"

namespace collbench {
namespace {

struct Busiest {
  LinkId link = 0;
  double used = 0;  // share of what it could carry in the whole time
  double busy = 0;  // share of the time with bytes on it
  int alike = 0;    // links used as much, within 1 %
};

Busiest busiest(const Topology& topology, const Outcome& outcome) {
  const double time = outcome.time.count();
  const auto used = [&](std::size_t l) {
    return outcome.links[l].bytes / (topology.capacity(static_cast<LinkId>(l)) * time);
  };
  Busiest result;
  for (std::size_t l = 0; l < outcome.links.size(); ++l) {
    if (used(l) <= result.used) continue;
    result.link = static_cast<LinkId>(l);
    result.used = used(l);
  }
  const auto link = static_cast<std::size_t>(result.link);
  result.busy = outcome.links[link].busy.count() / time;
  for (std::size_t l = 0; l < outcome.links.size(); ++l) {
    if (used(l) >= 0.99 * result.used) ++result.alike;
  }
  return result;
}

std::string reason(const Busiest& link, const Scenario& scenario) {
  if (link.used >= 0.9) return "Its bandwidth bounds the time.";
  // What the flows on it reached, of what the link could give them.
  const double rate = link.used / link.busy;
  std::string text;
  if (rate < 0.9) {
    const bool capped =
        scenario.machine.costs.message_cap.bytes_per_second > 0 || !scenario.protocol.empty();
    text =
        fmt::format("While bytes flow on it they take {:.0f} % of it: {} holds them back. ",
                    100 * rate, capped ? "the cap of a message, or another link," : "another link");
  }
  if (link.busy < 0.9) {
    text += fmt::format(
        "In the other {:.0f} % of the time nothing flows on it: latency, waiting "
        "for other ranks{} bound the time; larger messages or fewer rounds help, "
        "more bandwidth does not.",
        100 * (1 - link.busy),
        scenario.machine.costs.reduction_rate.bytes_per_second > 0 ? " and reductions" : "");
  }
  if (text.empty()) text = "Its bandwidth bounds most of the time.";
  return text;
}

}  // namespace

std::string explain_bottleneck(const Scenario& scenario, const Outcome& outcome) {
  if (outcome.links.empty()) {
    return fmt::format("Engine {} does not know what links carry; --engine fluid does.",
                       to_string(outcome.engine));
  }
  const Topology& topology = scenario.machine.topology;
  const Busiest link = outcome.time.count() > 0 ? busiest(topology, outcome) : Busiest{};
  if (link.used <= 0) return "No link carries anything.";
  const std::string alike =
      link.alike > 1 ? fmt::format(", {} links are used as much", link.alike) : "";
  return fmt::format("The busiest link is {}: {:.0f} % of its {} over {}{}. {}",
                     topology.link_name(link.link), 100 * link.used,
                     to_string(Bandwidth{topology.capacity(link.link)}), to_string(outcome.time),
                     alike, reason(link, scenario));
}

}  // namespace collbench
