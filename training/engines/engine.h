// A compute engine runs a model's forward and backward passes and its optimizer on some device.
//
// The training loop sees a Network and an Optimizer only: where their memory lies and how it is
// laid out is up to the engine, as long as parameters and gradients are one flat region each, in
// the order of tensors_of(), that the Communicator reaches. A new engine (oneDNN, cuDNN) is its
// file and one row in engine.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/data_type.h"
#include "core/units.h"
#include "training/model.h"
#include "training/optimizer.h"
#include "transports/communicator.h"
#include "transports/endpoint.h"
#include "transports/memory.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {

/// Samples one after the other, and the class of each.
struct Batch {
  std::span<const float> images;
  std::span<const int> labels;
};

/// Sums over a batch, so that those of replicas can be added.
struct Score {
  double loss = 0;  // softmax cross-entropy, natural logarithm
  std::int64_t correct = 0;
};

/// Of losses that are at least 0; where training has diverged, a NaN without a sign.
inline double mean_loss(double sum, std::int64_t samples) {
  return std::abs(sum / static_cast<double>(samples));
}

/// Called during backward(): the first `end` elements of gradients() are final.
using GradientsReady = std::function<void(std::int64_t end)>;

/// Called during forward() and backward(): a layer is about to use parameters first..end-1.
using ParametersNeeded = std::function<void(std::int64_t first, std::int64_t end)>;

/// One replica of a model. Thread safety: one thread; gradients that were reported ready may be
/// read and written by another one while backward() goes on.
class Network {
 public:
  virtual ~Network() = default;
  virtual Region parameters() = 0;
  virtual Region gradients() = 0;

  /// Requires labels below the model's classes, and no more samples than the network was made for.
  virtual Score forward(const Batch& batch) = 0;
  /// The scores of inference, with the moving statistics; no backward() may follow.
  virtual Score evaluate(const Batch& batch) { return forward(batch); }
  /// Gradients of `scale` times the summed loss of the last forward(); overwrites the former ones.
  virtual void backward(double scale, const GradientsReady& ready) = 0;

  /// The moving statistics of statistics_of(), which forward() moves; empty without any. They are
  /// this replica's own: the loop averages them over the replicas before it reads them.
  virtual Region statistics() { return {}; }
  /// Sets all gradients to 0, in place of a backward pass over no samples.
  virtual void clear_gradients() {
    const Region all = gradients();
    std::fill_n(all.data, all.size().count, std::byte{0});
  }

  /// Announces from now on which parameters are needed, layer by layer, so that the others need not
  /// be there. For engines whose networks lie in the host's memory; does nothing on others.
  virtual void announce_parameters(ParametersNeeded /*needed*/) {}

  /// What a vector of the network takes of the memory that it lies in.
  virtual Bytes memory_of(Region vector) const {
    return resident_bytes(vector.data, vector.size());
  }

  virtual void set_parameters(std::span<const double> values) = 0;
  virtual std::vector<double> copy_of_parameters() const = 0;
  /// A hash of the bits of parameters first..first+count-1: unequal for unequal bits, but for
  /// accidents of about 1 in 2^64.
  virtual std::uint64_t fingerprint(std::int64_t first, std::int64_t count) const = 0;
};

/// What joins the replicas of an engine whose memory is not the host's, each a thread.
struct EngineWorld {
  std::function<void(Rank)> enter;  // called first, on the thread of each rank
  /// Then, there too and by all at once: what joins the networks. `host` joins the same ranks, for
  /// memory of the host.
  std::function<std::unique_ptr<Communicator>(Rank, std::unique_ptr<Communicator> host)> join;
  std::function<void(const std::string& why)> abort;  // ends the waiting of all
};

struct ComputeEngine {
  std::string_view name;
  std::string_view summary;
  bool (*computes_in)(DataType type);
  /// For batches of up to `samples`. Throws Unavailable for a type that it cannot compute in.
  std::unique_ptr<Network> (*make_network)(const Model& model, std::int64_t samples, DataType type);
  /// Throws as make_host_optimizer() does.
  std::unique_ptr<Optimizer> (*make_optimizer)(const OptimizerSpec& spec, std::int64_t count,
                                               DataType type);
  /// Null where networks lie in the host's memory, and any communicator will do. Gradients are
  /// summed by `schedule`, of that name; where the name is that of a black box, "nccl" with its
  /// options, by that. A replica that is silent for `timeout` is lost.
  EngineWorld (*make_world)(int replicas, const ScheduleChoice& schedule, const std::string& name,
                            Seconds timeout) = nullptr;
  /// Why it cannot compute here; empty if it can. Null where it always can. Finding out may load
  /// its library.
  std::string (*why_unusable)() = nullptr;
};

/// The engines of this build, the fastest first.
std::span<const ComputeEngine> engines();
/// What `doctor` says of an engine, of this build or not.
struct EngineState {
  std::string name;
  std::string summary;   // empty if this build lacks it
  std::string unusable;  // why; empty if it can compute here
};
std::vector<EngineState> engine_states();
/// The engine of that name, or for "auto" the first that computes in `type` and can do so here.
/// Throws InvalidArgument
/// with a suggestion for an unknown name.
const ComputeEngine& find_engine(const std::string& name, DataType type = DataType::f32);

/// Plain loops; in f64 the oracle of other engines.
std::unique_ptr<Network> make_plain_network(const Model& model, std::int64_t samples,
                                            DataType type);
/// The row of oneDNN; none where it was not built in.
std::span<const ComputeEngine> onednn_rows();
/// The row of cuDNN, likewise.
std::span<const ComputeEngine> cudnn_rows();

}  // namespace collbench
