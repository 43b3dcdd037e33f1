#include "cli/isolated_tasks.h"

#include <cstdlib>
#include <fstream>
#include <utility>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "core/error.h"
#include "core/keyed_digest.h"
#include "transports/descriptor.h"

namespace collbench {
namespace {

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) {
    if (!word.starts_with("--isolate")) words.push_back(word);
  }
  if (words.empty()) throw Unavailable("--isolate needs /proc/self/cmdline");
  words[0] = "/proc/self/exe";
  return words;
}

}  // namespace

std::vector<int> free_ports(int count) {
  std::vector<Descriptor> probes;  // open until all are chosen, so that they differ
  std::vector<int> ports;
  for (int i = 0; i < count; ++i) {
    probes.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int descriptor = probes.back().number();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      throw TransportError("no free port on the loopback interface");
    }
    ports.push_back(ntohs(address.sin_port));
  }
  return ports;
}

void share_new_token() { setenv("COLLBENCH_JOB_TOKEN", random_digits().c_str(), 1); }

ChildProcess isolated_child(std::vector<std::string> variables) {
  variables.emplace_back("COLLBENCH_ISOLATE=false");
  return {own_command(), variables, only_errors_shown};
}

}  // namespace collbench
