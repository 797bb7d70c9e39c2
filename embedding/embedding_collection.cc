#include "embedding/embedding_collection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "embedding/collection_input.h"
#include "embedding/collection_step.h"
#include "embedding/max_ids_check.h"
#include "embedding/shard/collection_exchange.h"
#include "embedding/shard/shard_plans.h"
#include "embedding/shard/shard_totals.h"
#include "embedding/table/step_lookups.h"
#include "embedding/table/step_plan.h"

namespace millrace {
namespace {

constexpr int64_t kIdsWorthThreads = 2048;
// Outputs above this size bypass the caches.
constexpr int64_t kCacheBytes = 4 << 20;

// Returns the lists of one feature.
IdLists lists_of(const CheckedInput& input, int64_t number, const EmbeddingFeature& feature) {
  const KeyedJagged& features = input.features;
  const int64_t batch = input.batch;
  const int64_t* offsets = features.offsets.const_data_ptr<int64_t>() + number * batch;
  const int64_t begin = offsets[0], count = offsets[batch] - offsets[0];
  IdLists lists;
  lists.ids = {features.values.const_data_ptr<int64_t>() + begin, static_cast<size_t>(count)};
  lists.offsets = {offsets, static_cast<size_t>(batch + 1)};
  if (features.weights.defined()) {
    lists.weights = {features.weights.const_data_ptr<float>() + begin, static_cast<size_t>(count)};
  }
  lists.pooling = feature.pooling;
  if (feature.pooling == FIRST_N) lists.first_n = feature.max_ids;
  lists.one_id_each = input.one_id_each[number] != 0;
  return lists;
}

}  // namespace

EmbeddingCollection::EmbeddingCollection(EmbeddingCollectionOptions options)
    : torch::nn::Module("EmbeddingCollection"),
      options_(std::move(options)),
      buffers_(OutputBuffers::create()),
      // Parallel loops over tables only compute and start no threads.
      pool_(std::make_unique<ThreadPool>(options_.threads, ThreadPool::Placement::kOffCaller)),
      step_(std::make_shared<CollectionStep>()) {}

EmbeddingCollection::~EmbeddingCollection() = default;

absl::StatusOr<std::shared_ptr<EmbeddingCollection>> EmbeddingCollection::create(
    const EmbeddingCollectionOptions& options) {
  if (options.threads < 1) {
    return absl::InvalidArgumentError(absl::StrCat("threads is ", options.threads));
  }
  if (options.features.empty()) {
    return absl::InvalidArgumentError("an embedding collection without features");
  }
  for (const EmbeddingFeature& feature : options.features) {
    RETURN_IF_ERROR(check_max_ids(features_of_tables({feature.name}, {feature.table}),
                                  feature.pooling, feature.max_ids));
  }
  std::shared_ptr<EmbeddingCollection> collection(new EmbeddingCollection(options));
  RETURN_IF_ERROR(collection->make_tables());
  RETURN_IF_ERROR(collection->make_places());
  collection->make_exchange();
  return collection;
}

absl::Status EmbeddingCollection::make_tables() {
  const auto blocks = std::make_shared<BlockPool>(/*background=*/true);
  for (const TableConfig& config : options_.tables) {
    if (table(config.name()).ok()) {
      return absl::InvalidArgumentError(absl::StrCat("two tables named ", config.name()));
    }
    EmbeddingTableOptions options = EmbeddingTableOptions::from_config(config, options_.seed);
    options.added_columns = options_.added_columns;
    options.instruction_set = options_.instruction_set;
    options.blocks = blocks;
    std::vector<absl::string_view> features;
    for (const EmbeddingFeature& feature : options_.features) {
      if (feature.table == config.name()) features.push_back(feature.name);
    }
    ASSIGN_OR_RETURN(std::unique_ptr<EmbeddingTable> table,
                     EmbeddingTable::create(std::move(options)), features_of_tables(features, {}));
    step_->plans.push_back(std::make_unique<StepPlan>(*table));
    step_->in_table.push_back(&step_->plans.back()->step_lookups());
    tables_.push_back(std::move(table));
  }
  features_of_.resize(tables_.size());
  records_.resize(tables_.size());
  return absl::OkStatus();
}

absl::Status EmbeddingCollection::make_places() {
  std::vector<FeaturePlace> places;
  for (const EmbeddingFeature& feature : options_.features) {
    for (const FeaturePlace& other : places) {
      if (other.name == feature.name) {
        return absl::InvalidArgumentError(absl::StrCat("two features named ", feature.name));
      }
    }
    absl::StatusOr<EmbeddingTable*> table = this->table(feature.table);
    if (!table.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("feature ", feature.name, ": ", table.status().message()));
    }
    int64_t number = 0;
    while (tables_[number].get() != *table) ++number;
    FeaturePlace place;
    place.name = feature.name;
    place.dim = (*table)->dim() * (feature.pooling == FIRST_N ? feature.max_ids : 1);
    // An unpooled feature has a separate output tensor and no columns of `pooled`.
    if (feature.pooling == NONE) {
      place.unpooled = unpooled_features_++;
    } else {
      place.column = pooled_dim_;
      pooled_dim_ += place.dim;
    }
    features_of_[number].push_back(static_cast<int64_t>(places.size()));
    step_->table_of.push_back(number);
    places.push_back(std::move(place));
  }
  // Outputs share the places, since they may outlive the collection.
  places_ = std::make_shared<const std::vector<FeaturePlace>>(std::move(places));
  step_->places = places_;
  return absl::OkStatus();
}

