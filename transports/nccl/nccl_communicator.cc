#include "transports/nccl/nccl_communicator.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "core/error.h"
#include "transports/cuda/driver.h"
#include "transports/nccl/nccl_types.h"

namespace collbench {
namespace {

constexpr std::chrono::seconds patience_with_aborted_work{1};
constexpr std::size_t most_graphs = 256;  // each holds memory of the device

// Memory blocks that a communicator has given to callers, which may outlive it.
struct Blocks {
  const CudaDriver& driver;
  NcclSession* session = nullptr;                // null once it is gone
  GpuStream stream = nullptr;                    // null once it is gone
  std::map<const std::byte*, void*> registered;  // block to NCCL's handle
  std::set<const std::byte*> known;              // starts of regions seen to be device memory
  std::uint64_t released = 0;                    // how many are gone
  bool stuck = false;                            // work of an aborted communicator did not end

  // Freeing memory blocks until the GPU is idle, which after a failure may never happen. Such
  // memory is leaked.
  bool may_free() {
    if (session == nullptr || session->usable() || stuck) return !stuck;
    const auto deadline = std::chrono::steady_clock::now() + patience_with_aborted_work;
    try {
      while (!driver.finished(stream)) {
        if (std::chrono::steady_clock::now() > deadline) stuck = true;
        if (stuck) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    } catch (const Error&) {
      stuck = true;  // a device that is lost has taken its memory along
    }
    return !stuck;
  }

  void note_release() {
    known.clear();
    ++released;
  }
};

class NcclBlackBox final : public Communicator {
 public:
  explicit NcclBlackBox(const NcclOptions& options)
      : driver_(CudaDriver::instance()),
        session_(options),
        call_(session_.library().call),
        settings_(session_.options().settings),
        blocks_(std::make_shared<Blocks>(Blocks{driver_, &session_, nullptr, {}, {}, 0, false})) {
    if (settings_.registered && !call_.register_buffer) {
      throw Unavailable(fmt::format("NCCL {} cannot register buffers; 2.19 and later can",
                                    session_.library().version));
    }
    blocks_->stream = stream_ = driver_.make_stream();
    token_ = allocate_plain({sizeof(std::int32_t)});
  }

  ~NcclBlackBox() override {
    blocks_->may_free();  // last chance to see whether the GPU is stuck
    for (const auto& [block, handle] : blocks_->registered) {
      if (session_.usable()) call_.deregister_buffer(session_.comm(), handle);
    }
    drop_graphs();
    token_.reset();
    blocks_->session = nullptr;
    driver_.destroy_stream(stream_);
  }

  Rank rank() const override { return session_.options().rank; }
  int ranks() const override { return session_.options().ranks; }
  Seconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }

  void all_reduce(Region in, Region out, ReduceOp op) override {
    require_alike(in, out);
    require_operator(op, in.type);
    driver_.use(session_.options().device);
    if (in.count > 0) {
      require_device_memory(in);
      require_device_memory(out);
      if (settings_.graph) {
        driver_.launch(graph_of(in, out, op), stream_);
      } else {
        give(in, out, op);
      }
    }
    finish("ncclAllReduce");
  }

  void broadcast(Region region, Rank root) override {
    require_root(root);
    driver_.use(session_.options().device);
    if (region.count == 0) return;
    require_device_memory(region);
    session_.call("ncclBroadcast", [&] {
      return call_.broadcast(region.data, region.data, static_cast<std::size_t>(region.count),
                             nccl_type(region.type), root, session_.comm(), stream_);
    });
    finish("ncclBroadcast");
  }

  void perform(const Collective& collective, Region in, Region out, ReduceOp op) override {
    if (collective.kind == CollectiveKind::all_reduce) return all_reduce(in, out, op);
    if (settings_.graph || settings_.parts > 1) {
      throw Unavailable("NCCL's graph and parts are for all-reduces only; leave them out");
    }
    if (adds(collective.kind)) require_operator(op, in.type);
    const Whole whole = whole_of(collective, in, out);
    driver_.use(session_.options().device);
    if (whole.count == 0) return;
    for (const Region& region : {in, out}) {
      if (region.count > 0) require_device_memory(region);
    }
    const std::string name = "NCCL's " + std::string(to_string(collective.kind));
    session_.call(name.c_str(), [&] { return give_other(collective, whole.count, in, out, op); });
    finish(name.c_str());
  }

  void barrier() override {
    driver_.use(session_.options().device);
    const Region token{token_.get(), 1, DataType::i32};
    give(token, token, ReduceOp::max);
    finish("ncclAllReduce of a barrier");
  }

