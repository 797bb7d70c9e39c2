// Small collections for tests.
#ifndef MILLRACE_EMBEDDING_COLLECTION_TESTING_H_
#define MILLRACE_EMBEDDING_COLLECTION_TESTING_H_

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "optim/rows/row_optimizer_registry.h"

namespace millrace {

inline TableConfig table_config(const char* name, int64_t dim) {
  TableConfig config;
  config.set_name(name);
  config.set_dim(dim);
  config.mutable_initializer()->mutable_uniform()->set_low(-1);
  config.mutable_initializer()->mutable_uniform()->set_high(1);
  return config;
}

// Features a (sum), b (mean) and c (unpooled) share the table t of 3 columns; feature d (sum) has
// the table u of 2 columns.
inline EmbeddingCollectionOptions small_options() {
  EmbeddingCollectionOptions options;
  options.seed = 5;
  options.tables = {table_config("t", 3), table_config("u", 2)};
  options.features = {{"a", "t", SUM}, {"b", "t", MEAN}, {"c", "t", NONE}, {"d", "u", SUM}};
  return options;
}

using Lists = std::vector<std::vector<int64_t>>;  // by feature, then by example

inline KeyedJagged jagged(const Lists& lists) {
  std::vector<int64_t> values, offsets = {0};
  for (const std::vector<int64_t>& list : lists) {
    values.insert(values.end(), list.begin(), list.end());
    offsets.push_back(values.size());
  }
  return {torch::tensor(values, torch::kLong), torch::tensor(offsets, torch::kLong), {}};
}

// Two examples. Ids repeat within lists and between features and examples; some lists are empty.
inline const Lists kLists = {{1, 2, 1},    {},     /*b*/ {2, 3}, {-5},
                             /*c*/ {1, 1}, {3, 0}, /*d*/ {},     {9, 9}};

// A collection with one optimizer for all its tables.
struct Trained {
  explicit Trained(const EmbeddingCollectionOptions& options, const char* kind = "sgd") {
    absl::StatusOr<std::shared_ptr<EmbeddingCollection>> created =
        EmbeddingCollection::create(options);
    EXPECT_OK(created);
    collection = *std::move(created);
    SparseOptimizerConfig config;
    if (std::string(kind) == "sgd") config.mutable_sgd();
    if (std::string(kind) == "adagrad") config.mutable_adagrad();
    if (std::string(kind) == "rowwise_adagrad") config.mutable_rowwise_adagrad();
    optimizer = *create_row_optimizer(config);
    for (const auto& table : collection->tables())
      EXPECT_OK(table->bind(optimizer->slots(table->dim())));
  }

  EmbeddingOutput forward(const KeyedJagged& features) {
    absl::StatusOr<EmbeddingOutput> output = collection->forward(features);
    EXPECT_OK(output);
    return *std::move(output);
  }
  EmbeddingOutput evaluate(const KeyedJagged& features) {
    at::NoGradGuard no_grad;
    return forward(features);
  }
  absl::Status apply(double rate = 1) {
    TableUpdate update;
    update.optimizer = optimizer.get();
    update.context.learning_rate = rate;
    update.context.step = ++step;
    return collection->apply(step, std::vector<TableUpdate>(collection->tables().size(), update));
  }
  EmbeddingTable& table(int i) { return *collection->tables()[i]; }
  std::vector<absl::uint128> digests() const {
    std::vector<absl::uint128> result;
    for (const auto& table : collection->tables()) result.push_back(table->content().digest());
    return result;
  }
  float* row(int table_number, int64_t id) {
    RowIndex row;
    table(table_number).find({&id, 1}, {&row, 1});
    return row == kNoRow ? nullptr : table(table_number).content().mutable_row(row).weights();
  }

  std::shared_ptr<EmbeddingCollection> collection;
  std::unique_ptr<RowOptimizer> optimizer;
  int64_t step = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_COLLECTION_TESTING_H_
