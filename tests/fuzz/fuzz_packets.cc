// Fuzzes what parameter servers and the chief are asked: whatever a request holds, it is answered
// or refused, and what a server has taken it can tell again.
#include <algorithm>
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "core/error.h"
#include "training/asynchronous/coordinator_service.h"
#include "training/asynchronous/remote_variables.h"

namespace {

using namespace collbench;

ServerRun run_of_two() {
  ServerRun run;
  run.chief = {"chief 0", "127.0.0.1:1"};
  run.workers = {{"worker 0", "127.0.0.1:2"}, {"worker 1", "127.0.0.1:3"}};
  run.servers = {{"ps 0", "127.0.0.1:4"}};
  return run;
}

// The answer of either service; nothing if it refuses. No call waits for another.
template <class Service>
std::string answer_of(Service& service, const std::string& packet, CallerNumber caller = 1) {
  try {
    return service.answer({packet, [] { return true; }, caller});
  } catch (const InvalidArgument&) {
  } catch (const TransportError&) {
  } catch (const Unavailable&) {  // an engine that this build has not
  }
  return {};
}

void require_readable(VariableService& server) {
  const std::string told = answer_of(server, request(Request::contents).take());
  if (told.empty()) return;  // it has no variables
  PacketReader reader(told);
  const StoreContents contents = read_contents(reader);
  reader.end();
  PacketWriter again;
  write(contents, again);
  if (again.packet() != told) std::abort();
}

}  // namespace

// The first byte says whether the run has begun. Then requests: a byte for whom and what, two for
// the length of the rest, and the rest.
FUZZ_TARGET(packets, rest) {
  const ServerRun run = run_of_two();
  const std::vector<NamedValue> values{{"model", "mlp"}, {"batch", "32"}};
  CoordinatorService chief(run, values);
  VariableService server;
  Closures closures(0, 4, 2, 2, nullptr, {});
  if (!rest.empty() && rest.front() % 2 == 1) {
    for (const int worker : {0, 1}) {
      PacketWriter join = request(Request::join);
      join.number(worker).text("").text(text_of(values));
      answer_of(chief, join.take(), static_cast<CallerNumber>(worker) + 1);
    }
    chief.begin(closures);  // throws, if one has not joined
  }
  rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
  while (rest.size() >= 3) {
    const auto which = static_cast<unsigned char>(rest[0]);
    const auto low = static_cast<unsigned char>(rest[1]);
    const auto high = static_cast<unsigned char>(rest[2]);
    rest.remove_prefix(3);
    const std::string_view words = rest.substr(0, low + 256U * high);
    rest.remove_prefix(words.size());
    // 7 kinds of request, two that there are not, and one without its number.
    const unsigned kind = which % 10U;
    std::string packet =
        kind == 9 ? ""
                  : PacketWriter().number(static_cast<std::int64_t>(Request::set) + kind).take();
    packet += words;
    if (which < 128) {
      answer_of(server, packet);
      require_readable(server);
    } else {
      answer_of(chief, packet, 1 + which / 10U % 2U);
    }
  }
}
