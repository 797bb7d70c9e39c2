// Requests and replies of the Open Inference Protocol, version 2, over REST.
#ifndef MILLRACE_SERVING_INFERENCE_REQUEST_H_
#define MILLRACE_SERVING_INFERENCE_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serving/predictor.h"

namespace millrace {

// The output of every model: float32 [rows, tasks].
inline constexpr char kPredictionsOutput[] = "predictions";
// The header field with the length of the JSON part of a body that also has binary tensors.
inline constexpr char kJsonLengthField[] = "Inference-Header-Content-Length";

struct InferenceRequest {
  std::string id;  // "": none
  RequestColumns columns;
  int64_t rows = 0;
  bool binary_output = false;
};

// Parses the body of an infer request. `json_length`: the header field kJsonLengthField; "": the
// whole body is JSON. An input has the shape [rows] or [rows, 1], one value for each row, or [rows,
// n], n values for each row. Lists of different lengths are an input NAME of shape [values] with an
// input NAME_lengths of shape [rows]. Datatypes: BOOL, INT*, UINT*, FP32, FP64 and BYTES; as JSON
// or binary (little-endian; each text of BYTES after its length in 4 bytes). Errors:
// InvalidArgument that says what is wrong where.
absl::StatusOr<InferenceRequest> parse_inference_request(absl::string_view body,
                                                         absl::string_view json_length);

struct InferenceReply {
  std::string body;
  int64_t json_length = 0;  // 0: the whole body is JSON
};

InferenceReply format_inference_reply(const InferenceRequest& request, absl::string_view model,
                                      const Predictions& predictions);

}  // namespace millrace

#endif  // MILLRACE_SERVING_INFERENCE_REQUEST_H_
