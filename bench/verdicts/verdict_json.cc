#include "bench/verdicts/verdict_json.h"

#include <cmath>
#include <limits>

#include "bench/records/record_json.h"
#include "bench/records/whole_number.h"
#include "core/error.h"
#include "core/json.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

double or_infinite(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

Json arm_value(const std::optional<Arm>& arm) {
  if (!arm) return nullptr;
  return {{"rounds_ns", arm->rounds_ns},   {"typical_ns", finite(arm->typical_ns)},
          {"p25_ns", finite(arm->p25_ns)}, {"p50_ns", finite(arm->p50_ns)},
          {"p75_ns", finite(arm->p75_ns)}, {"p95_ns", finite(arm->p95_ns)},
          {"samples", arm->samples}};
}

std::optional<Arm> arm_of(const Json& value) {
  if (value.is_null()) return {};
  Arm arm;
  value.at("rounds_ns").get_to(arm.rounds_ns);
  value.at("typical_ns").get_to(arm.typical_ns);
  value.at("p25_ns").get_to(arm.p25_ns);
  value.at("p50_ns").get_to(arm.p50_ns);
  value.at("p75_ns").get_to(arm.p75_ns);
  value.at("p95_ns").get_to(arm.p95_ns);
  read_whole(value.at("samples"), arm.samples);
  return arm;
}

Json estimate_value(const std::optional<RatioEstimate>& estimate) {
  if (!estimate) return nullptr;
  return {{"ratio", finite(estimate->ratio)},       {"low", finite(estimate->low)},
          {"high", finite(estimate->high)},         {"p_slower", finite(estimate->p_slower)},
          {"p_faster", finite(estimate->p_faster)}, {"base_rounds", estimate->base_rounds},
          {"head_rounds", estimate->head_rounds}};
}

std::optional<RatioEstimate> estimate_of(const Json& value) {
  if (value.is_null()) return {};
  RatioEstimate estimate;
  estimate.ratio = or_infinite(value.at("ratio"));
  estimate.low = value.at("low").is_null() ? 0 : value.at("low").get<double>();
  estimate.high = or_infinite(value.at("high"));
  value.at("p_slower").get_to(estimate.p_slower);
  value.at("p_faster").get_to(estimate.p_faster);
  read_whole(value.at("base_rounds"), estimate.base_rounds);
  read_whole(value.at("head_rounds"), estimate.head_rounds);
  return estimate;
}

Json verdict_value(const Verdict& verdict, const GateRule& rule) {
  Json changes = Json::array();
  for (const ExactChange& change : verdict.changes) {
    changes.push_back({{"metric", change.metric}, {"base", change.base}, {"head", change.head}});
  }
  return {{"name", verdict.name},
          {"case", Json::parse(to_json(verdict.point))},
          {"outcome", to_string(verdict.outcome)},
          {"fails", fails(verdict, rule)},
          {"exact", verdict.exact},
          {"metric", verdict.metric},
          {"reason", verdict.reason},
          {"base", arm_value(verdict.base)},
          {"head", arm_value(verdict.head)},
          {"ratio", estimate_value(verdict.ratio)},
          {"confirmation", estimate_value(verdict.confirmation)},
          {"noise", estimate_value(verdict.noise)},
          {"changes", std::move(changes)},
          {"rounds_needed", verdict.rounds_needed}};
}

Verdict verdict_of(const Json& value) {
  Verdict verdict;
  value.at("name").get_to(verdict.name);
  verdict.point = case_from_json(value.at("case").dump());
  verdict.outcome = parse_outcome(value.at("outcome").get<std::string>());
  value.at("exact").get_to(verdict.exact);
  value.at("metric").get_to(verdict.metric);
  value.at("reason").get_to(verdict.reason);
  verdict.base = arm_of(value.at("base"));
  verdict.head = arm_of(value.at("head"));
  verdict.ratio = estimate_of(value.at("ratio"));
  verdict.confirmation = estimate_of(value.at("confirmation"));
  verdict.noise = estimate_of(value.at("noise"));
  for (const Json& change : value.at("changes")) {
    verdict.changes.push_back({change.at("metric").get<std::string>(),
                               change.at("base").get<std::string>(),
                               change.at("head").get<std::string>()});
  }
  read_whole(value.at("rounds_needed"), verdict.rounds_needed);
  return verdict;
}

Json rule_value(const GateRule& rule) {
  Json fail_on = Json::array();
  for (const VerdictOutcome outcome : rule.fail_on) fail_on.push_back(to_string(outcome));
  return {{"threshold", rule.threshold},
          {"alpha", rule.alpha},
          {"fail_on", std::move(fail_on)},
          {"fail_on_exact", rule.fail_on_exact}};
}

GateRule rule_of(const Json& value) {
  GateRule rule;
  value.at("threshold").get_to(rule.threshold);
  value.at("alpha").get_to(rule.alpha);
  rule.fail_on.clear();
  for (const Json& name : value.at("fail_on")) {
    rule.fail_on.push_back(parse_outcome(name.get<std::string>()));
  }
  value.at("fail_on_exact").get_to(rule.fail_on_exact);
  return rule;
}

Comparison comparison_of(const Json& value) {
  int version = 0;
  read_whole(value.at("schema_version"), version);
  require(version == comparison_schema_version,
          "a comparison of schema version " + std::to_string(version) + "; this collbench reads " +
              std::to_string(comparison_schema_version));
  Comparison comparison;
  value.at("title").get_to(comparison.title);
  comparison.rule = rule_of(value.at("rule"));
  read_whole(value.at("rounds"), comparison.rounds);
  read_whole(value.at("confirm_rounds"), comparison.confirm_rounds);
  comparison.elapsed = Seconds{value.at("elapsed_s").get<double>()};
  value.at("stopped_by").get_to(comparison.stopped_by);
  value.at("mismatches").get_to(comparison.mismatches);
  value.at("warnings").get_to(comparison.warnings);
  value.at("base_environment").get_to(comparison.base);
  value.at("head_environment").get_to(comparison.head);
  for (const Json& verdict : value.at("verdicts")) {
    comparison.verdicts.push_back(verdict_of(verdict));
  }
  return comparison;
}

}  // namespace

std::string to_json(const Comparison& comparison) {
  Json verdicts = Json::array();
  for (const Verdict& verdict : comparison.verdicts) {
    verdicts.push_back(verdict_value(verdict, comparison.rule));
  }
  const Json value = {{"schema_version", comparison_schema_version},
                      {"title", comparison.title},
                      {"headline", headline(comparison)},
                      {"method", method_line(comparison)},
                      {"failed", !failures(comparison).empty()},
                      {"rule", rule_value(comparison.rule)},
                      {"rounds", comparison.rounds},
                      {"confirm_rounds", comparison.confirm_rounds},
                      {"elapsed_s", comparison.elapsed.count()},
                      {"stopped_by", comparison.stopped_by},
                      {"mismatches", comparison.mismatches},
                      {"warnings", comparison.warnings},
                      {"base_environment", comparison.base},
                      {"head_environment", comparison.head},
                      {"verdicts", std::move(verdicts)}};
  return value.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Comparison comparison_from_json(const std::string& text) {
  return read_json<Json>(text, "not a comparison of collbench", comparison_of);
}

}  // namespace collbench
