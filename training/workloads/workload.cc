#include "training/workloads/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/checksum_line.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/parse.h"
#include "core/suggest.h"
#include "training/workloads/shipped_workloads.h"

namespace collbench {
namespace {

constexpr std::array<std::string_view, 8> column_names = {
    "layer",       "kind",       "tensors",   "forward_flops",
    "activations", "forward_us", "weight_us", "input_us"};
constexpr std::size_t untimed_columns = 5;
constexpr std::int64_t most_parameters = std::int64_t{1} << 40;
constexpr double most_work = 1e21;  // flops or activations of a sample, microseconds of a layer

// May stand in JSON without an escape.
bool is_plain(char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(trimmed(text.substr(start, end - start)));
    start = end + 1;
  }
  return parts;
}

class TableReader {
 public:
  explicit TableReader(const std::string& name) : name_(name) { workload_.name = name; }

  void take(std::string_view line) {
    ++line_;
    line = trimmed(line);
    if (line.empty()) return;
    if (line.front() == '#') return take_comment(line.substr(1));
    if (columns_ == 0) return take_header(line);
    take_row(split(line, ','));
  }

  Workload finish() {
    line_ = 0;
    check(columns_ > 0, "has no row that names its columns");
    check(!workload_.layers.empty(), "has no layers");
    workload_.sample = comment("sample");
    workload_.source = comment("source");
    check(total_ > 0, "has no parameters");
    if (const std::string& stated = comment("parameters"); !stated.empty()) {
      check(
          stated == std::to_string(total_),
          fmt::format("says '# parameters: {}', but its tensors have {} elements", stated, total_));
    }
    if (columns_ > untimed_columns) {
      const double batch = number(comment("batch"), "batch", 1e9);
      check(batch >= 1 && batch == std::floor(batch),
            "has times, and so needs '# batch: N' with a whole number N of samples");
      times_.batch = static_cast<std::int64_t>(batch);
      times_.device = comment("device");
      if (!comment("optimizer_us").empty()) {
        times_.optimizer = Seconds(number(comment("optimizer_us"), "optimizer_us") * 1e-6);
      }
      Seconds all = times_.optimizer;
      for (const LayerTimes& layer : times_.layers) {
        all += layer.forward + layer.weight + layer.input;
      }
      check(all.count() > 0, "has times, but all of them are 0");
      workload_.measured = std::move(times_);
    }
    return std::move(workload_);
  }

 private:
  void check(bool condition, const std::string& message) const {
    if (condition) return;
    throw InvalidArgument(line_ > 0 ? fmt::format("workload {}:{}: {}", name_, line_, message)
                                    : fmt::format("workload {} {}", name_, message));
  }

  void take_comment(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return;
    comments_[std::string(trimmed(text.substr(0, colon)))] = trimmed(text.substr(colon + 1));
  }
  const std::string& comment(const std::string& key) { return comments_[key]; }

  void take_header(std::string_view line) {
    const std::vector<std::string_view> names = split(line, ',');
    const bool known = (names.size() == untimed_columns || names.size() == column_names.size()) &&
                       std::equal(names.begin(), names.end(), column_names.begin());
    check(known, fmt::format("the columns are {}; the last {} may be left out",
                             fmt::join(column_names, ","), column_names.size() - untimed_columns));
    columns_ = names.size();
  }

  double number(std::string_view text, std::string_view what, double most = most_work) const {
    const auto value = number_in(text, 0, most);
    check(value.has_value(),
          fmt::format("{} '{}' is not a number from 0 to {:g}", what, text, most));
    return *value;
  }

  std::int64_t elements(std::string_view text) {
    const auto value = integer_in(text, 1, most_parameters - total_);
    check(value.has_value(),
          fmt::format("'{}' is not a number of elements: at least 1, at most 2^40 in all", text));
    total_ += *value;
    return *value;
  }

