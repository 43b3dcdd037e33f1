// What the logs of one job say, in one form whatever wrote them: processes, communicators, and one
// record per rank and collective.
//
// Readers (bench/logs/log_readers.h) fill it in; operations.h joins the records of one collective.
// A figure that a log does not have is NaN, -1, 0 or empty, never guessed. Names are made fit for
// terminals when they are read.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"

namespace collbench {

enum class LoggedKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  barrier,
  point_to_point,
  other
};
std::string_view to_string(LoggedKind kind);
/// Of "AllReduce", "all_reduce", "nccl:allreduce_coalesced", "_allgather_base", "MPI_Allreduce".
LoggedKind logged_kind(std::string_view name);
/// Whether every rank needs something of every other, so that none ends before the last has begun.
bool waits_for_all(LoggedKind kind);
/// Whether the transfer of its bytes has a rate that shows the network's: not a barrier's, nor an
/// all-to-all's, whose parts may differ.
bool has_bus_rate(LoggedKind kind);
/// Bytes that each rank must send, over the bytes logged: 2(n-1)/n for an all-reduce; n-1 where the
/// log has the part of one rank (all-gather, reduce-scatter), as NCCL counts them.
double bus_factor(LoggedKind kind, int ranks);

inline constexpr double unknown_time = std::numeric_limits<double>::quiet_NaN();

enum class RecordState : std::uint8_t { completed, started, scheduled };

/// Of one record: more than any job makes, and few enough to add up.
constexpr std::int64_t most_logged_calls = std::int64_t{1} << 40;

/// One collective as one rank saw it. Times are microseconds; `start_us` is on the clock of the
/// process.
struct LogRecord {
  int communicator = 0;
  int rank = 0;      // in the communicator
  int process = -1;  // of JobLog::processes
  LoggedKind kind = LoggedKind::other;
  RecordState state = RecordState::completed;
  std::uint8_t algorithm = 0;  // of JobLog::words; 0: not said
  std::uint8_t protocol = 0;
  std::uint8_t elements = 0;  // "float sum": their type, and the operator of a reduction
  bool parts_differ = false;  // of an all-to-all: they do, or may, so that ranks end apart
  /// At its own work before: since all of the communicator last met, or its last collective if they
  /// had not; without what it had no processor for.
  float own_us = std::numeric_limits<float>::quiet_NaN();
  std::int64_t sequence = 0;  // equal on all ranks for (communicator, kind)
  std::int64_t bytes = 0;
  double duration_us = unknown_time;  // with the waiting for others
  double start_us = unknown_time;
  std::int64_t count = 1;  // collectives that it is the mean of; 0: of an unknown number
};

struct JobCommunicator {
  std::string id{};
  std::string name{};
  int ranks = 0;               // 0: not said
  int nodes = 0;               // 0: not said
  std::vector<int> members{};  // rank in the job of each rank; empty: not said
  std::string_view format{};   // of the log that named it first
  /// Up to which number one of its ranks says to have completed all; -1: none says it.
  std::int64_t completed_through = -1;
  /// Its ranks write only when they or others have waited for long: silence says nothing.
  bool heard_when_stuck = false;
  /// Its log is written while the job runs, and ends where that was read.
  bool may_go_on = false;
  /// Sequence numbers are the reader's count: a log may begin in the middle of another's.
  bool counted = false;
  /// Of a log of NCCL_DEBUG in which they are counted with those of sends and receives.
  bool counts_transfers = false;
  /// Counted ones that fit each other a step later as well: which step is which is not known.
  bool is_regular = false;
  /// Without it, ranks are those that use one stream, and `ranks` is the most that it can have.
  bool states_ranks = true;
};

struct JobProcess {
  std::string name;  // "synth-a pid 4101", or the file
  std::string host;  // empty: not said
  int rank = -1;     // in the job; -1: not said
  /// How far `start_us` may be off the clock of all processes; NaN: the process has a clock of its
  /// own.
  double clock_error_us = unknown_time;
  bool is_cut = false;  // its log: what it issued last is not known
};

