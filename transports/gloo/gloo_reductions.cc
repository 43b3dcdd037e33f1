#include "transports/gloo/gloo_reductions.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/context.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>

#include "algorithms/collective.h"
#include "core/error.h"
#include "core/suggest.h"
#include "transports/gloo/gloo.h"

namespace collbench {

namespace {

std::chrono::milliseconds in_milliseconds(Seconds time) {
  return std::chrono::ceil<std::chrono::milliseconds>(time);
}

// Calls visit(T{}) with Gloo's element type for `type`.
template <typename Visitor>
void with_element(DataType type, Visitor visit) {
  switch (type) {
    case DataType::f16:
      return visit(gloo::float16{});
    case DataType::f32:
      return visit(float{});
    case DataType::f64:
      return visit(double{});
    case DataType::i32:
      return visit(std::int32_t{});
    case DataType::i64:
      return visit(std::int64_t{});
    case DataType::u8:
      return visit(std::uint8_t{});
    case DataType::bf16:
      break;
  }
  throw Unavailable(fmt::format(
      "Gloo cannot reduce {}; it can reduce f16, f32, f64, i32, i64 and u8", to_string(type)));
}

/// An operator as both interfaces know it.
template <typename T>
struct GlooOperator {
  void (*present)(void*, const void*, const void*, std::size_t);
  const gloo::ReductionFunction<T>* older;
};

template <typename T>
GlooOperator<T> gloo_operator(ReduceOp op) {
  using Older = gloo::ReductionFunction<T>;
  switch (op) {
    case ReduceOp::sum:
      return {&gloo::sum<T>, Older::sum};
    case ReduceOp::prod:
      return {&gloo::product<T>, Older::product};
    case ReduceOp::min:
      return {&gloo::min<T>, Older::min};
    case ReduceOp::max:
      return {&gloo::max<T>, Older::max};
    case ReduceOp::avg:
      break;
  }
  throw Unavailable(fmt::format("Gloo has no {}; it has sum, prod, min and max", to_string(op)));
}

// The interface that takes buffers and options with each call.
class PresentAllReduce : public GlooReduction {
 public:
  using Algorithm = gloo::AllreduceOptions::Algorithm;

  PresentAllReduce(std::shared_ptr<gloo::Context> context, Algorithm algorithm, Seconds timeout)
      : context_(std::move(context)), algorithm_(algorithm), timeout_(in_milliseconds(timeout)) {}

  void run(Region in, Region out, ReduceOp op) override {
    with_element(out.type, [&]<typename T>(T) {
      gloo::AllreduceOptions options(context_);
      options.setAlgorithm(algorithm_);
      options.setTimeout(timeout_);
      const auto count = static_cast<std::size_t>(out.count);
      if (in.data != out.data) options.setInput(reinterpret_cast<T*>(in.data), count);
      options.setOutput(reinterpret_cast<T*>(out.data), count);
      options.setReduceFunction(gloo_operator<T>(op).present);
      gloo::allreduce(options);
    });
  }

 private:
  std::shared_ptr<gloo::Context> context_;
  Algorithm algorithm_;
  std::chrono::milliseconds timeout_;
};

// Makes an object of the older interface, bound to a buffer of `count` elements.
using OlderMaker = std::unique_ptr<gloo::Algorithm> (*)(
    const std::shared_ptr<gloo::Context>& context, std::byte* buffer, std::int64_t count,
    DataType type, ReduceOp op);

template <template <typename> typename Algorithm>
std::unique_ptr<gloo::Algorithm> make_older_all_reduce(
    const std::shared_ptr<gloo::Context>& context, std::byte* buffer, std::int64_t count,
    DataType type, ReduceOp op) {
  std::unique_ptr<gloo::Algorithm> made;
  with_element(type, [&]<typename T>(T) {
    made = std::make_unique<Algorithm<T>>(context, std::vector<T*>{reinterpret_cast<T*>(buffer)},
                                          static_cast<int>(count), gloo_operator<T>(op).older);
  });
  return made;
}

std::unique_ptr<gloo::Algorithm> make_older_reduce_scatter(
    const std::shared_ptr<gloo::Context>& context, std::byte* buffer, std::int64_t count,
    DataType type, ReduceOp op) {
  std::vector<int> shares;
  for (Rank r = 0; r < context->size; ++r) {
    shares.push_back(static_cast<int>(share_start(r + 1, context->size, count) -
                                      share_start(r, context->size, count)));
  }
  std::unique_ptr<gloo::Algorithm> made;
  with_element(type, [&]<typename T>(T) {
    made = std::make_unique<gloo::ReduceScatterHalvingDoubling<T>>(
        context, std::vector<T*>{reinterpret_cast<T*>(buffer)}, static_cast<int>(count), shares,
        gloo_operator<T>(op).older);
  });
  return made;
}

// The older interface. Its objects are bound to a buffer when made, and must be made by every rank
// at the same call. Whether a caller's address is a new one is not the same on every rank, so each
// object gets a buffer of its own, by count, type and operator alone, and the data are copied. The
// result begins where the buffer does.
class OlderReduction : public GlooReduction {
 public:
  OlderReduction(std::shared_ptr<gloo::Context> context, OlderMaker maker)
      : context_(std::move(context)), maker_(maker) {}

