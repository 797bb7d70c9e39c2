// Strict reading of configurations. Every mistake is an error that contains file, line and, for a
// misspelt name, the nearest name. CheckedJob (job/checked_job.h) calls these functions in their
// order and then checks all rules: read_job_config(), apply_override(), merge_includes(),
// expand_environment() (config_variables.h), expand_names().
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

// Parses protobuf text format and merges the result into `message`, which is unchanged on errors.
// Errors: InvalidArgument "<source>:<line>:<column>: what, and the nearest name".
absl::Status parse_text(absl::string_view text, absl::string_view source,
                        google::protobuf::Message* message);

// Reads a JobConfig from a file, merged over the files that it includes: protobuf's merge, in which
// lists append and other fields of the including file win. `include` of the result is empty. Sets
// TrainConfig.split_rule as a new job has it, unless a file does.
// Errors: errors of opening the files and of parse_text; InvalidArgument for files that include one
// another in a circle, or more than 16 deep.
absl::StatusOr<JobConfig> read_job_config(FileSystem& files, const std::string& path);

// Merges `config` over the files that it includes, for a configuration in memory. Paths are
// relative to the working directory. Does nothing without `include`. Errors: as read_job_config().
absl::Status merge_includes(FileSystem& files, JobConfig* config);

// Applies one "path.to.field=value", such as
//   train.max_epochs=3   train.feature[2].table=items   train.model.[millrace.deepfm].dropout=0.1
// The value is in text format (a message in braces, a list in brackets). Quotes around strings are
// optional. The field is replaced as a whole, also a repeated field without an index:
// train.train_data.path=["a", "b"]. Missing messages on the path are created, missing entries of
// repeated fields are not.
//
// Errors: InvalidArgument with the wrong part of the path and the nearest name; `config` is then
// unchanged.
absl::Status apply_override(absl::string_view assignment, JobConfig* config);

// Replaces features and tables named by a range in braces ("c{1..26}") by one per number, with `{}`
// in their other text fields replaced by the number. Fills in defaults that depend on other fields:
// the column and table of a feature, by its name, and the tables that sparse features do not name,
// which are appended to `table` in the order of the features. Ranges that give more than 1,000,000
// features or tables stay unchanged, and validate refuses them. Idempotent.
void expand_names(TrainConfig* config);

// Returns true if an unset message has another meaning than an empty one; see its comment in
// config.proto.
bool absence_has_meaning(const google::protobuf::FieldDescriptor& field);

// Returns the configuration in text format, with extensions by name. parse_text reads the text
// back.
std::string to_text(const google::protobuf::Message& message);
// Returns the same text with every default written out, also the defaults of unset messages, except
// where absence has a meaning. The text has the same meaning as the message.
std::string to_text_with_defaults(const google::protobuf::Message& message);

}  // namespace millrace

#endif  // MILLRACE_PROTO_CONFIG_READER_H_
