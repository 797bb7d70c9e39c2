#include "framework/ranks/rank_part.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/byte_stream.h"
#include "base/status_macros.h"
#include "distributed/collectives.h"
#include "io/cursor_state.h"

namespace millrace {

absl::Status merge_ranks(Collectives& collectives, std::initializer_list<RankPart*> parts) {
  if (collectives.world_size() == 1) return absl::OkStatus();
  ByteWriter writer;
  for (const RankPart* part : parts) {
    writer.write_string(part->save_share(collectives.world_size()));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> gathered, collectives.all_gather(writer.bytes()));

  std::vector<std::vector<absl::string_view>> by_part(parts.size());
  for (size_t rank = 0; rank < gathered.size(); ++rank) {
    ByteReader reader(gathered[rank]);
    for (std::vector<absl::string_view>& ranks : by_part) ranks.push_back(reader.read_string());
    if (!reader.done()) {
      return absl::DataLossError(
          absl::StrCat("rank ", rank, " sent figures that are not ", parts.size(), " parts"));
    }
  }
  size_t i = 0;
  for (RankPart* part : parts) {
    RETURN_IF_ERROR(part->merge_shares(by_part[i++], collectives));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Cursor>> gather_cursors(const Cursor& own, Collectives& ranks) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all,
                   ranks.all_gather(to_state(own).SerializeAsString()));
  std::vector<Cursor> cursors;
  for (const std::string& bytes : all) {
    CursorState state;
    if (!state.ParseFromString(bytes)) return absl::InternalError("a rank's cursor cannot be read");
    ASSIGN_OR_RETURN(cursors.emplace_back(), from_state(state));
  }
  return cursors;
}

}  // namespace millrace
