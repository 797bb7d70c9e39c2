#include "serving/predictor.h"

#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model.h"
#include "framework/model/model_registry.h"
#include "io/feature/batch_builder.h"
#include "io/feature/feature_rows.h"

namespace millrace {
namespace {

constexpr size_t kMostPlans = 8;  // a client that varies types must not fill the memory

bool is_input(FeatureConfig::Kind kind) {
  return kind == FeatureConfig::SPARSE || kind == FeatureConfig::DENSE;
}

absl::StatusOr<std::shared_ptr<Model>> make_model(const TrainConfig& train,
                                                  const FeatureSchema& schema, int threads) {
  ModelResources resources = resources_of(train, schema);
  resources.embeddings.threads = threads;
  ASSIGN_OR_RETURN(std::shared_ptr<Model> model,
                   create_model(train.model(), resources, train.seed()), "train.model");
  model->eval();
  model->begin_evaluation("predict");
  model->set_report_due(false);
  return model;
}

absl::Status take_tensor(const std::string& name, at::Tensor& own, const ModelVersion& version) {
  const auto found = version.dense.find(name);
  if (found == version.dense.end()) {
    return absl::InvalidArgumentError(absl::StrCat(version.path, " lacks the tensor ", name));
  }
  if (found->second.sizes() != own.sizes() || found->second.dtype() != own.dtype()) {
    return absl::InvalidArgumentError(
        absl::StrCat(version.path, ": ", name, " has another shape or type than in the model"));
  }
  own.set_data(found->second);
  return absl::OkStatus();
}

// Makes the model read the tensors and tables of a version.
absl::Status bind(Model& model, const ModelVersion& version) {
  const at::NoGradGuard no_gradients;
  for (auto& parameter : model.named_parameters()) {
    RETURN_IF_ERROR(take_tensor(parameter.key(), parameter.value(), version));
  }
  for (auto& buffer : model.named_buffers()) {
    RETURN_IF_ERROR(take_tensor(buffer.key(), buffer.value(), version));
  }
  for (EmbeddingCollection* const collection : collections_of(model)) {
    const auto tables = collection->tables();
    for (size_t t = 0; t < tables.size(); ++t) {
      const auto found = version.tables.find(std::string(tables[t]->name()));
      if (found == version.tables.end() ||
          found->second->row_bytes() != tables[t]->layout().weight_bytes) {
        return absl::InvalidArgumentError(absl::StrCat(
            version.path, " lacks table ", tables[t]->name(), ", or has it with other rows"));
      }
      collection->set_records(static_cast<int64_t>(t), found->second);
    }
  }
  return absl::OkStatus();
}

absl::Status bad_request(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("request: ", what));
}

}  // namespace

struct Predictor::Worker {
  std::shared_ptr<Model> model;
  std::shared_ptr<const ModelVersion> bound;  // whose memory the model uses
};

// A request from the queue to its answer.
struct Predictor::Request {
  int64_t rows() const { return static_cast<int64_t>(block.order.size()); }

  Block block;
  Predictions predictions;
  absl::Status status;
  bool is_done = false;  // guarded by mutex_
};

// A worker that is taken out of idle_ as long as the object lives.
class Predictor::TakenWorker {
 public:
  // Waits for an idle worker.
  explicit TakenWorker(Predictor& predictor) : predictor_(predictor) {
    MutexLock lock(predictor_.mutex_);
    predictor_.mutex_.await([this] { return !predictor_.idle_.empty(); });
    worker_ = predictor_.take_idle();
  }
  // Takes over a worker that is out of idle_.
  TakenWorker(Predictor& predictor, Worker* worker) : predictor_(predictor), worker_(worker) {}
  ~TakenWorker() {
    MutexLock lock(predictor_.mutex_);
    predictor_.idle_.push_back(worker_);
  }
  TakenWorker(const TakenWorker&) = delete;
  TakenWorker& operator=(const TakenWorker&) = delete;

  Worker* operator->() const { return worker_; }
  absl::Status bind_to(const std::shared_ptr<const ModelVersion>& version) const {
    RETURN_IF_ERROR(
        catch_exceptions("taking a version", [&] { return bind(*worker_->model, *version); }));
    worker_->bound = version;
    return absl::OkStatus();
  }

 private:
  Predictor& predictor_;
  Worker* worker_ = nullptr;
};

