// The file of a calibration: a machine description (docs/topologies.md) and its measured points.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/checksum_line.h"
#include "core/error.h"
#include "core/input_file.h"
#include "heuristics/calibration/fitted_machine.h"
#include "topologies/toml_table.h"

namespace collbench {
namespace {

std::string off_by(const FittedCost& cost) {
  if (cost.value <= 0) return "not told apart from nothing";
  return fmt::format("fitted; may be off {:.2f} times", cost.factor);
}

std::string link(const char* name, const FittedCost& latency, const FittedCost& rate, int level,
                 const std::string& basis) {
  return fmt::format(
      "\n[link.{}]\nbandwidth = \"{:.4g} GB/s\"\nlatency = \"{:.4g} us\"\nlevel = {}\nsource = "
      "{}\n",
      name, rate.value * 1e-9, latency.value * 1e6, level,
      toml_quoted(fmt::format("rate {}, latency {}; {}", off_by(rate), off_by(latency), basis)));
}

std::string machine_part(const FittedMachine& m) {
  std::string text;
  const bool node = m.ranks_per_node > 1;
  const std::string source = toml_quoted(m.basis);
  if (node) text += link("node", m.node_latency, m.node_rate, 0, m.basis);
  if (m.network) text += link("network", m.network_latency, m.network_rate, 1, m.basis);
  text += fmt::format("\n[structure]\nkind = \"star\"\n");
  if (node && m.network) text += fmt::format("hosts = {}\n", m.ranks_per_node);
  text += fmt::format("link = \"{}\"\nsource = {}\n", node ? "node" : "network", source);
  if (node && m.network) {
    text += fmt::format("\n[fabric]\nadapter = \"network\"\nadapters_per_node = 1\nsource = {}\n",
                        toml_quoted(m.basis + "; the rate is of all adapters of a node together"));
  }
  text += "\n[costs]\n";
  if (m.overhead.value > 0) {
    text += fmt::format("per_collective = \"{:.4g} us\"\n", m.overhead.value * 1e6);
  }
  if (m.message_gap > Seconds{0}) {
    text += fmt::format("message_gap = [\"0 us\", \"{:.4g} us\"]\n", m.message_gap.count() * 1e6);
  }
  if (m.reduction_rate.value > 0) {
    text += fmt::format("reduction_rate = \"{:.4g} GB/s\"\n", m.reduction_rate.value * 1e-9);
  }
  return text + fmt::format("source = {}\n", source);
}

/// Reads one text of a list, with the place of the list in the complaint.
template <typename Read>
auto read_item(const TomlTable& table, const char* key, const std::string& text, Read read) {
  try {
    return read(text);
  } catch (const InvalidArgument& e) {
    table.refuse(key, e.what());
  }
}

/// One line for each constant, with what it is and where it began.
std::string structure_part(const StructuralModel& structure) {
  const NetworkModel& model = network_model(structure.interconnect());
  // That of repeated runs; without them it is the network's own.
  const std::string noise =
      structure.fit().noise > model.noise
          ? fmt::format("noise = {:.4g}  # the same from one run to the next\n",
                        structure.fit().noise)
          : "";
  std::string text = fmt::format(
      "\n[[fitted]]\n{}network = \"{}\"\n{}source = {}\nper_doubling = {:.4g}  # "
      "standard "
      "deviation of ln(time) for each doubling of the nodes beyond those measured\n{}\n"
      "[fitted.constants]  # in parentheses: what was expected before measuring\n",
      structure.system().empty() ? ""
                                 : fmt::format("system = {}\n", toml_quoted(structure.system())),
      model.name, structure.cores() > 0 ? fmt::format("cores = {}\n", structure.cores()) : "",
      toml_quoted(structure.basis()), structure.fit().per_doubling, noise);
  for (std::size_t k = 0; k < model.constants.size(); ++k) {
    const NetworkConstant& constant = model.constants[k];
    const FittedConstant& fitted = structure.fit().constants[k];
    text += fmt::format("{} = \"{:.4g} {}, within {:.2f} times\"  # {} ({:.3g}, within {:.2g})\n",
                        constant.name, fitted.value, constant.unit, fitted.factor, constant.meaning,
                        constant.prior, std::exp(constant.deviation));
  }
  return text;
}

FittedConstant read_constant(const NetworkConstant& constant, const std::string& text) {
  const auto refuse = [&]() -> InvalidArgument {
    return InvalidArgument(fmt::format("'{}' should be like \"{:.3g} {}, within 1.2 times\"", text,
                                       constant.prior, constant.unit));
  };
  FittedConstant fitted;
  std::istringstream words(text);
  std::string unit;
  std::string within;
  std::string times;
  words >> fitted.value >> unit >> within >> fitted.factor >> times;
  const bool complete = !words.fail() && (words >> std::ws).eof();
  if (!complete || unit != std::string(constant.unit) + "," || within != "within" ||
      times != "times" || !(fitted.value > 0) || !(fitted.factor >= 1)) {
    throw refuse();
  }
  return fitted;
}

StoredFit read_fit(const TomlTable& table) {
  StoredFit stored;
  if (table.has("system")) stored.system = table.text("system");
  const NetworkModel* model = find_network_model(table.text("network"));
  if (model == nullptr) {
    table.refuse("network", fmt::format("'{}' is none of {}", table.text("network"),
                                        fmt::join(network_model_names(), ", ")));
  }
  stored.interconnect = model->interconnect;
  if (table.has("cores")) stored.cores = table.integer("cores", 1, 1 << 20);
  table.text("source");
  stored.fit.per_doubling = table.number("per_doubling", 0, 10);
  if (table.has("noise")) stored.fit.noise = table.number("noise", 0, 10);
  const TomlTable constants = table.table("constants");
  for (const NetworkConstant& constant : model->constants) {
    const std::string name(constant.name);
    stored.fit.constants.push_back(
        read_item(constants, name.c_str(), constants.text(name),
                  [&](const std::string& text) { return read_constant(constant, text); }));
  }
  constants.finish();
  table.finish();
  return stored;
}

/// Of the trend of a method; empty where it is that of any.
std::string noise_part(const Calibration& calibration, const MethodKey& method) {
  for (const MethodModel& model : calibration.models()) {
    if (model.method() == method && model.noise() > MethodModel::least_run_noise) {
      return fmt::format("noise = {:.4g}\n", model.noise());
    }
  }
  return {};
}

std::string points_part(const MeasuredMethod& measured, const std::string& noise) {
  const MethodKey& method = measured.method;
  std::string text;
  std::map<Scale, std::vector<const MeasuredTime*>> scales;
  for (const MeasuredTime& row : measured.points) scales[row.scale].push_back(&row);
  for (const auto& [scale, rows] : scales) {
    text += "\n[[calibration]]\n";
    for (const auto& [key, value] : {std::pair{"system", &method.system},
                                     {"library", &method.library},
                                     {"algorithm", &method.algorithm},
                                     {"protocol", &method.protocol}}) {
      if (!value->empty()) text += fmt::format("{} = {}\n", key, toml_quoted(*value));
    }
    text += fmt::format("type = \"{}\"\nop = \"{}\"\nin_place = {}\n", to_string(method.type),
                        to_string(method.op), method.in_place);
    if (method.collective != CollectiveKind::all_reduce) {
      text += fmt::format("collective = \"{}\"\n", to_string(method.collective));
    }
    text += noise;
    text += fmt::format("ranks = {}\nnodes = {}\n", scale.ranks, scale.nodes);
    const std::string shape = to_string(scale.shape);
    if (!shape.empty()) text += fmt::format("shape = \"{}\"\n", shape);
    if (scale.cores > 0) text += fmt::format("cores = {}\n", scale.cores);
    std::string sizes;
    std::string times;
    for (const MeasuredTime* row : rows) {
      const char* comma = sizes.empty() ? "" : ", ";
      sizes += fmt::format("{}\"{}\"", comma, to_string(row->bytes));
      times += fmt::format("{}\"{:.6g} us\"", comma, row->time.count() * 1e6);
    }
    text += fmt::format("sizes = [{}]\ntimes = [{}]\n", sizes, times);
  }
  return text;
}

void read_points(const TomlTable& table, std::vector<MeasuredTime>& rows,
                 std::vector<StoredNoise>& noises) {
  MeasuredTime row;
  const auto stated = [&](const char* key) {
    return table.has(key) ? table.text(key) : std::string();
  };
  row.system = stated("system");
  row.library = stated("library");
  row.algorithm = stated("algorithm");
  row.protocol = stated("protocol");
  row.type = read_item(table, "type", table.text("type"), parse_data_type);
  row.op = read_item(table, "op", table.text("op"), parse_reduce_op);
  row.in_place = table.flag("in_place", false);
  if (table.has("collective")) {
    row.collective = read_item(table, "collective", table.text("collective"), parse_collective);
  }
  row.scale = {table.integer("ranks", 1, 1 << 24), table.integer("nodes", 0, 1 << 24)};
  if (table.has("shape")) {
    row.scale.shape = read_item(table, "shape", table.text("shape"), parse_grid_shape);
  }
  if (table.has("cores")) row.scale.cores = table.integer("cores", 1, 1 << 20);
  const std::vector<std::string> sizes = table.texts("sizes");
  const std::vector<std::string> times = table.texts("times");
  if (sizes.size() != times.size()) {
    table.refuse("times", fmt::format("{} times for {} sizes", times.size(), sizes.size()));
  }
  if (table.has("noise")) noises.push_back({method_of(row), table.number("noise", 0, 10)});
  table.finish();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    row.bytes = read_item(table, "sizes", sizes[i], parse_size);
    row.time = read_item(table, "times", times[i], parse_duration);
    if (row.time <= Seconds{0}) table.refuse("times", "a time must be above 0");
    row.low = row.time;
    row.high = row.time;
    rows.push_back(row);
  }
}

}  // namespace

