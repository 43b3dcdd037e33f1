// Diagnoses on the page: a section that needs no script.
#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "bench/reports/diagnosis_report.h"
#include "bench/reports/html_elements.h"
#include "bench/reports/html_report.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

/// Where a size and a ratio of times lie in the drawing; both axes are logarithmic.
class RatioPlane {
 public:
  static constexpr double width = 900;
  static constexpr double height = 260;

  explicit RatioPlane(const std::vector<JudgedSize>& sizes)
      : from_(log_of(sizes.front())), to_(std::max(log_of(sizes.back()), from_ + 1)) {
    for (const JudgedSize& size : sizes) {
      most_ = std::max(most_, 1.1 * (size.measured / size.expected.time));
      least_ = std::min(least_, size.measured / size.expected.time / 1.1);
    }
  }

  double x(const JudgedSize& size) const {
    return left + (width - left - 10) * (log_of(size) - from_) / (to_ - from_);
  }
  double y(double ratio) const {
    const double share = std::log(ratio / least_) / std::log(most_ / least_);
    return 10 + (height - bottom - 10) * (1 - std::clamp(share, 0.0, 1.0));
  }
  std::string point(const JudgedSize& size, double ratio) const {
    return fmt::format("{:.1f},{:.1f} ", x(size), y(ratio));
  }
  double most() const { return most_; }
  double least() const { return least_; }

  static constexpr double left = 50;
  static constexpr double bottom = 25;

 private:
  static double log_of(const JudgedSize& size) {
    return std::log2(static_cast<double>(size.bytes.count));
  }

  double from_;
  double to_;
  double most_ = 2;
  double least_ = 0.5;
};

void add_line(pugi::xml_node svg, const char* element, const char* style,
              const std::string& points) {
  pugi::xml_node line = svg.append_child(element);
  line.append_attribute("class") = style;
  line.append_attribute("points") = points.c_str();
}

void add_axes(pugi::xml_node svg, const RatioPlane& plane, const std::vector<JudgedSize>& sizes) {
  for (double ratio = 0.125; ratio <= 1024; ratio *= 2) {
    if (ratio < plane.least() || ratio > plane.most()) continue;
    add_svg_text(svg, RatioPlane::left - 6, plane.y(ratio) + 4, fmt::format("{:g}", ratio), "end");
    add_line(svg, "polyline", ratio == 1 ? "expected" : "grid",
             plane.point(sizes.front(), ratio) + plane.point(sizes.back(), ratio));
  }
  const std::size_t step = 1 + sizes.size() / 8;
  for (std::size_t i = 0; i < sizes.size(); i += step) {
    add_svg_text(svg, plane.x(sizes[i]), RatioPlane::height - 6, to_string(sizes[i].bytes),
                 "middle");
  }
}

/// Times over the expected: the interval as a band, the measured as a line with points.
void add_drawing(pugi::xml_node parent, const Diagnosis& diagnosis) {
  const std::vector<JudgedSize>& sizes = diagnosis.sizes;
  const RatioPlane plane(sizes);
  pugi::xml_node svg = add_figure(
      parent, "Measured over expected time by size; the band holds 80 % of healthy systems",
      RatioPlane::width, RatioPlane::height);
  std::string band;
  std::string measured;
  for (const JudgedSize& size : sizes) {
    band += plane.point(size, size.expected.high / size.expected.time);
    measured += plane.point(size, size.measured / size.expected.time);
  }
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    band += plane.point(*size, size->expected.low / size->expected.time);
  }
  add_line(svg, "polygon", "band", band);
  add_axes(svg, plane, sizes);
  add_line(svg, "polyline", "measured", measured);
  for (const JudgedSize& size : sizes) {
    pugi::xml_node dot = svg.append_child("circle");
    dot.append_attribute("class") = size.verdict == "slow" ? "slow" : "usual";
    dot.append_attribute("cx") = fmt::format("{:.1f}", plane.x(size)).c_str();
    dot.append_attribute("cy") =
        fmt::format("{:.1f}", plane.y(size.measured / size.expected.time)).c_str();
    dot.append_attribute("r") = "3.5";
    add_element(dot, "title",
                fmt::format("{}: {}, expected {}", to_string(size.bytes), time_text(size.measured),
                            time_text(size.expected.time)));
  }
}

void add_remarks(pugi::xml_node parent, const Diagnosis& diagnosis) {
  if (!diagnosis.undecided.empty()) add_element(parent, "p", diagnosis.undecided, "warn");
  for (const VendorFloor& floor : diagnosis.floors) {
    add_element(parent, "p",
                fmt::format("Threshold of {} ({}): {:g} GB/s, {}.", floor.vendor, floor.machine,
                            floor.busbw_GBps, floor_text(floor, diagnosis)));
  }
  for (const std::string& note : diagnosis.notes) add_element(parent, "p", note, "dim");
}

void add_size_table(pugi::xml_node parent, const Diagnosis& diagnosis) {
  pugi::xml_node details = parent.append_child("details");
  add_element(details, "summary", "All sizes");
  std::vector<std::vector<std::string>> rows;
  for (const JudgedSize& size : diagnosis.sizes) {
    rows.push_back({to_string(size.bytes), time_text(size.measured), time_text(size.expected.time),
                    interval_of(size), size.verdict, size.played});
  }
  const pugi::xml_node body = add_table(
      details, {"size", "measured", "expected", "80 % interval", "verdict", "taken to be played"},
      rows, [](std::size_t column) { return column >= 4; });
  std::size_t i = 0;
  for (pugi::xml_node row : body.children()) {
    if (diagnosis.sizes[i++].verdict != "slow") continue;
    row.last_child().previous_sibling().append_attribute("class") = "bad";
  }
}

}  // namespace

void write_diagnosis_section(std::ostream& out, const std::vector<Diagnosis>& diagnoses) {
  if (diagnoses.empty()) return;
  pugi::xml_document document;
  pugi::xml_node section = add_section(document, "diagnosis", "Diagnosis");
  for (const Diagnosis& diagnosis : diagnoses) {
    add_element(section, "h3", diagnosis_heading(diagnosis));
    add_element(section, "p", diagnosis_line(diagnosis),
                !diagnosis.untold.empty() ? nullptr
                : diagnosis.healthy       ? "good"
                                          : "bad");
    add_element(section, "p", diagnosis_figures(diagnosis));
    add_drawing(section, diagnosis);
    add_causes(section, diagnosis.causes);
    add_remarks(section, diagnosis);
    add_size_table(section, diagnosis);
  }
  write_elements(out, document);
  out << '\n';
}

}  // namespace collbench