void EmbeddingCollection::make_exchange() {
  std::vector<ShardPlans::Table> tables;
  for (size_t t = 0; t < tables_.size(); ++t) {
    tables.push_back({tables_[t].get(), frozen(static_cast<int64_t>(t))});
  }
  shard_ = std::make_unique<ShardPlans>(std::move(tables));
  CollectionExchange::Collection own;
  own.for_each_table = [this](int64_t ids, const auto& body) { for_each_table(ids, body); };
  own.for_each_feature = [this](const KeyedJagged& features, const auto& body) -> absl::Status {
    ASSIGN_OR_RETURN(const CheckedInput input, check_input(features), "looking up embeddings");
    for_each_table(input.features.values.numel(), [&](int64_t t) {
      for (const int64_t f : features_of_[t]) {
        body(t, lists_of(input, f, options_.features[f]).ids);
      }
    });
    return absl::OkStatus();
  };
  own.gradients_are_finite = [this](int64_t t) { return own_gradients_are_finite(t); };
  own.discard = [this] { discard(); };
  exchange_ = std::make_unique<CollectionExchange>(*shard_, std::move(own));
}

absl::StatusOr<EmbeddingTable*> EmbeddingCollection::table(absl::string_view name) const {
  std::vector<std::string> known;
  for (const std::unique_ptr<EmbeddingTable>& table : tables_) {
    if (table->name() == name) return table.get();
    known.push_back(table->name());
  }
  return absl::NotFoundError(absl::StrCat("no table \"", name, "\"", did_you_mean(name, known)));
}

std::string EmbeddingCollection::describe(int64_t table) const {
  std::vector<absl::string_view> names;
  for (const int64_t f : features_of_[table]) names.push_back((*places_)[f].name);
  return features_of_tables(names, {tables_[table]->name()});
}

void EmbeddingCollection::for_each(int64_t ids, int64_t count,
                                   const std::function<void(int64_t)>& body) {
  // Outside training several threads may call. One of them uses the pool; the others work alone.
  std::unique_lock<std::mutex> lock(pool_mutex_, std::defer_lock);
  if (ids >= kIdsWorthThreads && lock.try_lock()) {
    pool_->parallel_for(count, body);
  } else {
    one_after_another(count, body);
  }
}

