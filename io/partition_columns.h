// Columns whose values are in the path of a file, as Hive and Spark store partitions of a table.
#ifndef MILLRACE_IO_PARTITION_COLUMNS_H_
#define MILLRACE_IO_PARTITION_COLUMNS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/column.h"

namespace millrace {

// A directory NAME=VALUE of a path.
struct Partition {
  std::string directory;             // as the path has it
  std::string name;                  // decoded
  std::optional<std::string> value;  // decoded; none: missing
  bool is_ambiguous = false;         // there are several values: `directory` names all of them

  friend bool operator==(const Partition&, const Partition&) = default;
};

// Returns the partitions of a file, the outermost directory first: the partitions of all
// directories of `path` as it is given, also of an absolute one. Of a URI, scheme and host do not
// count, nor does a query of http:// and https://. Names and values are URL-decoded. A value that
// is empty or __HIVE_DEFAULT_PARTITION__ is missing. A directory without a name before its first
// "=" is no partition. Directories of one name and value are one partition; a name with several
// values gives a partition for each.
std::vector<Partition> partitions_of(absl::string_view path);

// Returns the partitions of a file that are columns of the file: partitions whose name is not in
// `names`, its own columns. Several partitions of one name are one ambiguous partition.
std::vector<Partition> partition_columns(std::vector<Partition> partitions,
                                         absl::Span<const std::string> names);

// Appends `rows` rows with the value of the partition, none if the value is missing, to `column`,
// whose type determines how the value is read. As in cells of delimited text, blanks around a
// number do not count, blanks alone are no number but a missing value, and a boolean is 1 or 0.
// Errors: DataLoss, naming column and directory, if the value is not of this type; the rows then
// hold 0.
absl::Status append_partition(const Partition& partition, int64_t rows, Column* column);

}  // namespace millrace

#endif  // MILLRACE_IO_PARTITION_COLUMNS_H_
