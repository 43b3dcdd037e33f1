// The page of a job's logs: the answers, the waiting of each rank, each communicator's table, and
// the causes.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "bench/logs/job_lines.h"
#include "bench/reports/html_elements.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

constexpr std::size_t most_bars = 64;

const char* style_of(JobHealth health) {
  if (health == JobHealth::good) return "good";
  if (health == JobHealth::bad) return "bad";
  return health == JobHealth::unknown ? "warn" : nullptr;
}

/// The ranks that have a log, by number; of very many those that wait least, as a late one does.
std::vector<std::size_t> drawn_ranks(const std::vector<double>& waits) {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < waits.size(); ++rank) {
    if (std::isfinite(waits[rank])) ranks.push_back(rank);
  }
  if (ranks.size() > most_bars) {
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](std::size_t a, std::size_t b) { return waits[a] < waits[b]; });
    ranks.resize(most_bars);
    std::sort(ranks.begin(), ranks.end());
  }
  return ranks;
}

void add_bar(pugi::xml_node svg, double y, double width, bool late) {
  pugi::xml_node bar = svg.append_child("rect");
  bar.append_attribute("class") = late ? "slow" : "usual";
  bar.append_attribute("x") = "70";
  bar.append_attribute("y") = fmt::format("{:.1f}", y).c_str();
  bar.append_attribute("width") = fmt::format("{:.1f}", width).c_str();
  bar.append_attribute("height") = "12";
}

/// A bar for each rank; the one that the others wait for has the shortest.
void add_waiting(pugi::xml_node parent, const JobReport& report) {
  const std::vector<double>& waits = report.verdict.mean_wait_us;
  const std::vector<std::size_t> ranks = drawn_ranks(waits);
  if (ranks.size() < 2) return;
  double most = 1;
  for (const std::size_t rank : ranks) most = std::max(most, waits[rank]);
  constexpr double row = 17;
  pugi::xml_node svg = add_figure(
      parent,
      fmt::format("Mean waiting by rank: a late one waits least{}",
                  ranks.size() < waits.size()
                      ? fmt::format(" ({} of {} ranks: those with a log that wait least)",
                                    ranks.size(), waits.size())
                      : ""),
      900, row * static_cast<double>(ranks.size()) + 8);
  const std::vector<int>& late = report.verdict.lateness.late;
  double y = 4;
  for (const std::size_t rank : ranks) {
    const double width = std::max(1.0, 720 * waits[rank] / most);
    const bool is_late = std::find(late.begin(), late.end(), static_cast<int>(rank)) != late.end();
    add_svg_text(svg, 64, y + 11, fmt::format("rank {}", rank), "end");
    add_bar(svg, y, width, is_late);
    add_svg_text(svg, 76 + width, y + 11,
                 time_text(Seconds{waits[rank] * 1e-6}) + (is_late ? ", late" : ""), "start");
    y += row;
  }
}

void add_communicators(pugi::xml_node parent, const JobReport& report) {
  for (JobTable& table : job_tables(report)) {
    const std::vector<std::string> names = std::move(table.rows.front());
    table.rows.erase(table.rows.begin());
    const auto is_text = [&](std::size_t column) {
      const std::string& name = names[column];
      return column == 0 || name == "algorithm" || name == "best choice" || name == "elements";
    };
    table.title.front() = 'C';
    add_element(parent, "h3", table.title);
    add_table(parent, names, table.rows, is_text);
  }
}

}  // namespace

void write_job_html(std::ostream& out, const JobReport& report) {
  pugi::xml_document document;
  pugi::xml_node section = add_section(document, "job", "What the job's collectives did");
  for (const JobAnswer& answer : job_answers(report)) {
    std::string text = answer.text;
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    add_element(section, "p", text, style_of(answer.health));
  }
  const std::string exposure = job_exposure_line(report.verdict);
  if (!exposure.empty()) add_element(section, "p", exposure);
  add_waiting(section, report);
  add_causes(section, report.verdict.causes);
  add_communicators(section, report);
  for (const std::string& line : job_remarks(report.job)) add_element(section, "p", line, "dim");
  const auto body = [&](std::ostream& main) { write_elements(main, document); };
  write_page(out, job_source_line(report), body, [](std::ostream&) {});
}

}  // namespace collbench
