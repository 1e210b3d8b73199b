// set/parallel_reader: a closed multifile read by as many tasks as wrote it, each reading its own stream.
//
// Opening is collective: leaders read slices of the metadata arrays and hand every task its row. Reading is
// local.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collective/collective_reader.hpp"
#include "comm/comm.hpp"
#include "metadata/facts.hpp"
#include "metadata/metadata_io.hpp"
#include "metadata/parallel_open.hpp"
#include "mode/open_mode.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

// The sizes of one task's blocks, in a word, since most tasks have one block and every task has this: the
// size, or the complement of the address of an array that begins with the number of sizes.
class OwnSizes {
 public:
  OwnSizes() = default;
  ~OwnSizes() { delete[] many(); }
  OwnSizes(const OwnSizes&) = delete;
  OwnSizes& operator=(const OwnSizes&) = delete;

  // Once. All negative sizes, which are damage, become -1.
  void set_one(int64_t size) { word_ = std::max<int64_t>(size, -1); }
  // Once. Room for so many, more than one.
  int64_t* make_many(int64_t count) {
    auto* const numbers = new int64_t[static_cast<size_t>(count) + 1];
    numbers[0] = count;
    word_ = ~reinterpret_cast<intptr_t>(numbers);
    return numbers + 1;
  }
  BlockSizes view() const {
    const int64_t* const numbers = many();
    return numbers ? BlockSizes{numbers + 1, 1, static_cast<int32_t>(numbers[0])} : BlockSizes{&word_, 1, 1};
  }

 private:
  int64_t* many() const {
    return word_ < -1 ? reinterpret_cast<int64_t*>(~static_cast<intptr_t>(word_)) : nullptr;
  }

  int64_t word_ = 0;
};

class ParallelReader {
 public:
  // Collective over `comm`. Throws on every task alike, out_of_range if the multifile was written by another
  // number of tasks. name_of: names of the physical files, if they do not follow the format. means_of: gives
  // what collective calls use, once it is known that this task is one of `local` in physical file `number`;
  // collective, called if the mode asks for it.
  using MeansOf = std::function<CollectiveMeans(Comm& all, Comm& local, int32_t number, int32_t nfiles)>;
  ParallelReader(Store& store, std::unique_ptr<Comm> comm, const std::string& path, const OpenMode& mode,
                 const std::function<std::string(int32_t number)>& name_of = nullptr,
                 const MeansOf& means_of = nullptr);

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
  TravellingHeader read_lead(Store& store, const std::string& path, const NameOf& name_of,
                             std::shared_ptr<File>& file);
  layout::Placement find_place(Store& store, const std::string& path, const TravellingHeader& lead,
                               const NameOf& name_of, bool lead_alone, std::optional<Error>& problem);
  void open_file(Store& store, const std::string& path, TravellingHeader& facts, layout::Placement place,
                 std::shared_ptr<File>& file, std::optional<Error>& problem, bool collectively,
                 const std::function<std::string(int32_t)>& name_of);
  struct Row;
  class GroupFile;
  Row read_row(Store& store, File* file, const format::Header& header, const format::Pointer& p,
               std::optional<Error>& problem);
  void begin_collective(const CollectivePlan& plan, CollectiveMeans means, std::shared_ptr<Store> store);

  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Comm> local_;  // tasks of this physical file; null if those are all
  OwnSizes sizes_;               // of the blocks of this task
  ReadStream stream_;
  GroupFile* group_file_ = nullptr;  // the stream's file, if it is read collectively
  struct Facts : FileFacts {         // so that the flag takes the room it leaves
    Checking checking : 1 = Checking::on;
  };
  static_assert(sizeof(Facts) == sizeof(FileFacts));
  Facts facts_;
};

}  // namespace sheaf
