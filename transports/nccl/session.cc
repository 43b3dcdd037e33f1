#include "transports/nccl/session.h"

#include <future>

#include <fmt/format.h>

#include "core/error.h"
#include "transports/cuda/driver.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

constexpr std::chrono::milliseconds guard_interval{10};
constexpr int checks_between_health = 64;
const std::string team_gave_up = "the team gave up";
constexpr std::chrono::milliseconds spin_for{2};  // then give the processor away

NcclUniqueId read_id(const std::string& text) {
  NcclUniqueId id{};
  require(text.size() == 2 * sizeof id.bytes, "the id of an NCCL communicator is 256 hex digits");
  for (std::size_t i = 0; i < sizeof id.bytes; ++i) {
    id.bytes[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return id;
}

std::int64_t nanoseconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

// Runs a call that may never return on a thread of its own, which is abandoned once `patient` says
// no. Whether the call has ended. It must not refer to what may be gone by then.
bool ends(std::function<void()> call, const std::function<bool()>& patient) {
  const auto ended = std::make_shared<std::promise<void>>();
  const std::future<void> done = ended->get_future();
  std::thread thread([ended, call = std::move(call)] {
    call();
    ended->set_value();
  });
  while (done.wait_for(guard_interval) != std::future_status::ready) {
    if (patient()) continue;
    thread.detach();
    return false;
  }
  thread.join();
  return true;
}

bool ends_within(Seconds patience, std::function<void()> call) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  return ends(std::move(call), [&] { return std::chrono::steady_clock::now() < deadline; });
}

}  // namespace

