#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "core/error.h"
#include "topologies/draw/draw.h"
#include "topologies/draw/outline.h"
#include "topologies/draw/xml_elements.h"

namespace collbench {
namespace {

constexpr int most_single_hosts = 128;  // drawn one by one
constexpr int most_groups = 64;
constexpr double title_height = 46;
constexpr double legend_row = 20;

// Okabe and Ito 2008; black last, since shapes have black outlines.
constexpr std::array<std::string_view, 7> class_colors{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                       "#E69F00", "#56B4E9", "#000000"};
// Nuñez et al. 2018, cividis at quarters, reversed: idle is light on white, busy dark.
constexpr std::array<std::array<int, 3>, 5> use_colors{
    {{{254, 232, 56}}, {{188, 175, 111}}, {{124, 123, 120}}, {{66, 78, 108}}, {{0, 32, 77}}}};

std::string use_color(double use) {
  const double at = std::clamp(use, 0.0, 1.0) * (use_colors.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(at), use_colors.size() - 2);
  const double part = at - static_cast<double>(i);
  std::string color = "#";
  for (std::size_t c = 0; c < 3; ++c) {
    const double value = use_colors[i][c] + part * (use_colors[i + 1][c] - use_colors[i][c]);
    color += fmt::format("{:02x}", static_cast<int>(std::lround(value)));
  }
  return color;
}

std::string decimal(double value) { return fmt::format("{:.1f}", value); }
std::string whole(double value) { return fmt::format("{:.0f}", value); }

class SvgWriter {
 public:
  SvgWriter(const Topology& topology, const SvgOptions& options)
      : topology_(topology), shows_use_(!options.utilisation.empty()) {
    picture_ = outline(topology, options.utilisation,
                       topology.hosts() <= most_single_hosts ? most_single_hosts : most_groups);
    arrange(picture_);
    for (const Line& line : picture_.lines) widest_ = std::max(widest_, line.capacity);
    find_classes();
  }

  std::string text() {
    pugi::xml_document document;
    pugi::xml_node svg = document.append_child("svg");
    pugi::xml_node legend = add_element(svg, "g", {});
    add_legend(legend);
    const double width = std::max({picture_.width, legend_width_ + 40, 420.0});
    offset_ = (width - picture_.width) / 2;
    const double height =
        title_height + picture_.height + legend_row * static_cast<double>(legend_rows_) + 6;
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::string>>{
             {"xmlns", "http://www.w3.org/2000/svg"},
             {"width", whole(width)},
             {"height", whole(height)},
             {"viewBox", fmt::format("0 0 {:.0f} {:.0f}", width, height)},
             {"font-family", "sans-serif"},
             {"font-size", "12"}}) {
      svg.append_attribute(name) = value.c_str();
    }
    add_element(svg, "rect", {{"width", "100%"}, {"height", "100%"}, {"fill", "#ffffff"}});
    add_element(svg, "text",
                {{"x", "20"}, {"y", "28"}, {"font-size", "16"}, {"font-weight", "bold"}})
        .text()
        .set(title().c_str());
    for (const Line& line : picture_.lines) draw(svg, line);
    for (const DrawnShape& shape : picture_.shapes) draw(svg, shape);
    svg.append_move(legend);
    return printed(document, false);
  }

 private:
  std::string title() const {
    const int hosts = topology_.hosts();
    std::string text = fmt::format("{}: {} host{}", topology_.name(), hosts, hosts == 1 ? "" : "s");
    const int switches = topology_.vertices() - hosts;
    if (switches > 0) text += fmt::format(", {} switch{}", switches, switches == 1 ? "" : "es");
    return text;
  }

  void find_classes() {
    for (const Link& link : topology_.links()) ++links_of_class_[link.link_class];
  }

  std::string color(const Line& line) const {
    if (shows_use_) return use_color(line.utilisation);
    const auto index =
        std::distance(links_of_class_.begin(), links_of_class_.find(line.link_class));
    return std::string(class_colors[static_cast<std::size_t>(index) % class_colors.size()]);
  }

  double y(double value) const { return value + title_height; }
  double x(double value) const { return value + offset_; }

