#include "transports/gloo/gloo.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>

#include "core/error.h"
#include "transports/gloo/gloo_reductions.h"
#include "transports/kernels/kernels.h"

namespace collbench {

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr const char* network_interface = "lo";

// Says that this rank is here and waits for the others, so that those missing can be named.
void meet(Rank rank, int ranks, gloo::rendezvous::Store& store, Seconds timeout) {
  const auto key = [](Rank r) { return fmt::format("collbench-rank-{}", r); };
  const auto deadline = Clock::now() + std::chrono::ceil<Milliseconds>(timeout);
  store.set(key(rank), {'1'});
  std::vector<Rank> missing;
  for (Rank r = 0; r < ranks; ++r) {
    // Zero would mean for ever.
    const auto left = std::chrono::floor<Milliseconds>(deadline - Clock::now());
    try {
      store.wait({key(r)}, std::max(left, Milliseconds{1}));
    } catch (const std::exception&) {
      missing.push_back(r);
    }
  }
  if (!missing.empty())
    throw TransportError(fmt::format("Gloo: rank {} of {} waited {} but missed rank {}", rank,
                                     ranks, to_string(timeout), fmt::join(missing, ", ")));
}

std::shared_ptr<gloo::rendezvous::Context> connect(Rank rank, int ranks,
                                                   gloo::rendezvous::Store& store,
                                                   const GlooOptions& options) {
  gloo::transport::tcp::attr attributes;
  attributes.iface = network_interface;
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->setTimeout(std::chrono::ceil<Milliseconds>(options.timeout));
  context->connectFullMesh(store, device);
  return context;
}

class GlooCommunicator : public Communicator {
 public:
  GlooCommunicator(std::shared_ptr<gloo::rendezvous::Context> context, const GlooOptions& options)
      : context_(std::move(context)),
        options_(options),
        all_reduce_(make_gloo_all_reduce(options.algorithm, context_, options.timeout)),
        reduce_scatter_(make_gloo_reduce_scatter(context_)) {}

  Rank rank() const override { return context_->rank; }
  int ranks() const override { return context_->size; }
  Seconds now() const override { return Clock::now().time_since_epoch(); }

  void all_reduce(Region in, Region out, ReduceOp op) override {
    require_alike(in, out);
    if (out.count == 0) return;
    guard("all_reduce", [&] { all_reduce_->run(in, out, added(op)); });
    if (op == ReduceOp::avg) divide(out, {op, ranks()});
  }

  void perform(const Collective& collective, Region in, Region out, ReduceOp op) override {
    if (collective.kind == CollectiveKind::all_reduce) return all_reduce(in, out, op);
    const Whole whole = whole_of(collective, in, out);
    if (whole.count == 0) return;
    switch (collective.kind) {
      case CollectiveKind::all_reduce:
        return;
      case CollectiveKind::reduce_scatter:
        if (!collective.counts.empty()) {
          throw Unavailable(
              "Gloo's reduce-scatter is played with equal shares only; its "
              "all-gather takes counts");
        }
        guard("reduce_scatter", [&] { reduce_scatter_->run(in, out, added(op)); });
        if (op == ReduceOp::avg) divide(out, {op, ranks()});
        return;
      case CollectiveKind::all_gather:
        return guard("allgather", [&] { all_gather(collective, whole, in, out); });
      case CollectiveKind::broadcast:
        return broadcast_from(collective.root, whole.vector == nullptr ? in : out, out);
      case CollectiveKind::reduce:
        return reduce_to(collective.root, whole, in, out, op);
    }
  }

  void broadcast(Region region, Rank root) override {
    require_root(root);
    if (region.count == 0) return;
    broadcast_from(root, region, region);
  }

  void barrier() override {
    guard("barrier", [&] {
      gloo::BarrierOptions options(context_);
      gloo::barrier(options);
    });
  }

  std::string description() const override {
    return fmt::format("Gloo {}.{}.{}, {} over TCP ({})", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR,
                       GLOO_VERSION_PATCH,
                       options_.algorithm == "gloo" ? "its default" : options_.algorithm.substr(5),
                       network_interface);
  }

 private:
  static ReduceOp added(ReduceOp op) { return op == ReduceOp::avg ? ReduceOp::sum : op; }
  static std::size_t bytes_of(Region region) {
    return static_cast<std::size_t>(region.size().count);
  }

