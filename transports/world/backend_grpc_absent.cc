// The row of gRPC in a build without it.
#include "transports/world/backend.h"

namespace collbench {

Backend grpc_backend() {
  Backend row;
  row.name = "grpc";
  row.summary = "our schedules over gRPC, one process per worker";
  row.plays_schedules = true;
  row.transport_option = "transport";
  row.unavailable = "this build has no gRPC (Debian: libgrpc++-dev, protobuf-compiler-grpc)";
  return row;
}

}  // namespace collbench
