#include "io/hashed_columns.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "io/time_type.h"

namespace millrace {
namespace {

using HashedColumn = DataIdentity::Column;
using ColumnsByName = std::map<std::string, HashedColumn>;

absl::string_view describe(DataIdentity::Cells cells) {
  return cells == DataIdentity::TEXT ? "text" : "numbers";
}

bool differ(DataIdentity::Cells one, DataIdentity::Cells other) {
  const bool known = one != DataIdentity::UNKNOWN_CELLS && other != DataIdentity::UNKNOWN_CELLS;
  return known && one != other;
}

ColumnsByName by_name(const HashedColumns& columns) {
  ColumnsByName map;
  for (const HashedColumn& column : columns) map.emplace(column.name(), column);
  return map;
}

HashedColumns in_order(ColumnsByName map) {
  HashedColumns columns;
  for (auto& [name, column] : map) *columns.Add() = std::move(column);
  return columns;
}

}  // namespace

std::map<std::string, std::string> time_types_of(const HashedColumns& columns) {
  std::map<std::string, std::string> types;
  for (const HashedColumn& column : columns) {
    if (column.has_time()) types.emplace(column.name(), column.time());
  }
  return types;
}

void update_hashed_columns(const HashedColumns& newer, HashedColumns* columns) {
  ColumnsByName all = by_name(newer);
  for (const HashedColumn& known : *columns) {
    HashedColumn& column = all.emplace(known.name(), known).first->second;
    if (known.has_time() && !column.has_time()) column.set_time(known.time());
  }
  *columns = in_order(std::move(all));
}

HashedColumns common_hashed_columns(absl::Span<const HashedColumns> sources) {
  ColumnsByName all;
  for (const HashedColumns& source : sources) {
    for (const HashedColumn& column : source) {
      HashedColumn& known = all.emplace(column.name(), column).first->second;
      if (known.cells() != column.cells()) known.set_cells(DataIdentity::UNKNOWN_CELLS);
      if (column.has_time() && !known.has_time()) known.set_time(column.time());
    }
  }
  return in_order(std::move(all));
}

absl::Status check_hashed_columns(const HashedColumns& trained, const HashedColumns& now) {
  const ColumnsByName before = by_name(trained);
  for (const HashedColumn& column : now) {
    const auto found = before.find(column.name());
    if (found == before.end()) continue;
    // Equal units and zones have names that differ in the name of the zone at most.
    if (found->second.has_time() && column.has_time() &&
        parse_time_type(found->second.time()) != parse_time_type(column.time())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column \"", column.name(), "\" holds ", column.time(), " in ", column.file(), ", but ",
          found->second.time(), " in training (", found->second.file(),
          "), so that equal times would be other numbers; store the column as ",
          found->second.time()));
    }
    if (!differ(found->second.cells(), column.cells())) continue;
    const DataIdentity::Cells was = found->second.cells();
    const std::string& file = found->second.file();
    return absl::InvalidArgumentError(
        absl::StrCat("column \"", column.name(), "\" holds ", describe(column.cells()), " in ",
                     column.file(), ", but ", describe(was), " in training (", file,
                     "), so that equal values would get other ids; store the column as ",
                     was == DataIdentity::TEXT ? "text (string)" : "numbers", ", as in ", file));
  }
  return absl::OkStatus();
}

}  // namespace millrace
