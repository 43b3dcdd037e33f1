// What `collbench profile` records: a file per process (transports/mpi/profile/profile_format.h).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "bench/logs/log_readers.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/plain_text.h"
#include "core/quantile.h"
#include "transports/mpi/profile/profile_format.h"

namespace collbench {
namespace {

static_assert(std::endian::native == std::endian::little);

LoggedKind logged_kind_of(ProfiledKind kind) {
  constexpr std::array<LoggedKind, 6> kinds = {LoggedKind::all_reduce,     LoggedKind::all_gather,
                                               LoggedKind::reduce_scatter, LoggedKind::broadcast,
                                               LoggedKind::reduce,         LoggedKind::barrier};
  return kinds[static_cast<std::size_t>(kind)];
}

template <typename Value>
Value value_at(std::string_view text, std::size_t offset) {
  Value value;
  std::memcpy(&value, text.data() + offset, sizeof value);
  return value;
}

template <std::size_t Size>
std::string text_of(const std::array<char, Size>& letters) {
  return {letters.begin(), std::find(letters.begin(), letters.end(), '\0')};
}

ProfileHeader header_of(std::string_view text, const std::string& file) {
  require(text.size() >= sizeof(ProfileHeader),
          file + ": the profile of an MPI process without its header");
  const auto header = value_at<ProfileHeader>(text, 0);
  require(header.byte_order == profile_byte_order && header.header_bytes == sizeof header &&
              header.communicator_bytes == sizeof(ProfiledCommunicator) &&
              header.call_bytes == sizeof(MpiCallRecord),
          file + ": the profile of another version, or of a machine of another byte order");
  require(header.ranks >= 1 && header.rank >= 0 && header.rank < header.ranks &&
              header.communicators <= most_profiled_communicators && header.capacity >= 1,
          fmt::format("{}: rank {} of {}, {} communicators, room for {} calls is no profile", file,
                      header.rank, header.ranks, header.communicators, header.capacity));
  return header;
}

/// How far the clock of the process is behind that of all at a moment: on the line through both
/// measurements, as clocks drift apart by microseconds a second.
double behind_us(const ProfileHeader& header, std::int64_t at_ns) {
  const auto& [first, last] = header.clocks;
  if (first.error_ns < 0) return 0;
  const auto base = static_cast<double>(first.behind_ns);
  if (last.error_ns < 0 || last.at_ns <= first.at_ns) return base * 1e-3;
  const double share =
      static_cast<double>(at_ns - first.at_ns) / static_cast<double>(last.at_ns - first.at_ns);
  return (base + share * (static_cast<double>(last.behind_ns) - base)) * 1e-3;
}

/// Of a process that reached its end. What a profile that was cut short lacks is counted instead.
void check_sum(std::string_view text, const ProfileHeader& header, const std::string& file) {
  if (header.finished == 0 || header.checksum == 0) return;
  constexpr std::size_t at = offsetof(ProfileHeader, checksum);
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  const std::array<std::byte, sizeof header.checksum> none{};
  const std::uint32_t sum =
      crc32c(bytes.subspan(at + none.size()), crc32c(none, crc32c(bytes.first(at))));
  require(sum == header.checksum,
          file + ": the profile of an MPI process does not fit its checksum: it is damaged");
}

class ProfileReader {
 public:
  ProfileReader(std::string_view text, const std::string& file, JobLog& job)
      : text_(text), file_(file), job_(job), header_(header_of(text, file)) {}

