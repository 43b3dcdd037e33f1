#include "transports/job_security.h"

#include "core/error.h"
#include "core/host_port.h"
#include "core/keyed_digest.h"

namespace collbench {

namespace {

// The host of HOST:PORT, without brackets; what has no port is taken for a host.
std::string_view host_in(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  std::string_view host = colon == std::string_view::npos ? address : address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

void require_complete(const TlsTexts& tls) {
  if (!tls.used()) return;
  const auto need = [](const std::string& text, const char* what) {
    require(!text.empty(), std::string("TLS needs a certificate authority, a certificate and its "
                                       "key (--tls-ca, --tls-cert, --tls-key); there is no ") +
                               what);
  };
  need(tls.ca, "certificate authority");
  need(tls.certificate, "certificate");
  need(tls.key, "key");
}

}  // namespace

void require_secure(const JobSecurity& security, std::span<const std::string> addresses) {
  require_complete(security.tls);
  if (security.token.size() >= shortest_token) return;
  for (const std::string& address : addresses) {
    if (address.empty() || is_loopback(host_in(address))) continue;
    const std::string what =
        security.token.empty()
            ? "without a token of the job"
            : "with a token shorter than " + std::to_string(shortest_token) + " characters";
    throw InvalidArgument(
        "other machines can reach " + address + ", and " + what +
        " anyone who does could join: give all workers the same secret, made by `openssl rand -hex "
        "16`, in a file (--token-file FILE) or in the variable COLLBENCH_JOB_TOKEN; or use "
        "addresses of the loopback interface (127.0.0.1)");
  }
}

std::string proof_of(std::string_view token, const Introduction& introduction) {
  std::string text = "collbench ";
  text += introduction.part;
  for (const int number : {introduction.from, introduction.to, introduction.ranks}) {
    text += ' ' + std::to_string(number);
  }
  // Numbers have a fixed length, so that different fields cannot give the same text.
  text.append(" ").append(introduction.caller_number);
  text.append(" ").append(introduction.listener_number);
  return keyed_digest(token, text);
}

}  // namespace collbench
