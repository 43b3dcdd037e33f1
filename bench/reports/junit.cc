// JUnit's XML: what Jenkins' schema knows, and nothing else.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "bench/reports/columns.h"
#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"
#include "topologies/xml_text.h"

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

void write_suite(std::ostream& out, const std::string& title, const std::vector<JunitCase>& cases) {
  const auto count = [&](std::string_view result) {
    return std::count_if(cases.begin(), cases.end(),
                         [&](const JunitCase& one) { return one.result == result; });
  };
  double seconds = 0;
  for (const JunitCase& one : cases) seconds += one.seconds;
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.6f}\"",
                  cases.size(), count("failure"), count("error"), count("skipped"), seconds);
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      << fmt::format("<testsuites name=\"collbench\" {}>\n", counts)
      << fmt::format("<testsuite name=\"{}\" {}>\n", escaped_for_xml(title), counts);
  for (const JunitCase& one : cases) {
    out << fmt::format("<testcase classname=\"{}\" name=\"{}\" time=\"{:.9f}\"",
                       escaped_for_xml(one.group), escaped_for_xml(one.name), one.seconds);
    if (one.result.empty()) {
      out << "/>\n";
      continue;
    }
    out << fmt::format("><{} ", one.result);
    if (one.result != "skipped") out << fmt::format("type=\"{}\" ", escaped_for_xml(one.type));
    out << fmt::format("message=\"{}\"/></testcase>\n", escaped_for_xml(one.message));
  }
  out << "</testsuite>\n</testsuites>\n" << std::flush;
}

class JunitReporter final : public Reporter {
 public:
  explicit JunitReporter(std::ostream& out) : out_(out) {}
  void begin(const Environment& /*environment*/, const std::vector<Case>& /*cases*/) override {}

  void record(const Record& record) override {
    const Figures shown = figures(record);
    JunitCase& one = cases_.emplace_back();
    one.group = "collbench." + backend_text(record.which);
    one.name = case_name(record.which);
    one.seconds = shown.valid ? shown.median_us * 1e-6 : 0;
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
  std::vector<JunitCase> cases_;
};

JunitCase case_of(const Verdict& verdict, const GateRule& rule) {
  JunitCase one;
  one.group = "collbench." + backend_text(verdict.which);
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

std::unique_ptr<Reporter> junit_reporter(std::ostream& out) {
  return std::make_unique<JunitReporter>(out);
}

void write_junit(std::ostream& out, const Comparison& comparison) {
  std::vector<JunitCase> cases;
  for (const Verdict& verdict : comparison.verdicts) {
    cases.push_back(case_of(verdict, comparison.rule));
  }
  write_suite(out, comparison.title, cases);
}

}  // namespace collbench
