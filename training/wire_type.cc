#include "training/wire_type.h"

#include <cassert>

#include "transports/kernels/elements.h"

namespace collbench {
namespace {

template <class T>
T* wire_elements(Region region) {
  return reinterpret_cast<T*>(region.data);
}

template <class T, class Half>
void narrow_all(Region from, Region to) {
  const T* in = wire_elements<T>(from);
  auto* out = wire_elements<std::uint16_t>(to);
  for (std::int64_t i = 0; i < from.count; ++i) out[i] = Half::narrow(static_cast<float>(in[i]));
}

template <class T, class Half>
void widen_all(Region from, Region to) {
  const auto* in = wire_elements<std::uint16_t>(from);
  T* out = wire_elements<T>(to);
  for (std::int64_t i = 0; i < from.count; ++i) out[i] = Half::widen(in[i]);
}

// Calls visit.template operator()<T, Half>() with the elements of both types.
template <class Visit>
void with_halves(DataType whole, DataType half, const Visit& visit) {
  const auto with = [&]<class Half>() {
    if (whole == DataType::f32) return visit.template operator()<float, Half>();
    visit.template operator()<double, Half>();
  };
  if (half == DataType::f16) return with.template operator()<F16Element>();
  with.template operator()<Bf16Element>();
}

}  // namespace

void narrow(Region from, Region to) {
  assert(from.count == to.count);
  with_halves(from.type, to.type, [&]<class T, class Half>() { narrow_all<T, Half>(from, to); });
}

void widen(Region from, Region to) {
  assert(from.count == to.count);
  with_halves(to.type, from.type, [&]<class T, class Half>() { widen_all<T, Half>(from, to); });
}

}  // namespace collbench