  std::string path_of(const Line& line) const {
    const DrawnShape& a = shape(line.a);
    const DrawnShape& b = shape(line.b);
    const double ax = x(a.x), ay = y(a.y), bx = x(b.x), by = y(b.y);
    const double length = std::max(std::hypot(bx - ax, by - ay), 1.0);
    if (line.path == DrawnPath::straight) {
      return fmt::format("M{:.1f},{:.1f} L{:.1f},{:.1f}", ax, ay, bx, by);
    }
    if (line.path == DrawnPath::arc) {
      // Away from the straight line, upwards or to the right.
      const double bulge = std::min(length / 3, 60.0) / length * (ax <= bx ? 1 : -1);
      return fmt::format("M{:.1f},{:.1f} Q{:.1f},{:.1f} {:.1f},{:.1f}", ax, ay,
                         (ax + bx) / 2 + (by - ay) * bulge, (ay + by) / 2 - (bx - ax) * bulge, bx,
                         by);
    }
    const double ux = (bx - ax) / length * 24, uy = (by - ay) / length * 24;
    return fmt::format("M{:.1f},{:.1f} l{:.1f},{:.1f} M{:.1f},{:.1f} l{:.1f},{:.1f}", ax, ay, -ux,
                       -uy, bx, by, ux, uy);
  }

  const DrawnShape& shape(int index) const {
    return picture_.shapes[static_cast<std::size_t>(index)];
  }

  void draw(pugi::xml_node svg, const Line& line) const {
    const DrawnShape& a = shape(line.a);
    const DrawnShape& b = shape(line.b);
    const double width = 1.2 + 2.8 * std::sqrt(line.capacity / widest_);
    std::string tip = fmt::format("{} {} {}: {}", a.label, line.two_way ? "-" : "to", b.label,
                                  topology_.classes()[line.link_class].name);
    if (line.cables > 1) tip += fmt::format(", {} cables", line.cables);
    if (shows_use_) tip += fmt::format(", {:.0f} % used", 100 * line.utilisation);
    add_element(svg, "path",
                {{"d", path_of(line)},
                 {"fill", "none"},
                 {"stroke", color(line)},
                 {"stroke-width", fmt::format("{:.2f}", width)},
                 {"stroke-dasharray", line.two_way ? "" : "6 3"}})
        .append_child("title")
        .text()
        .set(tip.c_str());
  }

  // The last number in a name, "12", and "12+" of several.
  static std::string number_of(const DrawnShape& shape) {
    const std::size_t plus = shape.label.find(" +");
    std::string name = shape.label.substr(0, plus);
    // "node 7 switch": the number is that of the node.
    const std::size_t last = name.find_last_of("0123456789");
    if (last != std::string::npos) name.resize(last + 1);
    const std::size_t digit = name.find_last_not_of("0123456789");
    std::string number = name.substr(digit == std::string::npos ? 0 : digit + 1);
    if (number.empty()) number = name.substr(0, 3);
    return shape.members > 1 ? number + "+" : number;
  }

  // Of a long name the last two words, or the end of one that is long itself.
  static std::string short_name(const std::string& name) {
    if (name.size() <= 13) return name;
    std::size_t from = name.rfind(' ');
    if (from != std::string::npos && from > 0) from = name.rfind(' ', from - 1);
    const std::string end = from == std::string::npos ? name : name.substr(from + 1);
    return end.size() <= 13 ? end : end.substr(end.size() - 9);
  }

  void draw(pugi::xml_node svg, const DrawnShape& shape) const {
    const double cx = x(shape.x);
    const double cy = y(shape.y);
    const bool is_host = shape.hosts > 0;
    pugi::xml_node drawn = is_host ? add_element(svg, "circle",
                                                 {{"cx", decimal(cx)},
                                                  {"cy", decimal(cy)},
                                                  {"r", picture_.spacing < 40 ? "11.5" : "14"},
                                                  {"fill", "#f7f7f7"}})
                                   : add_element(svg, "rect",
                                                 {{"x", decimal(cx - 13)},
                                                  {"y", decimal(cy - 9)},
                                                  {"width", "26"},
                                                  {"height", "18"},
                                                  {"rx", "3"},
                                                  {"fill", "#d9d9d9"}});
    drawn.append_attribute("stroke") = "#000000";
    drawn.append_child("title").text().set(shape.label.c_str());
    const bool has_room = is_host
                              ? picture_.spacing >= 80 && picture_.arrangement != Arrangement::grid
                              : !shape.is_crowded;
    if (has_room) {
      label_outside(svg, shape, cx, cy);
    } else {
      label_inside(svg, number_of(shape), cx, cy);
    }
  }

