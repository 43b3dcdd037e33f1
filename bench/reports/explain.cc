#include <ostream>

#include <fmt/format.h>

#include "bench/reports/formats.h"
#include "core/parse.h"

namespace collbench {
namespace {

class ExplainingReporter final : public Reporter {
 public:
  explicit ExplainingReporter(std::ostream& out) : out_(out) {}

  void record(const Record& record) override {
    if (!record.measurement.exact) return;
    const Exact& exact = *record.measurement.exact;
    out_ << fmt::format("#   {} in {} rounds, {} messages; engine {}{}\n",
                        record.measurement.played, exact.rounds, exact.messages, exact.engine,
                        exact.why.empty() ? "" : ": " + exact.why);
    for (const std::string& line : split_at(trimmed(exact.bottleneck), '\n')) {
      if (!line.empty()) out_ << "#   " << line << '\n';
    }
    out_ << std::flush;
  }

 private:
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<Reporter> explaining_reporter(std::ostream& out) {
  return std::make_unique<ExplainingReporter>(out);
}

}  // namespace collbench
