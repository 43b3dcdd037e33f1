// Which GPU each rank is on: names of devices, and several ranks as logical devices of one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace collbench {

/// The number in "gpu:2" or "2"; nothing for what names no device anywhere.
std::optional<int> cuda_device_number(std::string_view name);

/// The devices that `text` names, as CUDA numbers them: "gpu:0,gpu:2" or "0,2"; empty names all of
/// `count`. Throws Unavailable, saying which there are, for a name that is none of them or that
/// comes twice.
std::vector<int> parse_cuda_devices(const std::string& text, int count);

/// The device of each rank: neighbouring ranks share one where there are more ranks than devices,
/// as TensorFlow's logical devices do; devices beyond the ranks stay idle.
std::vector<int> place_on_cuda(const std::vector<int>& devices, int ranks);

}  // namespace collbench
