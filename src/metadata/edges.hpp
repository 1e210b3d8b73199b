// metadata/edges: what tasks write in units that hosts share, kept beside the physical file until its close.
//
// Where hosts share no page cache two of them must not write one unit of a file (layout/regions). What a task
// writes in such a unit goes to the same place in a file of its host instead, NAME.edges.<host>, which is
// made when it is needed (docs/format.md, section 18). In the close one task brings each unit home
// (collective/edges_home); of a file that was never closed, readers and repairs find them
// (metadata/edges_reader).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "format/edges.hpp"
#include "journal/journal_file.hpp"
#include "layout/edge_map.hpp"
#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

// Of one physical file, for the tasks of one process. Local; one thread at a time.
class Edges {
 public:
  // `store` outlives the object. `journal`: an unclosed file shall be found to have edges.
  Edges(Store& store, std::string physical_file, bool journal)
      : store_(store), path_(std::move(physical_file)), announces_(journal) {}

  struct Row {
    int64_t task = 0;  // in the physical file
    format::EdgesRow where;
    // Bytes from where.begin on, in round where.from, that an earlier program has written
    int64_t before = 0;
  };
  // Before anything is written: the runs in which this process writes. unit 0, the same on all tasks: nobody
  // has edges.
  void set(const JournalKey& key, int64_t unit, int64_t data_start, int64_t skip, std::vector<Row> rows);
  // Before set(): an earlier program has written to the physical file. What that has in edges is copied, so
  // that readers of an unclosed file find all of an edge in one place.
  void keep_earlier(std::shared_ptr<File> physical_file) { earlier_ = std::move(physical_file); }
  const layout::EdgeMap& map() const { return map_; }
  bool in_use() const { return in_use_; }
  // Something was written here.
  bool is_made() const { return file_ != nullptr; }
  int64_t unit() const { return header_.unit; }
  // What is still to be written may be written anywhere.
  void end() {
    map_ = {};
    in_use_ = false;
  }

  // Bytes of the physical file from `offset` on, all in an edge. Throw what the store throws, and `foreign`.
  void write(std::span<const std::byte> data, int64_t offset) { file().write_at(data, offset + shift_); }
  size_t read(std::span<std::byte> data, int64_t offset) { return file().read_at(data, offset + shift_); }
  // What was written here would survive a loss of power.
  void sync();
  // Never throw: nothing is to be written; and when all is home, on every task: the file of the host is
  // removed.
  void close();
  void remove();

 private:
  File& file();
  void copy_earlier(const Row& row, File& to);

  Store& store_;
  const std::string path_;
  const bool announces_;
  layout::EdgeMap map_;
  JournalKey key_;
  format::EdgesHeader header_;
  std::vector<Row> rows_;
  std::shared_ptr<File> earlier_;
  int64_t shift_ = 0;
  std::shared_ptr<File> file_;
  bool in_use_ = false;
  bool was_open_ = false;
  bool named_ = false;  // the name would survive a loss of power
};

// The physical file as the task sees it. Nothing but its bytes is elsewhere.
class EdgedFile final : public ForwardingFile {
 public:
  EdgedFile(std::shared_ptr<File> inner, std::shared_ptr<Edges> edges)
      : ForwardingFile(std::move(inner)), edges_(std::move(edges)) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override;
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override;
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  void sync() override {
    inner().sync();
    edges_->sync();
  }
  FileTraits traits() override { return edges_->in_use() ? FileTraits{} : inner().traits(); }
  FileDescriptor descriptor(Whose whose) override;

 private:
  const std::shared_ptr<Edges> edges_;
};

// `file` itself if there are no `edges` (null).
std::shared_ptr<File> edged(std::shared_ptr<File> file, std::shared_ptr<Edges> edges);

}  // namespace sheaf
