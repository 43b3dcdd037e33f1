// What is concluded from the records of a job whose truth is known, where a nearby rule would
// conclude something else.
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/job_logged.h"

#include "bench/logs/log_readers.h"
#include "bench/logs/operations.h"
#include "bench/logs/standstill.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double transfer_us = 1000;

TEST(StandstillTest, WhatARankHasIssuedItIsNotMissingFrom) {
  JobLog job;
  for (int rank = 0; rank < 4; ++rank) {
    for (int k = 0; k < 5; ++k) add_record(job, "world", 4, rank, k, transfer_us);
    if (rank != 3) add_record(job, "world", 4, rank, 5, unknown_time, RecordState::started);
  }
  const Standstill found = standstill_of(job, JobRanks(job));
  EXPECT_EQ(found.sequence, 5);
  EXPECT_THAT(found.missing, ElementsAre(3));
}

TEST(StandstillTest, TheCommunicatorThatARankIsMissingFromExplainsTheOthers) {
  for (const bool explaining_is_first : {false, true}) {
    JobLog job;
    const std::string names[] = {explaining_is_first ? "tensor" : "data",
                                 explaining_is_first ? "data" : "tensor"};
    for (const std::string& name : names) {
      for (int rank = 0; rank < 3; ++rank) {
        add_record(job, name, 3, rank, 0, transfer_us);
        const bool is_missing = name == "tensor" && rank == 2;
        if (!is_missing) add_record(job, name, 3, rank, 1, unknown_time, RecordState::started);
      }
    }
    const Standstill found = standstill_of(job, JobRanks(job));
    EXPECT_EQ(found.communicator, "tensor") << explaining_is_first;
    EXPECT_THAT(found.missing, ElementsAre(2)) << explaining_is_first;
  }
}

/// Rank `rank` of 4 has completed the first collective of both communicators and is in the next one
/// of `in`.
void add_rank_in(JobLog& job, const std::string& in, int rank) {
  for (const char* name : {"a", "b"}) add_record(job, name, 4, rank, 0, transfer_us);
  add_record(job, in, 4, rank, 1, unknown_time, RecordState::started);
}

TEST(StandstillTest, WhereEachHalfWaitsForTheOtherNobodyIsMissing) {
  JobLog job;
  for (int rank = 0; rank < 4; ++rank) add_rank_in(job, rank < 2 ? "a" : "b", rank);
  const Standstill found = standstill_of(job, JobRanks(job));
  EXPECT_THAT(found.missing, IsEmpty());
  EXPECT_THAT(found.mismatches, ElementsAre("collective 1 of 'a' by ranks 0, 1",
                                            "collective 1 of 'b' by ranks 2, 3"));
}

TEST(StandstillTest, ThoseThatWaitForARankWithoutALogAreNotMissing) {
  JobLog job;
  // Rank 2 waits in b for rank 3, which has no log; the others wait for both in a.
  for (int rank = 0; rank < 3; ++rank) add_rank_in(job, rank < 2 ? "a" : "b", rank);
  for (int rank = 0; rank < 2; ++rank)
    add_record(job, "b", 4, rank, 1, unknown_time, RecordState::started);
  const Standstill found = standstill_of(job, JobRanks(job));
  EXPECT_EQ(found.communicator, "b");
  EXPECT_THAT(found.missing, IsEmpty());
  EXPECT_THAT(found.unheard, ElementsAre(3));
}

TEST(StandstillTest, PartsOfAnAllToAllMayDiffer) {
  for (const LoggedKind kind : {LoggedKind::all_to_all, LoggedKind::all_reduce}) {
    JobLog job;
    for (int rank = 0; rank < 4; ++rank) {
      add_record(job, "world", 4, rank, 0, unknown_time, RecordState::started);
      job.records.back().kind = kind;
      job.records.back().bytes = 1000 + rank;
    }
    EXPECT_EQ(standstill_of(job, JobRanks(job)).mismatches.empty(), kind == LoggedKind::all_to_all);
  }
}

