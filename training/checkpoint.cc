#include "training/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <deque>
#include <filesystem>
#include <map>
#include <span>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/output_file.h"
#include "core/parse.h"
#include "training/elements.h"
#include "training/safetensors.h"

namespace collbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* format = "collbench checkpoint 2";
constexpr const char* format_without_checksum = "collbench checkpoint 1";
constexpr std::string_view no_checksum = "00000000";
constexpr std::size_t checksum_digits = no_checksum.size();
constexpr const char* steps_of_pass = "steps of a pass";
constexpr std::string_view prefix = "step-";
constexpr std::string_view suffix = ".safetensors";

/// Each vector of the state, with the tensors into which the file divides it.
template <class State, class Visit>
void visit_vectors(const TrainingPlan& plan, State& state, Visit visit) {
  const std::vector<Tensor> tensors = tensors_of(plan.model);
  visit(tensors, state.parameters);
  visit(statistics_of(plan.model), state.statistics);
  const std::vector<std::string> slots = slot_names(plan.optimizer);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::vector<Tensor> parts = tensors;
    for (Tensor& part : parts) part.name = "optimizer/" + slots[i] + "/" + part.name;
    visit(parts, state.optimizer.slots.at(i));
  }
}

Region region_of(std::string& bytes, DataType type) {
  return {reinterpret_cast<std::byte*>(bytes.data()), std::ssize(bytes) / size_of(type), type};
}

/// Metadata as numbers.
class Numbers {
 public:
  Numbers(const SafeTensors& file, const std::string& name) : file_(file), name_(name) {}

  std::int64_t count(const std::string& key) const {
    const std::string text = text_of(key);
    const auto value = integer_in(text);
    require(value.has_value(),
            fmt::format("{}: '{}' of the checkpoint is '{}', not a number", name_, key, text));
    return *value;
  }
  /// Hexadecimal, so that it is exact.
  double real(const std::string& key) const {
    const std::string text = text_of(key);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    require(!text.empty() && *end == '\0',
            fmt::format("{}: '{}' of the checkpoint is '{}', not a number", name_, key, text));
    return value;
  }
  std::string text_of(const std::string& key) const {
    const auto found = file_.metadata.find(key);
    return found == file_.metadata.end() ? "" : found->second;
  }

 private:
  const SafeTensors& file_;
  const std::string& name_;
};

/// Whether all samples were taken equally often, and the next ones are those that a run divided as
/// the plan would take there: then another division than the one before goes on as well.
bool is_between_passes(const Numbers& metadata, const TrainingPlan& plan) {
  const std::string saved = metadata.text_of(steps_of_pass);
  return plan.steps_per_pass > 0 && saved == std::to_string(plan.steps_per_pass) &&
         metadata.count("step") % plan.steps_per_pass == 0;
}

void require_same_plan(const Numbers& metadata, const TrainingPlan& plan, const std::string& name) {
  for (const auto& [key, value] : settings_of(plan)) {
    std::string saved = metadata.text_of(key);
    if (saved.empty() && key == "autoshard") saved = metadata.text_of("sharding");  // its old name
    // Earlier versions saved fewer settings, and an evaluator may have other samples.
    if (saved.empty() || value.empty() || saved == value) continue;
    const bool is_division = key == "division of the data";
    if (is_division && is_between_passes(metadata, plan)) continue;
    throw InvalidArgument(fmt::format(
        "{} was saved with {} '{}'; this run has '{}'{}", name, key, saved, value,
        is_division ? ". They may differ only where a pass over the data has ended, and if both "
                      "have as many steps in a pass"
                    : ""));
  }
}

