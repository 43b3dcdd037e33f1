// Logs of jobs: lines of NCCL Inspector per second, by the scanner that is used and by the events
// of the JSON library, which is the reason for the scanner; entries of Flight Recorder per second.
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/logs/json_members.h"
#include "bench/logs/log_readers.h"
#include "core/json.h"

namespace collbench {
namespace {

constexpr std::string_view inspector_line =
    R"({"header":{"id":"0x5d31c7a90be442","comm_name":"DP Group 0","rank":0,"n_ranks":4,)"
    R"("nnodes":2},"metadata":{"inspector_output_format_version":"v4.0","git_rev":"",)"
    R"("rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1780000000005604,)"
    R"("hostname":"synth-a","pid":4101},"coll_perf":{"coll":"AllReduce","coll_sn":0,)"
    R"("coll_msg_size_bytes":26214400,"coll_exec_time_us":2135,)"
    R"("coll_timing_source":"kernel_gpu","coll_algobw_gbs":12.278407,)"
    R"("coll_busbw_gbs":18.417611}})";

/// Counts scalars, as the scanner does.
struct CountingEvents final : nlohmann::json_sax<nlohmann::json> {
  std::int64_t count = 0;
  bool scalar() { return ++count > 0; }
  bool null() override { return scalar(); }
  bool boolean(bool /*value*/) override { return scalar(); }
  bool number_integer(number_integer_t /*value*/) override { return scalar(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return scalar(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override {
    return scalar();
  }
  bool string(string_t& /*value*/) override { return scalar(); }
  bool binary(binary_t& /*value*/) override { return scalar(); }
  bool start_object(std::size_t /*members*/) override { return true; }
  bool key(string_t& /*value*/) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t /*members*/) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }
};

void line_by_scanner(benchmark::State& state) {
  std::int64_t count = 0;
  for (auto _ : state) {
    for_each_member(inspector_line, [&](std::string_view, std::string_view) { ++count; });
    benchmark::DoNotOptimize(count);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(line_by_scanner);

void line_by_library_events(benchmark::State& state) {
  CountingEvents events;
  for (auto _ : state) {
    nlohmann::json::sax_parse(inspector_line.begin(), inspector_line.end(), &events);
    benchmark::DoNotOptimize(events.count);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(line_by_library_events);

/// The whole reader, a thousand lines at a time.
void inspector_records(benchmark::State& state) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::string(inspector_line) + '\n';
  for (auto _ : state) {
    JobLog job;
    read_log(text, "log", job);
    benchmark::DoNotOptimize(job.records.data());
  }
  state.SetItemsProcessed(1000 * state.iterations());
}
BENCHMARK(inspector_records);

/// The whole reader, of a dump of one of 1,000 ranks.
void flight_recorder_entries(benchmark::State& state) {
  std::string text = R"({"version":"2.10","pg_config":{"0":{"ranks":"[)";
  for (int rank = 0; rank < 1000; ++rank) text += fmt::format("{}{}", rank > 0 ? "," : "", rank);
  text += R"(]"}},"entries":[)";
  for (int i = 0; i < 1000; ++i) {
    text += fmt::format(
        R"({}{{"collective_seq_id":{},"duration_ms":2.1357390880584717,"input_dtypes":["Float"],)"
        R"("input_sizes":[[6553600]],"is_p2p":false,"op_id":{},"output_dtypes":["Float"],)"
        R"("output_sizes":[[6553600]],"pg_id":0,"process_group":["0","default_pg"],)"
        R"("profiling_name":"nccl:all_reduce","record_id":{},"retired":true,"state":"completed",)"
        R"("time_created_ns":1780000000001189120,"timeout_ms":600000}})",
        i > 0 ? "," : "", i + 1, i + 1, i);
  }
  text += "]}";
  for (auto _ : state) {
    JobLog job;
    read_log(text, "rank_7", job);
    benchmark::DoNotOptimize(job.records.data());
  }
  state.SetItemsProcessed(1000 * state.iterations());
}
BENCHMARK(flight_recorder_entries);

}  // namespace
}  // namespace collbench