std::string ras_text(const std::string& warnings) {
  return "Job summary\n===========\n\nCommunicators... (0.00s)\n=============\n\n"
         "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
         "    #  in group  per comm  per node  per comm  in group\n"
         "    0         1         2       1-3         4         4   RUNNING  MISMATCH\n"
         "\nErrors\n======\n\nWarnings\n========\n\n"
         "#0-0 (5d31c7a90be44201) MISMATCH\n" +
         warnings;
}

Standstill standstill_of_ras(const std::string& text, JobLog& job) {
  read_log(text, "ras.txt", job);
  return standstill_of(job, JobRanks(job));
}

TEST(RasTextTest, RanksThatAreNotNamedHaveTheCountThatIsLeft) {
  JobLog job;
  const Standstill found = standstill_of_ras(
      ras_text(
          "  Communicator ranks have different AllReduce operation counts\n"
          "  2 ranks have launched up to operation 1208\n"
          "  2 ranks have launched up to operation 1207\n"
          "  Rank 1 -- GPU 1 managed by process 4102 on node 10.0.0.1\n"
          "  Rank 3 -- GPU 1 managed by process 7302 on node 10.0.0.2\n"
          "  Communicator ranks have different Broadcast operation counts\n"
          "  3 ranks have not launched any operations\n"
          "  Rank 0 has launched up to operation 1 -- GPU 0 managed by process 4101 on node a\n"),
      job);
  EXPECT_EQ(job.issued.size(), 8U);
  EXPECT_THAT(found.behind, ElementsAre(1, 2, 3));
  EXPECT_THAT(job.left_out, IsEmpty());
}

TEST(RasTextTest, CountsWhoseRanksAreNotSaidAreLeftOut) {
  JobLog job;
  const Standstill found =
      standstill_of_ras(ras_text("  Communicator ranks have different AllReduce operation counts\n"
                                 "  2 ranks have launched up to operation 1208\n"
                                 "  2 ranks have launched up to operation 1207\n"),
                        job);
  EXPECT_THAT(found.behind, IsEmpty());
  ASSERT_EQ(job.left_out.size(), 1U);
  EXPECT_EQ(job.left_out.begin()->second, 4);
}

TEST(RasTextTest, MissingRanksAreNamedAndACutTextIsCounted) {
  JobLog job;
  std::string text = ras_text("");
  text.insert(text.find("\nWarnings"),
              "#0-0 (5d31c7a90be44201) INCOMPLETE\n  Missing communicator data from 1 rank\n"
              "  Rank 3 -- GPU 1 managed by process 7302 on node 10.0.0.2\n");
  standstill_of_ras(text.substr(0, text.find("Warnings")), job);
  EXPECT_THAT(job.missing_ranks, ElementsAre(3));
  EXPECT_EQ(job.left_out.size(), 1U) << "the end is missing";
}

TEST(RasTextTest, NothingThatDiffersIsSaidToo) {
  JobLog job;
  std::string text = ras_text("");
  text.erase(text.find("#0-0"));
  EXPECT_THAT(standstill_of_ras(text, job).behind, IsEmpty());
  EXPECT_THAT(job.notes, ElementsAre(testing::HasSubstr("as many collectives on all ranks")));
}

TEST(FileNamesTest, TheNumberBehindRankIsTheRankAndDatesAndProcessesAreNone) {
  EXPECT_EQ(rank_in_name("7/nccl_trace_rank_3"), 3);
  EXPECT_EQ(rank_in_name("rank12.20261124.pt.trace.json"), 12);
  EXPECT_EQ(rank_in_name("fr_Rank=5_1780000000.json"), 5);
  EXPECT_EQ(rank_in_name("ddp.2.et"), 2);
  EXPECT_EQ(rank_in_name("resnet_2gpu_et.json"), -1);
  EXPECT_EQ(rank_in_name("host-a_41017.1780000000123.pt.trace.json"), -1);
  EXPECT_EQ(rank_in_name("ranks/trace"), -1);
  JobLog job;
  for (const int expected : {0, 1}) {
    const int process = job.process(fmt::format("file {}", expected));
    job.processes[static_cast<std::size_t>(process)].rank = rank_of_file("trace", job);
    EXPECT_EQ(job.processes[static_cast<std::size_t>(process)].rank, expected);
  }
  EXPECT_EQ(job.notes.size(), 1U);
}