/// Those of "100,250", which cover all parameters.
std::vector<Bucket> buckets_of(const std::string& text, std::int64_t parameters,
                               const std::string& name) {
  std::vector<Bucket> buckets;
  std::int64_t first = 0;
  for (const char* at = text.data(); at < text.data() + text.size();) {
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), count);
    const bool fits = error == std::errc() && count > 0 && count <= parameters - first;
    require(fits, fmt::format("{}: the buckets '{}' of the checkpoint do not fit", name, text));
    buckets.push_back({first, count});
    first += count;
    at = end + 1;
  }
  require(buckets.empty() || first == parameters,
          fmt::format("{}: the buckets '{}' of the checkpoint do not fit", name, text));
  return buckets;
}

/// The eight digits in the header of `file` that hold its checksum; nothing if there are none.
std::optional<std::size_t> checksum_place(std::string_view file) {
  constexpr std::string_view key = R"("crc32c":")";
  const std::size_t at = file.find(key);  // the header comes first
  if (at == file.npos || at + key.size() + checksum_digits > file.size()) return std::nullopt;
  return at + key.size();
}

/// The CRC-32C of a file whose own digits are taken for zeros.
std::string checksum_of(std::string_view file, std::size_t place) {
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  std::uint32_t sum = crc32c(bytes(file.substr(0, place)));
  sum = crc32c(bytes(no_checksum), sum);
  return fmt::format("{:08x}", crc32c(bytes(file.substr(place + checksum_digits)), sum));
}

void require_whole(const Numbers& metadata, std::string_view file, const std::string& name) {
  const std::string stored = metadata.text_of("format");
  require(stored == format || stored == format_without_checksum,
          fmt::format("{} is not a collbench checkpoint: its metadata have no format '{}'", name,
                      format));
  const std::string damage = damage_of(file);
  require(damage.empty(), fmt::format("{} is damaged: {}", name, damage));
}

/// Saved files by step, the latest last.
std::map<std::int64_t, std::string> files_in(const std::string& folder) {
  std::map<std::int64_t, std::string> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    const auto step = integer_in(
        std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
    if (step) files[*step] = entry.path().string();
  }
  return files;
}

// What a process left that was killed while it wrote, or whose disk refused even to remove it.
void remove_unfinished(const std::string& folder) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(fmt::format(".{}", prefix)) && is_unfinished_output(name)) {
      fs::remove(entry.path(), failed);
    }
  }
}

}  // namespace

std::string encode_checkpoint(const TrainingPlan& plan, const TrainingState& state) {
  SafeTensors file;
  for (const auto& [key, value] : settings_of(plan)) file.metadata[key] = value;
  file.metadata["format"] = format;
  file.metadata["step"] = std::to_string(state.step);
  if (plan.steps_per_pass > 0) {
    file.metadata[steps_of_pass] = std::to_string(plan.steps_per_pass);
  }
  file.metadata["updates"] = std::to_string(state.optimizer.updates);
  file.metadata["epoch loss"] = fmt::format("{:a}", state.epoch.loss);
  file.metadata["epoch correct"] = std::to_string(state.epoch.correct);
  file.metadata["epoch samples"] = std::to_string(state.epoch_samples);
  std::vector<std::int64_t> counts;
  for (const Bucket& bucket : state.buckets) counts.push_back(bucket.count);
  if (!counts.empty()) file.metadata["buckets"] = fmt::format("{}", fmt::join(counts, ","));
  file.metadata["finished"] = state.finished ? "yes" : "no";
  std::deque<std::string> memory;  // whose elements stay where they are
  visit_vectors(plan, state, [&](const std::vector<Tensor>& parts, const std::vector<double>& all) {
    for (const Tensor& part : parts) {
      std::string& bytes = memory.emplace_back(part.count * size_of(plan.type), '\0');
      set_values(region_of(bytes, plan.type), std::span(all).subspan(part.first, part.count));
      file.tensors.push_back({part.name, plan.type, {part.count}, memory.back()});
    }
  });
  file.metadata["crc32c"] = no_checksum;
  std::string text = encode_safetensors(file);
  const std::size_t place = checksum_place(text).value();
  text.replace(place, checksum_digits, checksum_of(text, place));
  return text;
}

