#include "transports/cuda/placed_communicator.h"

#include <string>
#include <utility>

#include "core/error.h"

namespace collbench {
namespace {

class PlacedCommunicator final : public Communicator {
 public:
  PlacedCommunicator(std::unique_ptr<Communicator> on_device, std::unique_ptr<Communicator> on_host,
                     bool (*is_on_device)(const std::byte*))
      : device_(std::move(on_device)), host_(std::move(on_host)), is_on_device_(is_on_device) {
    require(device_->rank() == host_->rank() && device_->ranks() == host_->ranks(),
            "the communicators of devices and hosts are those of different ranks");
  }

  Rank rank() const override { return device_->rank(); }
  int ranks() const override { return device_->ranks(); }
  Seconds now() const override { return device_->now(); }
  std::string description() const override { return device_->description(); }
  void all_reduce(Region in, Region out, ReduceOp op) override {
    require(in.count == 0 || is_on_device_(in.data) == is_on_device_(out.data),
            "all_reduce: input and output are not both the device's or both the host's");
    of(in).all_reduce(in, out, op);
  }
  void broadcast(Region region, Rank root) override { of(region).broadcast(region, root); }
  void perform(const Collective& collective, Region in, Region out, ReduceOp op) override {
    require(in.count == 0 || out.count == 0 || is_on_device_(in.data) == is_on_device_(out.data),
            std::string(to_string(collective.kind)) +
                ": input and output are not both the device's or both the host's");
    of(in.count > 0 ? in : out).perform(collective, in, out, op);
  }
  void barrier() override { host_->barrier(); }
  std::shared_ptr<std::byte> allocate(Bytes size) override { return device_->allocate(size); }

 private:
  Communicator& of(Region region) {
    return region.count > 0 && is_on_device_(region.data) ? *device_ : *host_;
  }

  std::unique_ptr<Communicator> device_;
  std::unique_ptr<Communicator> host_;
  bool (*is_on_device_)(const std::byte*);
};

}  // namespace

std::unique_ptr<Communicator> make_placed_communicator(std::unique_ptr<Communicator> on_device,
                                                       std::unique_ptr<Communicator> on_host,
                                                       bool (*is_on_device)(const std::byte*)) {
  return std::make_unique<PlacedCommunicator>(std::move(on_device), std::move(on_host),
                                              is_on_device);
}

}  // namespace collbench
