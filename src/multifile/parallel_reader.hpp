// multifile/parallel_reader: a closed multifile read by as many tasks as wrote it, each reading its own stream.
//
// Opening is collective: leaders read slices of the metadata arrays and hand every task its row. Reading is local.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "multifile/collective_reader.hpp"
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
  // name_of: names of the physical files, if they do not follow the format. means_of: gives what collective calls use, once
  // it is known that this task is one of `local` in physical file `number`; collective, called if the mode asks for it.
  using MeansOf = std::function<CollectiveMeans(Comm& all, Comm& local, int32_t number, int32_t nfiles)>;
  ParallelReader(Store& store, std::unique_ptr<Comm> comm, const std::string& path, const OpenMode& mode,
                 const std::function<std::string(int32_t number)>& name_of = nullptr, const MeansOf& means_of = nullptr);

  int task() const { return comm_->rank(); }
  int ntasks() const { return comm_->size(); }
  const FileFacts& facts() const { return facts_; }
  // Only the own task can be selected. Throws out_of_range for any other.
  void select(int64_t task) const;
  const std::string& path() const { return stream_.file().path(); }  // of this task's physical file
  Comm& comm() { return *comm_; }
  Comm& local() { return local_ ? *local_ : *comm_; }  // tasks of this physical file
  ReadStream& stream() { return stream_; }
  // Null if the tasks read on their own.
  CollectiveReader* collective();

  // Collective. Throws on every task alike; the object is closed all the same.
  void close();

 private:
  TravellingHeader read_lead(Store& store, const std::string& path, const NameOf& name_of, std::shared_ptr<File>& file);
  layout::Placement find_place(Store& store, const std::string& path, const TravellingHeader& lead,
                               const NameOf& name_of, std::optional<Error>& problem);
  void open_file(Store& store, const std::string& path, TravellingHeader& facts, layout::Placement place,
                 std::shared_ptr<File>& file, std::optional<Error>& problem, bool collectively,
                 const std::function<std::string(int32_t)>& name_of);
  int64_t read_row(Store& store, File* file, const format::Header& header, const format::Pointer& p,
                   std::optional<Error>& problem);
  BlockSizes block_sizes() const;
  void begin_collective(const CollectivePlan& plan, CollectiveMeans means, std::shared_ptr<Store> store);

  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Comm> local_;  // tasks of this physical file; null if those are all
  // Sizes of the blocks of this task: most tasks have one.
  std::unique_ptr<int64_t[]> many_sizes_;
  int64_t one_size_ = 0;  // or, with many, their number
  ReadStream stream_;
  FileFacts facts_;
};

}  // namespace sheaf