  std::optional<Forecast> estimate(Region in, Region out, ReduceOp op) override {
    // NCCL runs a non-blocking group on another thread, which does not fill in the estimate.
    if (!call_.group_simulate_end || settings_.nonblocking || in.count == 0) {
      return std::nullopt;
    }
    require_operator(op, in.type);
    driver_.use(session_.options().device);
    NcclSimulation simulation;
    session_.call("ncclGroupSimulateEnd", [&] {
      return in_group([&] { return give_parts(in, out, op); },
                      [&] { return call_.group_simulate_end(&simulation); });
    });
    if (!(simulation.estimated_us > 0)) return std::nullopt;
    return Forecast{Seconds{static_cast<double>(simulation.estimated_us) * 1e-6},
                    "ncclGroupSimulateEnd"};
  }

  std::shared_ptr<std::byte> allocate(Bytes size) override {
    driver_.use(session_.options().device);
    if (!settings_.registered) return allocate_plain(size);
    void* memory = nullptr;
    session_.call("ncclMemAlloc",
                  [&] { return call_.mem_alloc(&memory, static_cast<std::size_t>(size.count)); });
    auto* const block = static_cast<std::byte*>(memory);
    std::shared_ptr<std::byte> held(
        block, [blocks = blocks_, release = call_.mem_free,
                deregister = call_.deregister_buffer](std::byte* start) {
          const auto found = blocks->registered.find(start);
          if (found != blocks->registered.end()) {
            if (blocks->session != nullptr && blocks->session->usable()) {
              deregister(blocks->session->comm(), found->second);
            }
            blocks->registered.erase(found);
          }
          blocks->note_release();
          if (blocks->may_free()) release(start);
        });
    register_block(block, size);
    return held;
  }

  std::string description() const override {
    std::string text = "NCCL " + session_.library().version;
    const std::string how = settings_.description();
    if (!how.empty()) text += ", " + how;
    if (!session_.options().remark.empty()) text += "; " + session_.options().remark;
    return text;
  }

 private:
  using Key = std::tuple<std::byte*, std::byte*, std::int64_t, DataType, ReduceOp>;

  std::shared_ptr<std::byte> allocate_plain(Bytes size) {
    return {driver_.allocate(size),
            [blocks = blocks_, device = session_.options().device](std::byte* memory) {
              blocks->note_release();
              if (!blocks->may_free()) return;
              try {
                blocks->driver.use(device);
                blocks->driver.free(memory);
              } catch (const Error&) {
                // A device that is lost has taken its memory along.
              }
            }};
  }

  void register_block(std::byte* block, Bytes size) {
    void* handle = nullptr;
    session_.call("ncclCommRegister", [&] {
      return call_.register_buffer(session_.comm(), block, static_cast<std::size_t>(size.count),
                                   &handle);
    });
    blocks_->registered.emplace(block, handle);
  }

  // A pointer of the host would end the process's use of the GPU. Asked once for each buffer.
  void require_device_memory(Region region) {
    if (blocks_->known.contains(region.data)) return;
    require(driver_.is_device_memory(region.data),
            "NCCL reduces GPU memory, which this buffer is not");
    blocks_->known.insert(region.data);
  }

  // Before anything begins: a group or capture left open takes up all later calls of this thread.
  void require_operator(ReduceOp op, DataType type) const {
    nccl_type(type);
    nccl_op(op, type, ranks());
  }

  template <typename Give, typename End>
  int in_group(Give give, End end) {
    int result = call_.group_start();
    if (result == nccl_success) result = give();
    const int ended = end();
    return result == nccl_success ? ended : result;
  }

  int give_parts(Region in, Region out, ReduceOp op) {
    const int type = nccl_type(in.type);
    const int operation = nccl_op(op, in.type, ranks());
    const std::int64_t parts = std::min<std::int64_t>(settings_.parts, in.count);
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = in.count * part / parts;
      const std::int64_t count = in.count * (part + 1) / parts - first;
      const int result = call_.all_reduce(in.part(first, count).data, out.part(first, count).data,
                                          static_cast<std::size_t>(count), type, operation,
                                          session_.comm(), stream_);
      if (result != nccl_success && result != nccl_in_progress) return result;
    }
    return nccl_success;
  }

  void give(Region in, Region out, ReduceOp op) {
    session_.call("ncclAllReduce", [&] {
      if (settings_.parts <= 1) {
        return call_.all_reduce(in.data, out.data, static_cast<std::size_t>(in.count),
                                nccl_type(in.type), nccl_op(op, in.type, ranks()), session_.comm(),
                                stream_);
      }
      return in_group([&] { return give_parts(in, out, op); }, call_.group_end);
    });
  }