void EmbeddingCollection::for_each_table(int64_t ids, const std::function<void(int64_t)>& body) {
  const auto count = static_cast<int64_t>(tables_.size());
  const bool backwards = table_loops_.fetch_add(1, std::memory_order_relaxed) % 2 == 1;
  for_each(ids, count, [&](int64_t i) { body(backwards ? count - 1 - i : i); });
}

absl::Status EmbeddingCollection::look_up_tables(const CheckedInput& input, bool training,
                                                 std::vector<at::Tensor>& outputs) {
  std::vector<float*> data;
  for (const at::Tensor& output : outputs) data.push_back(output.mutable_data_ptr<float>());
  // One thread looks up all features of a table, in their order, so that rows are inserted in the
  // same order for any number of threads.
  std::vector<absl::Status> statuses(tables_.size());
  for_each_table(input.features.values.numel(), [&](int64_t t) {
    for (const int64_t f : features_of_[t]) {
      const FeaturePlace& place = (*places_)[f];
      const IdLists lists = lists_of(input, f, options_.features[f]);
      PoolingOutput output;
      const int64_t number = place.output_number();
      output.data = data[number] + place.first_column();
      output.stride = outputs[number].size(1);
      output.past_caches = static_cast<int64_t>(outputs[number].nbytes()) > kCacheBytes;
      absl::Status status = look_up_feature(t, training, lists, output);
      if (training) status.Update(shard_->check_announced(t, lists.ids));
      if (!status.ok()) {
        statuses[t] = annotate(std::move(status), absl::StrCat("feature ", place.name));
        return;
      }
    }
  });
  // The first table in order decides, so that the error does not depend on threads.
  for (absl::Status& status : statuses) {
    if (!status.ok()) return std::move(status);
  }
  return absl::OkStatus();
}

absl::Status EmbeddingCollection::look_up_feature(int64_t table, bool training,
                                                  const IdLists& lists,
                                                  const PoolingOutput& output) {
  RequestPlan* const requests = sharded() ? &shard_->requests(table) : nullptr;
  if (training && !frozen(table)) {
    return requests != nullptr ? requests->look_up(lists, output)
                               : step_->plans[table]->look_up(lists, output);
  }
  ReadCounts counts;
  counts.lookups = static_cast<int64_t>(lists.ids.size());
  if (records_[table] != nullptr) {
    counts.without_row = look_up_read_only(*tables_[table], *records_[table], lists, output);
  } else if (requests == nullptr) {
    counts.without_row = look_up_read_only(*tables_[table], lists, output);
  } else {
    ASSIGN_OR_RETURN(counts.without_row, requests->look_up_read_only(lists, output));
  }
  tables_[table]->record_reads(counts, training);
  return absl::OkStatus();
}

int64_t EmbeddingCollection::next_lookup(int64_t feature) const {
  // Lookups of a table are numbered by call, and within a call by feature.
  const int64_t table = step_->table_of[feature];
  if (frozen(table)) return -1;
  int64_t before = 0;
  while (features_of_[table][before] != feature) ++before;
  return step_->in_table[table]->lookups() + before;
}

absl::StatusOr<CheckedInput> EmbeddingCollection::check_input(const KeyedJagged& features) {
  const auto loop = [&](int64_t count, const std::function<void(int64_t)>& body) {
    for_each(features.values.numel(), count, body);
  };
  return checked_input(features, options_, loop);
}

