// Fits the constants of heuristics/nccl/library_times.h to tables of nccl-tests and rccl-tests, and
// judges the fit by systems that it has not seen: the figures of results/studies/nccl-a-priori.
//
//   collbench_library_fit LIST FOLDER [points]
//
// LIST has lines "FILE MACHINE auto|ALGORITHM SYSTEM", files in FOLDER or in "tables" beside LIST;
// what is not there is left out and named. "!FILE" is judged, and nothing is fitted to it: a system
// known to be at fault. Tables of one system are left out together. Each has the weight of 20
// points, by out-of-place times from 64 B. Which algorithm and protocol are played, and on how many
// channels, is what the tuner says; rates of links are the machines'. Priors: NCCL's published
// latencies (nccl_constants.h) for the library, 1 for factors of a generation, the mean of its
// class for a network; so what no table of the fit has stays at its class. A system has factors of
// its own in the fit, for its rate and its latency, which predictions leave out. `points` prints
// every prediction of a left-out system, too.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "tests/bench/studied_constants.h"

#include "bench/foreign/foreign_tables.h"
#include "core/error.h"
#include "core/input_file.h"
#include "heuristics/calibration/fidelity.h"
#include "heuristics/structure/robust_fit.h"

namespace collbench {
namespace {

std::vector<StudiedTable> read_studied(const std::string& list, const std::string& folder) {
  std::vector<StudiedTable> tables;
  std::istringstream lines(read_file(list));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string file, machine, algorithm, system;
    if (!(words >> file >> machine >> algorithm) || !std::getline(words >> std::ws, system)) {
      continue;
    }
    const bool is_fitted = !file.starts_with('!');
    if (!is_fitted) file.erase(0, 1);
    std::string path = (std::filesystem::path(folder) / file).string();
    if (!std::filesystem::exists(path)) {
      path = (std::filesystem::path(list).parent_path() / "tables" / file).string();
    }
    if (!std::filesystem::exists(path)) {
      std::cerr << fmt::format("{}: not there, left out\n", path);
      continue;
    }
    const MeasuredTable read =
        read_foreign(read_file(path), path, {.library = "nccl", .algorithm = algorithm});
    StudiedTable table{file, system, is_fitted, {}, {}};
    const Predictor predictor(machine);
    for (const MeasuredTime& row : read.times) {
      if (row.in_place || row.is_wrong() || row.bytes < Bytes{64}) continue;
      std::string note;
      if (table.points.empty()) table.inputs = *predictor.library_inputs(row, note);
      const LibraryQuestion question = library_question(row);
      table.points.push_back(
          {question, library_choice(table.inputs, question).tuner, row.time.count() * 1e6});
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

/// What a network says of its own that no constant of the fit replaces is the mean of all.
void forget_rows(std::vector<StudiedTable>& tables) {
  for (StudiedTable& table : tables) {
    AdapterNetwork& network = table.inputs.hardware.network;
    const AdapterNetwork mean;
    network.ll_share = mean.ll_share;
    network.ll128_share = mean.ll128_share;
    network.short_ring_share = mean.short_ring_share;
  }
}

class LibraryFit {
 public:
  explicit LibraryFit(std::vector<StudiedTable> tables) : tables_(std::move(tables)) {
    forget_rows(tables_);
    constants_ = studied_constants(tables_);
    for (const StudiedTable& table : tables_) {
      systems_.insert(table.system);
      rows_ += table.points.size();
    }
  }

  const std::set<std::string>& systems() const { return systems_; }
  const std::vector<StudiedTable>& tables() const { return tables_; }
  const std::vector<StudiedConstant>& constants() const { return constants_; }
  /// Fitted to all systems but one; empty: to all.
  std::vector<double> fit_without(const std::string& left_out) const {
    constexpr double weight_of_table = 20;
    constexpr double error_scale = 0.15;
    std::vector<ConstantPrior> priors;
    for (const StudiedConstant& constant : constants_) priors.push_back(constant.prior);
    std::vector<double> weights;
    for (const StudiedTable& table : tables_) {
      const double each = weight_of_table / static_cast<double>(table.points.size());
      const bool counts = table.is_fitted && table.system != left_out;
      weights.insert(weights.end(), table.points.size(), counts ? each : 0);
    }
    std::vector<double> values;
    for (const FittedConstant& fitted : fit_robustly(
             priors, weights, [&](auto given, auto errors) { set_errors(given, errors); },
             error_scale)) {
      values.push_back(fitted.value);
    }
    return values;
  }

  /// Microseconds of each point of each table. Those of systems are as for a system not seen.
  std::vector<std::vector<double>> predict(std::span<const double> values) const {
    std::vector<double> unseen(values.begin(), values.end());
    std::fill_n(unseen.rbegin(), 2 * systems_.size(), 1);
    std::vector<double> logs(rows_);
    set_errors(unseen, logs);
    std::vector<std::vector<double>> times;
    std::size_t i = 0;
    for (const StudiedTable& table : tables_) {
      times.emplace_back();
      for (const StudiedPoint& point : table.points) {
        times.back().push_back(std::exp(logs[i++]) * point.measured_us);
      }
    }
    return times;
  }

 private:
  void set_errors(std::span<const double> values, std::span<double> errors) const {
    std::size_t i = 0;
    LibraryConstants library;
    for (const StudiedTable& table : tables_) {
      NcclInputs inputs = table.inputs;
      for (std::size_t k = 0; k < constants_.size(); ++k) {
        constants_[k].apply({table, library, inputs}, values[k]);
      }
      for (const StudiedPoint& point : table.points) {
        errors[i++] =
            std::log(library_us(inputs, point.question, point.play, library) / point.measured_us);
      }
    }
  }

  std::vector<StudiedTable> tables_;
  std::vector<StudiedConstant> constants_;
  std::set<std::string> systems_;
  std::size_t rows_ = 0;
};

using Errors = std::vector<std::pair<Bytes, double>>;

std::string summary_row(const std::string& name, const Errors& errors) {
  const auto within = [&](Bytes least, Bytes most) -> std::string {
    std::vector<double> of_band;
    for (const auto& [bytes, error] : errors) {
      if (bytes >= least && bytes <= most) of_band.push_back(error);
    }
    if (of_band.empty()) return "-";
    const ErrorSummary found = summarize_errors(std::move(of_band));
    return fmt::format("{:.1f} / {:.1f}", 100 * found.median, 100 * found.p90);
  };
  std::string row =
      fmt::format("{},{},{}", name, errors.size(), within(Bytes{0}, Bytes{std::int64_t{1} << 62}));
  for (const SizeBand& band : size_bands) row += "," + within(band.least, band.most);
  return row;
}

/// Whether tables of other systems have its generations and its networks.
bool is_shared(const LibraryFit& fit, const std::string& system) {
  const auto others_have = [&](const StudiedTable& table) {
    bool gpu = false;
    bool network = table.inputs.nodes == 1;
    for (const StudiedTable& other : fit.tables()) {
      if (other.system == system || !other.is_fitted) continue;
      const NcclHardware& has = other.inputs.hardware;
      gpu = gpu || has.gpu.name == table.inputs.hardware.gpu.name;
      network = network ||
                (other.inputs.nodes > 1 && has.network.name == table.inputs.hardware.network.name);
    }
    return gpu && network;
  };
  for (const StudiedTable& table : fit.tables()) {
    if (table.system == system && !others_have(table)) return false;
  }
  return true;
}

void add_errors(const LibraryFit& fit, const std::string& system, bool fitted,
                const std::vector<std::vector<double>>& times, bool points, Errors& errors) {
  for (std::size_t t = 0; t < times.size(); ++t) {
    const StudiedTable& table = fit.tables()[t];
    if (table.is_fitted != fitted || (!system.empty() && table.system != system)) continue;
    for (std::size_t i = 0; i < times[t].size(); ++i) {
      const StudiedPoint& point = table.points[i];
      const double error = times[t][i] / point.measured_us - 1;
      errors.emplace_back(point.question.bytes, error);
      if (!points) continue;
      std::cout << fmt::format("point,{},{},{},{} {},{:.2f},{:.2f},{:.1f}\n", system, table.name,
                               point.question.bytes.count, policy_name(point.play.algorithm),
                               policy_name(point.play.protocol), point.measured_us, times[t][i],
                               100 * error);
    }
  }
}

void print_shipped(const std::vector<StudiedTable>& tables) {
  std::cout << "table as shipped,points,all,to 32 KiB,to 1 MiB,to 32 MiB,beyond\n";
  Errors all;
  for (const StudiedTable& table : tables) {
    Errors errors;
    for (const StudiedPoint& point : table.points) {
      const double us = library_us(table.inputs, point.question, point.play);
      errors.emplace_back(point.question.bytes, us / point.measured_us - 1);
    }
    std::cout << summary_row(table.name, errors) << '\n';
    all.insert(all.end(), errors.begin(), errors.end());
  }
  std::cout << summary_row("all", all) << "\n\n";
}

void study(const LibraryFit& fit, bool points) {
  std::cout << "system left out,points,all,to 32 KiB,to 1 MiB,to 32 MiB,beyond\n";
  Errors all;
  Errors shared;
  Errors unfitted;
  for (const std::string& system : fit.systems()) {
    const auto times = fit.predict(fit.fit_without(system));
    Errors errors;
    add_errors(fit, system, true, times, points, errors);
    add_errors(fit, system, false, times, points, unfitted);
    if (errors.empty()) continue;
    std::cout << summary_row(system, errors) << std::endl;
    all.insert(all.end(), errors.begin(), errors.end());
    if (is_shared(fit, system)) shared.insert(shared.end(), errors.begin(), errors.end());
  }
  std::cout << summary_row("systems whose GPUs and networks others share", shared) << '\n'
            << summary_row("all", all) << '\n'
            << summary_row("tables that are not fitted", unfitted) << '\n';
  const std::vector<double> values = fit.fit_without("");
  Errors inside;
  add_errors(fit, "", true, fit.predict(values), false, inside);
  std::cout << summary_row("\"all, the same fit in sample\"", inside) << "\n\nconstant,fitted\n";
  for (std::size_t k = 0; k < values.size(); ++k) {
    std::cout << fmt::format("\"{}\",{:.3g}\n", fit.constants()[k].name, values[k]);
  }
}

void library_fit(int argc, char** argv) {
  require(argc == 3 || argc == 4, "collbench_library_fit LIST FOLDER [points]");
  std::vector<StudiedTable> tables = read_studied(argv[1], argv[2]);
  require(!tables.empty(), fmt::format("{}: names no table that is in {}", argv[1], argv[2]));
  print_shipped(tables);
  study(LibraryFit(std::move(tables)), argc == 4);
}

}  // namespace
}  // namespace collbench

int main(int argc, char** argv) {
  try {
    collbench::library_fit(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
