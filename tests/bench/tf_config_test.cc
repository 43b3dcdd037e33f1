#include "transports/world/tf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string task(const std::string& type, const std::string& index) {
  return R"("task":{"type":")" + type + R"(","index":)" + index + "}";
}
const std::string cluster =
    R"("cluster":{"chief":["a:1"],"worker":["b:2","c:3"],"ps":["d:4"],"evaluator":["e:5"]})";
const std::string workers = R"("cluster":{"worker":["b:2","c:3"]})";

TEST(TfConfigTest, TheChiefComesFirstThenTheWorkersByIndex) {
  const std::string mirrored = R"({"cluster":{"worker":["b:2","c:3"],"chief":["a:1"]},)";
  const MirroredPlace chief = mirrored_place(parse_tf_config(mirrored + task("chief", "0") + "}"));
  EXPECT_EQ(chief.rank, 0);
  EXPECT_THAT(chief.hosts, ElementsAre("a:1", "b:2", "c:3"));
  const MirroredPlace last = mirrored_place(parse_tf_config(mirrored + task("worker", "1") + "}"));
  EXPECT_EQ(last.rank, 2);
  EXPECT_EQ(last.hosts, chief.hosts);
}

TEST(TfConfigTest, ASparseJobAndAnIndexInQuotesAreAccepted) {
  const TfConfig config = parse_tf_config(
      R"({"cluster":{"worker":{"1":"c:3","0":"b:2"}},"task":{"type":"worker","index":"1"},)"
      R"("rpc_layer":"grpc","environment":"cloud","other":[1]})");
  EXPECT_EQ(config.task_index, 1);
  EXPECT_THAT(mirrored_place(config).hosts, ElementsAre("b:2", "c:3"));
}

TEST(TfConfigTest, AnIndexIsWhatPythonsIntMakesOfIt) {
  for (const char* index : {"1", "1.0", "1.7", "true", R"(" 1 ")"}) {
    EXPECT_EQ(parse_tf_config("{" + workers + "," + task("worker", index) + "}").task_index, 1)
        << index;
  }
  EXPECT_EQ(parse_tf_config("{" + workers + "," + task("worker", "-0.7") + "}").task_index, 0);
}

TEST(TfConfigTest, WithoutAClusterThereIsASingleWorker) {
  for (const char* text : {"{}", R"({"cluster":{}})", R"({"cluster":{"worker":[]}})",
                           R"({"cluster":null,"task":{"type":"worker","index":3}})"}) {
    EXPECT_TRUE(mirrored_place(parse_tf_config(text)).hosts.empty()) << text;
  }
}

TEST(TfConfigTest, AnEvaluatorNeedNotBeInTheClusterAndIsNoWorker) {
  EXPECT_TRUE(mirrored_place(parse_tf_config("{" + workers + "," + task("evaluator", "0") + "}"))
                  .evaluator);
  EXPECT_TRUE(
      parameter_server_place(parse_tf_config("{" + cluster + "," + task("evaluator", "0") + "}"))
          .evaluator);
}

TEST(TfConfigTest, ServersComeAfterTheWorkers) {
  const auto place =
      parameter_server_place(parse_tf_config("{" + cluster + "," + task("ps", "0") + "}"));
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.workers, 2);
  EXPECT_THAT(place.hosts, ElementsAre("a:1", "b:2", "c:3", "d:4"));
}

