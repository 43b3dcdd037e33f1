#include "topologies/import/import_topology.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "core/input_file.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "core/suggest.h"
#include "topologies/import/graph.h"
#include "topologies/machine_file.h"

namespace collbench {
namespace {

constexpr std::size_t largest_file = 64 << 20;

// The name of the first element, past declarations, comments and the document type.
std::string_view first_element(std::string_view text) {
  for (std::size_t i = text.find('<'); i < text.size(); i = text.find('<', i + 1)) {
    if (text.substr(i, 4) == "<!--") {
      i = std::min(text.find("-->", i), text.size());
    } else if (i + 1 < text.size() && text[i + 1] != '?' && text[i + 1] != '!') {
      const std::size_t end = text.find_first_of(" \t\r\n/>", i + 1);
      return text.substr(i + 1, end == std::string_view::npos ? end : end - i - 1);
    }
  }
  return {};
}

bool has_line_starting(std::string_view text, std::string_view word) {
  return std::ranges::any_of(split_at(text, '\n'), [&](const std::string& line) {
    return trimmed(line).starts_with(word);
  });
}

// A row of nvidia-smi's matrix: GPU0 and, between blanks or tabs, X where it meets itself.
bool has_matrix_row(std::string_view text) {
  return std::ranges::any_of(split_at(text, '\n'), [](const std::string& line) {
    const std::vector<std::string_view> words = split_at_blanks(line);
    return !words.empty() && words[0] == "GPU0" && std::ranges::count(words, "X") > 0;
  });
}

// Names of a file are shown, and a terminal would obey them. What nvidia-smi prints has such codes
// of its own, which its reader leaves out.
void refuse_control_characters(std::string_view text, const std::string& file) {
  std::size_t line = 0;
  for (const std::string& each : split_at(text, '\n')) {
    ++line;
    const std::string shown = printable(trimmed(each));
    require(
        shown.size() == trimmed(each).size(),
        fmt::format("{}:{}: a control character stands in '{}'", file, line, shown.substr(0, 80)));
  }
}

Machine from_toml(std::string_view text, const std::string& file) {
  Machine machine = machine_from_toml(text, file).machine;
  machine.topology = machine.topology.named(machine_name(file));
  return machine;
}

struct FormatRow {
  std::string_view name;
  Machine (*read)(std::string_view text, const std::string& file);  // null: looks at the text first
};
// In the order of TopologyFormat.
constexpr std::array<FormatRow, 8> formats{{{"auto", nullptr},
                                            {"toml", from_toml},
                                            {"simgrid", from_simgrid_xml},
                                            {"nccl", from_nccl_xml},
                                            {"nvidia-smi", from_nvidia_smi},
                                            {"astra", from_astra_yaml},
                                            {"hwloc", from_hwloc_xml},
                                            {"edges", from_edge_list}}};

}  // namespace

TopologyFormat topology_format(const std::string& name) {
  return static_cast<TopologyFormat>(&find_row("topology format", name, formats) - formats.data());
}

TopologyFormat detect_topology_format(std::string_view text, const std::string& file) {
  text = without_byte_order_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && text[begin] == '<') {
    const std::string_view element = first_element(text);
    if (element == "platform") return TopologyFormat::simgrid;
    if (element == "system") return TopologyFormat::nccl;
    if (element == "topology") return TopologyFormat::hwloc;
    throw InvalidArgument(
        fmt::format("{}: XML that starts with <{}> is not a topology; known are "
                    "<platform> (SimGrid), <system> (NCCL), <topology> (hwloc)",
                    file, element));
  }
  if (has_line_starting(text, "from,to,")) return TopologyFormat::edges;
  if (text.find("npus_count") != std::string_view::npos) return TopologyFormat::astra;
  if (has_matrix_row(text)) return TopologyFormat::nvidia_smi;
  if (has_line_starting(text, "[") || has_line_starting(text, "summary"))
    return TopologyFormat::toml;
  throw InvalidArgument(
      fmt::format("{}: no topology format recognised: neither XML, nor a line "
                  "of GPU0 with an X (nvidia-smi topo -m), nor npus_count (ASTRA-sim), "
                  "nor a list of links (from,to,bandwidth_GBps,kind), nor a TOML table; "
                  "name it with --from",
                  file));
}

Machine import_topology(std::string_view text, const std::string& file, TopologyFormat format) {
  text = without_byte_order_mark(text);
  if (format == TopologyFormat::automatic) format = detect_topology_format(text, file);
  if (format != TopologyFormat::nvidia_smi) refuse_control_characters(text, file);
  return formats[static_cast<std::size_t>(format)].read(text, file);
}

Machine import_topology_file(const std::string& path, TopologyFormat format) {
  return import_topology(read_kept(path, largest_file), path, format);
}

}  // namespace collbench