  int give_other(const Collective& collective, std::int64_t count, Region in, Region out,
                 ReduceOp op) {
    const bool equal = count % ranks() == 0;
    switch (collective.kind) {
      case CollectiveKind::all_reduce:
        break;
      case CollectiveKind::reduce_scatter:
        if (!equal) return give_shares([&](Rank root) { return reduce_share(root, in, out, op); });
        return call_.reduce_scatter(in.data, out.data, static_cast<std::size_t>(out.count),
                                    nccl_type(in.type), nccl_op(op, in.type, ranks()),
                                    session_.comm(), stream_);
      case CollectiveKind::all_gather:
        if (!equal) return give_shares([&](Rank root) { return copy_share(root, in, out); });
        return call_.all_gather(in.data, out.data, static_cast<std::size_t>(in.count),
                                nccl_type(in.type), session_.comm(), stream_);
      case CollectiveKind::broadcast:
        return copy_from(collective.root, in, out);
      case CollectiveKind::reduce:
        return reduce_to(collective.root, in, out, op);
    }
    return nccl_success;
  }

  // NCCL has shares of one size only, so that others are as many calls in one group.
  template <typename Give>
  int give_shares(Give give) {
    const auto give_all = [&] {
      int result = nccl_success;
      for (Rank root = 0; root < ranks() && result == nccl_success; ++root) {
        const int given = give(root);
        if (given != nccl_in_progress) result = given;
      }
      return result;
    };
    return in_group(give_all, call_.group_end);
  }
  Region share_in(Region vector, Rank of) const {
    const std::int64_t first = share_start(of, ranks(), vector.count);
    return vector.part(first, share_start(of + 1, ranks(), vector.count) - first);
  }
  int reduce_share(Rank root, Region in, Region out, ReduceOp op) {
    const Region share = share_in(in, root);
    return share.count == 0 ? nccl_success : reduce_to(root, share, out, op);
  }
  int copy_share(Rank root, Region in, Region out) {
    const Region share = share_in(out, root);
    return share.count == 0 ? nccl_success : copy_from(root, in, share);
  }
  // Only the root's `out` is written, and only its `in` is read.
  int reduce_to(Rank root, Region in, Region out, ReduceOp op) {
    std::byte* const to = rank() == root ? out.data : in.data;
    return call_.reduce(in.data, to, static_cast<std::size_t>(in.count), nccl_type(in.type),
                        nccl_op(op, in.type, ranks()), root, session_.comm(), stream_);
  }
  int copy_from(Rank root, Region in, Region out) {
    const std::byte* const from = rank() == root ? in.data : out.data;
    return call_.broadcast(from, out.data, static_cast<std::size_t>(out.count), nccl_type(out.type),
                           root, session_.comm(), stream_);
  }

  void drop_graphs() {
    for (const auto& [key, graph] : graphs_) driver_.destroy_graph(graph);
    graphs_.clear();
  }

  // A graph holds addresses, which may stand for other memory once a block is gone.
  GpuGraph graph_of(Region in, Region out, ReduceOp op) {
    const Key key{in.data, out.data, in.count, in.type, op};
    const bool is_full = graphs_.size() >= most_graphs && !graphs_.contains(key);
    if (is_full || graphs_made_after_ != blocks_->released) drop_graphs();
    graphs_made_after_ = blocks_->released;
    const auto [found, is_new] = graphs_.try_emplace(key);
    if (is_new) {
      try {
        driver_.begin_capture(stream_);
        give(in, out, op);
        found->second = driver_.end_capture(stream_);
      } catch (...) {
        graphs_.erase(found);
        throw;
      }
    }
    return found->second;
  }

  void finish(const char* name) {
    session_.wait(name, [this] { return driver_.finished(stream_); });
  }

  const CudaDriver& driver_;
  NcclSession session_;
  const NcclFunctions& call_;
  const NcclSettings& settings_;
  std::shared_ptr<Blocks> blocks_;
  GpuStream stream_ = nullptr;
  std::shared_ptr<std::byte> token_;
  std::map<Key, GpuGraph> graphs_;
  std::uint64_t graphs_made_after_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(const NcclOptions& options) {
  require(options.ranks >= 1 && options.rank >= 0 && options.rank < options.ranks,
          fmt::format("NCCL: rank {} of {} is out of range", options.rank, options.ranks));
  return std::make_unique<NcclBlackBox>(options);
}

}  // namespace collbench
