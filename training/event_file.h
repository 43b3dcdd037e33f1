// TensorBoard's event files: scalars over steps.
//
// A file is a series of TFRecords (length, its checksum, data, its checksum), each an Event in
// protocol-buffer encoding; the first says "brain.Event:2".
// Source: tensorboard/compat/proto/event.proto and summary.proto; tensorflow/core/lib/io,
// record_writer.h.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace collbench {

struct Scalar {
  std::string tag;  // "train/loss"
  double value = 0;
};

/// Thread safety: one thread.
class EventFile {
 public:
  /// Makes FOLDER/events.out.tfevents.SECONDS.HOST.PROCESS. Throws Unavailable if it cannot.
  explicit EventFile(const std::string& folder);

  const std::string& path() const { return path_; }
  /// Appends one event and hands it to the system. Throws Unavailable if it cannot.
  void add(std::int64_t step, const std::vector<Scalar>& scalars);

 private:
  void append(std::string_view event);

  std::string path_;
  std::ofstream file_;
};

}  // namespace collbench
