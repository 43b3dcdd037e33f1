#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "core/error.h"
#include "core/plain_text.h"
#include "topologies/draw/draw.h"
#include "topologies/draw/outline.h"
#include "topologies/draw/xml_elements.h"

namespace collbench {
namespace {

constexpr std::size_t most_lines = 20'000;
constexpr int most_single_hosts = 128;  // of a picture whose hosts are drawn one by one
constexpr int most_groups = 64;
constexpr int most_named_hosts = 16;  // more have room for their numbers only

std::string dot_quoted(const std::string& text) {
  std::string safe = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') safe += '\\';
    safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    if (c == '&') safe += "amp;";
  }
  return safe + '"';
}

const char* color_of(int link_class) {
  return distinct_colors[static_cast<std::size_t>(link_class) % distinct_colors.size()];
}

class DotWriter {
 public:
  DotWriter(const Topology& topology, int most_hosts)
      : topology_(topology),
        picture_(outline(topology, most_hosts)),
        is_grouped_(topology.hosts() > most_hosts) {
    for (const int length : picture_.blocks) host_shapes_ *= length;
    const bool has_switches = topology.vertices() > topology.hosts();
    const auto long_axes = std::count_if(picture_.blocks.begin(), picture_.blocks.end(),
                                         [](int length) { return length > 1; });
    is_placed_ = !has_switches;
    is_grid_ = !has_switches && topology.layout().kind == Layout::Kind::grid && long_axes > 1;
    has_names_ = !is_grid_ && host_shapes_ <= most_named_hosts;
    if (is_placed_) {
      layout_ = "layout=neato; overlap=true";  // keeps the places that it is given
    } else {
      layout_ = has_names_ ? "rankdir=BT; splines=true" : "layout=sfdp; overlap=prism";
    }
    for (const DrawnLine& line : picture_.lines) widest_ = std::max(widest_, rate(line));
  }

  std::string text() {
    add("digraph {} {{\n  splines=line; outputorder=edgesfirst; {};\n"
        "  fontname=\"sans-serif\"; labelloc=t; labeljust=l; label=<{}>;\n"
        "  node [fontname=\"sans-serif\", fontsize=10, style=filled, fillcolor=\"#f7f7f7\"];\n",
        dot_quoted(topology_.name()), layout_, legend());
    for (std::size_t i = 0; i < picture_.shapes.size(); ++i) add_shape(static_cast<int>(i));
    add("  {{rank=same;");
    for (int i = 0; i < host_shapes_; ++i) add(" v{};", i);
    add("}}\n");
    for (const DrawnLine& line : picture_.lines) add_line(line);
    return dot_ + "}\n";
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(dot_), format, std::forward<Values>(values)...);
  }

  double rate(const DrawnLine& line) const {
    return topology_.classes()[line.link_class].nominal.bytes_per_second * line.lanes;
  }

  // Graphviz reads labels in angle brackets as a subset of HTML.
  std::string legend() const {
    pugi::xml_document document;
    pugi::xml_node table = add_element(
        document, "table", {{"border", "0"}, {"cellborder", "0"}, {"cellspacing", "3"}});
    const auto add_row = [&](const std::string& text) {
      pugi::xml_node row = add_element(table, "tr", {});
      add_element(row, "td", {{"align", "left"}}).text().set(text.c_str());
      return row;
    };
    const int hosts = topology_.hosts();
    const int switches = topology_.vertices() - hosts;
    std::string title = topology_.name() + ": " + counted(hosts, "host");
    if (switches > 0) title += fmt::format(", {} switch{}", switches, switches == 1 ? "" : "es");
    add_row(title);
    std::map<std::int32_t, int> links_of_class;
    for (const Link& link : topology_.links()) ++links_of_class[link.link_class];
    for (const auto& [index, links] : links_of_class) {
      const LinkClass& c = topology_.classes()[index];
      pugi::xml_node row = add_row(fmt::format("{}: {} each way, {:.3g} % reached, {}; {} links",
                                               c.name, to_string(c.nominal), 100 * c.efficiency,
                                               to_string(c.latency), links));
      add_element(row.child("td"), "font", {{"color", color_of(index)}})
          .text()
          .set(" \u2501\u2501");
    }
    if (is_grouped_) add_row("0+ stands for host 0 and those that follow");
    return printed(document, false);
  }

  std::string name_of(int shape) const {
    const DrawnShape& named = picture_.shapes[static_cast<std::size_t>(shape)];
    const std::string name = topology_.vertex_name(named.first);
    return named.members > 1 ? fmt::format("{} +{}", name, named.members - 1) : name;
  }