  static void label_inside(pugi::xml_node svg, const std::string& number, double cx, double cy) {
    add_element(svg, "text",
                {{"x", decimal(cx)},
                 {"y", decimal(cy + 3.5)},
                 {"text-anchor", "middle"},
                 {"font-size", number.size() <= 2 ? "11" : (number.size() == 3 ? "9" : "7")}})
        .text()
        .set(number.c_str());
  }

  // Below hosts, above switches; on a circle outwards. A white edge keeps lines off the letters.
  void label_outside(pugi::xml_node svg, const DrawnShape& shape, double cx, double cy) const {
    std::string anchor = "middle";
    if (picture_.arrangement == Arrangement::circle && shape.hosts > 0) {
      cx += 22 * std::cos(shape.angle);
      cy += 22 * std::sin(shape.angle) + 4;
      if (std::abs(std::cos(shape.angle)) > 0.3)
        anchor = std::cos(shape.angle) > 0 ? "start" : "end";
    } else if (shape.hosts > 0 || shape.level < 0) {
      cy += shape.hosts > 0 ? 27 : 21;
    } else {
      cy -= 14;
    }
    add_element(svg, "text",
                {{"x", decimal(cx)},
                 {"y", decimal(cy)},
                 {"text-anchor", anchor},
                 {"font-size", "10"},
                 {"stroke", "#ffffff"},
                 {"stroke-width", "3"},
                 {"paint-order", "stroke"}})
        .text()
        .set(short_name(shape.label).c_str());
  }

  // Marks are added to the line that this returns.
  pugi::xml_node add_line(pugi::xml_node legend, const std::string& text) {
    const double top =
        title_height + picture_.height + legend_row * static_cast<double>(legend_rows_++);
    legend_width_ = std::max(legend_width_, 60 + 6.7 * static_cast<double>(text.size()));
    pugi::xml_node line =
        add_element(legend, "g", {{"transform", fmt::format("translate(20 {:.0f})", top)}});
    add_element(line, "text", {{"x", "40"}, {"y", "4"}}).text().set(text.c_str());
    return line;
  }

  void add_legend(pugi::xml_node legend) {
    for (const auto& [index, links] : links_of_class_) {
      const LinkClass& c = topology_.classes()[index];
      Line sample;
      sample.link_class = index;
      pugi::xml_node line =
          add_line(legend, fmt::format("{}: {} each way, {:.3g} % reached, {}; {} links", c.name,
                                       to_string(c.nominal), 100 * c.efficiency,
                                       to_string(c.latency), links));
      if (shows_use_) continue;
      add_element(line, "path",
                  {{"d", "M0,0 L30,0"}, {"stroke", color(sample)}, {"stroke-width", "4"}});
    }
    if (shows_use_) {
      pugi::xml_node line = add_line(legend, "utilisation, from 0 to 100 %");
      for (int i = 0; i < 30; ++i) {
        add_element(line, "rect",
                    {{"x", std::to_string(i)},
                     {"y", "-6"},
                     {"width", "1.5"},
                     {"height", "12"},
                     {"fill", use_color(i / 29.0)}});
      }
    }
    const bool is_grouped = std::any_of(picture_.shapes.begin(), picture_.shapes.end(),
                                        [](const DrawnShape& s) { return s.members > 1; });
    if (is_grouped) add_line(legend, "0+ stands for host 0 and those that follow");
    const bool has_ends = std::any_of(picture_.lines.begin(), picture_.lines.end(),
                                      [](const Line& l) { return l.path == DrawnPath::ends; });
    if (has_ends) add_line(legend, "loose ends meet at the far side of the grid");
  }

  const Topology& topology_;
  bool shows_use_;
  Outline picture_;
  double widest_ = 1;
  std::map<std::int32_t, int> links_of_class_;
  double offset_ = 0;
  double legend_width_ = 0;
  std::size_t legend_rows_ = 0;
};

}  // namespace

std::string to_svg(const Topology& topology, const SvgOptions& options) {
  require(options.utilisation.empty() || options.utilisation.size() == topology.links().size(),
          fmt::format("topology {}: {} utilisations for {} links", topology.name(),
                      options.utilisation.size(), topology.links().size()));
  return SvgWriter(topology, options).text();
}

}  // namespace collbench
