#include "training/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "core/error.h"
#include "core/parse.h"
#include "training/elements.h"
#include "training/file_content.h"
#include "training/safetensors.h"

namespace collbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* format = "collbench checkpoint 1";
constexpr std::string_view prefix = "step-";
constexpr std::string_view suffix = ".safetensors";

/// One tensor of the file and where its values stand in the state.
struct StateSlice {
  std::string name;
  std::int64_t first;
  std::int64_t count;
};

/// Each vector of the state, with the tensors into which the file divides it.
template <class State, class Visit>
void visit_vectors(const TrainingPlan& plan, State& state, Visit visit) {
  const std::vector<Tensor> tensors = tensors_of(plan.model);
  const auto parts = [](const std::vector<Tensor>& all, const std::string& lead) {
    std::vector<StateSlice> out;
    for (const Tensor& tensor : all)
      out.push_back({lead + tensor.name, tensor.first, tensor.count});
    return out;
  };
  visit(parts(tensors, ""), state.parameters);
  visit(parts(statistics_of(plan.model), ""), state.statistics);
  const std::vector<std::string> slots = slot_names(plan.optimizer);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    visit(parts(tensors, "optimizer/" + slots[i] + "/"), state.optimizer.slots.at(i));
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

void require_same_plan(const Numbers& metadata, const TrainingPlan& plan, const std::string& name) {
  require(metadata.text_of("format") == format,
          fmt::format("{} is no checkpoint of collbench: its metadata have no format '{}'", name,
                      format));
  for (const auto& [key, value] : settings_of(plan)) {
    require(metadata.text_of(key) == value,
            fmt::format("{} was saved with {} '{}'; this run has '{}'", name, key,
                        metadata.text_of(key), value));
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

void flush_and_close(int descriptor, const std::string& path) {
  const bool flushed = fsync(descriptor) == 0;
  const int failure = errno;
  close(descriptor);
  if (!flushed)
    throw Unavailable(fmt::format("cannot flush '{}': {}", path, std::strerror(failure)));
}

void write_flushed(const std::string& path, std::string_view file) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    throw Unavailable(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  }
  for (std::size_t done = 0; done < file.size();) {
    const ssize_t n = ::write(descriptor, file.data() + done, file.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int failure = errno;
      close(descriptor);
      std::remove(path.c_str());
      throw Unavailable(fmt::format("cannot write '{}': {}", path, std::strerror(failure)));
    }
    done += static_cast<std::size_t>(n);
  }
  flush_and_close(descriptor, path);
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

}  // namespace

std::string encode_checkpoint(const TrainingPlan& plan, const TrainingState& state) {
  SafeTensors file;
  for (const auto& [key, value] : settings_of(plan)) file.metadata[key] = value;
  file.metadata["format"] = format;
  file.metadata["step"] = std::to_string(state.step);
  file.metadata["updates"] = std::to_string(state.optimizer.updates);
  file.metadata["epoch loss"] = fmt::format("{:a}", state.epoch.loss);
  file.metadata["epoch correct"] = std::to_string(state.epoch.correct);
  file.metadata["epoch samples"] = std::to_string(state.epoch_samples);
  std::vector<std::int64_t> counts;
  for (const Bucket& bucket : state.buckets) counts.push_back(bucket.count);
  if (!counts.empty()) file.metadata["buckets"] = fmt::format("{}", fmt::join(counts, ","));
  file.metadata["finished"] = state.finished ? "yes" : "no";
  std::deque<std::string> memory;  // whose elements stay where they are
  visit_vectors(
      plan, state, [&](const std::vector<StateSlice>& parts, const std::vector<double>& all) {
        for (const StateSlice& part : parts) {
          std::string& bytes = memory.emplace_back(part.count * size_of(plan.type), '\0');
          set_values(region_of(bytes, plan.type), std::span(all).subspan(part.first, part.count));
          file.tensors.push_back({part.name, plan.type, {part.count}, memory.back()});
        }
      });
  return encode_safetensors(file);
}

TrainingState decode_checkpoint(std::string_view text, const TrainingPlan& plan,
                                const std::string& name) {
  const SafeTensors file = parse_safetensors(text, name);
  const Numbers metadata(file, name);
  require_same_plan(metadata, plan, name);
  TrainingState state;
  state.step = metadata.count("step");
  state.optimizer.updates = metadata.count("updates");
  state.epoch = {metadata.real("epoch loss"), metadata.count("epoch correct")};
  state.epoch_samples = metadata.count("epoch samples");
  state.finished = metadata.text_of("finished") == "yes";
  state.optimizer.slots.resize(slot_names(plan.optimizer).size());
  std::size_t expected = 0;
  visit_vectors(plan, state, [&](const std::vector<StateSlice>& parts, std::vector<double>& all) {
    expected += parts.size();
    if (!parts.empty())
      all.resize(static_cast<std::size_t>(parts.back().first + parts.back().count));
    for (const StateSlice& part : parts) {
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

void CheckpointFolder::save(std::string_view file, std::int64_t step) const {
  std::error_code failed;
  fs::create_directories(path_, failed);
  if (failed) {
    throw Unavailable(fmt::format("cannot make the folder '{}': {}", path_, failed.message()));
  }
  const std::string name = fmt::format("{}{:09}{}", prefix, step, suffix);
  const std::string hidden = fmt::format("{}/.{}.partial", path_, name);
  const std::string path = fmt::format("{}/{}", path_, name);
  write_flushed(hidden, file);
  if (std::rename(hidden.c_str(), path.c_str()) != 0) {
    throw Unavailable(fmt::format("cannot rename '{}': {}", hidden, std::strerror(errno)));
  }
  const int folder = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) flush_and_close(folder, path_);
  std::map<std::int64_t, std::string> files = files_in(path_);
  while (std::ssize(files) > keep_) {
    fs::remove(files.begin()->second, failed);
    files.erase(files.begin());
  }
  // What a process left that was killed while it wrote.
  for (const auto& entry : fs::directory_iterator(path_, failed)) {
    const std::string other = entry.path().filename().string();
    if (other.starts_with(fmt::format(".{}", prefix)) && other.ends_with(".partial")) {
      fs::remove(entry.path(), failed);
    }
  }
}

std::optional<std::string> CheckpointFolder::latest() const {
  const std::map<std::int64_t, std::string> files = files_in(path_);
  if (files.empty()) return std::nullopt;
  return files.rbegin()->second;
}

std::string read_checkpoint(const std::string& path) { return file_content(path, "checkpoint"); }

}  // namespace collbench
