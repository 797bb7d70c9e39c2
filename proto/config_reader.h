// Reading configurations strictly: every mistake is an error that names file, line and, for
// misspelt names, what was probably meant. The order of use:
//
//   ASSIGN_OR_RETURN(JobConfig config, read_job_config(files, path));
//   RETURN_IF_ERROR(apply_override("train.max_epochs=3", &config));   // entries as written
//   expand_names(config.mutable_train());
//   RETURN_IF_ERROR(validate(config));                                 // config/config_check.h
//
// All functions may be called from any thread.
#ifndef MILLRACE_PROTO_CONFIG_READER_H_
#define MILLRACE_PROTO_CONFIG_READER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "proto/config.pb.h"

namespace millrace {

// Parses protobuf text format and merges it into `message`, which stays as it is on errors.
// Errors: InvalidArgument "<source>:<line>:<column>: what, and the nearest name".
absl::Status parse_text(absl::string_view text, absl::string_view source,
                        google::protobuf::Message* message);

// Reads a JobConfig from a file. Errors: those of opening it and of parse_text.
absl::StatusOr<JobConfig> read_job_config(FileSystem& files, const std::string& path);

// Applies one "path.to.field=value", such as
//   train.max_epochs=3   train.feature[2].table=items   train.model.[millrace.deepfm].dropout=0.1
// The value is in text format (a message in braces, a list in brackets); quotes around strings may
// be left out. The field is replaced as a whole, a repeated one without an index too:
// train.train_data.path=["a", "b"]. Messages on the way are made if missing, entries of repeated
// fields are not.
// Errors: InvalidArgument naming the part of the path that is wrong and the nearest name; `config`
// stays as it is then.
absl::Status apply_override(absl::string_view assignment, JobConfig* config);

// Replaces features and tables named by a range in braces ("c{1..26}") by one for each number, with
// `{}` in their other text fields replaced by it, and fills in defaults that depend on others:
// column and table by the feature's name, and the tables that sparse features do not name, which
// come last in `table`, in the order of the features. Ranges that give more than 1,000,000 features
// or tables stay as they are, for validate to refuse. Idempotent.
void expand_names(TrainConfig* config);

// Whether a message that is not set means something else than an empty one: its comment in
// config.proto says what.
bool absence_has_meaning(const google::protobuf::FieldDescriptor& field);

// The configuration as text format, with extensions by name; parse_text reads it back.
std::string to_text(const google::protobuf::Message& message);
// The same with every default written out, those of parts that are not set too, except where
// absence has a meaning of its own. It still means the same.
std::string to_text_with_defaults(const google::protobuf::Message& message);

}  // namespace millrace

#endif  // MILLRACE_PROTO_CONFIG_READER_H_
