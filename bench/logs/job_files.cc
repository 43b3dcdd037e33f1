#include "bench/logs/job_files.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include "bench/logs/log_readers.h"
#include "bench/logs/operations.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

constexpr std::string_view gzip_magic = "\x1f\x8b";

void read_one(const std::string& path, JobLog& job) {
  std::string text = read_file(path, largest_log);
  if (text.starts_with(gzip_magic)) {
    bool cut = false;
    text = unpacked(text, path, largest_log, cut);
    if (cut) ++job.left_out["ends of compressed files that were cut short"];
  }
  read_log(text, path, job);
}

void read_folder(const std::string& folder, JobLog& job) {
  std::vector<std::string> unread;
  for (const std::string& file : files_below(folder, unread)) {
    try {
      read_one(file, job);
    } catch (const InvalidArgument& e) {
      unread.emplace_back(e.what());
    }
  }
  for (const std::string& reason : unread) job.notes.push_back("left out: " + reason);
}

std::string first_notes(const JobLog& job) {
  constexpr std::size_t most_notes = 4;
  const std::size_t shown = std::min(job.notes.size(), most_notes);
  const std::string more =
      shown < job.notes.size() ? fmt::format("; and {} more", job.notes.size() - shown) : "";
  return fmt::format("{}{}", fmt::join(std::span(job.notes).first(shown), "; "), more);
}

}  // namespace

std::string unpacked(std::string_view gzip, const std::string& file, std::size_t limit, bool& cut) {
  z_stream stream{};
  constexpr int any_window_of_gzip = 15 + 16;
  if (inflateInit2(&stream, any_window_of_gzip) != Z_OK) throw std::bad_alloc();
  // zlib takes what it does not change by a pointer that is not const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  std::string text;
  int state = Z_OK;
  while (state == Z_OK && text.size() <= limit) {
    constexpr std::size_t piece = 1 << 20;
    const std::size_t old = text.size();
    text.resize(old + piece);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + old);
    stream.avail_out = piece;
    state = inflate(&stream, Z_NO_FLUSH);
    text.resize(old + piece - stream.avail_out);
    // Logs that were appended to are several streams; what pads the last one is none.
    const bool another =
        stream.avail_in >= 2 && stream.next_in[0] == 0x1f && stream.next_in[1] == 0x8b;
    if (state == Z_STREAM_END && another) state = inflateReset(&stream);
  }
  inflateEnd(&stream);
  cut = state == Z_BUF_ERROR;
  require(state == Z_STREAM_END || cut || text.size() > limit,
          file + ": begins like gzip, but cannot be unpacked");
  require(text.size() <= limit,
          fmt::format("{}: unfolds to more than {} MiB, the most that is read", file, limit >> 20));
  return text;
}

JobLog read_job(const std::vector<std::string>& paths) {
  JobLog job;
  for (const std::string& path : paths) {
    std::error_code unseen;  // reading it says why
    if (std::filesystem::is_directory(path, unseen)) {
      read_folder(path, job);
    } else {
      read_one(path, job);
    }
  }
  if (job.files == 0 && !job.notes.empty()) throw InvalidArgument(first_notes(job));
  require(job.files > 0, "no job log among the named files");
  join_groups_of_cut_dumps(job);
  number_in_order(job);
  part_processes_of_one_number(job);
  match_counted_records(job);
  return job;
}

void require_content(const JobLog& job) {
  // A healthy status of RAS has nothing but a note.
  const bool has_some =
      !job.records.empty() || !job.issued.empty() || !job.hosts.empty() || !job.programs.empty() ||
      !job.missing_ranks.empty() || !job.absent.empty() || !job.computing.empty() ||
      !job.open_transfers.empty() || !job.ended.empty() || job.formats.contains("NCCL RAS (text)");
  if (has_some) return;
  std::vector<std::string> reasons;
  for (const auto& [what, count] : job.left_out)
    reasons.push_back(fmt::format("{} x {}", count, what));
  if (reasons.empty()) reasons.emplace_back("no operation is in it");
  throw InvalidArgument(fmt::format("nothing can be used of {}: {}", counted(job.files, "file"),
                                    fmt::join(reasons, "; ")));
}

}  // namespace collbench
