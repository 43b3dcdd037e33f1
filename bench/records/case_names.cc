#include "bench/records/case_names.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "bench/records/case_fields.h"
#include "bench/records/record_json.h"
#include "bench/records/report.h"

namespace collbench {
namespace {

/// Appends to each text what its owner has in a field, if they do not all have the same.
template <class Owner>
void add_differing(std::span<const JsonField<Owner>> fields,
                   const std::vector<const Owner*>& owners, std::vector<std::string>& texts) {
  for (const JsonField<Owner>& field : fields) {
    std::vector<std::string> values;
    for (const Owner* owner : owners) values.push_back(field_text(field, *owner));
    if (std::ranges::all_of(values, [&](const auto& value) { return value == values.front(); })) {
      continue;
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      texts[i] += fmt::format("/{}:{}", field.key, values[i].empty() ? "none" : values[i]);
    }
  }
}

/// Appends what an owner has in fields that its name does not say and whose value is not as usual.
/// `owner_of(point)` is that of a case.
template <class Owner, class OwnerOf>
void add_unsaid(std::span<const JsonField<Owner>> fields, OwnerOf owner_of, const Case& point,
                std::string& text) {
  const std::string name = case_name(point);
  const Case usual;
  for (const JsonField<Owner>& field : fields) {
    Case changed = point;
    std::visit([&](auto member) { owner_of(changed).*member = owner_of(usual).*member; },
               field.member);
    const std::string value = field_text(field, owner_of(point));
    if (value == field_text(field, owner_of(usual)) || case_name(changed) != name) continue;
    text += fmt::format("/{}:{}", field.key, value.empty() ? "none" : value);
  }
}

}  // namespace

std::string whole_name(const Case& point) {
  std::string text = case_name(point);
  Case asked = point;
  asked.calls = 1;
  if (asked.transport == "raw") asked.transport.clear();  // which the name has as usual
  // Simulated ones and those of other benchmarks' tables are always of one kind.
  if (!asked.simulated.topology.empty() || !asked.statistic.empty()) asked.buffers = Case{}.buffers;
  if (asked.backend.empty()) {  // the name is all of another program's case
    asked = Case{};
    asked.algorithm = point.algorithm;
    asked.statistic = point.statistic;
  }
  add_unsaid(
      case_fields(), [](auto& owner) -> auto& { return owner; }, asked, text);
  add_unsaid(
      simulated_fields(), [](auto& owner) -> auto& { return owner.simulated; }, asked, text);
  return text;
}

CaseNames::CaseNames(const std::vector<Case>& cases) {
  std::map<std::string, std::map<std::string, const Case*>> named;  // by name, then by to_json()
  for (const Case& point : cases) named[case_name(point)].emplace(to_json(point), &point);
  for (const auto& [name, same] : named) {
    if (same.size() < 2) continue;
    std::vector<const Case*> points;
    std::vector<const Simulated*> simulated;
    for (const auto& [key, point] : same) {
      points.push_back(point);
      simulated.push_back(&point->simulated);
    }
    std::vector<std::string> texts(same.size(), name);
    add_differing(case_fields(), points, texts);
    add_differing(simulated_fields(), simulated, texts);
    std::size_t at = 0;
    for (const auto& [key, point] : same) longer_[key] = texts[at++];
  }
}

std::string CaseNames::of(const Case& point) const {
  if (longer_.empty()) return case_name(point);
  const auto found = longer_.find(to_json(point));
  return found == longer_.end() ? case_name(point) : found->second;
}

}  // namespace collbench
