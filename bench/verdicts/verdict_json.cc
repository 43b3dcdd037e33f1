#include "bench/verdicts/verdict_json.h"

#include <optional>
#include <utility>

#include "bench/records/json_checksum.h"
#include "bench/records/json_fields.h"
#include "bench/records/record_json.h"
#include "core/error.h"
#include "core/json.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int comparison_schema_version = 1;

std::span<const JsonField<Arm>> fields_of(const Arm*) {
  static const JsonField<Arm> fields[] = {
      {"rounds_ns", &Arm::rounds_ns}, {"typical_ns", &Arm::typical_ns}, {"p25_ns", &Arm::p25_ns},
      {"p50_ns", &Arm::p50_ns},       {"p75_ns", &Arm::p75_ns},         {"p95_ns", &Arm::p95_ns},
      {"samples", &Arm::samples},
  };
  return fields;
}

std::span<const JsonField<RatioEstimate>> fields_of(const RatioEstimate*) {
  static const JsonField<RatioEstimate> fields[] = {
      {"ratio", &RatioEstimate::ratio},
      {"low", &RatioEstimate::low},
      {"high", &RatioEstimate::high},
      {"p_slower", &RatioEstimate::p_slower},
      {"p_faster", &RatioEstimate::p_faster},
      {"base_rounds", &RatioEstimate::base_rounds},
      {"head_rounds", &RatioEstimate::head_rounds},
  };
  return fields;
}

/// How the comparison was made.
std::span<const JsonField<Comparison>> comparison_fields() {
  static const JsonField<Comparison> fields[] = {
      {"rounds", &Comparison::rounds},         {"confirm_rounds", &Comparison::confirm_rounds},
      {"elapsed_s", &Comparison::elapsed},     {"stopped_by", &Comparison::stopped_by},
      {"mismatches", &Comparison::mismatches}, {"warnings", &Comparison::warnings},
      {"base_environment", &Comparison::base}, {"head_environment", &Comparison::head},
  };
  return fields;
}

template <class Part>
Json part_value(const std::optional<Part>& part) {
  return part ? written_fields<Json>(*part, fields_of(&*part)) : Json(nullptr);
}

template <class Part>
void read_part(const Json& value, std::optional<Part>& part) {
  if (!value.is_null()) part = read_fields(value, fields_of(static_cast<const Part*>(nullptr)));
}

Json verdict_value(const Verdict& verdict, const GateRule& rule) {
  Json changes = Json::array();
  for (const ExactChange& change : verdict.changes) {
    changes.push_back({{"metric", change.metric}, {"base", change.base}, {"head", change.head}});
  }
  return {{"name", verdict.name},
          {"case", parse_json<Json>(to_json(verdict.point))},
          {"outcome", to_string(verdict.outcome)},
          {"fails", fails(verdict, rule)},
          {"exact", verdict.exact},
          {"metric", verdict.metric},
          {"reason", verdict.reason},
          {"base", part_value(verdict.base)},
          {"head", part_value(verdict.head)},
          {"ratio", part_value(verdict.ratio)},
          {"confirmation", part_value(verdict.confirmation)},
          {"noise", part_value(verdict.noise)},
          {"changes", std::move(changes)},
          {"rounds_needed", verdict.rounds_needed}};
}

Verdict verdict_of(const Json& value) {
  Verdict verdict;
  value.at("name").get_to(verdict.name);
  verdict.point = case_from_json(json_text(value.at("case")));
  verdict.outcome = parse_outcome(value.at("outcome").get<std::string>());
  value.at("exact").get_to(verdict.exact);
  value.at("metric").get_to(verdict.metric);
  value.at("reason").get_to(verdict.reason);
  read_part(value.at("base"), verdict.base);
  read_part(value.at("head"), verdict.head);
  read_part(value.at("ratio"), verdict.ratio);
  read_part(value.at("confirmation"), verdict.confirmation);
  read_part(value.at("noise"), verdict.noise);
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
  Json exceptions = Json::array();
  for (const CaseThreshold& one : rule.exceptions) {
    exceptions.push_back({{"cases", one.filter}, {"threshold", one.threshold}});
  }
  return {{"threshold", rule.threshold},
          {"exceptions", std::move(exceptions)},
          {"alpha", rule.alpha},
          {"fail_on", std::move(fail_on)},
          {"fail_on_exact", rule.fail_on_exact}};
}

GateRule rule_of(const Json& value) {
  GateRule rule;
  value.at("threshold").get_to(rule.threshold);
  for (const Json& one : value.value("exceptions", Json::array())) {
    const auto filter = one.at("cases").get<std::string>();
    rule.exceptions.push_back({filter, parse_filter(filter), one.at("threshold").get<double>()});
  }
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
  check_whole(value);
  Comparison comparison = read_fields(value, comparison_fields());
  value.at("title").get_to(comparison.title);
  comparison.rule = rule_of(value.at("rule"));
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
  Json value = {{"schema_version", comparison_schema_version},
                {"title", comparison.title},
                {"headline", headline(comparison)},
                {"method", method_line(comparison)},
                {"failed", !failures(comparison).empty()},
                {"rule", rule_value(comparison.rule)}};
  value.update(written_fields<Json>(comparison, comparison_fields()));
  value["verdicts"] = std::move(verdicts);
  add_checksum(value);
  return json_text(value, 1) + "\n";
}

Comparison comparison_from_json(const std::string& text) {
  return read_json<Json>(text, "not a comparison of collbench", comparison_of);
}

}  // namespace collbench
