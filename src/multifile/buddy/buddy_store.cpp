// Presents copies as the files that they were made from.
#include <algorithm>
#include <cstring>

#include "comm/agree.hpp"
#include "format/journal.hpp"
#include "multifile/buddy/buddy.hpp"
#include "multifile/buddy/constants.hpp"
#include "multifile/buddy/table.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "multifile/stream/file_checks.hpp"

namespace sheaf::multifile {

namespace {

// Presents a copy without its dummy tasks. The constructor rebuilds the metadata in memory; reads get data
// from the copy.
class BuddyView final : public File {
 public:
  BuddyView(std::shared_ptr<File> copy, std::string path) : copy_(std::move(copy)), path_(std::move(path)) {
    MetadataReader reader(*copy_);
    const format::Pointer p = reader.read_pointer();
    if (FileChecks* const checks = reader.checks(p)) checks->check_tasks(0, reader.header().ntasks);
    buddy::Table table = buddy::read_table(reader);
    remove_dummies(table);
    const format::Header& h = table.facts.header;
    begin_ = layout::data_start(h.ntasks, h.fsblksize);
    shift_ = layout::data_start(reader.header().ntasks, h.fsblksize) - begin_;
    end_ = p.varheader - shift_;
    table.facts.pointer.varheader = end_;
    buddy::write_table(*this, table);
    made_ = true;
  }

  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    size_t done = 0;
    while (done < data.size()) {
      const int64_t at = offset + static_cast<int64_t>(done);
      const auto rest = data.subspan(done);
      size_t n = 0;
      if (at >= end_) {
        n = copy_from(back_, at - end_, rest);
      } else if (at < std::ssize(front_)) {
        n = copy_from(front_, at, rest);
      } else if (at < begin_) {
        n = std::min(rest.size(), static_cast<size_t>(begin_ - at));
        std::fill_n(rest.begin(), n, std::byte{0});
      } else {
        n = copy_->read_at(rest.first(std::min(rest.size(), static_cast<size_t>(end_ - at))), at + shift_);
      }
      if (n == 0) break;
      done += n;
    }
    return done;
  }
  FileStatus status() override {
    FileStatus status = copy_->status();
    status.size = end_ + std::ssize(back_);
    return status;
  }
  // Called only by the constructor.
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    if (made_) read_only();
    std::vector<std::byte>& part = offset < end_ ? front_ : back_;
    const auto at = static_cast<size_t>(offset < end_ ? offset : offset - end_);
    part.resize(std::max(part.size(), at + data.size()));
    std::ranges::copy(data, part.begin() + static_cast<ptrdiff_t>(at));
  }
  void resize(int64_t) override { read_only(); }
  void sync() override {}
  int64_t next(Space space, int64_t offset) override {
    return space == Space::data ? offset : std::max(offset, end_ + std::ssize(back_));
  }
  const std::string& path() const override { return path_; }
  void close() override { copy_->close(); }

 private:
  [[noreturn]] void read_only() const {
    throw file_error(Code::wrong_mode, path_, "a view of a buddy copy cannot be changed");
  }

  static size_t copy_from(const std::vector<std::byte>& from, int64_t at, std::span<std::byte> to) {
    const size_t n = at >= std::ssize(from) ? 0 : std::min(to.size(), from.size() - static_cast<size_t>(at));
    if (n > 0) std::memcpy(to.data(), from.data() + at, n);
    return n;
  }

  // Removes the dummy tasks from the metadata. Data and their checksums stay unchanged.
  static void remove_dummies(buddy::Table& table) {
    format::Header& h = table.facts.header;
    const size_t all = table.ranks.size();
    const auto first = std::ranges::find_if(table.ranks, [](int64_t rank) { return rank >= 0; });
    const auto dummies = static_cast<size_t>(first - table.ranks.begin());
    for (auto* const values : {&table.ranks, &table.chunks, &table.counts, &table.sizes}) {
      size_t kept = 0;
      for (size_t i = 0; i < values->size(); ++i)
        if (i % all >= dummies) (*values)[kept++] = (*values)[i];
      values->resize(kept);
    }
    h.ntasks -= static_cast<int32_t>(dummies);
    // In each copy the dummies precede the other tasks, and the mapping counts them. The lowest local rank in
    // a file therefore equals the number of its dummies.
    std::vector<int32_t> lowest(static_cast<size_t>(h.nfiles), INT32_MAX);
    for (const auto& entry : table.mapping) {
      int32_t& least = lowest.at(static_cast<size_t>(entry.file));
      least = std::min(least, entry.local_rank);
    }
    for (auto& entry : table.mapping) entry.local_rank -= lowest[static_cast<size_t>(entry.file)];
  }

  std::shared_ptr<File> copy_;
  std::string path_;
  std::vector<std::byte> front_, back_;
  int64_t shift_ = 0;            // offset of the data area in the copy relative to the original
  int64_t begin_ = 0, end_ = 0;  // bounds of the data area
  bool made_ = false;
};

// Returns true if the copy was made from an earlier file of the same name. Returns false if this cannot be
// determined.
bool differ(File& copy, File& file) {
  bool other = false;
  attempt([&] {
    other = is_of_another_open(MetadataReader(copy).extension(), MetadataReader(file).extension());
  });
  return other;
}

// Compares `copy` of the file `path` with the first other file of the set `base` that can be read. Returns
// false if none can be read.
bool is_earlier(Store& store, const std::string& base, File& copy, const std::string& path) {
  const int32_t nfiles = std::min(MetadataReader(copy).header().nfiles, buddy::others_tried);
  for (int32_t k = 0; k < nfiles; ++k) {
    const std::string name = format::physical_name(base, k);
    std::shared_ptr<File> other;
    if (name == path || attempt([&] {
          other = store.open(name, Access::read);
          MetadataReader(*other).extension();
        }))
      continue;
    return differ(copy, *other);
  }
  return false;
}

}  // namespace

BuddyStore::BuddyCopy BuddyStore::open_copy(const std::string& path) {
  BuddyCopy found;
  if (!path.starts_with(base_)) return found;
  for (int level = 0; level < levels_; ++level) {
    std::shared_ptr<File> view;
    if (attempt([&] {
          view = std::make_shared<BuddyView>(
              inner().open(buddy_name(base_, level) + path.substr(base_.size()), Access::read), path);
        }))
      continue;
    if (!is_earlier(inner(), base_, *view, path)) return {view, found.earlier};
    found.earlier = true;
  }
  return found;
}

std::shared_ptr<File> BuddyStore::open(const std::string& path, Access access) {
  if (path.find(format::journal_name(""), path.rfind('/') + 1) != path.npos)
    return inner().open(path, access);
  std::shared_ptr<File> file;
  const auto failed = attempt([&] {
    file = inner().open(path, access);
    if (access == Access::read) MetadataReader(*file).read_pointer();
  });
  if (!failed) return file;
  const bool unclosed = failed->code() == Code::unclosed;  // a journal may exist
  BuddyCopy copy;
  if (access == Access::read) copy = open_copy(path);
  if (copy.view && !(unclosed && differ(*copy.view, *file))) return copy.view;
  if (unclosed) return file;
  if (!copy.earlier) throw *failed;
  throw Error(failed->code(),
              failed->what() + std::string("; its buddy copy is of an earlier set of that name"),
              failed->errno_value());
}

FileStatus BuddyStore::status(const std::string& path) {
  FileStatus status = inner().status(path);
  if (!status.exists)
    if (const auto view = open_copy(path).view) status = view->status();
  return status;
}

}  // namespace sheaf::multifile
