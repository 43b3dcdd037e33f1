#include "training/workloads/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/flipped_bits.h"

#include "core/error.h"
#include "training/workloads/workload_profile.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::string header = "layer,kind,tensors,forward_flops,activations\n";
const std::string timed =
    "# batch: 4\n# device: cpu\n# optimizer_us: 7.5\n"
    "layer,kind,tensors,forward_flops,activations,forward_us,weight_us,input_us\n";

TEST(WorkloadTest, ShippedTablesHaveThePublishedNumbersOfParametersAndTensors) {
  struct Published {
    const char* name;
    std::int64_t parameters;
    std::size_t tensors;
  };
  for (const Published& published : {Published{"resnet50", 25'557'032, 161},
                                     {"resnet152", 60'192'808, 467},
                                     {"vgg16", 138'357'544, 32},
                                     {"bert-large-s128", 336'226'108, 398},
                                     {"llama2-70b", 68'976'648'192, 723}}) {
    const Workload workload = find_workload(published.name);
    EXPECT_EQ(workload.parameters(), published.parameters) << published.name;
    EXPECT_EQ(tensors_of(workload).size(), published.tensors) << published.name;
  }
  EXPECT_GE(shipped_workloads().size(), 22U);
}

TEST(WorkloadTest, EveryShippedTableIsReadAndSurvivesWriting) {
  for (const std::string& name : shipped_workloads()) {
    const std::string table = to_table(find_workload(name));
    EXPECT_EQ(to_table(parse_workload(table, name)), table) << name;
  }
}

TEST(WorkloadTest, ADamagedTableIsRefused) {
  const std::string table = to_table(find_workload("mnist-cnn"));
  for_each_flipped_bit(table, table.find('\n') + 1, 1,
                       [](const std::string& damaged, std::size_t at) {
                         EXPECT_THROW(parse_workload(damaged, "x"), InvalidArgument) << at;
                       });
}

TEST(WorkloadTest, TensorsComeFromTheLastLayerToTheFirstWithoutGaps) {
  const auto tensors = tensors_of(
      parse_workload(header + "a,conv,6+2,10,3\nb,relu,,1,3\n" + "c,linear,4+1,8,1\n", "x"));
  ASSERT_EQ(tensors.size(), 4U);
  EXPECT_EQ(tensors[0].name, "c/1");
  EXPECT_EQ(tensors[1].name, "c/0");
  EXPECT_EQ(tensors[2].name, "a/1");
  EXPECT_EQ(tensors[3].name, "a/0");
  EXPECT_EQ(tensors[3].first, 7);
  EXPECT_EQ(tensors[3].count, 6);
  EXPECT_EQ(tensors[2].layer, 0);
}

TEST(WorkloadTest, AModelOfOursHasTheLayersOfItsShippedTable) {
  for (const auto& [model, table] :
       {std::pair{"resnet56", "resnet56-cifar"}, {"resnet20", "resnet20-cifar"}}) {
    const Workload ours = workload_of(make_model(model));
    const Workload shipped = find_workload(table);
    ASSERT_EQ(ours.layers.size(), shipped.layers.size());
    for (std::size_t i = 0; i < ours.layers.size(); ++i) {
      const WorkloadLayer& layer = ours.layers[i];
      EXPECT_EQ(layer.kind, shipped.layers[i].kind) << layer.name;
      EXPECT_EQ(layer.tensors, shipped.layers[i].tensors) << layer.name;
      EXPECT_EQ(layer.forward_flops, shipped.layers[i].forward_flops) << layer.name;
      EXPECT_EQ(layer.activations, shipped.layers[i].activations) << layer.name;
    }
  }
}

TEST(WorkloadTest, MeasuredTimesAreReadAndWritten) {
  const Workload workload = parse_workload(timed + "a,conv,6,10,3,1.5,2,0\n", "x");
  ASSERT_TRUE(workload.measured.has_value());
  EXPECT_EQ(workload.measured->batch, 4);
  EXPECT_DOUBLE_EQ(workload.measured->layers[0].weight.count(), 2e-6);
  EXPECT_DOUBLE_EQ(workload.measured->optimizer.count(), 7.5e-6);
  EXPECT_EQ(to_table(parse_workload(to_table(workload), "x")), to_table(workload));
}

TEST(WorkloadTest, MalformedTablesAreRefusedWithTheirLine) {
  const auto refuses = [](const std::string& text, const char* message) {
    EXPECT_THAT([&] { parse_workload(text, "x"); },
                ThrowsMessage<InvalidArgument>(HasSubstr(message)))
        << text;
  };
  refuses("", "no row that names its columns");
  refuses(header, "has no layers");
  refuses(header + "a,conv,,1,1\n", "has no parameters");
  refuses("layer,kind\n", "x:1: the columns are layer,kind,tensors");
  refuses(header + "a,conv,6\n", "x:2: 3 cells, but 5 columns");
  refuses(header + "a,conv,6+,1,1\n", "x:2: '' is not a number of elements");
  refuses(header + "a,conv,0,1,1\n", "'0' is not a number of elements");
  refuses(header + "a,conv,6,-1,1\n", "forward_flops '-1'");
  refuses(header + "a,conv,6,nan,1\n", "forward_flops 'nan'");
  refuses(header + "a\"b,conv,6,1,1\n", "neither quotes nor backslashes");
  refuses(header + "a,conv,1099511627776,1,1\nb,conv,1,1,1\n", "at most 2^40");
  refuses("# parameters: 5\n" + header + "a,conv,6,1,1\n", "its tensors have 6");
  const std::string columns = timed.substr(timed.find("layer"));
  refuses(columns + "a,conv,6,1,1,1,1,1\n", "batch");
  refuses("# batch: 4\n" + columns + "a,conv,6,1,1,0,0,0\n", "has times, but all of them are 0");
}

TEST(WorkloadTest, AnUnknownNameGetsASuggestion) {
  EXPECT_THAT([] { find_workload("resnet51"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("Did you mean 'resnet50'?")));
  EXPECT_THROW(find_workload("./no-such-table.csv"), Unavailable);
}

}  // namespace
}  // namespace collbench
