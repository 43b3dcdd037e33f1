// CRC-32C (Castagnoli), the checksum of TFRecord files.
#pragma once

#include <cstdint>
#include <string_view>

namespace collbench {

/// Reflected polynomial 0x82F63B78, all bits inverted before and after: "123456789" gives
/// 0xE3069283.
std::uint32_t crc32c(std::string_view bytes);

/// As TFRecord stores it: rotated by 15 bits and shifted by a constant.
/// Source: tensorflow/core/lib/hash/crc32c.h.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace collbench
