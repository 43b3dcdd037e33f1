# The training loop's strategies, the division of its input, and its state.
find_package(nlohmann_json 3.11 REQUIRED)
set(strategy_headers asynchronous_worker.h batch_replicas.h bucket_reducer.h bucket_tuner.h
  checkpoint.h closures.h coordinator_service.h evaluation.h event_file.h gradient_schedule.h
  input_pipeline.h packet.h parameter_server.h remote_coordinator.h remote_variables.h
  replica_threads.h run_messages.h safetensors.h sharding.h step_recorder.h training_state.h
  variable_store.h wire_type.h worker_replicas.h)
set(strategy_sources asynchronous_worker.cc batch_replicas.cc bucket_reducer.cc bucket_tuner.cc
  checkpoint.cc closures.cc coordinator_service.cc evaluation.cc event_file.cc gradient_schedule.cc
  input_pipeline.cc packet.cc parameter_server.cc remote_coordinator.cc remote_variables.cc
  replica_threads.cc run_messages.cc safetensors.cc sharding.cc step_recorder.cc variable_store.cc
  wire_type.cc worker_replicas.cc)