absl::StatusOr<EmbeddingOutput> EmbeddingCollection::look_up(const KeyedJagged& features) {
  ASSIGN_OR_RETURN(const CheckedInput input, check_input(features), "looking up embeddings");
  const int64_t batch = input.batch;
  const bool training = is_training() && at::GradMode::is_enabled();
  if (training && sharded() && !shard_->training()) {
    return absl::FailedPreconditionError(
        "looking up embeddings: a step of training over ranks begins with its requests");
  }

  // The outputs: the pooled features in one tensor, then a tensor for each unpooled feature.
  std::vector<at::Tensor> outputs = {buffers_->take(batch, pooled_dim_, output_device_)};
  std::vector<JaggedRows> unpooled;
  // The numbers of lookups are taken before look_up_tables(), which adds the lookups.
  ForwardCall call;
  for (size_t f = 0; f < places_->size(); ++f) {
    const FeaturePlace& place = (*places_)[f];
    if (training) call.lookup.push_back(next_lookup(static_cast<int64_t>(f)));
    if (place.unpooled < 0) continue;
    const at::Tensor offsets = input.features.offsets.narrow(0, f * batch, batch + 1);
    const int64_t* bounds = offsets.const_data_ptr<int64_t>();
    outputs.push_back(buffers_->take(bounds[batch] - bounds[0], place.dim, output_device_));
    unpooled.push_back({at::Tensor(), (offsets - bounds[0]).to(output_device_)});
  }
  int64_t number = 0;
  if (training) {
    number = static_cast<int64_t>(step_->calls.size());
    for (const at::Tensor& output : outputs) call.sizes.push_back(output.sizes().vec());
    call.gradients.resize(outputs.size());
    call.versions.resize(outputs.size());
    step_->calls.push_back(std::move(call));
    step_->ids += input.features.values.numel();
  }
  absl::Status looked_up =
      annotate(look_up_tables(input, training, outputs), "looking up embeddings");
  if (!looked_up.ok()) {
    if (training) step_->keep(looked_up);
    return looked_up;
  }
  // Copies from pinned memory are asynchronous; later operations on the same stream wait for them.
  if (!output_device_.is_cpu()) {
    for (at::Tensor& output : outputs) output = output.to(output_device_, /*non_blocking=*/true);
  }
  if (training) connect_backward(step_, number, outputs);
  for (size_t i = 0; i < unpooled.size(); ++i) unpooled[i].rows = outputs[i + 1];
  return EmbeddingOutput(outputs[0], std::move(unpooled), places_);
}

bool EmbeddingCollection::own_gradients_are_finite(int64_t table) const {
  return frozen(table) ? frozen_gradients_are_finite(table)
                       : step_->in_table[table]->gradients_are_finite();
}

bool EmbeddingCollection::frozen_gradients_are_finite(int64_t table) const {
  const Kernels& kernels = millrace::kernels(options_.instruction_set);
  for (const ForwardCall& call : step_->calls) {
    for (const int64_t f : features_of_[table]) {
      const FeaturePlace& place = (*places_)[f];
      const at::Tensor& gradient = call.gradients[place.output_number()];
      if (!gradient.defined()) continue;
      const float* values = gradient.const_data_ptr<float>() + place.first_column();
      const uint32_t largest =
          kernels.largest_magnitude(values, gradient.size(0), gradient.size(1), place.dim);
      if (!std::isfinite(absl::bit_cast<float>(largest))) return false;
    }
  }
  return true;
}

void EmbeddingCollection::set_duplicate_gradients(
    int64_t table, SparseOptimizerConfig::DuplicateGradients become) {
  const bool mean = become == SparseOptimizerConfig::MEAN;
  step_->plans[table]->set_mean_gradients(mean);
  if (sharded()) shard_->owner(table).set_mean_gradients(mean);
}

GradientSummary EmbeddingCollection::summarize(bool with_norm) {
  if (shard_->totals().has_value()) return summary_of(*shard_->totals());
  // Checks all tables even after the first non-finite one, so that the result does not depend on
  // threads.
  std::vector<GradientSummary> summaries(tables_.size());
  for_each_table(step_->ids, [&](int64_t t) {
    GradientSummary& summary = summaries[t];
    summary.finite = own_gradients_are_finite(t);
    if (!summary.finite) summary.not_finite = describe(t);
    // If sharded, the norm is computed from the sums over all ranks.
    if (summary.finite && with_norm && !sharded()) {
      summary.norm_squared = step_->in_table[t]->squared_norm();
    }
  });
  GradientSummary all;
  for (const GradientSummary& summary : summaries) all += summary;
  return all;
}