std::string damage_of(std::string_view file) {
  const auto place = checksum_place(file);
  if (!place) {
    const bool older = file.find(format_without_checksum) != file.npos;
    return older ? "" : "it has no checksum";
  }
  const std::string_view stored = file.substr(*place, checksum_digits);
  const std::string actual = checksum_of(file, *place);
  return stored == actual
             ? ""
             : fmt::format("its checksum is {}, that of its content {}", stored, actual);
}

TrainingState decode_checkpoint(std::string_view text, const TrainingPlan& plan,
                                const std::string& name) {
  const SafeTensors file = parse_safetensors(text, name);
  const Numbers metadata(file, name);
  require_whole(metadata, text, name);
  require_same_plan(metadata, plan, name);
  TrainingState state;
  state.step = metadata.count("step");
  state.optimizer.updates = metadata.count("updates");
  state.epoch = {metadata.real("epoch loss"), metadata.count("epoch correct")};
  state.epoch_samples = metadata.count("epoch samples");
  state.finished = metadata.text_of("finished") == "yes";
  state.optimizer.slots.resize(slot_names(plan.optimizer).size());
  std::size_t expected = 0;
  visit_vectors(plan, state, [&](const std::vector<Tensor>& parts, std::vector<double>& all) {
    expected += parts.size();
    if (!parts.empty())
      all.resize(static_cast<std::size_t>(parts.back().first + parts.back().count));
    for (const Tensor& part : parts) {
      const StoredTensor* tensor = file.find(part.name);
      require(tensor != nullptr, fmt::format("{} lacks the tensor '{}'", name, part.name));
      require(tensor->type == plan.type && tensor->shape == std::vector{part.count},
              fmt::format("{}: tensor '{}' is not {} elements of {}", name, part.name, part.count,
                          to_string(plan.type)));
      std::string aligned(tensor->bytes);
      std::ranges::copy(values_of(region_of(aligned, plan.type)), all.begin() + part.first);
    }
  });
  state.buckets = buckets_of(metadata.text_of("buckets"), std::ssize(state.parameters), name);
  require(file.tensors.size() == expected,
          fmt::format("{} has {} tensors; the model and its optimizer have {}", name,
                      file.tensors.size(), expected));
  return state;
}

CheckpointFolder::CheckpointFolder(std::string path, int keep)
    : path_(std::move(path)), keep_(keep) {}

Descriptor CheckpointFolder::lock() const {
  make_folder(path_);
  Descriptor folder(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool is_taken = folder.number() >= 0 && flock(folder.number(), LOCK_EX | LOCK_NB) != 0 &&
                        errno == EWOULDBLOCK;
  require(!is_taken, fmt::format("another training writes to the folder '{}'", path_));
  return folder;
}

void CheckpointFolder::save(std::string_view file, std::int64_t step) const {
  make_folder(path_);
  // First, for the disk may have no room for both.
  remove_unfinished(path_);
  const std::string name = fmt::format("{}{:09}{}", prefix, step, suffix);
  write_file(fmt::format("{}/{}", path_, name), file);
  std::map<std::int64_t, std::string> files = files_in(path_);
  std::error_code failed;
  while (std::ssize(files) > keep_) {
    fs::remove(files.begin()->second, failed);
    files.erase(files.begin());
  }
}

std::vector<std::string> CheckpointFolder::files() const {
  std::vector<std::string> paths;
  for (const auto& [step, path] : files_in(path_)) paths.push_back(path);
  return paths;
}

std::optional<std::string> CheckpointFolder::latest() const {
  const std::vector<std::string> paths = files();
  if (paths.empty()) return std::nullopt;
  return paths.back();
}

std::string read_checkpoint(const std::string& path) {
  constexpr std::size_t largest_checkpoint = std::size_t{64} << 30;
  return read_file(path, largest_checkpoint);
}

}  // namespace collbench
