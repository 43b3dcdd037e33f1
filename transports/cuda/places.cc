#include "transports/cuda/places.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

int parse_cuda_device(std::string_view name, int count) {
  const std::optional<int> device = cuda_device_number(name);
  if (device && *device < count) return *device;
  throw Unavailable(fmt::format("there is no device '{}'; this process sees {}", name,
                                count == 1 ? "gpu:0" : fmt::format("gpu:0 to gpu:{}", count - 1)));
}

}  // namespace

std::optional<int> cuda_device_number(std::string_view name) {
  if (name.starts_with("gpu:")) name.remove_prefix(4);
  return small_integer_in(name);
}

std::vector<int> parse_cuda_devices(const std::string& text, int count) {
  std::vector<int> devices;
  if (text.empty()) {
    devices.resize(static_cast<std::size_t>(count));
    std::iota(devices.begin(), devices.end(), 0);
    return devices;
  }
  for (const std::string& name : split_at(text, ',')) {
    const int device = parse_cuda_device(name, count);
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) {
      throw Unavailable(
          fmt::format("device gpu:{} is named twice in '{}'; several workers share "
                      "one when there are more workers than devices",
                      device, text));
    }
    devices.push_back(device);
  }
  return devices;
}

std::vector<int> place_on_cuda(const std::vector<int>& devices, int ranks) {
  const auto used = std::min<std::int64_t>(static_cast<std::int64_t>(devices.size()), ranks);
  std::vector<int> places;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    places.push_back(devices[static_cast<std::size_t>(rank * used / ranks)]);
  }
  return places;
}

}  // namespace collbench