struct Predictor::Plan {
  std::vector<FeatureSource> features;
  std::vector<std::string> columns;  // in their order
};

Predictor::Predictor(PredictorOptions options, FeatureSchema schema, const ModelVersion& version)
    : options_(options), schema_(std::move(schema)) {
  const auto is_text = [&](const std::string& column) {
    const auto found = version.text_columns.find(column);
    return found != version.text_columns.end() && found->second;
  };
  std::set<std::string> seen;
  for (const FeatureConfig& feature : schema_.features()) {
    if (!is_input(feature.kind())) continue;
    const bool is_sparse = feature.kind() == FeatureConfig::SPARSE;
    if (seen.insert(column_of(feature)).second) {
      features_.push_back({column_of(feature), is_sparse, is_text(column_of(feature))});
    }
    if (feature.has_weight_column() && seen.insert(feature.weight_column()).second) {
      features_.push_back({feature.weight_column(), /*is_sparse=*/true});
    }
  }
}

Predictor::~Predictor() = default;

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::create(
    std::shared_ptr<const ModelVersion> version, PredictorOptions options) {
  const TrainConfig& train = *version->train;
  ASSIGN_OR_RETURN(FeatureSchema schema, FeatureSchema::create(train));
  if (options.workers < 1 || options.threads < 1 || options.max_rows < 0 || options.join_rows < 0 ||
      options.join_wait < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "workers and threads must be at least 1, max_rows, join_rows and join_wait 0");
  }
  if (train.precision().compute() != PrecisionConfig::FLOAT32) {
    return absl::InvalidArgumentError(
        absl::StrCat(version->path, ": train.precision is ",
                     PrecisionConfig::Compute_Name(train.precision().compute()),
                     "; a served model computes in FLOAT32 alone"));
  }
  std::unique_ptr<Predictor> predictor(new Predictor(options, std::move(schema), *version));
  for (int i = 0; i < options.workers; ++i) {
    auto worker = std::make_unique<Worker>();
    RETURN_IF_ERROR(catch_exceptions("making the model", [&]() -> absl::Status {
      ASSIGN_OR_RETURN(worker->model, make_model(train, predictor->schema_, options.threads));
      return bind(*worker->model, *version);
    }));
    worker->bound = version;
    predictor->workers_.push_back(std::move(worker));
  }
  MutexLock lock(predictor->mutex_);
  for (const auto& worker : predictor->workers_) predictor->idle_.push_back(worker.get());
  predictor->version_ = std::move(version);
  return predictor;
}

absl::Status Predictor::set_version(std::shared_ptr<const ModelVersion> version) {
  const std::shared_ptr<const ModelVersion> before = this->version();
  if (!have_one_model(*version->train, *before->train)) {
    return absl::InvalidArgumentError(
        absl::StrCat(version->path, " has another model than ", before->path));
  }
  {
    const TakenWorker first(*this);
    const absl::Status fits = first.bind_to(version);
    if (!fits.ok()) {
      const absl::Status restored = bind(*first->model, *first->bound);
      MILLRACE_CHECK(restored.ok()) << restored;
      return fits;
    }
    MutexLock lock(mutex_);
    if (version->text_columns != version_->text_columns) plans_.clear();  // which checked them
    version_ = std::move(version);
  }
  rebind_idle();
  return absl::OkStatus();
}

// Makes workers without a request let go of an older version, whose memory is then free.
void Predictor::rebind_idle() {
  for (;;) {
    std::shared_ptr<const ModelVersion> now;
    Worker* old = nullptr;
    {
      MutexLock lock(mutex_);
      now = version_;
      const auto found = std::find_if(idle_.begin(), idle_.end(),
                                      [&](const Worker* idle) { return idle->bound != now; });
      if (found == idle_.end()) return;
      old = *found;
      idle_.erase(found);
    }
    const TakenWorker worker(*this, old);
    const absl::Status bound = worker.bind_to(now);
    MILLRACE_CHECK(bound.ok()) << bound;  // another worker has been bound to it
  }
}

std::shared_ptr<const ModelVersion> Predictor::version() const {
  MutexLock lock(mutex_);
  return version_;
}

const std::vector<std::string>& Predictor::labels() const { return schema_.labels(); }

