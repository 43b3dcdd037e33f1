// Readers of one format of logs each, and the table from which a text's reader is chosen by its
// content, never by its name.
//
// A reader adds to the job what it understands. What it cannot use (a line that was cut short, a
// record without a time) is counted in JobLog::left_out under a name; a text of which nothing can
// be used is an InvalidArgument, FILE: REASON.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bench/logs/job_log.h"

namespace collbench {

/// `file` leads messages; a rank in its name counts only where the content does not say it.
using ReadLog = void(std::string_view text, const std::string& file, JobLog& job);

struct LogReader {
  std::string_view name;
  /// Of the first 64 KiB of a text; of all of it where it may stand in what programs print.
  bool (*recognises)(std::string_view head);
  ReadLog* read;
  bool of_output = false;  // messages among others: one text may have those of several
};

/// In the order in which they are asked.
std::span<const LogReader> log_readers();

/// Reads one text. Throws InvalidArgument if no reader knows it or can use any of it.
void read_log(std::string_view text, const std::string& file, JobLog& job);

/// The number behind "rank" in the name of a file, without its folder ("rank_3.20261124.json" is of
/// rank 3), else its last number if that is below 4096 and no letter follows it: others are
/// processes, dates, and "2gpu". -1 if there is none.
int rank_in_name(const std::string& file);
/// The same; where the name says none, the least rank that no process of the job has, with a note.
int rank_of_file(const std::string& file, JobLog& job);

/// Bytes of one element of a type by any of the names that logs use ("ncclFloat32", "BFloat16",
/// "float"); 0 if it is not known.
int element_bytes_of(std::string_view type);

/// A dump of Flight Recorder in JSON that was cut has lost the members of its groups: they are
/// those that another dump states for the group of that name, if only one does for the ranks it
/// has. To be called once, when all logs of a job are read.
void join_groups_of_cut_dumps(JobLog& job);

/// Where numbers of NCCL_DEBUG count sends and receives as well, a rank that sends runs ahead of
/// the others: its collectives are numbered by their order. To be called once, when all logs are
/// read.
void number_in_order(JobLog& job);

/// Where one number of a process of NCCL's profiler, which says no host, stands for two ranks of a
/// communicator (containers begin to count anew), each rank of each communicator is a process. To
/// be called once, when all logs are read.
void part_processes_of_one_number(JobLog& job);

/// Whether the first messages are those of a Chakra trace, which has no magic number.
bool is_chakra(std::string_view head);

/// Whether PyTorch's watchdog or torchrun says in it why a job has ended.
bool has_watchdog(std::string_view output);
/// Whether Horovod warns in it of ranks that others wait for.
bool has_horovod_stall(std::string_view output);

// One file each.
ReadLog read_inspector, read_inspector_prometheus, read_nccl_profiler, read_nccl_debug,
    read_nccl_ras_text, read_nccl_ras, read_flight_recorder_json, read_flight_recorder_pickle,
    read_kineto, read_chakra, read_chakra_json, read_goal_text, read_goal_binary, read_horovod,
    read_mpip, read_ompi_monitoring, read_pytorch_watchdog, read_horovod_stall, read_own_records,
    read_mpi_profile, read_liballprof;

}  // namespace collbench
