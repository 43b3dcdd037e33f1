// The profile of Open MPI's monitoring of one rank: how often and how much it sent to each peer in
// collectives. An all-reduce is booked as its whole vector to every other rank, whatever the
// algorithm really sends, and there are no times.
#include <algorithm>
#include <set>

#include "bench/logs/log_readers.h"
#include "core/parse.h"

namespace collbench {
namespace {

struct BookedMessages {
  std::set<std::int64_t> bytes, messages;
  int peers = 0;
  int rank = 0;
};

}  // namespace

void read_ompi_monitoring(std::string_view text, const std::string& file, JobLog& job) {
  job.of_processors = true;
  BookedMessages booked;
  for (const std::string& line : split_at(text, '\n')) {
    const std::vector<std::string_view> words = split_at_blanks(line);
    // C source peer N bytes M msgs sent
    if (words.size() < 7 || words[0] != "C") continue;
    const auto rank = small_integer_in(words[1], 0, 1 << 20);
    const auto bytes = integer_in(words[3]);
    const auto messages = integer_in(words[5], 1, most_logged_calls);
    if (!rank || !bytes || !messages) {
      ++job.left_out["lines of Open MPI's monitoring that are cut short"];
      continue;
    }
    booked.rank = *rank;
    booked.bytes.insert(*bytes);
    booked.messages.insert(*messages);
    ++booked.peers;
  }
  if (booked.bytes.size() != 1 || booked.messages.size() != 1) {
    job.note_once(file +
                  ": peers differ in what was booked, so that other collectives than "
                  "all-reduces are among them: they cannot be told apart");
    return;
  }
  LogRecord record;
  record.communicator = job.communicator("MPI_COMM_WORLD", "MPI_COMM_WORLD", booked.peers + 1);
  record.rank = std::min(booked.rank, booked.peers);
  record.process = job.process(file);
  record.kind = LoggedKind::all_reduce;
  record.count = *booked.messages.begin();
  record.bytes = *booked.bytes.begin() / record.count;
  job.records.push_back(record);
  job.note_once(
      "Open MPI's monitoring books the vector to every peer, with no times; as all peers "
      "have the same, they are taken for all-reduces of one size");
}

}  // namespace collbench
