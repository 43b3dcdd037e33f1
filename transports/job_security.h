// What keeps strangers out of a job: a secret that all its workers share, and TLS.
//
// The rule: workers that only this machine can reach need nothing; as soon as one address is beyond
// loopback, every worker must bring the token. It is proved by a digest and never travels; TLS also
// hides and protects what the workers send each other.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace collbench {

/// TLS's certificates and key: the texts in PEM, not the names of files.
struct TlsTexts {
  std::string ca;           // who signs the workers' certificates
  std::string certificate;  // of this worker, with its chain
  std::string key;          // of the certificate
  /// The name that every worker's certificate bears; "": the host at which it is called.
  std::string name;
  /// Whether a worker that calls must show a certificate too (mutual TLS).
  bool mutual = true;

  bool used() const { return !ca.empty() || !certificate.empty() || !key.empty(); }
};

struct JobSecurity {
  std::string token;  // "": none
  TlsTexts tls;
};

/// A token beyond loopback is at least this long: who records a proof could try shorter ones.
constexpr std::size_t shortest_token = 16;

/// Throws InvalidArgument saying what to do if an address is beyond loopback (0.0.0.0 is) and the
/// token is missing or short, or if TLS lacks one of its three texts. Addresses that are not known
/// yet are empty.
void require_secure(const JobSecurity& security, std::span<const std::string> addresses);

/// What the one side shows the other so that both know the token: a digest over who calls whom, and
/// a random number of each side.
struct Introduction {
  std::string_view part;  // of whom this is the proof: "caller" or "listener"
  int from = 0;
  int to = 0;
  int ranks = 0;
  std::string_view caller_number;
  std::string_view listener_number;
};
std::string proof_of(std::string_view token, const Introduction& introduction);

}  // namespace collbench
