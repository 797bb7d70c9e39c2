// Predictions of a trained model for rows of raw features.
#ifndef MILLRACE_SERVING_PREDICTOR_H_
#define MILLRACE_SERVING_PREDICTOR_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/mutex.h"
#include "io/block.h"
#include "io/column.h"
#include "io/feature_schema.h"
#include "serving/model_version.h"

namespace millrace {

struct PredictorOptions {
  int workers = 1;       // requests that are computed at the same time
  int threads = 1;       // of one request, for tables; LibTorch has its own setting
  int64_t max_rows = 0;  // of a request; 0: any number
  // Requests that wait for a worker are computed as one batch of at most this many rows; 0: each
  // alone. The model's prediction of a row must not depend on the other rows of a batch.
  int64_t join_rows = 0;
  // Longest time that a request waits for further ones though a worker is idle.
  absl::Duration join_wait = absl::ZeroDuration();
  // Of vocabularies, which must not change; outlives the predictor.
  FileSystem* files = &FileSystem::local();
};

// Columns of a request by name, as the data of training has them.
using RequestColumns = std::map<std::string, Column>;

// A column that a request must have.
struct RequestFeature {
  std::string column;
  bool is_sparse = false;  // else one number for each row
  bool is_text = false;    // training made ids of its text; a request must bring text, too
};

struct Predictions {
  int64_t rows = 0, tasks = 0;
  std::vector<float> values;                    // [rows, tasks]: probabilities or values
  std::shared_ptr<const ModelVersion> version;  // that computed them
};

// Serves one version of a model at a time. Each of `workers` has an instance of the model, whose
// parameters share the memory of the version. Thread-safe. The program must link the model and the
// transforms of the configuration.
//
//   ASSIGN_OR_RETURN(auto version, load_version(FileSystem::local(),
//   "out/checkpoints/step-00001000")); ASSIGN_OR_RETURN(auto predictor, Predictor::create(version,
//   {.workers = 2})); ASSIGN_OR_RETURN(const Predictions predictions, predictor->predict(columns,
//   rows));
class Predictor {
 public:
  // Errors: InvalidArgument for a model that is not linked, whose tables or parameters are not
  // those of the version, or that computes in reduced precision (train.precision).
  static absl::StatusOr<std::unique_ptr<Predictor>> create(
      std::shared_ptr<const ModelVersion> version, PredictorOptions options);
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  // Applies the transforms of the configuration to the columns and evaluates the model. Equal to
  // `millrace predict` for the same rows in one batch and as many threads; a joined request is
  // within rounding of it. Waits for a worker. A whole request is of one version.
  // Errors: InvalidArgument naming feature or column, for a column that is missing, unknown, of a
  // type that the feature does not take or that gives other ids than that of training, or of
  // another number of rows, for too many rows, and for a
  // value that would be bad data in training, with its row; errors of the model.
  absl::StatusOr<Predictions> predict(RequestColumns columns, int64_t rows);

  // Serves `version` from the next request on. Requests under way end with their own version.
  // Errors: InvalidArgument for a version of another configuration than the first, or whose tensors
  // or tables are not those of the model; the version before is served then.
  absl::Status set_version(std::shared_ptr<const ModelVersion> version);
  std::shared_ptr<const ModelVersion> version() const;

  // Returns the columns of a request, each once.
  const std::vector<RequestFeature>& features() const { return features_; }
  const std::vector<std::string>& labels() const;  // the tasks, in the order of Predictions
  int64_t max_rows() const { return options_.max_rows; }
  // Returns the number of batches that the model has evaluated; fewer than requests where these
  // were joined.
  int64_t batches() const;

 private:
  struct Worker;
  class TakenWorker;
  struct Plan;
  struct Request;
  Predictor(PredictorOptions options, FeatureSchema schema, const ModelVersion& version);
  absl::StatusOr<Block> make_block(RequestColumns columns, int64_t rows);
  Worker* take_idle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Request*> take_requests() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void answer(const TakenWorker& worker, absl::Span<Request* const> requests);
  absl::Status evaluate(const TakenWorker& worker, absl::Span<Request* const> requests);
  absl::StatusOr<std::shared_ptr<const Plan>> plan_for(const RequestColumns& columns);
  absl::StatusOr<std::shared_ptr<const Plan>> make_plan(const RequestColumns& columns) const;
  void rebind_idle();

  const PredictorOptions options_;
  const FeatureSchema schema_;
  std::vector<RequestFeature> features_;
  std::vector<std::unique_ptr<Worker>> workers_;
  mutable Mutex mutex_;
  std::shared_ptr<const ModelVersion> version_ ABSL_GUARDED_BY(mutex_);
  std::vector<Worker*> idle_ ABSL_GUARDED_BY(mutex_);
  std::deque<Request*> requests_ ABSL_GUARDED_BY(mutex_);  // that wait for a worker
  int64_t waiting_rows_ ABSL_GUARDED_BY(mutex_) = 0;       // of requests_
  int64_t batches_ ABSL_GUARDED_BY(mutex_) = 0;
  // By the types of the columns.
  std::map<std::string, std::shared_ptr<const Plan>> plans_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace

#endif  // MILLRACE_SERVING_PREDICTOR_H_
