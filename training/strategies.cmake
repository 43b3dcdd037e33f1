# The training loop's strategies, the division of its input, and its state.
find_package(nlohmann_json 3.11 REQUIRED)
set(strategy_headers bucket_reducer.h checkpoint.h crc32c.h evaluation.h event_file.h
  gradient_schedule.h input_pipeline.h parameter_server.h safetensors.h sharding.h
  training_state.h wire_type.h)
set(strategy_sources bucket_reducer.cc checkpoint.cc crc32c.cc evaluation.cc event_file.cc
  gradient_schedule.cc input_pipeline.cc parameter_server.cc safetensors.cc sharding.cc
  wire_type.cc)