absl::Status EmbeddingCollection::check(absl::Span<const TableUpdate> updates) const {
  RETURN_IF_ERROR(step_->error);
  RETURN_IF_ERROR(step_->check_versions());
  if (updates.size() != tables_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(updates.size(), " updates for ", tables_.size(), " tables"));
  }
  for (size_t t = 0; t < tables_.size(); ++t) {
    if (frozen(static_cast<int64_t>(t))) continue;
    const UpdateContext& context = updates[t].context;
    // Optimizers compute in float32.
    constexpr double kMost = std::numeric_limits<float>::max();
    if (!(context.learning_rate >= 0 && context.learning_rate <= kMost) ||
        !(std::abs(context.gradient_scale) <= kMost) || !(context.gradient_limit > 0) ||
        context.step < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(describe(static_cast<int64_t>(t)), ": learning rate ", context.learning_rate,
                       ", gradient scale ", context.gradient_scale, " or step ", context.step,
                       " is out of range"));
    }
    if (updates[t].optimizer == nullptr ||
        updates[t].optimizer->slots(tables_[t]->dim()) != tables_[t]->slots()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "table ", tables_[t]->name(), " is not bound to the slots of its optimizer"));
    }
  }
  return exchange_->check_limits();
}

absl::Status EmbeddingCollection::check_step(int64_t step) const {
  for (size_t t = 0; t < tables_.size(); ++t) {
    if (!frozen(static_cast<int64_t>(t))) RETURN_IF_ERROR(tables_[t]->check_step(step));
  }
  return absl::OkStatus();
}

absl::Status EmbeddingCollection::apply(int64_t step, absl::Span<const TableUpdate> updates) {
  RETURN_IF_ERROR(check_step(step), "updating embeddings");
  RETURN_IF_ERROR(check(updates), "updating embeddings");
  if (sharded() && !shard_->totals().has_value()) {
    return absl::FailedPreconditionError(
        "updating embeddings: the totals of all ranks are not known; set_totals() comes first");
  }
  for_each_table(step_->ids, [&](int64_t t) {
    if (frozen(t)) return;
    if (sharded()) {
      shard_->owner(t).apply(*updates[t].optimizer, updates[t].context, step);
    } else {
      step_->plans[t]->apply(*updates[t].optimizer, updates[t].context, step);
    }
  });
  shard_->end();
  step_->end();
  return absl::OkStatus();
}

void EmbeddingCollection::discard() {
  shard_->discard();
  if (!sharded()) {
    for (const auto& plan : step_->plans) plan->discard();
  }
  step_->end();
}

absl::Status EmbeddingCollection::shard(const Placement& placement) {
  if (placement.world_size > kPlacementParts) {
    return absl::InvalidArgumentError(
        absl::StrCat("a job of ", placement.world_size, " ranks cannot have tables: there are ",
                     kPlacementParts, " parts of a table; use at most so many ranks"));
  }
  // The counters of a part of a sketch cannot be divided.
  const bool sketches = std::any_of(tables_.begin(), tables_.end(), [](const auto& table) {
    return table->content().admission_state().sketch.width > 0;
  });
  Placement own = placement;
  own.fine = placement.world_size > kMostCoarseRanks && !sketches;
  for (const auto& table : tables_) RETURN_IF_ERROR(table->set_placement(own));
  shard_->shard(own);
  for (size_t t = 0; t < tables_.size(); ++t) {
    const auto number = static_cast<int64_t>(t);
    shard_->owner(number).set_mean_gradients(step_->plans[t]->step_lookups().mean_gradients());
    step_->in_table[t] = &shard_->requests(number).lookups();
  }
  return absl::OkStatus();
}

GradientSummary EmbeddingCollection::summary_of(const ShardTotals& totals) const {
  GradientSummary summary;
  for (size_t t = 0; t < tables_.size() && summary.finite; ++t) {
    if (totals.not_finite[t] == 0) continue;
    summary.finite = false;
    summary.not_finite = describe(static_cast<int64_t>(t));
  }
  if (summary.finite) summary.norm_squared = totals.squared_norm;
  return summary;
}

}  // namespace millrace
