// multifile/parallel_reader: a closed multifile read by as many tasks as wrote it, each reading its own stream.
//
// Opening is collective: leaders read slices of the metadata arrays and hand every task its row. Reading is local.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "multifile/facts.hpp"
#include "multifile/metadata_io.hpp"
#include "multifile/open_mode.hpp"
#include "multifile/parallel_open.hpp"
#include "multifile/read_stream.hpp"

namespace sheaf {

class ParallelReader {
 public:
  // Collective over `comm`. Throws on every task alike, out_of_range if the multifile was written by another number
  // of tasks.
  ParallelReader(Store& store, std::unique_ptr<Comm> comm, const std::string& path, const OpenMode& mode);

  int task() const { return comm_->rank(); }
  int ntasks() const { return comm_->size(); }
  const FileFacts& facts() const { return facts_; }
  // Only the own task can be selected. Throws out_of_range for any other.
  void select(int64_t task) const;
  const std::string& path() const { return file_->path(); }  // of this task's physical file
  Comm& comm() { return *comm_; }
  ReadStream& stream() { return stream_; }

  // A handle for the program on the current position, made at the first call; owned by the reader. Local.
  StdioHandle& share_handle(bool with_stream);
  StdioHandle* shared_handle() { return handle_.get(); }

  // Collective. Throws on every task alike; the object is closed all the same.
  void close();

 private:
  Comm& local() { return local_ ? *local_ : *comm_; }
  TravellingHeader read_lead(Store& store, const std::string& path);
  layout::Placement find_place(Store& store, const std::string& path, const TravellingHeader& lead);
  void open_file(Store& store, const std::string& name, TravellingHeader& facts, layout::Placement place);
  int64_t read_row(const format::Header& header, const format::Pointer& p);

  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Comm> local_;  // tasks of this physical file; null if those are all
  std::shared_ptr<File> file_;
  std::unique_ptr<StdioHandle> handle_;
  std::vector<int64_t> sizes_;
  ReadStream stream_;
  FileFacts facts_;
};

}  // namespace sheaf
