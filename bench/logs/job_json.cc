// The JSON of a job's logs.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "bench/logs/job_report.h"
#include "core/json.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;

/// Rounded, so that no digits are shown that nothing was measured to; null for what is not known.
Json rounded(double value, double unit) {
  if (!std::isfinite(value)) return nullptr;
  return std::round(value / unit) * unit;
}

Json tenth(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::round(value * 10) / 10;
}

Json by_rank(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(rounded(value, 1));
  return list;
}

/// Transfers of the kind that counts by size, over all communicators, weighted by operations.
void add_sizes(const JobVerdict& verdict, Json& out) {
  struct Mean {
    double transfer = 0, bus = 0, weight = 0;
  };
  std::map<std::int64_t, Mean> by_bytes;
  for (const SizeFigures& row : verdict.sizes) {
    if (row.kind != verdict.kind || std::isnan(row.transfer_us)) continue;
    Mean& mean = by_bytes[row.bytes];
    const auto weight = static_cast<double>(row.operations);
    mean.transfer += weight * row.transfer_us;
    mean.bus += weight * row.bus_gbs;
    mean.weight += weight;
  }
  if (by_bytes.empty()) return;
  Json transfers = Json::object();
  Json rates = Json::object();
  for (auto mean = by_bytes.rbegin(); mean != by_bytes.rend(); ++mean) {
    const std::string bytes = std::to_string(mean->first);
    transfers[bytes] = tenth(mean->second.transfer / mean->second.weight);
    rates[bytes] = tenth(mean->second.bus / mean->second.weight);
  }
  out["transfer_us_by_bytes"] = std::move(transfers);
  out["busbw_transfer_gbs"] = std::move(rates);
}

void add_verdict(const JobVerdict& verdict, Json& out) {
  const NetworkVerdict& network = verdict.network;
  const Lateness& lateness = verdict.lateness;
  out["network"] = network.state == NetworkState::unknown
                       ? Json(nullptr)
                       : Json(std::string(to_string(network.state)));
  out["late"] = verdict.late() ? Json(*verdict.late()) : Json(nullptr);
  if (!lateness.late.empty()) {
    out["late_ranks"] = lateness.late;
    out["late_sporadic"] = lateness.sporadic();
    if (lateness.by_turns) out["late_by_turns"] = true;
    if (!lateness.host.empty()) out["late_host"] = lateness.host;
  }
  if (!verdict.counted_ranks.empty()) {
    Json names = Json::object();
    for (const auto& [rank, name] : verdict.counted_ranks) names[std::to_string(rank)] = name;
    out["counted_ranks"] = std::move(names);
  }
  if (lateness.held_up_share > 0) {
    out["waiting_held_up"] = rounded(lateness.held_up_share, 0.001);
  }
  Json unknown = Json::object();
  if (!network.unknown.empty()) unknown["network"] = network.unknown;
  if (!lateness.unknown.empty()) unknown["late"] = lateness.unknown;
  if (!unknown.empty()) out["cannot_be_told"] = std::move(unknown);
  if (network.expected_gbs > 0) {
    out["network_measured_gbs"] = tenth(network.measured_gbs);
    out["network_expected_gbs"] = tenth(network.expected_gbs);
    if (network.healthy_others > 0) {
      out["network_of"] = network.where;
      out["healthy_communicators"] = network.healthy_others;
    }
    out["network_expectation"] = (network.assumed ? "assumed: " : "stated: ") + network.basis;
  }
}

void add_waiting(const JobVerdict& verdict, Json& out) {
  const auto is_known = [](double value) { return std::isfinite(value); };
  if (std::any_of(verdict.mean_wait_us.begin(), verdict.mean_wait_us.end(), is_known)) {
    out["mean_wait_us_by_rank"] = by_rank(verdict.mean_wait_us);
  }
  add_sizes(verdict, out);
  if (!verdict.duration_us.empty() && is_known(verdict.duration_us.front())) {
    out["total_exec_us_rank0"] = rounded(verdict.duration_us.front(), 1);
  }
  if (is_known(verdict.transfer_us_of_rank0)) {
    out["total_transfer_us"] = rounded(verdict.transfer_us_of_rank0, 1);
  }
  if (!verdict.clock_offset_us.empty()) out["clock_offset_us"] = by_rank(verdict.clock_offset_us);
  if (verdict.exposures.empty()) return;
  std::vector<double> exposed;
  for (const Exposure& one : verdict.exposures) exposed.push_back(one.exposed_us);
  out["exposed_us_by_rank"] = by_rank(exposed);
}

void add_collectives(const JobReport& report, Json& out) {
  const JobVerdict& verdict = report.verdict;
  if (verdict.operations == 0) return;
  out["ops"] = verdict.operations;
  if (verdict.kind == LoggedKind::all_reduce) out["allreduces"] = verdict.operations;
  out["bytes"] = verdict.bytes;
  std::map<std::string, std::pair<std::int64_t, const SizeFigures*>> choices;
  for (const SizeFigures& row : verdict.sizes) {
    if (row.kind != verdict.kind || row.algorithm == 0) continue;
    auto& choice = choices[report.job.words[row.algorithm] + ' ' + report.job.words[row.protocol]];
    choice.first += row.operations * row.bytes;
    choice.second = &row;
  }
  if (choices.empty()) return;
  const SizeFigures& most =
      *std::max_element(choices.begin(), choices.end(), [](const auto& a, const auto& b) {
         return a.second.first < b.second.first;
       })->second.second;
  out["algorithm"] = report.job.words[most.algorithm];
  if (most.protocol != 0) out["protocol"] = report.job.words[most.protocol];
}