  // What is only copied, is copied as bytes, of whatever type.
  void broadcast_from(Rank root, Region in, Region out) {
    guard("broadcast", [&] {
      gloo::BroadcastOptions options(context_);
      if (rank() == root && in.data != out.data)
        options.setInput(reinterpret_cast<char*>(in.data), bytes_of(in));
      options.setOutput(reinterpret_cast<char*>(out.data), bytes_of(out));
      options.setRoot(root);
      gloo::broadcast(options);
    });
  }

  void all_gather(const Collective& collective, const Whole& whole, Region in, Region out) {
    char* const to = reinterpret_cast<char*>(out.data);
    const auto give = [&](auto& options) {
      if (whole.vector == nullptr) options.setInput(reinterpret_cast<char*>(in.data), bytes_of(in));
    };
    if (collective.counts.empty() && whole.count % ranks() == 0) {
      gloo::AllgatherOptions options(context_);
      give(options);
      options.setOutput(to, bytes_of(out));
      return gloo::allgather(options);
    }
    std::vector<std::size_t> shares;
    for (Rank r = 0; r < ranks(); ++r) {
      const Elements share = elements_before(collective, r, ranks(), whole.count);
      shares.push_back(static_cast<std::size_t>(share.count * size_of(out.type)));
    }
    gloo::AllgathervOptions options(context_);
    give(options);
    options.setOutput(to, std::move(shares));
    gloo::allgatherv(options);
  }

  // Gloo works in a whole vector on every rank: in place that is the vector itself.
  void reduce_to(Rank root, const Whole& whole, Region in, Region out, ReduceOp op) {
    Region sums{out.data, in.count, in.type};
    if (rank() != root) sums.data = whole.vector != nullptr ? whole.vector : room_for(in);
    guard("reduce", [&] { gloo_reduce_to(context_, options_.timeout, root, in, sums, added(op)); });
    if (op == ReduceOp::avg) divide(out, {op, ranks()});
  }
  std::byte* room_for(Region region) {
    room_.resize(std::max(room_.size(), bytes_of(region)));
    return room_.data();
  }

  // Turns whatever Gloo throws into a TransportError; collbench's own errors pass.
  template <typename Call>
  void guard(const char* what, Call call) {
    try {
      call();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw TransportError(fmt::format("Gloo: rank {} of {}: {} failed{}: {}", rank(), ranks(),
                                       what, lost_ranks(), error.what()));
    }
  }

  // Gloo's messages give a peer's port, not its rank. A pair whose connection broke refuses any
  // further request, so each is asked for one; a pair that answers is of no more use afterwards,
  // as is this communicator. A timeout breaks all pairs, which tells nothing.
  std::string lost_ranks() {
    std::vector<Rank> lost;
    for (Rank r = 0; r < ranks(); ++r) {
      if (r == rank()) continue;
      try {
        context_->getPair(r)->setSync(true, false);
      } catch (const std::exception&) {
        lost.push_back(r);
      }
    }
    const bool tells = !lost.empty() && static_cast<int>(lost.size()) < std::max(2, ranks() - 1);
    return tells ? fmt::format(" (lost rank {})", fmt::join(lost, ", ")) : "";
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
  GlooOptions options_;
  std::unique_ptr<GlooReduction> all_reduce_;
  std::unique_ptr<GlooReduction> reduce_scatter_;
  std::vector<std::byte> room_;
};

}  // namespace

std::shared_ptr<gloo::rendezvous::Store> make_gloo_memory_store() {
  return std::make_shared<gloo::rendezvous::HashStore>();
}

std::unique_ptr<Communicator> make_gloo_communicator(
    Rank rank, int ranks, const std::shared_ptr<gloo::rendezvous::Store>& store,
    const GlooOptions& options) {
  require(ranks >= 1 && rank >= 0 && rank < ranks,
          fmt::format("Gloo: rank {} of {} is out of range", rank, ranks));
  require(options.timeout > Seconds{0},
          fmt::format("Gloo: the timeout must be positive, not {}", to_string(options.timeout)));
  make_gloo_all_reduce(options.algorithm, nullptr, options.timeout);  // refuses an unknown name
  meet(rank, ranks, *store, options.timeout);
  try {
    auto context = connect(rank, ranks, *store, options);
    return std::make_unique<GlooCommunicator>(std::move(context), options);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw TransportError(
        fmt::format("Gloo: rank {} of {} cannot connect: {}", rank, ranks, error.what()));
  }
}

}  // namespace collbench