  void run(Region in, Region out, ReduceOp op) override {
    if (in.size().count > std::numeric_limits<int>::max())
      throw Unavailable(fmt::format(
          "Gloo's older algorithms count bytes in 31 bits: {} is too much; of all-reduces "
          "gloo:ring is a present one",
          to_string(in.size())));
    Bound& bound = find_or_make(in, op);
    std::memcpy(bound.buffer.get(), in.data, static_cast<std::size_t>(in.size().count));
    bound.algorithm->run();
    std::memcpy(out.data, bound.buffer.get(), static_cast<std::size_t>(out.size().count));
  }

 private:
  using Key = std::tuple<std::int64_t, DataType, ReduceOp>;
  struct Bound {
    std::unique_ptr<std::byte[]> buffer;  // outlives the algorithm, which holds its address
    std::unique_ptr<gloo::Algorithm> algorithm;
  };
  static constexpr std::int64_t most_held_bytes = std::int64_t{256} << 20;

  Bound& find_or_make(Region in, ReduceOp op) {
    const Key key{in.count, in.type, op};
    if (const auto found = bound_.find(key); found != bound_.end()) return found->second;
    if (held_bytes_ + in.size().count > most_held_bytes) forget_all();
    Bound made{std::make_unique<std::byte[]>(static_cast<std::size_t>(in.size().count)), nullptr};
    made.algorithm = maker_(context_, made.buffer.get(), in.count, in.type, op);
    held_bytes_ += in.size().count;
    return bound_.emplace(key, std::move(made)).first->second;
  }

  // Every rank comes here at the same call; the barrier lets the last notifications arrive.
  void forget_all() {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
    bound_.clear();
    held_bytes_ = 0;
  }

  std::shared_ptr<gloo::Context> context_;
  OlderMaker maker_;
  std::map<Key, Bound> bound_;
  std::int64_t held_bytes_ = 0;
};

}  // namespace

std::vector<std::string> gloo_algorithms() {
  return {"gloo", "gloo:ring", "gloo:bcube", "gloo:ring-chunked", "gloo:halving-doubling"};
}

void require_gloo_algorithm(const std::string& name) {
  const std::vector<std::string> names = gloo_algorithms();
  require(std::ranges::find(names, name) != names.end(),
          fmt::format("Gloo has no algorithm '{}'; it has {}.{}", name, fmt::join(names, ", "),
                      did_you_mean(name, names)));
}

std::unique_ptr<GlooReduction> make_gloo_all_reduce(const std::string& algorithm,
                                                    const std::shared_ptr<gloo::Context>& context,
                                                    Seconds timeout) {
  require_gloo_algorithm(algorithm);
  using Present = gloo::AllreduceOptions::Algorithm;
  if (algorithm == "gloo")
    return std::make_unique<PresentAllReduce>(context, Present::UNSPECIFIED, timeout);
  if (algorithm == "gloo:ring")
    return std::make_unique<PresentAllReduce>(context, Present::RING, timeout);
  if (algorithm == "gloo:bcube")
    return std::make_unique<PresentAllReduce>(context, Present::BCUBE, timeout);
  if (algorithm == "gloo:ring-chunked")
    return std::make_unique<OlderReduction>(context,
                                            make_older_all_reduce<gloo::AllreduceRingChunked>);
  return std::make_unique<OlderReduction>(context,
                                          make_older_all_reduce<gloo::AllreduceHalvingDoubling>);
}

std::unique_ptr<GlooReduction> make_gloo_reduce_scatter(
    const std::shared_ptr<gloo::Context>& context) {
  return std::make_unique<OlderReduction>(context, make_older_reduce_scatter);
}

void gloo_reduce_to(const std::shared_ptr<gloo::Context>& context, Seconds timeout, Rank root,
                    Region in, Region out, ReduceOp op) {
  with_element(in.type, [&]<typename T>(T) {
    gloo::ReduceOptions options(context);
    options.setTimeout(in_milliseconds(timeout));
    const auto count = static_cast<std::size_t>(in.count);
    if (in.data != out.data) options.setInput(reinterpret_cast<T*>(in.data), count);
    options.setOutput(reinterpret_cast<T*>(out.data), count);
    options.setRoot(root);
    options.setReduceFunction(gloo_operator<T>(op).present);
    gloo::reduce(options);
  });
}

void require_gloo_type(DataType type) {
  with_element(type, [](auto) {});
}

}  // namespace collbench
