// The page's data: one array per record, words by their place in a table of words, since ten
// thousand cases repeat few words.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/records/json_fields.h"
#include "bench/records/report.h"
#include "bench/reports/columns.h"
#include "bench/reports/contenders.h"
#include "bench/reports/html_report.h"
#include "bench/reports/text.h"
#include "bench/verdicts/compare.h"
#include "bench/verdicts/verdict.h"
#include "core/json.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;

/// Texts that occur again and again, by number.
class NumberedTexts {
 public:
  int operator()(const std::string& text) {
    const auto [found, is_new] = places_.try_emplace(text, static_cast<int>(words_.size()));
    if (is_new) words_.push_back(text);
    return found->second;
  }
  const std::vector<std::string>& all() const { return words_; }

 private:
  std::map<std::string, int> places_;
  std::vector<std::string> words_;
};

/// What else was asked of a case, how a simulated one is played beyond its topology, and what
/// another's time is, where unusual.
std::string detail(const Case& point) {
  const Simulated& simulated = point.simulated;
  const Simulated usual;
  std::vector<std::string> parts;
  const auto add = [&](const std::string& value, const std::string& otherwise, const char* what) {
    if (value != otherwise && !value.empty()) parts.push_back(what + value);
  };
  add(std::string(to_string(point.collective)), "all-reduce", "");
  if (has_root(point.collective)) add(std::to_string(point.root), "0", "root ");
  add(point.groups, "", "groups ");
  add(point.counts, "", "counts ");
  add(point.devices, "", "devices ");
  if (point.checksum) parts.emplace_back("checksums");
  add(point.inject, "", "faults ");
  add(simulated.mapping, usual.mapping, "mapping ");
  add(simulated.posting, usual.posting, "");
  add(simulated.protocol, usual.protocol, "protocol ");
  add(simulated.stragglers, "", "stragglers ");
  add(simulated.slow_hosts, "", "slow hosts ");
  add(simulated.engine, usual.engine, "engine ");
  if (simulated.jitter.count() > 0) {
    parts.push_back(
        fmt::format("jitter {} of seed {}", to_string(simulated.jitter), simulated.seed));
  }
  if (simulated.equal_chunks) parts.emplace_back("equal chunks");
  if (!point.statistic.empty()) parts.push_back("a " + point.statistic);
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// What a simulated and a real case must have in common, beside what the page's rows say, to be a
/// pair; "" for what has none: a simulation of what the real machine does not have.
std::string pairing(const Case& point) {
  const Simulated& simulated = point.simulated;
  const bool disturbed = !simulated.stragglers.empty() || !simulated.slow_hosts.empty() ||
                         simulated.jitter.count() > 0 || !point.inject.empty();
  if (disturbed) return "";
  return fmt::format("{} of {} in groups {}, counts {}", to_string(point.collective), point.root,
                     point.groups, point.counts);
}

std::string disturbances(const Record& record) {
  return fmt::format("{}", fmt::join(record.measurement.warnings, "; "));
}

/// What the check said; "" also for what has no result.
std::string check_text(const Record& record) {
  const bool unchecked = is_right(record) && record.measurement.wrong < 0;
  const bool has_result = !record.measurement.exact && record.skipped.empty();
  return unchecked && has_result ? "not checked" : wrong_text(record);
}

Json samples_of(const Record& record, std::size_t most) {
  const std::vector<std::int64_t>& all = record.measurement.latency_ns;
  const int calls = record.point.calls;
  Json kept = Json::array();
  if (record.measurement.exact) return kept;  // one value, and known better
  const std::size_t step = (all.size() + most - 1) / most;
  for (std::size_t i = 0; i < all.size(); i += step) {
    kept.push_back(calls == 1 ? Json(all[i]) : Json(static_cast<double>(all[i]) / calls));
  }
  return kept;
}

// The order of the columns is that of `fields` in bench/reports/html/rows.js.
Json row_of(const Record& record, int source, std::size_t most_samples, bool with_backend,
            NumberedTexts& words) {
  const Case& point = record.point;
  const Figures shown = figures(record);
  const Summary& latency = shown.latency;
  const double exact_us =
      record.measurement.exact ? record.measurement.exact->time.count() * 1e6 : 0;
  const auto us = [&](double ns) {
    return shown.valid ? finite_or_null<Json>(exact_us > 0 ? exact_us : ns / 1e3) : Json(nullptr);
  };
  const auto rate = [&](double value) {
    return shown.valid ? finite_or_null<Json>(value) : Json(nullptr);
  };
  Json row = {source,
              words(point.algorithm),
              words(record.algorithm_chosen),
              words(backend_text(point)),
              point.workers,
              point.bytes.count,
              words(std::string(to_string(point.type))),
              words(std::string(to_string(point.op))),
              words(point.in_place ? "in place" : "out of place"),
              words(std::string(to_string(point.buffers))),
              words(point.simulated.topology),
              words(detail(point)),
              latency.n,
              us(shown.time_us * 1e3),
              us(latency.min_ns),
              us(latency.p25_ns),
              us(latency.p75_ns),
              us(latency.p95_ns),
              us(latency.interval_low_ns),
              us(latency.interval_high_ns),
              rate(shown.algbw_GBps),
              rate(shown.busbw_GBps),
              record.bound ? finite_or_null<Json>(record.bound->time.count() * 1e6) : Json(nullptr),
              words(record.bound ? record.bound->reason : ""),
              words(check_text(record)),
              words(record.skipped),
              words(disturbances(record)),
              words(record.choice_reason),
              samples_of(record, most_samples),
              words(pairing(point)),
              words(contender_name(point, with_backend))};
  return row;
}

Json replay_value(const Replay& replay) {
  Json messages = Json::array();
  for (const ReplayedMessage& m : replay.messages) {
    messages.push_back({m.from, m.to, m.round, m.bytes, m.ready_us, m.start_us, m.arrival_us});
  }
  Json vertices = Json::array();
  for (const ReplayedVertex& v : replay.vertices) vertices.push_back({v.name, v.host, v.x, v.y});
  Json links = Json::array();
  for (const ReplayedLink& l : replay.links) {
    links.push_back({l.from, l.to, l.link_class, l.capacity_GBps, l.bytes, l.busy_us,
                     finite_or_null<Json>(l.utilisation)});
  }
  return {{"name", replay.name},
          {"topology", replay.topology},
          {"engine", replay.engine},
          {"bottleneck", replay.bottleneck},
          {"time_us", finite_or_null<Json>(replay.time_us)},
          {"ranks", replay.ranks},
          {"left_out", replay.messages_left_out},
          {"messages", std::move(messages)},
          {"vertices", std::move(vertices)},
          {"links", std::move(links)}};
}

/// Exact cases are shown as ratios to their first point.
Json history_value(const StoredSeries& series) {
  const bool exact = !series.points.empty() && series.points.front().exact;
  const double scale = exact ? 1 / series.points.front().value : 1;
  Json points = Json::array();
  for (const StoredPoint& p : series.points) {
    points.push_back({p.job.revision, p.job.when, finite_or_null<Json>(p.value * scale),
                      finite_or_null<Json>(p.low * scale), finite_or_null<Json>(p.high * scale)});
  }
  Json changes = Json::array();
  for (const ChangePoint& change : series.changes) {
    const bool moved = !other_cpus(series, change).empty();
    changes.push_back(
        {change.at, percent_text(change.after / change.before) + (moved ? ", another CPU" : "")});
  }
  return {{"name", series.name}, {"points", std::move(points)}, {"changes", std::move(changes)}};
}

Json verdict_row(const Verdict& verdict, const GateRule& rule) {
  const auto typical_us = [](const std::optional<Arm>& arm) {
    return arm ? finite_or_null<Json>(arm->typical_ns / 1e3) : Json(nullptr);
  };
  const std::optional<double> ratio = ratio_of(verdict);
  const RatioEstimate* estimate = deciding(verdict);
  return {{"name", verdict.name},
          {"outcome", to_string(verdict.outcome)},
          {"fails", fails(verdict, rule)},
          {"exact", verdict.exact},
          {"reason", verdict.reason},
          {"base_us", typical_us(verdict.base)},
          {"head_us", typical_us(verdict.head)},
          {"ratio", ratio ? finite_or_null<Json>(*ratio) : Json(nullptr)},
          {"low", estimate == nullptr ? Json(nullptr) : finite_or_null<Json>(estimate->low)},
          {"high", estimate == nullptr ? Json(nullptr) : finite_or_null<Json>(estimate->high)}};
}

Json comparison_value(const Comparison& comparison) {
  Json counts = Json::object();
  for (const VerdictOutcome outcome : all_outcomes()) {
    counts[std::string(to_string(outcome))] = count(comparison, outcome);
  }
  // What a reader came for stands first.
  const std::vector<const Verdict*> order = worst_first(comparison);
  Json verdicts = Json::array();
  for (const Verdict* verdict : order) verdicts.push_back(verdict_row(*verdict, comparison.rule));
  return {{"title", comparison.title},         {"headline", headline(comparison)},
          {"method", method_line(comparison)}, {"threshold", comparison.rule.threshold},
          {"counts", std::move(counts)},       {"mismatches", comparison.mismatches},
          {"warnings", comparison.warnings},   {"verdicts", std::move(verdicts)}};
}

Json rows_of(const HtmlReport& report, const std::vector<Case>& cases, NumberedTexts& words) {
  const std::size_t most_samples =
      std::max<std::size_t>(most_page_samples / (cases.size() + 1), 20);
  const bool with_backend = backends_differ(cases);
  Json rows = Json::array();
  for (std::size_t i = 0; i < report.sources.size(); ++i) {
    for (const Record& record : report.sources[i].file.records) {
      rows.push_back(row_of(record, static_cast<int>(i), most_samples, with_backend, words));
    }
  }
  return rows;
}

}  // namespace