absl::StatusOr<std::shared_ptr<const Predictor::Plan>> Predictor::make_plan(
    const RequestColumns& columns) const {
  auto plan = std::make_shared<Plan>();
  std::vector<std::string> names;
  for (const auto& [name, column] : columns) plan->columns.push_back(name);
  for (const RequestFeature& feature : features_) names.push_back(feature.column);
  for (const std::string& name : plan->columns) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return bad_request(
          absl::StrCat("no feature has a column \"", name, "\"", did_you_mean(name, names)));
    }
  }
  for (const auto& [name, was_text] : version()->text_columns) {
    const auto found = columns.find(name);
    if (found == columns.end() || was_text == !is_number(found->second.type)) continue;
    return bad_request(absl::StrCat("column \"", name, "\" has ", describe(found->second.type),
                                    ", but training made ids of ", was_text ? "text" : "numbers",
                                    ": its ids would differ"));
  }
  const auto index = [&](const FeatureConfig& feature,
                         const std::string& name) -> absl::StatusOr<int64_t> {
    const auto found = columns.find(name);
    if (found != columns.end()) return std::distance(columns.begin(), found);
    return bad_request(
        absl::StrCat("feature \"", feature.name(), "\" needs the column \"", name, "\""));
  };
  for (const FeatureConfig& feature : schema_.features()) {
    FeatureSource source{.name = feature.name(), .kind = feature.kind()};
    if (is_input(feature.kind())) {
      ASSIGN_OR_RETURN(source.column, index(feature, column_of(feature)));
      const ValueType type = columns.at(column_of(feature)).type;
      ASSIGN_OR_RETURN(source.transform,
                       FeatureTransform::create(feature, type, LabelRange::kAny, *options_.files),
                       "request");
      if (feature.has_weight_column()) {
        ASSIGN_OR_RETURN(source.weight_column, index(feature, feature.weight_column()));
        if (!is_number(columns.at(feature.weight_column()).type)) {
          return bad_request(absl::StrCat("\"", feature.weight_column(), "\" must be numbers"));
        }
      }
      for (const TransformConfig& step : feature.transform()) {
        if (!step.has_cross()) continue;
        ASSIGN_OR_RETURN(const int64_t other, schema_.sparse_index(step.cross().feature()));
        source.crossed.push_back(other);
      }
    }
    plan->features.push_back(std::move(source));
  }
  return plan;
}

absl::StatusOr<std::shared_ptr<const Predictor::Plan>> Predictor::plan_for(
    const RequestColumns& columns) {
  std::string types;
  for (const auto& [name, column] : columns) {
    // Names come from the client, so that a separator would not separate.
    absl::StrAppend(&types, name.size(), ":", name, static_cast<int>(column.type));
  }
  {
    MutexLock lock(mutex_);
    const auto known = plans_.find(types);
    if (known != plans_.end()) return known->second;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan, make_plan(columns));
  MutexLock lock(mutex_);
  if (plans_.size() >= kMostPlans) plans_.clear();
  return plans_.emplace(types, std::move(plan)).first->second;
}

// Applies the transforms to the columns of a request.
absl::StatusOr<Block> Predictor::make_block(RequestColumns columns, int64_t rows) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Plan> plan, plan_for(columns));
  if (rows < 1) return bad_request("it has no rows");
  if (options_.max_rows > 0 && rows > options_.max_rows) {
    return bad_request(
        absl::StrCat("it has ", rows, " rows; at most ", options_.max_rows, " are taken"));
  }
  for (const auto& [name, column] : columns) {
    if (column.rows == rows) continue;
    return bad_request(
        absl::StrCat("column \"", name, "\" has ", column.rows, " rows, not ", rows));
  }
  std::vector<Column> inputs;
  for (auto& [name, column] : columns) inputs.push_back(std::move(column));

  Block block;
  block.sparse.resize(schema_.sparse().size());
  block.dense.resize(schema_.dense().size());
  block.labels.resize(schema_.labels().size());
  BadRows bad(rows, /*skip=*/false);
  const ColumnPlace place{.path = "request", .column = "", .first_row = 0};
  const absl::Status made = append_features(
      plan->features, absl::MakeSpan(inputs),
      [&](int64_t column) -> absl::string_view { return plan->columns[column]; }, rows, place, bad,
      &block);
  if (absl::IsDataLoss(made)) return absl::InvalidArgumentError(made.message());
  RETURN_IF_ERROR(made);
  block.example_ids.resize(rows);
  std::iota(block.example_ids.begin(), block.example_ids.end(), 0);
  for (int64_t row = 0; row < rows; ++row) {
    block.order.push_back({static_cast<int32_t>(row), row});
  }
  return block;
}

