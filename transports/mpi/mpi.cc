#include "transports/mpi/mpi.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include "core/error.h"
#include "transports/kernels/kernels.h"
#include "transports/mpi/mpi_choice.h"
#include "transports/mpi/mpi_session.h"
#include "transports/waiting.h"

namespace collbench {

namespace {

MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::f32:
      return MPI_FLOAT;
    case DataType::f64:
      return MPI_DOUBLE;
    case DataType::i32:
      return MPI_INT32_T;
    case DataType::i64:
      return MPI_INT64_T;
    case DataType::u8:
      return MPI_UINT8_T;
    case DataType::f16:
    case DataType::bf16:
      break;
  }
  throw Unavailable(fmt::format("MPI cannot reduce {}; it can reduce f32, f64, i32, i64 and u8",
                                to_string(type)));
}

MPI_Op mpi_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:  // scaled afterwards
      return MPI_SUM;
    case ReduceOp::prod:
      return MPI_PROD;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
  }
  throw Unavailable(fmt::format("MPI has no operator number {}", static_cast<int>(op)));
}

// Counts and places of shares are ints.
void require_count(std::int64_t count) {
  if (count <= std::numeric_limits<int>::max()) return;
  throw Unavailable(fmt::format("MPI counts elements in 31 bits: {} are too many", count));
}

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(MpiAlgorithm algorithm) : algorithm_(std::move(algorithm)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    choose_mpi_algorithm(algorithm_);
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup", rank_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~MpiCommunicator() override { MPI_Comm_free(&comm_); }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  Rank rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  Seconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }

  void all_reduce(Region in, Region out, ReduceOp op) override {
    require_alike(in, out);
    const MPI_Datatype type = mpi_type(out.type);
    const MPI_Op operation = mpi_op(op);
    choose_mpi_algorithm(algorithm_);
    in_pieces(out, [&](Region to, std::int64_t first, int count) {
      const void* from = in.data == out.data ? MPI_IN_PLACE : in.part(first, count).data;
      check_mpi(MPI_Allreduce(from, to.data, count, type, operation, comm_), "MPI_Allreduce",
                rank_);
    });
    if (op == ReduceOp::avg) divide(out, {op, ranks_});
  }

  void perform(const Collective& collective, Region in, Region out, ReduceOp op) override {
    if (collective.kind == CollectiveKind::all_reduce) return all_reduce(in, out, op);
    const Whole whole = whole_of(collective, in, out);
    require_count(whole.count);
    switch (collective.kind) {
      case CollectiveKind::all_reduce:
        return;
      case CollectiveKind::reduce_scatter:
        return reduce_scatter(collective, whole, in, out, op);
      case CollectiveKind::all_gather:
        return all_gather(collective, whole, in, out);
      case CollectiveKind::broadcast:
        // MPI has but one buffer for it.
        if (whole.vector == nullptr && rank_ == collective.root)
          collbench::copy(out.data, in.data, in.size().count);
        return broadcast(out, collective.root);
      case CollectiveKind::reduce:
        return reduce_to(collective.root, whole, in, out, op);
    }
  }

  void broadcast(Region region, Rank root) override {
    require_root(root);
    const Region bytes{region.data, region.size().count, DataType::u8};
    in_pieces(bytes, [&](Region piece, std::int64_t, int count) {
      check_mpi(MPI_Bcast(piece.data, count, MPI_BYTE, root, comm_), "MPI_Bcast", rank_);
    });
  }

  void barrier() override { check_mpi(MPI_Barrier(comm_), "MPI_Barrier", rank_); }

  std::string description() const override {
    const std::string played = last_played();
    return played.empty() ? mpi_library() : fmt::format("{}, {}", mpi_library(), played);
  }

 private:
  bool has_equal_shares(const Collective& collective, std::int64_t count) const {
    return collective.counts.empty() && count % ranks_ == 0;
  }

  // The shares of all ranks, an element being `width`; kept, since calls are timed.
  void cut(const Collective& collective, std::int64_t count, std::int64_t width) {
    if (cut_ == std::pair(count, width) && cut_counts_ == collective.counts) return;
    cut_ = {count, width};
    cut_counts_ = collective.counts;
    counts_.clear();
    places_.clear();
    for (Rank r = 0; r < ranks_; ++r) {
      const std::int64_t first = share_start(collective, r, ranks_, count);
      const std::int64_t end = share_start(collective, r + 1, ranks_, count);
      places_.push_back(static_cast<int>(first * width));
      counts_.push_back(static_cast<int>((end - first) * width));
    }
  }

  // In place MPI leaves a rank's share where the vector begins, and ours is at its place in it.
  void reduce_scatter(const Collective& collective, const Whole& whole, Region in, Region out,
                      ReduceOp op) {
    const MPI_Datatype type = mpi_type(in.type);
    const MPI_Op operation = mpi_op(op);
    const bool in_place = whole.vector != nullptr;
    void* to = in_place ? whole.vector : out.data;
    if (has_equal_shares(collective, whole.count)) {
      check_mpi(
          MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : in.data, to,
                                   static_cast<int>(whole.count / ranks_), type, operation, comm_),
          "MPI_Reduce_scatter_block", rank_);
    } else {
      cut(collective, whole.count, 1);
      // Not in place: MPICH 4.0.2 ends the job where a share overlaps the one before it by being
      // moved to the front.
      if (in_place) {
        kept_.resize(static_cast<std::size_t>(out.size().count));
        to = kept_.data();
      }
      check_mpi(MPI_Reduce_scatter(in_place ? whole.vector : in.data, to, counts_.data(), type,
                                   operation, comm_),
                "MPI_Reduce_scatter", rank_);
    }
    if (in_place && out.count > 0) {
      std::memmove(out.data, to, static_cast<std::size_t>(out.size().count));
    }
    if (op == ReduceOp::avg) divide(out, {op, ranks_});
  }

  void all_gather(const Collective& collective, const Whole& whole, Region in, Region out) {
    const bool in_place = whole.vector != nullptr;
    const void* const from = in_place ? MPI_IN_PLACE : in.data;
    require_count(out.size().count);
    const auto own = static_cast<int>(in.size().count);
    if (has_equal_shares(collective, whole.count)) {
      check_mpi(MPI_Allgather(from, own, MPI_BYTE, out.data, own, MPI_BYTE, comm_), "MPI_Allgather",
                rank_);
    } else {
      cut(collective, whole.count, size_of(in.type));
      check_mpi(MPI_Allgatherv(from, own, MPI_BYTE, out.data, counts_.data(), places_.data(),
                               MPI_BYTE, comm_),
                "MPI_Allgatherv", rank_);
    }
  }

  // MPICH 4.0.2 takes the mark of in place for an address, from 2 KiB on where the root is not rank
  // 0. So its root sends a copy.
  void reduce_to(Rank root, const Whole& whole, Region in, Region out, ReduceOp op) {
    const bool in_place = whole.vector != nullptr && rank_ == root;
    const void* from = in_place ? MPI_IN_PLACE : in.data;
    if (in_place && is_mpich_) {
      kept_.assign(out.data, out.data + out.size().count);
      from = kept_.data();
    }
    check_mpi(MPI_Reduce(from, out.data, static_cast<int>(whole.count), mpi_type(in.type),
                         mpi_op(op), root, comm_),
              "MPI_Reduce", rank_);
    if (op == ReduceOp::avg && rank_ == root) divide(out, {op, ranks_});
  }

  // MPI counts elements in an int, so a larger region goes in several calls.
  template <typename Call>
  static void in_pieces(Region region, Call call) {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    for (std::int64_t first = 0; first < region.count; first += most) {
      const std::int64_t count = std::min(most, region.count - first);
      call(region.part(first, count), first, static_cast<int>(count));
    }
  }

  MpiAlgorithm algorithm_;
  MPI_Comm comm_ = MPI_COMM_NULL;  // in which the library has the choice in mind
  Rank rank_ = 0;
  int ranks_ = 1;
  std::pair<std::int64_t, std::int64_t> cut_{-1, 0};  // what counts_ and places_ are made for
  std::vector<std::int64_t> cut_counts_;
  std::vector<int> counts_;
  std::vector<int> places_;
  std::vector<std::byte> kept_;  // what cannot be in place
  const bool is_mpich_ = mpi_library().starts_with("MPICH");
};

