// Rates that imports assume where a file has none: those of the standards, by their own formulas.
#include "topologies/import/rates.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench {
namespace {

using testing::HasSubstr;

double GBps(const LinkClass& link) { return link.nominal.bytes_per_second / 1e9; }

TEST(RatesTest, PciExpressHasTheRateOfItsCoding) {
  // GT/s of a lane, and what its coding leaves of them: 8b/10b, 128b/130b, 242 of 256 bytes of a
  // flit. PCI-SIG, Base Specification 6.0.
  const struct {
    double gigatransfers;
    double coding;
  } generations[] = {{2.5, 0.8},        {5, 0.8},          {8, 128.0 / 130},
                     {16, 128.0 / 130}, {32, 128.0 / 130}, {64, 242.0 / 256}};
  double before = 0;
  for (const auto& one : generations) {
    for (const int width : {1, 4, 8, 16}) {
      const double expected = one.gigatransfers * one.coding / 8 * width;
      EXPECT_NEAR(GBps(pcie_class(one.gigatransfers, width)) / expected, 1, 1e-3)
          << one.gigatransfers << " GT/s x" << width;
    }
    EXPECT_GT(GBps(pcie_class(one.gigatransfers, 16)), 1.9 * before) << "twice the one before";
    before = GBps(pcie_class(one.gigatransfers, 16));
  }
}

TEST(RatesTest, ASpeedBetweenTwoGenerationsIsOfTheNext) {
  EXPECT_EQ(pcie_class(15.75, 16).name, pcie_class(16, 16).name);
  EXPECT_EQ(pcie_class(8.01, 16).name, pcie_class(16, 16).name);
}

TEST(RatesTest, WhatPciExpressDoesNotSayIsAssumedAndCalledSo) {
  EXPECT_DOUBLE_EQ(GBps(pcie_class(0, 0)), GBps(pcie_class(8, 16)));
  EXPECT_THAT(pcie_class(0, 16).source, HasSubstr("assumed"));
  EXPECT_THAT(pcie_class(8, 0).source, HasSubstr("assumed"));
  EXPECT_THAT(pcie_class(8, 16).source, testing::Not(HasSubstr("assumed")));
}

TEST(RatesTest, NvlinkReachesLessThanItsNominalRateOnEveryGeneration) {
  double before = 0;
  for (const int sm : {60, 70, 80, 90, 100}) {
    const LinkClass link = nvlink_class(sm);
    EXPECT_GT(link.efficiency, 0.7) << sm;
    EXPECT_LT(link.efficiency, 1) << sm;
    EXPECT_GE(GBps(link) * link.efficiency, before) << sm << " is no slower than the one before";
    before = GBps(link) * link.efficiency;
  }
  EXPECT_LT(GBps(nvlink_class(86)), GBps(nvlink_class(80))) << "the small GPUs of a generation";
}

TEST(RatesTest, XgmiHasTheRateOfItsInstructionSet) {
  EXPECT_DOUBLE_EQ(GBps(xgmi_class("gfx942")), 64);
  EXPECT_DOUBLE_EQ(GBps(xgmi_class("gfx90a:sramecc+:xnack-")), 50);
  EXPECT_DOUBLE_EQ(GBps(xgmi_class("910")), 50) << "as RCCL wrote it before";
  double before = 0;
  for (const char* gcn : {"908", "gfx90a", "gfx942", "gfx950"}) {
    const double reached = GBps(xgmi_class(gcn)) * xgmi_class(gcn).efficiency;
    EXPECT_GE(reached, before) << gcn << " is no slower than the one before";
    before = reached;
  }
}

TEST(RatesTest, APortHasTheSpeedOfTheFile) {
  EXPECT_DOUBLE_EQ(GBps(port_class(200'000, Seconds{1e-6})), 25) << "200 Gb/s";
  EXPECT_EQ(port_class(200'000, Seconds{3e-6}).latency, Seconds{3e-6});
  EXPECT_DOUBLE_EQ(GBps(port_class(0, Seconds{0})), 1.25);
  EXPECT_THAT(port_class(0, Seconds{0}).source, HasSubstr("assumed"));
}

}  // namespace
}  // namespace collbench