std::string make_nccl_id() {
  NcclUniqueId id{};
  const LoadedNccl& nccl = load_nccl();
  if (const int error = nccl.call.get_unique_id(&id); error != nccl_success) {
    throw Unavailable(fmt::format("NCCL {}: ncclGetUniqueId failed: {}", nccl.version,
                                  nccl.call.error_string(error)));
  }
  std::string text;
  for (const char byte : id.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

NcclSession::NcclSession(const NcclOptions& options) : options_(options), nccl_(load_nccl()) {
  CudaDriver::instance().use(options_.device);
  NcclConfig config;
  config.blocking = options_.settings.nonblocking ? 0 : 1;
  if (options_.settings.channels > 0) {
    config.least_ctas = config.most_ctas = options_.settings.channels;
  }
  const NcclUniqueId id = read_id(options_.unique_id);
  if (options_.settings.nonblocking) {
    join_nonblocking(config, id);
  } else {
    join_blocking(config, id);
  }
  guard_ = std::thread([this] { watch(); });
}

// While a blocking communicator joins, it has no handle with which it could be aborted. So it joins
// on a separate thread, which is abandoned if the other ranks never arrive.
void NcclSession::join_blocking(NcclConfig& config, const NcclUniqueId& id) {
  struct Joining {
    NcclConfig config;
    NcclComm comm = nullptr;
    int result = nccl_success;
    std::exception_ptr failure;
  };
  const auto joining = std::make_shared<Joining>();
  joining->config = config;
  const auto join = [joining, id, &nccl = nccl_, rank = options_.rank, ranks = options_.ranks,
                     device = options_.device] {
    try {
      CudaDriver::instance().use(device);
      joining->result = nccl.call.init_rank(&joining->comm, ranks, id, rank, &joining->config);
    } catch (...) {
      joining->failure = std::current_exception();
    }
  };
  const auto deadline = Clock::now() + options_.timeout;
  if (!ends(join, [&] { return !given_up() && Clock::now() < deadline; })) {
    fail("ncclCommInitRankConfig", given_up() ? team_gave_up : late());
  }
  if (joining->failure) std::rethrow_exception(joining->failure);
  if (joining->result != nccl_success) fail_with("ncclCommInitRankConfig", joining->result);
  comm_ = joining->comm;
}

void NcclSession::join_nonblocking(NcclConfig& config, const NcclUniqueId& id) {
  const int result = nccl_.call.init_rank(&comm_, options_.ranks, id, options_.rank, &config);
  if (result != nccl_in_progress && result != nccl_success) {
    fail_with("ncclCommInitRankConfig", result);
  }
  settle("ncclCommInitRankConfig", nccl_in_progress);
}

NcclSession::~NcclSession() {
  closing_ = true;
  if (guard_.joinable()) guard_.join();
  if (comm_ != nullptr && !aborted_) leave();
}

// ncclCommFinalize waits for the other ranks, too, so it runs on a thread that may be abandoned.
void NcclSession::leave() {
  const auto leave = [&nccl = nccl_, comm = comm_, failed = failure_ != nullptr,
                      device = options_.device] {
    try {
      CudaDriver::instance().use(device);
      int state = failed ? nccl_remote_error : nccl.call.finalize(comm);
      while (state == nccl_in_progress) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (nccl.call.async_error(comm, &state) != nccl_success) break;
      }
      (state == nccl_success ? nccl.call.destroy : nccl.call.abort)(comm);
    } catch (const Error&) {
      nccl.call.abort(comm);
    }
  };
  ends_within(std::min(options_.timeout, Seconds{10}), leave);
}

void NcclSession::abort_once() {
  if (comm_ == nullptr || aborted_.exchange(true)) return;
  ends_within(Seconds{5}, [&nccl = nccl_, comm = comm_, device = options_.device] {
    try {
      CudaDriver::instance().use(device);
    } catch (const Error&) {
      // NCCL finds the device by itself.
    }
    nccl.call.abort(comm);
  });
}

bool NcclSession::given_up() const { return options_.cancelled && options_.cancelled(); }

// The guard thread: watches blocking calls. Spinning waits check their deadline themselves.
void NcclSession::watch() {
  while (!closing_ && !aborted_) {
    std::this_thread::sleep_for(guard_interval);
    std::int64_t deadline = deadline_ns_;
    if (deadline == 0) continue;
    const bool is_over = given_up() || nanoseconds(Clock::now()) > deadline;
    // A call that has just ended keeps its communicator.
    if (is_over && deadline_ns_.compare_exchange_strong(deadline, 0)) abort_once();
  }
}

std::string NcclSession::late() const {
  return fmt::format("not done within {}: a rank is missing, lost or stuck",
                     to_string(options_.timeout));
}

std::string NcclSession::words(int error) const {
  const char* last = nccl_.call.last_error(comm_);
  std::string text = nccl_.call.error_string(error);
  if (last != nullptr && *last != '\0') text += fmt::format(" ({})", last);
  return text;
}

void NcclSession::fail(const char* name, const std::string& why) {
  abort_once();
  const std::string text = fmt::format("NCCL {}: rank {} of {}: {} failed: {}", nccl_.version,
                                       options_.rank, options_.ranks, name, why);
  failure_ = std::make_exception_ptr(TransportError(text));
  std::rethrow_exception(failure_);
}

void NcclSession::fail_with(const char* name, int error) {
  if (error == nccl_invalid_usage) {
    throw Unavailable(fmt::format(
        "NCCL {}: rank {} of {}: {} refuses: {}; several ranks on one GPU need processes of their "
        "own, each with another NCCL_HOSTID",
        nccl_.version, options_.rank, options_.ranks, name, words(error)));
  }
  fail(name, words(error));
}

int NcclSession::health() const {
  int state = nccl_success;
  const int asked = nccl_.call.async_error(comm_, &state);
  return asked == nccl_success ? state : asked;
}

// A non-blocking call goes on after it has returned.
void NcclSession::settle(const char* name, int result) {
  const auto deadline = Clock::now() + options_.timeout;
  while (result == nccl_in_progress) {
    pause_processor();
    result = health();
    if (result != nccl_in_progress) break;
    if (given_up()) fail(name, team_gave_up);
    if (Clock::now() > deadline) fail(name, late());
    std::this_thread::yield();
  }
  if (result != nccl_success) fail_with(name, result);
}

void NcclSession::begin_call() {
  if (failure_) std::rethrow_exception(failure_);
  const auto timeout = std::chrono::duration_cast<Clock::duration>(options_.timeout);
  deadline_ns_ = nanoseconds(Clock::now() + timeout);
}

void NcclSession::end_call(const char* name, int result) {
  if (deadline_ns_.exchange(0) == 0) {
    fail(name, given_up() ? team_gave_up : late());
  }
  settle(name, result);
}

void NcclSession::wait(const char* name, const std::function<bool()>& done) {
  if (failure_) std::rethrow_exception(failure_);
  const auto start = Clock::now();
  const auto deadline = start + options_.timeout;
  for (std::int64_t round = 1; !done(); ++round) {
    pause_processor();
    if (round % checks_between_health != 0) continue;
    if (const int error = health(); error != nccl_success && error != nccl_in_progress) {
      fail_with(name, error);
    }
    if (given_up()) fail(name, team_gave_up);
    const auto now = Clock::now();
    if (now > deadline) fail(name, late());
    if (now - start > spin_for) std::this_thread::yield();
  }
}

}  // namespace collbench
