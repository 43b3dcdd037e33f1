#include "training/asynchronous/remote_variables.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "training/steady_time.h"

namespace collbench {
namespace {

constexpr std::chrono::milliseconds between_run_looks{50};
constexpr Seconds servers_farewell{1.0};

}  // namespace

std::string VariableService::answer(const IncomingCall& call) {
  PacketReader reader(call.request);
  switch (static_cast<Request>(reader.number())) {
    case Request::set:
      set(reader, call.caller);
      return "";
    case Request::read:
      return read();
    case Request::update:
      return update(reader);
    case Request::contents: {
      PacketWriter reply;
      write(store().contents(), reply);
      return reply.take();
    }
    case Request::finish: {
      const std::lock_guard lock(mutex_);
      end_ = reader.text();
      changed_.notify_all();
      return "";
    }
    default:
      throw InvalidArgument("a ps does not serve this request");
  }
}

VariableStore& VariableService::store() {
  const std::lock_guard lock(mutex_);
  require(store_ != nullptr, "this ps has no variables yet");
  return *store_;
}

void VariableService::set(PacketReader& request, CallerNumber caller) {
  const StoreContents contents = read_contents(request);
  request.end();
  auto store = std::make_unique<VariableStore>(contents);
  const std::lock_guard lock(mutex_);
  require(store_ == nullptr, "this ps already serves a run");
  store_ = std::move(store);
  chief_ = caller;
}

std::string VariableService::read() {
  const VariableStore& store = this->store();
  PacketWriter reply;
  std::vector<std::byte> statistics(static_cast<std::size_t>(store.statistic_bytes()));
  const std::int64_t version = store.read(reply.room(store.value_bytes()), statistics);
  return reply.memory(statistics).number(version).take();
}

std::string VariableService::update(PacketReader& request) {
  const std::int64_t seen =
      request.number("updates seen", 0, std::numeric_limits<std::int64_t>::max());
  const auto gradients = request.memory();
  const auto moves = request.memory();
  request.end();
  return PacketWriter().number(store().update(gradients, moves) - seen).take();
}

void VariableService::gone(CallerNumber caller) {
  const std::lock_guard lock(mutex_);
  chief_lost_ = chief_lost_ || caller == chief_;
  changed_.notify_all();
}

void VariableService::wait_until_finished(Seconds patience, const std::function<bool()>& stop) {
  const Seconds begin = steady_now();
  std::unique_lock lock(mutex_);
  while (!end_ && !chief_lost_) {
    if (stop()) return;
    changed_.wait_for(lock, between_run_looks);
    if (chief_ == 0 && steady_now() - begin > patience) {
      throw TransportError(
          fmt::format("no chief connected to this ps within {}", to_string(patience)));
    }
  }
  if (!end_) throw TransportError("the chief was lost");
  if (!end_->empty()) throw TransportError(*end_);
}

RemoteVariables::RemoteVariables(CallNetwork& network, const std::vector<TaskAddress>& servers,
                                 const Placement& placement, Seconds timeout)
    : servers_(servers), placement_(placement), timeout_(timeout), seen_(servers.size()) {
  for (const TaskAddress& server : servers) {
    callers_.push_back(network.reach(server.words(), server.address));
  }
}

TransportError RemoteVariables::failure_of(std::size_t server, const CallError& error) const {
  const char* what = error.failure == CallFailure::refused ? "" : " was lost";
  return TransportError(fmt::format("{}{}: {}", servers_[server].words(), what, error.what()));
}

template <class Compose>
std::vector<std::string> RemoteVariables::ask(Compose compose) {
  for (std::size_t i = 0; i < callers_.size(); ++i) {
    callers_[i]->start(compose(i), timeout_);
  }
  std::vector<std::string> answers(callers_.size());
  std::exception_ptr failure;
  for (std::size_t i = 0; i < callers_.size(); ++i) {
    try {
      answers[i] = callers_[i]->finish();
    } catch (const CallError& error) {
      if (!failure) failure = std::make_exception_ptr(failure_of(i, error));
    }
  }
  if (failure) std::rethrow_exception(failure);
  return answers;
}

void RemoteVariables::read(Region values, Region statistics) {
  const auto answers = ask([](std::size_t) { return request(Request::read).take(); });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto server = static_cast<int>(i);
    PacketReader reader(answers[i]);
    const auto packed = reader.memory();
    const std::int64_t bytes = placement_.elements(server) * size_of(values.type);
    require(std::ssize(packed) == bytes, fmt::format("{} has {} bytes of variables, not {}",
                                                     servers_[i].words(), packed.size(), bytes));
    placement_.unpack(packed, server, values);
    const auto moving = reader.memory();
    const std::int64_t expected = i == 0 ? statistics.size().count : 0;
    require(std::ssize(moving) == expected,
            fmt::format("{} has {} bytes of statistics, not {}", servers_[i].words(), moving.size(),
                        expected));
    std::copy(moving.begin(), moving.end(), statistics.data);
    seen_[i] = reader.number();
  }
}

std::int64_t RemoteVariables::update(Region gradients, Region moves) {
  const auto answers = ask([&](std::size_t i) {
    const auto server = static_cast<int>(i);
    PacketWriter writer = request(Request::update);
    writer.number(seen_[i]);
    placement_.pack(gradients, server,
                    writer.room(placement_.elements(server) * size_of(gradients.type)));
    const std::int64_t bytes = i == 0 ? moves.size().count : 0;
    return writer.memory({moves.data, static_cast<std::size_t>(bytes)}).take();
  });
  std::int64_t most = 0;
  for (const std::string& answer : answers) most = std::max(most, PacketReader(answer).number());
  return most;
}

bool RemoteVariables::set(int server, const StoreContents& contents, Seconds patience) {
  const auto place = static_cast<std::size_t>(server);
  PacketWriter writer = request(Request::set);
  write(contents, writer);
  try {
    callers_[place]->call(writer.packet(), patience);
    return true;
  } catch (const CallError& error) {
    if (error.failure == CallFailure::absent) return false;
    throw failure_of(place, error);
  }
}

std::vector<StoreContents> RemoteVariables::contents() {
  std::vector<StoreContents> all;
  for (const std::string& answer :
       ask([](std::size_t) { return request(Request::contents).take(); })) {
    PacketReader reader(answer);
    all.push_back(read_contents(reader));
  }
  return all;
}

const TaskAddress* RemoteVariables::lost() {
  for (std::size_t i = 0; i < callers_.size(); ++i) {
    if (callers_[i]->lost()) return &servers_[i];
  }
  return nullptr;
}

void RemoteVariables::finish(int server, const std::string& why) noexcept {
  try {
    callers_[static_cast<std::size_t>(server)]->call(request(Request::finish).text(why).packet(),
                                                     servers_farewell);
  } catch (const std::exception&) {  // it is gone already
  }
}

}  // namespace collbench
