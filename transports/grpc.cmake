# The endpoint over gRPC: component collbench::transports_grpc, where the packages are found.
if(COLLBENCH_WITH_GRPC)
  # Debian's configuration of gRPC stops CMake where its compiler plugin is not installed.
  find_program(COLLBENCH_GRPC_PLUGIN grpc_cpp_plugin)
  mark_as_advanced(COLLBENCH_GRPC_PLUGIN)
  if(COLLBENCH_GRPC_PLUGIN)
    set(Protobuf_USE_STATIC_LIBS ${COLLBENCH_GRPC_ARCHIVES})
    find_package(Protobuf QUIET)
    find_package(gRPC CONFIG QUIET)
  endif()
endif()

# gRPC is 47 shared libraries here, whose loading takes half of a start of the command. Where all of
# it is installed as archives, those are linked.
if(COLLBENCH_GRPC_ARCHIVES AND gRPC_FOUND AND Protobuf_FOUND)
  get_target_property(grpc_library gRPC::grpc++ LOCATION)
  get_filename_component(grpc_folder ${grpc_library} DIRECTORY)
  file(GLOB grpc_archives ${grpc_folder}/libabsl_*.a)
  set(grpc_lacking)
  foreach(name grpc++ grpc gpr upb address_sorting protobuf)
    list(APPEND grpc_archives ${grpc_folder}/lib${name}.a)
  endforeach()
  foreach(archive IN LISTS grpc_archives)
    if(NOT EXISTS ${archive})
      list(APPEND grpc_lacking ${archive})
    endif()
  endforeach()
  foreach(name ssl crypto z cares re2)
    find_library(COLLBENCH_GRPC_NEEDS_${name} ${name})
    mark_as_advanced(COLLBENCH_GRPC_NEEDS_${name})
    list(APPEND grpc_needs ${COLLBENCH_GRPC_NEEDS_${name}})
    if(NOT COLLBENCH_GRPC_NEEDS_${name})
      list(APPEND grpc_lacking ${name})
    endif()
  endforeach()
  if(NOT grpc_lacking)
    list(JOIN grpc_archives "," grpc_group)
    add_library(collbench_grpc_archives INTERFACE)
    target_link_libraries(collbench_grpc_archives INTERFACE "$<LINK_GROUP:RESCAN,${grpc_group}>"
      ${grpc_needs} Threads::Threads ${CMAKE_DL_LIBS})
    foreach(target gRPC::grpc++ protobuf::libprotobuf)
      set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES collbench_grpc_archives)
    endforeach()
    foreach(configuration "" _NONE _RELEASE _NOCONFIG)
      set_property(TARGET gRPC::grpc++ PROPERTY IMPORTED_LOCATION${configuration}
        ${grpc_folder}/libgrpc++.a)
    endforeach()
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
