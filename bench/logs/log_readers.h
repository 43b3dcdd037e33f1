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

struct LogReader {
  std::string_view name;
  /// Of the first 64 KiB of a text; of all of it where it may stand in what programs print.
  bool (*recognises)(std::string_view head);
  /// `file` leads messages; a rank in its name counts only where the content does not say it.
  void (*read)(std::string_view text, const std::string& file, JobLog& job);
  bool of_output = false;  // messages among others: one text may have those of several
};

/// In the order in which they are asked.
std::span<const LogReader> log_readers();

/// Reads one text. Throws InvalidArgument if no reader knows it or can use any of it.
void read_log(std::string_view text, const std::string& file, JobLog& job);

/// The number behind "rank" in the name of a file, without its folder ("rank_3.20261124.json" is of
/// rank 3), else its last number if that is below 4096: others are processes and dates. -1 if there
/// is none.
int rank_in_name(const std::string& file);
/// The same; where the name says none, the least rank that no process of the job has, with a note.
int rank_of_file(const std::string& file, JobLog& job);

/// Bytes of one element of a type by any of the names that logs use ("ncclFloat32", "BFloat16",
/// "float"); 0 if it is not known.
int element_bytes_of(std::string_view type);

/// Whether the first messages are those of a Chakra trace, which has no magic number.
bool is_chakra(std::string_view head);

/// Whether PyTorch's watchdog or torchrun says in it why a job has ended.
bool has_watchdog(std::string_view output);
/// Whether Horovod warns in it of ranks that others wait for.
bool has_horovod_stall(std::string_view output);

// One file each.
void read_inspector(std::string_view text, const std::string& file, JobLog& job);
void read_inspector_prometheus(std::string_view text, const std::string& file, JobLog& job);
void read_nccl_profiler(std::string_view text, const std::string& file, JobLog& job);
void read_nccl_debug(std::string_view text, const std::string& file, JobLog& job);
void read_nccl_ras_text(std::string_view text, const std::string& file, JobLog& job);
void read_nccl_ras(std::string_view text, const std::string& file, JobLog& job);
void read_flight_recorder_json(std::string_view text, const std::string& file, JobLog& job);
void read_flight_recorder_pickle(std::string_view text, const std::string& file, JobLog& job);
void read_kineto(std::string_view text, const std::string& file, JobLog& job);
void read_chakra(std::string_view text, const std::string& file, JobLog& job);
void read_chakra_json(std::string_view text, const std::string& file, JobLog& job);
void read_goal_text(std::string_view text, const std::string& file, JobLog& job);
void read_goal_binary(std::string_view text, const std::string& file, JobLog& job);
void read_horovod(std::string_view text, const std::string& file, JobLog& job);
void read_mpip(std::string_view text, const std::string& file, JobLog& job);
void read_ompi_monitoring(std::string_view text, const std::string& file, JobLog& job);
void read_pytorch_watchdog(std::string_view text, const std::string& file, JobLog& job);
void read_horovod_stall(std::string_view text, const std::string& file, JobLog& job);
void read_own_records(std::string_view text, const std::string& file, JobLog& job);
void read_mpi_profile(std::string_view text, const std::string& file, JobLog& job);
void read_liballprof(std::string_view text, const std::string& file, JobLog& job);

}  // namespace collbench