/// A kernel with its arguments, and what asked for it with its place in the group.
std::string kineto_without_rank(int place, double duration_us) {
  return fmt::format(
      R"({{"traceEvents":[{{"ph":"X","cat":"cpu_op","name":"record_param_comms","ts":1,"dur":1,)"
      R"("args":{{"External id":9,"Rank":{},"Process Group Ranks":"[2, 5]","Seq":1}}}},)"
      R"({{"ph":"X","cat":"kernel","name":"ncclDevKernel_x","ts":10,"dur":{},"args":{{)"
      R"("Collective name":"allreduce","In msg nelems":1048576,"dtype":"Float","Group size":2,)"
      R"("Process Group Name":"0","Process Group Ranks":"[2, 5]","Seq":1}}}}]}})",
      place, duration_us);
}

TEST(KinetoTest, WithoutDistributedInfoThePlaceInTheLargestGroupIsTheRank) {
  JobLog job;
  read_log(kineto_without_rank(1, 100), "host_41017.1780000000123.pt.trace.json", job);
  read_log(kineto_without_rank(0, 900), "host_41018.1780000000124.pt.trace.json", job);
  ASSERT_EQ(job.records.size(), 2U);
  const std::vector<JobOperation> all = operations_of(job);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(JobRanks(job).in_job(all[0].any().communicator, all[0].last), 5);
}

// 2.14 and before: no id, and two communicators of one process with the same sequence numbers.
TEST(InspectorMetricsTest, TheProtocolIsTheLastWordOfTheChoice) {
  JobLog job;
  read_log(
      "nccl_collective_exec_time_microseconds{version=\"v5.1\",node=\"a\",gpu=\"GPU0\","
      "comm_name=\"w\",n_nodes=\"2\",nranks=\"16\",collective=\"AllReduce\","
      "message_size=\"25-26MB\",algo_proto=\"NVLS_TREE_SIMPLE\"} 812.5\n",
      "m.prom", job);
  ASSERT_EQ(job.records.size(), 1U);
  EXPECT_EQ(job.words[job.records[0].algorithm], "nvls_tree");
  EXPECT_EQ(job.words[job.records[0].protocol], "simple");
}

TEST(InspectorMetricsTest, EachGpuHasAFileAndARankOfItsOwnAndEachWayAMean) {
  JobLog job;
  for (const int gpu : {0, 1}) {
    std::string text;
    for (const char* way : {"RING_SIMPLE", "NVLS_SIMPLE", "RING_LL128"}) {
      text += fmt::format(
          "nccl_collective_exec_time_microseconds{{node=\"a\",gpu=\"GPU{}\","
          "comm_name=\"w\",n_nodes=\"2\",nranks=\"16\",algo_proto=\"{}\","
          "collective=\"AllReduce\",message_size=\"25-26MB\"}} 81{}\n",
          gpu, way, gpu);
    }
    read_log(text, fmt::format("metrics_{}.prom", gpu), job);
  }
  const std::vector<JobOperation> all = operations_of(job);
  ASSERT_EQ(all.size(), 3U);
  for (const JobOperation& each : all) EXPECT_EQ(each.records.size(), 2U);
  EXPECT_EQ(job.mixed, "");
}

