#include "io/kafka/arrow_stream_testing.h"

#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>

#include <memory>

namespace millrace {

std::string arrow_stream(int64_t first, int64_t rows, bool other_type) {
  arrow::Int64Builder label, id;
  arrow::DoubleBuilder x;
  arrow::Int32Builder other;
  const auto values = std::make_shared<arrow::Int64Builder>();
  arrow::ListBuilder ids(arrow::default_memory_pool(), values);
  for (int64_t row = first; row < first + rows; ++row) {
    label.Append(row % 2).ok();
    x.Append(static_cast<double>(row) / 2).ok();
    other.Append(static_cast<int32_t>(row / 2)).ok();
    id.Append(row).ok();
    ids.Append().ok();
    for (int64_t i = 0; i < row % 3; ++i) values->Append(row).ok();
  }
  const auto schema = arrow::schema(
      {arrow::field("label", arrow::int64()),
       arrow::field("x", other_type ? arrow::int32() : arrow::float64()),
       arrow::field("ids", arrow::list(arrow::int64())), arrow::field("id", arrow::int64())});
  const auto batch =
      arrow::RecordBatch::Make(schema, rows,
                               {label.Finish().ValueOrDie(),
                                other_type ? other.Finish().ValueOrDie() : x.Finish().ValueOrDie(),
                                ids.Finish().ValueOrDie(), id.Finish().ValueOrDie()});
  const auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto writer = arrow::ipc::MakeStreamWriter(sink, schema).ValueOrDie();
  writer->WriteRecordBatch(*batch).ok();
  writer->Close().ok();
  return sink->Finish().ValueOrDie()->ToString();
}

}  // namespace millrace
