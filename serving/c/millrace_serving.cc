#include "serving/c/millrace_serving.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "checkpoint/objects/object_files.h"
#include "serving/served_model.h"

struct millrace_predictor {
  std::unique_ptr<millrace::ServedModel> model;
};

struct millrace_request {
  millrace::RequestColumns columns;
};

namespace {

using millrace::Column;
using millrace::ValueType;

thread_local std::string last_error;

// Calls `call`, which returns a status, and keeps its error.
template <typename Call>
int call_for_c(const char* doing, Call&& call) {
  const absl::Status status = millrace::catch_exceptions(doing, call);
  if (status.ok()) return 0;
  last_error = std::string(status.message());
  return 1;
}

template <typename Value>
int add_column(millrace_request* request, const char* name, ValueType type, const Value* values,
               int64_t count, const int64_t* lengths, int64_t rows) {
  return call_for_c("adding a column", [&]() -> absl::Status {
    const bool lacks_lengths = lengths == nullptr && rows > 0 && rows != count;
    if (request == nullptr || name == nullptr || (values == nullptr && count != 0) || count < 0 ||
        rows < 0 || lacks_lengths) {
      return absl::InvalidArgumentError(
          "a column needs a request, a name, values, and numbers of values and rows of at least 0; "
          "without lengths there are as many values as rows");
    }
    Column column;
    column.type = type;
    column.rows = count;
    const auto span = absl::MakeConstSpan(values, count);
    if constexpr (std::is_same_v<Value, double>) {
      column.doubles.assign(span.begin(), span.end());
    } else if constexpr (std::is_same_v<Value, int64_t>) {
      column.int64s.assign(span.begin(), span.end());
    } else {
      for (const char* const text : span) {
        if (text == nullptr) {
          return absl::InvalidArgumentError(absl::StrCat("column \"", name, "\" has a NULL text"));
        }
        column.strings.push_back(text);
      }
    }
    if (lengths != nullptr) {
      RETURN_IF_ERROR(millrace::set_row_lengths(absl::StrCat("column \"", name, "\": "), count,
                                                absl::MakeConstSpan(lengths, rows), &column));
    }
    request->columns[name] = std::move(column);
    return absl::OkStatus();
  });
}

absl::Status missing(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat(what, " is NULL"));
}

}  // namespace

const char* millrace_error(void) { return last_error.c_str(); }

int millrace_open(const char* path, int workers, int threads, millrace_predictor** predictor) {
  return call_for_c("opening a model", [&]() -> absl::Status {
    if (path == nullptr || predictor == nullptr) return missing("path or predictor");
    if (workers < 1 || threads < 1) {
      return absl::InvalidArgumentError("workers and threads must be at least 1");
    }
    at::set_num_threads(threads);
    auto opened = std::make_unique<millrace_predictor>();
    ASSIGN_OR_RETURN(opened->model,
                     millrace::ServedModel::open(millrace::ObjectFiles::process(), path,
                                                 {.workers = workers, .threads = threads}));
    *predictor = opened.release();
    return absl::OkStatus();
  });
}

void millrace_close(millrace_predictor* predictor) { delete predictor; }

int millrace_follow(millrace_predictor* predictor, int* changed) {
  return call_for_c("taking a newer version", [&]() -> absl::Status {
    if (predictor == nullptr) return missing("predictor");
    const bool has_changed = predictor->model->follow();
    if (changed != nullptr) *changed = has_changed ? 1 : 0;
    return absl::OkStatus();
  });
}

int64_t millrace_tasks(const millrace_predictor* predictor) {
  return static_cast<int64_t>(predictor->model->predictor().labels().size());
}

int64_t millrace_step(const millrace_predictor* predictor) {
  return predictor->model->predictor().version()->step;
}

millrace_request* millrace_request_new(void) { return new (std::nothrow) millrace_request; }

void millrace_request_free(millrace_request* request) { delete request; }

int millrace_add_numbers(millrace_request* request, const char* column, const double* values,
                         int64_t count, const int64_t* lengths, int64_t rows) {
  return add_column(request, column, ValueType::kDouble, values, count, lengths, rows);
}

int millrace_add_integers(millrace_request* request, const char* column, const int64_t* values,
                          int64_t count, const int64_t* lengths, int64_t rows) {
  return add_column(request, column, ValueType::kInt64, values, count, lengths, rows);
}

int millrace_add_texts(millrace_request* request, const char* column, const char* const* values,
                       int64_t count, const int64_t* lengths, int64_t rows) {
  return add_column(request, column, ValueType::kString, values, count, lengths, rows);
}

int millrace_predict(millrace_predictor* predictor, const millrace_request* request,
                     float* predictions, int64_t rows, int64_t* step) {
  return call_for_c("predicting", [&]() -> absl::Status {
    if (predictor == nullptr || request == nullptr || predictions == nullptr) {
      return missing("predictor, request or predictions");
    }
    ASSIGN_OR_RETURN(const millrace::Predictions computed,
                     predictor->model->predictor().predict(request->columns, rows));
    std::copy(computed.values.begin(), computed.values.end(), predictions);
    if (step != nullptr) *step = computed.version->step;
    return absl::OkStatus();
  });
}
