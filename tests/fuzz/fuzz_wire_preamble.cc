// Fuzzes what a stranger may send when it connects: any text is read without harm, none is taken
// for a proof, and what is read of a true preamble is what was written.
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "transports/grpc/preamble.h"

FUZZ_TARGET(wire_preamble, input) {
  using namespace collbench;
  const std::string text(input);
  if (const auto preamble = read_preamble(text)) {
    if (preamble->identity.rank < 0 || preamble->identity.ranks < 1) std::abort();
    if (is_proved(*preamble, "a token that is in no input")) std::abort();
    const auto again = read_preamble(
        std::string(preamble_names::start) + "x HTTP/1.0\r\n" + preamble_names::header + ": " +
        preamble_value(preamble->use, preamble->identity, "a token") + preamble_names::end);
    if (!again || again->use != preamble->use || again->identity.rank != preamble->identity.rank ||
        again->identity.number != preamble->identity.number || !is_proved(*again, "a token")) {
      std::abort();
    }
  }
  if (const auto answer = read_elements_answer(text)) {
    if (!is_greeting_number(answer->number)) std::abort();
    const auto again = read_elements_answer(elements_answer(answer->number, answer->proof));
    if (!again || again->proof != answer->proof) std::abort();
  }
}
