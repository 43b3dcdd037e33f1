#include "transports/mpi/mpi_session.h"

#include <cstddef>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>

#include "core/error.h"
#include "transports/library_sessions.h"

namespace collbench {
namespace {

bool has_started = false;
bool has_failed = false;

constexpr int most_words = 1000;

// Words of failed ranks, on a communicator of their own.
class Alarm {
 public:
  void join() {
    if (comm_ != MPI_COMM_NULL) return;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup", rank_);
    check_mpi(MPI_Irecv(heard_, most_words, MPI_CHAR, MPI_ANY_SOURCE, 0, comm_, &hearing_),
              "MPI_Irecv", rank_);
  }

  std::string heard() {
    if (hearing_ == MPI_REQUEST_NULL) return heard_;
    int is_complete = 0;
    MPI_Test(&hearing_, &is_complete, MPI_STATUS_IGNORE);
    return is_complete != 0 ? heard_ : "";
  }

  // Small messages leave at once; who does not take his is the one that is lost.
  void tell(const std::string& why) {
    if (comm_ == MPI_COMM_NULL) return;
    const std::size_t length = why.copy(told_, most_words - 1);
    told_[length] = '\0';
    int ranks = 0;
    MPI_Comm_size(comm_, &ranks);
    for (Rank rank = 0; rank < ranks; ++rank) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (rank == rank_) continue;
      MPI_Isend(told_, static_cast<int>(length) + 1, MPI_CHAR, rank, 0, comm_, &request);
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    for (int tries = 0; tries < 1000; ++tries) {
      int is_there = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_, &is_there, MPI_STATUS_IGNORE);
    }
  }

  void leave() {
    if (hearing_ != MPI_REQUEST_NULL) {
      MPI_Cancel(&hearing_);
      MPI_Request_free(&hearing_);
    }
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }

 private:
  Rank rank_ = 0;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Request hearing_ = MPI_REQUEST_NULL;
  char heard_[most_words] = {};
  char told_[most_words] = {};
};

Alarm alarm_of_ranks;

void initialize_mpi() {
  // Without it Open MPI, which looks but now, takes no choice of its algorithms (mpi_choice.h).
  setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
    throw TransportError("MPI cannot start here");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  end_before_exit(end_mpi_session);
}

}  // namespace

void start_mpi_session() {
  if (has_started) return;
  initialize_mpi();
  has_started = true;
}

void end_mpi_session() {
  static bool has_ended = false;
  if (!has_started || std::exchange(has_ended, true) || has_failed) return;
  alarm_of_ranks.leave();
  MPI_Finalize();
}

void hear_mpi_failures() { alarm_of_ranks.join(); }

std::string heard_mpi_failure() {
  std::string why = alarm_of_ranks.heard();
  has_failed = has_failed || !why.empty();
  return why;
}

void fail_mpi_session(const std::string& why) {
  if (!std::exchange(has_failed, true)) alarm_of_ranks.tell(why);
}

void check_mpi(int code, std::string_view call, Rank rank) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw TransportError(fmt::format("MPI: rank {}: {} failed: {}", rank, call,
                                   std::string_view(text, static_cast<std::size_t>(length))));
}

}  // namespace collbench
