// Fuzzes what strangers may say at a bootstrap: any line is either no guest of ours, or one that is
// written again as it was read; nothing is proved but by the token.
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "transports/world/bootstrap_messages.h"

FUZZ_TARGET(bootstrap, input) {
  using namespace collbench;
  const std::string line(input);
  const std::string token = "a token of this fuzzer";
  const std::string number(32, '7');
  if (const auto greeted = greeted_number(line); greeted && greeting_line(*greeted) != line) {
    std::abort();
  }
  const ReadGuest read = read_guest(line, token, number);
  if (read.fault.empty()) {
    const std::string again = guest_line(read.guest, token, number);
    const ReadGuest twice = read_guest(again, token, number);
    if (!twice.proved || guest_line(twice.guest, token, number) != again) std::abort();
    if (read.proved && again != line) std::abort();
  } else if (read.proved) {
    std::abort();
  }
  if (const auto words = proved_words(line, token, number);
      words && proved_line(*words, token, number) != line) {
    std::abort();
  }
}
