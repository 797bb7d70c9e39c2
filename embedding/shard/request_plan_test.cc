#include "embedding/shard/request_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

using Ids = std::vector<int64_t>;

// The record of an id is its number.
class RequestPlanTest : public testing::Test {
 protected:
  RequestPlanTest() {
    EmbeddingTableOptions options;
    options.name = "t";
    options.dim = 1;
    options.placement = kPlacement;
    table_ = *EmbeddingTable::create(options);
    plan_ = std::make_unique<RequestPlan>(*table_, kPlacement);
    plan_->begin();
    for (const Ids& ids : {Ids{1, 2, 3}, Ids{1, 2, 4}, Ids{5, 5, 1}, Ids{}}) plan_->request(ids);
    records_.assign(plan_->ids().begin(), plan_->ids().end());
    for (uint32_t place = 0; place < records_.size(); ++place) {
      plan_->set_record(place, reinterpret_cast<const char*>(&records_[place]));
    }
  }

  // Returns the outputs of lists with one id each.
  Ids look_up(const Ids& ids) const {
    std::vector<int64_t> offsets;
    for (size_t i = 0; i <= ids.size(); ++i) offsets.push_back(static_cast<int64_t>(i));
    IdLists lists;
    lists.ids = ids;
    lists.offsets = offsets;
    lists.one_id_each = true;
    std::vector<float> output(ids.size());
    EXPECT_OK(plan_->look_up_read_only(lists, {output.data(), 1}));
    return Ids(output.begin(), output.end());
  }

  static constexpr Placement kPlacement = {.rank = 0, .world_size = 1};
  std::unique_ptr<EmbeddingTable> table_;
  std::unique_ptr<RequestPlan> plan_;
  std::vector<float> records_;
};

TEST_F(RequestPlanTest, ListsNeedNotBeThoseOfRequests) {
  const std::vector<Ids> lists = {
      {1, 2, 3}, {1, 2, 4}, {5, 5, 1},     // the requests, in order
      {5, 5, 1}, {1, 2, 4}, {1, 2, 3},     // in another order
      {1, 2},    {5},       {},            // beginnings of requests
      {2, 3},    {3, 1, 2}, {4, 5, 5, 1},  // across requests
      {1, 2, 5}, {4, 3},    {1, 2, 3, 1, 2, 4, 5, 5, 1},
  };
  for (const Ids& ids : lists) EXPECT_EQ(look_up(ids), ids);
}

TEST_F(RequestPlanTest, AnIdThatWasNotRequestedIsNamed) {
  const Ids ids = {1, 2, 6};
  const std::vector<int64_t> offsets = {0, 1, 2, 3};
  IdLists lists;
  lists.ids = ids;
  lists.offsets = offsets;
  std::vector<float> output(3);
  EXPECT_THAT(plan_->look_up_read_only(lists, {output.data(), 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("id 6 was not announced")));
}

}  // namespace
}  // namespace millrace
