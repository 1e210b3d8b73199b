#include "multifile/keyval/keyval_check.hpp"

#include "multifile/keyval/constants.hpp"
#include "multifile/metadata/task_rows.hpp"

namespace sheaf::multifile {

void for_each_record(const Multifile& m, int64_t task, const TaskRow& row,
                     const std::function<void(const KeyvalRecord&)>& visit) {
  if (!has_records(m)) return;
  const PhysicalFile& file = m.file_of(row);
  ReadStream stream;
  stream.buffer().set_max(keyval_constants::check_buffer);
  load_stream(stream, m, task, row);
  KeyvalScanner records(stream, file.header.metadata_order, file.path(), task);
  while (const auto record = records.next()) visit(*record);
}

void check_keyval_records(const Multifile& m, WorkProgress& progress) {
  if (!has_records(m)) return;
  TaskRows rows(m);
  for (int64_t t = 0; t < m.ntasks(); ++t)
    for_each_record(m, t, rows.at(t), [&](const KeyvalRecord&) { progress.advance(0); });
}

}  // namespace sheaf::multifile
