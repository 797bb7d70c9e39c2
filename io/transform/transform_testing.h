// Applies transforms to values written out in a test.
#ifndef MILLRACE_IO_TRANSFORM_TRANSFORM_TESTING_H_
#define MILLRACE_IO_TRANSFORM_TRANSFORM_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "io/block.h"
#include "io/column.h"
#include "io/transform/transform.h"

namespace millrace {

// Rows with these lists of ids.
IdColumn id_lists(const std::vector<std::vector<int64_t>>& rows);
// Rows with one id each.
IdColumn id_column(std::vector<int64_t> ids);

// The values that `transform` makes of these. A bad row fails the test.
FeatureValues apply_to_ids(const Transform& transform, IdColumn ids, const IdColumn& crossed = {});
FeatureValues apply_to_numbers(const Transform& transform, std::vector<double> numbers);
FeatureValues apply_to_texts(const Transform& transform, const std::vector<std::string>& texts);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_TRANSFORM_TESTING_H_
