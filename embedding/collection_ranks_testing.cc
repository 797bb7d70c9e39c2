#include "embedding/collection_ranks_testing.h"

#include <google/protobuf/text_format.h>
#include <torch/autograd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "optim/rows/row_optimizer_registry.h"

namespace millrace::ranks_testing {
namespace {

TableConfig table_config(const std::string& text) {
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

// Returns all outputs of a forward call: the pooled tensor, then each unpooled one.
std::vector<at::Tensor> tensors_of(const EmbeddingOutput& output) {
  std::vector<at::Tensor> tensors = {output.pooled};
  for (const FeaturePlace& place : output.places()) {
    if (place.unpooled >= 0) tensors.push_back(output.jagged(place.name)->rows);
  }
  return tensors;
}

void add_features(EmbeddingCollectionOptions& options) {
  for (const TableConfig& table : options.tables) {
    const std::string& name = table.name();
    options.features.push_back({absl::StrCat(name, "_sum"), name, SUM, 0});
    options.features.push_back({absl::StrCat(name, "_none"), name, NONE, 3});
    options.features.push_back({absl::StrCat(name, "_first"), name, FIRST_N, 2});
  }
}

}  // namespace

Job::Job(const JobOptions& options, int world_size) : over_ranks_(world_size > 0) {
  optimizer_ = *create_row_optimizer(options.optimizer);
  const int ranks = std::max(world_size, 1);
  for (int rank = 0; rank < ranks; ++rank) {
    collections_.push_back(*EmbeddingCollection::create(options.collection));
    EmbeddingCollection& collection = *collections_.back();
    const Placement placement{rank, ranks};
    // The kind of duplicate gradients may be set before or after shard().
    const auto set = [&] {
      for (size_t t = 0; t < collection.tables().size(); ++t) {
        collection.set_duplicate_gradients(static_cast<int64_t>(t),
                                           options.optimizer.duplicate_gradients());
      }
    };
    if (rank % 2 == 0) set();
    if (over_ranks_) {
      EXPECT_OK(collection.shard(placement));
    }
    if (rank % 2 == 1) set();
    for (size_t t = 0; t < collection.tables().size(); ++t) {
      EmbeddingTable& table = *collection.tables()[t];
      const bool frozen = options.collection.tables[t].frozen();
      EXPECT_OK(table.bind(frozen ? std::vector<SlotSpec>() : optimizer_->slots(table.dim())));
      if (t >= options.rows.size()) continue;
      TableRows rows;
      rows.dim = table.dim();
      for (const int64_t id : options.rows[t]) {
        if (!placement.owns(id)) continue;
        rows.ids.push_back(id);
        for (int64_t c = 0; c < rows.dim; ++c) {
          rows.weights.push_back(static_cast<float>(id * 3 + c) / 7);
        }
      }
      EXPECT_OK(table.content().load_rows(rows));
    }
  }
  for (auto* of_all : {&ids_, &rows_, &sums_}) {
    of_all->resize(ranks);
    for (auto& of_one : *of_all) of_one.resize(ranks);
  }
}

absl::string_view Job::body(const ByteBuffer& frame) const { return frame.view().substr(offset_); }

absl::Status Job::send(
    std::vector<std::vector<ByteBuffer>>& frames,
    const std::function<absl::Status(int from, int to, absl::string_view&)>& read) {
  for (int from = 0; from < ranks(); ++from) {
    // The result must not depend on the order of ranks.
    for (int to = ranks() - 1; to >= 0; --to) {
      if (from == to) continue;
      absl::string_view bytes = body(frames[from][to]);
      RETURN_IF_ERROR(read(from, to, bytes));
      EXPECT_TRUE(bytes.empty());
    }
  }
  return absl::OkStatus();
}

absl::Status Job::fetch(const std::vector<RankBatches>& batches, bool training) {
  std::vector<int64_t> rows(collection(0).tables().size());
  for (size_t t = 0; t < rows.size(); ++t) {
    rows[t] = sum([](EmbeddingTable& table) { return table.maintenance().statistics().rows; },
                  static_cast<int>(t));
  }
  for (int rank = 0; rank < ranks(); ++rank) {
    exchange(rank).begin(training);
    exchange(rank).set_rows_of_all_ranks(rows);
    for (const MicroBatch& batch : batches[rank]) {
      RETURN_IF_ERROR(exchange(rank).request(batch.features));
    }
    for (int to = 0; to < ranks(); ++to) {
      for (auto* frames : {&ids_, &rows_, &sums_}) (*frames)[rank][to].resize(offset_);
      if (to != rank) exchange(rank).write_ids(to, ids_[rank][to]);
    }
  }
  RETURN_IF_ERROR(send(ids_, [&](int from, int to, absl::string_view& ids) {
    return exchange(to).read_rows(from, ids, rows_[to][from]);
  }));
  return send(rows_, [&](int from, int to, absl::string_view& rows) {
    return exchange(to).receive_rows(from, rows);
  });
}

absl::Status Job::look_up(const std::vector<RankBatches>& batches,
                          std::vector<std::vector<at::Tensor>>& outputs) {
  outputs.resize(ranks());
  for (int rank = 0; rank < ranks(); ++rank) {
    for (const MicroBatch& batch : batches[rank]) {
      if (!batch.looked_up) continue;
      ASSIGN_OR_RETURN(const EmbeddingOutput output, collection(rank).forward(batch.features));
      std::vector<at::Tensor> roots, gradients;
      const std::vector<at::Tensor> tensors = tensors_of(output);
      for (size_t i = 0; i < tensors.size(); ++i) {
        outputs[rank].push_back(tensors[i].detach().clone());
        if (i >= batch.gradients.size() || !batch.gradients[i].defined()) continue;
        roots.push_back(tensors[i]);
        gradients.push_back(batch.gradients[i]);
      }
      if (tensors[0].requires_grad() && !roots.empty()) torch::autograd::backward(roots, gradients);
    }
  }
  return absl::OkStatus();
}

absl::Status Job::exchange_sums() {
  for (int rank = 0; rank < ranks(); ++rank) {
    for (int to = 0; to < ranks(); ++to) {
      sums_[rank][to].resize(offset_);
      if (to != rank) exchange(rank).write_sums(to, sums_[rank][to]);
    }
  }
  RETURN_IF_ERROR(send(sums_, [&](int from, int to, absl::string_view& sums) {
    return exchange(to).receive_sums(from, sums);
  }));
  ShardTotals totals;
  for (int rank = 0; rank < ranks(); ++rank) totals += exchange(rank).owned_totals(true);
  for (int rank = 0; rank < ranks(); ++rank) exchange(rank).set_totals(totals);
  return absl::OkStatus();
}

absl::Status Job::apply() {
  TableUpdate update;
  update.optimizer = optimizer_.get();
  update.context.learning_rate = 0.125;
  update.context.step = step_ + 1;
  update.context.gradient_scale = 0.5;
  for (int rank = 0; rank < ranks(); ++rank) {
    const std::vector<TableUpdate> updates(collection(rank).tables().size(), update);
    RETURN_IF_ERROR(collection(rank).apply(step_ + 1, updates));
  }
  ++step_;
  return absl::OkStatus();
}

StepResult Job::step(const std::vector<RankBatches>& batches, int tries) {
  StepResult result;
  const auto run = [&]() -> absl::Status {
    if (over_ranks_) RETURN_IF_ERROR(fetch(batches, /*training=*/true));
    for (int i = 0; i < tries; ++i) {
      for (const auto& collection : collections_) {
        if (i > 0) collection->discard();
        if (i > 0 && over_ranks_) collection->exchange().repeat();
      }
      result.outputs.clear();
      RETURN_IF_ERROR(look_up(batches, result.outputs));
      if (over_ranks_) RETURN_IF_ERROR(exchange_sums());
    }
    result.summary = collection(0).summarize(true);
    if (!result.summary.finite) return absl::CancelledError("not finite");
    return apply();
  };
  result.status = run();
  if (!result.status.ok()) {
    for (const auto& collection : collections_) collection->discard();
  }
  return result;
}

StepResult Job::evaluate(const std::vector<RankBatches>& batches) {
  const at::NoGradGuard no_grad;
  StepResult result;
  if (over_ranks_) result.status = fetch(batches, /*training=*/false);
  if (result.status.ok()) result.status = look_up(batches, result.outputs);
  return result;
}

absl::uint128 Job::digest(int number) const {
  absl::uint128 digest = 0;
  for (int rank = 0; rank < ranks(); ++rank) digest += table(rank, number).content().digest();
  return digest;
}

int64_t Job::sum(const std::function<int64_t(EmbeddingTable&)>& of_table, int number) const {
  int64_t sum = 0;
  for (int rank = 0; rank < ranks(); ++rank) sum += of_table(table(rank, number));
  return sum;
}

at::Tensor RandomBatches::gradient(int64_t rows, int64_t columns, bool integers) {
  at::Tensor gradient = torch::empty({rows, columns}, torch::kFloat);
  float* values = gradient.mutable_data_ptr<float>();
  for (int64_t i = 0; i < gradient.numel(); ++i) {
    values[i] = static_cast<float>(static_cast<int64_t>(below(201)) - 100);
    if (!integers) values[i] /= static_cast<float>(1 + below(1000));
  }
  return gradient;
}

MicroBatch RandomBatches::next(bool integers, bool all_gradients) {
  const int64_t batch = static_cast<int64_t>(below(5));
  const bool one_each = below(3) == 0, weighted = !integers && below(3) == 0;
  std::vector<int64_t> values, offsets = {0};
  std::vector<float> weights;
  MicroBatch result;
  std::vector<int64_t> unpooled;  // rows of each unpooled output
  int64_t pooled = 0;
  for (const EmbeddingFeature& feature : options_.features) {
    int64_t rows = 0, dim = 0;
    for (const TableConfig& table : options_.tables) {
      if (table.name() == feature.table) dim = table.dim();
    }
    for (int64_t example = 0; example < batch; ++example) {
      const int64_t length = one_each ? 1 : static_cast<int64_t>(below(5));
      for (int64_t i = 0; i < length; ++i) {
        // Half of the ids are drawn from 6 frequent ids. Ids have both signs.
        const auto id = static_cast<int64_t>(below(below(2) == 0 ? 6 : 40)) - 8;
        values.push_back(below(50) == 0 ? std::numeric_limits<int64_t>::min() + id + 9 : id);
        weights.push_back(static_cast<float>(below(7)) / 3 - 0.5f);
      }
      rows += feature.max_ids == 0 ? length : std::min(length, feature.max_ids);
      offsets.push_back(static_cast<int64_t>(values.size()));
    }
    if (feature.pooling == NONE) {
      unpooled.push_back(rows);
      unpooled.push_back(dim);
    } else {
      pooled += dim * (feature.pooling == FIRST_N ? feature.max_ids : 1);
    }
  }
  result.features = {torch::tensor(values, torch::kLong), torch::tensor(offsets, torch::kLong), {}};
  if (weighted) result.features.weights = torch::tensor(weights, torch::kFloat);
  const auto comes = [&] { return all_gradients || below(6) != 0; };
  result.gradients.push_back(comes() ? gradient(batch, pooled, integers) : at::Tensor());
  for (size_t i = 0; i < unpooled.size(); i += 2) {
    result.gradients.push_back(comes() ? gradient(unpooled[i], unpooled[i + 1], integers)
                                       : at::Tensor());
  }
  return result;
}

RankBatches RandomBatches::some(int micro_batches, bool integers, bool all_gradients) {
  RankBatches batches;
  for (int i = 0; i < micro_batches; ++i) batches.push_back(next(integers, all_gradients));
  return batches;
}

bool RandomBatches::poison(RankBatches& batches) {
  std::vector<at::Tensor> gradients;
  for (MicroBatch& batch : batches) {
    for (at::Tensor& gradient : batch.gradients) {
      if (gradient.defined() && gradient.numel() > 0) gradients.push_back(gradient);
    }
  }
  if (gradients.empty()) return false;
  const at::Tensor& gradient = gradients[below(gradients.size())];
  gradient.mutable_data_ptr<float>()[below(gradient.numel())] =
      below(2) == 0 ? std::numeric_limits<float>::quiet_NaN()
                    : std::numeric_limits<float>::infinity();
  return true;
}

EmbeddingCollectionOptions all_kinds() {
  EmbeddingCollectionOptions options;
  options.seed = 11;
  for (const char* text :
       {"name: 'always' dim: 5", "name: 'half' dim: 6 row_dtype: FLOAT16",
        "name: 'bfloat' dim: 3 row_dtype: BFLOAT16 default_value { constant { value: 2 } } "
        "admission { count { min_count: 2 } }",
        "name: 'count' dim: 4 admission { count { min_count: 3 } }",
        "name: 'sketch' dim: 4 admission { count { min_count: 3 sketch { capacity: 100 } } } "
        "default_value { constant { value: 0.5 } }",
        "name: 'chance' dim: 4 admission { probability { probability: 0.2 } }",
        "name: 'read_only' dim: 4 admission { read_only {} }",
        "name: 'frozen' dim: 4 frozen: true default_value { constant {} }",
        "name: 'reject' dim: 2 limit { max_rows: 12 on_full: REJECT }",
        "name: 'lru' dim: 2 limit { max_rows: 14 on_full: EVICT_LRU evict_to: 0.7 }",
        "name: 'lfu' dim: 2 limit { max_rows: 14 on_full: EVICT_LFU evict_to: 0.7 }",
        "name: 'fail' dim: 2 limit { max_rows: 45 on_full: FAIL }"}) {
    options.tables.push_back(table_config(text));
  }
  add_features(options);
  options.features.push_back({"mean", "always", MEAN, 0});
  options.features.push_back({"root", "half", SQUARE_ROOT_N, 4});
  options.features.push_back({"again", "count", SUM, 0});
  return options;
}

EmbeddingCollectionOptions plain_kinds() {
  EmbeddingCollectionOptions options;
  options.seed = 12;
  options.tables = {table_config("name: 'a' dim: 5"), table_config("name: 'b' dim: 19"),
                    table_config("name: 'c' dim: 1 admission { count { min_count: 2 } }"),
                    table_config("name: 'd' dim: 2 admission { probability { probability: 0.3 } }"),
                    table_config("name: 'e' dim: 2 limit { max_rows: 20 on_full: REJECT }")};
  for (TableConfig& table : options.tables) {
    table.mutable_initializer()->mutable_constant()->set_value(1);
  }
  add_features(options);
  return options;
}

std::vector<SparseOptimizerConfig> all_optimizers() {
  std::vector<SparseOptimizerConfig> configs(6);
  configs[0].mutable_sgd();
  configs[1].mutable_adagrad();
  configs[2].mutable_rowwise_adagrad();
  configs[3].mutable_adam();
  configs[4].mutable_adamw();
  configs[5].mutable_ftrl();
  return configs;
}

std::vector<std::vector<int64_t>> first_rows(const EmbeddingCollectionOptions& options) {
  std::vector<std::vector<int64_t>> rows;
  for (const TableConfig& table : options.tables) {
    rows.emplace_back();
    if (!table.frozen() && !table.admission().has_read_only()) continue;
    for (int64_t id = -8; id < 20; ++id) rows.back().push_back(id);
  }
  return rows;
}

void expect_same(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& expected) {
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    ASSERT_TRUE(torch::equal(outputs[i], expected[i])) << "output " << i;
  }
}

void expect_same_tables(const Job& job, const Job& expected, const std::string& where) {
  const auto tables = static_cast<int>(const_cast<Job&>(job).collection(0).tables().size());
  for (int t = 0; t < tables; ++t) {
    const std::string what = absl::StrCat(where, ", table ", job.table(0, t).name());
    EXPECT_EQ(job.digest(t), expected.digest(t)) << what;
    const auto same = [&](const std::function<int64_t(EmbeddingTable&)>& of_table) {
      EXPECT_EQ(job.sum(of_table, t), expected.sum(of_table, t)) << what;
    };
    using Table = EmbeddingTable;
    same([](Table& table) { return table.maintenance().statistics().rows; });
    same([](Table& table) { return table.maintenance().statistics().candidates; });
    same([](Table& table) { return table.maintenance().statistics().inserted; });
    same([](Table& table) { return table.maintenance().statistics().occurrences; });
    same([](Table& table) { return table.maintenance().statistics().unique_ids; });
    same([](Table& table) { return table.maintenance().statistics().unadmitted; });
    same([](Table& table) { return table.maintenance().statistics().evicted_rows(); });
    // An additive fingerprint of exact counts.
    same([](Table& table) {
      const AdmissionState state = table.content().admission_state();
      uint64_t sum = 0;
      for (size_t i = 0; i < state.ids.size(); ++i) {
        sum += static_cast<uint64_t>(state.ids[i] * 77) * state.counts[i] + state.counts[i];
      }
      for (size_t i = 0; i < state.sketch.counters.size(); ++i) {
        sum += (i + 1) * state.sketch.counters[i];
      }
      return static_cast<int64_t>(sum);
    });
    for (int rank = 0; rank < job.ranks(); ++rank) {
      EXPECT_EQ(job.table(rank, t).applied_steps(), expected.table(0, t).applied_steps()) << what;
    }
    if (job.ranks() > 1) continue;
    EXPECT_EQ(job.table(0, t).content().admission_state(),
              expected.table(0, t).content().admission_state())
        << what;
    EXPECT_EQ(job.table(0, t).maintenance().statistics().hottest,
              expected.table(0, t).maintenance().statistics().hottest)
        << what;
    EXPECT_TRUE(job.table(0, t).content().evicted_log() ==
                expected.table(0, t).content().evicted_log())
        << what;
  }
}

}  // namespace millrace::ranks_testing
