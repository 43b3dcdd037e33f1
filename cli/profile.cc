// `collbench profile -- mpirun -n 8 ./app`: what the collectives of an MPI program did, recorded by
// a library that is preloaded into it (transports/mpi/profile).
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "bench/logs/job_files.h"
#include "cli/clock_server.h"
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

/// What the user gives LD_PRELOAD by an option of the launcher, "-x LD_PRELOAD=a.so" or "-genv
/// LD_PRELOAD a.so", goes on behind the library.
void keep_preloads(std::vector<std::string>& words, const std::string& library) {
  const std::string given = "LD_PRELOAD=";
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string option =
        words[i].substr(std::min(words[i].find_first_not_of('-'), words[i].size()));
    std::string& next = words[i + 1];
    if (option == "x" && next.starts_with(given)) next.insert(given.size(), library + ":");
    const bool sets = (option == "env" || option == "genv") && next == "LD_PRELOAD";
    if (sets && i + 2 < words.size()) words[i + 2].insert(0, library + ":");
  }
}

/// The command with what makes its processes load the library, and the variables in our own
/// environment: launchers hand it on, Open MPI's to its own host only, and to others by options
/// that hold up to the next ':'.
std::vector<std::string> profiled_command(const Settings& settings, const std::string& folder,
                                          const std::string& clock) {
  std::vector<std::string> words = settings.words("ARGS");
  const std::string before = environment_variable("LD_PRELOAD");
  const std::string library = library_path();
  const bool by_option = is_open_mpi_launcher(words[0]);
  keep_preloads(words, library);
  std::vector<std::string> options;
  for (const auto& [name, value] : std::initializer_list<std::pair<std::string, std::string>>{
           {"LD_PRELOAD", before.empty() ? library : library + ":" + before},
           {profile_folder_variable, folder},
           {profile_clock_variable, clock},
           {profile_calls_variable, std::to_string(settings.count("calls", 1, 1 << 28))}}) {
    setenv(name.c_str(), value.c_str(), 1);
    options.insert(options.end(), {"-x", name + "=" + value});
  }
  std::vector<std::string> command;
  for (std::size_t i = 0; i < words.size(); ++i) {
    command.push_back(words[i]);
    if (!by_option || (i > 0 && words[i] != ":")) continue;
    command.insert(command.end(), options.begin(), options.end());
  }
  return command;
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

/// The records of the job that ended with `code`; throws Unavailable with what may be the reason if
/// there are none.
JobLog recorded_job(const std::string& folder, int code) {
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
  // One that was stopped may have stood still.
  if (code != 0 && stop_signal() == 0) job.ended = fmt::format("with exit code {}", code);
  for (const std::string& problem : problems) job.note_once("some processes: " + problem);
  return job;
}

int profile(const Settings& settings) {
  check_job_report(settings);
  RecordFolder folder(settings.text("keep"));
  watch_stop_signals();
  const ClockServer clock;
  const std::vector<std::string> words =
      profiled_command(settings, folder.path(), clock.reference());
  const int code =
      run_to_end(words, job_report_is_printed(settings) ? STDERR_FILENO : STDOUT_FILENO);
  try {
    const int verdict = report_job(recorded_job(folder.path(), code), settings);
    if (!stop_signal_name().empty()) return interrupt_exit_code();
    return code != 0 ? code : verdict;
  } catch (const Error& error) {
    if (fs::is_empty(folder.path())) {
      if (code == 0) throw;
    } else {
      folder.keep();
      std::cerr << fmt::format("the records are kept: collbench logs '{}'\n", folder.path());
      if (code == 0) throw;
    }
    std::cerr << fmt::format("{}{}\n", error_prefix(), error.what());
    return code;
  }
}

}  // namespace

void add_profile(CLI::App& app, Action& action) {
  static const std::vector<OptionRow> rows = concatenated({profile_rows, job_report_rows()});
  add_command(app, "profile", "run an MPI program and say what its collectives wait for", rows,
              action, profile);
}

}  // namespace collbench
