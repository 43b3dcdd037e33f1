// `collbench profile -- mpirun -n 8 ./app`: what the collectives of an MPI program did, recorded by
// a library that is preloaded into it (transports/mpi/profile).
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "bench/logs/job_files.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/external_program.h"
#include "cli/report_job.h"
#include "cli/terminal.h"
#include "core/environment_variable.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/input_file.h"
#include "core/plain_text.h"
#include "core/stop_request.h"
#include "transports/mpi/profile/profile_format.h"
#include "transports/world/worker_process.h"

namespace collbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* profile_group = "Recording";
constexpr const char* profile_library = "libcollbench-mpi-profile.so";
constexpr Seconds look_interval{0.05};  // at whether the program has ended, or is to end
constexpr Seconds time_to_end{10.0};    // for a program that was asked to

constexpr OptionRow profile_rows[] = {
    {arguments_group, "ARGS", "", "-- CMD", "",
     "after --: the program as it is always started, with mpirun, mpiexec or srun",
     Presence::required},
    {profile_group, "keep", "", "FOLDER", "",
     "keep the records there, for `collbench logs`; all hosts must see it (else a folder here that "
     "is removed)"},
    {profile_group, "calls", "", "N", "262144",
     "room for so many calls of each process, 40 bytes each; the latest are kept"},
};

std::span<const OptionRow> profile_option_rows() {
  static const std::vector<OptionRow> rows = concatenated({profile_rows, job_report_rows()});
  return rows;
}

/// Beside the command as it is built, or where it is installed.
fs::path library_path() {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& folder : {here, here / ".." / COLLBENCH_LIBDIR}) {
    if (fs::exists(folder / profile_library)) return fs::canonical(folder / profile_library);
  }
  throw Unavailable(fmt::format(
      "profile needs {}, which is not beside this collbench: it is built where MPI is installed "
      "(Debian: libopenmpi-dev or libmpich-dev)",
      profile_library));
}

/// Where the processes write; removed at the end unless the user named it.
class RecordFolder {
 public:
  explicit RecordFolder(const std::string& asked) : path_(asked), is_kept_(!asked.empty()) {
    std::error_code failure;
    if (is_kept_) {
      fs::create_directories(path_, failure);
      require(failure || fs::is_empty(path_, failure),
              fmt::format("--keep: '{}' is not empty; another job's records would mix with these",
                          path_));
    } else {
      path_ = "collbench-profile-XXXXXX";
      if (mkdtemp(path_.data()) == nullptr) failure.assign(errno, std::generic_category());
    }
    if (failure) throw FileUnavailable("cannot make '" + path_ + "': " + failure.message());
    path_ = fs::absolute(path_);
  }
  ~RecordFolder() {
    std::error_code ignored;
    if (!is_kept_) fs::remove_all(path_, ignored);
  }
  RecordFolder(const RecordFolder&) = delete;
  RecordFolder& operator=(const RecordFolder&) = delete;

  const std::string& path() const { return path_; }
  void keep() { is_kept_ = true; }

 private:
  std::string path_;
  bool is_kept_;
};

/// Open MPI's launcher passes variables to other hosts only on request.
bool is_open_mpi_launcher(const std::string& word) {
  const std::string name = fs::path(word).filename();
  if (!name.starts_with("mpirun") && !name.starts_with("mpiexec")) return false;
  try {
    const std::string version = run_external({word + " --version", "openmpi-bin", ""}, "");
    return version.find("Open MPI") != version.npos || version.find("OpenRTE") != version.npos;
  } catch (const Error&) {
    return false;  // Starting it will say what is wrong.
  }
}

/// The command with what makes its processes load the library; variables of our own environment for
/// launchers that hand it on.
std::vector<std::string> profiled_command(const Settings& settings, const std::string& folder) {
  std::vector<std::string> words = settings.words("ARGS");
  const std::string before = environment_variable("LD_PRELOAD");
  const std::string library = library_path();
  const std::vector<std::pair<std::string, std::string>> variables = {
      {"LD_PRELOAD", before.empty() ? library : library + ":" + before},
      {profile_folder_variable, folder},
      {profile_calls_variable, std::to_string(settings.count("calls", 1, 1 << 28))}};
  const bool by_option = is_open_mpi_launcher(words[0]);
  auto place = words.begin() + 1;
  for (const auto& [name, value] : variables) {
    if (by_option) {
      place = words.insert(place, {"-x", name + "=" + value}) + 2;
    } else {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  return words;
}

/// Its exit code as a shell reports it.
int run_to_end(const std::vector<std::string>& words, int standard_output) {
  // A program that reads a terminal beside us would be stopped.
  ChildProcess child(words, {},
                     {.in = isatty(STDIN_FILENO) != 0 ? -1 : STDIN_FILENO,
                      .out = standard_output,
                      .err = STDERR_FILENO});
  while (!child.ended_within(look_interval)) {
    if (stop_signal_name().empty()) continue;
    child.signal_group(stop_signal_name() == "SIGINT" ? SIGINT : SIGTERM);
    if (!child.ended_within(time_to_end)) child.kill();
  }
  return *child.exit_code();
}

/// The job's records; throws Unavailable with what may be the reason if there are none.
JobLog recorded_job(const std::string& folder) {
  std::set<std::string> problems;
  bool any = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string extension = entry.path().extension();
    any = any || extension == profile_suffix;
    if (extension != profile_problem_suffix) continue;
    problems.insert(printable(read_file(entry.path())));
    fs::remove(entry.path());
  }
  if (!any) {
    throw Unavailable(fmt::format(
        "nothing was recorded: {}",
        !problems.empty()
            ? fmt::format("{}", fmt::join(problems, "; "))
            : "no process of it called MPI_Init of a shared MPI library of the kind that this "
              "collbench was built with, or none could write to '" +
                  folder + "'"));
  }
  JobLog job = read_job({folder});
  for (const std::string& problem : problems) job.note_once("some processes: " + problem);
  return job;
}

int profile(const Settings& settings) {
  check_job_report(settings);
  RecordFolder folder(settings.text("keep"));
  const std::vector<std::string> words = profiled_command(settings, folder.path());
  watch_stop_signals();
  const int code =
      run_to_end(words, job_report_is_printed(settings) ? STDERR_FILENO : STDOUT_FILENO);
  try {
    const int verdict = report_job(recorded_job(folder.path()), settings);
    if (!stop_signal_name().empty()) return interrupt_exit_code();
    return code != 0 ? code : verdict;
  } catch (const Error& error) {
    if (fs::is_empty(folder.path())) {
      if (code == 0) throw;
    } else {
      folder.keep();
      std::cerr << fmt::format("{}the records are kept in {}\n", error_prefix(), folder.path());
      if (code == 0) throw;
    }
    std::cerr << fmt::format("{}{}\n", error_prefix(), error.what());
    return code;
  }
}

}  // namespace

void add_profile(CLI::App& app, Action& action) {
  add_command(app, "profile", "run an MPI program and say what its collectives wait for",
              profile_option_rows(), action, profile);
}

}  // namespace collbench
