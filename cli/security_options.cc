#include "cli/security_options.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text_file.h"

namespace collbench {
namespace {

std::string text_of_file(const Settings& settings, const char* option) {
  const std::string text = read_text_file(settings.text(option));
  require(!text.empty(),
          fmt::format("{}: the file '{}' is empty", settings.label(option), settings.text(option)));
  return text;
}

std::string token_of(const Settings& settings) {
  if (!settings.given("token-file")) return environment_variable("COLLBENCH_JOB_TOKEN");
  std::string token = text_of_file(settings, "token-file");
  token.erase(token.find_last_not_of("\r\n") + 1);
  require(!token.empty(), fmt::format("{}: the file '{}' holds no token",
                                      settings.label("token-file"), settings.text("token-file")));
  return token;
}

std::string pem_of(const Settings& settings, const char* option, const char* what) {
  if (!settings.given(option)) return "";
  std::string text = text_of_file(settings, option);
  const std::size_t begin = text.find("-----BEGIN ");
  const std::size_t kind = begin == std::string::npos ? begin : text.find(what, begin);
  require(kind != std::string::npos,
          fmt::format("{}: the file '{}' holds no {} in PEM", settings.label(option),
                      settings.text(option), what));
  return text;
}

}  // namespace

JobSecurity security_of(const Settings& settings) {
  JobSecurity security;
  security.token = token_of(settings);
  TlsTexts& tls = security.tls;
  tls.ca = pem_of(settings, "tls-ca", "CERTIFICATE");
  tls.certificate = pem_of(settings, "tls-cert", "CERTIFICATE");
  tls.key = pem_of(settings, "tls-key", "PRIVATE KEY");
  tls.name = settings.text("tls-name");
  tls.mutual = settings.one_of("tls-callers", {"certified", "any"}) == "certified";
  require(tls.used() || (!settings.given("tls-name") && !settings.given("tls-callers")),
          "--tls-name and --tls-callers need --tls-ca, --tls-cert and --tls-key");
  return security;
}

}  // namespace collbench