  void read() {
    const std::size_t calls_at =
        sizeof(ProfileHeader) + most_profiled_communicators * sizeof(ProfiledCommunicator);
    require(text_.size() >= calls_at, file_ + ": ends before its calls");
    const std::string host = printable(text_of(header_.host));
    process_ = job_.process(fmt::format("{} pid {}", host, header_.pid), host);
    JobProcess& process = job_.processes[static_cast<std::size_t>(process_)];
    process.rank = header_.rank;
    if (header_.clocks[0].error_ns >= 0) {
      process.clock_error_us =
          static_cast<double>(std::max(header_.clocks[0].error_ns, header_.clocks[1].error_ns)) *
          1e-3;
    }
    records_before_ = job_.records.size();
    for (std::uint32_t i = 0; i < header_.communicators; ++i) add_communicator(i);
    const std::uint64_t kept = std::min(header_.calls, header_.capacity);
    const std::uint64_t there = (text_.size() - calls_at) / sizeof(MpiCallRecord);
    if (there >= kept) check_sum(text_, header_, file_);
    for (std::uint64_t i = 0; i < std::min(kept, there); ++i) {
      const std::uint64_t slot = there < kept ? i : (header_.calls + i) % kept;  // the oldest first
      take(value_at<MpiCallRecord>(text_, calls_at + slot * sizeof(MpiCallRecord)));
    }
    count_losses(kept, there);
    doubt_clock();
    if (header_.finished == 0) {
      count_issued();
      job_.unfinished.insert(header_.rank);
    }
  }

 private:
  void add_communicator(std::uint32_t index) {
    const auto one = value_at<ProfiledCommunicator>(
        text_, sizeof(ProfileHeader) + index * sizeof(ProfiledCommunicator));
    const bool is_sound =
        one.ranks >= 2 && one.ranks <= header_.ranks && one.rank >= 0 && one.rank < one.ranks;
    ranks_.push_back(is_sound ? one.rank : -1);
    communicators_.push_back(-1);
    if (!is_sound) return;
    communicators_.back() =
        job_.communicator(fmt::format("{:016x}", one.id), text_of(one.name), one.ranks);
  }

  /// Of a clock that starts at 0, so that sums and differences of two fit.
  static bool is_time(std::int64_t ns) { return ns >= 0 && ns < std::int64_t{1} << 61; }

  void take(const MpiCallRecord& call) {
    const bool is_sound = call.communicator < communicators_.size() &&
                          communicators_[call.communicator] >= 0 &&
                          call.kind <= ProfiledKind::barrier && call.bytes >= 0 &&
                          call.bytes <= std::int64_t{1} << 50 && is_time(call.start_ns) &&
                          (call.duration_ns <= 0 || is_time(call.duration_ns));
    if (!is_sound) {
      ++job_.left_out["calls of MPI profiles that are damaged"];
      return;
    }
    LogRecord& record = job_.records.emplace_back();
    record.communicator = communicators_[call.communicator];
    record.rank = ranks_[call.communicator];
    record.process = process_;
    record.kind = logged_kind_of(call.kind);
    record.sequence = call.sequence;
    record.bytes = call.bytes;
    record.elements = elements_of(call);
    record.start_us = static_cast<double>(call.start_ns) * 1e-3 + behind_us(header_, call.start_ns);
    not_own_us_ += call.not_own_us;
    double own = own_us_;
    if (last_end_ns_ > 0) {
      const auto since = static_cast<double>(call.start_ns - last_end_ns_) * 1e-3;
      own += std::max(0.0, since - static_cast<double>(not_own_us_));
      record.own_us = static_cast<float>(own - met_at(call.communicator));
    }
    if (call.duration_ns > 0) {
      if (waits_for_all(record.kind)) meet(call.communicator, own);
      last_end_ns_ = call.start_ns + call.duration_ns;
      own_us_ = own;
      not_own_us_ = 0;
      record.duration_us = static_cast<double>(call.duration_ns) * 1e-3;
    } else if (call.non_blocking == 0) {
      record.state = RecordState::started;
    }
  }

  /// The own work up to when this process last met all others of a communicator, there or in one of
  /// all processes; where it has not, up to its last call.
  double met_at(std::uint32_t communicator) const {
    const auto met = met_us_.find(communicator);
    const double latest = std::fmax(met == met_us_.end() ? unknown_time : met->second, all_met_us_);
    return std::isnan(latest) ? own_us_ : latest;
  }
  void meet(std::uint32_t communicator, double own) {
    const bool is_of_all =
        job_.communicators[static_cast<std::size_t>(communicators_[communicator])].ranks ==
        header_.ranks;
    (is_of_all ? all_met_us_ : met_us_[communicator]) = own;
  }