void add_parameter(std::vector<std::string>& command, std::string_view name,
                   std::string_view value) {
  command.insert(command.end(), {"--mca", std::string(name), std::string(value)});
}

}  // namespace

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string library(text, static_cast<std::size_t>(length));
  library.resize(std::min(library.size(), library.find_first_of(",\n")));
  std::replace(library.begin(), library.end(), '\t', ' ');
  return library;
}

std::vector<std::string> mpirun_command(int ranks) {
  require(ranks >= 1, fmt::format("mpi: ranks must be at least 1, not {}", ranks));
  for (const char* of_rank : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (std::getenv(of_rank) == nullptr) continue;
    throw Unavailable(
        fmt::format("mpi: this process was started by mpirun ({} is set) and cannot start it "
                    "again; ask that one for the ranks: mpirun -n {}",
                    of_rank, ranks));
  }
  std::vector<std::string> command{COLLBENCH_MPIEXEC, "-n", std::to_string(ranks)};
  if (!mpi_library().starts_with("Open MPI")) return command;

  command.insert(command.end(), {"--oversubscribe", "--bind-to", "none"});
  if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
  add_parameter(command, "mpi_yield_when_idle", ranks > usable_cores() ? "1" : "0");
  return command;
}

void require_mpi_elements(CollectiveKind kind, DataType type, Bytes vector) {
  mpi_type(type);
  if (kind == CollectiveKind::all_reduce) return;  // several calls
  require_count(kind == CollectiveKind::all_gather ? vector.count : vector.count / size_of(type));
}

std::unique_ptr<Communicator> make_mpi_communicator(const std::string& algorithm) {
  const MpiAlgorithm chosen = mpi_algorithm(algorithm);
  start_mpi_session();
  return std::make_unique<MpiCommunicator>(chosen);
}

}  // namespace collbench
