// Authentication of a job's workers: a shared secret (the token), and TLS.
//
// Workers that only this machine can reach need nothing; as soon as one address is beyond loopback,
// every worker needs the token. It is proved by a digest and never sent. TLS also encrypts and
// authenticates the data between workers.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace collbench {

/// TLS's certificates and key: the texts in PEM, not the names of files.
struct TlsTexts {
  std::string ca;           // certificate of the authority that signs the workers'
  std::string certificate;  // of this worker, with its chain
  std::string key;          // of the certificate
  /// The name in every worker's certificate; "": the host at which it is called.
  std::string name;
  /// Whether callers must present a certificate, too (mutual TLS).
  bool mutual = true;

  bool used() const { return !ca.empty() || !certificate.empty() || !key.empty(); }
};

struct JobSecurity {
  std::string token;  // "": none
  TlsTexts tls;
};

/// The least length of a token beyond loopback: a recorded proof allows guessing a shorter one.
constexpr std::size_t shortest_token = 16;

/// Throws InvalidArgument, with the remedy, if an address is beyond loopback (0.0.0.0 is) and the
/// token is missing or short, or if TLS lacks one of its three texts. Unknown addresses are empty.
void require_secure(const JobSecurity& security, std::span<const std::string> addresses);

/// What a proof is computed over: caller and listener, and a random number of each side.
struct Introduction {
  std::string_view part;  // the side that proves itself: "caller" or "listener"
  int from = 0;
  int to = 0;
  int ranks = 0;
  std::string_view caller_number;
  std::string_view listener_number;
};
std::string proof_of(std::string_view token, const Introduction& introduction);

}  // namespace collbench
