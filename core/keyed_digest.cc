#include "core/keyed_digest.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "core/error.h"

namespace collbench {

std::string keyed_digest(std::string_view key, std::string_view message) {
  std::array<unsigned char, 32> digest{};
  const auto* text = reinterpret_cast<const unsigned char*>(message.data());
  // Lengths of keys are int there; a token is a line of a file.
  require(key.size() <= 1 << 20, "the token of a job has at most 1 MiB");
  // A null key would mean "as before", so the empty one needs an address.
  const char* const secret = key.empty() ? "" : key.data();
  if (HMAC(EVP_sha256(), secret, static_cast<int>(key.size()), text, message.size(), digest.data(),
           nullptr) == nullptr) {
    throw Error("OpenSSL could not compute HMAC-SHA256");
  }
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_digits() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw Unavailable("OpenSSL has no random numbers");
  }
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

}  // namespace collbench