TEST(TfConfigTest, RefusesInTheWordsOfTensorFlow) {
  struct Case {
    std::string text;
    const char* words;
  };
  const Case cases[] = {
      {"{", "TF_CONFIG is not JSON"},
      {"[]", "must be a JSON object"},
      {"{" + workers + "}",
       "When `cluster_spec` is given, you must also specify `task_type` and `task_id`."},
      {"{" + workers + R"(,"task":{"type":"worker"}})", "you must also specify"},
      {R"({"cluster":{"boss":["a:1"]},)" + task("worker", "0") + "}",
       "Disallowed task type found in cluster spec. Allowed types are ('chief', 'worker', "
       "'evaluator', 'ps', None) and the cluster spec has 'boss'"},
      {"{" + workers + "," + task("boss", "0") + "}",
       "Unrecognized task_type: boss, valid task types are: ('chief'"},
      {"{" + workers + "," + task("chief", "0") + "}",
       "`task_type` 'chief' not found in cluster_spec."},
      {R"({"cluster":{"chief":["a:1","b:1"]},)" + task("chief", "0") + "}",
       "There must be at most one 'chief' job."},
      {R"({"cluster":{"worker":["c:1"],"evaluator":["a:1","b:1"]},)" + task("worker", "0") + "}",
       "There must be at most one 'evaluator' job."},
      {"{" + workers + "," + task("worker", "3") + "}",
       "The `task_id` 3 exceeds the maximum id of worker."},
      {"{" + workers + "," + task("worker", "-1") + "}", "the index of the task must be 0 to"},
      {"{" + workers + "," + task("worker", R"("1.5")") + "}",
       "must be a whole number, not \"1.5\""},
      {"{" + workers + "," + task("worker", "1e300") + "}", "the index of the task must be 0 to"},
      {R"({"cluster":{"worker":["127.0.0.1:1","localhost:1"]},)" + task("worker", "0") + "}",
       "the address 'localhost:1' is listed twice, also as '127.0.0.1:1'"},
      {R"({"cluster":{"worker":"a:1"},)" + task("worker", "0") + "}",
       "The tasks for job 'worker' must be a list or a dictionary from integers to strings."},
      {R"({"cluster":{"worker":["a"]},)" + task("worker", "0") + "}",
       "Could not parse port for local server from \"a\"."},
      {R"({"cluster":{"worker":["a:70000"]},)" + task("worker", "0") + "}", "from \"a:70000\""},
      {R"({"cluster":{"worker":["a:1","a:1"]},)" + task("worker", "0") + "}",
       "the address 'a:1' is listed twice"},
      {R"({"cluster":{"worker":{"0":"a:1","2":"b:1"}},)" + task("worker", "0") + "}",
       "job 'worker' has 2 tasks, but one with index 2"},
      {R"({"cluster":{"worker":["a:1"]},"rpc_layer":"grpcs",)" + task("worker", "0") + "}",
       "`rpc_layer` can only be"},
  };
  for (const Case& wrong : cases) {
    EXPECT_THAT([&] { parse_tf_config(wrong.text); },
                ThrowsMessage<InvalidArgument>(HasSubstr(wrong.words)))
        << wrong.text;
  }
}

TEST(TfConfigTest, MirroredWorkersHaveNoServersAndServersNeedWorkers) {
  EXPECT_THAT([&] { mirrored_place(parse_tf_config("{" + cluster + "," + task("ps", "0") + "}")); },
              ThrowsMessage<InvalidArgument>(HasSubstr("Unexpected `task_type` 'ps'")));
  EXPECT_THAT(
      [&] { mirrored_place(parse_tf_config("{" + cluster + "," + task("worker", "0") + "}")); },
      ThrowsMessage<InvalidArgument>(HasSubstr("the cluster has a job 'ps'")));
  EXPECT_THAT(
      [&] {
        parameter_server_place(parse_tf_config("{" + workers + "," + task("worker", "0") + "}"));
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("There must be at least one ps.")));
  EXPECT_THAT(
      [&] {
        parameter_server_place(
            parse_tf_config(R"({"cluster":{"ps":["a:1"]},)" + task("ps", "0") + "}"));
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("There must be at least one worker.")));
  EXPECT_THAT(
      [&] {
        parameter_server_place(parse_tf_config(R"({"cluster":{"worker":["b:1"],"ps":["a:1"]},)" +
                                               task("ps", "0") + "}"));
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("There must be a chief")));
}

}  // namespace
}  // namespace collbench