  void take_row(const std::vector<std::string_view>& cells) {
    check(cells.size() == columns_,
          fmt::format("{} cells, but {} columns", cells.size(), columns_));
    check(!cells[0].empty(), "a layer needs a name");
    check(std::all_of(cells[0].begin(), cells[0].end(), is_plain),
          "the name of a layer holds ASCII characters, and neither quotes nor backslashes");
    WorkloadLayer& layer = workload_.layers.emplace_back();
    layer.name = cells[0];
    layer.kind = cells[1];
    if (!cells[2].empty()) {
      for (const std::string_view part : split(cells[2], '+')) {
        layer.tensors.push_back(elements(part));
      }
    }
    layer.forward_flops = number(cells[3], column_names[3]);
    layer.activations = number(cells[4], column_names[4]);
    if (columns_ == untimed_columns) return;
    const auto time = [&](std::size_t i) {
      return Seconds(number(cells[i], column_names[i], 1e12) * 1e-6);
    };
    times_.layers.push_back({time(5), time(6), time(7)});
  }

  const std::string& name_;
  int line_ = 0;
  std::size_t columns_ = 0;
  std::int64_t total_ = 0;
  std::map<std::string, std::string> comments_;
  MeasuredTimes times_;
  Workload workload_;
};

}  // namespace

Workload parse_workload(std::string_view text, const std::string& name) {
  const std::string damage = checksum_complaint(text);
  require(damage.empty(), fmt::format("workload {}:1: {}", name, damage));
  TableReader reader(name);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    reader.take(text.substr(start, end - start));
    start = end + 1;
  }
  return reader.finish();
}

std::int64_t Workload::parameters() const {
  std::int64_t sum = 0;
  for (const WorkloadLayer& layer : layers) {
    for (const std::int64_t count : layer.tensors) sum += count;
  }
  return sum;
}

double Workload::forward_flops() const {
  double sum = 0;
  for (const WorkloadLayer& layer : layers) sum += layer.forward_flops;
  return sum;
}

std::string to_table(const Workload& workload) {
  std::string text = fmt::format("# sample: {}\n# source: {}\n# parameters: {}\n", workload.sample,
                                 workload.source, workload.parameters());
  const bool timed = workload.measured.has_value();
  if (timed) {
    text +=
        fmt::format("# batch: {}\n# device: {}\n# optimizer_us: {:.3f}\n", workload.measured->batch,
                    workload.measured->device, workload.measured->optimizer.count() * 1e6);
  }
  text += "layer,kind,tensors,forward_flops,activations";
  text += timed ? ",forward_us,weight_us,input_us\n" : "\n";
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    const WorkloadLayer& layer = workload.layers[i];
    text += fmt::format("{},{},{},{:.0f},{:.0f}", layer.name, layer.kind,
                        fmt::join(layer.tensors, "+"), layer.forward_flops, layer.activations);
    if (timed) {
      const LayerTimes& times = workload.measured->layers[i];
      text += fmt::format(",{:.3f},{:.3f},{:.3f}", times.forward.count() * 1e6,
                          times.weight.count() * 1e6, times.input.count() * 1e6);
    }
    text += '\n';
  }
  return with_checksum_line(text);
}

std::vector<std::string> shipped_workloads() {
  std::vector<std::string> names;
  for (const ShippedFile& file : shipped_workload_files()) names.emplace_back(file.name);
  return names;
}

Workload find_workload(const std::string& name) {
  for (const ShippedFile& file : shipped_workload_files()) {
    if (file.name == name) return parse_workload(file.text, name);
  }
  const std::vector<std::string> known = shipped_workloads();
  require(name.find_first_of("./") != std::string::npos,
          fmt::format("unknown workload '{}'.{} Known are {}, or the path of a table", name,
                      did_you_mean(name, known), fmt::join(known, ", ")));
  return parse_workload(read_file(name), name);
}

std::vector<Tensor> tensors_of(const Workload& workload) {
  std::vector<Tensor> tensors;
  std::int64_t first = 0;
  for (std::size_t i = workload.layers.size(); i-- > 0;) {
    const WorkloadLayer& layer = workload.layers[i];
    for (std::size_t k = layer.tensors.size(); k-- > 0;) {
      Tensor& tensor = tensors.emplace_back();
      tensor.name = fmt::format("{}/{}", layer.name, k);
      tensor.layer = static_cast<int>(i);
      tensor.first = first;
      tensor.count = layer.tensors[k];
      first += tensor.count;
    }
  }
  return tensors;
}

}  // namespace collbench
