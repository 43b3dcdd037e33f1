# The endpoint over gRPC: component collbench::transports_grpc, where the packages are found.
if(COLLBENCH_WITH_GRPC)
  find_package(Protobuf QUIET)
  find_package(gRPC CONFIG QUIET)
endif()
if(COLLBENCH_WITH_GRPC AND gRPC_FOUND)
  collbench_library(transports_grpc
    HEADERS grpc_agreement.h grpc_endpoint.h grpc_intake.h grpc_patience.h grpc_stream.h grpc_wire.h
    SOURCES grpc_agreement.cc grpc_endpoint.cc grpc_incoming_stream.cc grpc_intake.cc
      grpc_outgoing_stream.cc grpc_patience.cc grpc_wire.cc grpc_wire_events.cc
    USES transports core
    PRIVATE_LINKS gRPC::grpc++ Threads::Threads
    PACKAGES gRPC)
endif()