std::vector<Case> cases_of(const HtmlReport& report) {
  std::vector<Case> cases;
  for (const ReportSource& source : report.sources) {
    for (const Record& record : source.file.records) cases.push_back(record.point);
  }
  return cases;
}

std::string machines_differ(const HtmlReport& report) {
  const Environment* first = nullptr;
  for (const auto& [name, file] : report.sources) {
    const bool measured =
        std::ranges::any_of(file.records, [](const Record& one) { return !one.measurement.exact; });
    if (!measured || !file.environment.contains("host")) continue;
    if (first == nullptr) first = &file.environment;
    std::vector<std::string> mismatches = machines_merged(file.environment);
    if (mismatches.empty()) mismatches = machine_mismatches(*first, file.environment);
    if (!mismatches.empty()) return mismatches.front();
  }
  return "";
}

std::string page_data(const HtmlReport& report) {
  NumberedTexts words;
  const std::vector<Case> cases = cases_of(report);
  Json rows = rows_of(report, cases, words);
  Json sources = Json::array();
  for (const ReportSource& source : report.sources) {
    sources.push_back({{"name", source.name}, {"environment", source.file.environment}});
  }
  Json replays = Json::array();
  for (const Replay& replay : report.replays) replays.push_back(replay_value(replay));
  Json history = Json::array();
  for (const StoredSeries& series : report.history) history.push_back(history_value(series));
  const std::string machines = machines_differ(report);
  std::vector<std::string> notes = report.notes;
  if (!machines.empty()) notes.push_back("records of different machines: " + machines);
  const Json data = {
      {"title", report.title},
      {"repository", report.repository},
      {"network", report.network},
      {"machines", machines},
      {"sources", std::move(sources)},
      {"words", words.all()},
      {"rows", std::move(rows)},
      {"places", algorithm_places(cases)},
      {"replays", std::move(replays)},
      {"history", std::move(history)},
      {"notes", notes},
      {"comparison",
       report.comparison == nullptr ? Json(nullptr) : comparison_value(*report.comparison)}};
  const std::string text = json_text(data);
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace collbench
