# The endpoint over gRPC: component collbench::transports_grpc, where the packages are found.
if(COLLBENCH_WITH_GRPC)
  # Debian's configuration of gRPC stops CMake where its compiler plugin is not installed.
  find_program(COLLBENCH_GRPC_PLUGIN grpc_cpp_plugin)
  mark_as_advanced(COLLBENCH_GRPC_PLUGIN)
  if(COLLBENCH_GRPC_PLUGIN)
    find_package(Protobuf QUIET)
    find_package(gRPC CONFIG QUIET)
  endif()
endif()

if(COLLBENCH_WITH_GRPC AND gRPC_FOUND AND Protobuf_FOUND)
  set(proto ${CMAKE_CURRENT_SOURCE_DIR}/grpc_recvbuf.proto)
  set(proto_dir ${CMAKE_CURRENT_BINARY_DIR}/grpc_recvbuf)
  set(proto_sources ${proto_dir}/grpc_recvbuf.pb.cc ${proto_dir}/grpc_recvbuf.grpc.pb.cc)
  file(MAKE_DIRECTORY ${proto_dir})
  add_custom_command(
    OUTPUT ${proto_sources} ${proto_dir}/grpc_recvbuf.pb.h ${proto_dir}/grpc_recvbuf.grpc.pb.h
    COMMAND protobuf::protoc --proto_path=${CMAKE_CURRENT_SOURCE_DIR} --cpp_out=${proto_dir}
      --grpc_out=${proto_dir} --plugin=protoc-gen-grpc=${COLLBENCH_GRPC_PLUGIN} ${proto}
    DEPENDS ${proto} VERBATIM)
  # What protoc writes is not held to our warnings.
  set_source_files_properties(${proto_sources} PROPERTIES COMPILE_OPTIONS -w SKIP_LINTING ON)

  collbench_library(transports_grpc
    HEADERS grpc_admission.h grpc_agreement.h grpc_calls.h grpc_control.h grpc_credentials.h grpc_door.h grpc_endpoint.h grpc_exchange_rate.h grpc_greeting.h grpc_handover.h grpc_intake.h
      grpc_patience.h grpc_polled_endpoint.h grpc_recvbuf_coding.h grpc_stream.h grpc_wire.h
    SOURCES grpc_admission.cc grpc_agreement.cc grpc_calls.cc grpc_control.cc grpc_credentials.cc grpc_door.cc grpc_endpoint.cc grpc_exchange_rate.cc grpc_greeting.cc grpc_incoming_stream.cc
      grpc_intake.cc grpc_outgoing_stream.cc grpc_patience.cc grpc_polled_endpoint.cc grpc_recvbuf_coding.cc
      grpc_recvbuf_endpoint.cc grpc_wire.cc grpc_wire_events.cc grpc_wire_join.cc ${proto_sources}
    USES transports core
    PRIVATE_LINKS gRPC::grpc++ protobuf::libprotobuf Threads::Threads
    PACKAGES Protobuf gRPC)
  target_include_directories(collbench_transports_grpc SYSTEM PRIVATE ${proto_dir})
endif()
