// The engine of plain loops: any model of the table, in f32 or, as the oracle, in f64.
#include <fmt/format.h>

#include "core/error.h"
#include "training/engines/engine.h"
#include "training/engines/plain_layers.h"

namespace collbench {

std::unique_ptr<Network> make_plain_network(const Model& model, std::int64_t samples,
                                            DataType type) {
  if (type == DataType::f32) {
    return make_layered_network<float>(model, samples, false, make_plain_layer<float>);
  }
  if (type == DataType::f64) {
    return make_layered_network<double>(model, samples, false, make_plain_layer<double>);
  }
  throw Unavailable(fmt::format("engine plain computes in f32 or f64, not {}", to_string(type)));
}

}  // namespace collbench
