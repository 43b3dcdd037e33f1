// What NCCL_DEBUG=INFO writes: collectives without times, the choices of rank 0, and what NCCL
// found of the network. Communicators are pointers of one process, joined by the lines of their
// Init; in a log without any (NCCL_DEBUG_SUBSYS=COLL) by the order in which processes use them.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "bench/logs/log_readers.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

/// The word behind `key` and a blank; empty if it is not there.
std::string_view word_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == text.npos) return {};
  text.remove_prefix(at + key.size());
  text = trimmed(text.substr(0, text.find('\n')));
  return text.substr(0, text.find_first_of(" \t,;]"));
}

std::optional<std::int64_t> hexadecimal(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

/// Bytes of ncclDataType_t by number (nccl.h).
int nccl_type_bytes(std::int64_t type) {
  constexpr int bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < 12 ? bytes[type] : 0;
}

/// Algorithms and protocols by the numbers that older versions write.
std::string_view nccl_algorithm(std::string_view text) {
  constexpr std::string_view names[] = {"tree",     "ring", "collnetdirect", "collnetchain", "nvls",
                                        "nvlstree", "pat"};
  const auto number = small_integer_in(text, 0, 6);
  return number ? names[*number] : text;
}
std::string_view nccl_protocol(std::string_view text) {
  constexpr std::string_view names[] = {"ll", "ll128", "simple"};
  const auto number = small_integer_in(text, 0, 2);
  return number ? names[*number] : text;
}

struct DebugCommunicator {
  int communicator = -1;  // -1: which one it is cannot be told
  int rank = 0;
  int process = -1;  // of the job; -1: that of the line
};

/// A line without what stands before "NCCL INFO" or "NCCL WARN".
struct DebugLine {
  std::string_view process;  // "synth-a:4101"
  std::string_view host;
  std::string_view device;  // "[0]"
  std::string_view text;
};

std::optional<DebugLine> debug_line(std::string_view line, std::string_view level) {
  const std::size_t at = line.find(level);
  if (at == line.npos) return std::nullopt;
  DebugLine found;
  found.text = trimmed(line.substr(at + level.size()));
  std::string_view prefix = line.substr(0, at);
  // "[1,3]<stdout>:host:pid:tid [0]" of launchers: the last word with two colons.
  for (const std::string_view word : split_at_blanks(prefix)) {
    std::string_view rest = word;
    if (word.starts_with('[') && word.ends_with(']')) found.device = word;
    const std::size_t marker = rest.find(">:");
    if (marker != rest.npos) rest.remove_prefix(marker + 2);
    const std::size_t first = rest.find(':');
    if (first == rest.npos || first == 0) continue;
    const std::size_t second = rest.find(':', first + 1);
    const std::string_view pid = rest.substr(first + 1, second - first - 1);
    if (!integer_in(pid)) continue;
    found.host = rest.substr(0, first);
    found.process = rest.substr(0, second);
  }
  return found;
}

/// Whether a warning is of a transfer that failed: a completion with an error, a call of verbs or
/// of sockets.
bool is_failed_transfer(std::string_view warning) {
  if (mentions(warning, "Got completion")) {
    const std::string_view status = word_behind(warning, "status=");
    return !status.empty() && status != "0";
  }
  const bool failed = mentions(warning, "failed") || mentions(warning, "closed by remote peer");
  for (const std::string_view call :
       {"ibv_", "socket", "Socket", "Net : ", "Call to recv", "Call to send", "Call to connect"}) {
    if (failed && mentions(warning, call)) return true;
  }
  return false;
}

class DebugReader {
 public:
  DebugReader(JobLog& job, bool has_init) : job_(job), has_init_(has_init) {}

  void take(std::string_view text) {
    const auto line = debug_line(text, " NCCL INFO ");
    if (!line) return take_warning(text);
    const bool is_init =
        mentions(line->text, " - Init COMPLETE") || mentions(line->text, " - Init START");
    if (is_init && mentions(line->text, " nranks ")) {
      take_init(*line);
    } else if (mentions(line->text, ": opCount ")) {
      take_collective(*line);
    } else if (mentions(line->text, " Bytes -> Algo ")) {
      take_choice(*line);
    } else {
      take_sign(*line);
    }
  }

  /// NCCL counts the collectives of a communicator of all kinds.
  void finish() {
    for (const auto& [rank, count] : issued_) {
      job_.issued.push_back({rank.first, rank.second, LoggedKind::other, count});
      job_.issued_is_of_logs = true;
    }
    std::erase_if(job_.issued,
                  [&](const IssuedCount& one) { return mixed_.contains(one.communicator); });
  }

 private:
  void take_warning(std::string_view text) {
    const auto line = debug_line(text, " NCCL WARN ");
    if (!line) return;
    if (warnings_++ < 5) job_.note_once("NCCL warns: " + printable(line->text));
    if (!is_failed_transfer(line->text)) return;
    std::set<std::string>& failures = host_of(*line).failures;
    if (failures.size() < 3) failures.insert(printable(line->text.substr(0, 200)));
  }

  HostSigns& host_of(const DebugLine& line) { return job_.hosts[printable(line.host)]; }

  void take_init(const DebugLine& line) {
    const auto rank = small_integer_in(word_behind(line.text, " rank "), 0, 1 << 20);
    const auto ranks = small_integer_in(word_behind(line.text, " nranks "), 1, 1 << 20);
    if (!rank || !ranks || *rank >= *ranks) {
      ++job_.left_out["Init lines of NCCL without ranks"];
      return;
    }
    std::string id(word_behind(line.text, " commId "));
    const bool completed = mentions(line.text, "COMPLETE");
    if (id.empty() && !completed) return;  // of a split: the line at its end says it
    if (id.empty()) id = id_by_order(line, *ranks);
    DebugCommunicator& known =
        communicators_[fmt::format("{} {}", line.process, word_behind(line.text, "comm "))];
    known.communicator = job_.communicator(id, "", *ranks);
    known.rank = *rank;
    const auto device = small_integer_in(word_behind(line.text, " cudaDev "), 0, 255);
    HostSigns& host = host_of(line);
    if (device) host.devices = std::max(host.devices, *device + 1);
  }

  /// Versions before 2.17 say no id: pointers of processes are joined by the order in which each
  /// made its communicators of so many ranks.
  std::string id_by_order(const DebugLine& line, int ranks) {
    job_.note_once(
        "this NCCL does not say which communicators of its processes are one: those of as many "
        "ranks "
        "are joined in the order in which they were made");
    return fmt::format("{} of {} ranks", ++made_[{std::string(line.process), ranks}], ranks);
  }

  const DebugCommunicator* communicator_of(const DebugLine& line) {
    const std::string key = fmt::format("{} {}", line.process, word_behind(line.text, " comm "));
    const auto known = communicators_.find(key);
    if (known != communicators_.end()) return &known->second;
    const auto ranks = small_integer_in(word_behind(line.text, " [nranks="), 1, 1 << 20);
    return has_init_ || !ranks ? nullptr : &(communicators_[key] = by_first_use(line, *ranks));
  }

  /// Of a GPU that has used so many communicators of as many ranks before. Where more use it than
  /// it has ranks, several are under that number: who is behind in one cannot be told.
  DebugCommunicator by_first_use(const DebugLine& line, int ranks) {
    job_.note_once(
        "the Init lines of communicators are not in this log (NCCL_DEBUG_SUBSYS=INIT,COLL): those "
        "of as many ranks are joined in the order of their first use, and GPUs are counted as "
        "ranks in the order of their first lines");
    const std::string gpu = fmt::format("{} {}", line.process, line.device);
    const int number = ++made_[{gpu, ranks}];
    DebugCommunicator made;
    made.communicator = job_.communicator(fmt::format("#{} by use", number), "", ranks);
    made.process = job_.process(gpu, std::string(line.host));
    made.rank = job_.counted_rank(made.communicator, made.process);
    const auto rank = small_integer_in(word_behind(line.text, " globalrank "), 0, 1 << 20);
    if (rank) job_.processes[static_cast<std::size_t>(made.process)].rank = *rank;
    if (made.rank >= ranks) {
      mixed_.insert(made.communicator);
      made.communicator = -1;
    }
    return made;
  }

  void take_collective(const DebugLine& line) {
    const auto sequence = hexadecimal(word_behind(line.text, ": opCount "));
    const auto count = integer_in(word_behind(line.text, " count "), 0, std::int64_t{1} << 45);
    const auto type = small_integer_in(word_behind(line.text, " datatype "), 0, 255);
    const DebugCommunicator* known = sequence && count && type ? communicator_of(line) : nullptr;
    if (known == nullptr) {
      ++job_.left_out["collectives of NCCL's log whose line or whose communicator's is cut"];
      return;
    }
    if (known->communicator < 0) {
      ++job_.left_out
            ["collectives of NCCL's log without Init lines (NCCL_DEBUG_SUBSYS=INIT,COLL) of more "
             "processes than their communicators have ranks"];
      return;
    }
    const LoggedKind kind = logged_kind(line.text.substr(0, line.text.find(':')));
    if (kind == LoggedKind::point_to_point) {
      job_.communicators[static_cast<std::size_t>(known->communicator)].counts_transfers = true;
    }
    LogRecord& record = job_.records.emplace_back();
    record.kind = kind;
    record.communicator = known->communicator;
    record.rank = known->rank;
    record.process = known->process >= 0
                         ? known->process
                         : job_.process(std::string(line.process), std::string(line.host));
    // The collectives of a group have one number: the place in it tells them apart.
    constexpr std::int64_t most_of_group = 4096;
    const std::int64_t place =
        places_[{record.communicator, record.rank, record.kind, *sequence}]++;
    record.sequence = *sequence % (std::int64_t{1} << 40) * most_of_group + place;
    record.bytes = *count * nccl_type_bytes(*type);
    latest_[std::string(line.process)] = job_.records.size() - 1;
    std::int64_t& issued = issued_[{record.communicator, record.rank}];
    issued = std::max(issued, std::min(*sequence, std::int64_t{1} << 60) + 1);
  }

  /// Rank 0 says at the launch what the lines before it will be played with.
  void take_choice(const DebugLine& line) {
    const auto latest = latest_.find(std::string(line.process));
    if (latest == latest_.end()) return;
    LogRecord& record = job_.records[latest->second];
    record.algorithm = job_.word(nccl_algorithm(word_behind(line.text, " Algo ")));
    record.protocol = job_.word(nccl_protocol(word_behind(line.text, " proto ")));
  }

  void take_sign(const DebugLine& line) {
    if (line.text.starts_with("NET/IB : Using ")) take_adapters(line);
    // With a distance it is of one GPU and an adapter far from it, as every host has.
    const bool is_far = mentions(line.text, "(distance ");
    if (mentions(line.text, "GPU Direct RDMA Disabled") && !is_far) ++host_of(line).direct_disabled;
    if (mentions(line.text, "NVLS multicast support is not available")) {
      host_of(line).nvls = 0;
    } else if (mentions(line.text, "NVLS multicast support is available")) {
      host_of(line).nvls = 1;
    }
    if (mentions(line.text, "Using network Socket")) host_of(line).sockets = true;
    if (integer_in(word_behind(line.text, " nNodes "), 2)) host_of(line).is_of_several = true;
    if (!line.text.starts_with("Channel ") && !line.text.starts_with("Ring ")) return;
    if (mentions(line.text, " via SHM") || mentions(line.text, " via direct shared memory")) {
      host_of(line).through_host = true;
    }
    if (mentions(line.text, " via NET/Socket")) ++host_of(line).socket_channels;
    if (mentions(line.text, " via NET/IB")) {
      HostSigns& host = host_of(line);
      const bool is_direct = mentions(line.text, "/GDRDMA");
      ++(is_direct ? host.direct_channels : host.staged_channels);
      if (mentions(line.text, "[send]")) ++(is_direct ? host.direct_sends : host.staged_sends);
    }
  }

  /// "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>"
  void take_adapters(const DebugLine& line) {
    const std::string_view list = line.text.substr(0, line.text.find(';'));
    for (const std::string_view word : split_at_blanks(list)) {
      const std::size_t bracket = word.find(']');
      const std::size_t colon = word.find(':');
      if (!word.starts_with('[') || bracket == word.npos || colon == word.npos) continue;
      HostSigns& host = host_of(line);
      if (host.adapters.size() < 64) {
        host.adapters.insert(printable(word.substr(bracket + 1, colon - bracket - 1)));
      }
    }
  }

  JobLog& job_;
  bool has_init_;
  std::set<int> mixed_;                                     // communicators that are several
  std::map<std::string, DebugCommunicator> communicators_;  // by process and pointer
  std::map<std::pair<std::string, int>, int> made_;         // communicators by process and ranks
  std::map<std::string, std::size_t> latest_;               // collective by process
  std::map<std::pair<int, int>, std::int64_t> issued_;      // by communicator and rank
  std::map<std::tuple<int, int, LoggedKind, std::int64_t>, std::int64_t> places_;
  int warnings_ = 0;
};

}  // namespace

void number_in_order(JobLog& job) {
  const auto counts_transfers = [&](int communicator) {
    return job.communicators[static_cast<std::size_t>(communicator)].counts_transfers;
  };
  std::map<std::tuple<int, int, LoggedKind>, std::int64_t> next;
  for (LogRecord& record : job.records) {
    if (!counts_transfers(record.communicator)) continue;
    record.sequence = next[{record.communicator, record.rank, record.kind}]++;
  }
  std::erase_if(job.issued,
                [&](const IssuedCount& one) { return counts_transfers(one.communicator); });
}

void read_nccl_debug(std::string_view text, const std::string& /*file*/, JobLog& job) {
  const std::string plain = without_terminal_codes(text);
  DebugReader reader(job, mentions(plain, " - Init "));
  for (const std::string& line : split_at(plain, '\n')) reader.take(line);
  reader.finish();
}

}  // namespace collbench
