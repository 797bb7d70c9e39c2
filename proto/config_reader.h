// Reading configurations strictly: every mistake is an error that names file, line and, for
// misspelt names, what was probably meant.
#ifndef MILLRACE_PROTO_CONFIG_READER_H_
#define MILLRACE_PROTO_CONFIG_READER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "proto/config.pb.h"

namespace millrace {

// Parses protobuf text format into `message`, which is merged into.
// Errors: InvalidArgument "<source>:<line>:<column>: what, and the nearest name".
absl::Status parse_text(absl::string_view text, absl::string_view source,
                        google::protobuf::Message* message);

// Reads a JobConfig from a file. Errors: those of opening it and of parse_text.
absl::StatusOr<JobConfig> read_job_config(FileSystem& files, const std::string& path);

// Applies one "path.to.field=value", such as
//   train.max_epochs=3   train.feature[2].table=items   train.model.[millrace.deepfm].dropout=0.1
// The value is in text format; quotes around strings may be left out. A repeated field without
// an index is replaced as a whole: train.train_data.path=["a", "b"].
// Errors: InvalidArgument naming the part of the path that is wrong and the nearest name.
absl::Status apply_override(absl::string_view assignment, JobConfig* config);

// Replaces entries named by a range in braces ("c{1..26}") by one entry for each number, with
// `{}` in their other string fields replaced by it, and fills in defaults that depend on other
// fields (column and table by the feature's name). Idempotent.
void expand_names(TrainConfig* config);

// Checks everything that needs no data: ranges of numbers, unique names, references between
// parts. Errors: InvalidArgument naming the field and entry.
absl::Status validate(const JobConfig& config);

// The configuration as text format, with extensions by name.
std::string to_text(const google::protobuf::Message& message);
// The same with every default written out.
std::string to_text_with_defaults(const google::protobuf::Message& message);

}  // namespace millrace

#endif  // MILLRACE_PROTO_CONFIG_READER_H_