Predictor::Worker* Predictor::take_idle() {
  Worker* const taken = idle_.back();
  idle_.pop_back();
  return taken;
}

// Returns the requests of the next batch, which leave the queue.
std::vector<Predictor::Request*> Predictor::take_requests() {
  std::vector<Request*> taken;
  int64_t rows = 0;
  do {
    Request* const next = requests_.front();
    rows += next->rows();
    taken.push_back(next);
    requests_.pop_front();
  } while (!requests_.empty() && rows + requests_.front()->rows() <= options_.join_rows);
  waiting_rows_ -= rows;
  ++batches_;
  return taken;
}

// Evaluates the requests as one batch and sets their predictions, of the version that is served.
absl::Status Predictor::evaluate(const TakenWorker& worker, absl::Span<Request* const> requests) {
  const std::shared_ptr<const ModelVersion> version = this->version();
  if (worker->bound != version) RETURN_IF_ERROR(worker.bind_to(version));
  std::vector<BatchPiece> pieces;
  int64_t rows = 0;
  for (const Request* const request : requests) {
    pieces.push_back({&request->block, request->block.order});
    rows += request->rows();
  }
  const at::NoGradGuard no_gradients;
  Progress progress;
  progress.step = version->step;
  worker->model->begin_step(progress, Phase::kEvaluate);
  const Batch batch = build_batch(pieces);
  ASSIGN_OR_RETURN(const ModelOutput output, worker->model->evaluate(batch));
  const at::Tensor values = output.predictions.to(at::kFloat).contiguous();
  if (values.dim() != 2 || values.size(0) != rows) {
    return absl::InternalError("the model gave predictions of another shape");
  }
  const float* next = values.const_data_ptr<float>();
  for (Request* const request : requests) {
    Predictions& predictions = request->predictions;
    predictions = {
        .rows = request->rows(), .tasks = values.size(1), .values = {}, .version = version};
    predictions.values.assign(next, next + predictions.rows * predictions.tasks);
    next += predictions.rows * predictions.tasks;
  }
  return absl::OkStatus();
}

// Sets predictions or error of the requests. One for which the model fails leaves the others
// theirs.
void Predictor::answer(const TakenWorker& worker, absl::Span<Request* const> requests) {
  const absl::Status status =
      catch_exceptions("the model", [&] { return evaluate(worker, requests); });
  if (!status.ok() && requests.size() > 1) {
    const size_t half = requests.size() / 2;
    answer(worker, requests.first(half));
    answer(worker, requests.subspan(half));
    return;
  }
  for (Request* const request : requests) request->status = status;
}

absl::StatusOr<Predictions> Predictor::predict(RequestColumns columns, int64_t rows) {
  Request own;
  ASSIGN_OR_RETURN(own.block, make_block(std::move(columns), rows));
  const absl::Duration begin = Clock::real().elapsed();
  std::vector<Request*> requests;
  Worker* idle = nullptr;
  {
    MutexLock lock(mutex_);
    requests_.push_back(&own);
    waiting_rows_ += rows;
    // The first in the queue waits for a worker, and takes those behind it along.
    const auto leads = [&] { return !requests_.empty() && requests_.front() == &own; };
    mutex_.await([&] { return own.is_done || (leads() && !idle_.empty()); });
    if (!own.is_done) {
      mutex_.await_for(options_.join_wait - (Clock::real().elapsed() - begin),
                       [this] { return waiting_rows_ >= options_.join_rows; });
      mutex_.await([this] { return !idle_.empty(); });
      idle = take_idle();
      requests = take_requests();
    }
  }
  if (idle != nullptr) {
    answer(TakenWorker(*this, idle), requests);
    MutexLock lock(mutex_);
    for (Request* const request : requests) request->is_done = true;
  }
  rebind_idle();
  RETURN_IF_ERROR(own.status);
  return std::move(own.predictions);
}

int64_t Predictor::batches() const {
  MutexLock lock(mutex_);
  return batches_;
}

}  // namespace millrace
