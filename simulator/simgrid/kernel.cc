#include "simulator/simgrid/kernel.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

namespace collbench {

struct SimgridKernel::Mailbox {
  simgrid::s4u::Mailbox* mailbox;
};

struct SimgridKernel::Comm {
  simgrid::s4u::CommPtr comm;
  void* received = nullptr;
};

namespace {

namespace s4u = simgrid::s4u;

// Alpha-beta and nothing else: CM02 without cross traffic and without TCP's window. Links have no
// latency, since CM02 would weigh a flow's share of a link by the latency of its route.
std::vector<std::string> arguments(double precision) {
  return {"collbench",
          "--cfg=network/model:CM02",
          "--cfg=network/crosstraffic:0",
          "--cfg=network/TCP-gamma:1e30",
          "--cfg=maxmin/precision:1e-12",
          fmt::format("--cfg=surf/precision:{:.17g}", precision),
          "--cfg=contexts/stack-size:256",  // KiB
          "--cfg=contexts/guard-size:0",    // one mapping per stack ends at 65,530 of them
          "--log=root.thresh:error",
          "--log=no_loc"};
}

class Kernel final : public SimgridKernel {
 public:
  explicit Kernel(const Settings& settings) : words_(arguments(settings.precision)) {
    std::vector<char*> argv;
    for (std::string& word : words_) argv.push_back(word.data());
    argv.push_back(nullptr);
    int argc = static_cast<int>(words_.size());
    engine_ = std::make_unique<s4u::Engine>(&argc, argv.data());
    zone_ = s4u::create_full_zone("network");
    constexpr double unused_flops = 1e9;
    for (int i = 0; i < settings.hosts; ++i) {
      hosts_.push_back(zone_->create_host(fmt::format("host {}", i), unused_flops));
    }
  }

  void add_link(double bytes_per_second) override {
    const std::string name = fmt::format("link {}", links_.size());
    links_.push_back(zone_->create_link(name, bytes_per_second)->set_latency(0)->seal());
  }

  void add_route(int from, int to, std::span<const int> links) override {
    std::vector<s4u::LinkInRoute> route;
    for (const int link : links) route.emplace_back(links_[static_cast<std::size_t>(link)]);
    zone_->add_route(host(from)->get_netpoint(), host(to)->get_netpoint(), nullptr, nullptr, route,
                     false);
  }

  void spawn(int at, std::function<void()> body) override {
    if (!sealed_) zone_->seal();
    sealed_ = true;
    const std::string name = fmt::format("rank {}", actors_.size());
    actors_.push_back(s4u::Actor::create(name, host(at), std::move(body)));
  }

  void run(std::function<void()> stuck) override {
    bootstrap_ = s4u::Barrier::create(static_cast<unsigned>(actors_.size()));
    s4u::Engine::on_deadlock_cb(stuck);
    engine_->run();
  }

  double now() const override { return s4u::Engine::get_clock(); }

  void at(double time, std::function<void()> call) override {
    simgrid::kernel::timer::Timer::set(time, std::move(call));
  }

  void sleep_until(double time) override { s4u::this_actor::sleep_until(time); }
  void meet() override { bootstrap_->wait(); }

  Mailbox* open_mailbox(int actor) override {
    s4u::Mailbox* const box = s4u::Mailbox::by_name(fmt::format("mailbox {}", mailboxes_++));
    box->set_receiver(actors_[static_cast<std::size_t>(actor)]);
    return new Mailbox{box};
  }

  // Any address will do as the payload: what is sent is a size.
  Comm* put(Mailbox* mailbox, double bytes, double cap) override {
    s4u::CommPtr comm = mailbox->mailbox->put_init(this, 0);
    comm->set_remaining(bytes);
    if (cap > 0) comm->set_rate(cap);
    return new Comm{std::move(comm)};
  }

  void start(Comm* comm) override { comm->comm->vetoable_start(); }

  Comm* get(Mailbox* mailbox) override {
    auto* const comm = new Comm{};
    comm->comm = mailbox->mailbox->get_async<void>(&comm->received);
    return comm;
  }

  void help(int beside, std::function<void()> body) override {
    s4u::Actor::create("helper", host(beside), std::move(body));
  }

  void watch(Comm* comm) override {
    const s4u::CommPtr watched = comm->comm;
    watched->wait();
  }

  double wait(Comm* comm) override {
    comm->comm->wait();
    const double arrival = comm->comm->get_finish_time();
    delete comm;
    return arrival;
  }

 private:
  s4u::Host* host(int i) const { return hosts_[static_cast<std::size_t>(i)]; }

  std::vector<std::string> words_;
  std::unique_ptr<s4u::Engine> engine_;
  s4u::NetZone* zone_ = nullptr;
  s4u::BarrierPtr bootstrap_;
  std::vector<s4u::Host*> hosts_;
  std::vector<s4u::Link*> links_;
  std::vector<s4u::ActorPtr> actors_;
  int mailboxes_ = 0;
  bool sealed_ = false;
};

}  // namespace
}  // namespace collbench

extern "C" collbench::SimgridKernel* collbench_simgrid_kernel(
    const collbench::SimgridKernel::Settings* settings) {
  return new collbench::Kernel(*settings);
}
