#include "transports/gloo/gloo.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>

#include "core/error.h"
#include "transports/gloo/gloo_all_reduce.h"
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
        all_reduce_(make_gloo_all_reduce(options.algorithm, context_, options.timeout)) {}

  Rank rank() const override { return context_->rank; }
  int ranks() const override { return context_->size; }
  Seconds now() const override { return Clock::now().time_since_epoch(); }

  void all_reduce(Region in, Region out, ReduceOp op) override {
    require_alike(in, out);
    if (out.count == 0) return;
    guard("all_reduce",
          [&] { all_reduce_->run(in, out, op == ReduceOp::avg ? ReduceOp::sum : op); });
    if (op == ReduceOp::avg) {
      const std::byte* const source = out.data;
      std::byte* const destination = out.data;
      reduce(out.type, {ReduceOp::avg, ranks()}, {&source, 1}, {&destination, 1}, out.count);
    }
  }

  void broadcast(Region region, Rank root) override {
    require_root(root);
    if (region.count == 0) return;
    guard("broadcast", [&] {
      gloo::BroadcastOptions options(context_);
      options.setOutput(region.data, static_cast<std::size_t>(region.size().count));
      options.setRoot(root);
      gloo::broadcast(options);
    });
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
  std::unique_ptr<GlooAllReduce> all_reduce_;
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