TEST(ChakraTest, PyTorchsOwnNodesAreReadAndTheRootThatNeedsItselfIsNoCycle) {
  JobLog job;
  read_log(R"({"schema": "1.1.1-chakra.0.0.4", "pid": 7, "nodes": [)"
           R"({"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1,)"
           R"("attrs": []},)"
           R"({"id": 5, "name": "record_param_comms", "ctrl_deps": 1, "attrs": [)"
           R"({"name": "collective_name", "type": "string", "value": "_reduce_scatter_base"},)"
           R"({"name": "dtype", "type": "string", "value": "BFloat16"},)"
           R"({"name": "in_msg_nelems", "type": "uint64", "value": 4096},)"
           R"({"name": "out_msg_nelems", "type": "uint64", "value": 1024},)"
           R"({"name": "pg_name", "type": "string", "value": "0"}]}]})",
           "host_3.json", job);
  ASSERT_EQ(job.records.size(), 1U);
  EXPECT_EQ(job.records[0].kind, LoggedKind::reduce_scatter);
  EXPECT_EQ(job.records[0].bytes, 2048) << "the part of one rank";
  EXPECT_EQ(job.records[0].rank, 3);
  EXPECT_TRUE(job.programs.at(0).acyclic);
  EXPECT_EQ(job.programs.at(0).compute_nodes, -1) << "no node says what it is";
}

TEST(ChakraTest, ThatDurationsAreNotUsedIsSaidWhereThereAreSome) {
  const auto notes = [](const char* runtime) {
    JobLog job;
    read_log(
        fmt::format(R"({{"workload_graph":[{{"Id":1,"Name":"x","NodeType":7,"runtime":{}}}]}})",
                    runtime),
        "a.0.json", job);
    return job.notes;
  };
  EXPECT_THAT(notes("0"), IsEmpty());
  EXPECT_THAT(notes("7"), ElementsAre(testing::HasSubstr("durations of Chakra's nodes")));
}

TEST(ChakraTest, CallsThatLaunchADevicesCollectiveAreNoneThemselvesAndNamesSayTheKind) {
  const auto kinds_of = [](const std::string& nodes) {
    JobLog job;
    read_log("{\"workload_graph\":[" + nodes + "]}", "a.0.json", job);
    std::vector<LoggedKind> kinds;
    for (const LogRecord& record : job.records) kinds.push_back(record.kind);
    return kinds;
  };
  const std::string call = R"({"Id":1,"Name":"c10d::broadcast_","NodeType":7,"is_cpu_op":true})";
  const std::string kernel =
      R"(,{"Id":2,"Name":"ncclKernel_Broadcast_RING","NodeType":7,"is_cpu_op":false})";
  const std::string unnamed = R"(,{"Id":3,"Name":"x","NodeType":7,"is_cpu_op":false})";
  EXPECT_THAT(kinds_of(call), ElementsAre(LoggedKind::broadcast)) << "of processors only";
  EXPECT_THAT(kinds_of(call + kernel + unnamed),
              ElementsAre(LoggedKind::broadcast, LoggedKind::all_reduce));
}

TEST(ChakraTest, TheMetadataMayHaveAttributesInPlaceOfAVersion) {
  // GlobalMetadata{2 {1 "pid", 9 38}}, then two nodes: {1 id, 2 name, 3 type 7, 10 {name, value}}.
  const std::string metadata("\x09\x12\x07\x0a\x03pid\x48\x26", 10);
  const std::string is_call("\x52\x0e\x0a\x09is_cpu_op\xd8\x01\x01", 16);
  const std::string size(
      "\x52\x0e\x0a\x09"
      "comm_size\x48\x80\x08",
      16);
  const std::string call =
      "\x08\x01\x12\x01"
      "a\x18\x07" +
      is_call;
  const std::string kernel =
      "\x08\x02\x12\x0bncclAllGath"
      "\x18\x07" +
      size;
  std::string trace = metadata;
  for (const std::string& node : {call, kernel}) trace += static_cast<char>(node.size()) + node;
  JobLog job;
  read_log(trace, "a.0.et", job);
  ASSERT_EQ(job.records.size(), 1U);
  EXPECT_EQ(job.records[0].bytes, 1024);
}

