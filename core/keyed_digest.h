// HMAC-SHA256 by OpenSSL: how a caller proves that it knows a secret without sending it.
//
// Workers of one job share a token. It never travels; what travels is its digest together with
// random numbers of both sides, which proves nothing on another connection.
// Source: RFC 2104; the tests hold the vectors of RFC 4231.
#pragma once

#include <string>
#include <string_view>

namespace collbench {

/// The digest of `message` under `key`, as 64 hexadecimal digits.
std::string keyed_digest(std::string_view key, std::string_view message);

/// Whether both are equal, in a time that depends on their lengths only: a wrong guess cannot be
/// improved digit by digit by watching the clock.
bool same_secret(std::string_view a, std::string_view b);

/// 128 random bits as 32 hexadecimal digits, from OpenSSL. Throws Unavailable if it has none.
std::string random_digits();

}  // namespace collbench
