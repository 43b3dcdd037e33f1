#include "training/elements.h"

#include <filesystem>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "training/bucket_reducer.h"

namespace collbench {
namespace {

template <class T>
class ElementsTest : public testing::Test {
 public:
  static Region region(std::vector<T>& values) {
    return {reinterpret_cast<std::byte*>(values.data()), std::ssize(values),
            std::is_same_v<T, double> ? DataType::f64 : DataType::f32};
  }
};
using FloatingTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(ElementsTest, FloatingTypes);

TYPED_TEST(ElementsTest, NumbersComeBackExactly) {
  std::vector<TypeParam> values(4);
  const std::vector<double> numbers{0.5, -3, 0, 1024};
  set_values(TestFixture::region(values), numbers);
  EXPECT_EQ(values[1], TypeParam{-3});
  EXPECT_EQ(values_of(TestFixture::region(values)), numbers);
  std::vector<TypeParam> none;
  EXPECT_TRUE(values_of(TestFixture::region(none)).empty());
}

TYPED_TEST(ElementsTest, CombinesInPlaceAndScales) {
  std::vector<TypeParam> a{1, 2, 3};
  std::vector<TypeParam> b{10, 20, 40};
  combine(TestFixture::region(b), TestFixture::region(a), TestFixture::region(a), std::minus<>());
  EXPECT_THAT(a, testing::ElementsAre(9, 18, 37));
  scale(TestFixture::region(a), 2);
  EXPECT_THAT(a, testing::ElementsAre(18, 36, 74));
  EXPECT_THAT(b, testing::ElementsAre(10, 20, 40));
}

TEST(TaskThreadTest, TasksRunInOrderAndThrowWhereTheyAreWaitedFor) {
  std::vector<int> order;
  {
    TaskThread tasks;
    std::vector<std::future<void>> done;
    for (int i = 0; i < 100; ++i) {
      done.push_back(tasks.start([&order, i] {
        order.push_back(i);
        if (i == 50) throw InvalidArgument("the fiftieth");
      }));
    }
    done[99].get();
    EXPECT_EQ(order.size(), 100U);
    EXPECT_THROW(done[50].get(), InvalidArgument);
    for (int i = 100; i < 200; ++i) tasks.start([&order, i] { order.push_back(i); });
  }  // finishes what was started
  ASSERT_EQ(order.size(), 200U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
}  // namespace collbench
