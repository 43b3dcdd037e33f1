// mpiP's report: by call site and rank, how many all-reduces and their mean, longest and shortest
// time. All calls of a site are one record with a mean.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/logs/log_readers.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

/// What the two sections say of one site and rank.
struct SiteAndRank {
  std::int64_t count = 0;
  double mean_us = unknown_time;
  double mean_bytes = 0, most_bytes = 0, least_bytes = 0;
};

struct MpipReport {
  std::map<int, std::string> hosts;                                         // by rank
  std::map<std::pair<std::string, int>, std::map<int, SiteAndRank>> sites;  // by call and site
  std::int64_t bin_bytes = 0;  // lower end of the one range of sizes of all-reduces; 0: several
  int fewest_ranks = 1 << 20;  // upper end of the smallest range of sizes of communicators
};

/// "Allreduce  1  0  6000  4.34  2.71  0.381 ..": name, site, rank, count, longest, mean, shortest.
void take_row(const std::vector<std::string_view>& words, bool times, MpipReport& report) {
  if (words.size() < 7) return;
  const auto site = small_integer_in(words[1]);
  const auto rank = small_integer_in(words[2], 0, 1 << 20);
  const auto count = integer_in(words[3], 1, most_logged_calls);
  const auto most = number_in(words[4], 0, 1e15);
  const auto mean = number_in(words[5], 0, 1e15);
  const auto least = number_in(words[6], 0, 1e15);
  if (!site || !rank || !count || !most || !mean || !least) return;
  SiteAndRank& row = report.sites[{std::string(words[0]), *site}][*rank];
  row.count = *count;
  if (times) {
    row.mean_us = 1000 * *mean;
  } else {
    row.mean_bytes = *mean;
    row.most_bytes = *most;
    row.least_bytes = *least;
  }
}

/// "Allreduce   100   4 -   7   4194304 -  8388607": the sizes are ranges of powers of two.
void take_bin(const std::vector<std::string_view>& words, MpipReport& report, int& bins) {
  if (words.size() < 8 || !waits_for_all(logged_kind(words[0]))) return;
  const int most = small_integer_in(words[4], 0, 1 << 20).value_or(1 << 20);
  report.fewest_ranks = std::min(report.fewest_ranks, most);
  if (words[0] != "Allreduce") return;
  report.bin_bytes = integer_in(words[5]).value_or(0);
  ++bins;
}

MpipReport read_report(std::string_view text) {
  MpipReport report;
  std::string section;
  int bins = 0;
  for (const std::string& line : split_at(text, '\n')) {
    if (line.starts_with("@---")) section = line;
    const std::vector<std::string_view> words = split_at_blanks(line);
    if (line.starts_with("@ MPI Task Assignment") && words.size() >= 7) {
      const auto rank = small_integer_in(words[5], 0, 1 << 20);
      if (rank) report.hosts[*rank] = std::string(words[6]);
    }
    const auto in = [&](const char* part) { return section.find(part) != section.npos; };
    if (in("Callsite Time statistics")) take_row(words, true, report);
    if (in("Callsite Message Sent statistics")) take_row(words, false, report);
    if (in("Aggregate Collective Time")) take_bin(words, report, bins);
  }
  if (bins != 1) report.bin_bytes = 0;
  return report;
}

/// The size of a site's calls. Four digits are printed: within them, the end of the range of powers
/// of two that all calls are in is what was meant.
std::int64_t bytes_of(const SiteAndRank& row, std::int64_t bin_bytes) {
  const auto bin = static_cast<double>(bin_bytes);
  const bool is_end = bin > 0 && std::abs(row.mean_bytes - bin) < 1e-3 * bin;
  return is_end ? bin_bytes : static_cast<std::int64_t>(row.mean_bytes);
}

}  // namespace

void read_mpip(std::string_view text, const std::string& file, JobLog& job) {
  const MpipReport report = read_report(text);
  job.of_processors = true;
  const int ranks = report.hosts.empty() ? 0 : report.hosts.rbegin()->first + 1;
  const bool is_world = report.fewest_ranks >= ranks;
  const int communicator =
      job.communicator("mpiP " + file, is_world ? "MPI_COMM_WORLD" : "several communicators",
                       std::min(ranks, report.fewest_ranks));
  bool differ = false;
  for (const auto& [call, rows] : report.sites) {
    for (const auto& [rank, row] : rows) {
      if (!(row.mean_us > 0) || (ranks > 0 && rank >= ranks)) continue;
      LogRecord& record = job.records.emplace_back();
      record.communicator = communicator;
      record.rank = rank;
      const auto host = report.hosts.find(rank);
      record.process =
          job.process(fmt::format("task {}", rank), host == report.hosts.end() ? "" : host->second);
      record.kind = logged_kind(call.first);
      record.parts_differ = call.first.ends_with('v') || call.first.ends_with('w');  // Alltoallv
      record.sequence = call.second;
      record.bytes = bytes_of(row, report.bin_bytes);
      record.duration_us = row.mean_us;
      record.count = row.count;
      differ = differ || row.least_bytes < row.most_bytes;
    }
  }
  job.note_once(
      "mpiP has means over all calls of a site, in any communicator: that the same rank "
      "is last each time is concluded from them");
  if (differ) job.note_once("sites of mpiP with calls of several sizes count with their mean");
}

}  // namespace collbench