/// "\x80\x01" of 128: a length or key of protobuf.
std::string varint(std::size_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

// astra-sim/astra-sim, examples/system/custom_collectives: 26 kB of XML stand before the nodes.
TEST(ChakraTest, TheMetadataMayHoldAWholeFile) {
  const std::string xml(30000, 'x');
  const std::string attribute =
      "\x0a\x0ainput_file" + varint(29 << 3 | 2) + varint(xml.size()) + xml;
  const std::string metadata = "\x12" + varint(attribute.size()) + attribute;
  const std::string node =
      "\x08\x01\x12\x01"
      "a\x18\x07";
  JobLog job;
  read_log(varint(metadata.size()) + metadata + varint(node.size()) + node, "a.0.et", job);
  EXPECT_THAT(job.formats, ElementsAre("Chakra"));
  EXPECT_EQ(job.records.size(), 1U);
}

TEST(NcclDebugTest, OldVersionsJoinCommunicatorsByOrder) {
  JobLog job;
  std::string text;
  for (int rank = 0; rank < 2; ++rank) {
    const std::string head = fmt::format("h{}:{}:{} [0] NCCL INFO ", rank, 10 + rank, 20 + rank);
    for (const char* comm : {"a0", "b0"}) {
      text += fmt::format("{}comm 0x{}{} rank {} nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\n",
                          head, comm, rank, rank);
    }
    for (const char* comm : {"a0", "b0"}) {
      text += fmt::format(
          "{}AllReduce: opCount 1f sendbuff 0x1 recvbuff 0x2 count {} datatype 7 op 0 root 0 comm "
          "0x{}{} [nranks=2] stream 0x3\n",
          head, comm[0] == 'a' ? 1024 : 2048, comm, rank);
    }
  }
  read_log(text, "log", job);
  EXPECT_EQ(job.records.size(), 4U);
  const std::vector<JobOperation> all = operations_of(job);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].records.size(), 2U);
  EXPECT_EQ(all[0].any().bytes, 4096);
  EXPECT_EQ(all[1].any().bytes, 8192);
  EXPECT_THAT(job.left_out, IsEmpty());
  EXPECT_EQ(job.notes.size(), 1U);
}

TEST(NcclDebugTest, AFarAdapterWithoutGpuDirectIsNoFaultAndOldWordsForSharedMemoryAre) {
  JobLog job;
  read_log(
      "a:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for GPU 4[4] / HCA 0 (distance 4 > "
      "3)\n"
      "a:1:2 [0] NCCL INFO Channel 00 : 3[3] -> 4[4] [send] via NET/IB/0/GDRDMA\n"
      "b:1:2 [0] NCCL INFO Ring 00 : 0[0] -> 1[1] via direct shared memory\n",
      "log", job);
  EXPECT_EQ(job.hosts.at("a").direct_disabled, 0);
  EXPECT_EQ(job.hosts.at("a").direct_channels, 1);
  EXPECT_FALSE(job.hosts.at("a").through_host);
  EXPECT_TRUE(job.hosts.at("b").through_host);
}

TEST(KinetoTest, WhatIsGatheredOrScatteredCountsByThePartOfOneRank) {
  const auto bytes = [](const std::string& name, int in, int out) {
    JobLog job;
    read_log(
        fmt::format(R"({{"distributedInfo":{{"rank":0,"world_size":4}},"traceEvents":[)"
                    R"({{"ph":"X","cat":"kernel","name":"ncclDevKernel_x","ts":10,"dur":5,)"
                    R"("args":{{"Collective name":"{}","In msg nelems":{},"Out msg nelems":{},)"
                    R"("dtype":"Float","Group size":4,"Process Group Name":"0"}}}}]}})",
                    name, in, out),
        "rank0.json", job);
    return job.records.at(0).bytes;
  };
  EXPECT_EQ(bytes("_allgather_base", 100, 400), 400);
  EXPECT_EQ(bytes("reduce_scatter_tensor", 400, 100), 400);
  EXPECT_EQ(bytes("allreduce", 400, 400), 1600);
}

}  // namespace
}  // namespace collbench
