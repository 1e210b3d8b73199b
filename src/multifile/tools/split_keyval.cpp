#include "multifile/tools/split_keyval.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "multifile/create/copy_stream.hpp"
#include "multifile/keyval/keyval_scan.hpp"
#include "multifile/tools/constants.hpp"
#include "multifile/tools/split.hpp"

namespace sheaf::multifile {

namespace {

struct KeyOutput {
  size_t number = 0;           // in the OutputSet
  int64_t length = 0;          // bytes written
  std::shared_ptr<File> file;  // null: temporarily closed
};

// The outputs of one task. At most max_open_outputs of them are open at a time.
class KeyOutputs {
 public:
  KeyOutputs(OutputSet& outputs, std::string name, int64_t task, WorkProgress& progress)
      : outputs_(outputs), name_(std::move(name)), task_(task), progress_(progress) {}

  KeyOutput& of(uint64_t key) {
    auto [at, is_new] = by_key_.try_emplace(key);
    KeyOutput& output = at->second;
    if (output.file) return output;
    if (opened_.size() == tools::max_open_outputs) close_all();
    if (is_new) {
      const std::string name = split_name(name_, key);
      progress_.begin_output(task_, name);
      output.number = outputs_.size();
      output.file = outputs_.add(name);
    } else {
      output.file = outputs_.reopen(output.number);
    }
    opened_.push_back(&output);
    return output;
  }

  void close_all() {
    for (KeyOutput* const output : opened_)
      close_output(*std::exchange(output->file, nullptr), output->length);
    opened_.clear();
  }

 private:
  OutputSet& outputs_;
  std::string name_;
  int64_t task_;
  WorkProgress& progress_;
  std::unordered_map<uint64_t, KeyOutput> by_key_;
  std::vector<KeyOutput*> opened_;
};

}  // namespace

void split_keyval(const PhysicalFile& source, int64_t task, const TaskRow& row, const std::string& name,
                  OutputSet& outputs, WorkProgress& progress) {
  ReadStream stream;
  stream.buffer().set_max(tools::split_buffer);
  stream.load(source.file, row.geometry, row.sizes, {}, row.sums);
  KeyvalScanner records(stream, source.header.metadata_order, source.path(), task);
  KeyOutputs keys(outputs, name, task, progress);
  std::vector<std::byte> buffer(static_cast<size_t>(tools::split_buffer));
  const bool checked = row.sums.piece > 0;  // data with checksums must be read to be verified

  while (const auto record = records.next()) {
    KeyOutput& out = keys.of(record->key);
    while (records.left() > 0) {
      if (stream.at_end()) break;  // moves to the next block, if any
      const int64_t here = std::min(records.left(), stream.available_in_block());
      if (here >= tools::copied_directly && !checked) {
        RangeCopier copier(*out.file, progress);
        copier.add(*source.file, stream.file_position(), out.length, here);
        copier.finish();
        records.skip(here);
        out.length += here;
      } else {
        const size_t got = records.read(std::span(buffer).first(static_cast<size_t>(here)));
        out.file->write_at(std::span(buffer).first(got), out.length);
        out.length += static_cast<int64_t>(got);
        progress.advance(static_cast<int64_t>(got));
      }
    }
  }
  keys.close_all();
}

}  // namespace sheaf::multifile
