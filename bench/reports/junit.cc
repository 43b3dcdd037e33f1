// JUnit's XML: what Jenkins' schema knows, and nothing else.
#include <algorithm>
#include <map>
#include <ostream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "bench/records/case_names.h"
#include "bench/reports/columns.h"
#include "bench/reports/formats.h"
#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

/// A test case and what came of it; `result` is "failure", "error", "skipped" or "".
struct JunitCase {
  std::string group;
  std::string name;
  double seconds = 0;
  std::string result;
  std::string type;
  std::string message;
};

/// Of another benchmark's case the back end is not known.
std::string junit_group(const Case& point) {
  const std::string backend = backend_text(point);
  return backend.empty() ? "collbench" : "collbench." + backend;
}

/// XML has no control characters, not even as entities.
std::string without_controls(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

void set(pugi::xml_node node, const char* attribute, const std::string& value) {
  node.append_attribute(attribute) = without_controls(value).c_str();
}

void set_counts(pugi::xml_node node, const std::string& name, const std::vector<JunitCase>& cases) {
  double seconds = 0;
  for (const JunitCase& one : cases) seconds += one.seconds;
  set(node, "name", name);
  set(node, "tests", std::to_string(cases.size()));
  for (const auto& column :
       {std::pair("failures", "failure"), {"errors", "error"}, {"skipped", "skipped"}}) {
    const auto count = std::count_if(cases.begin(), cases.end(), [&](const JunitCase& one) {
      return one.result == column.second;
    });
    set(node, column.first, std::to_string(count));
  }
  set(node, "time", fmt::format("{:.6f}", seconds));
}

void write_suite(std::ostream& out, const std::string& title, const std::vector<JunitCase>& cases) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  set(declaration, "version", "1.0");
  set(declaration, "encoding", "UTF-8");
  pugi::xml_node suites = document.append_child("testsuites");
  set_counts(suites, "collbench", cases);
  pugi::xml_node suite = suites.append_child("testsuite");
  set_counts(suite, title, cases);
  for (const JunitCase& one : cases) {
    pugi::xml_node test = suite.append_child("testcase");
    set(test, "classname", one.group);
    set(test, "name", one.name);
    set(test, "time", fmt::format("{:.9f}", one.seconds));
    if (one.result.empty()) continue;
    pugi::xml_node result = test.append_child(one.result.c_str());
    if (one.result != "skipped") set(result, "type", one.type);
    set(result, "message", one.message);
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_indent, pugi::encoding_utf8);
  out << with_whole_characters(text.str()) << std::flush;
}

class JunitReporter final : public Reporter {
 public:
  explicit JunitReporter(std::ostream& out) : out_(out) {}
  void begin(const Environment& /*environment*/, const std::vector<Case>& cases) override {
    names_ = CaseNames(cases);
  }
  void record(const Record& record) override {
    const Figures shown = figures(record);
    JunitCase& one = cases_.emplace_back();
    one.group = junit_group(record.point);
    one.name = names_.of(record.point);
    // Readers take tests of one name for one test.
    if (const int times = ++times_[{one.group, one.name}]; times > 1) {
      one.name += fmt::format(" ({})", times);
    }
    one.seconds = shown.valid ? shown.time_us * 1e-6 : 0;
    if (!record.skipped.empty()) {
      one.result = "skipped";
      one.message = record.skipped;
    } else if (!is_right(record)) {
      one.result = "error";
      one.type = "wrong";
      one.message = wrong_text(record);
    }
  }

  void end(const RunSummary& summary) override {
    if (!summary.failure.empty()) {
      cases_.push_back({"collbench", "the run", 0, "error", "failed", summary.failure});
    }
    write_suite(out_, "records", cases_);
  }

 private:
  std::ostream& out_;
  CaseNames names_;
  std::map<std::pair<std::string, std::string>, int> times_;  // by group and name
  std::vector<JunitCase> cases_;
};

JunitCase case_of(const Verdict& verdict, const GateRule& rule) {
  JunitCase one;
  one.group = junit_group(verdict.point);
  one.name = verdict.name;
  one.seconds = verdict.head ? verdict.head->typical_ns * 1e-9 : 0;
  one.type = std::string(to_string(verdict.outcome));
  one.message = fmt::format("{}: {}", one.type, verdict.reason);
  if (verdict.outcome == VerdictOutcome::wrong) {
    one.result = "error";
  } else if (fails(verdict, rule)) {
    one.result = "failure";
  } else if (verdict.outcome == VerdictOutcome::inconclusive ||
             verdict.outcome == VerdictOutcome::env_mismatch) {
    one.result = "skipped";
  }
  return one;
}

}  // namespace

ReportFormat junit_format() {
  return {"junit", "JUnit XML, a test per case", reporter_on<JunitReporter>,
          [](std::ostream& out, const Comparison& comparison, const TableStyle&) {
            std::vector<JunitCase> cases;
            for (const Verdict& verdict : comparison.verdicts) {
              cases.push_back(case_of(verdict, comparison.rule));
            }
            // Of no tests at all, readers say that all passed.
            if (compares_nothing(comparison)) {
              cases.push_back({"collbench", "the comparison", 0, "error", "empty",
                               "no case was measured on both sides"});
            }
            write_suite(out, comparison.title, cases);
          }};
}

}  // namespace collbench
