#include "cli/output_file.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/reports/formats.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/parse.h"

namespace collbench {
namespace {

namespace fs = std::filesystem;

/// Standard output, while text for people goes elsewhere; else null.
std::streambuf* for_files = nullptr;

/// Besides the formats of reports; in every command that has an option of this name and takes a
/// FILE for it.
constexpr std::string_view written_files[] = {
    "curve", "dot",    "export-rules", "export-tuner", "links", "msccl", "mscclpp", "observe",
    "plot",  "output", "profile",      "ranks",        "svg",   "trace", "winners"};
/// Likewise those of a FOLDER whose files have names that logs of other programs have, too.
constexpr std::string_view written_folders[] = {"flight-recorder", "inspector"};

bool writes_file(const OptionRow& row) {
  if (row.metavar != "FILE" || is_argument(row.name)) return false;
  const std::vector<std::string> formats = report_format_names();
  return std::ranges::find(written_files, row.name) != std::end(written_files) ||
         std::ranges::find(formats, row.name) != formats.end();
}

bool writes_folder(const OptionRow& row) {
  return row.metavar == "FOLDER" &&
         std::ranges::find(written_folders, row.name) != std::end(written_folders);
}

bool reads_files(const OptionRow& row) {
  if (is_argument(row.name)) return !row.metavar.starts_with("-- ");
  return (row.metavar.starts_with("FILE") && !writes_file(row)) || row.name == "topo" ||
         row.name == "workload";
}

/// The same for all names of a file, links included.
fs::path real_path(const std::string& name) {
  std::error_code unseen;
  const fs::path path = fs::weakly_canonical(fs::absolute(name, unseen), unseen);
  return unseen ? fs::path(name).lexically_normal() : path;
}

bool is_device(const fs::path& path) {
  std::error_code unseen;
  return fs::exists(path, unseen) && !fs::is_regular_file(path, unseen);
}

/// What the command reads, by its real path: files and folders that are there. A name may end in
/// hints, "job.txt,ranks=16", and be one of a list.
std::vector<fs::path> paths_read(const Settings& settings) {
  std::vector<fs::path> inputs;
  const auto add = [&](const std::string& name) {
    std::error_code unseen;
    if (fs::exists(name, unseen)) inputs.push_back(real_path(name));
  };
  for (const OptionRow& row : settings.rows()) {
    if (!reads_files(row)) continue;
    const Setting& setting = settings.at(row.name);
    for (const std::string& word :
         setting.words.empty() ? std::vector{setting.value} : setting.words) {
      add(word);
      for (const std::string& part : split_at(word, ',')) add(part);
    }
  }
  return inputs;
}

/// The option that says what standard output carries instead of text for people, or "".
std::string_view console_format(const Settings& settings) {
  const bool has_place = std::ranges::any_of(settings.rows(), [](const OptionRow& row) {
    return row.name == "output" && row.default_value == "-";
  });
  if (has_place) return "";  // it goes where --output says, which is counted itself
  if (settings.declares("format") && settings.at("format").priority > 0) return "format";
  const bool is_json = settings.declares("json") && settings.at("json").value == "true";
  return is_json ? "json" : "";
}

}  // namespace

TextBesideFile::TextBesideFile(const Settings& settings) {
  const std::vector<std::string> formats = report_format_names();
  const bool is_apart = std::ranges::any_of(settings.rows(), [&](const OptionRow& row) {
    // Commands that have reports or --output print nothing beside them.
    return writes_file(row) && settings.at(row.name).value == "-" && row.name != "output" &&
           std::ranges::find(formats, row.name) == formats.end();
  });
  if (is_apart) for_files = std::cout.rdbuf(std::cerr.rdbuf());
}

TextBesideFile::~TextBesideFile() {
  if (for_files != nullptr) std::cout.rdbuf(std::exchange(for_files, nullptr));
}

void write_output(const std::string& path, const std::function<void(std::ostream&)>& writer) {
  if (path.empty()) return;
  if (path == "-") {
    std::ostream out(for_files != nullptr ? for_files : std::cout.rdbuf());
    writer(out);
    if (!out.flush()) throw Error("could not write to the standard output");
    return;
  }
  OutputFile file(path);
  writer(file.stream());
  file.commit();
}

void require_distinct_outputs(const Settings& settings) {
  std::string_view console = console_format(settings);
  std::map<fs::path, std::string_view> written;  // and by which option
  for (const OptionRow& row : settings.rows()) {
    const std::string& name = settings.at(row.name).value;
    if (!writes_file(row) || name.empty()) continue;
    if (name == "-") {
      require(console.empty(),
              fmt::format("{}: standard output already carries {}", settings.label(row.name),
                          console.empty() ? "" : settings.label(console)));
      console = row.name;
      continue;
    }
    const fs::path path = real_path(name);
    const auto [other, is_new] = written.try_emplace(path, row.name);
    require(is_new || is_device(path),
            fmt::format("{} and {} name the same file, '{}'", settings.label(other->second),
                        settings.label(row.name), name));
  }
}

void require_inputs_kept(const Settings& settings) {
  const std::vector<fs::path> inputs = paths_read(settings);
  for (const OptionRow& row : settings.rows()) {
    const bool is_folder = writes_folder(row);
    const std::string& name = settings.at(row.name).value;
    if ((!is_folder && !writes_file(row)) || name.empty() || name == "-") continue;
    const fs::path path = real_path(name);
    const bool is_read = std::ranges::any_of(inputs, [&](const fs::path& input) {
      return input == path || (is_folder && input.parent_path() == path);
    });
    require(!is_read || (!is_folder && is_device(path)),
            fmt::format("{}: '{}' {}", settings.label(row.name), name,
                        is_folder ? "holds what is read; name another folder"
                                  : "is also what is read; name another file"));
  }
}

void require_writable(const Settings& settings, std::initializer_list<const char*> options) {
  for (const char* option : options) {
    const std::string& path = settings.text(option);
    if (path != "-" && !path.empty()) require_writable(path);
  }
}

std::vector<OptionRow> file_rows(const char* group, FormatsOf what) {
  std::vector<OptionRow> rows;
  for (const ReportFormat& format : report_formats()) {
    if (what == FormatsOf::comparisons && format.comparison == nullptr) continue;
    if (format.name != "table") rows.push_back({group, format.name, "", "FILE", "", format.help});
  }
  return rows;
}

}  // namespace collbench
