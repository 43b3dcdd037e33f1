// Proof of knowledge of a secret without revealing it: HMAC-SHA256.
//
// Workers of one job share a token. It is never sent; they send digests of it with random numbers
// of both sides, which are useless on another connection. Sources: FIPS 180-4 (SHA-256), RFC 2104
// (HMAC); the tests hold vectors of FIPS 180-2 and RFC 4231.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace collbench {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(std::string_view message);

/// The digest of `message` that only holders of `key` can compute, as 64 hexadecimal digits.
std::string keyed_digest(std::string_view key, std::string_view message);

/// Whether both are equal, in a time that depends on their lengths only: a wrong guess cannot be
/// improved digit by digit by watching the clock.
bool same_secret(std::string_view a, std::string_view b);

/// 128 random bits as 32 hexadecimal digits, from the system. Throws Unavailable if it has none.
std::string random_digits();

}  // namespace collbench
