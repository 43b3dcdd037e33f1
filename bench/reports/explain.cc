#include <ostream>

#include <fmt/format.h>

#include "bench/reports/formats.h"

namespace collbench {
namespace {

class ExplainingReporter final : public Reporter {
 public:
  explicit ExplainingReporter(std::ostream& out) : out_(out) {}

  void begin(const Environment& /*environment*/, const std::vector<Case>& /*cases*/) override {}

  void record(const Record& record) override {
    if (!record.measurement.exact) return;
    const Exact& exact = *record.measurement.exact;
    out_ << fmt::format("#   {} in {} rounds, {} messages; engine {}{}\n",
                        record.measurement.played, exact.rounds, exact.messages, exact.engine,
                        exact.why.empty() ? "" : ": " + exact.why);
    if (!exact.bottleneck.empty()) print_lines(exact.bottleneck);
    out_ << std::flush;
  }

  void end(const RunSummary& /*summary*/) override {}

 private:
  void print_lines(const std::string& text) {
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      out_ << "#   " << text.substr(start, end - start) << '\n';
      start = end + 1;
    }
  }

  std::ostream& out_;
};

}  // namespace

std::unique_ptr<Reporter> explaining_reporter(std::ostream& out) {
  return std::make_unique<ExplainingReporter>(out);
}

}  // namespace collbench