  /// "float sum" of MPI_FLOAT and MPI_SUM.
  std::uint8_t elements_of(const MpiCallRecord& call) {
    constexpr std::array<std::string_view, 6> ops = {"", " sum", " prod", " min", " max", " other"};
    constexpr std::string_view prefix = "MPI_";
    if (call.type == 0 || call.type >= header_.types.size()) return 0;
    std::string type = text_of(header_.types[call.type]);
    if (type.starts_with(prefix)) type.erase(0, prefix.size());
    const auto op = static_cast<std::size_t>(call.op);
    return job_.word(type + std::string(op < ops.size() ? ops[op] : ops.back()));
  }

  /// Of a process that was killed: where it waits for what is not recorded, as MPI_Wait, only the
  /// number of its calls tells how far it came.
  void count_issued() {
    std::map<std::tuple<int, int, LoggedKind>, std::int64_t> counts;
    for (std::size_t i = records_before_; i < job_.records.size(); ++i) {
      const LogRecord& record = job_.records[i];
      std::int64_t& count = counts[{record.communicator, record.rank, record.kind}];
      count = std::max(count, record.sequence + 1);
    }
    for (const auto& [of, count] : counts) {
      job_.issued.push_back({std::get<0>(of), std::get<1>(of), std::get<2>(of), count});
      job_.issued_is_of_logs = true;
    }
  }

  /// Of a process that was killed the clock was compared at its start only: clocks drift apart by a
  /// microsecond a second and more. What may be a tenth of its calls tells nothing of them.
  void doubt_clock() {
    constexpr double drift = 1e-6;
    constexpr double most_of_call = 0.1;
    const auto& [first, last] = header_.clocks;
    if (first.error_ns < 0 || (last.error_ns >= 0 && last.at_ns > first.at_ns)) return;
    std::vector<double> calls;
    for (std::size_t i = records_before_; i < job_.records.size(); ++i) {
      if (job_.records[i].duration_us > 0) calls.push_back(job_.records[i].duration_us);
    }
    if (calls.empty()) return;
    JobProcess& process = job_.processes[static_cast<std::size_t>(process_)];
    const double error = drift * static_cast<double>(last_end_ns_ - first.at_ns) * 1e-3;
    process.clock_error_us = std::max(process.clock_error_us, error);
    if (error > most_of_call * quantile(std::move(calls), 0.5))
      process.clock_error_us = unknown_time;
  }

  void count_losses(std::uint64_t kept, std::uint64_t there) {
    const auto count = [&](const char* what, std::uint64_t calls) {
      if (calls > 0) job_.left_out[what] += static_cast<std::int64_t>(std::min(calls, kept_most));
    };
    count("earlier calls of MPI programs, for which a profile had no room (--calls)",
          header_.calls - std::min(header_.calls, header_.capacity));
    count("calls of MPI profiles that were cut short", kept - std::min(kept, there));
    count("communicators of MPI programs beyond 256", header_.left_out);
    count("MPI processes that did not reach MPI_Finalize (their calls count)",
          header_.finished == 0 ? 1 : 0);
  }

  static constexpr std::uint64_t kept_most = std::uint64_t{1} << 60;

  std::string_view text_;
  const std::string& file_;
  JobLog& job_;
  ProfileHeader header_;
  int process_ = -1;
  std::size_t records_before_ = 0;          // of other files
  std::int64_t last_end_ns_ = 0;            // of the blocking call before
  std::int64_t not_own_us_ = 0;             // since then
  double own_us_ = 0;                       // all own work until then
  double all_met_us_ = unknown_time;        // that until all processes met last
  std::map<std::uint32_t, double> met_us_;  // and those of a communicator
  std::vector<int> communicators_;          // of the job, by index in the file; -1: damaged
  std::vector<int> ranks_;
};

}  // namespace

void read_mpi_profile(std::string_view text, const std::string& file, JobLog& job) {
  ProfileReader(text, file, job).read();
  job.of_processors = true;
}

}  // namespace collbench