void add_standstill(const JobReport& report, Json& out) {
  const Standstill& still = report.verdict.standstill;
  if (still.sequence) {
    out["stuck_seq"] = *still.sequence;
    std::set<int> missing(still.missing.begin(), still.missing.end());
    missing.insert(still.missing_elsewhere.begin(), still.missing_elsewhere.end());
    out["missing_ranks"] = missing;
    if (!still.not_started.empty()) out["ranks_not_started"] = still.not_started;
    if (!still.unheard.empty()) out["ranks_without_log"] = still.unheard;
    if (!still.mismatches.empty()) out["mismatches"] = still.mismatches;
  } else if (!report.job.missing_ranks.empty()) {
    out["missing_ranks"] = report.job.missing_ranks;
  }
  if (!still.transfers.empty()) out["open_transfers"] = still.transfers;
  if (!report.job.issued.empty()) out["behind"] = still.behind;
  if (!still.called_others.empty()) out["called_others"] = still.called_others;
}

void add_programs(const JobLog& job, Json& out) {
  if (job.programs.empty()) return;
  const LoggedProgram& first = job.programs.front();
  const auto all = [&](auto member) {
    return std::all_of(job.programs.begin(), job.programs.end(),
                       [&](const LoggedProgram& p) { return p.*member == first.*member; });
  };
  std::int64_t free_collectives = 0;
  bool acyclic = true;
  Json each = Json::array();
  for (const LoggedProgram& program : job.programs) {
    free_collectives = std::max<std::int64_t>(free_collectives, program.free_collectives);
    acyclic = acyclic && program.acyclic;
    Json one = {{"rank", program.rank}, {"operations", program.operations}};
    if (program.compute_nodes >= 0) one["compute_nodes"] = program.compute_nodes;
    one["bytes_sent"] = program.bytes_sent;
    each.push_back(std::move(one));
  }
  out["ranks"] = job.programs.size();
  if (first.compute_nodes >= 0) out["compute_nodes"] = first.compute_nodes;
  out["acyclic"] = acyclic;
  if (all(&LoggedProgram::operations)) out["ops_per_rank"] = first.operations;
  if (all(&LoggedProgram::bytes_sent) && first.bytes_sent > 0) {
    out["bytes_sent_per_rank"] = first.bytes_sent;
  }
  if (free_collectives > 0) {
    out["defect"] = "collectives_without_dependencies";
    out["count"] = free_collectives;
  } else if (!acyclic) {
    out["defect"] = "cyclic_dependencies";
  }
  out["programs"] = std::move(each);
}

Json communicators_of(const JobReport& report) {
  Json list = Json::array();
  for (std::size_t c = 0; c < report.job.communicators.size(); ++c) {
    const JobCommunicator& one = report.job.communicators[c];
    Json sizes = Json::array();
    for (std::size_t i = 0; i < report.verdict.sizes.size(); ++i) {
      const SizeFigures& row = report.verdict.sizes[i];
      if (row.communicator != static_cast<int>(c)) continue;
      Json figures = {{"collective", to_string(row.kind)},
                      {"bytes", row.bytes},
                      {"ops", row.operations},
                      {"transfer_us", tenth(row.transfer_us)},
                      {"exec_us", tenth(row.duration_us)},
                      {"busbw_transfer_gbs", tenth(row.bus_gbs)}};
      if (row.elements != 0) figures["elements"] = report.job.words[row.elements];
      if (row.algorithm != 0) figures["algorithm"] = report.job.words[row.algorithm];
      if (row.protocol != 0) figures["protocol"] = report.job.words[row.protocol];
      for (const ChoiceOnMachine& choice : report.choices) {
        if (choice.row != i) continue;
        figures["predicted_us"] = tenth(choice.expected.count() * 1e6);
        figures["predicted_for"] = choice.played;
        figures["best"] = choice.best;
        figures["best_us"] = tenth(choice.best_time.count() * 1e6);
        figures["regret"] = rounded(choice.regret(), 1e-4);
      }
      sizes.push_back(std::move(figures));
    }
    list.push_back({{"id", one.id}, {"name", one.name}, {"ranks", one.ranks}, {"sizes", sizes}});
  }
  return list;
}

}  // namespace

void write_job_json(std::ostream& out, const JobReport& report) {
  const JobLog& job = report.job;
  Json json = {{"formats", job.formats}, {"files", job.files}};
  if (!job.records.empty()) add_verdict(report.verdict, json);
  add_waiting(report.verdict, json);
  add_collectives(report, json);
  add_standstill(report, json);
  add_programs(job, json);
  Json names = Json::array();
  Json found = Json::array();
  for (const FoundCause& one : report.verdict.causes) {
    names.push_back(one.cause->name);
    found.push_back(parse_json<Json>(cause_json(one)));
  }
  json["causes"] = std::move(names);
  json["found"] = std::move(found);
  json["communicators"] = communicators_of(report);
  json["left_out"] = job.left_out;
  json["notes"] = job.notes;
  out << json_text(json, 2) << '\n';
}

}  // namespace collbench