std::string to_toml(const Calibration& calibration, const std::string& summary,
                    const std::string& source) {
  std::string text =
      fmt::format("summary = {}\nsource = {}\n", toml_quoted(summary), toml_quoted(source));
  text += machine_part(fit_machine(calibration));
  for (const StructuralModel& each : calibration.structures()) text += structure_part(each);
  text += "\n# What was measured: the models of `select`, `validate` and `regret` rest on it.\n";
  for (const MeasuredMethod& each : calibration.measured()) {
    text += points_part(each, noise_part(calibration, each.method));
  }
  return with_checksum_line(text);
}

std::optional<Calibration> stored_calibration(std::string_view text, const std::string& file) {
  const TomlTable root = TomlTable::parse(text, file);
  std::vector<MeasuredTime> rows;
  std::vector<StoredNoise> noises;
  for (const TomlTable& table : root.tables("calibration")) read_points(table, rows, noises);
  if (rows.empty()) return {};
  std::vector<StoredFit> fits;
  for (const TomlTable& table : root.tables("fitted")) fits.push_back(read_fit(table));
  return Calibration(std::move(rows), fits, noises);
}

std::optional<Calibration> calibration_of(const std::string& specification) {
  const std::size_t end = specification.rfind(".toml");  // folders may be called so, too
  if (end == specification.npos) return {};
  std::string path = specification.substr(0, end + 5);
  if (path.rfind("cluster:", 0) == 0) {
    const std::size_t x = path.find_first_not_of("0123456789", 8);
    path = path.substr(x != path.npos && path[x] == 'x' ? x + 1 : 8);
  }
  return stored_calibration(read_file(path), path);
}

}  // namespace collbench
