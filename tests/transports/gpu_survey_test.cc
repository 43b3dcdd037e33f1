#include "transports/nccl/gpu_survey.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topologies/draw/draw.h"
#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

GpuSurvey survey_of(const char* machine) {
  ::setenv("COLLBENCH_NVML_LIBRARY", GPU_STAND_IN, 1);
  ::setenv("STAND_IN_MACHINE", machine, 1);
  const GpuSurvey survey = survey_gpus();
  ::unsetenv("STAND_IN_MACHINE");
  ::unsetenv("COLLBENCH_NVML_LIBRARY");
  return survey;
}

TEST(GpuSurveyTest, KnowsTheGpusOfALargeMachine) {
  const GpuSurvey survey = survey_of("8xh100");
  ASSERT_EQ(survey.gpus.size(), 8U);
  EXPECT_EQ(survey.driver, "580.65.06");
  const GpuFacts& gpu = survey.gpus[5];
  EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.bus_id, "0000:60:00.0");
  EXPECT_EQ(gpu.sm, 90);
  EXPECT_EQ(gpu.switch_links, 18);
  EXPECT_THAT(gpu.peer_links, IsEmpty());
  EXPECT_EQ(gpu.cpus, "8-15");
  EXPECT_EQ(gpu.numa_node, 1);
  EXPECT_EQ(gpu.pcie_generation, 5);
  EXPECT_EQ(gpu.power_limit_w, 700);
  EXPECT_EQ(gpu.ecc, 1);
  EXPECT_EQ(gpu.mig, 0);
  EXPECT_EQ(survey.relations[0][0], "X");
  EXPECT_EQ(survey.relations[0][7], "NV18");
}

TEST(GpuSurveyTest, CountsLinksBetweenPairsAndDistancesOnPci) {
  const GpuSurvey pair = survey_of("2xv100");
  EXPECT_EQ(pair.relations[0][1], "NV2");
  EXPECT_EQ(pair.gpus[0].mig, -1);
  const GpuSurvey pcie = survey_of("4xa40");
  EXPECT_THAT(pcie.relations[0], ElementsAre("X", "PIX", "SYS", "SYS"));
}

TEST(GpuSurveyTest, SaysWhyNothingIsKnown) {
  EXPECT_THAT(survey_of("none").unavailable, HasSubstr("nvmlInit failed: Driver Not Loaded"));
  ::setenv("COLLBENCH_NVML_LIBRARY", "/nonexistent/libnvidia-ml.so.1", 1);
  EXPECT_THAT(survey_gpus().unavailable, HasSubstr("/nonexistent/libnvidia-ml.so.1"));
  ::setenv("COLLBENCH_NVML_LIBRARY", "libm.so.6", 1);
  EXPECT_THAT(survey_gpus().unavailable, HasSubstr("has no nvmlInit_v2"));
  ::unsetenv("COLLBENCH_NVML_LIBRARY");
}

TEST(GpuSurveyTest, ItsMatrixIsReadAsThatOfNvidiaSmi) {
  const Machine read = from_nvidia_smi(topology_matrix(survey_of("8xh100")), "matrix.txt");
  const std::string published =
      "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\t X \tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\t0-7\t0\n"
      "GPU1\tNV18\t X \tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\t0-7\t0\n"
      "GPU2\tNV18\tNV18\t X \tNV18\tNV18\tNV18\tNV18\tNV18\t0-7\t0\n"
      "GPU3\tNV18\tNV18\tNV18\t X \tNV18\tNV18\tNV18\tNV18\t0-7\t0\n"
      "GPU4\tNV18\tNV18\tNV18\tNV18\t X \tNV18\tNV18\tNV18\t8-15\t1\n"
      "GPU5\tNV18\tNV18\tNV18\tNV18\tNV18\t X \tNV18\tNV18\t8-15\t1\n"
      "GPU6\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\t X \tNV18\t8-15\t1\n"
      "GPU7\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\t X \t8-15\t1\n";
  const Machine expected = from_nvidia_smi(published, "matrix.txt");
  EXPECT_EQ(to_toml(read), to_toml(expected));
}

TEST(GpuEnvironmentTest, GivesOneValueWhereAllGpusAgreeAndAListWhereNot) {
  const auto environment = gpu_environment(survey_of("8xh100"));
  EXPECT_THAT(environment, testing::Contains(Pair("gpu", "NVIDIA H100 80GB HBM3")));
  EXPECT_THAT(environment, testing::Contains(Pair("gpu_count", "8")));
  EXPECT_THAT(environment,
              testing::Contains(Pair("gpu_clocks", "SM 1920 of 1980 MHz, memory 2619 MHz")));
  EXPECT_THAT(environment, testing::Contains(Pair("gpu_power_limit", "700 W")));
  EXPECT_THAT(
      environment,
      testing::Contains(Pair("gpu_slowed_by", "gpu 0-2,4-7: nothing; gpu 3: thermal (software)")));
  EXPECT_THAT(environment, testing::Contains(Pair("gpu_mig", "off")));
  for (const auto& [key, value] : environment) {
    EXPECT_THAT(value, testing::Not(HasSubstr("UUID"))) << key;
  }
  EXPECT_THAT(gpu_environment(survey_of("none")), IsEmpty());
}

TEST(GpuEnvironmentTest, TellsWhichGpuWasSlowedDownByTheNumberThatCudaGivesIt) {
  using Ids = std::vector<std::string>;
  const GpuSurvey survey = survey_of("8xh100");
  EXPECT_THAT(slowed_gpus(survey, Ids{"0000:60:00.0", "0000:40:00.0"}),
              ElementsAre("gpu:1 (0000:40:00.0) was slowed down: thermal (software)"));
  for (const Ids& without : {Ids{}, Ids{"0000:60:00.0", "0000:50:00.0"}}) {
    EXPECT_THAT(slowed_gpus(survey, without),
                ElementsAre("gpu 3 of nvidia-smi (0000:40:00.0) was slowed down: thermal "
                            "(software)"));
  }
  EXPECT_THAT(slowed_gpus(survey_of("h200"), Ids{}), IsEmpty());
}

}  // namespace
}  // namespace collbench
