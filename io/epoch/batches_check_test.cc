#include "io/epoch/batches_check.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(BatchesCheckTest, BatchSizeAndShuffleRows) {
  DataConfig data;
  data.set_batch_size(1);
  data.set_shuffle_rows(2147483647);
  EXPECT_OK(check_batches("d", data));
  data.set_shuffle_rows(2147483648);
  EXPECT_THAT(check_batches("d", data),
              StatusIs(kInvalid, "d: shuffle_rows is 2147483648; must be at most 2147483647"));
  data.set_shuffle_rows(-1);
  EXPECT_THAT(check_batches("d", data),
              StatusIs(kInvalid, "d: shuffle_rows is -1; must be at least 0"));
  data.set_batch_size(0);
  EXPECT_THAT(check_batches("d", data), StatusIs(kInvalid,
                                                 "d: batch_size is 0; must be at least 1\n"
                                                 "d: shuffle_rows is -1; must be at least 0"));
}

}  // namespace
}  // namespace millrace