/// How many collectives a rank has issued, where a log has only that.
struct IssuedCount {
  int communicator = 0;
  int rank = 0;
  LoggedKind kind = LoggedKind::other;
  std::int64_t count = 0;
};

/// A send or receive that has not ended, of ranks of the job.
struct OpenTransfer {
  int rank = 0;
  int peer = -1;  // -1: not said
  bool sends = false;
  RecordState state = RecordState::scheduled;
};

/// What a host's NCCL said of its hardware. -1: nothing.
struct HostSigns {
  std::set<std::string> adapters;
  int devices = 0;          // GPUs that the job uses there
  int direct_disabled = 0;  // times that an adapter was announced without GPUDirect RDMA
  int direct_channels = 0;  // channels through adapters with it
  int staged_channels = 0;  // and without
  int direct_sends = 0;     // of those channels
  int staged_sends = 0;
  int nvls = -1;                     // 1: available; 0: not
  bool sockets = false;              // the network is TCP
  int socket_channels = 0;           // channels through it
  bool is_of_several = false;        // a communicator of it has ranks on other hosts
  bool through_host = false;         // a channel inside the host goes through shared memory
  std::set<std::string> failures{};  // of transfers, as NCCL warns of them; a few
};

/// A graph of operations of one rank (Chakra, GOAL).
struct LoggedProgram {
  int rank = 0;
  std::int64_t operations = 0;
  std::int64_t compute_nodes = 0;  // -1: not said
  std::int64_t bytes_sent = 0;
  bool acyclic = true;
  int free_collectives = 0;  // without any dependency, though compute precedes them
};

/// Computing of one rank between collectives, from traces that have it.
struct ComputeSpan {
  int process = 0;
  double start_us = 0;
  double duration_us = 0;
};

struct JobLog {
  std::vector<JobCommunicator> communicators;
  std::vector<JobProcess> processes;
  std::vector<LogRecord> records;
  std::vector<IssuedCount> issued;
  bool issued_is_of_logs = false;  // counted by what logs hold, which may end early
  std::vector<OpenTransfer> open_transfers;
  std::map<std::string, HostSigns> hosts;
  std::vector<LoggedProgram> programs;
  std::vector<ComputeSpan> computing;
  std::set<std::string> formats;
  std::string device;                  // "NVIDIA H100 80GB HBM3"; empty: not said
  bool has_sends = false;              // ranks also send to and receive from single others
  bool of_processors = false;          // MPI among CPUs: networks of another class than GPUs have
  std::vector<int> missing_ranks;      // that a log itself calls missing
  std::vector<std::string> absent;     // likewise processes, as "process 12 on node b is dead"
  std::vector<std::string> words{""};  // algorithms and protocols, in lower case
  std::vector<std::string> notes;
  std::map<std::string, std::int64_t> left_out;  // what was not used, and how often
  std::set<int> unfinished;  // ranks of MPI programs that did not reach MPI_Finalize
  std::string ended;         // how it ended early, "with exit code 7"; empty: not known
  int files = 0;
  std::string mixed;  // why its logs are of several runs, which nothing can be told of; else empty

  /// The index of the communicator with this id and number of ranks, which is made if it is new.
  int communicator(const std::string& id, const std::string& name, int ranks);
  /// The index of the process of this name, likewise.
  int process(const std::string& name, const std::string& host = "");
  /// The rank of a process in a communicator whose log does not say it: processes are counted in
  /// the order in which they come.
  int counted_rank(int communicator, int process);
  /// Makes the records of one communicator those of another that has its ranks as members.
  void join(int communicator, int into);
  /// The index of a word in lower case; 0 if there are more than 255.
  std::uint8_t word(std::string_view text);
  void note_once(const std::string& note);

 private:
  std::map<std::pair<std::string, int>, int> communicators_by_id_;
  std::map<std::string, int> processes_by_name_;
  std::map<int, std::map<int, int>> counted_ranks_;  // by communicator and process
};

}  // namespace collbench