  void add_shape(int index) {
    const DrawnShape& shape = picture_.shapes[static_cast<std::size_t>(index)];
    const std::string name = name_of(index);
    const std::string number = fmt::format("{}{}", shape.first, shape.members > 1 ? "+" : "");
    add("  v{} [tooltip={}, label={}, shape={}", index, dot_quoted(name),
        dot_quoted(shape.is_host && !has_names_ ? number : name),
        shape.is_host ? "ellipse"
                      : "box, fillcolor=\"#d9d9d9\", height=0.25, margin=\"0.05,0.02\"");
    if (shape.is_host && !has_names_) add(", width=0.4, height=0.4, fixedsize=true");
    if (is_placed_) add(", {}", position(is_grid_ ? place_of(index) : place_on_circle(index)));
    add("];\n");
  }

  void add_line(const DrawnLine& line) {
    const LinkClass& c = topology_.classes()[line.link_class];
    std::string tip = fmt::format("{} {} {}: {}, {}", name_of(line.a), line.two_way ? "-" : "to",
                                  name_of(line.b), c.name, to_string(Bandwidth{rate(line)}));
    if (is_grouped_ && line.cables > 1) tip += fmt::format(", {} cables", line.cables);
    const std::string style =
        fmt::format("color=\"{}\", penwidth={:.2f}, tooltip={}{}", color_of(line.link_class),
                    1 + 2.5 * std::sqrt(rate(line) / widest_), dot_quoted(tip),
                    line.two_way ? ", dir=none" : "");
    for (int i = 0; i < (is_grouped_ ? 1 : line.cables); ++i) {
      if (is_grid_ && is_far(line)) {
        add_ends(line, style);
      } else {
        add("  v{} -> v{} [{}];\n", line.a, line.b, style);
      }
    }
  }

  struct Place {
    double x;
    double y;
  };

  static std::string position(Place place) {
    return fmt::format("pos=\"{:.2f},{:.2f}!\"", place.x, place.y);
  }

  std::vector<int> coordinates(int shape) const {
    std::vector<int> made;
    for (const int length : picture_.blocks) {
      made.push_back(shape % length);
      shape /= length;
    }
    made.resize(std::max<std::size_t>(made.size(), 4));
    return made;
  }

  // In inches. The innermost axis leads to the right, the second down; a third goes back into the
  // picture, which shows as a small shift; of a fourth and more such blocks stand side by side.
  Place place_of(int shape) const {
    std::vector<int> length = picture_.blocks;
    length.resize(std::max<std::size_t>(length.size(), 3), 1);
    const double step = length[2] > 1 ? 0.45 * length[2] + 0.5 : 0.9;
    const std::vector<int> at = coordinates(shape);
    const int block = shape / (length[0] * length[1] * length[2]);
    return {block * (length[0] * step + 1) + at[0] * step + at[2] * 0.45,
            at[2] * 0.36 - at[1] * step};
  }

  // In inches; Graphviz's own circles take minutes for meshes of some 60 hosts.
  Place place_on_circle(int shape) const {
    const double step = has_names_ ? 1.2 : 0.6;
    const double turn = 2 * std::numbers::pi / host_shapes_;
    const double radius = std::max(step, step / turn);
    return {radius * std::sin(turn * shape), radius * std::cos(turn * shape)};
  }

  // Whether it closes a ring, over the heads of the shapes between.
  bool is_far(const DrawnLine& line) const {
    const std::vector<int> a = coordinates(line.a);
    const std::vector<int> b = coordinates(line.b);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i] - b[i]) > 1) return true;
    }
    return false;
  }

  // Two loose ends, each with the number of the shape at the other.
  void add_ends(const DrawnLine& line, const std::string& style) {
    const Place a = place_of(line.a);
    const Place b = place_of(line.b);
    const double length = std::hypot(a.x - b.x, a.y - b.y);
    const Place out{0.42 * (a.x - b.x) / length, 0.42 * (a.y - b.y) / length};
    const auto add_end = [&](int from, int to, Place at) {
      add("  e{} [label=\"{}\", shape=plaintext, style=\"\", fontsize=8, width=0.1, height=0.1, "
          "margin=0, {}];\n",
          ends_, picture_.shapes[static_cast<std::size_t>(to)].first, position(at));
      add("  v{} -> e{} [{}];\n", from, ends_++, style);
    };
    add_end(line.a, line.b, {a.x + out.x, a.y + out.y});
    add_end(line.b, line.a, {b.x - out.x, b.y - out.y});
  }

  const Topology& topology_;
  Outline picture_;
  bool is_grouped_;
  bool is_placed_ = false;  // by us
  bool is_grid_ = false;
  bool has_names_ = false;
  const char* layout_ = "";
  int host_shapes_ = 1;
  double widest_ = 1;
  int ends_ = 0;
  std::string dot_;
};

}  // namespace

std::string to_dot(const Topology& topology) {
  require(topology.links().size() <= most_lines,
          fmt::format("topology {}: {} links are too many for Graphviz (at most {}); the SVG joins "
                      "them",
                      topology.name(), topology.links().size(), most_lines));
  return DotWriter(topology, topology.hosts()).text();
}

std::string to_grouped_dot(const Topology& topology) {
  const bool is_small = topology.hosts() <= most_single_hosts;
  return DotWriter(topology, is_small ? most_single_hosts : most_groups).text();
}

}  // namespace collbench
