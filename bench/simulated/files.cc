#include "bench/simulated/files.h"

#include <ostream>
#include <set>

#include <fmt/format.h>

#include "bench/records/csv_cells.h"
#include "core/error.h"
#include "core/json.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;

class TraceWriter {
 public:
  explicit TraceWriter(std::ostream& out) : out_(out) { out_ << "{\"traceEvents\":[\n"; }

  void event(const Json& event) {
    if (!first_) out_ << ",\n";
    first_ = false;
    out_ << json_text(event);
  }

  void slice(const std::string& name, Rank rank, std::int64_t id, Seconds begin, Seconds end,
             const Json& arguments) {
    const auto edge = [&](const char* phase, Seconds at) {
      return Json{{"name", name},           {"cat", "message"}, {"ph", phase}, {"id", id},
                  {"ts", at.count() * 1e6}, {"pid", rank},      {"tid", 0}};
    };
    Json start = edge("b", begin);
    start["args"] = arguments;
    event(start);
    event(edge("e", end));
  }

  void end(const Json& metadata) {
    out_ << "\n],\"displayTimeUnit\":\"ns\",\"otherData\":" << json_text(metadata) << "}\n";
  }

 private:
  std::ostream& out_;
  bool first_ = true;
};

}  // namespace

void write_link_csv(std::ostream& out, const Scenario& scenario, const Outcome& outcome) {
  require(!outcome.links.empty(),
          fmt::format("engine {} does not know what links carry; use fluid, quotient or simgrid",
                      to_string(outcome.engine)));
  const Topology& topology = scenario.machine.topology;
  out << "link,from,to,class,capacity_GBps,bytes,busy_us,utilisation,utilisation_while_busy\n";
  for (std::size_t i = 0; i < outcome.links.size(); ++i) {
    const LinkUse& use = outcome.links[i];
    if (use.bytes == 0) continue;
    const auto link = static_cast<LinkId>(i);
    const Link& ends = topology.links()[i];
    const double full = use.bytes / topology.capacity(link);  // seconds at full rate
    out << fmt::format(
        "{},{},{},{},{:.6g},{:.17g},{:.9g},{:.6f},{:.6f}\n", i,
        csv_quoted(topology.vertex_name(ends.from)), csv_quoted(topology.vertex_name(ends.to)),
        csv_quoted(topology.link_class(link).name), topology.capacity(link) / 1e9, use.bytes,
        use.busy.count() * 1e6, full / outcome.time.count(), full / use.busy.count());
  }
}

void write_rank_csv(std::ostream& out, const Scenario& scenario, const Outcome& outcome) {
  out << "what,number,host,end_us\n";
  for (std::size_t rank = 0; rank < outcome.rank_end.size(); ++rank) {
    out << fmt::format("rank,{},{},{:.17g}\n", rank,
                       csv_quoted(scenario.machine.topology.vertex_name(scenario.placement[rank])),
                       outcome.rank_end[rank].count() * 1e6);
  }
  for (std::size_t round = 0; round < outcome.round_end.size(); ++round) {
    out << fmt::format("round,{},,{:.17g}\n", round, outcome.round_end[round].count() * 1e6);
  }
}

void write_chrome_trace(std::ostream& out, const Scenario& scenario, const Outcome& outcome) {
  TraceWriter trace(out);
  std::set<Rank> ranks;
  for (const Transfer& transfer : outcome.transfers) ranks.insert(transfer.from);
  for (const Rank rank : ranks) {
    const Host host = scenario.placement[static_cast<std::size_t>(rank)];
    trace.event({{"name", "process_name"},
                 {"ph", "M"},
                 {"pid", rank},
                 {"args",
                  {{"name", fmt::format("rank {} on {}", rank,
                                        scenario.machine.topology.vertex_name(host))}}}});
    trace.event({{"name", "process_sort_index"},
                 {"ph", "M"},
                 {"pid", rank},
                 {"args", {{"sort_index", rank}}}});
  }
  std::int64_t id = 0;
  for (const Transfer& transfer : outcome.transfers) {
    const std::string name = fmt::format("round {}: to rank {}", transfer.round, transfer.to);
    const Json arguments = {
        {"bytes", transfer.bytes}, {"to", transfer.to}, {"round", transfer.round}};
    trace.slice(name, transfer.from, id, transfer.ready, transfer.arrival, arguments);
    trace.slice("flows", transfer.from, id, transfer.start, transfer.arrival, Json::object());
    ++id;
  }
  const auto kept = static_cast<std::int64_t>(outcome.transfers.size());
  trace.end({{"schedule", scenario.schedule.name()},
             {"topology", scenario.machine.topology.name()},
             {"simulated_time_us", outcome.time.count() * 1e6},
             {"messages", outcome.messages},
             {"messages_left_out", outcome.messages - kept}});
}

}  // namespace collbench
